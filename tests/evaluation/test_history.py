"""Histories on one machine: which partitions are read, and what of their files is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark import histories
from tests.spark.histories import Registered

from streambound import settings
from streambound.errors import DataError
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.history import history_batches
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping, load_catalog
from streambound.query.model import History
from streambound.query.parse import statement
from streambound.storage.partitions import (
    INGESTED,
    PartitionRange,
    choose_partitions,
    day_of,
    find_partitions,
    partitions_in,
)

DAYS = ["2013-01-01", "2013-01-02", "2013-01-03"]
SQL = "SELECT DISTINCT S.a FROM S, T WHERE S.a = T.b AND S.a IN (1, 2, 3)"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Two streams by day with a row a day."""
    found = catalog_from_mapping(
        {
            "S": {"timestamp": "ts", "columns": {"ts": "timestamp", "a": "int", "unread": "string"}},
            "T": {"timestamp": "ts", "columns": {"ts": "timestamp", "b": "int"}},
        }
    )
    placed = tuple(replace(r, history=History(str(tmp_path / r.name), "date")) for r in found.relations)
    for relation in placed:
        for number, day in enumerate(DAYS, start=1):
            row = {"ts": f"{day} 12:00:00", "a": number, "b": number, "unread": "x"}
            file = tmp_path / relation.name / f"date={day}" / "part-00000.parquet"
            file.parent.mkdir(parents=True)
            names = {c.name for c in relation.columns}
            rows = [{name: value for name, value in row.items() if name in names}]
            pq.write_table(histories.table(relation, rows), file)
    return Catalog(placed)


@pytest.fixture(params=["one machine", "spark"])
def days(request: pytest.FixtureRequest, catalog: Catalog, tmp_path: Path) -> Callable[..., int]:
    """How many days of S are read, by either engine; an error is raised."""

    def local(first: str | None = None, last: str | None = None) -> int:
        batches = history_batches(statement(SQL, catalog, "q"), first, last)
        return sum(len(batch.tuples.get("S", ())) for batch in batches)

    def spark(first: str | None = None, last: str | None = None) -> int:
        (answer,) = evaluate_history(
            LocalExecutor(1),
            [Registered("q", SQL)],
            catalog,
            first=first,
            last=last,
            output=tmp_path / "answers",
        )
        if answer.error is not None:
            raise answer.error
        assert answer.rows_read == 2 * len(answer.partitions)
        return len(answer.partitions)

    return local if request.param == "one machine" else spark


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, 3),
        ("2013-01-02", None, 2),
        ("2013-01-02 00:00:00", None, 2),
        ("2013-01-02T23:59:59", "2013-01-02", 1),
        (None, "2013-01-02 00:00:00", 2),
        ("2013-01-02T23:00:00-05:00", None, 1),
        ("2013-01-01", "2013-01-01T00:00:00Z", 1),
    ],
)
def test_ends_are_days(days: Callable[..., int], first: str, last: str, expected: int) -> None:
    assert days(first, last) == expected


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("yesterday", None, "from is 'yesterday', which is no day"),
        (None, "2013-02-30", "to is '2013-02-30', which is no day"),
        ("20130102", None, "from is '20130102', which is no day"),
        ("2013-01-03", "2013-01-01", "exchange the two ends"),
        ("2013-01-03 10:00:00", "2013-01-02", "exchange the two ends"),
        ("2014-01-01", None, "stream S has no partition from 2014-01-01 to the last"),
    ],
)
def test_other_ends_are_refused(days: Callable[..., int], first: str, last: str, told: str) -> None:
    with pytest.raises(DataError) as caught:
        days(first, last)
    assert told in str(caught.value) and caught.value.exit_code == 2


def test_a_joined_stream_without_a_partition_in_the_range(days: Callable[..., int], tmp_path: Path) -> None:
    for day in DAYS[1:]:
        (tmp_path / "T" / f"date={day}").rename(tmp_path / f"gone-{day}")
    with pytest.raises(DataError, match="stream T has no partition from 2013-01-02"):
        days("2013-01-02")


