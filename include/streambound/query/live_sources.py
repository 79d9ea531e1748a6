"""The ``live`` of a catalog entry: where Spark finds a stream that goes on, and how its rows are decoded.

Without it a live query follows the folder of the stream's ``history``, with it any source of Spark's::

    live:
      format: kafka                          # the name of a source, as in Spark's readStream.format
      options: {kafka.bootstrap.servers: "broker:9092", subscribe: orders}      # that source's own
      value: {format: json}                  # what the payload is: json, avro; without it rows have columns
      columns: {user_id: value.user.id, at: timestamp}     # where a column is; by default under its name
      epoch: millisecond                     # what numbers in timestamp columns count since 1970
      lateness: 5 minutes                    # how far behind its latest row the source may still be
      late: refuse                           # what comes later still: refuse (default), drop
      malformed: refuse                      # what cannot be decoded: refuse (default), drop
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from streambound.errors import CatalogError, meant
from streambound.query.column_types import Family, Type, shown
from streambound.query.model import Live, Payload, duration

LIVE_KEYS = ("columns", "epoch", "format", "late", "lateness", "malformed", "options", "value")
PAYLOAD_KEYS = ("column", "format", "options", "schema", "schema_id")
PAYLOADS = ("json", "avro")
EPOCHS = ("second", "millisecond", "microsecond")
REFUSE, DROP = "refuse", "drop"
_NAME = re.compile(r"[A-Za-z][\w.$-]*")
_PATH = re.compile(r"[^.\s`]+(\.[^.\s`]+)*")
_LATENESS = re.compile(r"([0-9]+(?:\.[0-9]+)?) (second|minute|hour|day)s?")


def live_of(
    stream: str, body: Any, types: Mapping[str, Type], timestamp: str | None, allowed: str | None
) -> Live | None:
    """The source that a catalog entry declares; None if it declares none.

    Args:
        types: of the stream's columns.
        timestamp: its application timestamp.
        allowed: its ``allowed_lateness``, which is the lateness where ``live`` gives none.

    Raises:
        CatalogError: naming the stream, the key, what was found and what is accepted.
    """
    if body is None:
        return None
    described = _mapping(f"stream {stream}: live", body, LIVE_KEYS, "a mapping with format and options")
    form = described.get("format")
    if not isinstance(form, str) or not _NAME.fullmatch(form):
        raise CatalogError(
            f"stream {stream}: the format of live is {shown(form)}",
            accepted="the name of a source of Spark's, such as kafka, json, delta, rate",
        )
    return Live(
        format=form,
        options=_options(f"stream {stream}: options of live", described.get("options")),
        value=_payload(stream, described.get("value")),
        columns=_columns(stream, described.get("columns"), types),
        epoch=_choice_of(stream, "epoch", described.get("epoch"), EPOCHS),
        lateness=_lateness(stream, described.get("lateness", allowed), timestamp, types),
        late=_choice_of(stream, "late", described.get("late"), (REFUSE, DROP)) or REFUSE,
        malformed=_choice_of(stream, "malformed", described.get("malformed"), (REFUSE, DROP)) or REFUSE,
    )


def _mapping(where: str, body: Any, keys: Collection[str], accepted: str) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise CatalogError(f"{where} is {shown(body)}", accepted=accepted)
    if unknown := sorted(set(map(str, body)) - set(keys)):
        raise CatalogError(
            f"{where}: unknown key {', '.join(unknown)}",
            accepted=", ".join(keys),
            fix=meant(unknown[0], keys),
        )
    return body


def _options(where: str, body: Any) -> tuple[tuple[str, str], ...]:
    if body is None:
        return ()
    if not isinstance(body, Mapping):
        raise CatalogError(f"{where}: found {shown(body)}", accepted="a mapping of names to values")
    options = []
    for name, value in body.items():
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            option = shown(name) if not isinstance(name, str) else f"{name} with {shown(value)}"
            raise CatalogError(
                f"{where}: found {option}", accepted="names with a text, a number, true or false"
            )
        options.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(options)


def _payload(stream: str, body: Any) -> Payload | None:
    if body is None:
        return None
    where = f"stream {stream}: value of live"
    described = _mapping(where, body, PAYLOAD_KEYS, "a mapping with format")
    form, schema, number = (described.get(key) for key in ("format", "schema", "schema_id"))
    if form not in PAYLOADS:
        raise CatalogError(
            f"{where}: format is {shown(form)}", accepted=", ".join(PAYLOADS), fix=meant(str(form), PAYLOADS)
        )
    if not isinstance(schema, str | None) or (schema is None) is (form == "avro"):
        raise CatalogError(
            f"{where}: schema is {shown(schema)}",
            accepted="for avro a file beside the catalog, or the schema's JSON as text; for json none"
            " (the stream's columns are its schema)",
        )
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise CatalogError(
            f"{where}: schema_id is {shown(number)}", accepted="the number of a schema in a schema registry"
        )
    column = described.get("column", "value")
    if not isinstance(column, str) or not _PATH.fullmatch(column):
        raise CatalogError(f"{where}: column is {shown(column)}", accepted="the column with the payload")
    return Payload(form, column, _options(f"{where}: options", described.get("options")), schema, number)


def _columns(stream: str, body: Any, types: Mapping[str, Type]) -> tuple[tuple[str, str], ...]:
    if body is None:
        return ()
    columns = _mapping(
        f"stream {stream}: columns of live", body, list(types), "a mapping of the stream's columns"
    )
    for name, path in columns.items():
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise CatalogError(
                f"stream {stream}: columns of live: {name} is {shown(path)}",
                accepted="where the source has it: the name of its column, with dots for what lies within",
            )
    return tuple(columns.items())


def _choice_of(stream: str, key: str, value: Any, accepted: Collection[str]) -> str | None:
    if value is not None and value not in accepted:
        raise CatalogError(
            f"stream {stream}: {key} of live is {shown(value)}",
            accepted=", ".join(accepted),
            fix=meant(str(value), accepted),
        )
    return None if value is None else str(value)


def _lateness(stream: str, value: Any, timestamp: str | None, types: Mapping[str, Type]) -> int:
    """In units of the encoded timestamp: microseconds, or ticks."""
    if value is None or timestamp is None:
        return 0
    if types[timestamp].family is Family.TIMESTAMP:
        if isinstance(value, str) and (match := _LATENESS.fullmatch(" ".join(value.split()))):
            return duration(match[0])
        accepted = "a number of seconds, minutes, hours or days, such as '5 minutes'"
    else:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        accepted = f"a whole number of ticks, as {timestamp} has"
    raise CatalogError(f"stream {stream}: lateness of live is {shown(value)}", accepted=accepted)
