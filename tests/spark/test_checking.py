"""DataFrames of classic sessions and of Spark Connect: the verdict of the statement that they are."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark import programs
from tests.spark.dataframes import Frames, lines, promises
from tests.spark.programs import PROGRAMS, report

import streambound.spark
from streambound.compiler.report import check
from streambound.errors import CatalogError, QueryError
from streambound.query.catalog import catalog_from_mapping
from streambound.spark.checking.check import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DRAWN, DRAWN_ON_CONNECT = 12, 4
# What each program is as SQL over the streams that it reads.
CLICKS = {
    "columns": {"user": "bigint", "ts": "timestamp"},
    "timestamp": "ts",
    "allowed_lateness": "10 minutes",
}
SHOWN = {
    "columns": {"viewer": "bigint", "at": "timestamp"},
    "timestamp": "at",
    "allowed_lateness": "90 seconds",
}
LOG = {"columns": {"user": "bigint", "os": "string", "ts": "timestamp"}, "timestamp": "ts"}
STREAMS = {
    "c": CLICKS,
    "few": {**CLICKS, "domains": {"user": {"min": 0, "max": 9}}},
    "s": SHOWN,
    "log": LOG,
    "r": {"columns": {"value": "bigint", "timestamp": "timestamp"}, "kind": "stream"},
    "names": {"kind": "static", "columns": {"k": "int", "v": "string"}},
}
PAGED = "SELECT user % 10 AS page, ts FROM c"
SQL = {
    "attribution": "SELECT DISTINCT user, ts, viewer, at FROM c, s"
    " WHERE user = viewer AND ts BETWEEN at AND at + INTERVAL 10 MINUTES",
    "unbounded": "SELECT DISTINCT user, ts, viewer, at FROM c, s WHERE user = viewer",
    "by_user": "SELECT DISTINCT user FROM few",
    "by_key": "SELECT DISTINCT ON (user) user, ts FROM c",
    "using": f"SELECT DISTINCT a.page, a.ts AS first, b.ts AS second FROM ({PAGED}) a, ({PAGED}) b"
    " WHERE a.page = b.page AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR",
    "taken_from": "SELECT user, CASE WHEN user > 10 THEN 'many' ELSE 'few' END AS how FROM c, s"
    " WHERE user = viewer AND ts >= at AND ts <= at + INTERVAL 5 MINUTES"
    " AND user BETWEEN 1 AND 50 AND user NOT IN (7, 8)",
    "parsed": "SELECT user, date_trunc('hour', ts) AS hour FROM log WHERE os = 'linux'",
    "viewed": "SELECT DISTINCT a.user FROM c a, c b WHERE a.user = b.user"
    " AND a.ts BETWEEN b.ts - INTERVAL 5 MINUTES AND b.ts AND a.user BETWEEN 1 AND 9",
    "view_itself": "SELECT DISTINCT user % 4 AS part FROM c WHERE user > 3",
    "view_filtered": "SELECT at FROM s WHERE viewer > 50 AND viewer < 100",
    "given": "SELECT DISTINCT user FROM c WHERE user BETWEEN 1 AND 5",
    "windows": "SELECT DISTINCT window(ts, '10 minutes').start FROM c",
    "no_watermark": "SELECT user FROM c, r WHERE user = value"
    " AND ts BETWEEN timestamp AND timestamp + INTERVAL 1 HOUR",
    "united": "SELECT user, ts FROM c UNION SELECT viewer, at FROM s",
    "enriched": "SELECT user, v FROM c, names WHERE user = k",
    "counted": "SELECT window(ts, '10 minutes', '5 minutes') AS w, user, count(*) FROM c"
    " GROUP BY window(ts, '10 minutes', '5 minutes'), user",
    "outer": "SELECT * FROM c LEFT JOIN s ON user = viewer AND ts BETWEEN at AND at + INTERVAL 1 HOUR",
    "within": "SELECT DISTINCT ON (user, window(ts, '10 minutes')) user, ts FROM c",
    "within_all": "SELECT DISTINCT user, ts FROM c WHERE user < 5",
    "newest": "SELECT page, ts FROM (SELECT user % 4 AS page, ts,"
    " ROW_NUMBER() OVER (PARTITION BY user % 4 ORDER BY ts DESC) AS r FROM c) WHERE r <= 3",
    "moving": "SELECT ts, SUM(page) OVER (PARTITION BY page ORDER BY ts ROWS 3 PRECEDING) AS few,"
    " MAX(page) OVER (PARTITION BY page ORDER BY ts) AS so_far,"
    " LAG(page, 2) OVER (PARTITION BY page ORDER BY ts) AS b FROM (SELECT user % 4 AS page, ts FROM c)",
    "moving_text": "SELECT ts, SUM(user) OVER (PARTITION BY user % 4 ORDER BY ts"
    " RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW) AS total FROM c",
    "cubed": "SELECT page, half, COUNT(*) AS n, GROUPING_ID() AS g FROM"
    " (SELECT user % 4 AS page, user % 2 AS half FROM c) GROUP BY CUBE(page, half)",
    "rolled": "SELECT window(ts, '10 minutes') AS w, user, COUNT(*) AS n FROM c"
    " GROUP BY ROLLUP(window(ts, '10 minutes'), user)",
    "chosen_sets": "SELECT user % 4 AS page, COUNT(*) AS n FROM c GROUP BY GROUPING SETS ((user % 4), ())",
    "exploded": "SELECT m.part, s.at FROM (SELECT ts, part FROM c LATERAL VIEW"
    " explode(split(CAST(user AS STRING), '1')) AS part WHERE part <> '') m JOIN s"
    " ON m.part = CAST(s.viewer AS STRING) AND m.ts BETWEEN s.at AND s.at + INTERVAL 1 HOUR",
    "exploded_outer": "SELECT DISTINCT part FROM c LATERAL VIEW OUTER"
    " explode(split(CAST(user AS STRING), '1')) AS part",
    "function": "SELECT user, ts FROM c WHERE lambda(user)",
}
# What of a program cannot be seen, or is not decided whatever is in the statement.
REFUSED = {
    "chance": ["lambda is code, and said to answer another value each time: it is not supported"],
    "state": ["applyInPandasWithState (sessions) is code, which cannot be seen: what it keeps is not known"],
    "mapped": [
        "mapInPandas (doubled) is code, which cannot be seen: what it keeps is not known",
    ],
}


@pytest.fixture(scope="module")
def classic(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What a classic session says of everything, as the process for Spark Connect writes it."""
    from pyspark.sql import functions

    yield json.loads(json.dumps(programs.told(spark, functions, tmp_path_factory.mktemp("told"), DRAWN)))


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a session on a Connect server says of everything."""
    target = tmp_path_factory.mktemp("connected") / "told.json"
    command = [sys.executable, "-m", "tests.spark.programs", "local[1]", str(target), str(DRAWN_ON_CONNECT)]
    places = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment = {**os.environ, **places}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    done = subprocess.run(
        command, env=environment, cwd=target.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(target.read_text())
    return found


@pytest.fixture(params=["classic", "connected"])
def said(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What either kind of session says."""
    found: dict[str, Any] = request.getfixturevalue(request.param)
    return found


