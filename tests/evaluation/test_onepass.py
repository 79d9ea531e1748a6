"""The one-pass engine against the definition, at every event.

Groups: random queries over each mix of types; the corpus answers; what the state may hold; what
the engine refuses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.spark.histories import compact_pass, compact_plan
from tests.strategies import cases, events, static

from streambound.boundedness.criterion.exact import exact
from streambound.compiler.report import check
from streambound.errors import PlanError
from streambound.evaluation.corpus import run_line
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.onepass import static_values
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.parse.corpus import CorpusLine, read_corpus
from streambound.query.statement import Statement

ANSWERS = Path(__file__).parents[1] / "corpus" / "answers.jsonl"
MIXES = [
    ("int",),
    ("double",),
    ("int", "double", "decimal(3,1)"),
    ("string", "boolean"),
    ("date", "int"),
]


@pytest.mark.theorem
@pytest.mark.parametrize("types", MIXES, ids="-".join)
@given(data=st.data())
def test_one_pass_equals_the_reference_at_every_event(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    assume(exact(case.query).bounded)
    rows = encode_static(case.statement, data.draw(static(case)))
    arriving = list(batches(case.statement, data.draw(events(case))))
    engine = compact_pass(case.query, rows)
    assert list(engine.run(arriving)) == list(reference(case.statement, arriving, rows)), case.sql
    assert engine.peak_units <= engine.plan.max_units


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@given(data=st.data())
def test_a_plan_exists_exactly_for_bounded_queries(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    values = static_values(case.query, encode_static(case.statement, data.draw(static(case))))
    if exact(case.query).bounded:
        assert compact_plan(case.query, values).max_units >= 0
    elif not case.query.statics:
        with pytest.raises(PlanError):
            compact_plan(case.query, values)


@pytest.mark.parametrize("engine", ["reference", "onepass"])
def test_corpus_answers(engine: str) -> None:
    lines = list(read_corpus(ANSWERS))
    expected = [json.loads(text)["answers"] for text in ANSWERS.read_text().splitlines()]
    assert len(lines) == len(expected) > 0
    for line, answers in zip(lines, expected, strict=True):
        document, code = run_line(line, engine)
        assert (code, document["answers"]) == (0, answers), line.sql


def test_answers_of_one_timestamp_come_together() -> None:
    catalog = catalog_from_mapping(
        {"S": {"A": "int", "ts": "timestamp"}, "T": {"D": "int", "ts": "timestamp"}}
    )
    query = parse("SELECT A FROM S, T WHERE A = D AND A BETWEEN 0 AND 3", catalog)
    stamps = ["2026-01-01 00:00:00", "2026-01-01 00:00:00", "2026-01-01 00:00:01"]
    rows = [
        {"stream": "S", "A": 1, "ts": stamps[0]},
        {"stream": "T", "D": 1, "ts": stamps[1]},
        {"stream": "T", "D": 1, "ts": stamps[2]},
    ]
    found = list(compact_pass(query, {}).run(batches(Statement.of(query), rows)))
    assert [[(a.marker, a.row, a.count) for a in marker] for marker in found] == [
        [(stamps[0], (1,), 1)],
        [(stamps[2], (1,), 1)],
    ]


def test_counts_are_exact_beyond_64_bits() -> None:
    catalog = catalog_from_mapping({name: {"A": "int"} for name in ("S", "T", "U")})
    query = parse("SELECT 1 FROM S, T, U WHERE S.A = 0 AND T.A = 0 AND U.A = 0", catalog)
    engine = compact_pass(query, {})
    for alias in ("S", "T"):
        many = engine.state.fresh()
        many[frozenset((alias,))].put((0, ()), 2**40, (), ())
        assert engine.advance(many) == {}
    (batch,) = batches(Statement.of(query), [{"stream": "U", "A": 0}])
    assert engine.process(batch) == {(1,): 2**80}


def test_an_unbounded_query_is_refused_with_the_way_out() -> None:
    catalog = catalog_from_mapping({"S": {"A": "int"}, "T": {"D": "int"}})
    query = parse("SELECT A FROM S, T WHERE A = D", catalog, "q2")
    with pytest.raises(PlanError, match="no plan was found") as caught:
        compact_pass(query, {})
    assert "q2" in str(caught.value) and "streambound check" in str(caught.value)


def test_a_timestamp_and_a_constant_are_a_filter() -> None:
    catalog = catalog_from_mapping(
        {"S": {"A": "int", "ts": "timestamp"}, "T": {"D": "int", "ts": "timestamp"}}
    )
    sql = "SELECT A FROM S, T WHERE A = D AND A IN (1, 2) AND S.ts >= '2026-01-01 00:00:01'"
    query = parse(sql, catalog)
    rows = [
        {"stream": "T", "D": 1, "ts": "2026-01-01 00:00:00"},
        {"stream": "S", "A": 1, "ts": "2026-01-01 00:00:00"},
        {"stream": "S", "A": 1, "ts": "2026-01-01 00:00:02"},
    ]
    arriving = list(batches(Statement.of(query), rows))
    found = list(compact_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {})) and sum(map(len, found)) == 1


@pytest.mark.parametrize(
    ("streams", "sql", "units"),
    [
        (
            {
                "s": {"columns": {"B": "string", "C": "string"}, "domains": {"C": {"values": ["a", "b"]}}},
                "t": {"B": "string"},
            },
            "SELECT DISTINCT s.C FROM s, t WHERE s.B > t.B AND s.C < t.B",
            2 + 3,
        ),
        (
            {"s": {"A": "double", "B": "double"}, "t": {"B": "double"}},
            "SELECT 1 FROM s, t WHERE t.B = s.A AND t.B = s.B AND s.A IN (0, 1)",
            6,
        ),
        (
            {"s": {"B": "string", "C": "string"}, "z": {"B": "string"}},
            "SELECT DISTINCT 1 FROM s, z WHERE s.B <= z.B AND z.B < s.C AND s.C IN ('a', 'c')",
            2 + 3,
        ),
    ],
)
def test_finite_and_infinite_partners_of_one_column(streams: dict[str, Any], sql: str, units: int) -> None:
    assert check(sql, catalog_from_mapping(streams), suggest=False).units == units


def test_a_dense_column_that_only_a_list_of_values_bounds() -> None:
    streams = {
        "S": {"columns": {"A": "double"}, "not_null": ["A"]},
        "T": {"columns": {"A": "decimal(3,0)", "B": "decimal(3,0)"}, "not_null": ["A"]},
    }
    # T.B is 2, since 0 is below 0.5; so S.A is 2 as well.
    where = "T.A <= 2 AND T.A >= S.A AND T.B IN (0, 2) AND T.B <= S.A AND T.B >= 0.5"
    query = parse(f"SELECT S.A FROM S, T WHERE {where}", catalog_from_mapping(streams))
    tuples = [{"stream": "T", "A": "2", "B": "2"}, {"stream": "S", "A": 1.5}, {"stream": "S", "A": 2.0}]
    arriving = list(batches(Statement.of(query), tuples))
    assert exact(query).bounded
    assert list(compact_pass(query, {}).run(arriving)) == list(reference(Statement.of(query), arriving, {}))


@pytest.mark.parametrize(
    ("where", "arrivals", "answered"),
    [
        # The extremum stands for U.A and U.B together, and is no value of U.A that <> could be asked of.
        ("U.A <= T.A AND U.B <= T.A AND U.A <> T.A", [("T", 2, 9), ("U", 1, 2)], True),
        ("U.A <= T.A AND U.B <= T.A AND U.A <> T.B", [("T", 5, 1), ("U", 1, 2)], False),
        ("U.A > T.A AND U.B >= T.A AND U.B <> T.A", [("T", 1, 9), ("U", 2, 3)], True),
    ],
)
def test_unequal_beside_an_extremum(where: str, arrivals: list[tuple[str, int, int]], answered: bool) -> None:
    catalog = catalog_from_mapping({name: {"A": "int", "B": "int"} for name in ("T", "U")})
    query = parse(f"SELECT DISTINCT 1 FROM T, U WHERE {where}", catalog)
    arriving = list(batches(Statement.of(query), [{"stream": s, "A": a, "B": b} for s, a, b in arrivals]))
    found = list(compact_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {})) and any(found) is answered


def test_unequal_beside_a_mixed_extremum_keeps_few_tuples() -> None:
    # Some columns are compared strictly, so T.A and T.B are both kept; the one that is not below the other
    # says nothing of which tuple joins with more.
    catalog = catalog_from_mapping({"S": {"C": "double"}, "T": {"A": "double", "B": "double"}})
    sql = "SELECT DISTINCT 1 FROM S, T WHERE T.A >= S.C AND T.B > S.C AND T.A <> S.C"
    query = parse(sql, catalog)
    tuples = [{"stream": "T", "A": float(a), "B": 60.0 - b} for a in range(30) for b in (a, 58 - a)]
    arriving = list(
        batches(Statement.of(query), [*tuples, {"stream": "S", "C": 29.0}, {"stream": "S", "C": 28.0}])
    )
    engine = compact_pass(query, {})
    assert list(engine.run(arriving)) == list(reference(Statement.of(query), arriving, {}))
    assert engine.peak_units <= engine.plan.max_units


@pytest.mark.parametrize("streams", [38, 39])
def test_a_count_has_as_many_digits_as_an_answer_file_holds(streams: int) -> None:
    names = [f"S{n}" for n in range(streams)]
    catalog = catalog_from_mapping({name: {"A": "int"} for name in names})
    # Ten tuples of each: every one of the last stream completes ten to the number of the other streams.
    events = tuple({"stream": name, "A": 1} for name in names for _ in range(10))
    found, code = run_line(CorpusLine("q", f"SELECT 1 FROM {', '.join(names)}", catalog, events), "onepass")
    if streams == 38:
        assert code == 0 and [answer["count"] for answer in found["answers"]] == [10**37] * 10
    else:
        assert code == 2 and "multiplicity of more than 38 digits" in found["error"]
