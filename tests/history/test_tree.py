"""Groups, ranks, guards and their like over partitions: the definition's changes, however history is cut."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.beyond import TIME, Beyond, statements_beyond, told_at_once
from tests.history.test_nights import DAYS, World
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.moments import last_boundary
from tests.spark.nights import from_scratch, left, night

from streambound.compiler import compile
from streambound.errors import StreamboundError
from streambound.evaluation.events import batches, timed
from streambound.evaluation.finality import finals
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.reference import initial, reference
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.plan.flow import Leaf, nodes
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import RelationKind
from streambound.query.parse import defined
from streambound.query.parse.corpus import CorpusLine
from streambound.query.statement import Statement
from streambound.tasks.emit import TOTAL

# Statements that may have final rows.
CLOSING = ("closing", "closing", "windows", "sessions", "ranks", "guards", "outer joins", "sets", "as-of")
Rows = list[dict[str, Any]]
Changes = dict[str, Counter[tuple[Any, ...]]]


def planned(line: CorpusLine, mode: str | None = None) -> Statement:
    """The statement of a line; the test is abandoned if it is not evaluated (tests/evaluation holds when)."""
    assert line.catalog is not None
    try:
        made = compile(line.sql, line.catalog, line.id)
        statement = made.statement.in_mode(mode)
        assume(statement.final or (made.verdict.bounded and made.unplanned is None))
        for _ in statement_pass(statement, {}).run(batches(statement, line.events)):
            pass
        return defined(line.sql, line.catalog, line.id, line.dialect).in_mode(mode)
    except StreamboundError:
        assume(False)
        raise


def cut(data: st.DataObject, statement: Statement, events: Sequence[Any]) -> list[Rows]:
    """The events in partitions; what has one timestamp stays together."""
    parts: list[Rows] = [[]]
    before = None
    for event in events:
        apart = TIME not in event or event[TIME] != before
        if parts[-1] and apart and len(parts) < 6 and data.draw(st.integers(0, 3)) == 0:
            parts.append([])
        parts[-1].append(dict(event))
        before = event.get(TIME)
    return parts


def write(catalog: Catalog, part: int, rows: Rows, folder: Path) -> None:
    """The rows of every stream as a partition."""
    for relation in (r for r in catalog.relations if r.kind is not RelationKind.STATIC):
        mine = [row for row in rows if row["stream"] == relation.name]
        histories.write(relation, mine, folder, part)


def encoded(statement: Statement, row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(kind.encode(value) for (_, kind), value in zip(statement.outputs, row, strict=True))


def expected(statement: Statement, parts: list[Rows]) -> Changes:
    """What the definition says is new in each partition."""
    every = [(str(number), row) for number, rows in enumerate(parts) for row in rows]
    position = {row[TIME] if timed(statement) else at: number for at, (number, row) in enumerate(every)}
    found: Changes = {}
    tells = finals if statement.final else reference
    for answers in tells(statement, batches(statement, [row for _, row in every]), {}):
        for one in answers:
            found.setdefault(position[one.marker], Counter())[encoded(statement, one.row)] += one.count
    return standing(found)


def standing(found: Changes) -> Changes:
    kept = {part: Counter({row: n for row, n in rows.items() if n}) for part, rows in found.items()}
    return {part: rows for part, rows in kept.items() if rows}


def rows_in(statement: Statement, file: Path) -> Counter[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in pq.ParquetFile(file).read().columns]
    return Counter({encoded(statement, row): int(n) for *row, n in zip(*columns, strict=True)})


def agrees(data: st.DataObject, case: Beyond | CorpusLine, mode: str | None = None) -> None:
    """Night by night the answers are the definition's; state and answer do not depend on the cut."""
    line = case.line if isinstance(case, Beyond) else case
    statement, query = planned(line, mode), Registered("q", line.sql, mode)
    assert line.catalog is not None
    boundaries = []
    for parts in (cut(data, statement, line.events), cut(data, statement, line.events)):
        with TemporaryDirectory() as name:
            folder = Path(name)
            catalog = histories.placed(line.catalog, folder)
            for number, rows in enumerate(parts):
                write(line.catalog, number, rows, folder)
                answer = night([query], catalog, folder / "nightly")["q"]
                assert answer.error is None, answer.error
            assert left(folder / "nightly", "q") == from_scratch([query], catalog, folder / "whole")["q"]
            changes = expected(statement, parts)
            out = folder / "nightly" / "answers" / "q"
            files = {file.parent.name.partition("=")[2]: file for file in out.glob("*=*/*.parquet")}
            assert {part: rows_in(statement, file) for part, file in files.items()} == changes, case
            first = [] if statement.final else initial(statement, {})
            total = Counter({encoded(statement, one.row): one.count for one in first})
            for rows in changes.values():
                total.update(rows)
            total = Counter({row: n for row, n in total.items() if n})
            # Where nothing is ever taken back there may be none.
            assert not (out / TOTAL).exists() or rows_in(statement, out / TOTAL) == total
            assert (answer.answer_rows, answer.answer_count) == (len(total), sum(total.values()))
            boundaries.append(last_boundary(folder / "nightly"))
    # Of several comparisons for which values must differ, it depends on the cut which are kept.
    if line.sql.count("<>") < 2:
        assert boundaries[0] == boundaries[1], case


