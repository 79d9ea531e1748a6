"""Filters on the present time: the rows that hold now, however changes came; what is kept is what changes."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from streambound.operators.rows.operator import Row
from streambound.operators.time_filters import TimeFilters
from streambound.plan.flow import Moment, TimeFiltered
from streambound.query.model import Op

Step = tuple[int, list[tuple[Row, int]]]
ORDERS = {Op.LT: int.__lt__, Op.LE: int.__le__, Op.GT: int.__gt__, Op.GE: int.__ge__}
moments = st.builds(Moment, st.integers(1, 2), st.sampled_from(list(ORDERS)), st.integers(-4, 2))


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Present times, each with rows that come then, and some that are taken back."""
    found, present, there = list[Step](), 0, Counter[Row]()
    for _ in range(draw(st.integers(1, 8))):
        present += draw(st.integers(1, 3))
        times = st.integers(max(0, present - 4), present)
        changes = [(row, 1) for row in draw(st.lists(st.tuples(st.sampled_from("ab"), times, times)))]
        changes += [(row, -1) for row in sorted(there) if draw(st.integers(0, 3)) == 0]
        for row, count in changes:
            there[row] += count
        there = +there
        found.append((present, changes))
    return found


def holding(operation: TimeFiltered, rows: Counter[Row], present: int) -> Counter[Row]:
    """The rows that are shown at a present time."""
    found: Counter[Row] = Counter()
    for row, count in rows.items():
        if all(ORDERS[m.op](row[m.position], present + m.offset) for m in operation.moments):
            found[row[: operation.width]] += count
    return +found


@given(st.lists(moments, min_size=1, max_size=3), steps(), st.integers(1, 3), st.integers(1, 3))
def test_the_rows_that_hold(made: list[Moment], given: list[Step], width: int, together: int) -> None:
    operation = TimeFiltered(tuple(made), width)
    filters, there, shown = TimeFilters(operation), Counter[Row](), Counter[Row]()
    for position in range(0, len(given), together):
        batch, changes = given[position : position + together], Counter[Row]()
        for _, rows in batch:
            for row, count in rows:
                changes[row] += count
        there.update(changes)
        found = filters.take([{r: n for r, n in changes.items() if n}, {(t,): 1 for t, _ in batch}])
        assert all(found.values())
        shown.update(found)
        present = batch[-1][0]
        assert +shown == holding(operation, there, present)
        ahead = {
            row
            for row, count in there.items()
            if count
            and any(
                holding(operation, Counter((row,)), present + n)
                != holding(operation, Counter((row,)), present + n + 1)
                for n in range(20)
            )
        }
        assert filters.stored_units == sum(len(row) + 1 for row in ahead)
        document = json.loads(json.dumps(filters.dump()))
        filters = TimeFilters(operation)
        filters.load(document)
        assert filters.dump() == document
