"""Nightly evaluations: what they leave equals one evaluation of everything, whatever came in which order."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.nights import from_scratch, left, night
from tests.strategies import cases, events, static

from streambound.query.catalog import catalog_from_mapping

Rows = list[dict[str, Any]]
MIXES = [("int",), ("int", "double", "decimal(3,1)"), ("string", "boolean")]


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_partitions_in_any_order_as_one_evaluation(types: tuple[str, ...], data: st.DataObject) -> None:
    """Each night some partitions arrive, change, come again or go; then a night like any other."""
    case = data.draw(cases(types))
    statics = data.draw(static(case))
    histories.plan_of(case, statics)
    query = Registered("q", case.sql)
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = histories.placed(case.catalog, folder)
        for static_name, rows in statics.items():
            histories.write(case.query.occurrence(static_name).relation, rows, folder, None)
        there: dict[tuple[str, int], Rows] = {}
        relations = {o.relation.name: o.relation for o in case.query.streams}
        for number in range(data.draw(st.integers(1, 4))):
            touched = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True)
            for part in data.draw(touched):
                rows = data.draw(events(case, 6))
                for stream, relation in relations.items():
                    at = (stream, part)
                    what = data.draw(st.sampled_from(("new", "new", "again", "gone"))) if number else "new"
                    target = folder / stream / f"{histories.KEY}={part}"
                    if what == "gone" and len([1 for s, _ in there if s == stream]) > 1:
                        shutil.rmtree(target, ignore_errors=True)
                        there.pop(at, None)
                        continue
                    mine = [r for r in rows if r["stream"] == stream]
                    there[at] = there.get(at, mine) if what == "again" else mine
                    histories.write(relation, there[at], folder, part)
            answer = night([query], catalog, folder / "nightly")["q"]
            assert answer.error is None, answer.error
            expected = from_scratch([query], catalog, folder / "whole")["q"]
            assert left(folder / "nightly", "q") == expected, case.sql
        idle = night([query], catalog, folder / "nightly")["q"]
        assert (idle.rows_read, idle.read_partitions) == (0, ())
        assert left(folder / "nightly", "q") == expected


COLUMNS = {"S": {"A": "int", "B": "int", "C": "int"}, "T": {"D": "int", "E": "int"}}
QUERIES = {
    "filter": "SELECT A, B FROM S WHERE A > 1",
    "extremum": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 1 AND S.A < 4",
    "counts": "SELECT S.A FROM S, T WHERE S.B < T.D AND S.B < 7 AND T.D > 2 AND S.A > 1 AND S.A < 8",
    "unequal": "SELECT DISTINCT S.A FROM S, T WHERE S.A < 3 AND S.A > 0 AND S.B <> T.D AND S.C <> T.E",
    "least unequal": "SELECT DISTINCT 1 FROM S, T WHERE S.A < T.D AND S.B <> T.E",
}
REGISTERED = [Registered(name, sql) for name, sql in QUERIES.items()]


@settings(max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_every_kind_of_state_night_by_night(data: st.DataObject) -> None:
    """Antichains of <> too have one form, whatever was merged when."""
    values = st.integers(0, 8)
    s_row = st.fixed_dictionaries({"A": st.integers(1, 4), "B": values, "C": values})
    t_row = st.fixed_dictionaries({"D": values, "E": values})
    plain = catalog_from_mapping(COLUMNS)
    order = data.draw(st.permutations(range(4)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = histories.placed(plain, folder)
        for part in order:
            for stream, row in zip(plain.relations, (s_row, t_row), strict=True):
                histories.write(stream, data.draw(st.lists(row, max_size=5)), folder, part)
            night(REGISTERED, catalog, folder / "nightly")
        expected = from_scratch(REGISTERED, catalog, folder / "whole")
        for query in QUERIES:
            assert left(folder / "nightly", query) == expected[query], query