def test_every_program_has_its_statement_or_is_refused() -> None:
    assert set(SQL) | set(REFUSED) == set(PROGRAMS)


def test_the_verdict_is_that_of_the_statement(said: dict[str, Any]) -> None:
    catalog = catalog_from_mapping(STREAMS)
    for name, sql in SQL.items():
        wanted, found = check(sql, catalog, suggest=False), said["reports"][name]
        assert (found["verdict"], found["units"]) == (wanted.verdict, wanted.units), (name, found["text"])
        constructs = [one["construct"] for one in wanted.to_json().get("blockers", [])]
        assert set(constructs) <= {one["construct"] for one in found.get("blockers", [])} | {"WINDOW"}, name


def test_what_cannot_be_seen_is_said_by_name(said: dict[str, Any]) -> None:
    for name, messages in REFUSED.items():
        found = said["reports"][name]
        assert found["verdict"] == "invalid", name
        told = [one["message"] for one in found["blockers"]]
        assert set(messages) <= set(told), (name, told)
    told = said["reports"]["no_watermark"]["text"]
    assert "without a watermark Spark keeps all of r: .withWatermark(COLUMN, DELAY) bounds it" in told
    assert "assumed: (lambda(user)) depends on its arguments alone" in said["reports"]["function"]["text"]


def test_reasons_have_the_names_and_lines_of_the_program(said: dict[str, Any]) -> None:
    first = inspect.getsourcelines(programs.unbounded)[1]
    source = inspect.getsource(programs.unbounded).splitlines()
    line = first + next(n for n, text in enumerate(source) if "F.col" in text)
    text = said["reports"]["unbounded"]["text"]
    assert "unbounded-equality: c.user = s.viewer equates c.user with s.viewer" in text
    quoted = next(one for one in text.splitlines() if "WHERE c.user = s.viewer" in one)
    assert quoted.endswith(f"programs.py:{line}")
    assert "s.at BETWEEN c.ts - INTERVAL 1 HOUR AND c.ts + INTERVAL 1 HOUR" in text


