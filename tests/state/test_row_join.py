"""Groups of partial matches: what is kept up to date equals what would be made anew."""

from __future__ import annotations

from collections import Counter
from pickle import dumps

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.evaluation.events import batches
from streambound.evaluation.onepass import OnePass
from streambound.plan.tables.planner import plan_of
from streambound.query.model import Attribute
from streambound.state.row_join import PartialMatch, PartialMatches

A, B = Attribute("S", "A"), Attribute("S", "B")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 9)), max_size=3),
        )
    ),
    st.integers(0, 5),
)
def test_merged_matches_follow_their_groups(
    puts: list[tuple[int, list[tuple[int, int, int]]]], asked: int
) -> None:
    matches = PartialMatches()
    for number, (group, rows) in enumerate(puts):
        if number == asked:
            matches.merged()
        matches.put(group, [PartialMatch({A: a, B: b}, {"S": group}, weight) for a, b, weight in rows])
    weights: Counter[tuple[int, int]] = Counter()
    for match in matches:
        weights[match.values[A], match.values[B]] += match.weight
    merged = list(matches.merged())
    assert all(match.stamps == {} for match in merged)
    assert len(merged) == len(weights)
    assert {(m.values[A], m.values[B]): m.weight for m in merged} == dict(weights)
    by_value = [m.weight for m in matches.merged().having((A,), (1,))]
    assert sum(by_value) == sum(weight for (a, _), weight in weights.items() if a == 1)


def test_what_is_kept_does_not_grow_with_the_values_that_have_gone() -> None:
    matches, sizes = PartialMatches(), set[int]()
    for moment in range(100):
        matches.put(
            moment,
            [PartialMatch({A: moment, B: 1}, {"S": moment}), PartialMatch({A: moment, B: 0}, {"S": moment})],
        )
        for kept in (matches, matches.merged()):
            assert len(list(kept.having((A,), (moment,)))) == 2
        if moment >= 3:
            matches.put(moment - 3, [])
            sizes.add(len(dumps(matches)))
    assert max(sizes) - min(sizes) < 100


@given(data=st.data())
def test_what_arrives_at_once_equals_the_matches_made_one_by_one(data: st.DataObject) -> None:
    """For every composite, also where tables would ask for its matches."""
    case = data.draw(timed_cases(windows=True))
    assume(exact(case.query).bounded)
    plan = plan_of(case.query, {})
    assume(plan.ending is None and plan.timed and not plan.empty)
    engine = OnePass(plan, {})
    held, join = engine.state.buffer, engine.state.join
    for batch in batches(case.statement, data.draw(timed_events(case))):
        arriving = {s.alias: engine.arriving(s, batch) for s in plan.streams}
        held.take(arriving, batch.moment)
        for composite in plan.clock.composites:
            wanted, found = Counter[str](), Counter[str]()
            for match in held.complete(composite, batch.moment):
                wanted[str(sorted(match.values.items(), key=str))] += match.weight
            for sources in held.arrived(composite):
                for match in join.joined(sources):
                    found[str(sorted(match.values.items(), key=str))] += match.weight
            assert found == wanted
        held.take({alias: [] for alias in arriving}, None)
        engine.process(batch)