@settings(max_examples=settings.default.max_examples // 4)
@given(statements_beyond(), st.data())
def test_random_statements(case: Beyond, data: st.DataObject) -> None:
    agrees(data, case)


# What tasks compute of shares of rows, exactly, also where values are NULL.
PARTLY = (
    *(
        "COUNT(*)",
        "COUNT(A)",
        "SUM(A)",
        "AVG(A)",
        "MIN(A)",
        "MAX(A)",
        "AVG(A * A)",
        "SUM(2 * A + 1)",
        "SUM(A * K)",
    ),
    *(
        "SUM(D)",
        "MIN(D)",
        "AVG(D)",
        "MAX(F)",
        "MIN(S)",
        "MAX(S)",
        "SUM(A - K)",
        "MIN(K)",
        "COUNT(S)",
    ),
)
# What is computed of rows: these have leaves of their own.
WHOLE = (
    "COUNT(DISTINCT K)",
    "SUM(F)",
    "SUM(W)",
    "VAR_POP(A)",
    "MAX(A + 1)",
    "ANY_VALUE(S)",
    "SUM(D * D)",
)
VALUES: dict[str, tuple[str, list[Any]]] = {
    "K": ("int", [0, 1]),
    "A": ("bigint", [None, 2**30, -(2**30) - 1, -1, 0, 3]),
    "D": ("decimal(12,2)", [None, "9999999999.99", "-0.01", "2.50"]),
    "W": ("decimal(38,2)", [None, "1" * 34 + ".25", "0.75"]),
    "F": ("double", [None, 0.1, -0.0, 1e300, "NaN"]),
    "S": ("string", [None, "", "b", "a\u00e9"]),
}


@st.composite
def partly(draw: st.DrawFn) -> CorpusLine:
    """Groups over a stream, or two together, mostly of aggregates that tasks compute of shares."""
    shown = draw(st.lists(st.sampled_from(PARTLY), min_size=1, max_size=5))
    shown += draw(st.lists(st.sampled_from(WHOLE), max_size=1))
    named = ", ".join(f"{one} AS c{number}" for number, one in enumerate(shown))
    source = draw(
        st.sampled_from(["T", "T WHERE A > 0 OR S IS NULL", "(SELECT * FROM T UNION ALL SELECT * FROM T)"])
    )
    by = draw(st.sampled_from(["SELECT K, {} FROM {} GROUP BY K", "SELECT {} FROM {}"]))
    body = {
        "columns": {name: kind for name, (kind, _) in VALUES.items()},
        "domains": {"K": {"min": 0, "max": 1}},
    }
    if draw(st.booleans()):
        body["not_null"] = ["A", "D"]
    of = {name: v[name in body.get("not_null", "") :] for name, (_, v) in VALUES.items()}
    rows = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in of.items()})
    events = [{"stream": "T", **row} for row in draw(st.lists(rows, min_size=1, max_size=8))]
    sql = by.format(named, source + (" q" if source.startswith("(") else ""))
    return CorpusLine("q", sql, catalog_from_mapping({"T": body}), tuple(events), streams={"T": body})


