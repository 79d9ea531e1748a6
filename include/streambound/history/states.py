"""The bytes of what a query keeps, as checkpoints hold them: of one partition, and of all up to a boundary.

A segment is ``{"ALIAS": table, ...}``, or ``{"answers": [rows, "count", "hash"]}`` of a plan that keeps
nothing. A state is ``{"tables": {"ALIAS": table, ...}, "total": [[row, count], ...]}``. Tables are as
``synopsis.serial`` writes them; equal contents have equal bytes.

A state in time is as ``synopsis.timed_serial`` writes it.

Laws: ``tables_of(segment(tables))`` equals ``tables``; after ``load_pass(engine, dump_pass(other, total))``
both engines dump the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streambound.evaluation.onepass import OnePass
from streambound.synopsis.serial import canonical, dumps, row_text, table_of, value_of
from streambound.synopsis.timed_serial import dump_timed, load_timed
from streambound.tasks.emit import Digest

Total = dict[tuple[Any, ...], int]


def segment(tables: Mapping[str, bytes]) -> bytes:
    """The segment of some occurrences' tables."""
    body = (json.dumps(alias, ensure_ascii=False).encode() + b":" + tables[alias] for alias in sorted(tables))
    return b"{" + b",".join(body) + b"}"


def tables_of(data: bytes) -> dict[str, bytes]:
    """The tables in a segment, by occurrence."""
    return {alias: canonical(table) for alias, table in json.loads(data).items()}


def answered_segment(found: Digest) -> bytes:
    """The segment of a plan that keeps nothing."""
    return canonical({"answers": [found.rows, str(found.count), str(found)]})


def dump_pass(engine: OnePass, total: Total | None) -> bytes:
    """The state at a boundary."""
    if engine.plan.timed:
        return dump_timed(engine.state, engine.answered)
    tables = {min(streams): table for streams, table in engine.state.whole().items()}
    rows = sorted([f"[{row_text(row)},{count}]".encode() for row, count in (total or {}).items()])
    found = segment({alias: dumps(table) for alias, table in tables.items()})
    return b'{"tables":' + found + b',"total":[' + b",".join(rows) + b"]}"


def load_pass(engine: OnePass, data: bytes) -> Total:
    """Take up the state at a boundary; returns the final answer until then, where it is kept."""
    if engine.plan.timed:
        engine.state, engine.answered = load_timed(engine.plan, data)
        engine.order.resume(engine.state.now)
        return {}
    body = json.loads(data)
    for streams, slices in engine.state.tables.items():
        alias = min(streams)
        slices.resume({(): table_of(slices.synopsis.cells, slices.preserving, alias, body["tables"][alias])})
    return {tuple(value_of(v) for v in row): int(count) for row, count in body["total"]}
