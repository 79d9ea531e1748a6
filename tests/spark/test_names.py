"""Histories, answers, states and live queries below folders of any name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from tests.spark.histories import Registered

import streambound
from streambound.errors import DataError
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.spark.executor import SparkExecutor
from streambound.spark.live.query import Pace, live

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = [
    "g[ab] {c,d} #1?*;&=+",
    "a%20b%2e%2e%2f 100%: é, =",
    "back\\slash 'and' \"quotes\"",
    "é e\u0301 ☃ 😀",
    "$HOME ~ !@^|<>`",
]
# With a colon the first is no folder that Spark's streams follow.
UNFOLLOWED = "g[ab] {c,d} #1?*:;&=+"
FILTER = Registered("filter", "SELECT A FROM S WHERE A > 1")
DISTINCT = Registered("distinct", "SELECT DISTINCT A FROM S WHERE A BETWEEN 1 AND 3")
ORC = Registered("orc", "SELECT DISTINCT O.A FROM O, R WHERE O.A = R.A AND R.A BETWEEN 1 AND 3")


def catalog(folder: Path) -> Catalog:
    columns = {"columns": {"A": "int"}}
    for day, value in (("2026-01-01", 1), ("2026-01-02", 2)):
        for stream, write in (("S", pq.write_table), ("O", orc.write_table)):
            file = folder / stream / f"date={day}" / "part-0"
            file.parent.mkdir(parents=True)
            with file.with_suffix(".parquet" if stream == "S" else ".orc").open("wb") as opened:
                write(pa.table({"A": [value]}), opened)
    (folder / "R").mkdir()
    with (folder / "R" / "rows.orc").open("wb") as opened:
        orc.write_table(pa.table({"A": [2, 3]}), opened)
    return catalog_from_mapping(
        {
            "S": {**columns, "history": {"path": str(folder / "S"), "partition_by": "date"}},
            "O": {**columns, "history": {"path": str(folder / "O"), "partition_by": "date", "format": "orc"}},
            "R": {**columns, "kind": "static", "history": {"path": str(folder / "R"), "format": "orc"}},
        }
    )


def evaluated(spark: SparkSession, folder: Path) -> Catalog:
    """Streams below a folder, of which a history's answers are right."""
    streams, told = catalog(folder), list[str]()
    found = evaluate_history(
        SparkExecutor(spark),
        [FILTER, DISTINCT, ORC],
        streams,
        output=folder / "answers",
        progress=told.append,
    )
    assert [(a.error, a.answer_count) for a in found] == [(None, 1), (None, 2), (None, 1)]
    return streams


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(n, marks=pytest.mark.heavy) for n in NAMES[1:])])
def test_everything_is_in_the_folder_that_was_named(name: str, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / name
    streams = evaluated(spark, folder)
    # The second goes on from what the first has kept.
    for query, count in ((FILTER, 1), (DISTINCT, 2), (DISTINCT, 2)):
        answer = live(spark, query, streams, output=folder / "live", pace=Pace(files=1))
        assert answer.answer_count == count
    assert len(list((folder / "live").glob("distinct/epoch=*/*.parquet"))) == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_spark_cannot_follow_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / UNFOLLOWED
    streams, plain = catalog(folder), catalog(tmp_path / "plain")
    for answer in evaluate_history(SparkExecutor(spark), [DISTINCT, ORC], streams, output=folder / "answers"):
        # Parquet files are read without Spark.
        refused = answer.error is not None and "cannot follow a folder" in str(answer.error)
        assert refused is (answer.query == ORC.name) and (refused or answer.answer_count == 2)
    for given, output in ((streams, tmp_path / "live"), (plain, folder / "live")):
        for query in (FILTER, DISTINCT):
            with pytest.raises(DataError, match="cannot follow a folder") as told:
                live(spark, query, given, output=output)
            assert UNFOLLOWED in str(told.value.subject) and told.value.fix
            assert not output.exists()
    assert {path.name for path in tmp_path.iterdir()} == {UNFOLLOWED, "plain"}


# Of columns: what SQL, shells and patterns give a meaning to.
ODD, TEXT = 'x"; DROP TABLE S; --', "it's `odd`; \\ $1 {0} %s"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("live_too", [False, pytest.param(True, marks=pytest.mark.heavy)])
def test_columns_and_texts_with_quotes_and_semicolons_mean_themselves(
    spark: SparkSession, tmp_path: Path, live_too: bool
) -> None:
    value = "a'; DROP TABLE S; --\\"
    sql = (
        f"SELECT DISTINCT S.{quoted(ODD)} FROM S, T WHERE S.{quoted(ODD)} = T.{quoted(TEXT)}"
        f" AND S.{quoted(TEXT)} = 'a\\'; DROP TABLE S; --\\\\' AND T.{quoted(TEXT)} BETWEEN 1 AND 3"
    )
    for stream, table in (
        ("S", {ODD: [1, 2], TEXT: [value, "b"]}),
        ("T", {TEXT: [1, 2]}),
    ):
        file = tmp_path / stream / "date=2026-01-01" / "part-0.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table(table), file)
    streams = catalog_from_mapping(
        {
            name: {"columns": columns, "history": {"path": str(tmp_path / name), "partition_by": "date"}}
            for name, columns in (("S", {ODD: "bigint", TEXT: "string"}), ("T", {TEXT: "bigint"}))
        }
    )
    events = [{"stream": "S", ODD: 1, TEXT: value}, {"stream": "S", ODD: 2, TEXT: "b"}]
    events += [{"stream": "T", TEXT: 1}, {"stream": "T", TEXT: 2}]
    for engine in ("onepass", "reference"):
        found = streambound.evaluate(sql, streams, events, engine=engine)
        assert [answer["row"] for answer in found["answers"]] == [[1]], engine
    query = Registered("odd", sql)
    answers = [live(spark, query, streams, output=tmp_path / "live").answer_count] if live_too else [1]
    for executor in (SparkExecutor(spark), LocalExecutor(1)):
        (told,) = evaluate_history(executor, [query], streams, output=tmp_path / type(executor).__name__)
        assert told.error is None
        answers.append(told.answer_count)
    assert answers == [1, 1, 1]
