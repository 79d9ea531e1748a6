"""The bytes of what a query keeps, as checkpoints hold them: of one partition, and of all up to a boundary.

Of a partition they are ``{"ALIAS": table, ...}``, or ``{"answers": [rows, "count", "hash"]}`` of a plan that
keeps nothing. A state is as its engine writes it (``state.codec``), where the final answer is kept with
``"total": [[row, count], ...]``. Equal contents have equal bytes.

Laws: ``tables_of(tables_bytes(tables))`` equals ``tables``;
``total_of(json.loads(with_total(state, total)))`` equals ``total``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streambound.state.serial import canonical, row_text, value_of
from streambound.tasks.emit import Digest

Total = dict[tuple[Any, ...], int]


def tables_bytes(tables: Mapping[str, bytes]) -> bytes:
    """The tables of some occurrences, or the states of some parts, in one."""
    body = (json.dumps(alias, ensure_ascii=False).encode() + b":" + tables[alias] for alias in sorted(tables))
    return b"{" + b",".join(body) + b"}"


def tables_of(data: bytes) -> dict[str, bytes]:
    """The tables in such bytes, by occurrence or part."""
    return {alias: canonical(table) for alias, table in json.loads(data).items()}


def answered_bytes(digest: Digest) -> bytes:
    """The answers of a partition, of a plan that keeps nothing."""
    return canonical({"answers": [digest.rows, str(digest.count), str(digest)]})


def with_total(state: bytes, total: Total) -> bytes:
    """A state with the final answer so far."""
    rows = sorted([f"[{row_text(row)},{count}]".encode() for row, count in total.items()])
    return state[:-1] + b',"total":[' + b",".join(rows) + b"]}"


def total_of(document: Any) -> Total:
    """The final answer in what such bytes hold as JSON; empty where nothing is said of it."""
    return {tuple(value_of(v) for v in row): int(count) for row, count in document.get("total", ())}
