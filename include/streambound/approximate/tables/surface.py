"""Section 6.5: h2 by a bicubic surface through a few control points instead of all of its values."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.tables.cells import Table


def interpolated(exact: Table, values: tuple[int, int], points: int = 5) -> Table:
    """Section 6.5: h2 as a bicubic surface through points x points control points, equally spaced.

    Args:
        exact: a chain's table, whose rows and columns are the same values.
        values: the domain: the least and the largest value that is asked for. Beyond it the surface goes on
            as it is at its edge.
    """
    from scipy.interpolate import RectBivariateSpline

    states = np.arange(exact.cells.shape[2]) + int(exact.shift[0])
    at = control_points(values, points) - states[0]
    surface = RectBivariateSpline(at, at, exact.cells[-1][np.ix_(at, at)])
    inside = np.clip(states, *values) - states[0]
    return Table(surface(inside, inside)[None], exact.row, exact.shift)


def control_points(values: tuple[int, int], points: int = 5) -> Integers:
    """The last, and the asked, values of the control points."""
    return np.round(np.linspace(*values, points)).astype(np.int64)