def test_a_folder_that_is_no_day_is_refused_by_name(days: Callable[..., int], tmp_path: Path) -> None:
    (tmp_path / "S" / "date=junk").mkdir()
    with pytest.raises(DataError, match="stream S: partition junk is no day"):
        days()


def test_a_partition_with_files_of_another_kind_is_refused_by_name(
    days: Callable[..., int], tmp_path: Path
) -> None:
    file = tmp_path / "S" / "date=2013-01-02" / "part-00000.parquet"
    file.rename(file.with_suffix(".csv"))
    with pytest.raises(
        DataError, match=r"S: partition 2013-01-02 has no Parquet files: found part-00000\.csv"
    ):
        days()
    assert days("2013-01-03") == 1


@pytest.mark.parametrize("emptied", [["2013-01-02"], ["2013-01-01", "2013-01-03"]], ids=len)
def test_a_folder_in_which_nothing_lies_is_a_partition_without_rows(
    emptied: list[str], days: Callable[..., int], catalog: Catalog, tmp_path: Path
) -> None:
    for day in emptied:
        for relation in catalog.relations:
            folder = tmp_path / relation.name / f"date={day}"
            (folder / "part-00000.parquet").rename(folder / "_temporary.parquet")
    assert days() == 3 - len(emptied)
    assert days(emptied[0], emptied[0]) == 0


def test_of_one_stream_a_partition_may_be_empty(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "S" / "date=2013-01-02" / "part-00000.parquet").unlink()
    found = [batch for batch in history_batches(statement(SQL, catalog, "q"))]
    (answer,) = evaluate_history(
        LocalExecutor(1), [Registered("q", SQL)], catalog, output=tmp_path / "answers"
    )
    assert answer.error is None
    assert answer.rows_read == sum(len(rows) for b in found for rows in b.tuples.values()) == 5
    assert answer.answer_rows == 2 and list(answer.partitions) == DAYS


def changed(file: Path, column: str, values: pa.Array, statistics: bool = True) -> None:
    table = pq.ParquetFile(file).read()
    table = table.set_column(table.schema.get_field_index(column), column, values)
    pq.write_table(table, file, write_statistics=statistics)


STAMP = pa.timestamp("us", tz="UTC")
SPOILT = {
    "no moment": ("ts", pa.array([None], STAMP), True, "1 row has no application timestamp: S.ts is NULL"),
    "no moment, no statistics": ("ts", pa.array([None], STAMP), False, "1 row has no application timestamp"),
    "a number for a moment": ("ts", pa.array([1357041600000000]), True, "S.ts is stored as int64"),
    "text for a number": ("a", pa.array(["2"]), True, "S.a is stored as string"),
}


@pytest.mark.parametrize(
    ("values", "fix"),
    [(["2013-01-02"], "fix: write the files"), ([1357041600000000], "fix: declare S.ts bigint")],
    ids=["text", "ticks"],
)
def test_the_time_of_the_event_may_be_declared_as_ticks_and_never_as_text(
    values: list[Any], fix: str, days: Callable[..., int], tmp_path: Path
) -> None:
    changed(tmp_path / "S" / "date=2013-01-02" / "part-00000.parquet", "ts", pa.array(values))
    with pytest.raises(DataError) as caught:
        days()
    assert fix in str(caught.value)


@pytest.mark.parametrize("name", SPOILT)
def test_files_that_do_not_fit_the_catalog_are_refused_by_name(
    name: str, days: Callable[..., int], tmp_path: Path
) -> None:
    column, values, statistics, told = SPOILT[name]
    file = tmp_path / "S" / "date=2013-01-02" / "part-00000.parquet"
    changed(file, column, values, statistics)
    with pytest.raises(DataError) as caught:
        days()
    assert f"date=2013-01-02/part-00000.parquet: {told}" in str(caught.value)


