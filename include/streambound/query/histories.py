"""The ``history`` of a catalog entry: where what has happened lies, and how it is partitioned.

Parquet in folders is read directly, ORC and tables of Spark's own catalogs only by Spark::

    history: {path: departures, partition_by: date}
    history: {path: departures, partition_by: date, format: orc}
    history: {table: warehouse.flights.departures, partition_by: date}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from streambound.errors import CatalogError, meant
from streambound.query.column_types import shown
from streambound.query.model import PARQUET, TABLE, History

HISTORY_KEYS = ("format", "partition_by", "path", "table")
# Files that name and type their own columns: what is inferred of others depends on which are read together.
FORMATS = ("orc", PARQUET)
_TABLE = re.compile(r"[\w-]+(\.[\w-]+){0,3}")


def history_of(stream: str, body: Any) -> History | None:
    """The history that a catalog entry declares; None if it declares none.

    Raises:
        CatalogError: naming the stream, the key, what was found and what is accepted.
    """
    if body is None:
        return None
    if not isinstance(body, Mapping):
        raise CatalogError(
            f"stream {stream}: history is {shown(body)}", accepted="a mapping with path or table"
        )
    if unknown := sorted(set(map(str, body)) - set(HISTORY_KEYS)):
        raise CatalogError(
            f"stream {stream}: unknown key {', '.join(unknown)} in its history",
            accepted=", ".join(HISTORY_KEYS),
            fix=meant(unknown[0], HISTORY_KEYS),
        )
    key = body.get("partition_by")
    if key is not None and not (isinstance(key, str) and key.isidentifier()):
        raise CatalogError(
            f"stream {stream}: partition_by is {shown(key)}", accepted="a plain name such as date"
        )
    return _table(stream, body, key) if "table" in body else _files(stream, body, key)


def _table(stream: str, body: Mapping[str, Any], key: str | None) -> History:
    if excluded := sorted(set(body) & {"path", "format"}):
        raise CatalogError(
            f"stream {stream}: its history has a table and also {', '.join(excluded)}",
            accepted="either path, with a format or nothing, or table",
        )
    table = body["table"]
    if not isinstance(table, str) or not _TABLE.fullmatch(table):
        raise CatalogError(
            f"stream {stream}: the table of its history is {shown(table)}",
            accepted="a table or view of Spark, such as departures or warehouse.flights.departures",
        )
    return History(table, key, TABLE)


def _files(stream: str, body: Mapping[str, Any], key: str | None) -> History:
    path, kind = body.get("path"), body.get("format", PARQUET)
    if not isinstance(path, str) or not path.strip():
        raise CatalogError(
            f"stream {stream}: the path of its history is {shown(path)}",
            accepted="a folder, or an address such as s3://bucket/folder",
        )
    if kind not in FORMATS:
        raise CatalogError(
            f"stream {stream}: the format of its history is {shown(kind)}",
            accepted=", ".join(FORMATS),
            fix="for any other source, such as JSON or Avro, register a table or view in Spark, and name it"
            " with table",
        )
    return History(path, key, kind)
