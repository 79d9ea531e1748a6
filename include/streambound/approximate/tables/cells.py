"""What a table of H is, and how large it may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.lifetimes import Lifetime
from streambound.errors import DataError

MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Table:
    """H by steps left, row and column.

    Args:
        cells: shape (lives, rows, columns); life l - 1 is for l steps left, the last one for more.
        row: shape (steps,): the row to look in after each step.
        shift: shape (steps,): the value of column 0 after each step.
    """

    cells: Floats
    row: Integers
    shift: Integers

    def at(self, step: int, value: int, left: int | None = None) -> float:
        """H after a step of a tuple with a value; 0 outside the table."""
        column = value - int(self.shift[step])
        if (left is not None and left <= 0) or not 0 <= column < self.cells.shape[2]:
            return 0.0
        life = self.cells.shape[0] if left is None else min(left, self.cells.shape[0])
        return float(self.cells[life - 1, self.row[step], column])


def steps_to_sum(lifetime: Lifetime, window: int | None, first: bool, last_gain: int | None) -> int:
    """How many steps to sum: until L, the window or the gains end.

    Raises:
        DataError: none of them does.
    """
    ends = [end for end in (lifetime.horizon, window, last_gain) if end is not None]
    if ends:
        return max(min(ends), 1)
    if first:
        # Whatever is ever met is met by then, but for a tail that a double cannot hold.
        return 20_000
    raise DataError(f"L^{lifetime.kind} does not converge for joining with this model", accepted="exp, fixed")


def empty(*shape: int) -> Floats:
    """An array of zeros of a shape.

    Raises:
        DataError: it would have more than MOST_CELLS cells.
    """
    if np.prod(shape, dtype=np.float64) > MOST_CELLS:
        raise DataError(
            f"the table of HEEB would have {' x '.join(map(str, shape))} cells",
            accepted=f"at most {MOST_CELLS:,}",
            fix="a smaller window, a smaller alpha, or a coarser scale of the values",
        )
    return np.zeros(shape)
