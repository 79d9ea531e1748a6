"""Equijoins in k tuples: never a wrong row, all rows with room enough, the same however cut."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streambound.approximate.equijoin import cacheable, equijoin
from streambound.approximate.evaluation import MemoryPass, key_text
from streambound.approximate.exact_count import exact_results
from streambound.approximate.kernels.ceiling import ceiling
from streambound.approximate.keys import learn
from streambound.approximate.plan import MemoryPlan, memory_plan
from streambound.approximate.policies import POLICIES
from streambound.approximate.sample import OfKey
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.approximate.serial import dump, load
from streambound.errors import DataError, PlanError, QueryError
from streambound.evaluation.events import Batch, batches
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.statement import Statement

COLUMNS = {"A": "int", "B": "double", "C": "string"}
CATALOG = catalog_from_mapping(
    {name: {"columns": {**COLUMNS, "ts": "int"}, "timestamp": "ts"} for name in ("S", "T")}
)
TIMES = [
    "",
    "S.ts < T.ts",
    "S.ts <= T.ts AND T.ts <= S.ts + 3",
    "T.ts >= S.ts + 2",
    "S.ts <> T.ts",
    "T.ts <= S.ts",
    "S.ts - 1 <= T.ts AND T.ts < S.ts + 3",
]
FURTHER = ["", "S.B < T.B", "S.B <> T.B", "S.C >= T.C", "S.A > 0", "T.B > 1", "S.B <= T.A"]
KEYS = ["S.A = T.A", "S.A = T.B", "S.C = T.C", "S.A = T.A AND S.C = T.C"]
SELECT = ["S.A, T.B", "1", "S.C, T.C, S.ts", "T.A"]


@st.composite
def statements(draw: st.DrawFn, distinct: bool | None = None) -> Statement:
    key, time, further = (draw(st.sampled_from(parts)) for parts in (KEYS, TIMES, FURTHER))
    where = " AND ".join(part for part in (key, time, further) if part)
    only = "DISTINCT " if (draw(st.booleans()) if distinct is None else distinct) else ""
    return statement(f"SELECT {only}{draw(st.sampled_from(SELECT))} FROM S, T WHERE {where}", CATALOG, "q")


@st.composite
def events(draw: st.DrawFn, most: int = 14) -> list[dict[str, Any]]:
    found, now = [], 0
    for gap in draw(st.lists(st.sampled_from([0, 0, 1, 2]), max_size=most)):
        now += gap
        row: dict[str, Any] = {"stream": draw(st.sampled_from("ST")), "ts": now}
        row["A"] = draw(st.sampled_from([0, 1, 2, None]))
        row["B"] = draw(st.sampled_from([0.0, 1.0, 1.5, float("nan"), None]))
        row["C"] = draw(st.sampled_from(["a", "b", None]))
        found.append(row)
    return found


def choices(arriving: list[Batch], join: MemoryPlan) -> st.SearchStrategy[SelectedPolicy]:
    texts: list[list[str]] = [[], []]
    numbers: list[list[int]] = [[], []]
    for batch in arriving:
        for side, name in enumerate(("S", "T")):
            for row in batch.tuples.get(name, ()):
                key = tuple(row[pair[side].column] for pair in join.join.keys)
                if None not in key:
                    texts[side].append(key_text(key))
                    numbers[side].append(len(numbers[side]))
    models = tuple(learn(keys, 0.5) for keys in texts)
    return st.builds(
        lambda policy, seed: SelectedPolicy(policy, 3.0, (models[0], models[1]), 1.0, seed),
        st.sampled_from(sorted(POLICIES)),
        st.integers(0, 3),
    )


def plan_for(query: Statement, size: int) -> MemoryPlan:
    try:
        return memory_plan(query, size)
    except PlanError:
        assume(False)
        raise


def total(found: Any) -> Counter[Any]:
    rows: Counter[Any] = Counter()
    for marker in found:
        for answer in marker:
            rows[answer.marker, repr(answer.row)] += answer.count
    return rows


@given(query=statements(distinct=False), given_=events(), size=st.integers(1, 5), data=st.data())
def test_never_a_wrong_row(
    query: Statement, given_: list[dict[str, Any]], size: int, data: st.DataObject
) -> None:
    arriving = list(batches(query, given_))
    plan = plan_for(query, size)
    plan = MemoryPlan(plan.join, plan.streams, size, data.draw(choices(arriving, plan)))
    engine = MemoryPass(plan)
    found, exact = total(engine.run(arriving)), total(reference(query, arriving, {}))
    assert found <= exact
    assert engine.peak <= size and engine.peak_units <= plan.max_units
    assert engine.results == sum(found.values())


@given(query=statements(distinct=True), given_=events(), size=st.integers(1, 5))
def test_never_a_wrong_distinct_row(query: Statement, given_: list[dict[str, Any]], size: int) -> None:
    arriving = list(batches(query, given_))
    rows = {row for _, row in total(MemoryPass(plan_for(query, size)).run(arriving))}
    assert rows <= {row for _, row in total(reference(query, arriving, {}))}


@given(query=statements(), given_=events(), data=st.data())
def test_all_rows_with_room_for_all(
    query: Statement, given_: list[dict[str, Any]], data: st.DataObject
) -> None:
    arriving = list(batches(query, given_))
    plan = plan_for(query, 20)
    plan = MemoryPlan(plan.join, plan.streams, 20, data.draw(choices(arriving, plan)))
    found, exact = total(MemoryPass(plan).run(arriving)), total(reference(query, arriving, {}))
    if plan.query.ring.idempotent:
        assert {row for _, row in found} == {row for _, row in exact}
    else:
        assert found == exact


@given(query=statements(), given_=events(), size=st.integers(1, 5), data=st.data())
def test_the_same_however_it_is_cut_and_restored(
    query: Statement, given_: list[dict[str, Any]], size: int, data: st.DataObject
) -> None:
    arriving = list(batches(query, given_))
    plan = plan_for(query, size)
    plan = MemoryPlan(plan.join, plan.streams, size, data.draw(choices(arriving, plan)), sampled=6)
    whole = MemoryPass(plan)
    expected = total(whole.run(arriving))
    found: Counter[Any] = Counter()
    engine = MemoryPass(plan)
    for batch in arriving:
        found += total(engine.run([batch]))
        assert engine.sample.size == sum(of_key.size for of_key in engine.sample.keys.values()) <= 6
        if data.draw(st.booleans()):
            engine = load(plan, json.loads(dump(engine)))
    assert found == expected
    assert dump(engine) == dump(whole)


@given(query=statements(distinct=False), given_=events(), size=st.integers(1, 4))
def test_the_estimate_is_exact_while_all_keys_fit(
    query: Statement, given_: list[dict[str, Any]], size: int
) -> None:
    arriving = list(batches(query, given_))
    engine = MemoryPass(plan_for(query, size))
    for _ in engine.run(arriving):
        pass
    estimate = engine.estimate
    assert estimate is not None and estimate.error == 0
    assert estimate.results == total(reference(query, arriving, {})).total()


@given(given_=events(), size=st.integers(1, 5), time=st.sampled_from(["S.ts < x.ts", "S.ts <= x.ts + 2"]))
def test_a_stream_joined_with_itself(given_: list[dict[str, Any]], size: int, time: str) -> None:
    query = statement(f"SELECT x.B FROM S, S x WHERE S.A = x.A AND {time}", CATALOG, "q")
    arriving = list(batches(query, given_))
    exact = total(reference(query, arriving, {}))
    assert total(MemoryPass(memory_plan(query, size)).run(arriving)) <= exact
    assert total(MemoryPass(memory_plan(query, 30)).run(arriving)) == exact


@given(query=statements(distinct=False), given_=events())
def test_exact_results_are_those_of_the_definition(query: Statement, given_: list[dict[str, Any]]) -> None:
    arriving = list(batches(query, given_))
    plan = plan_for(query, 1)
    engine = MemoryPass(MemoryPlan(plan.join, plan.streams, 20, SelectedPolicy("fifo")))
    rows = [row for batch in arriving for row in engine.accepted(batch)]
    assert exact_results(plan, rows) == total(reference(query, arriving, {})).total()


def test_the_estimate_is_close_where_keys_are_sampled() -> None:
    query = statement("SELECT 1 FROM S, T WHERE S.A = T.A AND S.ts < T.ts", CATALOG, "q")
    plan = memory_plan(query, 10)
    plan = MemoryPlan(plan.join, plan.streams, 10, SelectedPolicy(), sampled=300)
    engine = MemoryPass(plan)
    given_ = [{"stream": "ST"[at % 2], "ts": at, "A": at * 7919 % 1999} for at in range(20_000)]
    for _ in engine.run(batches(query, given_)):
        assert engine.sample.size <= 300
    seen: Counter[int] = Counter()
    exact = 0
    for event in given_:
        exact += seen[event["A"]] if event["stream"] == "T" else 0
        seen[event["A"]] += event["stream"] == "S"
    estimate = engine.estimate
    assert engine.sample.level > 0 and estimate is not None
    assert abs(estimate.results - exact) < 4 * estimate.error
    fraction = estimate.fraction(engine.results)
    assert fraction is not None and 0 <= fraction <= 1


def test_a_sample_without_results_tells_nothing() -> None:
    """All results are of one key that is not sampled: 0 would pass for a count, and the answer for whole."""
    query = statement("SELECT 1 FROM S, T WHERE S.A = T.A AND S.ts < T.ts", CATALOG, "q")
    plan = memory_plan(query, 10)
    engine = MemoryPass(MemoryPlan(plan.join, plan.streams, 10, SelectedPolicy(), sampled=20))
    engine.sample.restore(1, {})
    heavy = next(a for a in range(-1, -99, -1) if not engine.sample.sampled(key_text((a,))))
    given_ = [{"stream": "ST"[at % 2], "ts": at, "A": heavy if at % 10 < 2 else at} for at in range(400)]
    for _ in engine.run(batches(query, given_)):
        pass
    assert engine.results > 0 and engine.sample.level > 0 and engine.sample.keys
    assert engine.estimate is None


def test_fewer_results_than_were_found_are_no_estimate() -> None:
    query = statement("SELECT 1 FROM S, T WHERE S.A = T.A AND S.ts < T.ts", CATALOG, "q")
    engine = MemoryPass(memory_plan(query, 10))
    engine.sample.restore(1, {"[1]": OfKey(results=2)})
    engine.results = 4
    estimate = engine.estimate
    assert estimate is not None and estimate.results == 4 and estimate.error > 0
    engine.results = 5
    assert engine.estimate is None


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT 1 FROM S, T WHERE S.B < T.B", "no equality links columns of its two streams"),
        ("SELECT S.A FROM S", "it has 1 streams"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A AND S.A > 0 AND S.A < 5", "finitely many values"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A OR S.B = T.B", "it has OR\n"),
        ("SELECT A FROM S UNION ALL SELECT A FROM T", "it has UNION\n"),
        ("SELECT S.A FROM S LEFT JOIN T ON S.A = T.A", "it has an outer join\n"),
        ("SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A = T.A)", "it has EXISTS, IN, EXCEPT or"),
        ("SELECT COUNT(*) FROM S, T WHERE S.A = T.A", "it has aggregates or GROUP BY\n"),
        ("SELECT S.A FROM S, T WHERE S.A = T.A ORDER BY S.ts LIMIT 3", "it has a rank, or ORDER BY"),
        ("SELECT S.A + T.B FROM S, T WHERE S.A = T.A", "it has values in SELECT that are computed\n"),
        ("SELECT 1 FROM S, T, S x WHERE S.A = T.A", "it has 3 streams"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A AND S.ts = T.ts", "at its own timestamp"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A AND S.A > 1 AND S.A < 1", "contradict each other"),
    ],
)
def test_what_is_refused_and_why(sql: str, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        equijoin(statement(sql, CATALOG, "q"))


WINDOW = "SELECT S.A, T.B FROM S, T WHERE S.A = T.A AND S.ts <= T.ts AND T.ts <= S.ts + 3"


def test_a_window_needs_a_cache_only_where_it_does_not_fit() -> None:
    query = statement(WINDOW, CATALOG, "q")
    # Three columns and four numbers beside: 7 units a tuple.
    assert cacheable(query, 10, bounded=True, exact=71) == cacheable(query, 10, bounded=True, exact=None)
    with pytest.raises(PlanError, match="it fits: its plan keeps at most 70 units, and 10 tuples take 70"):
        cacheable(query, 10, bounded=True, exact=70)
    within = statement("SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 0 AND S.A < 5", CATALOG, "q")
    with pytest.raises(PlanError, match="bounded and needs no cache"):
        cacheable(within, 1, bounded=True, exact=None)


@given(given_=events(40), size=st.integers(1, 4), data=st.data())
def test_of_a_window_no_policy_finds_more_than_the_optimum(
    given_: list[dict[str, Any]], size: int, data: st.DataObject
) -> None:
    query = statement(WINDOW, CATALOG, "q")
    arriving = list(batches(query, given_))
    plan = memory_plan(query, size)
    plan = MemoryPlan(plan.join, plan.streams, size, data.draw(choices(arriving, plan)))
    engine = MemoryPass(plan)
    rows = [row for batch in arriving for row in engine.accepted(batch)]
    played, arrivals = engine.play(rows)
    assert played.met.sum() <= ceiling(arrivals, size)[-1]


def test_a_memory_of_nothing_and_unknown_policies_are_refused() -> None:
    query = statement("SELECT 1 FROM S, T WHERE S.A = T.A", CATALOG, "q")
    with pytest.raises(QueryError, match="the memory is 0 tuples"):
        memory_plan(query, 0)
    with pytest.raises(DataError, match="the policy is 'best'"):
        SelectedPolicy("best")
    for policy in (each.name for each in POLICIES.values() if each.learned):
        with pytest.raises(DataError, match="no benchmark has looked"):
            SelectedPolicy(policy)


@given(query=statements(), given_=events())
def test_tuples_that_time_bars_are_never_cached(query: Statement, given_: list[dict[str, Any]]) -> None:
    plan = plan_for(query, 50)
    engine = MemoryPass(plan)
    for batch in batches(query, given_):
        engine.process(batch)
        for kept in engine.cached:
            last = plan.join.lags[kept.side][1]
            assert kept.moment != batch.moment or last is None or last > 0


def test_a_choice_is_read_back_as_it_was() -> None:
    selected_policy = SelectedPolicy(
        "heeb", 12.5, (learn(["[1]", "[1]", "[2]"], 0.25), learn([], 0.75)), 60.0, 1, "it is best"
    )
    assert SelectedPolicy.of_json(selected_policy.to_json()).digest == selected_policy.digest
    assert SelectedPolicy.of_json(json.loads(json.dumps(selected_policy.to_json()))) == selected_policy
