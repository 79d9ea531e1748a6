"""Histories that only Spark reads: the same answers as from Parquet files that are read directly.

Groups: every kind of query over tables, ORC and a mix; nights; what is refused, and what fails alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import functions
from tests.spark import histories
from tests.spark.histories import KEY, Registered
from tests.spark.nights import left, night

from streambound.errors import DataError
from streambound.evaluation.history import history_batches
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import TABLE, History, Relation
from streambound.query.parse import statement
from streambound.spark import data_frames
from streambound.spark.executor import SparkExecutor
from streambound.storage.partitions import find_partitions, folder_partitions

pytestmark = pytest.mark.spark

COLUMNS = {
    "A": "int",
    "B": "bigint",
    "name": "string",
    "day": "date",
    "price": "decimal(5,2)",
    "ratio": "double",
    "ok": "boolean",
    "ts": "timestamp",
}
STREAMS: dict[str, Any] = {
    "S": {"columns": COLUMNS, "timestamp": "ts", "not_null": ["ok"], "domains": {"A": {"min": 0}}},
    "T": {"columns": COLUMNS, "timestamp": "ts"},
    "R": {"columns": {"A": "int", "name": "string"}, "kind": "static"},
}
QUERIES = {
    "stateless": "SELECT S.A, S.name, S.price FROM S WHERE S.A > 3 AND S.name < 'c'",
    "with static rows": "SELECT S.name, R.name AS other FROM S, R WHERE S.A = R.A AND S.B <> 2",
    "counts": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5",
    "no columns": "SELECT DISTINCT 1 FROM S",
    "extrema": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 3",
    "dates and floats": "SELECT DISTINCT S.ok FROM S, T WHERE S.ratio < T.ratio"
    " AND S.day >= DATE '2026-03-02'",
    "segments": "SELECT S.A, T.A AS B FROM S, T WHERE S.ts > T.ts AND S.A > T.A AND T.A BETWEEN 1 AND 4",
    "stepped": "SELECT DISTINCT S.A FROM S, T WHERE S.ts > T.ts + INTERVAL 5 SECONDS AND S.A BETWEEN 1 AND 3"
    " AND T.A = 2",
    "united": "SELECT S.A FROM S WHERE S.A BETWEEN 6 AND 7"
    " UNION SELECT T.A FROM T, S WHERE S.ts < T.ts AND T.A IN (1, 2) AND S.A = 1",
    "computed": "SELECT S.price * 2 AS twice, UPPER(S.name) AS said, DATE_TRUNC('HOUR', S.ts) AS hour FROM S"
    " WHERE S.A % 3 = 1 AND S.B + S.A > 2 AND (S.ok OR S.ratio / 2 < 1)",
    "counts of what is computed": (
        "SELECT S.A % 3 AS rest FROM S, T WHERE S.A % 3 = T.A AND T.A BETWEEN 0 AND 2"
    ),
    "in memory": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts",
}
MEMORY = {"in memory": Memory(4)}
START = 1_772_409_600_000_000


def rows(stream: str, part: int) -> list[dict[str, Any]]:
    chance = random.Random(f"{stream} {part}")

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    return [
        {
            "A": maybe(chance.randrange(8)),
            "B": maybe(chance.randrange(5)),
            "name": maybe(chance.choice("abcdeé")),
            "day": maybe(f"2026-03-0{chance.randrange(1, 5)}"),
            "price": maybe(f"{chance.randrange(3)}.50"),
            "ratio": maybe(chance.choice([0.0, -0.0, 1.5, float("nan")])),
            "ok": chance.random() < 0.5,
            "ts": f"2026-03-0{part + 1} 00:00:{chance.randrange(60):02}",
        }
        for _ in range(40)
    ]


STATIC = [
    {"A": 1, "name": "one"},
    {"A": 2, "name": None},
    {"A": None, "name": "none"},
    {"A": 1, "name": "uno"},
]


def read_as(catalog: Catalog, **kinds: History) -> Catalog:
    """The catalog with other histories of some relations."""
    return Catalog(tuple(replace(r, history=kinds.get(r.name, r.history)) for r in catalog.relations))


def to_orc(relation: Relation, folder: Path) -> History:
    """The Parquet history of a relation, written once more as ORC."""
    assert relation.history is not None
    for part in find_partitions(relation):
        for file in part.files:
            target = folder / file.relative_to(relation.history.path).with_suffix(".orc")
            target.parent.mkdir(parents=True, exist_ok=True)
            orc.write_table(pq.ParquetFile(file).read(), target)
    return History(str(folder), relation.history.partition_by, "orc")


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("histories")
    plain = catalog_from_mapping(STREAMS)
    for relation in plain.relations:
        if relation.name == "R":
            histories.write(relation, STATIC, folder, None)
            continue
        for part in range(3):
            histories.write(relation, rows(relation.name, part), folder, part, files=2)
    return histories.placed(plain, folder)


@pytest.fixture(scope="module")
def views(spark: Any, direct: Catalog) -> Iterator[dict[str, History]]:
    """A view of each relation in the session's catalog."""
    made = {}
    for relation in direct.relations:
        assert relation.history is not None
        spark.read.parquet(relation.history.path).createOrReplaceTempView(f"view_{relation.name}")
        made[relation.name] = History(f"view_{relation.name}", relation.history.partition_by, TABLE)
    yield made
    for place in made.values():
        spark.catalog.dropTempView(place.path)


