"""Tables of partial matches: the laws of their state, and that time does not change what they stand for."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.evaluation.events import Batch, batches
from streambound.evaluation.onepass import OnePass, one_pass
from streambound.evaluation.reference import reference
from streambound.plan.clock import Clock, time_conditions
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.statement import Statement
from streambound.state.engine import Slices
from streambound.state.serial import digest, dumps, table_of
from streambound.state.table import Table, Values

Entered = list[tuple[Values, int]]


def entered(data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Table, Entered]]:
    """The tables of a random query after random streams, and what entered each of them."""
    case = data.draw(timed_cases(windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    engine = one_pass(case.query, {})
    assume(isinstance(engine, OnePass) and engine.plan.timed)
    taken: dict[int, tuple[Table, Entered]] = {}
    add = Table.add

    def noted(table: Table, values: Values, weight: int = 1) -> None:
        taken.setdefault(id(table), (table, []))[1].append((values, weight))
        add(table, values, weight)

    arriving: list[Batch] = list(batches(case.statement, data.draw(timed_events(case))))
    with monkeypatch.context() as patch:
        patch.setattr(Table, "add", noted)
        list(engine.run(arriving))
    return list(taken.values())


def filled(table: Table, matches: Entered) -> Table:
    found = Table(table.cells, table.ring)
    for values, weight in matches:
        found.add(values, weight)
    return found


@given(data=st.data())
def test_the_table_of_two_bags_is_the_merge_of_their_tables(data: st.DataObject) -> None:
    for table, matches in entered(data, pytest.MonkeyPatch()):
        cut = data.draw(st.integers(0, len(matches)))
        first, second = filled(table, matches[:cut]), filled(table, matches[cut:])
        first.merge(second)
        if not any(cell.unequal for cell in table.cells):
            assert dumps(first) == dumps(filled(table, matches))
        turned = filled(table, matches[cut:])
        turned.merge(filled(table, matches[:cut]))
        assert turned.stored_units == first.stored_units or any(cell.unequal for cell in table.cells)


@given(data=st.data())
def test_stored_tables_are_read_back_as_they_were(data: st.DataObject) -> None:
    for table, _ in entered(data, pytest.MonkeyPatch()):
        stored = dumps(table)
        again = table_of(table.cells, table.ring, "S", json.loads(stored))
        assert (again.counts, again.entries) == (table.counts, table.entries)
        assert digest(dumps(again)) == digest(stored)


@given(data=st.data())
def test_a_composite_never_enters_after_one_that_it_precedes(data: st.DataObject) -> None:
    """Where X precedes T, timestamps that meet the conditions have X enter no later than T."""
    case = data.draw(timed_cases(windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    query = case.query
    clock = Clock(tuple(o.alias for o in query.streams), time_conditions(query))
    stamps = {alias: data.draw(st.integers(0, 6)) for alias in clock.streams}
    assume(all(_meets(stamps, early, late, by) for (early, late), by in clock.latest.items()))
    entry = {c: max(stamps[alias] for alias in c) + clock.delays[c] for c in clock.composites}
    for early in clock.composites:
        for late in clock.composites:
            assert not clock.before(early, late) or entry[early] <= entry[late]
    for alias in clock.streams:
        assert entry[clock.composite(alias)] <= stamps[alias] + clock.hold(alias)


def _meets(stamps: dict[str, int], early: str, late: str, by: int) -> bool:
    return stamps[early] - stamps[late] <= by


def test_old_timestamps_are_forgotten_and_their_slices_merge() -> None:
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
    catalog = catalog_from_mapping({"S": body, "T": body})
    query = parse("SELECT 1 FROM S, T WHERE S.ts + 3 <= T.ts", catalog)
    engine = one_pass(query, {})
    assert isinstance(engine, OnePass)
    events = [{"stream": "S", "A": 0, "ts": ts} for ts in range(6)]
    for batch in batches(Statement.of(query), events):
        engine.process(batch)
    (slices,) = engine.state.tables.values()
    assert isinstance(slices, Slices)
    # Of T only timestamps from 6 are to come: S at 4 and at 5 still matter apart.
    assert {ages: table.stored_units for ages, table in slices.tables.items()} == {
        (None,): 1,
        (4,): 1,
        (5,): 1,
    }
    assert engine.plan.max_units == 3 == engine.peak_units


def test_tuples_that_are_held_enter_later_though_no_batch_comes_in_between() -> None:
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
    catalog = catalog_from_mapping({name: body for name in "STU"})
    query = parse("SELECT 1 FROM S, T, U WHERE U.ts <= T.ts + 1 AND S.A IN (1, 2)", catalog)
    moments = (("T", 1), ("U", 2), ("T", 2), ("S", 9), ("U", 9), ("S", 12))
    arriving = list(
        batches(Statement.of(query), [{"stream": name, "A": 1, "ts": ts} for name, ts in moments])
    )
    found = list(one_pass(query, {}).run(arriving))
    assert found == list(reference(Statement.of(query), arriving, {}))
    assert [[answer.count for answer in marker] for marker in found] == [[], [], [2], [2]]
