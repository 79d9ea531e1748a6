"""Stored relations: finite tables in any order of files and rows, in the memory of the plan.

Groups: random queries against plain SQL; memory; the command; what is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.strategies import Case, cases, events, statements, static

from streambound.boundedness.statements import decide
from streambound.cli import main
from streambound.errors import DataError, PlanError
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.reference import evaluate, initial, reference
from streambound.history import stored_relations as module
from streambound.history.stored_relations import StoredEvaluation, stored
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.statement import Statement

MIXES = [("int",), ("double", "int"), ("string", "boolean"), ("date", "decimal(3,1)", "timestamp")]
Rows = list[dict[str, Any]]


def of_stream(case: Case, rows: Rows) -> dict[str, Rows]:
    """The rows of each stream of a query."""
    names = {o.relation.name for o in case.query.streams}
    return {name: [row for row in rows if row["stream"] == name] for name in names}


def written(case: Case, tables: dict[str, Rows], data: st.DataObject, folder: Path) -> None:
    """Tables as a file or as a folder of files, their rows in any order."""
    for relation in {o.relation.name: o.relation for o in case.query.occurrences}.values():
        rows = data.draw(st.permutations(tables[relation.name]))
        if data.draw(st.booleans()):
            pq.write_table(histories.table(relation, rows), folder / f"{relation.name}.parquet")
            continue
        (folder / relation.name).mkdir()
        cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=2)))
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
            file = folder / relation.name / f"{number}.parquet"
            pq.write_table(histories.table(relation, rows[start:end]), file)


def evaluated(case: Case, folder: Path) -> Counter[Any]:
    """The answers, in the memory that the plan promises."""
    reading, found = StoredEvaluation(stored("q", case.sql, case.catalog, folder)), Counter[Any]()
    for new in reading.run():
        found.update(new)
        most = reading.query.plan.max_units
        assert most is None or reading.peak_units <= most
    return found


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples // 5)
@given(data=st.data())
def test_answers_equal_plain_sql_whatever_the_order(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    statics = data.draw(static(case))
    histories.plan_of(case, statics)
    tables = {**of_stream(case, data.draw(events(case))), **statics}
    arrow = {r.name: histories.table(r, tables.get(r.name, [])) for r in case.catalog.relations}
    wanted = histories.plain_sql(case.sql, case.catalog, arrow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_ROWS", data.draw(st.integers(1, 3)))
        for _ in range(2):
            with TemporaryDirectory() as name:
                written(case, tables, data, Path(name))
                assert evaluated(case, Path(name)) == wanted, case.sql


@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_statements_equal_the_definition(data: st.DataObject) -> None:
    case = data.draw(statements(("int", "double")))
    assert isinstance(case.query, Statement)
    assume(decide(case.query).verdict.bounded)
    statics, rows = data.draw(static(case)), data.draw(events(case))
    tuples: dict[str, Any] = {o.relation.name: [] for o in case.query.occurrences}
    for batch in batches(case.statement, rows):
        for name, arriving in batch.tuples.items():
            tuples[name].extend(arriving)
    tuples.update(encode_static(case.statement, statics))
    with TemporaryDirectory() as name:
        written(case, {**of_stream(case, rows), **statics}, data, Path(name))
        assert evaluated(case, Path(name)) == evaluate(case.statement, tuples), case.sql


GROUPED = [
    "SELECT A, COUNT(*), SUM(B), MIN(B), MAX(B) FROM S WHERE A BETWEEN 0 AND 2 GROUP BY A",
    "SELECT COUNT(B), AVG(B), COUNT(DISTINCT A) FROM S WHERE A BETWEEN 0 AND 2",
    "SELECT S.A, SUM(S.B * T.B) FROM S, T WHERE S.A = T.A AND S.A BETWEEN 0 AND 2 GROUP BY S.A",
    "SELECT S.A FROM S WHERE S.A BETWEEN 0 AND 2 AND NOT EXISTS (SELECT 1 FROM T WHERE T.A = S.A)",
]


@pytest.mark.parametrize("sql", GROUPED)
@settings(max_examples=settings.default.max_examples // 5)
@given(data=st.data())
def test_what_is_taken_back_is_no_answer(sql: str, data: st.DataObject) -> None:
    streams = {name: {"columns": {"A": "int", "B": "int"}} for name in "ST"}
    catalog = catalog_from_mapping(streams)
    case = Case(streams, sql, catalog, statement(sql, catalog))
    rows = data.draw(events(case))
    with TemporaryDirectory() as name:
        written(case, of_stream(case, rows), data, Path(name))
        found = Counter({row: count for row, count in evaluated(case, Path(name)).items() if count})
    expected = Counter[Any]()
    for new in [initial(case.query, {}), *reference(case.query, batches(case.query, rows), {})]:
        for one in new:
            kinds = [kind for _, kind in case.query.outputs]
            expected[tuple(k.encode(v) for k, v in zip(kinds, one.row, strict=True))] += one.count
    assert found == Counter({row: count for row, count in expected.items() if count})


TWO = {"S": {"A": "int", "B": "int"}, "T": {"C": "int"}}
JOIN = "SELECT S.A FROM S, T WHERE S.B = T.C AND S.A > 0 AND S.A < 4 AND T.C > 0 AND T.C < 5"


def tables(folder: Path, rows: int) -> None:
    numbers = list(range(rows))
    s = {"A": [n % 5 for n in numbers], "B": [n % 7 for n in numbers]}
    pq.write_table(pa.table(s), folder / "S.parquet")
    pq.write_table(pa.table({"C": [n % 6 for n in numbers]}), folder / "T.parquet")


def test_sub_queries_read_their_tables(tmp_path: Path) -> None:
    tables(tmp_path, 12)
    sql = "SELECT MAX(n) AS m FROM (SELECT A, COUNT(*) AS n FROM S WHERE A BETWEEN 0 AND 1 GROUP BY A)"
    found = Counter[Any]()
    for new in StoredEvaluation(stored("q", sql, catalog_from_mapping(TWO), tmp_path)).run():
        found.update(new)
    assert {row: count for row, count in found.items() if count} == {(3,): 1}


def test_memory_does_not_grow_with_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most a batch of rows is in memory, and the state is the same for 20 times the rows."""
    monkeypatch.setattr(module, "BATCH_ROWS", 1_000)
    seen, take = list[int](), StoredEvaluation._take

    def spied(self: StoredEvaluation, *given: Any) -> Any:
        seen.append(given[3].num_rows)
        return take(self, *given)

    monkeypatch.setattr(StoredEvaluation, "_take", spied)
    peaks = set()
    for rows in (2_000, 40_000):
        tables(tmp_path, rows)
        reading = StoredEvaluation(stored("q", JOIN, catalog_from_mapping(TWO), tmp_path))
        assert sum(sum(new.values()) for new in reading.run()) > 0
        assert reading.rows == 2 * rows
        peaks.add(reading.peak_units)
        most = reading.query.plan.max_units
        assert most is not None and reading.peak_units <= most
    assert len(peaks) == 1 and max(seen) == 1_000 and len(seen) == 4 + 80


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The command line of a query over two tables."""
    (tmp_path / "q.sql").write_text(JOIN)
    (tmp_path / "streams.yml").write_text("streams:\n  S: {A: int, B: int}\n  T: {C: int}\n")
    (tmp_path / "tables").mkdir()
    tables(tmp_path / "tables", 70)
    query, catalog = str(tmp_path / "q.sql"), str(tmp_path / "streams.yml")
    return ["run", query, "--catalog", catalog, "--relations", str(tmp_path / "tables")]


def test_answers_are_printed_or_written(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {tuple(answer["row"]) for answer in printed["answers"]} == {(1,), (2,), (3,)}
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    said = json.loads(capsys.readouterr().out)
    lines = (tmp_path / "out" / "q" / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == printed["answers"]
    assert said["answer_count"] == sum(answer["count"] for answer in printed["answers"])
    assert (said["answer_rows"], said["peak_units"]) == (3, printed["peak_units"])


def test_what_is_passed_on_is_written_as_it_comes(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_ROWS", 10)
    (tmp_path / "q.sql").write_text("SELECT B FROM S")
    assert main(command) == 0
    whole = {tuple(a["row"]): a["count"] for a in json.loads(capsys.readouterr().out)["answers"]}
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    found: Counter[Any] = Counter()
    for line in map(json.loads, (tmp_path / "out" / "q" / "answers.jsonl").read_text().splitlines()):
        found[tuple(line["row"])] += line["count"]
    assert found == whole == {(n,): 10 for n in range(7)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("missing", "there is no table T"),
        ("twice", "there are two tables T"),
        ("column", "T lacks the column C"),
        ("type", "T.C is stored as string"),
        ("no parquet", "not a readable Parquet file"),
        ("unbounded", "the query is unbounded"),
        ("--from", "--from cannot be given with --relations"),
    ],
)
def test_bad_input_is_one_clear_error(
    change: str, said: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "tables" / "T.parquet"
    if change == "missing":
        table.unlink()
    elif change == "twice":
        (tmp_path / "tables" / "T").mkdir()
        pq.write_table(pa.table({"C": [1]}), tmp_path / "tables" / "T" / "1.parquet")
    elif change in ("column", "type"):
        pq.write_table(pa.table({"D" if change == "column" else "C": ["1"]}), table)
    elif change == "no parquet":
        table.write_text("C\n1\n")
    elif change == "unbounded":
        (tmp_path / "q.sql").write_text("SELECT S.A FROM S, T WHERE S.B = T.C")
    assert main([*command, *(["--from", "1"] if change == "--from" else [])]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and printed.out == ""


@pytest.mark.parametrize("sql", ["SELECT 1 FROM S, T WHERE S.ts < T.ts", "SELECT DISTINCT S.ts FROM S"])
def test_what_needs_an_order_in_time_is_refused(sql: str, tmp_path: Path) -> None:
    catalog = catalog_from_mapping({n: {"columns": {"ts": "int"}, "timestamp": "ts"} for n in "ST"})
    for name in "ST":
        pq.write_table(pa.table({"ts": [1]}), tmp_path / f"{name}.parquet")
    with pytest.raises(PlanError, match="stored relations have no order"):
        stored("q", sql, catalog, tmp_path)


def test_a_broken_promise_is_refused(tmp_path: Path) -> None:
    catalog = catalog_from_mapping({"S": {"columns": {"A": "int"}, "domains": {"A": {"min": 0, "max": 2}}}})
    pq.write_table(pa.table({"A": [1, 3]}), tmp_path / "S.parquet")
    with pytest.raises(DataError, match=r"table S: .*S\.parquet, row 1: S\.A = 3 is outside its"):
        list(StoredEvaluation(stored("q", "SELECT DISTINCT A FROM S", catalog, tmp_path)).run())
