"""Metrics of partitions: each kind of damage is counted or named, in its own partition only."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.errors import DataError
from streambound.quality.metrics import Measures, day_of, measure, metrics_table
from streambound.storage.partitions import find_partitions

from .conftest import FLIGHTS, SCHEMA, History, relation, rows

DAY = "2013-01-02"


def measures(**changes: Any) -> dict[str, Measures]:
    described = relation(**changes)
    return {m.partition: m for m in measure(described, find_partitions(described))}


def test_sound_partitions_have_nothing_to_report(history: History) -> None:
    found = measures()
    assert list(found) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    first = found["2013-01-01"]
    assert first.rows == 5 and first.outside_day == 0 and first.most_rows_at_one_timestamp == 1
    assert first.nulls == dict.fromkeys(FLIGHTS["columns"], 0) | {"fare": 5}
    assert first.outside_domain == dict.fromkeys(FLIGHTS["domains"], 0)
    assert first.first == "2013-01-01T00:00:00+00:00" and first.last == "2013-01-01T04:00:00+00:00"
    assert [m.newest for m in found.values()] == [False, False, True]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"origin": "SFO"}, "origin"),
        ({"origin": "'; DROP TABLE files; --"}, "origin"),
        ({"delay": 101}, "delay"),
        ({"delay": -31}, "delay"),
        ({"fare": Decimal("-0.01")}, "fare"),
        ({"flown_on": dt.date(2014, 1, 1)}, "flown_on"),
        ({"wind": 120.6}, "wind"),
        ({"wind": float("nan")}, "wind"),
    ],
)
def test_a_value_outside_its_domain_is_counted(history: History, change: dict[str, Any], column: str) -> None:
    history.spoil(DAY, change)
    found = measures()
    assert found[DAY].outside_domain[column] == 1
    assert sum(sum(m.outside_domain.values()) for m in found.values()) == 1


@pytest.mark.parametrize("change", [{"delay": 100}, {"delay": -30}, {"delay": None}, {"wind": 120.5}])
def test_the_ends_of_a_domain_and_null_are_inside(history: History, change: dict[str, Any]) -> None:
    history.spoil(DAY, change)
    assert sum(measures()[DAY].outside_domain.values()) == 0


def test_nulls_are_counted_by_column(history: History) -> None:
    history.spoil(DAY, {"origin": None, "departed_at": None})
    found = measures()[DAY]
    assert found.nulls["origin"] == 1 and found.nulls["departed_at"] == 1 and found.nulls_total == 7


@pytest.mark.parametrize(
    ("moment", "outside"),
    [
        ("2013-01-01T23:59:59.999999", 1),
        ("2013-01-02T00:00:00", 0),
        ("2013-01-02T23:59:59.999999", 0),
        ("2013-01-03T00:00:00", 1),
    ],
)
def test_a_day_is_half_open(history: History, moment: str, outside: int) -> None:
    history.spoil(DAY, {"departed_at": dt.datetime.fromisoformat(moment).replace(tzinfo=dt.UTC)})
    assert measures()[DAY].outside_day == outside


def test_timestamps_without_zone_are_utc(history: History) -> None:
    for position, kind in enumerate((pa.timestamp("ms"), pa.timestamp("ms", tz="America/New_York"))):
        day = f"2013-01-0{position + 1}"
        table = pa.Table.from_pylist(rows(day), schema=SCHEMA)
        utc = table["departed_at"].cast(pa.timestamp("us")) if kind.tz is None else table["departed_at"]
        history.write_table(day, table.set_column(0, "departed_at", utc.cast(kind)))
    found = measures()
    assert [m.outside_day for m in found.values()] == [0, 0, 0]
    assert [m.first for m in found.values()][:2] == ["2013-01-01T00:00:00+00:00", "2013-01-02T00:00:00+00:00"]


def test_most_rows_at_one_timestamp_counts_over_the_files_of_a_partition(history: History) -> None:
    same = pa.Table.from_pylist([rows(DAY)[0]] * 2, schema=SCHEMA)
    pq.write_table(same, history.file(DAY).with_name("part-00001.parquet"))
    found = measures()[DAY]
    assert found.rows == 7 and found.most_rows_at_one_timestamp == 3


def test_a_corrupt_footer_is_a_reason(history: History) -> None:
    history.file(DAY).write_bytes(b"PAR1 but no more")
    found = measures()
    assert not found[DAY].readable and "part-00000.parquet is not a readable Parquet file" in str(
        found[DAY].reason
    )
    assert found["2013-01-01"].rows == 5


def test_a_corrupt_page_is_found_in_its_partition(history: History) -> None:
    body = bytearray(history.file(DAY).read_bytes())
    body[30:400] = b"\xff" * 370
    history.file(DAY).write_bytes(bytes(body))
    found = measures()
    assert not found[DAY].readable and "cannot be read" in str(found[DAY].reason)
    assert [m.rows for m in found.values()] == [5, None, 5]


def test_a_missing_timestamp_column_is_a_reason(history: History) -> None:
    history.write_table(DAY, pa.Table.from_pylist(rows(DAY), schema=SCHEMA).drop_columns(["departed_at"]))
    found = measures()[DAY]
    assert found.readable and not found.schema_ok and found.rows == 5
    assert "lacks the application timestamp departed_at; found origin, delay" in str(found.reason)


def test_another_type_is_a_reason(history: History) -> None:
    table = pa.Table.from_pylist(rows(DAY), schema=SCHEMA)
    history.write_table(DAY, table.set_column(2, "delay", table["delay"].cast(pa.string())))
    assert measures()[DAY].reason == (
        "part-00000.parquet: flights.delay is stored as string, and declared int"
    )


def test_partitions_of_several_compatible_schemas_are_all_counted(history: History) -> None:
    table = pa.Table.from_pylist(rows(DAY), schema=SCHEMA)
    history.write_table(DAY, table.set_column(2, "delay", table["delay"].cast(pa.int64())))
    assert [m.rows for m in measures().values()] == [5, 5, 5]


def test_an_empty_partition_is_sound_and_a_folder_without_files_is_not(history: History) -> None:
    history.write("2013-01-04", [])
    (history.folder / "date=2013-01-05").mkdir()
    (history.folder / "date=2013-01-05" / ".part-00000.parquet.1.draft").write_bytes(b"")
    found = measures()
    assert found["2013-01-04"].rows == 0 and found["2013-01-04"].nulls["origin"] == 0
    assert found["2013-01-05"].reason == "the partition has no Parquet file"


def test_a_folder_that_is_no_day_is_a_reason(history: History) -> None:
    history.write("20130104", rows("2013-01-04"))
    assert measures()["20130104"].reason == "20130104 is not a day (YYYY-MM-DD)"
    assert day_of("2013-02-30") is None


def test_a_partition_that_was_asked_for_and_is_missing_is_reported(history: History) -> None:
    found = measure(relation(), find_partitions(relation(), ["2013-01-01", "2013-06-01"]))
    assert [(m.partition, m.readable) for m in found] == [("2013-01-01", True), ("2013-06-01", False)]


def test_ticks_and_static_relations_have_no_day(history: History) -> None:
    schema = pa.schema({"at": pa.int64(), "v": pa.int32()})
    ticks = pa.Table.from_pylist([{"at": 7, "v": 1}, {"at": 7, "v": 2}, {"at": 9, "v": None}], schema=schema)
    folder = history.folder.with_name("ticks")
    folder.mkdir()
    pq.write_table(ticks, folder / "a.parquet")
    form = {"columns": {"at": "bigint", "v": "int"}, "domains": {}, "not_null": []}
    (found,) = measures(**form, timestamp="at", history={"path": "ticks"}).values()
    assert (found.partition, found.first, found.last, found.most_rows_at_one_timestamp) == ("all", 7, 9, 2)
    (found,) = measures(**form, timestamp=None, history={"path": "ticks"}, kind="static").values()
    assert (found.rows, found.nulls, found.outside_day) == (3, {"at": 0, "v": 1}, None)
    assert found.first is None and found.most_rows_at_one_timestamp is None


def test_paths_and_columns_with_odd_characters_are_only_names(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    folder = tmp_path / "streams" / "o'dd [x]*"
    folder.mkdir(parents=True)
    column = 'a"b; --'
    pq.write_table(pa.table({column: [1, 2, None], "filename": ["x", "y", "z"]}), folder / "part.parquet")
    described = relation(
        columns={column: "int", "filename": "string"},
        timestamp=None,
        not_null=[column],
        domains={column: {"max": 1}},
        history={"path": "o'dd [x]*"},
    )
    (found,) = measure(described, find_partitions(described))
    assert (found.nulls[column], found.outside_domain[column]) == (1, 1)


def test_the_table_keeps_whole_numbers_beside_gaps(history: History) -> None:
    history.file(DAY).write_bytes(b"")
    described = relation()
    table = metrics_table(described, measure(described, find_partitions(described)))
    assert list(table["partition"]) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert str(table["nulls.origin"].dtype) == "Int64" and table["rows"].isna().tolist() == [
        False,
        True,
        False,
    ]


def test_a_missing_folder_is_an_error_with_its_path_and_a_fix(history: History) -> None:
    with pytest.raises(DataError, match="stream flights is missing") as caught:
        find_partitions(relation(history={"path": "nowhere", "partition_by": "date"}))
    assert "nowhere" in str(caught.value) and "run the job that writes this stream" in str(caught.value)


def test_an_empty_history_is_an_error(history: History, tmp_path: Path) -> None:
    (tmp_path / "streams" / "empty" / "date=2013-01-01").mkdir(parents=True)
    with pytest.raises(DataError, match="stream flights has no Parquet files") as caught:
        find_partitions(relation(history={"path": "empty", "partition_by": "date"}))
    assert caught.value.accepted == "folders date=... with *.parquet files"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (None, "declares no history"),
        ({"path": "s3://bucket/flights", "partition_by": "date"}, "is not a local folder"),
    ],
)
def test_a_history_that_cannot_be_measured_is_an_error(history: History, form: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_partitions(relation(history=form))


def test_no_partition_asked_for_is_an_error(history: History) -> None:
    with pytest.raises(DataError, match="asked for no partition"):
        find_partitions(relation(), [])


def test_the_ends_of_every_column_are_measured(history: History) -> None:
    found = measures()[DAY]
    assert (found.least["origin"], found.greatest["origin"]) == ("EWR", "LGA")
    assert (found.least["delay"], found.greatest["delay"]) == (0, 4)
    assert (found.least["fare"], found.greatest["fare"]) == (None, None)
    assert found.least["flown_on"] == DAY and found.greatest["wind"] == 3.5
    assert found.greatest["departed_at"] == f"{DAY}T04:00:00+00:00"
    history.spoil(DAY, {"fare": Decimal("1.50"), "wind": float("nan"), "origin": "x" * 500})
    found = measures()[DAY]
    assert found.least["fare"] == "1.50" and found.greatest["wind"] == "nan"
    assert len(found.greatest["origin"]) < 130
