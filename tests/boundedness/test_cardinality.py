"""Declared cardinality: at most so many different values, nobody knows which (docs/theory.md)."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.strategies import Case, cases, timed_cases, timed_events
from tests.strategies import events as untimed_events

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.verdict import Outcome
from streambound.certificate.verification import Witness
from streambound.certificate.witness import verify, witness
from streambound.compiler.report import check
from streambound.errors import DataError, PlanError
from streambound.evaluation.events import batches
from streambound.evaluation.onepass import one_pass
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import parse
from streambound.query.statement import Statement

ORDER = " AND S.ts <= T.ts"
STREAMS = ("S", "T", "U")
# Most of what is drawn is not what is asked for.
FEWER = settings(max_examples=settings().max_examples // 5)


def of(sql: str, **numbers: int) -> tuple[str, int | None]:
    """The verdict and the units, with the cardinality of columns such as ``S_A``."""
    streams: dict[str, Any] = {}
    for name in STREAMS:
        mine = {column[2:]: number for column, number in numbers.items() if column[0] == name}
        columns = {"A": "int", "B": "int", "ts": "int"}
        body = {"columns": columns, "timestamp": "ts", "not_null": ["A", "B"]}
        streams[name] = {**body, "cardinality": mine} if mine else body
    found = check(sql, catalog_from_mapping(streams), suggest=False)
    return found.verdict, found.units


JOIN = "SELECT 1 AS one FROM S, T WHERE S.A = T.B"
BELOW = "SELECT 1 AS one FROM S, T WHERE S.A < T.B"
ROWS = "SELECT DISTINCT S.A FROM S"


@pytest.mark.parametrize(
    ("sql", "numbers", "verdict", "units"),
    [
        # A T waits for a value that nobody knows: one of S is too many.
        (JOIN, {"S_A": 1}, "unbounded", None),
        (JOIN, {"S_A": 5, "T_B": 7}, "bounded", 12),
        # With S first only S waits.
        (JOIN + ORDER, {"S_A": 5}, "bounded", 5),
        (JOIN + ORDER, {"T_B": 5}, "unbounded", None),
        (BELOW + ORDER, {"S_A": 5}, "bounded", 5),
        (BELOW, {"S_A": 5}, "unbounded", None),
        (BELOW.replace("<", "<>") + ORDER, {"S_A": 5}, "bounded", 5),
        (ROWS, {"S_A": 5}, "bounded", 5),
        (ROWS, {"S_B": 5}, "unbounded", None),
        # What equals it in its own tuple has as many values.
        (ROWS + " WHERE S.A = S.B", {"S_B": 5}, "bounded", 5),
        # A domain and a cardinality: the lesser.
        (ROWS + " WHERE S.A BETWEEN 1 AND 3", {"S_A": 5}, "bounded", 3),
        # One row may trade A against B: one of them is not enough, if it is that of the partner.
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B", {}, "bounded", None),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B > T.B" + ORDER, {"S_A": 5}, "bounded", None),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B > T.B" + ORDER, {"T_A": 5}, "unbounded", None),
    ],
)
def test_the_rule(sql: str, numbers: dict[str, int], verdict: str, units: int | None) -> None:
    found = of(sql, **numbers)
    if sql == JOIN or "S.B <" not in sql:
        assert found[0] == verdict, found
    if units is not None:
        assert found == (verdict, units)


def test_of_a_stream_with_itself_an_obstruction_proves_nothing() -> None:
    # With one value s1.A = s2.A, and nothing is between them.
    sql = "SELECT 1 AS one FROM S s1, T, S s2 WHERE s1.A < T.B AND T.B < s2.A"
    assert of(sql, S_A=1)[0] == "unknown"
    assert of(sql)[0] == "unbounded"


def test_functions_have_no_more_values_than_their_arguments() -> None:
    assert of("SELECT DISTINCT S.A + 1 AS x FROM S", S_A=5)[0] == "bounded"
    assert of("SELECT DISTINCT S.A + S.B AS x FROM S", S_A=5)[0] == "unbounded"
    assert of("SELECT DISTINCT S.A + S.B AS x FROM S", S_A=5, S_B=2)[0] == "bounded"


@st.composite
def numbered(draw: st.DrawFn, timed: bool, least: int = 1) -> tuple[Case, dict[tuple[str, str], int]]:
    """A random query, with cardinalities of some columns of streams."""
    case = draw(timed_cases() if timed else cases(("int",)))
    # Streams may share what describes them.
    streams: dict[str, Any] = {name: copy.deepcopy(body) for name, body in case.streams.items()}
    numbers = {}
    # With few of them hardly any query is bounded by its numbers.
    few = draw(st.integers(0, 2)) == 0
    for name, body in streams.items():
        if body.get("kind", "stream") != "stream" or "columns" not in body:
            continue
        for column in body["columns"]:
            if column != body.get("timestamp") and not (few and draw(st.booleans())):
                numbers[name, column] = body.setdefault("cardinality", {})[column] = draw(
                    st.integers(least, 3)
                )
    assume(numbers)
    catalog = catalog_from_mapping(streams)
    return Case(streams, case.sql, catalog, parse(case.sql, catalog)), numbers


def _kept(events: list[dict[str, Any]], numbers: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Those of some events that have no value too many."""
    seen: dict[tuple[str, str], set[Any]] = {}
    kept = []
    for row in events:
        new = {
            key: seen.get(key, set()) | {row.get(key[1])} - {None}
            for key in numbers
            if key[0] == row["stream"]
        }
        if all(len(values) <= numbers[key] for key, values in new.items()):
            seen.update(new)
            kept.append(row)
    return kept


