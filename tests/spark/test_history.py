"""Histories on Spark: answers equal plain SQL and the one-pass engine, however a history is cut."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.histories import Registered, compact_pass
from tests.strategies import Case, cases, events, static

from streambound.demo.abstract import Shape, generate
from streambound.errors import DataError, PlanError, QueryError, StreamboundError
from streambound.evaluation.events import Batch, Encoded, encode, encode_static
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import parse
from streambound.spark.executor import SparkExecutor

MIXES = [
    ("int",),
    ("int", "double", "decimal(3,1)"),
    ("string", "boolean"),
    ("date", "timestamp"),
]
Rows = list[dict[str, Any]]


def written(case: Case, parts: list[Rows], statics: dict[str, Rows], folder: Path) -> Catalog:
    for occurrence in case.query.streams:
        for number, rows in enumerate(parts):
            name = occurrence.relation.name
            histories.write(occurrence.relation, [r for r in rows if r["stream"] == name], folder, number)
    for name, rows in statics.items():
        histories.write(case.query.occurrence(name).relation, rows, folder, None)
    return histories.placed(case.catalog, folder)


def one_pass(case: Case, parts: list[Rows], statics: dict[str, list[Encoded]]) -> dict[str, Counter[Any]]:
    engine, found = compact_pass(case.query, statics), {}
    for number, rows in enumerate(parts):
        tuples: dict[str, list[Encoded]] = {}
        for row in rows:
            relation = case.query.occurrence(row["stream"]).relation
            tuples.setdefault(row["stream"], []).append(encode(relation, row, "row"))
        if new := engine.process(Batch(number, tuples)):
            found[str(number)] = Counter(new)
    return found


def total(answers: dict[str, Counter[Any]]) -> Counter[Any]:
    return sum(answers.values(), Counter())


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(data=st.data())
def test_answers_equal_one_pass_and_plain_sql(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    statics = data.draw(static(case))
    histories.plan_of(case, statics)
    parts = [data.draw(events(case, 8)) for _ in range(data.draw(st.integers(1, 4)))]
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = written(case, parts, statics, folder)
        (answer,) = evaluate_history(
            LocalExecutor(1), [Registered("q", case.sql)], catalog, output=folder / "out"
        )
        assert answer.error is None, answer.error
        found = histories.read_answers(folder / "out" / "q", case.query)
    assert found == one_pass(case, parts, encode_static(case.statement, statics)), case.sql
    every = {r.name: [x for rows in parts for x in rows if x["stream"] == r.name] for r in catalog.relations}
    tables = {r.name: histories.table(r, statics.get(r.name, every[r.name])) for r in catalog.relations}
    assert total(found) == histories.plain_sql(case.sql, case.catalog, tables), case.sql
    assert answer.answer_count == sum(total(found).values())
    assert answer.answer_rows == len(total(found))
    assert answer.peak_units is not None and (answer.units is None or answer.peak_units <= answer.units)


@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_any_cut_into_partitions_gives_the_same_answer(data: st.DataObject) -> None:
    case = data.draw(cases(("int", "double")))
    statics, rows = data.draw(static(case)), data.draw(events(case))
    histories.plan_of(case, statics)
    seen = set()
    for cut in ([rows], [rows[:3], rows[3:]], [[row] for row in rows] or [[]]):
        with TemporaryDirectory() as name:
            folder = Path(name)
            catalog = written(case, cut, statics, folder)
            (answer,) = evaluate_history(
                LocalExecutor(1), [Registered("q", case.sql)], catalog, output=folder / "out"
            )
            seen.add((answer.digest, answer.answer_rows, answer.answer_count, answer.rows_read))
    assert len(seen) == 1


COLUMNS = {"S": {"A": "int", "B": "int", "C": "int"}, "T": {"D": "int", "E": "int"}}
QUERIES = {
    "q1": "SELECT A, C, 'x' AS A FROM S WHERE A > 190",
    "q3": "SELECT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20",
    "q5": "SELECT S.A FROM S, T WHERE S.B < T.D AND S.B < 120 AND T.D > 20 AND S.A > 10 AND S.A < 20",
    "q9": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.A > 10 AND S.A < 20 "
    "AND S.B < T.E AND S.C < 100 AND T.D > 50",
    "unequal": "SELECT DISTINCT S.A FROM S, T WHERE S.A BETWEEN 1 AND 4 AND S.B <> T.D AND S.C <> T.E",
    "unbounded": "SELECT S.A FROM S, T WHERE S.A = T.D",
    "invalid": "SELECT nothing FROM S",
}
BOUNDED = ["q1", "q3", "q5", "q9", "unequal"]


@pytest.fixture(scope="module")
def abstract(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, Path]:
    folder = tmp_path_factory.mktemp("streams")
    generate(folder, Shape(rows=3_000, partitions=3, nulls=0.02))
    bodies = {
        name: {
            "columns": COLUMNS[name],
            "history": {"path": str(folder / f"abstract_{name.lower()}"), "partition_by": "part"},
        }
        for name in COLUMNS
    }
    return catalog_from_mapping(bodies), folder


@pytest.mark.spark
def test_many_queries_in_one_application(spark: Any, abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
    catalog, folder = abstract
    told: list[str] = []
    queries = [Registered(name, sql) for name, sql in QUERIES.items()]
    answers = evaluate_history(SparkExecutor(spark), queries, catalog, output=tmp_path, progress=told.append)
    assert [a.query for a in answers] == list(QUERIES)
    by_name = {a.query: a for a in answers}
    assert [a.query for a in answers if a.evaluated] == BOUNDED
    assert (by_name["unbounded"].verdict, by_name["unbounded"].error) == ("unbounded", None)
    assert by_name["invalid"].verdict == "invalid" and "nothing" in str(by_name["invalid"].error)
    tables = {n: pq.read_table(folder / f"abstract_{n.lower()}", partitioning=None) for n in COLUMNS}
    for name in BOUNDED:
        expected = histories.plain_sql(QUERIES[name], catalog, tables)
        query = parse(QUERIES[name], catalog, name)
        assert total(histories.read_answers(tmp_path / name, query)) == expected, name
        body = json.loads((tmp_path / name / "_answer.json").read_text())
        assert body == by_name[name].to_json()
        assert body["partitions"] == ["00000", "00001", "00002"] and body["missing_partitions"] == []
        assert int(body["answer_count"]) == sum(expected.values())
    assert by_name["q5"].rows_read == 6_000 and by_name["q1"].rows_read == 3_000
    # On a busy machine the watcher reports in between.
    assert told[0] == "5 queries over 6 partitions of 2 streams" and "6 of 6 partitions read" in told
    schema = pq.ParquetFile(tmp_path / "q1" / "part=00000" / "part-00000.parquet").schema_arrow
    assert schema.names == ["A", "C", "A_2", "count"]


def test_the_same_bytes_again_and_nothing_left_of_another_run(
    abstract: tuple[Catalog, Path], tmp_path: Path
) -> None:
    catalog, _ = abstract
    queries = [Registered("q1", QUERIES["q1"]), Registered("q5", QUERIES["q5"])]

    def files() -> dict[str, bytes]:
        return {str(f.relative_to(tmp_path)): f.read_bytes() for f in sorted(tmp_path.rglob("*.parquet"))}

    evaluate_history(LocalExecutor(1), queries, catalog, output=tmp_path)
    whole = files()
    assert {name for name in whole if "=" not in name} == {"q5/_total.parquet"}
    evaluate_history(LocalExecutor(1), queries, catalog, first="00001", last="00001", output=tmp_path)
    assert {Path(name).parent.name for name in files() if "=" in name} == {"part=00001"}
    evaluate_history(LocalExecutor(1), queries, catalog, output=tmp_path)
    assert files() == whole and len(whole) == 7


def test_partitions_kept_out_are_named(abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
    catalog, _ = abstract
    reasons = {"S": {"00001": "rows outside the day", "99999": "not there"}}
    (answer,) = evaluate_history(
        LocalExecutor(1), [Registered("q5", QUERIES["q5"])], catalog, excluded=reasons, output=tmp_path
    )
    assert answer.to_json()["missing_partitions"] == [
        {"stream": "S", "partition": "00001", "reason": "rows outside the day"}
    ]
    assert answer.rows_read == 5_000 and answer.partitions == ("00000", "00001", "00002")


def test_the_final_answer_of_a_stateful_query(abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
    catalog, _ = abstract
    total_of = {n: tmp_path / n / "_total.parquet" for n in ("q1", "q5")}
    queries = [Registered(name, QUERIES[name]) for name in total_of]
    told: list[str] = []
    answers = evaluate_history(LocalExecutor(1), queries, catalog, output=tmp_path, progress=told.append)
    assert not total_of["q1"].exists() and answers[0].answer_rows > 0
    query = parse(QUERIES["q5"], catalog, "q5")
    written = pq.ParquetFile(total_of["q5"]).read()
    *columns, counts = (column.to_pylist() for column in written.columns)
    rows = [*zip(*columns, strict=True)]
    assert rows == sorted(rows) and len(rows) == answers[1].answer_rows
    found = Counter(dict(zip(rows, map(int, counts), strict=True)))
    assert found == total(histories.read_answers(tmp_path / "q5", query))
    assert total_of["q5"] not in [*(tmp_path / "q5").glob("*/*.parquet")]
    first = total_of["q5"].read_bytes()
    evaluate_history(LocalExecutor(1), queries, catalog, output=tmp_path)
    assert total_of["q5"].read_bytes() == first
    evaluate_history(LocalExecutor(1), queries, catalog, first="9", output=tmp_path)
    assert total_of["q5"].read_bytes() == first, "a query that is not evaluated leaves its answers"
    evaluate_history(LocalExecutor(1), [Registered("q5", QUERIES["q1"])], catalog, output=tmp_path)
    assert not total_of["q5"].exists()


def test_one_is_told_in_the_singular(abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
    told: list[str] = []
    evaluate_history(
        LocalExecutor(1),
        [Registered("one", "SELECT DISTINCT 1 FROM S")],
        abstract[0],
        first="00001",
        last="00001",
        output=tmp_path,
        progress=told.append,
    )
    assert told == [
        "1 query over 1 partition of 1 stream",
        "1 of 1 partition read",
        "one: 1 marker up to 00001, 1,000 rows, 1 unit",
        "one: 1 row from 1 partition",
    ]


@dataclass(frozen=True)
class Unreadable(Registered):
    """A query whose file could not be read."""

    error: StreamboundError | None = None


def test_an_unreadable_file_fails_alone(abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
    queries = [Unreadable("noise", "", error=QueryError("not UTF-8 text")), Registered("q1", QUERIES["q1"])]
    noise, q1 = evaluate_history(LocalExecutor(1), queries, abstract[0], output=tmp_path)
    assert (noise.verdict, str(noise.error)) == ("invalid", "noise: not UTF-8 text")
    assert q1.error is None and q1.answer_rows > 0


def test_a_bounded_query_without_a_plan_fails_alone(tmp_path: Path) -> None:
    plain = catalog_from_mapping(
        {n: {"timestamp": "ts", "columns": {"ts": "timestamp", "A": "int"}} for n in ("S", "T")}
    )
    catalog = histories.placed(plain, tmp_path)
    for relation in plain.relations:
        histories.write(relation, [{"ts": "2026-01-01 00:00:00", "A": 1}], tmp_path, 0)
    sql = {
        "forgetful": "SELECT S.ts FROM S, T WHERE T.ts <= S.ts"
        " UNION SELECT TIMESTAMP '2026-01-02 00:00:00' FROM T",
        "plain": "SELECT DISTINCT A FROM S WHERE A IN (1, 2)",
    }
    answers = evaluate_history(
        LocalExecutor(1),
        [Registered(n, text) for n, text in sql.items()],
        catalog,
        output=tmp_path / "out",
    )
    forgetful, other = answers
    assert other.answer_rows == 1
    assert forgetful.verdict == "bounded" and isinstance(forgetful.error, PlanError)
    assert str(forgetful.error).startswith("forgetful: bounded, but it cannot be evaluated yet: ")


class TestRange:
    def answer(self, catalog: Catalog, folder: Path, **ends: str) -> HistoryAnswer:
        return evaluate_history(
            LocalExecutor(1), [Registered("q1", QUERIES["q1"])], catalog, output=folder, **ends
        )[0]

    def test_days_do_not_choose_partitions_of_another_key(
        self, abstract: tuple[Catalog, Path], tmp_path: Path
    ) -> None:
        found = self.answer(abstract[0], tmp_path, first="2013-01-01", last="2013-01-31")
        assert len(found.partitions) == 3

    def test_nothing_in_the_range(self, abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
        found = self.answer(abstract[0], tmp_path, first="5")
        assert "stream S has no partition from 5 to the last" in str(found.error)

    def test_everything_in_the_range_kept_out(self, abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
        (found,) = evaluate_history(
            LocalExecutor(1),
            [Registered("q1", QUERIES["q1"])],
            abstract[0],
            first="00001",
            last="00001",
            excluded={"S": {"00001": "late"}},
            output=tmp_path,
        )
        assert (found.error, found.answer_rows, found.partitions) == (None, 0, ())
        assert [m.partition for m in found.missing_partitions] == ["00001"]

    def test_reversed(self, abstract: tuple[Catalog, Path], tmp_path: Path) -> None:
        with pytest.raises(DataError, match="ends at 1 but starts at 2"):
            self.answer(abstract[0], tmp_path, first="2", last="1")


TABLE_1 = {
    "q3": "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.D AND S.A > 1 AND T.D < 5",
    "q4": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 1 AND S.A < 4",
    "q5": "SELECT S.A FROM S, T WHERE S.B < T.D AND S.B < 7 AND T.D > 2 AND S.A > 1 AND S.A < 8",
    "q6": "SELECT DISTINCT S.A FROM S, T WHERE S.B > T.D AND S.B > T.E AND S.A = 3",
    "q7": "SELECT DISTINCT S.A FROM S, T WHERE S.A < T.D AND S.B < T.E AND S.A > 1 AND S.A < 7",
    "q9": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.A > 1 AND S.A < 7 "
    "AND S.B < T.E AND S.C < 7 AND T.D > 3",
    "mixed": "SELECT DISTINCT S.A FROM S, T WHERE S.B <= T.D AND S.C < T.D AND S.A IN (1, 2)",
    "unequal": "SELECT DISTINCT S.A FROM S, T WHERE S.A < 3 AND S.A > 0 AND S.B <> T.D AND S.C <> T.E",
    "least unequal": "SELECT DISTINCT 1 FROM S, T WHERE S.A < T.D AND S.B <> T.E",
}


@settings(max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_table_1_at_every_partition(data: st.DataObject) -> None:
    """Partitions of a few tuples: each may improve on what an earlier one left."""
    catalog = catalog_from_mapping(COLUMNS)
    values = st.one_of(st.integers(0, 2), st.integers(0, 8))
    row = st.one_of(
        st.fixed_dictionaries({"stream": st.just("S"), "A": st.integers(1, 4), "B": values, "C": values}),
        st.fixed_dictionaries({"stream": st.just("T"), "D": values, "E": values}),
    )
    parts = data.draw(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=8))
    drawn = {name: Case({}, sql, catalog, parse(sql, catalog, name)) for name, sql in TABLE_1.items()}
    with TemporaryDirectory() as name:
        folder = Path(name)
        there = written(drawn["q3"], parts, {}, folder)
        queries = [Registered(name, sql) for name, sql in TABLE_1.items()]
        answers = evaluate_history(LocalExecutor(1), queries, there, output=folder / "out")
        for answer in answers:
            case = drawn[answer.query]
            found = histories.read_answers(folder / "out" / answer.query, case.query)
            assert found == one_pass(case, parts, {}), case.sql


def test_a_comparison_that_follows_from_others_still_wants_its_static_side(tmp_path: Path) -> None:
    """``S.A < R.A`` follows from ``S.A <= 0`` and the domain of R.A, and is never true of a NULL."""
    streams = {
        "S": {"columns": {"A": "int"}},
        "R": {"columns": {"A": "int"}, "kind": "static", "domains": {"A": {"min": 1}}},
    }
    sql, catalog = "SELECT S.A FROM S, R WHERE S.A < R.A AND S.A <= 0", catalog_from_mapping(streams)
    case = Case(streams, sql, catalog, parse(sql, catalog, "q"))
    rows, statics = [{"stream": "S", "A": -1}], {"R": [{"A": 1}, {"A": None}]}
    placed = written(case, [rows], statics, tmp_path)
    (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", sql)], placed, output=tmp_path / "out")
    assert answer.error is None and answer.answer_count == 1
    found = histories.read_answers(tmp_path / "out" / "q", parse(sql, catalog, "q"))
    assert found == one_pass(case, [rows], encode_static(case.statement, statics))
