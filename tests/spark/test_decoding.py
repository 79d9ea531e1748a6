"""Decoding of payloads: a value is what it says, exactly, or its row is malformed."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from streambound.errors import CatalogError, DataError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation
from streambound.spark.live.decoding import MALFORMED, decoded

pytestmark = pytest.mark.spark
COLUMNS = {
    "at": "timestamp",
    "i": "int",
    "b": "bigint",
    "d": "decimal(6,2)",
    "x": "double",
    "t": "boolean",
    "day": "date",
    "s": "string",
}


def relation(
    live: dict[str, Any], columns: dict[str, str] = COLUMNS, timestamp: str | None = "at"
) -> Relation:
    body = {"columns": columns, "live": {"format": "kafka", **live}, "timestamp": timestamp}
    return catalog_from_mapping({"S": body}).relations[0]


def values(chance: Random) -> dict[str, Any]:
    """A row as a program has it."""
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=chance.randrange(10**15))
    found = {
        "at": at,
        "i": chance.randint(-(2**40), 2**40),
        "b": chance.randint(-(2**63), 2**63 - 1),
        "d": Decimal(chance.randint(-999999, 999999)).scaleb(-2),
        "x": chance.choice([chance.uniform(-1e9, 1e9), 1e300, -0.0, 5e-324]),
        "t": chance.random() < 0.5,
        "day": at.date(),
        "s": chance.choice(["", "a", "é\n\"'", "null", "0.1"]),
    }
    return {name: v if name == "at" or chance.random() < 0.9 else None for name, v in found.items()}


def text(row: dict[str, Any], chance: Random, epoch: str | None) -> str:
    """The row as some producer would write it: fields in any order, numbers as numbers or as text."""
    listed = list(row.items())
    chance.shuffle(listed)
    found = []
    for name, value in listed:
        if value is None and chance.random() < 0.5:
            continue
        if isinstance(value, dt.datetime):
            micros = (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
            zone = dt.timezone(dt.timedelta(hours=chance.randint(-12, 14)))
            said = value.astimezone(zone).isoformat()
            shown = json.dumps(said if epoch is None else micros)
        elif isinstance(value, dt.date):
            shown = json.dumps(value.isoformat())
        elif isinstance(value, Decimal):
            exact = f"{value:f}{chance.choice(['', '0', '000'])}"
            shown = exact if chance.random() < 0.5 else json.dumps(exact)
        else:
            shown = json.dumps(value)
        found.append(f"{json.dumps(name)}: {shown}")
    return "{" + ", ".join(found) + ', "more": [1, {}]}'


@pytest.mark.parametrize("epoch", [None, "microsecond"], ids=["text", "epoch"])
def test_rows_are_what_was_written(epoch: str | None, spark: Any) -> None:
    chance = Random(epoch or "text")
    rows = [values(chance) for _ in range(1000)]
    stream = relation({"value": {"format": "json"}, **({"epoch": epoch} if epoch else {})})
    payloads = [(bytearray(text(row, chance, epoch).encode()),) for row in rows]
    frame = spark.createDataFrame(payloads, "value binary")
    found = decoded(frame, stream, Path()).toArrow()
    assert set(found[MALFORMED].to_pylist()) == {None}
    for column in stream.columns:
        got = [column.type.encode(value) for value in found[column.name].to_pylist()]
        assert got == [column.type.encode(row[column.name]) for row in rows], column.name


WRONG = [
    '{"at": "2026-01-01T00:00:00Z", "d": 1.239}',
    '{"at": "2026-01-01T00:00:00Z", "d": "12345.67"}',
    '{"at": "2026-01-01T00:00:00Z", "d": "x"}',
    '{"at": "2026-01-01T00:00:00.1234567Z"}',
    '{"at": "yesterday"}',
    '{"at": 1700000000}',
    '{"at": null, "i": 1}',
    '{"i": 1}',
    '{"at": "2026-01-01T00:00:00Z", "i": 1.5}',
    '{"at": "2026-01-01T00:00:00Z", "b": 9223372036854775808}',
    '{"at": "2026-01-01T00:00:00Z", "t": 1}',
    '{"at": "2026-01-01T00:00:00Z", "day": "no day"}',
    '{"at": "2026-01-01T00:00:00Z"',
    "[]",
    "5",
    "null",
    "",
    None,
]


def test_what_is_no_row_is_malformed_and_told(spark: Any) -> None:
    stream = relation({"value": {"format": "json"}})
    frame = spark.createDataFrame([(text,) for text in WRONG], "value string")
    found = decoded(frame, stream, Path()).select(f"`{MALFORMED}`").collect()
    assert [text for text, (said,) in zip(WRONG, found, strict=True) if said is None] == []


@pytest.mark.parametrize(
    ("epoch", "number", "sound"),
    [
        ("second", "1700000000", True),
        ("second", "1700000000.25", True),
        ("second", "1.7e9", True),
        ("millisecond", "1700000000000", True),
        ("millisecond", "1700000000000.0005", False),
        ("millisecond", '"soon"', False),
    ],
)
def test_numbers_count_from_1970_in_the_declared_unit(
    epoch: str, number: str, sound: bool, spark: Any
) -> None:
    stream = relation({"value": {"format": "json"}, "epoch": epoch}, {"at": "timestamp"})
    frame = spark.createDataFrame([(f'{{"at": {number}}}',)], "value string")
    ((at, wrong),) = decoded(frame, stream, Path()).collect()
    assert (wrong is None) is sound
    if sound:
        second = at.replace(tzinfo=at.tzinfo or dt.UTC)
        assert int(second.timestamp()) == 1_700_000_000


def test_columns_lie_where_the_source_has_them(spark: Any) -> None:
    stream = relation(
        {
            "value": {"format": "json", "column": "data", "schema_id": 258},
            "columns": {"at": "arrived", "who": "data.user.name", "age": "data.user.age", "key": "id"},
        },
        {"at": "timestamp", "who": "string", "age": "int", "key": "string", "n": "int"},
    )
    moment = dt.datetime(2026, 1, 1)
    record = json.dumps({"user": {"name": "a", "age": 5}, "n": 7}).encode()
    marks = (b"\0\0\0\1\2", b"\0\0\0\1\3", b"")
    rows = [(bytearray(b"k"), bytearray(mark + record), moment) for mark in marks]
    frame = spark.createDataFrame(rows, "id binary, data binary, arrived timestamp")
    found = decoded(frame, stream, Path()).collect()
    assert tuple(found[0])[1:] == ("a", 5, "k", 7, None)
    # Of another schema, or not framed at all.
    assert all(row[MALFORMED] is not None for row in found[1:])


def test_what_the_source_does_not_have_is_named(spark: Any) -> None:
    frame = spark.createDataFrame([("{}",)], "value string")
    overlapping = {"a": "value.u", "b": "value.u.name"}
    stream = relation(
        {"value": {"format": "json"}, "columns": overlapping}, dict.fromkeys("ab", "string"), None
    )
    with pytest.raises(CatalogError, match="columns of live: b is within another column, or holds one"):
        decoded(frame, stream, Path())
    stream = relation({"columns": {"a": "vaule.name"}}, {"a": "string"}, None)
    with pytest.raises(DataError, match=r"the kafka source of stream S has no column vaule\.name") as told:
        decoded(frame, stream, Path())
    assert told.value.accepted == "value"