@pytest.mark.theorem
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
@FEWER
@given(data=st.data())
def test_the_state_stays_within_its_units_while_the_promise_holds(timed: bool, data: st.DataObject) -> None:
    case, numbers = data.draw(numbered(timed))
    assert isinstance(case.query, Query)
    assume(exact(case.query).bounded and not case.query.statics)
    assume(not exact(_plain(case)).bounded)
    drawn = data.draw(timed_events(case, 24) if timed else untimed_events(case))
    rows = _kept(drawn, numbers)
    arriving = list(batches(case.statement, rows))
    try:
        engine = one_pass(case.query, {})
    except PlanError:
        event("no plan")
        return
    assert list(engine.run(arriving)) == list(reference(case.statement, arriving, {}))
    found: Counter[str] = Counter()
    for batch in arriving:
        for name, held in batch.tuples.items():
            found[name] = max(found[name], len(held))
    most = engine.plan.size(found) if engine.plan.ending is None else None
    assert most is None or engine.peak_units <= most


def _plain(case: Case) -> Query:
    streams = {
        name: {k: v for k, v in body.items() if k != "cardinality"} for name, body in case.streams.items()
    }
    return parse(case.sql, catalog_from_mapping(streams))


@pytest.mark.theorem
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
@FEWER
@given(data=st.data())
def test_what_is_called_unbounded_has_a_witness_that_keeps_the_promise(
    timed: bool, data: st.DataObject
) -> None:
    # A suffix that probes what is not equal has two rows of a partner; the verdict is that of any number.
    case, numbers = data.draw(numbered(timed, 2))
    assert isinstance(case.query, Query)
    assume(exact(case.query).outcome is Outcome.UNBOUNDED)
    found = witness(case.query, 3)
    assert _keeps(found, numbers)
    assert verify(Statement.of(_plain(case)), found).told_apart == 2**3


def _keeps(found: Witness, numbers: dict[tuple[str, str], int]) -> bool:
    """Whether the whole prefix with any of its suffixes has no value too many."""
    prefix = [row for slot in found.slots for row in (*slot.fixed, *slot.optional)]
    for slot in found.slots:
        for (stream, column), number in numbers.items():
            rows = (row for row in (*prefix, *slot.suffix) if row["stream"] == stream)
            if len({row.get(column) for row in rows} - {None}) > number:
                return False
    return True


def test_a_value_too_many_is_told() -> None:
    body = {"columns": {"A": "int"}, "cardinality": {"A": 2}}
    statement = Statement.of(parse("SELECT DISTINCT A FROM S", catalog_from_mapping({"S": body})))
    rows = [{"stream": "S", "A": value} for value in (1, 2, 1, None, 3)]
    assert len(list(batches(statement, rows[:-1]))) == 4
    with pytest.raises(DataError, match=r"event 4: S.A = 3 is one more different value"):
        list(batches(statement, rows))


def test_a_window_has_no_more_rows_than_its_rate() -> None:
    stream = {
        "columns": {"k": "int", "ts": "timestamp"},
        "timestamp": "ts",
        "domains": {"k": {"min": 1, "max": 2}},
    }
    rated = catalog_from_mapping({"S": {**stream, "rate": {"rows": 50, "per": "hour"}}, "T": stream})
    timed = "SELECT DISTINCT n FROM (SELECT date_trunc('HOUR', ts) AS w, COUNT(*) AS n FROM {} GROUP BY 1) q"
    hidden = (
        "SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) AS n FROM {} GROUP BY k, date_trunc('HOUR', ts)) q"
    )
    assert check(hidden.format("S"), rated, suggest=False).verdict == "bounded"
    assert check(hidden.format("T"), rated, suggest=False).verdict == "unbounded"
    assert check(timed.format("S"), rated, suggest=False).verdict == "bounded"
    assert check(timed.format("T"), rated, suggest=False).verdict == "unbounded"


def test_years_between_two_constants_are_finitely_many() -> None:
    columns = {"d": "date", "m": "timestamp", "ts": "timestamp"}
    catalog = catalog_from_mapping({"S": {"columns": columns, "timestamp": "ts"}})
    grouped = "SELECT {0} AS y, COUNT(*) AS n FROM S WHERE {1} GROUP BY {0}"
    asked = {
        ("EXTRACT(YEAR FROM d)", "d BETWEEN DATE '2020-01-01' AND DATE '2025-06-30'"): ("bounded", 14),
        ("YEAR(m)", "m >= TIMESTAMP '2020-01-01' AND m < TIMESTAMP '2022-01-01'"): ("bounded", 8),
        ("YEAR(d)", "d > DATE '2020-01-01'"): ("unknown", None),
        ("YEAR(d)", "d > DATE '2020-01-01' AND d < DATE '1990-01-01'"): ("bounded", 0),
    }
    for (year, where), expected in asked.items():
        found = check(grouped.format(year, where), catalog, suggest=False)
        assert (found.verdict, found.units) == expected, (year, where)
