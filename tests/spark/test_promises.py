"""The catalog's promises: every engine refuses the same rows by name, and else keeps within its units.

Groups: random promises and rows that keep or break them, judged by the words of the reference; rows of one
timestamp in several files; what no engine may exceed.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.arrivals import Here, flat
from tests.spark.arrivals import write as write_files
from tests.spark.histories import Registered
from tests.strategies import Case

from streambound.approximate.selected_policy import SelectedPolicy
from streambound.cli import main
from streambound.errors import DataError, UnitsExceeded
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.history import history_batches
from streambound.evaluation.reference import reference
from streambound.history import stored_relations
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.plan.model import Plan
from streambound.query.catalog import Catalog, catalog_from_mapping, load_catalog
from streambound.query.parse import statement
from streambound.spark.executor import SparkExecutor

EPOCH = dt.datetime(2026, 1, 1)
TICKS = {"second": 1_000_000, "minute": 60_000_000}
Rows = list[dict[str, Any]]
Parts = list[dict[str, Rows]]


@dataclass(frozen=True)
class Shape:
    """A query, and the columns that it reads of each stream; ``{w}`` is a window of two ticks."""

    sql: str
    reads: Mapping[str, str]
    stored: bool = False
    live: bool = True


WINDOW = "S.ts <= T.ts + {w} AND T.ts <= S.ts + {w}"
SHAPES = [
    Shape(f"SELECT S.A, T.B FROM S, T WHERE S.A = T.A AND {WINDOW}", {"S": "A ts", "T": "A B ts"}),
    # A filter that lets through none of the rows which are too many makes no difference.
    Shape(f"SELECT S.A FROM S, T WHERE S.A = T.A AND S.B = 9 AND {WINDOW}", {"S": "A B ts", "T": "A ts"}),
    # Summaries of partitions.
    Shape(
        "SELECT 1 FROM S, T WHERE S.ts < T.ts AND S.A BETWEEN 0 AND 3 AND T.B > 0",
        {"S": "A ts", "T": "B ts"},
    ),
    Shape("SELECT DISTINCT S.ts, S.A FROM S, T WHERE T.ts < S.ts", {"S": "A ts", "T": "ts"}),
    # The timestamps of T are not named, but tuples of all streams are put in order.
    Shape(
        f"SELECT 1 FROM S, S x, T WHERE {WINDOW.replace('T.', 'x.')} AND S.B = T.B AND T.B IN (1, 2)",
        {"S": "B ts", "T": "B ts"},
    ),
    Shape(
        "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 0 AND 2",
        {"S": "A", "T": "A"},
        stored=True,
    ),
    Shape("SELECT S.A FROM S WHERE S.B > 1", {"S": "A B"}, stored=True, live=False),
    Shape("SELECT S.ts, S.A FROM S WHERE S.A > 1", {"S": "A ts"}, stored=True, live=False),
    Shape(
        f"SELECT S.A FROM S, T WHERE S.A = T.A AND {WINDOW} UNION ALL SELECT B FROM U WHERE B > 1",
        {"S": "A ts", "T": "A ts", "U": "B ts"},
    ),
    # A stream that ends.
    Shape("SELECT S.B FROM S, T WHERE S.A = T.A AND T.ts <= {end}", {"S": "A B ts", "T": "A ts"}),
]
# Where B has a domain the answer is always empty, or a stream is in no part of it.
EMPTY = [
    Shape(
        "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A IN (1, 2) AND S.B = 4",
        {"S": "A B", "T": "A"},
        stored=True,
    ),
    Shape(f"SELECT S.A FROM S, T WHERE S.A = T.A AND T.B = 4 AND {WINDOW}", {"S": "A ts", "T": "A B ts"}),
    Shape(
        "SELECT S.A FROM S WHERE S.B > 1 UNION ALL SELECT T.A FROM T WHERE T.B = 4",
        {"S": "A B", "T": "A B"},
        stored=True,
    ),
    Shape(
        f"SELECT S.A FROM S, T WHERE S.A = T.A AND {WINDOW} UNION ALL SELECT B FROM U WHERE B = 4",
        {"S": "A ts", "T": "A ts", "U": "B ts"},
    ),
]


@dataclass(frozen=True, repr=False)
class Drawn:
    """Streams with promises, a query over them, and its rows by partition and stream."""

    shape: Shape
    streams: dict[str, Any]
    sql: str
    parts: Parts

    def __repr__(self) -> str:
        return f"{self.sql} over {self.streams}: {self.parts}"

    @property
    def catalog(self) -> Catalog:
        return catalog_from_mapping(self.streams)

    def broken(self) -> set[tuple[int, str, int, str]]:
        """Partition, stream, row and column of each row that breaks a promise on a column that is read."""
        found = set()
        for number, part in enumerate(self.parts):
            for name, columns in self.shape.reads.items():
                at: Counter[int] = Counter()
                for index, row in enumerate(part.get(name, [])):
                    at[row["ts"]] += 1
                    wrong = self._wrong(self.streams[name], row, at[row["ts"]])
                    found |= {(number, name, index, column) for column in wrong & set(columns.split())}
        return found

    @staticmethod
    def _wrong(body: dict[str, Any], row: dict[str, Any], number: int) -> set[str]:
        wrong = {c for c in body.get("not_null", []) if row[c] is None}
        for column, domain in body.get("domains", {}).items():
            value = row[column]
            if value is not None and not domain["min"] <= value <= domain["max"]:
                wrong.add(column)
        uneven = body["columns"]["ts"] == "timestamp" and row["ts"] % TICKS.get(body.get("granularity"), 1)
        if uneven or number > body.get("max_rows_per_timestamp", 99):
            wrong.add("ts")
        return wrong


@st.composite
def drawn(draw: st.DrawFn, shapes: list[Shape] = SHAPES, more: Mapping[str, Any] | None = None) -> Drawn:
    """A query, promises (``more`` of every stream), and rows most of which keep them."""
    shape, kind = draw(st.sampled_from(shapes)), draw(st.sampled_from(["timestamp", "timestamp", "int"]))
    names = sorted(shape.reads)
    streams = {name: {**draw(_promised(kind)), **(more or {})} for name in names}
    # Half of all draws break nothing on purpose.
    mishaps = draw(st.sampled_from([0, 0, 1, 3]))
    tick = 1_000_000 if kind == "timestamp" else 1
    rows: Rows = []
    moment = 0
    for _ in range(draw(st.integers(0, 12))):
        moment += draw(st.sampled_from([0, 0, 1, 1, 2])) * 60 * tick
        rows.append({"stream": draw(st.sampled_from(names)), "A": 1, "B": 2, "ts": moment})
    for row in rows:
        row["A"], row["B"] = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    for row in draw(st.permutations(rows))[:mishaps]:
        column = draw(st.sampled_from(["A", "B", "ts"]))
        wrong = draw(st.sampled_from([-1, 4, None]))
        row[column] = row["ts"] + draw(st.sampled_from([1, tick])) if column == "ts" else wrong
    if not mishaps:
        rows = list(_kept(streams, rows))
    rows.sort(key=lambda row: row["ts"])
    window, end = ("INTERVAL 2 MINUTES", "TIMESTAMP '2026-01-01 00:03:00'")
    if kind == "int":
        window, end = "120", "180"
    sql = shape.sql.format(w=window, end=end)
    return Drawn(shape, streams, sql, _cut(draw, rows))


@st.composite
def _promised(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    body: dict[str, Any] = {"columns": {"A": "int", "B": "int", "ts": kind}, "timestamp": "ts"}
    if draw(st.booleans()):
        body["granularity"] = draw(st.sampled_from(list(TICKS)))
    if draw(st.integers(0, 2)):
        body["max_rows_per_timestamp"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        body["domains"] = {draw(st.sampled_from("AB")): {"min": 0, "max": 3}}
    if draw(st.booleans()):
        body["not_null"] = [draw(st.sampled_from("AB"))]
    return body


def _kept(streams: Mapping[str, Any], rows: Rows) -> Iterator[dict[str, Any]]:
    """The rows without those that are too many at their timestamp."""
    at: Counter[tuple[str, int]] = Counter()
    for row in rows:
        at[row["stream"], row["ts"]] += 1
        if at[row["stream"], row["ts"]] <= streams[row["stream"]].get("max_rows_per_timestamp", 99):
            yield row


def _cut(draw: st.DrawFn, rows: Rows) -> Parts:
    """The rows in partitions; what has one timestamp stays together."""
    parts: Parts = [{}]
    last = None
    for row in rows:
        if row["ts"] != last and draw(st.integers(0, 3)) == 0:
            parts.append({})
        last = row["ts"]
        parts[-1].setdefault(row["stream"], []).append(row)
    return parts


def dated(case: Drawn, rows: Rows) -> Rows:
    """Rows with the timestamps that files hold."""
    if case.streams["S"]["columns"]["ts"] == "int":
        return rows
    return [{**row, "ts": (EPOCH + dt.timedelta(microseconds=row["ts"])).isoformat()} for row in rows]


def placed(case: Drawn, folder: Path) -> Catalog:
    """The catalog with its histories, written."""
    for number, part in enumerate(case.parts):
        for relation in case.catalog.relations:
            histories.write(relation, dated(case, part.get(relation.name, [])), folder, number)
    return histories.placed(case.catalog, folder)


Engine = Callable[[Drawn, Path], int | None]


def one_pass(case: Drawn, folder: Path) -> int | None:
    catalog = placed(case, folder)
    query = statement(case.sql, catalog, "q")
    evaluation = statement_pass(query, {})
    for _ in evaluation.run(history_batches(query)):
        assert evaluation.max_units is None or evaluation.peak_units <= evaluation.max_units
    return evaluation.max_units


def definition(case: Drawn, folder: Path) -> None:
    catalog = placed(case, folder)
    query = statement(case.sql, catalog, "q")
    list(reference(query, history_batches(query), {}))


def by_history(
    case: Drawn, folder: Path, executor: Executor | None = None, memory: Memory | None = None
) -> int | None:
    catalog = placed(case, folder)
    memories = None if memory is None else {"q": memory}
    (answer,) = evaluate_history(
        executor or LocalExecutor(1),
        [Registered("q", case.sql)],
        catalog,
        output=folder / "out",
        memory=memories,
    )
    if answer.error is not None:
        assert not answer.evaluated
        raise answer.error
    assert answer.peak_units is not None and (answer.units is None or answer.peak_units <= answer.units)
    return answer.units


def live(case: Drawn, folder: Path) -> None:
    """A file of each stream a partition."""
    statement_case = Case(case.streams, case.sql, case.catalog, statement(case.sql, case.catalog, "q"))
    here = Here(statement_case, flat(case.catalog, folder), folder)
    for epoch, part in enumerate(case.parts):
        arriving = [(name, dated(case, part.get(name, []))) for name in sorted(case.streams)]
        here.take(write_files(statement_case, arriving, folder, epoch))
    here.end()
    units = here.beginning.plan.max_units
    assert units is None or here.step.progress.peak_units <= units


def tables(case: Drawn, folder: Path) -> None:
    """A table a stream, of all partitions."""
    for relation in case.catalog.relations:
        rows = [row for part in case.parts for row in part.get(relation.name, [])]
        histories.write_file(relation, dated(case, rows), folder / f"{relation.name}.parquet")
    reading = stored_relations.StoredEvaluation(stored_relations.stored("q", case.sql, case.catalog, folder))
    list(reading.run())
    units = reading.query.plan.max_units
    assert units is None or reading.peak_units <= units


def outcome(engine: Engine, case: Drawn) -> str | None:
    """What an engine refuses, None if it accepts."""
    with TemporaryDirectory() as name:
        try:
            engine(case, Path(name))
        except DataError as error:
            return str(error)
        return None


PLACE = re.compile(
    r"(?P<file>\S+), row (?P<row>\d+): (?P<stream>\w)\.(?P<column>\w+) (= (?P<value>.+?) )?is "
)


def assert_agreed(case: Drawn, engines: Mapping[str, Engine]) -> None:
    """All accept or all refuse, as the promises say; a refusal names file, row, column and value."""
    broken = case.broken()
    event("broken" if broken else "kept")
    for name, engine in engines.items():
        told = outcome(engine, case)
        assert (told is not None) == bool(broken), (name, told, broken)
        if told is None:
            continue
        found = PLACE.search(told)
        assert found is not None, (name, told)
        stream, row, column = found["stream"], int(found["row"]), found["column"]
        if engine in (one_pass, definition, by_history):
            part = int(re.search(r"part=(\d+)/", found["file"])[1])  # type: ignore[index]
            assert (part, stream, row, column) in broken, (name, told, broken)
            value = case.parts[part][stream][row][column]
            assert column == "ts" or value is None or found["value"] == str(value), told
        else:
            assert (stream, column) in {(s, c) for _, s, _, c in broken}, (name, told, broken)


@settings(max_examples=settings.default.max_examples // 2)
@given(case=drawn())
def test_all_engines_refuse_the_same_rows_and_keep_within_their_units(case: Drawn) -> None:
    engines: dict[str, Engine] = {"one pass": one_pass, "definition": definition, "spark": by_history}
    if case.shape.live:
        engines["live"] = live
    if case.shape.stored:
        engines["tables"] = tables
    assert_agreed(case, engines)


@settings(max_examples=settings.default.max_examples // 2)
@given(case=drawn(EMPTY, {"domains": {"B": {"min": 0, "max": 3}}}))
def test_streams_that_no_answer_needs_are_checked_too(case: Drawn) -> None:
    engines: dict[str, Engine] = {"one pass": one_pass, "definition": definition, "spark": by_history}
    engines["tables" if case.shape.stored else "live"] = tables if case.shape.stored else live
    assert_agreed(case, engines)


MEMORY = Shape("SELECT S.A FROM S, T WHERE S.A = T.A", {"S": "A ts", "T": "A ts"})


@settings(max_examples=settings.default.max_examples // 5)
@given(case=drawn([MEMORY]))
def test_so_does_a_cache_of_k_tuples(case: Drawn) -> None:
    memory = Memory(3, None, SelectedPolicy("lru"))
    engine = partial(by_history, memory=memory)
    if any("A" in body.get("domains", {}) for body in case.streams.values()):
        # It is bounded then, and evaluated exactly: no timestamp is read.
        case = replace(case, shape=replace(MEMORY, reads={"S": "A", "T": "A"}))
    told, broken = outcome(engine, case), case.broken()
    assert (told is not None) == bool(broken), (told, broken)


@pytest.mark.spark
@settings(max_examples=6)
@given(data=st.data())
def test_so_does_spark_itself(spark: Any, data: st.DataObject) -> None:
    assert_agreed(
        data.draw(drawn()),
        {"one pass": one_pass, "spark": partial(by_history, executor=SparkExecutor(spark))},
    )


# A window that is sized by the granularity and by the rows at a timestamp.
CATALOG = """streams:
  S: &stream
    columns: {A: int, ts: timestamp}
    timestamp: ts
    granularity: second
    max_rows_per_timestamp: 1
    history: {path: S}
  T: {<<: *stream, history: {path: T}}