@settings(max_examples=settings.default.max_examples // 5)
@given(partly(), st.data())
def test_aggregates_of_shares_of_rows(case: CorpusLine, data: st.DataObject) -> None:
    """The changes of each partition are the definition's."""
    statement, parts = planned(case), cut(data, planned(case), case.events)
    assert case.catalog is not None
    with TemporaryDirectory() as name:
        catalog = histories.placed(case.catalog, Path(name))
        for number, rows in enumerate(parts):
            write(case.catalog, number, rows, Path(name))
        query, out = Registered("q", case.sql), Path(name) / "answers"
        (answer,) = evaluate_history(LocalExecutor(workers=1), [query], catalog, output=out)
        assert answer.error is None, answer.error
        files = {file.parent.name.partition("=")[2]: file for file in (out / "q").glob("*=*/*.parquet")}
        assert {part: rows_in(statement, file) for part, file in files.items()} == expected(statement, parts)


def test_aggregates_of_one_stream_read_it_once() -> None:
    """All that tasks compute of shares has one leaf, and what they cannot one more."""
    body = {
        "columns": {name: kind for name, (kind, _) in VALUES.items()},
        "domains": {"K": {"min": 0, "max": 1}},
    }
    for further, leaves in (("", 1), (", VAR_POP(A) AS v", 2)):
        shown = ", ".join(f"{one} AS c{number}" for number, one in enumerate(PARTLY))
        sql = f"SELECT K, {shown}{further} FROM T GROUP BY K"
        made = compile(sql, catalog_from_mapping({"T": body}), "q")
        assert made.node is not None and sum(isinstance(one, Leaf) for one in nodes(made.node)) == leaves, sql


@settings(max_examples=settings.default.max_examples // 4)
@given(statements_beyond(*CLOSING), st.data())
def test_rows_that_are_told_once(case: Beyond, data: st.DataObject) -> None:
    assume(told_at_once(case.line.sql))
    agrees(data, case, "final")


TREES = [
    Registered(
        "groups", "SELECT C, A, COUNT(*) AS n, SUM(B) AS b, MAX(B) AS m FROM S WHERE A < 5 GROUP BY C, A"
    ),
    Registered("global", "SELECT COUNT(*) AS n, AVG(B) AS b FROM S WHERE A = 3"),
    Registered("joined", "SELECT S.C, SUM(S.B - T.B) AS d FROM S, T WHERE S.C = T.C GROUP BY S.C"),
]
GROUPED = TREES[0].sql.replace("A < 5", "A BETWEEN 0 AND 4")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    return World(tmp_path)


def test_nights_of_trees(world: World) -> None:
    """What is new is read alone; what has changed, goes or is lost is put right, as of any other query."""
    queries = [Registered("groups", GROUPED), *TREES[1:]]

    def evaluated(rows_read: list[int], **options: Any) -> None:
        found = world.night(*queries, **options)
        assert [answer.rows_read for answer in found.values()] == rows_read
        expected = from_scratch(queries, world.catalog, world.folder / "whole")
        for query in queries:
            assert left(world.home, query.name) == expected[query.name], query.name

    evaluated([120, 120, 240])
    evaluated([0, 0, 0])
    world.arrive(DAYS[6])
    evaluated([20, 20, 40])
    world.arrive(DAYS[1], seed=1, streams="S")
    evaluated([20, 20, 20])
    shutil.rmtree(world.file(DAYS[3]).parent)
    evaluated([0, 0, 0])
    for file in (world.home / "answers" / "groups").glob("date=*/*.parquet"):
        file.unlink()
    evaluated([0, 0, 0])
    evaluated([120, 120, 260], recompute=True)


def test_other_groups_are_another_plan(world: World) -> None:
    """Whatever of a tree answers depend on is part of what checkpoints are of."""
    texts = [
        GROUPED,
        GROUPED.replace("SUM(B)", "SUM(2 * B)"),
        f"{GROUPED} HAVING COUNT(*) > 2",
        GROUPED.replace("COUNT(*)", "COUNT(B)"),
    ]
    for text in texts:
        found = world.night(Registered("groups", text))
        assert found["groups"].rows_read == 120, text
    assert world.night(Registered("groups", f"-- the same\n{texts[-1]}"))["groups"].rows_read == 0


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT S.k, COUNT(*) AS n, MAX(S.v) AS m FROM S JOIN R ON S.k = R.k GROUP BY S.k",
            [(1, 4, 6, 1), (2, 1, 7, 1)],
        ),
        ("SELECT S.v FROM S WHERE NOT EXISTS (SELECT 1 FROM R WHERE R.k = S.k)", [(9, 1)]),
        (
            "SELECT R.k, COUNT(*) AS n FROM R LEFT JOIN S ON R.k = S.k GROUP BY R.k",
            [(1, 4, 1), (2, 1, 1), (5, 1, 1)],
        ),
    ],
)
def test_static_relations(sql: str, expected: list[tuple[int, ...]], tmp_path: Path) -> None:
    """What is known beforehand is read before the plan is made, and is there before anything comes."""
    streams = {
        "S": {"columns": {"k": "int", "v": "int"}, "domains": {"k": {"min": 0, "max": 3}}},
        "R": {"columns": {"k": "int"}, "kind": "static"},
    }
    given = catalog_from_mapping(streams)
    catalog = histories.placed(given, tmp_path)
    named = {relation.name: relation for relation in given.relations}
    histories.write(named["R"], [{"k": 1}, {"k": 1}, {"k": 2}, {"k": 5}], tmp_path, None)
    for part, rows in enumerate([[(1, 5), (3, 9)], [(2, 7), (1, 6)]]):
        histories.write(named["S"], [{"k": k, "v": v} for k, v in rows], tmp_path, part)
        answer = night([Registered("q", sql)], catalog, tmp_path / "nightly")["q"]
        assert answer.error is None, answer.error
    total = pq.read_table(tmp_path / "nightly" / "answers" / "q" / TOTAL).to_pylist()
    assert sorted(tuple(row.values()) for row in total) == expected