def test_an_unbounded_query_is_refused_before_it_starts(said: dict[str, Any]) -> None:
    found = said["installed"]
    assert "its state can outgrow memory, so it was not started" in found["refused"]
    assert "c.user = s.viewer" in found["refused"] and found["running"] == 0
    assert found["started"] == "job" and found["silent"] == []
    assert found["of the query"].startswith("bounded    job")
    (warned,) = found["warned"]
    assert "lambda is code, and said to answer another value each time" in warned
    assert found["removed"] == []
    assert (
        "on is 'refused'" in found["of another mode"] and "accepted: warn, refuse" in found["of another mode"]
    )


def test_random_statements_as_dataframes(said: dict[str, Any]) -> None:
    by_id = {line.id: line for line in islice(lines(), DRAWN)}
    for name, verdict, units in said["drawn"]:
        line = by_id[name]
        wanted = check(line.sql, line.catalog, suggest=False)
        assert (verdict, units) == (wanted.verdict, wanted.units), (name, line.sql)
    assert {"bounded", "unbounded"} <= {verdict for _, verdict, _ in said["drawn"]}


@pytest.mark.heavy
def test_many_random_statements_as_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions

    frames = Frames(spark, functions, tmp_path)
    for line in islice(lines(10_000), 600):
        wanted = check(line.sql, line.catalog, suggest=False)
        found = streambound.spark.check(frames.of(line), line.id, promises(line), suggest=False)
        assert (found.verdict, found.units) == (wanted.verdict, wanted.units), (line.id, line.sql, str(found))


def test_what_spark_lets_grow_has_its_rewrite(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ST":
        (tmp_path / name).mkdir()
        frame = spark.readStream.schema("a INT, b INT").json(str(tmp_path / name))
        frame.createOrReplaceTempView(name)
    frame = spark.sql("SELECT DISTINCT S.a FROM S JOIN T ON S.a = T.a AND S.b < T.b WHERE S.a IN (1, 2)")
    found = streambound.spark.check(frame, "pairs")
    assert "  rewritten (R2): Spark keeps GROUP BY: 2 rows of 2" in str(found).splitlines()
    made = found.rewritten()
    assert made is not None
    # It reads the views that the query reads.
    assert spark.sql(str(made.sql)).columns == ["a"]
    assert streambound.spark.check(spark.table("S")).rewritten() is None


def test_promises_are_of_streams_that_are_read(spark: SparkSession) -> None:
    from pyspark.sql import functions

    frame = PROGRAMS["by_user"](spark, functions)
    assert streambound.spark.check(frame).verdict == "unbounded"
    with pytest.raises(CatalogError, match="promises of clicks, which the query does not read"):
        streambound.spark.check(frame, promises={"clicks": {}})
    with pytest.raises(CatalogError, match="domains names usr"):
        streambound.spark.check(frame, promises={"c": {"domains": {"usr": {"min": 0}}}})
    with pytest.raises(CatalogError, match="the promises of c have columns, which Spark says"):
        streambound.spark.check(frame, promises={"c": {"columns": {"user": "int"}}})
    found = report(spark, functions, "by_user")
    assert isinstance(found, Checked) and found.catalog is not None
    assert found.catalog.relations[0].allowed_lateness == "10 minutes"


@pytest.mark.parametrize("value", ["SELECT 1", None])
def test_what_is_no_dataframe_is_told(value: Any) -> None:
    with pytest.raises(QueryError, match="accepted: a streaming DataFrame, or a StreamingQuery"):
        streambound.spark.check(value)


def test_a_dataframe_without_streams_is_told(spark: SparkSession) -> None:
    with pytest.raises(QueryError, match="the DataFrame is not streaming"):
        streambound.spark.check(spark.range(3))
    with pytest.raises(QueryError, match="a SparkSession, classic or Connect"):
        streambound.spark.install("spark")


def test_the_example_of_the_documentation(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    exec(compile(code, "job.py", "exec"), {"spark": spark})
    # A line of dots stands for lines that are not shown.
    parts = ("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines())
    printed = capsys.readouterr().out
    assert re.fullmatch("".join(parts), printed), printed
