"""Plans of queries that compare timestamps, against the definition at every marker.

Groups: random queries; what theory promises to be bounded; the worked example of the paper; sizes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import Case, timed_cases, timed_events

from streambound.boundedness.exact import exact
from streambound.evaluation.events import Batch, batches
from streambound.evaluation.onepass import one_pass
from streambound.evaluation.reference import reference
from streambound.synopsis.planner import not_planned
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_planner import needs_time


def rows_at_once(arriving: list[Batch]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for batch in arriving:
        for name, rows in batch.tuples.items():
            found[name] = max(found[name], len(rows))
    return found


def agree(case: Case, events: list[dict[str, Any]]) -> None:
    """One pass equals the definition at every marker, and the state stays within its units."""
    arriving = list(batches(case.query, events))
    engine = one_pass(case.query, {})
    assert list(engine.run(arriving)) == list(reference(case.query, arriving, {})), case.sql
    most = (
        engine.plan.size(rows_at_once(arriving)) if isinstance(engine.plan, TimedPlan) else engine.plan.units
    )
    assert engine.peak_units <= most, case.sql


@given(data=st.data())
def test_one_pass_equals_the_reference_at_every_marker(data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    assume(exact(case.query).bounded and needs_time(case.query) and not not_planned(case.query))
    agree(case, data.draw(timed_events(case)))
