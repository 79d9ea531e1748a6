"""Plans of queries that compare timestamps, against the definition at every marker.

Groups: random queries; what docs/theory.md says is bounded; the worked example of Schiff & Özçep; streams
that end; statements; what is refused.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import seeded
from tests.strategies import Case, static, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.verdict import Outcome
from streambound.compiler.report import check
from streambound.errors import PlanError
from streambound.evaluation.events import Answer, Batch, Encoded, batches, encode_static
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.onepass import OnePass, one_pass
from streambound.evaluation.reference import reference
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import Rate
from streambound.query.parse import parse, statement
from streambound.query.statement import Statement

MIXES = [("int",), ("double", "int"), ("string", "boolean"), ("decimal(3,1)", "double", "int")]


def rows_at_once(arriving: list[Batch]) -> Counter[str]:
    found: Counter[str] = Counter()
    for batch in arriving:
        for name, rows in batch.tuples.items():
            found[name] = max(found[name], len(rows))
    return found


def agree(case: Case, events: list[dict[str, Any]], rows: dict[str, list[Encoded]]) -> None:
    """One pass equals the definition at every marker, and the state stays within its units."""
    arriving = list(batches(case.statement, events))
    engine = one_pass(case.query, rows)
    assert list(engine.run(arriving)) == list(reference(case.statement, arriving, rows)), case.sql
    plan = engine.plan
    most = plan.size(rows_at_once(arriving)) if plan.ending is None else None
    assert most is None or engine.peak_units <= most, case.sql


@given(data=st.data())
def test_one_pass_equals_the_reference_at_every_marker(data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    assume(exact(case.query).bounded)
    agree(case, data.draw(timed_events(case)), {})


@given(data=st.data())
def test_one_pass_equals_the_reference_with_windows(data: st.DataObject) -> None:
    case = data.draw(timed_cases(windows=True))
    assume(exact(case.query).bounded)
    agree(case, data.draw(timed_events(case)), {})


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@given(data=st.data())
def test_one_pass_equals_the_reference_for_mixed_types(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(timed_cases(types))
    assume(exact(case.query).bounded)
    rows = encode_static(case.statement, data.draw(static(case)))
    agree(case, data.draw(timed_events(case, size=12)), rows)


@given(seed=st.integers(0, 10**9))
def test_one_pass_equals_the_reference_on_seeded_queries(seed: int) -> None:
    case = seeded.timed_case(seed)
    assume(exact(case.query).bounded)
    rows = encode_static(case.statement, seeded.static_rows(seed, case))
    agree(case, seeded.timed_streams(seed, case), rows)


@given(data=st.data())
def test_a_plan_exists_exactly_for_bounded_queries(data: st.DataObject) -> None:
    case = data.draw(timed_cases(windows=data.draw(st.booleans())))
    outcome = exact(case.query).outcome
    if outcome is Outcome.BOUNDED:
        one_pass(case.query, {})
    elif outcome is Outcome.UNBOUNDED:
        with pytest.raises(PlanError):
            one_pass(case.query, {})


# Theorem, in docs/theory.md or in the papers, and a query that it calls bounded, with its units.
PROMISED = [
    # Theorem A: the number of pairs can be kept, whatever the shape of time.
    ("SELECT U.A FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND U.A > 0 AND U.A < 5", 8),
    ("SELECT 1 FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND S.A = U.A AND U.A BETWEEN 1 AND 3", 6),
    ("SELECT 1 FROM S, T, U WHERE S.ts > U.ts AND T.ts > U.ts", 3),
    # The stream that completes every match projects anything.
    ("SELECT S.A, S.B, S.ts FROM S, T, U WHERE S.ts > T.ts AND S.ts >= U.ts", 2),
    # (N): only what is compared after T counts.
    ("SELECT DISTINCT 1 FROM S, T, U WHERE S.A < T.A AND T.A < U.A AND S.ts < T.ts AND T.ts < U.ts", 3),
    (
        "SELECT DISTINCT 1 FROM U, T, S, V WHERE U.A < S.A AND U.A < V.B AND T.B < S.A AND T.B < V.B "
        "AND U.ts < T.ts AND T.ts < S.ts AND T.ts < V.ts",
        8,
    ),
    (
        "SELECT DISTINCT 1 FROM S, T, U, V, W WHERE S.ts >= T.ts AND U.ts < S.ts AND T.A < V.A AND U.A < W.A",
        None,
    ),
    # Two extrema of pairs: the earliest U is best for both.
    (
        "SELECT DISTINCT 1 FROM S, T, U, V WHERE U.ts < S.ts AND U.ts < T.ts AND S.A < V.A AND V.A < T.A "
        "AND S.ts < V.ts AND T.ts < V.ts",
        None,
    ),
    # <> between streams never makes DISTINCT unbounded.
    ("SELECT DISTINCT 1 FROM S, T WHERE S.A <> T.A AND S.B <> T.B AND S.ts < T.ts", 9),
    # Time <> excludes the pairs of one batch.
    ("SELECT 1 FROM S, T WHERE S.ts <> T.ts", 2),
    ("SELECT DISTINCT 1 FROM S, T, U, V WHERE S.ts <> T.ts AND S.A < U.A AND V.A < T.A", None),
    # Offsets: T is held for 3, the last 4 timestamps of S are told apart.
    ("SELECT S.A FROM S, T WHERE T.ts <= S.ts + 3", None),
    ("SELECT 1 FROM S, T WHERE S.ts + 5 <= T.ts AND S.A = T.A AND T.A BETWEEN 0 AND 1", 10),
    ("SELECT DISTINCT S.A FROM S, T WHERE S.A < T.A AND S.A BETWEEN 0 AND 1 AND S.ts + 3 < T.ts", 10),
    # A row with the timestamp of the last stream never comes again.
    ("SELECT DISTINCT S.ts, S.A FROM S, T WHERE T.ts < S.ts", 1),
    ("SELECT DISTINCT S.ts FROM S, T WHERE T.ts <= S.ts + 2", None),
]
FIVE = {n: {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"} for n in "STUVW"}


@pytest.mark.parametrize(("sql", "units"), PROMISED, ids=range(len(PROMISED)))
@given(data=st.data())
def test_what_is_promised(sql: str, units: int | None, data: st.DataObject) -> None:
    catalog = catalog_from_mapping(FIVE)
    query = parse(sql, catalog)
    case = Case(FIVE, sql, catalog, query)
    agree(case, data.draw(timed_events(case)), {})
    found = check(sql, catalog, suggest=False)
    assert found.verdict == "bounded" and (units is None or found.units == units)


FIGURE_2 = [
    {"stream": "S", "A": 42, "ts": 0},
    {"stream": "T", "B": 7, "ts": 0},
    {"stream": "U", "C": 1, "ts": 1},
    {"stream": "T", "B": 2, "ts": 2},
    {"stream": "U", "C": 3, "ts": 3},
    {"stream": "T", "B": 1, "ts": 4},
    {"stream": "S", "A": 42, "ts": 5},
    {"stream": "T", "B": 3, "ts": 5},
]


def paper() -> Catalog:
    columns = {"S": "A", "T": "B", "U": "C"}
    return catalog_from_mapping(
        {n: {"columns": {c: "int", "ts": "int"}, "timestamp": "ts"} for n, c in columns.items()}
    )


def test_the_worked_example_of_schiff_and_ozcep() -> None:
    sql = (
        "SELECT S.A, T.B FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND S.A > T.B AND T.B > 0 AND T.B < 5"
    )
    query = parse(sql, paper())
    engine = one_pass(query, {})
    assert engine.plan.timed
    found, kept = [], []
    for batch in batches(Statement.of(query), FIGURE_2):
        found.append(engine.process(batch))
        kept.append(engine.stored_units)
    assert found == [{}, {}, {}, {}, {}, {(42, 2): 1, (42, 1): 2}]
    # One count of U's; then one for each value of T.B that follows a U: 2, 1 and 3.
    assert kept == [0, 1, 2, 2, 3, 4]
    assert engine.plan.max_units == 5


def test_rows_at_a_timestamp_size_a_window_if_they_are_declared() -> None:
    body = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at", "granularity": "minute"}
    sql = (
        "SELECT S.A FROM S, T WHERE S.A = T.A "
        "AND T.at BETWEEN S.at - INTERVAL 10 MINUTES AND S.at + INTERVAL 10 MINUTES"
    )
    found = check(sql, catalog_from_mapping({"S": body, "T": body}), suggest=False)
    assert found.units is None
    assert found.units_formula == "2 x rows of S within 10 minutes + 2 x rows of T within 10 minutes"
    declared = {"S": {**body, "max_rows_per_timestamp": 3}, "T": {**body, "max_rows_per_timestamp": 1}}
    assert check(sql, catalog_from_mapping(declared), suggest=False).units == 20 * 3 + 20


def test_a_window_over_timestamps() -> None:
    body = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at"}
    catalog = catalog_from_mapping({"S": body, "T": body})
    query = parse(
        "SELECT S.A FROM S, T WHERE S.A = T.A AND S.at <= T.at AND T.at <= S.at + INTERVAL 1 HOUR", catalog
    )
    hours = ["00:00:00", "00:30:00", "01:00:00", "01:00:00.000001", "01:30:00"]
    events = [
        {"stream": name, "A": 1, "at": f"2026-01-01 {hour}"}
        for name, hour in zip("STTTT", hours, strict=True)
    ]
    arriving = list(batches(Statement.of(query), events))
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {})) and [
        len(marker) for marker in found
    ] == [
        0,
        1,
        1,
        0,
        0,
    ]


# Windows that close, that open late, to both sides, with conditions that no end decides, and over three.
WINDOWS = [
    "SELECT S.A FROM S, T WHERE S.A = T.A AND T.ts <= S.ts AND S.ts <= T.ts + 5",
    "SELECT S.A, T.A FROM S, T WHERE S.ts > T.ts + 2 AND S.ts < T.ts + 6 AND S.A <> T.A",
    "SELECT S.A FROM S, T WHERE S.A <= T.A AND S.ts <= T.ts + 3 AND T.ts <= S.ts + 2",
    "SELECT S.A, S.ts FROM S, T WHERE S.A = T.A AND S.ts <> T.ts + 2 AND S.ts <= T.ts + 4 AND T.ts <= S.ts",
    "SELECT S.A FROM S, T WHERE S.A >= T.A AND S.ts = T.ts + 3",
    "SELECT S.A, U.A FROM S, T, U WHERE U.ts < T.ts AND T.ts <= U.ts + 3"
    " AND T.ts + 1 <= S.ts AND S.ts <= U.ts + 6 AND S.A = T.A",
    "SELECT DISTINCT S.A, T.A FROM S, T WHERE T.ts <= S.ts AND S.ts <= T.ts + 4 AND S.A IN (0, 1)"
    " AND T.A BETWEEN 0 AND 2",
]


@pytest.mark.parametrize("sql", WINDOWS, ids=range(len(WINDOWS)))
def test_windows_in_which_many_tuples_are_held(sql: str) -> None:
    streams, chance = paper_mapping("S", "T", "U"), random.Random(3)
    catalog = catalog_from_mapping(streams)
    query = parse(sql, catalog)
    assert exact(query).bounded
    events = [
        {"stream": name, "A": chance.randrange(3), "ts": ts}
        for ts in range(25)
        for name in "STU"
        for _ in range(chance.randrange(3))
    ]
    agree(Case(streams, sql, catalog, query), events, {})
    arriving, found = list(batches(Statement.of(query), events)), list[list[Answer]]()
    engine = one_pass(query, {})
    assert isinstance(engine, OnePass)
    for batch in arriving:
        found += engine.run([batch])
        engine.load(json.loads(engine.dump()))
    assert found == list(one_pass(query, {}).run(arriving)), "a state that is stored after each batch"


def test_a_stream_that_declares_no_timestamp_joins_those_that_do() -> None:
    streams = {**paper_mapping("S", "T"), "U": {"A": "int"}}
    catalog = catalog_from_mapping(streams)
    query = parse("SELECT U.A FROM S, T, U WHERE S.ts < T.ts AND U.A IN (1, 2)", catalog)
    events = [
        {"stream": "U", "ts": 0, "A": 1},
        {"stream": "S", "ts": 1, "A": 5},
        {"stream": "U", "ts": 2, "A": 2},
        {"stream": "T", "ts": 2, "A": 5},
        {"stream": "U", "ts": 3, "A": 2},
    ]
    arriving = list(batches(Statement.of(query), events))
    assert list(one_pass(query, {}).run(arriving)) == list(reference(Statement.of(query), arriving, {}))


def paper_mapping(*names: str) -> dict[str, Any]:
    return {n: {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"} for n in names}


ENDING = [
    "SELECT S.A FROM S, T WHERE T.ts < 4",
    "SELECT S.A, T.B FROM S, T WHERE T.ts < 4 AND S.A = T.A AND T.ts <= S.ts - 2",
    "SELECT DISTINCT S.A FROM S, T WHERE T.ts < 4 AND S.A = T.A",
    "SELECT DISTINCT 1 FROM S, T, U WHERE T.ts <= 4 AND S.A < T.A AND T.A < U.A",
    "SELECT U.A FROM S, T, U WHERE T.ts <= 3 AND S.ts < U.ts AND T.ts + 1 < S.ts AND S.A = T.A",
    "SELECT DISTINCT S.A FROM S WHERE S.ts < 5",
    "SELECT DISTINCT S.A, x.A FROM S, S x WHERE S.ts < 5 AND x.A = S.A",
]


@pytest.mark.parametrize("sql", ENDING)
@given(data=st.data())
def test_streams_that_end(sql: str, data: st.DataObject) -> None:
    catalog = catalog_from_mapping(FIVE)
    query = parse(sql, catalog)
    assert exact(query).bounded
    case = Case(FIVE, sql, catalog, query)
    agree(case, data.draw(timed_events(case)), {})


@pytest.mark.parametrize(
    "where",
    [
        "z.ts < z.ts + 1",
        "z.ts <> z.ts - 1",
        "z.ts BETWEEN z.ts - 1 AND z.ts",
        # x folds onto z.
        "x.ts < z.ts + 1",
        "x.ts <> z.ts + 1",
    ],
)
def test_a_timestamp_and_itself_with_an_offset_where_a_stream_ends(where: str) -> None:
    catalog = catalog_from_mapping(paper_mapping("S", "T"))
    source = "S y, T x, T z" if "x." in where else "S y, T z"
    query = parse(f"SELECT DISTINCT y.A FROM {source} WHERE {where} AND y.ts = 4", catalog)
    arriving = list(
        batches(Statement.of(query), [{"stream": "S", "A": 2, "ts": 4}, {"stream": "T", "A": 7, "ts": 9}])
    )
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {})) and [
        [a.row for a in m] for m in found
    ] == [
        [],
        [(2,)],
    ]


def test_a_timestamp_that_would_be_later_than_itself() -> None:
    catalog = catalog_from_mapping(paper_mapping("S"))
    for where in ("S.ts > S.ts + 1", "S.ts = S.ts - 1", "NOT S.ts < S.ts + 1", "S.ts <> S.ts"):
        assert (
            check(f"SELECT S.A FROM S WHERE {where}", catalog, suggest=False).reasons[0].code
            == "unsatisfiable"
        )


def test_a_finite_stream_that_a_condition_ends() -> None:
    streams = {**paper_mapping("S"), "F": {**paper_mapping("F")["F"], "kind": "finite"}}
    query = parse("SELECT S.A FROM S, F WHERE S.A = F.A AND F.ts < 3", catalog_from_mapping(streams))
    events = [
        {"stream": name, "A": 1, "ts": ts} for name, ts in (("F", 0), ("S", 1), ("F", 2), ("F", 3), ("S", 4))
    ]
    arriving = list(batches(Statement.of(query), events))
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {}))
    assert [[answer.count for answer in marker] for marker in found] == [[], [1], [1], [], [2]]


def test_where_all_streams_are_finite() -> None:
    streams = {name: {**paper_mapping("F")["F"], "kind": "finite"} for name in ("F", "G")}
    catalog = catalog_from_mapping(streams)
    sql = "SELECT DISTINCT F.A FROM F, G WHERE F.A < G.A AND F.ts < G.ts + 2 AND G.ts < 6"
    query = parse(sql, catalog)
    tuples = [("F", 3, 0), ("G", 2, 1), ("F", 1, 2), ("G", 9, 5), ("F", 0, 6), ("F", 7, 8), ("G", 9, 9)]
    arriving = list(
        batches(Statement.of(query), [{"stream": name, "A": a, "ts": ts} for name, a, ts in tuples])
    )
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {}))
    assert [[a.row for a in marker] for marker in found] == [[], [], [(1,)], [(3,)], [(0,)], [], []]
    assert check(sql, catalog, suggest=False).verdict == "bounded"
    endless = check("SELECT F.A FROM F, G WHERE F.A = G.A AND F.ts < 3", catalog, suggest=False)
    assert endless.reasons[0].message == "every stream ends: there are only finitely many tuples to keep"
    assert "no condition says when the finite streams (G) end" in str(endless.unplanned)


def test_the_time_of_a_finite_stream_counts_beside_a_stream_without_time() -> None:
    streams = {"S": {"A": "int"}, "F": {**paper_mapping("F")["F"], "kind": "finite"}}
    query = parse("SELECT S.A FROM S, F WHERE S.A = F.A AND F.ts < 3", catalog_from_mapping(streams))
    tuples = [("S", 0)] * 6 + [("F", 1), ("S", 1), ("F", 2), ("F", 4), ("S", 5)]
    arriving = list(batches(Statement.of(query), [{"stream": name, "A": 1, "ts": ts} for name, ts in tuples]))
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {}))
    assert [[answer.count for answer in marker] for marker in found] == [[], [7], [7], [], [2]]


def test_a_finite_stream_without_an_end_is_refused() -> None:
    streams = {"S": {"A": "int"}, "F": {"kind": "finite", "columns": {"B": "int"}}}
    catalog = catalog_from_mapping(streams)
    report = check("SELECT A FROM S, F WHERE A = B", catalog, suggest=False)
    assert report.verdict == "bounded" and "finite streams (F) end" in report.to_json()["unplanned"]
    with pytest.raises(PlanError, match="cannot be evaluated yet"):
        one_pass(parse("SELECT A FROM S, F WHERE A = B", catalog), {})


@pytest.mark.parametrize(
    "where",
    [
        "S.ts < T.ts AND (S.A = T.A OR S.B < 2) AND S.A BETWEEN 0 AND 2 AND T.A BETWEEN 0 AND 2",
        "(S.ts < T.ts OR S.ts > T.ts + 2) AND S.A BETWEEN 0 AND 1",
        "S.ts <= T.ts AND (S.A IS NULL OR T.B = 1)",
    ],
)
@pytest.mark.parametrize("select", ["1", "DISTINCT 1"])
@given(data=st.data())
def test_statements(where: str, select: str, data: st.DataObject) -> None:
    catalog = catalog_from_mapping(FIVE)
    sql = f"SELECT {select} FROM S, T WHERE {where}"
    found = statement(sql, catalog)
    base = parse(f"SELECT {select} FROM S, T WHERE S.A = T.A AND S.ts < T.ts", catalog)
    events = data.draw(timed_events(Case(FIVE, sql, catalog, base)))
    arriving = list(batches(found, events))
    assert list(statement_pass(found, {}).run(arriving)) == list(reference(found, arriving, {}))


def test_a_row_that_one_select_forgets_does_not_come_anew_from_another() -> None:
    catalog = catalog_from_mapping(paper_mapping("S", "T", "U"))
    sql = "SELECT S.ts FROM S, T WHERE T.ts <= S.ts UNION SELECT S.ts FROM S, U WHERE U.ts <= S.ts + 3"
    found = statement(sql, catalog)
    events = [
        {"stream": name, "A": 0, "ts": ts} for name, ts in (("S", 1), ("T", 1), ("U", 2), ("S", 3), ("U", 6))
    ]
    arriving = list(batches(found, events))
    answers = list(statement_pass(found, {}).run(arriving))
    assert answers == list(reference(found, arriving, {}))
    assert [[a.row for a in marker] for marker in answers] == [[(1,)], [], [(3,)], []]


def test_nor_where_streams_end() -> None:
    catalog = catalog_from_mapping(paper_mapping("S", "U", "F", "G"))
    sql = (
        "SELECT S.ts FROM S, F WHERE S.A = F.A AND F.ts < 3"
        " UNION SELECT S.ts FROM S, U, G WHERE U.ts <= S.ts + 3 AND S.A = G.A AND G.ts < 3"
    )
    found = statement(sql, catalog)
    arrivals = (("F", 1), ("G", 1), ("S", 5), ("S", 6), ("U", 7), ("U", 8))
    arriving = list(batches(found, [{"stream": name, "A": 0, "ts": ts} for name, ts in arrivals]))
    answers = list(statement_pass(found, {}).run(arriving))
    assert answers == list(reference(found, arriving, {}))
    assert [[a.row for a in marker] for marker in answers] == [[], [(5,)], [(6,)], [], []]


def test_a_union_that_forgets_only_some_rows_is_refused() -> None:
    catalog = catalog_from_mapping(paper_mapping("S", "T"))
    sql = "SELECT S.ts FROM S, T WHERE T.ts <= S.ts UNION SELECT S.A FROM S WHERE S.A IN (1, 2)"
    assert "some alternatives" in str(check(sql, catalog, suggest=False).unplanned)


@st.composite
def rated(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Streams of which some have a rate, and events that keep it."""
    streams = paper_mapping("S", "T", "U")
    for body in streams.values():
        if draw(st.booleans()):
            body["max_rows_per_timestamp"] = draw(st.integers(1, 4))
        if "max_rows_per_timestamp" not in body or draw(st.booleans()):
            body["rate"] = {"rows": draw(st.integers(1, 5)), "per": draw(st.integers(1, 7))}
    start = draw(st.integers(-9, 9))
    size = st.lists(st.integers(0, 2), max_size=5)
    events, counts = [], Counter[Any]()
    for ts in range(start, start + draw(st.integers(5, 25))):
        for name, body in streams.items():
            # Nearly as many as there may be: where few come, any bound holds.
            for value in draw(size):
                rate = body.get("rate", {"rows": 99, "per": 1})
                at = [(name, ts, "one"), (name, ts // rate["per"], "interval")]
                most = [body.get("max_rows_per_timestamp", 99), rate["rows"]]
                if all(counts[key] < limit for key, limit in zip(at, most, strict=True)):
                    counts.update(at)
                    events.append({"stream": name, "A": value, "ts": ts})
    return streams, events


@pytest.mark.parametrize("sql", WINDOWS, ids=range(len(WINDOWS)))
@settings(max_examples=25)
@given(case=rated())
def test_units_of_windows_hold_while_rates_do(
    sql: str, case: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    streams, events = case
    query = parse(sql, catalog_from_mapping(streams))
    engine = one_pass(query, {})
    arriving = list(batches(Statement.of(query), events))
    assert list(engine.run(arriving)) == list(reference(Statement.of(query), arriving, {}))
    assert engine.plan.max_units is not None and engine.peak_units <= engine.plan.max_units


def test_the_rate_of_a_window_is_taken_where_it_is_less() -> None:
    body: dict[str, Any] = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at"}
    sql = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.at <= T.at AND T.at <= S.at + INTERVAL 1 HOUR"

    def units(**further: Any) -> int | None:
        return check(sql, catalog_from_mapping({"S": {**body, **further}, "T": body}), suggest=False).units

    # Two intervals, two values a tuple.
    assert units(rate={"rows": 100, "per": "hour"}) == 2 * 100 * 2
    # Of whole minutes an hour has 60, from any minute of an hour to one of the next.
    minutes = {"granularity": "minute", "max_rows_per_timestamp": 2}
    assert units(**minutes) == 240
    assert units(**minutes, rate={"rows": 100, "per": "hour"}) == 240
    assert units(**minutes, rate={"rows": 30, "per": "hour"}) == 120
    assert units(**minutes, rate={"rows": 10, "per": "15 minutes"}) == 100
    # A day is at most two of UTC.
    assert units(rate={"rows": 100, "per": "day"}) == 400


@given(rows=st.integers(1, 9), length=st.integers(1, 12), step=st.integers(1, 12), ticks=st.integers(1, 9))
def test_the_most_rows_of_some_timestamps_are_those_of_the_worst_place(
    rows: int, length: int, step: int, ticks: int
) -> None:
    places = range(0, step * length, step)
    touched = (len({(position + step * i) // length for i in range(ticks)}) for position in places)
    intervals = (
        len(range(position // length, (position + step * (ticks - 1)) // length + 1)) for position in places
    )
    found = Rate(rows, length).most(ticks, step)
    # Of intervals in which no timestamp lies nothing comes: the bound counts them where they are shorter.
    assert rows * max(touched) <= found == rows * max(intervals)