PER_TEN = "SELECT window(ts, 10).start AS w, COUNT(*) AS n FROM S GROUP BY (window(ts, 10))"


@pytest.mark.parametrize(
    ("sql", "second", "told"),
    [
        (PER_TEN, [12, 20], None),
        (PER_TEN, [9, 12], "answered once and for all is taken back"),
        ("SELECT COUNT(*) AS n FROM S", [12], "never final: every row may be taken back"),
        ("SELECT A, MAX(B) AS m FROM S WHERE A IN (1, 2) AND B < 5 GROUP BY A", [12], "no time closes"),
    ],
)
def test_what_cannot_be_told_once(sql: str, second: list[int], told: str | None, tmp_path: Path) -> None:
    """A tuple of a time that was settled, rows that never are, and those that a value alone settles."""
    columns = {"ts": "int", "A": "int", "B": "int"}
    given = catalog_from_mapping({"S": {"columns": columns, "timestamp": "ts"}})
    for part, times in enumerate([[3, 9], second]):
        rows = [{"ts": ts, "A": 1, "B": 2} for ts in times]
        histories.write(given.relations[0], rows, tmp_path, part)
    catalog = histories.placed(given, tmp_path)
    answer = night([Registered("q", sql, "final")], catalog, tmp_path / "nightly")["q"]
    if told is not None:
        assert answer.error is not None and told in answer.error.message
        return
    rows = pq.read_table(tmp_path / "nightly" / "answers" / "q" / TOTAL).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [(0, 2, 1), (10, 1, 1)]


def test_the_same_values_that_differ_are_kept_however_cut(tmp_path: Path) -> None:
    columns = {"K": "int", "B": "int"}
    given = catalog_from_mapping({"S": {"columns": columns, "domains": {"K": {"min": 0, "max": 1}}}})
    sql = "SELECT s.K FROM S s WHERE s.K IN (SELECT t.K FROM S t, S u WHERE t.B <> u.B)"
    values, boundaries = [3, 1, 4, 2, 0], []
    for number, parts in enumerate(([values], [values[:2], values[2:]], [[value] for value in values])):
        folder = tmp_path / str(number)
        for part, some in enumerate(parts):
            rows = [{"K": value % 2, "B": value} for value in some]
            histories.write(given.relations[0], rows, folder, part)
        answer = night([Registered("q", sql)], histories.placed(given, folder), folder / "nightly")["q"]
        assert answer.error is None, answer.error
        boundaries.append(last_boundary(folder / "nightly"))
    assert boundaries[0] == boundaries[1] == boundaries[2]


def test_an_extremum_over_groups_of_what_is_null_is_not_one_of_tuples() -> None:
    given = catalog_from_mapping({"S": {"columns": {"K": "int", "B": "int"}}})
    sql = "SELECT MAX(m) AS c FROM (SELECT K, SUM(B) AS m FROM S WHERE K IS NULL GROUP BY K) AS q"
    assert compile(sql, given).unplanned == "no plan was made of MAX(m)"
