"""States of plans with time conditions: as bytes and back, and tuples that stand for several."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import static, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.errors import DataError
from streambound.evaluation.events import Batch, batches, encode_static
from streambound.evaluation.onepass import OnePass, one_pass
from streambound.plan.tables.table_planner import timed_plan
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.state.codec import load_state
from streambound.state.row_join import PartialMatch
from streambound.state.table import accepts

MIXES = [(), ("double", "decimal(3,1)", "int"), ("string", "boolean")]


def engine_of(data: st.DataObject, types: tuple[str, ...]) -> tuple[OnePass, OnePass, list[Batch]]:
    """The same engine twice, and batches."""
    case = data.draw(timed_cases(types, windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    rows = encode_static(case.statement, data.draw(static(case)))
    plan = one_pass(case.query, rows).plan
    assume(plan.ending is None and plan.timed)
    arriving = list(batches(case.statement, data.draw(timed_events(case))))
    return OnePass(plan, rows), OnePass(plan, rows), arriving


@pytest.mark.parametrize("types", MIXES, ids=lambda types: "-".join(types) or "plain")
@given(data=st.data())
def test_a_loaded_state_is_the_state(types: tuple[str, ...], data: st.DataObject) -> None:
    """At every boundary: the same bytes, units and answers from then on."""
    engine, other, arriving = engine_of(data, types)
    for batch in arriving:
        assert other.process(batch) == engine.process(batch)
        written = engine.dump()
        other.load(json.loads(written))
        assert other.dump() == written
        assert (other.stored_units, other.answered) == (engine.stored_units, engine.answered)


def weighted(engine: OnePass, batch: Batch) -> dict[str, list[PartialMatch]]:
    """The accepted tuples of a batch, equal ones once with their number."""
    found: dict[str, list[PartialMatch]] = {}
    for synopsis in engine.plan.streams:
        name = engine.query.occurrence(synopsis.alias).relation.name
        kept = (row for row in batch.tuples.get(name, ()) if accepts(synopsis, row))
        counts = Counter(tuple(row[a.column] for a in synopsis.carried) for row in kept)
        found[synopsis.alias] = [
            PartialMatch(dict(zip(synopsis.carried, row, strict=True)), {synopsis.alias: batch.moment}, count)
            for row, count in counts.items()
        ]
    return found


@given(data=st.data())
def test_a_weight_is_so_many_equal_tuples(data: st.DataObject) -> None:
    one, other, arriving = engine_of(data, ())
    for batch in arriving:
        # Equal tuples are rare among random ones.
        twice = replace(
            batch, tuples={n: [r for r in rows for _ in "ab"] for n, rows in batch.tuples.items()}
        )
        assert one.take(batch.moment, weighted(one, twice)) == other.process(twice)
        assert one.stored_units <= other.stored_units


def test_bytes_that_are_no_state_are_refused() -> None:
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
    query = parse("SELECT S.A FROM S, T WHERE T.ts < S.ts", catalog_from_mapping({"S": body, "T": body}))
    with pytest.raises(DataError, match="cannot be read"):
        load_state(timed_plan(query), {"now": 1})
