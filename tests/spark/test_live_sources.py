"""Live from where streams are: sources that every Spark has, decoded, late and out of order, and restarted.

The definition (``reference``) judges the answers, whatever the source and however its rows are shuffled.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal as D
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.live.test_live import row, two
from tests.spark import histories
from tests.spark.arrivals import Rows, by_marker, written
from tests.spark.histories import Registered
from tests.spark.test_live_query import EVENTS, PAIRS
from tests.strategies import Case

from streambound.errors import DataError, PlatformError, QueryError, StorageError
from streambound.live.sinks import Into, marked
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.live_sources import live_of
from streambound.spark.live import epochs
from streambound.spark.live.epochs import SPOOL
from streambound.spark.live.query import Pace, live
from streambound.spark.live.sinks import keyed, sink_of
from streambound.tasks import emit

pytestmark = pytest.mark.spark
ENDS = Pace(ends=True)
# By the format of the files: what a catalog says of it.
SOURCES: dict[str, dict[str, Any]] = {
    "json": {"format": "json"},
    "csv": {"format": "csv", "options": {"header": True}},
    "parquet": {"format": "parquet"},
    # As Kafka and Kinesis have it: a column with the payload.
    "payload": {"format": "text", "value": {"format": "json"}},
}


def described(case: Case, folder: Path, kinds: Mapping[str, str], **more: Any) -> Catalog:
    """The catalog of a case with sources in folders, of which a micro-batch takes one file each.

    Args:
        kinds: of the source of each stream (SOURCES).
    """
    found = []
    for relation in case.catalog.relations:
        body = SOURCES[kinds[relation.name]]
        options = {**body.get("options", {}), "path": str(folder / relation.name), "maxFilesPerTrigger": 1}
        types = {column.name: column.type for column in relation.columns}
        source = live_of(relation.name, {**body, "options": options, **more}, types, relation.timestamp, None)
        found.append(replace(relation, live=source))
    return Catalog(tuple(found))


def put(case: Case, folder: Path, kind: str, name: str, rows: Rows, at: int) -> Path:
    """A file of a stream, of a time of its own."""
    relation = next(r for r in case.catalog.relations if r.name == name)
    columns = [column.name for column in relation.columns]
    path = folder / name / f"{at:06}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pq.write_table(histories.table(relation, rows), path)
    elif kind == "csv":
        lines = [",".join(columns), *(",".join(str(r[c]) for c in columns) for r in rows)]
        path.write_text("".join(f"{line}\n" for line in lines))
    else:
        path.write_text("".join(json.dumps({c: r[c] for c in columns}) + "\n" for r in rows))
    os.utime(path, (1_000_000 + at, 1_000_000 + at))
    return path


def shuffled(rows: Rows, lateness: int, random: Random) -> Rows:
    """Rows of which none is behind the latest one before it by more than the lateness."""
    return sorted(rows, key=lambda one: one["ts"] + random.randint(0, lateness))


def spread(case: Case, folder: Path, kinds: Mapping[str, str], rows: Rows, files: int) -> None:
    """The rows of each stream in so many files, in the order given."""
    for relation in case.catalog.relations:
        mine = [one for one in rows if one["stream"] == relation.name]
        size = -(-len(mine) // files)
        for number in range(files):
            share = mine[number * size : (number + 1) * size]
            put(case, folder, kinds[relation.name], relation.name, share, number)


JSON = {"S": "json", "T": "json"}


@pytest.mark.parametrize(
    "kinds",
    [("payload", "csv"), pytest.param(("json", "parquet"), marks=pytest.mark.heavy)],
    ids="-".join,
)
def test_answers_are_those_of_the_definition(kinds: tuple[str, str], spark: Any, tmp_path: Path) -> None:
    case, of = two(), dict(zip("ST", kinds, strict=True))
    spread(case, tmp_path, of, shuffled(EVENTS, 4, Random(kinds[0])), 3)
    catalog, output = described(case, tmp_path, of, lateness=4), tmp_path / "live"
    waits = live(spark, Registered("q", case.sql), catalog, output=output)
    # The input has not ended: what its lateness still allows may come.
    assert waits.epochs == 3 and waits.waiting > 0 and waits.files == 0
    answer = live(spark, Registered("q", case.sql), catalog, output=output, pace=ENDS)
    assert answer.waiting == 0 and answer.rows == len(EVENTS) and answer.late == answer.malformed == 0
    assert written(output / "q", case.query, timed=True) == by_marker(case, EVENTS, {}) != []
    assert answer.peak_units <= (answer.most_units or answer.peak_units)
    with pytest.raises(QueryError, match="another query, of other domains, static rows or sources"):
        live(spark, Registered("q", case.sql), described(case, tmp_path, JSON), output=output)


def test_what_is_later_than_the_lateness_is_refused_or_dropped_and_counted(
    spark: Any, tmp_path: Path
) -> None:
    case, query = two(), Registered("q", two().sql)
    spread(case, tmp_path, JSON, EVENTS, 1)
    put(case, tmp_path, "json", "S", [row("S", 2, 2), row("S", 26, 1)], 1)
    put(case, tmp_path, "json", "T", [row("T", 1, 1), row("T", 26, 1), row("T", 99)], 1)
    with pytest.raises(DataError) as told:
        live(spark, query, described(case, tmp_path, JSON, lateness=5), output=tmp_path / "live")
    assert "stream S has a row of 2, but the answers have been given up to 23" in str(told.value)
    assert told.value.subject == "json source of stream S" and "late: drop" in str(told.value.fix)
    # The micro-batch was not done, so it is again, in another manner; 26 is behind 30 by no more than 5.
    dropping = described(case, tmp_path, JSON, lateness=5, late="drop")
    answer = live(spark, query, dropping, output=tmp_path / "live", pace=ENDS)
    assert (answer.late, answer.rows) == (2, len(EVENTS) + 5)
    sound = [*EVENTS, row("S", 26, 1), row("T", 26, 1), row("T", 99)]
    in_order = sorted(sound, key=lambda one: one["ts"])
    assert written(tmp_path / "live" / "q", case.query, timed=True) == by_marker(case, in_order, {})


FILTER = "SELECT A FROM S WHERE A > 2"


@pytest.mark.parametrize(
    "sql", [PAIRS, pytest.param(FILTER, marks=pytest.mark.heavy)], ids=["state", "filter"]
)
def test_what_is_malformed_is_refused_or_dropped_and_counted(sql: str, spark: Any, tmp_path: Path) -> None:
    case, query = two(sql), Registered("q", sql)
    for kind, name in (("payload", "S"), ("payload", "T")):
        path = put(case, tmp_path, kind, name, [e for e in EVENTS if e["stream"] == name], 0)
        path.write_text(path.read_text() + '{"A": "no number", "B": 1, "ts": 4}\n\n{"A": 1, "B": 1}\n')
    kinds = {"S": "payload", "T": "payload"}
    with pytest.raises(DataError, match=r"stream . has rows that cannot be decoded, such as ") as told:
        live(spark, query, described(case, tmp_path, kinds), output=tmp_path / "live")
    assert "malformed: drop" in str(told.value.fix)
    assert str(told.value.subject).startswith("text source of stream ")
    dropping = described(case, tmp_path, kinds, malformed="drop")
    answer = live(spark, query, dropping, output=tmp_path / "live", pace=ENDS)
    streams = {occurrence.relation.name for occurrence in case.query.streams}
    assert answer.malformed == 3 * len(streams)
    assert answer.rows == sum(one["stream"] in streams for one in EVENTS)
    found = written(tmp_path / "live" / "q", case.query, timed=False)
    mine = [one["A"] for one in EVENTS if one["stream"] == "S"]
    others = Counter(one["A"] for one in EVENTS if one["stream"] == "T")
    wanted = {a: n * others[a] for a, n in Counter(mine).items() if 0 < a < 5 and others[a]}
    if sql == FILTER:
        wanted = {a: n for a, n in Counter(mine).items() if a > 2}
    assert dict(sum((rows for _, rows in found), Counter())) == {(a,): n for a, n in wanted.items()}
    assert not (tmp_path / "live" / "q" / SPOOL).exists()


@pytest.mark.heavy
def test_a_rate_of_rows_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    """A source without files, of which each start takes one more micro-batch."""
    options = {"rowsPerBatch": 4, "startTimestamp": 0, "advanceMillisPerBatch": 1000}
    body = {
        "columns": {"timestamp": "timestamp", "n": "bigint"},
        "timestamp": "timestamp",
        "live": {"format": "rate-micro-batch", "options": options, "columns": {"n": "value"}},
    }
    catalog = catalog_from_mapping({"R": body, "Q": body})
    sql = "SELECT R.n FROM R, Q WHERE R.n = Q.n AND R.timestamp = Q.timestamp"
    for number in (1, 2):
        answer = live(spark, Registered("q", sql), catalog, output=tmp_path / "live")
        assert (answer.epochs, answer.rows) == (number, 8 * number)
    # The last second may go on.
    found = [c for f in sorted((tmp_path / "live" / "q").glob("epoch=*/*.parquet")) for c in _numbers(f)]
    assert found == list(range(4)) and answer.waiting == 8


def _numbers(path: Path) -> list[int]:
    return [int(n) for n in pq.ParquetFile(path).read()["n"].to_pylist()]


@pytest.mark.parametrize(
    ("live_body", "kind", "said"),
    [
        ({"format": "kafka"}, PlatformError, "org.apache.spark:spark-sql-kafka-0-10_2.13:4"),
        ({"format": "delta"}, PlatformError, "io.delta:delta-spark_2.13"),
        (
            {"format": "rate", "value": {"format": "avro", "schema": '{"type": "long"}'}},
            PlatformError,
            "org.apache.spark:spark-avro_2.13:4",
        ),
        ({"format": "no-such"}, DataError, "no-such source of stream S"),
        (
            {"format": "rate"},
            DataError,
            "the rate source of stream S has no column A\n  accepted: timestamp, value",
        ),
        ({"format": "json", "options": {"path": "/nowhere"}}, DataError, "Path does not exist"),
        ({"format": "rate", "value": {"format": "avro", "schema": "no.avsc"}}, DataError, "no.avsc"),
        (
            {"format": "json", "options": {"path": "${NOT_SET_HERE}"}},
            DataError,
            "NOT_SET_HERE, which is not set",
        ),
    ],
    ids=["kafka", "delta", "avro", "format", "column", "path", "schema", "environment"],
)
def test_what_spark_cannot_follow_is_one_error(
    live_body: dict[str, Any], kind: type[Exception], said: str, spark: Any, tmp_path: Path
) -> None:
    catalog = catalog_from_mapping({"S": {"columns": {"A": "int"}, "live": live_body}})
    with pytest.raises(kind) as told:
        live(spark, Registered("q", FILTER), catalog, output=tmp_path / "live")
    assert said in str(told.value), str(told.value)
    assert "java" not in str(told.value).lower()


def _into(folder: Path, kind: str, *key: str, **options: str) -> Into:
    return Into(kind, {"path": str(folder / kind), **options}, key)


def test_a_delta_table_has_each_answer_once_whenever_a_micro_batch_fails(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, query = two(PAIRS), Registered("q", PAIRS)
    spread(case, tmp_path, JSON, EVENTS, 2)
    catalog, noted, write_summary = described(case, tmp_path, JSON), 0, emit.write_summary

    def refuses(*given: Any) -> None:
        # The table has the answers, but Spark does not know yet that the micro-batch is done.
        nonlocal noted
        noted += 1
        if noted % 2:
            raise StorageError("the disk is full")
        write_summary(*given)

    monkeypatch.setattr(epochs.emit, "write_summary", refuses)
    for number in range(2):
        with pytest.raises(StorageError, match="the disk is full"):
            live(spark, query, catalog, output=tmp_path / "live", into=_into(tmp_path, "delta"))
        assert noted == 2 * number + 1
    monkeypatch.undo()
    live(spark, query, catalog, output=tmp_path / "live", into=_into(tmp_path, "delta"))
    rows = DeltaTable(tmp_path / "delta").to_pyarrow_table()
    assert rows.column_names == ["A", "count", "epoch"]
    found = written(tmp_path / "live" / "q", case.query, timed=False)
    assert by_epoch(rows) == found and [epoch for epoch, _ in found] == [0, 1]


def by_epoch(rows: pa.Table) -> list[tuple[int, Counter[Any]]]:
    found: dict[int, Counter[Any]] = {}
    for one in rows.to_pylist():
        found.setdefault(one["epoch"], Counter())[(one["A"],)] += int(one["count"])
    return sorted(found.items())


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_sink_of_files_has_each_micro_batch_in_a_folder(kind: str, spark: Any, tmp_path: Path) -> None:
    answers = pa.table({"A": [1, None], "count": pa.array([D(2), D(3)], emit.COUNTS)})
    sink = sink_of(spark, _into(tmp_path, kind), "run")
    for epoch in (0, 1, 1):
        sink.put(epoch, answers)
    found = spark.read.format(kind).load(str(tmp_path / kind)).orderBy("epoch", "count").collect()
    assert [(r["A"], int(r["count"]), r["epoch"]) for r in found] == [
        (1, 2, 0),
        (None, 3, 0),
        (1, 2, 1),
        (None, 3, 1),
    ]


def test_what_kafka_is_given_is_an_object_for_key_and_value(spark: Any) -> None:
    answers = pa.table({"A b": [1], "t": ["x"], "count": pa.array([D(2)], emit.COUNTS)})
    rows = spark.createDataFrame(marked(answers, 7))
    (row,) = keyed(rows, ("A b",)).collect()
    assert row.key == '{"A b":1}' and row.value == '{"A b":1,"t":"x","count":2,"epoch":7}'
    assert keyed(rows, ()).collect()[0].key is None


def test_a_sink_that_spark_does_not_have_is_one_error(spark: Any, tmp_path: Path) -> None:
    answers = pa.table({"A": [1], "count": pa.array([D(2)], emit.COUNTS)})
    with pytest.raises(PlatformError, match="spark-sql-kafka-0-10"):
        sink_of(spark, Into("kafka", {"topic": "t"}), "run").put(0, answers)
    with pytest.raises(StorageError, match="the sink no-such does not take the answers"):
        sink_of(spark, Into("no-such"), "run").put(0, answers)
    with pytest.raises(QueryError, match="--key cannot be given with --into json"):
        sink_of(spark, _into(tmp_path, "json", "A"), "run")
    with pytest.raises(QueryError, match="--into json needs a folder"):
        sink_of(spark, Into("json"), "run")