def test_a_column_that_the_query_does_not_read_may_be_anything(
    days: Callable[..., int], tmp_path: Path
) -> None:
    changed(tmp_path / "S" / "date=2013-01-02" / "part-00000.parquet", "unread", pa.array([1]))
    assert days() == 3


def test_what_a_day_is() -> None:
    assert day_of(" 2013-01-31 ") == day_of("2013-01-31 23:59:59.5") == dt.date(2013, 1, 31)
    assert [day_of(text) for text in ("", "2013-1-31", "2013-W05-4", "2013-01-32", "x")] == [None] * 5


def test_days_do_not_choose_from_other_keys_and_names_do() -> None:
    assert PartitionRange("2013-01-01", "2013-01-31").holds("part", "00000")
    assert PartitionRange("2013-01-01").holds(None, "all")
    assert [name for name in ("1", "2", "3") if PartitionRange("2", "").holds("part", name)] == ["2", "3"]


def test_what_is_no_day_is_listed_so_that_it_can_be_named_and_kept_out(
    catalog: Catalog, tmp_path: Path
) -> None:
    (tmp_path / "S" / "date=junk").mkdir()
    relation, chosen = catalog.relations[0], PartitionRange("2013-01-03")
    assert [part.name for part in partitions_in(relation, chosen)] == ["2013-01-03", "junk"]
    assert [part.name for part in choose_partitions(relation, chosen, ["junk"])] == ["2013-01-03"]


