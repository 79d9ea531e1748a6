"""Counts by the values of keys as columns: what tasks send of a plan that keeps nothing else.

The bytes of a partition are a JSON list with the text of a table (see ``columns``) for each cell: a column a
key, the number last, rows in the engine's order of all columns. So equal counts have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from streambound.errors import DataError
from streambound.plan.model import Plan
from streambound.state.serial import canonical
from streambound.tasks.columns import packed, unpacked


def counts_only(plan: Plan) -> bool:
    """Whether all that a plan keeps are counts by the values of keys, each of so many rows."""
    cells = [cell for synopsis in plan.synopses for cell in synopsis.cells]
    fed = any(o.relation.fed for o in plan.query.occurrences)
    return (
        not (fed or plan.timed or plan.empty or plan.query.ring.idempotent or plan.query.weight)
        and bool(plan.synopses)
        and all(key.points is None for cell in cells for key in cell.keys)
        and not any(cell.extrema or cell.follow or cell.unequal for cell in cells)
    )


def dump_counts(cells: Sequence[pa.Table]) -> bytes:
    """The canonical bytes of the counts of each cell."""
    return canonical([packed(cell) for cell in cells])


def load_counts(name: str, data: bytes) -> list[pa.Table]:
    """The table of each cell in such bytes.

    Raises:
        DataError: they are no counts.
    """
    try:
        return [unpacked(cell) for cell in json.loads(data)]
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise DataError(f"a stored table of {name} cannot be read: {error}") from None
