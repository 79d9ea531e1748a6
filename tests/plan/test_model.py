"""Plans and their size: the definition of units on known queries, and the laws of the state."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.spark.histories import compact_pass, empty_tables
from tests.strategies import cases, events, static

from streambound.boundedness.criterion.exact import exact
from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.evaluation.events import Batch, batches, encode_static
from streambound.evaluation.onepass import OnePass
from streambound.query.catalog import catalog_from_mapping
from streambound.state.serial import digest, dumps, table_of
from streambound.state.table import Table, accepted

PAPER = catalog_from_mapping({"S": {"A": "int", "B": "int", "C": "int"}, "T": {"D": "int", "E": "int"}})
TYPES = ("int", "double", "decimal(3,1)", "string")


@pytest.mark.parametrize(
    ("sql", "units"),
    [
        ("SELECT A FROM S WHERE A > 10", 0),
        ("SELECT A FROM S, T WHERE A = D AND A > 10 AND D < 20", 18),
        ("SELECT DISTINCT A FROM S, T WHERE A = D AND A > 10 AND D < 20", 18),
        ("SELECT DISTINCT A FROM S, T WHERE B < D AND A > 10 AND A < 20", 10),
        ("SELECT A FROM S, T WHERE B < D AND B < 120 AND D > 20 AND A > 10 AND A < 20", 1_000),
        ("SELECT DISTINCT A FROM S, T WHERE B > D AND B > E AND A = 10", 2),
        ("SELECT 1 FROM S, T", 2),
        ("SELECT 1 FROM S, T WHERE A < 0 AND A > 0", 0),
        ("SELECT DISTINCT 1 FROM S, T WHERE A <> D AND B < E", 8),
        ("SELECT A FROM S, T WHERE A = D AND A BETWEEN 0 AND 1000000000", 2_000_000_002),
        ("SELECT 1 FROM S, T WHERE A <> D AND D BETWEEN 0 AND 9", 11 + 10),
    ],
)
def test_units(sql: str, units: int) -> None:
    assert check(sql, PAPER, suggest=False).units == units


def test_a_nullable_column_that_no_condition_names_has_one_value_more() -> None:
    domain = {"domains": {"A": {"min": 0, "max": 3}}}
    for extra, size in (({}, 5), ({"not_null": ["A"]}, 4)):
        catalog = catalog_from_mapping({"S": {"columns": {"A": "int"}, **domain, **extra}})
        assert check("SELECT DISTINCT A FROM S", catalog, suggest=False).units == size


def test_a_static_relation_sizes_the_state_when_it_is_read() -> None:
    catalog = catalog_from_mapping({"S": {"A": "int"}, "R": {"columns": {"K": "int"}, "kind": "static"}})
    report = check("SELECT DISTINCT K FROM S, R WHERE A = K", catalog, suggest=False)
    assert (report.verdict, report.units) == ("bounded", None)
    assert "R.K" in str(report.units_formula)
    assert report.to_json()["units_formula"] == report.units_formula
    assert check("SELECT K FROM S, R WHERE A = K", catalog, suggest=False).units == 0


def test_an_explanation_for_every_bounded_cell_of_table_1() -> None:
    job = compile("SELECT DISTINCT A FROM S, T WHERE B < D AND A > 10 AND A < 20", PAPER)
    (plan,) = job.plans
    assert [e.keep.value for s in plan.synopses for cell in s.cells for e in cell.extrema] == [
        "min",
        "max",
    ]


def engine_of(data: st.DataObject) -> tuple[OnePass, list[Batch]]:
    case = data.draw(cases(TYPES))
    assume(exact(case.query).bounded)
    rows = encode_static(case.statement, data.draw(static(case)))
    engine = compact_pass(case.query, rows)
    assume(engine.state.tables)
    return engine, list(batches(case.statement, data.draw(events(case))))


@given(data=st.data())
def test_the_state_of_two_bags_is_the_merge_of_their_states(data: st.DataObject) -> None:
    engine, arriving = engine_of(data)
    cut = data.draw(st.integers(0, len(arriving)))
    whole, first, second = (tables(engine, part) for part in (arriving, arriving[:cut], arriving[cut:]))
    for alias, table in first.items():
        table.merge(second[alias])
        # Where <> keeps a few of many tuples, different ones may stand for the same; sizes still agree.
        if not any(cell.unequal for cell in table.cells):
            assert dumps(table) == dumps(whole[alias])


@given(data=st.data())
def test_a_merge_names_the_buckets_that_it_changed(data: st.DataObject) -> None:
    engine, arriving = engine_of(data)
    cut = data.draw(st.integers(0, len(arriving)))
    first, second = tables(engine, arriving[:cut]), tables(engine, arriving[cut:])
    for alias, table in first.items():
        before = deepcopy((table.counts, table.entries))
        table.changed.clear()
        table.merge(second[alias])
        seen = {
            bucket
            for was, now in zip(before, (table.counts, table.entries), strict=True)
            for bucket in now
            if now[bucket] != was.get(bucket)
        }
        assert set(table.changed) == seen
        table.changed.clear()
        if engine.query.ring.idempotent:
            table.merge(second[alias])
            assert not table.changed, "what is held already changes nothing"


@given(data=st.data())
def test_stored_tables_are_read_back_as_they_were(data: st.DataObject) -> None:
    engine, arriving = engine_of(data)
    for alias, table in tables(engine, arriving).items():
        stored = dumps(table)
        again = table_of(table.cells, table.ring, alias, json.loads(stored))
        assert (again.counts, again.entries) == (table.counts, table.entries), alias
        assert digest(dumps(again)) == digest(stored)


@given(data=st.data())
def test_a_stored_state_is_taken_up_as_it_was(data: st.DataObject) -> None:
    engine, arriving = engine_of(data)
    other = deepcopy(engine)
    for batch in arriving:
        assert engine.process(batch) == other.process(batch)
        other.load(json.loads(engine.dump()))
        assert other.dump() == engine.dump() and other.stored_units == engine.stored_units


def tables(engine: OnePass, arriving: list[Batch]) -> dict[str, Table]:
    found = empty_tables(engine.plan)
    for batch in arriving:
        for (alias, table), counts in zip(found.items(), engine.plan.streams, strict=True):
            rows = batch.tuples.get(engine.query.occurrence(alias).relation.name, ())
            for values in accepted(counts, rows):
                table.add(values)
    return found