ENGINES = ("onepass", "spark")
TICKS = {n: {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"} for n in "ST"}
LATER = "SELECT 1 FROM S, T WHERE S.ts < T.ts AND T.A > 0"


def ticks(
    folder: Path, parts: list[list[tuple[str, int, int]]], bodies: Mapping[str, Any] = TICKS
) -> Catalog:
    """Histories of rows (stream, A, ts), one list a partition."""
    catalog = histories.placed(catalog_from_mapping(dict(bodies)), folder)
    for number, rows in enumerate(parts):
        for relation in catalog.relations:
            mine = [{"A": a, "ts": ts} for name, a, ts in rows if name == relation.name]
            histories.write(relation, mine, folder, number)
    return catalog


def evaluated(engine: str, sql: str, catalog: Catalog, folder: Path) -> int:
    """How many answers there are, with their multiplicities; an error is raised."""
    if engine == "spark":
        (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", sql)], catalog, output=folder / "out")
        if answer.error is not None:
            raise answer.error
        return answer.answer_count
    found = statement(sql, catalog, "q")
    evaluation = statement_pass(found, {})
    return sum(a.count for answers in evaluation.run(history_batches(found)) for a in answers)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("moment", [3, 5], ids=["earlier", "equal"])
def test_partitions_that_do_not_follow_each_other_in_time_are_refused(
    engine: str, moment: int, tmp_path: Path
) -> None:
    catalog = ticks(tmp_path, [[("S", 1, 2), ("S", 1, 5)], [("T", 1, moment), ("T", 1, 7)]])
    said = (
        f"partition 1 of T has a row of {moment}, but the partitions before it reach 5,"
        " with a row of S( or T)? in partition 0"
    )
    with pytest.raises(DataError, match=said):
        evaluated(engine, LATER, catalog, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_do_not_count_have_no_place_in_time(engine: str, tmp_path: Path) -> None:
    catalog = ticks(tmp_path, [[("S", 1, 5), ("T", 0, 9)], [("T", 0, 3), ("T", 1, 7)]])
    assert evaluated(engine, LATER, catalog, tmp_path) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_conditions_on_no_timestamps_need_no_order(engine: str, tmp_path: Path) -> None:
    catalog = ticks(tmp_path, [[("S", 1, 5)], [("T", 1, 3)]])
    assert evaluated(engine, "SELECT 1 FROM S, T", catalog, tmp_path) == 1


def test_the_history_of_a_finite_stream_is_read(tmp_path: Path) -> None:
    bodies = {**TICKS, "T": {**TICKS["T"], "kind": "finite"}}
    catalog = ticks(tmp_path, [[("S", 1, 1), ("T", 1, 2)], [("T", 2, 3), ("S", 2, 4)]], bodies)
    assert evaluated("onepass", "SELECT S.A FROM S, T WHERE S.A = T.A AND T.ts < 9", catalog, tmp_path) == 2


def laid(folder: Path, files: list[str]) -> Path:
    """A folder with empty files below it."""
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


LAYOUTS: dict[str, tuple[list[str], str | None, str, str]] = {
    "nothing": ([], "date", "found nothing", "run the job that writes this stream, or correct history: path"),
    "hidden": (["_temporary/x.parquet", ".x.parquet"], None, "found nothing", "run the job"),
    "csv": (["a.csv", "b.csv"], None, "found the files a.csv, b.csv", "write the rows as Parquet"),
    "csv in partitions": (
        ["date=2013-01-01/a.csv"],
        "date",
        "found the folder date=2013-01-01 (in date=2013-01-01: the file a.csv)",
        "write the rows as Parquet",
    ),
    "another key": (["day=1/a.parquet"], "date", "found the folder day=1", "add partition_by: day"),
    "a key that is not declared": (
        ["day=1/a.parquet"],
        None,
        "found the folder day=1",
        "add partition_by: day",
    ),
    "no partitions": (["a.parquet"], "date", "found the file a.parquet", "leave out partition_by"),
    "a folder of folders": (
        ["2013/01/a.parquet", "2014/01/a.parquet"],
        None,
        "found the folders 2013, 2014 (in 2013: the folder 01)",
        "put the files into the folder itself",
    ),
    "deeper": (
        ["date=2013-01-01/hour=0/a.parquet"],
        "date",
        "(in date=2013-01-01: the folder hour=0)",
        "one level of folders, such as date=2026-01-31",
    ),
    "year, month and day": (
        ["year=2026/month=01/day=31/a.parquet"],
        "date",
        "found the folder year=2026 (in year=2026: the folder month=01)",
        "one level of folders, such as date=2026-01-31",
    ),
}


@pytest.mark.parametrize(("files", "key", "found", "fix"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_history_that_is_none_is_told_with_what_is_there(
    files: list[str], key: str | None, found: str, fix: str, tmp_path: Path
) -> None:
    history = {"path": str(laid(tmp_path / "mine", files)), "partition_by": key}
    (relation,) = catalog_from_mapping({"mine": {"columns": {"A": "int"}, "history": history}}).relations
    with pytest.raises(DataError, match="the history of stream mine has no Parquet files") as caught:
        find_partitions(relation)
    assert found in caught.value.message and caught.value.fix is not None and fix in caught.value.fix
    assert "ingest_flights" not in str(caught.value)


def test_only_the_flights_are_ingested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_STREAMS", str(tmp_path))
    own = load_catalog(settings.registry() / "streams.yml").relations
    assert {r.name for r in own} == set(INGESTED)
    for relation in own:
        with pytest.raises(DataError, match="is missing") as caught:
            find_partitions(relation)
        assert caught.value.fix == "run ingest_flights, or correct history: path"
    history = {"path": "weather", "partition_by": "hour"}
    (mine,) = catalog_from_mapping({"weather": {"columns": {"A": "int"}, "history": history}}).relations
    with pytest.raises(DataError) as caught:
        find_partitions(mine)
    assert "ingest_flights" not in str(caught.value)


def test_a_missing_folder_is_told_with_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "clicks").mkdir()
    history = {"path": str(tmp_path / "clcks")}
    (relation,) = catalog_from_mapping({"mine": {"columns": {"A": "int"}, "history": history}}).relations
    with pytest.raises(DataError, match="is missing") as caught:
        find_partitions(relation)
    assert caught.value.fix == "did you mean clicks?"
