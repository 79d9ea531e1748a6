"""The bytes of what a query keeps, as checkpoints hold them: of one partition, and of all up to a boundary.

A segment is ``{"ALIAS": table, ...}``, or ``{"answers": [rows, "count", "hash"]}`` of a plan that keeps
nothing. A state is ``{"tables": {"ALIAS": table, ...}, "total": [[row, count], ...]}``. Tables are as
``synopsis.serial`` writes them; equal contents have equal bytes.

Laws: ``tables_of(segment(tables))`` equals ``tables``; ``load_state(plan, dump_state(tables, total))``
equals both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streambound.synopsis.plan import Plan
from streambound.synopsis.serial import canonical, dumps, row_text, table_of, value_of
from streambound.synopsis.state import Table, fresh
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


def dump_state(tables: Mapping[str, Table], total: Total) -> bytes:
    """The state at a boundary; of a plan that keeps nothing there are no tables."""
    rows = sorted([f"[{row_text(row)},{count}]".encode() for row, count in total.items()])
    found = segment({alias: dumps(table) for alias, table in tables.items()})
    return b'{"tables":' + found + b',"total":[' + b",".join(rows) + b"]}"


def load_state(plan: Plan, data: bytes) -> tuple[dict[str, Table], Total]:
    """The tables and the final answer at a boundary."""
    body = json.loads(data)
    preserving = not plan.query.distinct
    tables = {
        alias: table_of(table.cells, preserving, alias, body["tables"][alias])
        for alias, table in fresh(plan).items()
    }
    total = {tuple(value_of(v) for v in row): int(count) for row, count in body["total"]}
    return tables, total
