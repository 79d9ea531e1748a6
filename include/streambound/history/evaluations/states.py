"""The bytes of what a query keeps, as checkpoints hold them: of one partition, and of all up to a boundary.

Of a partition they are ``{"ALIAS": table, ...}``, or ``{"answers": [rows, "count", "hash"]}`` of a plan that
keeps nothing. A state is as its engine writes it (``state.codec``). Equal contents have equal bytes.

Law: ``tables_of(tables_bytes(tables))`` equals ``tables``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from streambound.state.serial import canonical
from streambound.tasks.emit import Digest


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