def evaluated(executor: Executor, catalog: Catalog, output: Path) -> dict[str, HistoryAnswer]:
    queries = [Registered(name, sql) for name, sql in QUERIES.items()]
    found = evaluate_history(executor, queries, catalog, output=output, memory=MEMORY)
    return {answer.query: answer for answer in found}


def of_the_answer(answer: HistoryAnswer) -> dict[str, Any]:
    return {key: value for key, value in answer.to_json().items() if key != "seconds"}


@pytest.fixture(scope="module")
def expected(direct: Catalog, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is said of the same queries over Parquet."""
    found = evaluated(LocalExecutor(1), direct, tmp_path_factory.mktemp("expected"))
    for answer in found.values():
        assert answer.error is None and answer.answer_count > 0, answer
    return {name: of_the_answer(answer) for name, answer in found.items()}


@pytest.mark.parametrize("mix", ["tables", "all"])
def test_the_same_answers(
    spark: Any,
    direct: Catalog,
    views: dict[str, History],
    expected: dict[str, dict[str, Any]],
    tmp_path: Path,
    mix: str,
) -> None:
    """Also of rows read and units. The second time T is ORC, R a table, and S stays Parquet."""
    t = to_orc(next(r for r in direct.relations if r.name == "T"), tmp_path / "[T]")
    chosen = {"tables": views, "all": {"T": t, "R": views["R"]}}[mix]
    found = evaluated(SparkExecutor(spark), read_as(direct, **chosen), tmp_path / "out")
    for name, answer in found.items():
        assert of_the_answer(answer) == expected[name], name
    assert not list((tmp_path / "out").glob(".static*"))


def test_the_same_values_in_another_column_are_another_content(spark: Any, tmp_path: Path) -> None:
    plain = catalog_from_mapping({"U": {"columns": {"A": "int", "B": "int", "C": "int"}}})
    relation = replace(plain.relations[0], history=History("renamed", KEY, TABLE))
    listed, contents = data_frames.listing(spark, tmp_path), []
    for columns in ("5 AS A, 6 AS B", "5 AS A, 6 AS C", "5 AS A, '6' AS B", "6 AS B, 5 AS A"):
        spark.sql(f"SELECT {columns}, 7 AS {KEY}").createOrReplaceTempView("renamed")
        (part,) = listed(relation)
        contents.append(part.content)
    assert len(set(contents[:3])) == 3 and contents[3] == contents[0]


NIGHTLY = [Registered(name, QUERIES[name]) for name in ("stateless", "counts", "segments")]


def test_nights_over_a_table(spark: Any, direct: Catalog, tmp_path: Path) -> None:
    """What Spark says of a table tells whether a partition has changed; nothing else is read again."""
    catalog = read_as(direct, T=History("nightly", KEY, TABLE))
    t = next(r for r in direct.relations if r.name == "T")
    folder = tmp_path / "T"

    def written(*parts: list[dict[str, Any]]) -> dict[str, HistoryAnswer]:
        for number, found in enumerate(parts):
            histories.write(t, found, tmp_path, number)
        spark.read.parquet(str(folder)).createOrReplaceTempView("nightly")
        return night(NIGHTLY, catalog, tmp_path / "home", SparkExecutor(spark))

    def read(found: dict[str, HistoryAnswer]) -> list[tuple[str, ...]]:
        assert [answer.error for answer in found.values()] == [None] * len(NIGHTLY)
        return [answer.read_partitions for answer in found.values()]

    first = [rows("T", part) for part in range(3)]
    assert read(written(*first[:2])) == [("0", "1", "2")] * 3
    # The same rows in another order, and written again, are the same content.
    again = [part[::-1] for part in first]
    assert read(written(*again)) == [(), ("2",), ("2",)]
    again[1][0]["B"] = 4
    assert read(written(*again)) == [(), ("1",), ("1",)]
    night(NIGHTLY, read_as(direct, T=History(str(folder), KEY)), tmp_path / "direct")
    for query in NIGHTLY:
        assert left(tmp_path / "home", query.name) == left(tmp_path / "direct", query.name)


def said(spark: Any, catalog: Catalog, folder: Path, sql: str) -> str:
    (answer,) = evaluate_history(SparkExecutor(spark), [Registered("q", sql)], catalog, output=folder)
    assert answer.error is not None
    return str(answer.error)


def test_what_spark_cannot_read_fails_the_query_with_a_word(
    spark: Any, direct: Catalog, views: dict[str, History], tmp_path: Path
) -> None:
    sql = "SELECT A FROM S WHERE A > 3"
    absent = read_as(direct, S=History("nowhere.nothing", KEY, TABLE))
    assert "stream S: Spark cannot read table nowhere.nothing" in said(spark, absent, tmp_path, sql)
    unknown = read_as(direct, S=replace(views["S"], partition_by="hour"))
    assert "has no column hour to be partitioned by" in said(spark, unknown, tmp_path, sql)
    odd = read_as(direct, S=replace(views["S"], partition_by="ts"))
    assert "has no plain name" in said(spark, odd, tmp_path, sql)
    none = read_as(direct, S=replace(views["S"], partition_by="day"))
    assert "have no day: they are in no partition" in said(spark, none, tmp_path, sql)


def test_other_rows_than_the_catalog_promises_are_refused_as_in_files(
    spark: Any, direct: Catalog, tmp_path: Path
) -> None:
    """A broken promise is seen though the filter would drop the row, as are columns of another type."""
    sql = "SELECT A FROM S WHERE A > 3 AND ok = TRUE"
    names = ", ".join(f"`{name}`" for name in COLUMNS if name not in ("A", "ok"))
    catalog = read_as(direct, S=History("odd", KEY, TABLE))
    for select, told in (
        ("-1 AS A, true AS ok", "S.A = -1 is outside its declared domain"),
        ("5 AS A, CAST(NULL AS boolean) AS ok", "S.ok is NULL though the catalog says not_null"),
        ("'5' AS A, true AS ok", "table odd, partition 7: S.A is stored as string"),
        ("5 AS A", "table odd, partition 7: S lacks the column ok"),
    ):
        spark.sql(
            f"CREATE OR REPLACE TEMP VIEW odd AS SELECT {names}, {select}, 7 AS {KEY} FROM"
            f" parquet.`{direct.relations[0].history.path}` LIMIT 1"  # type: ignore[union-attr]
        )
        assert told in said(spark, catalog, tmp_path / "out", sql)


@pytest.mark.parametrize(
    ("promise", "ts", "told"),
    [
        ({"granularity": "second"}, "2026-03-01 00:00:00.000001", "is no whole second"),
        ({"max_rows_per_timestamp": 1}, "2026-03-01 00:00:00", "is the timestamp of more rows"),
        ({"granularity": "second", "max_rows_per_timestamp": 2}, "2026-03-01 00:00:00", None),
    ],
    ids=["granularity", "rate", "kept"],
)
def test_promises_about_timestamps_are_seen_though_the_filter_would_drop_the_row(
    spark: Any, tmp_path: Path, promise: dict[str, Any], ts: str, told: str | None
) -> None:
    catalog = catalog_from_mapping(
        {"S": {"columns": {"A": "int", "ts": "timestamp"}, "timestamp": "ts", **promise}}
    )
    relation = catalog.relations[0]
    histories.write(relation, [{"A": 9, "ts": "2026-03-01 00:00:00"}, {"A": 1, "ts": ts}], tmp_path, 0)
    catalog = histories.placed(catalog, tmp_path)
    read = read_as(catalog, S=to_orc(catalog.relations[0], tmp_path / "orc"))
    for sql, reads in (("SELECT ts FROM S WHERE A > 3", True), ("SELECT A FROM S WHERE A > 3", False)):
        (answer,) = evaluate_history(
            SparkExecutor(spark), [Registered("q", sql)], read, output=tmp_path / "out"
        )
        if told is not None and reads:
            assert answer.error is not None and "S, partition 0: S.ts = " in str(answer.error)
            assert told in str(answer.error)
        else:
            assert answer.error is None and answer.answer_rows == 1


@pytest.mark.parametrize("sql", ["SELECT 1 FROM U", "SELECT DISTINCT 1 FROM U"])
def test_rows_count_though_no_needed_column_is_there(spark: Any, tmp_path: Path, sql: str) -> None:
    """A column that is declared first, and asked for by none, may be missing, as it may be in files."""
    plain = catalog_from_mapping({"U": {"columns": {"A": "int", "B": "int"}}})
    spark.sql(f"SELECT id AS B, 7 AS {KEY} FROM range(3)").createOrReplaceTempView("lacking")
    catalog = read_as(plain, U=History("lacking", KEY, TABLE))
    (answer,) = evaluate_history(SparkExecutor(spark), [Registered("q", sql)], catalog, output=tmp_path)
    assert answer.error is None
    assert (answer.answer_count, answer.rows) == (1 if "DISTINCT" in sql else 3, 3)


def test_a_damaged_file_fails_the_queries_that_read_it(spark: Any, direct: Catalog, tmp_path: Path) -> None:
    history = to_orc(direct.relations[0], tmp_path / "S")
    next((tmp_path / "S" / f"{KEY}=1").glob("*.orc")).write_bytes(b"ORC no more")
    queries = [Registered("bad", "SELECT A FROM S WHERE A > 3"), Registered("good", "SELECT A FROM T")]
    bad, good = evaluate_history(
        SparkExecutor(spark), queries, read_as(direct, S=history), output=tmp_path / "out"
    )
    assert bad.error is not None and "Spark" in str(bad.error)
    assert good.error is None and good.answer_count == 120


@pytest.fixture
def linked(direct: Catalog, tmp_path: Path) -> Relation:
    """S as ORC below a key that an address encodes: a file and a folder are links, and a folder holds one."""
    relation = direct.relations[0]
    written = to_orc(relation, tmp_path / "away")
    for part in range(3):
        (tmp_path / "S").mkdir(exist_ok=True)
        away, here = Path(written.path) / f"{KEY}={part}", tmp_path / "S" / f"gr\u00f6\u00dfe={part}"
        if part == 0:
            here.symlink_to(away)
            continue
        here.mkdir()
        for file in away.iterdir():
            (here / file.name).symlink_to(file)
    (tmp_path / "S" / "gr\u00f6\u00dfe=2" / "folder").mkdir()
    return replace(relation, history=History(str(tmp_path / "S"), "gr\u00f6\u00dfe", "orc"))


def test_only_files_are_what_is_in_a_partition(linked: Relation) -> None:
    assert [len(part.files) for part in folder_partitions(linked)] == [2, 2, 2]


def test_the_folder_of_a_link_names_its_partition(spark: Any, linked: Relation) -> None:
    frame = data_frames.frame_of(spark, linked, folder_partitions(linked))
    assert {row[0]: row[1] for row in frame.groupBy(data_frames.NAME).count().collect()} == dict.fromkeys(
        "012", 40
    )


def test_rows_of_an_unknown_partition_fail_the_query_with_a_word(
    spark: Any, direct: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = to_orc(direct.relations[0], tmp_path / "S")
    monkeypatch.setattr(data_frames, "_folder", lambda history: functions.lit("other"))
    told = said(spark, read_as(direct, S=history), tmp_path / "out", "SELECT A FROM S WHERE A > 3")
    assert "Spark has read rows of partition 'other', which was not asked for" in told
    assert "accepted: 0, 1, 2" in told


def test_only_spark_reads_them(direct: Catalog, views: dict[str, History], tmp_path: Path) -> None:
    query = statement("SELECT A FROM S WHERE A > 3", read_as(direct, S=views["S"]))
    with pytest.raises(
        DataError, match="the history of stream S is a table of Spark, which only Spark reads"
    ):
        list(history_batches(query))