"""
SQL = """SELECT 1 FROM S, T WHERE S.A = T.A
AND T.ts BETWEEN S.ts - INTERVAL 5 SECONDS AND S.ts + INTERVAL 5 SECONDS"""


def written(folder: Path, moments: Mapping[str, list[int]]) -> list[str]:
    """A query, its catalog and its files; the arguments of a run. Moments are in microseconds."""
    (folder / "streams.yml").write_text(CATALOG)
    (folder / "q.sql").write_text(SQL)
    for name, mine in moments.items():
        (folder / "streams" / name).mkdir(parents=True)
        stamps = pa.array(mine, pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table({"A": [1] * len(mine), "ts": stamps}), folder / "streams" / name / "0.parquet"
        )
    places = ["--input", str(folder / "streams"), "--output", str(folder / "out")]
    return ["run", str(folder / "q.sql"), "--catalog", str(folder / "streams.yml"), *places]


@pytest.mark.parametrize("engine", ["onepass", "reference"])
@pytest.mark.parametrize(
    ("moments", "told"),
    [
        ([0, 1_000_000, 1_001_000], "row 2: S.ts"),
        ([0, 1_000_000, 1_000_000], "row 2: S.ts"),
    ],
    ids=["granularity", "rate"],
)
def test_a_bound_that_was_printed_is_not_passed(
    engine: str, moments: list[int], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = written(tmp_path, {"S": moments, "T": [0]})
    assert main([*arguments, "--engine", engine]) == 2
    said = capsys.readouterr()
    assert f"{tmp_path / 'streams' / 'S' / '0.parquet'}, {told}" in said.err and said.out == ""


def test_rows_of_one_timestamp_count_over_the_files_of_a_live_query(tmp_path: Path) -> None:
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts", "max_rows_per_timestamp": 2}
    streams = {"S": body, "T": body}
    sql = "SELECT 1 FROM S, T WHERE S.A = T.A AND S.A BETWEEN 0 AND 3 AND S.ts < T.ts"
    catalog = catalog_from_mapping(streams)
    case = Case(streams, sql, catalog, statement(sql, catalog, "q"))
    here = Here(case, flat(catalog, tmp_path), tmp_path)
    row = {"stream": "S", "A": 1, "ts": 5}
    for epoch, rows in enumerate(([row], [row, {**row, "A": 9}])):
        # Rows that do not count are looked at in each file alone.
        here.take(write_files(case, [("S", rows)], tmp_path, epoch))
    with pytest.raises(DataError, match=r"0002-0000\.parquet: S\.ts = 5 is the timestamp of more rows"):
        here.take(write_files(case, [("S", [row])], tmp_path, 2))


def test_no_run_succeeds_with_more_state_than_its_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Were a plan to need more than its units, each engine would say so."""
    monkeypatch.setattr(Plan, "max_units", 1)
    arguments = written(tmp_path, {"S": [0, 1_000_000], "T": [2_000_000]})
    assert main([*arguments, "--engine", "onepass"]) == 3
    said = capsys.readouterr()
    assert "units-exceeded: q: 2 units were stored, though the plan needs at most 1" in said.err
    assert said.out == ""
    catalog = load_catalog(tmp_path / "streams.yml")
    (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", SQL)], catalog, output=tmp_path / "spark")
    assert isinstance(answer.error, UnitsExceeded) and not answer.evaluated
    here_case = Case({}, SQL, catalog, statement(SQL, catalog, "q"))
    here = Here(here_case, catalog, tmp_path)
    with pytest.raises(UnitsExceeded):
        here.take([(n, f"file:{tmp_path / 'streams' / n / '0.parquet'}") for n in "ST"])
        here.end()
