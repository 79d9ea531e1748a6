"""Histories in order of time for tests: events cut into partitions, and what is new in each by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.spark import histories
from tests.strategies import Case

from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.evaluation.events import Encoded, batches, timed
from streambound.evaluation.reference import reference
from streambound.query.catalog import Catalog

Rows = list[dict[str, Any]]


def cut(data: st.DataObject, rows: Rows) -> list[Rows]:
    """The events in partitions; what has one timestamp stays together."""
    parts: list[Rows] = [[]]
    for _, tied in groupby(rows, key=lambda row: row["ts"]):
        parts[-1].extend(tied)
        if len(parts) < 9 and data.draw(st.integers(0, 2)) == 0:
            parts.append([])
    return parts


def write(case: Case, part: int, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """The rows of every stream of a query as a partition."""
    for relation in {o.relation.name: o.relation for o in case.query.arriving}.values():
        mine = [row for row in rows if row["stream"] == relation.name]
        histories.write(relation, mine, folder, part)


def write_statics(case: Case, statics: dict[str, Rows], folder: Path) -> Catalog:
    """The static relations of a query; returns the catalog that says where histories are."""
    relations = {o.relation.name: o.relation for o in case.query.statics}
    for name, rows in statics.items():
        histories.write(relations[name], rows, folder, None)
    return histories.placed(case.catalog, folder)


def expected(case: Case, parts: list[Rows], statics: dict[str, list[Encoded]]) -> dict[str, Counter[Any]]:
    """What the definition says is new in each partition."""
    kinds = [kind for _, kind in case.query.outputs]
    every = [(str(number), row) for number, rows in enumerate(parts) for row in rows]
    by_time = timed(case.statement)
    # Where there is no time a marker is the position of an event.
    position = {row["ts"] if by_time else index: number for index, (number, row) in enumerate(every)}
    found: dict[str, Counter[Any]] = {}
    arriving = list(batches(case.statement, [row for _, row in every]))
    for answers in reference(case.statement, arriving, statics):
        for one in answers:
            row = tuple(kind.encode(value) for kind, value in zip(kinds, one.row, strict=True))
            found.setdefault(position[one.marker], Counter())[row] += one.count
    return found


def last_boundary(home: Path) -> dict[str, Any]:
    """What the last checkpoint says of all up to it, however the history was cut."""
    table = CheckpointTable(address_of(str(home / "checkpoints"), "q"), "q")
    row = table.rows[max(table.rows)]
    (full,) = table.load([row.partition]).values()
    return {"state": full.state, "rows": row.rows, "units": row.units, "total": row.total}
