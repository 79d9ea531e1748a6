"""The join in arrays gives what the join of single representatives gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark.histories import compact_plan, empty_tables, plan_of
from tests.strategies import Case, cases, events, static, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.evaluation.events import batches, encode, encode_static
from streambound.evaluation.onepass import OnePass
from streambound.history.evaluations.array_join import ArrayJoin
from streambound.plan.exclusions import excluded
from streambound.plan.model import Plan
from streambound.plan.tables.planner import plan_of as any_plan_of
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Attribute
from streambound.query.parse import parse
from streambound.state.row_join import (
    PartialMatch,
    PartialMatches,
    Row,
    RowJoin,
    Source,
    representatives,
    static_sources,
)
from streambound.state.table import accepted

MIXES = [("int",), ("int", "double", "decimal(3,1)"), ("string", "boolean", "int")]


class Arrays(ArrayJoin):
    """Joins in arrays however few they are."""

    few = 0


def counted(join: type[RowJoin], plan: Plan, sources: list[Source]) -> dict[Row, int]:
    found: dict[Row, int] = {}
    join(plan.query.ring, plan.joins, (), excluded(plan.synopses)).rows(plan.query, sources, found)
    return found


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(data=st.data())
def test_equal_to_the_join_one_by_one(types: tuple[str, ...], data: st.DataObject) -> None:
    case: Case = data.draw(cases(types))
    statics = data.draw(static(case))
    rows, plan = encode_static(case.statement, statics), plan_of(case, statics)
    assume(not plan.stateless and not plan.empty)
    tables = empty_tables(plan)
    for event in data.draw(events(case, 24)):
        name = event["stream"]
        row = encode(case.query.occurrence(name).relation, event, "event")
        for values in accepted(next(s for s in plan.streams if s.alias == name), [row]):
            tables[name].add(values)
    sources = static_sources(case.query, rows)
    scale = data.draw(st.sampled_from([1, 10**6, 10**30]))
    for alias, table in tables.items():
        reps = representatives(table, table.buckets)
        scaled = (PartialMatch(rep.values, {}, rep.weight * scale, rep.cell) for rep in reps)
        sources.append((frozenset((alias,)), PartialMatches(scaled)))
    found, expected = counted(Arrays, plan, sources), counted(RowJoin, plan, sources)
    assert found == expected, case.sql


@given(data=st.data())
def test_equal_to_the_join_one_by_one_in_time(data: st.DataObject) -> None:
    case = data.draw(timed_cases(windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    plan = any_plan_of(case.query, {})
    assume(plan.ending is None and plan.timed)
    arriving = list(batches(case.statement, data.draw(timed_events(case))))
    found, expected = [OnePass(plan, {}, join=join).run(arriving) for join in (Arrays, RowJoin)]
    assert list(found) == list(expected), case.sql


def test_no_wrapping_where_products_pass_64_bits() -> None:
    catalog = catalog_from_mapping({name: {"A": "int"} for name in ("S", "T")})
    query = parse("SELECT S.A FROM S, T WHERE S.A = T.A AND S.A IN (1, 2)", catalog, "pairs")
    plan = compact_plan(query)
    sources: list[Source] = [
        (
            frozenset((name,)),
            PartialMatches(PartialMatch({Attribute(name, "A"): a}, {}, 2**61 - a, 0) for a in (1, 2)),
        )
        for name in ("S", "T")
    ]
    assert counted(Arrays, plan, sources) == {(a,): (2**61 - a) ** 2 for a in (1, 2)}


def test_many_pairs_with_several_comparisons() -> None:
    columns = {"A": "int", "B": "int", "C": "int"}
    bounded = {"domains": {name: {"min": 0, "max": 99} for name in columns}, "not_null": list(columns)}
    catalog = catalog_from_mapping({name: {"columns": columns, **bounded} for name in ("S", "T")})
    where = "S.A < T.A AND S.B >= T.B AND S.C <> T.C"
    plan = compact_plan(parse(f"SELECT S.A FROM S, T WHERE {where}", catalog, "many"))
    numbers = np.random.default_rng(5).integers(0, 100, (2, 2_000, 3))
    sources: list[Source] = []
    for name, rows in zip("ST", numbers, strict=True):
        named = [Attribute(name, column) for column in columns]
        matches = PartialMatches(
            PartialMatch(dict(zip(named, row, strict=True)), {}, 3, 0) for row in rows.tolist()
        )
        sources.append((frozenset((name,)), matches))
    (a, b, c), (d, e, f) = (rows.T for rows in numbers)
    pairs = (a[:, None] < d) & (b[:, None] >= e) & (c[:, None] != f)
    expected = {(value,): int(pairs[a == value].sum()) * 9 for value in set(a.tolist())}
    assert counted(Arrays, plan, sources) == {row: count for row, count in expected.items() if count}
