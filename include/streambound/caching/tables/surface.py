"""Section 6.5: h2 by a bicubic surface through a few control points instead of all of its values."""

from __future__ import annotations

import numpy as np

from streambound.caching.tables.cells import Table


def interpolated(exact: Table, points: int = 5) -> Table:
    """Section 6.5: h2 as a bicubic surface through points x points control points, equally spaced."""
    from scipy.interpolate import RectBivariateSpline

    rows, columns = exact.cells.shape[1:]
    at_rows = np.round(np.linspace(0, rows - 1, points)).astype(np.int64)
    at_columns = np.round(np.linspace(0, columns - 1, points)).astype(np.int64)
    surface = RectBivariateSpline(at_rows, at_columns, exact.cells[-1][np.ix_(at_rows, at_columns)])
    return Table(surface(np.arange(rows), np.arange(columns))[None], exact.row, exact.shift)
