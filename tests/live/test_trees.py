"""Live: groups and their like over micro-batches: the changes of the definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.beyond import Beyond, statements_beyond, told_at_once
from tests.history.test_tree import CLOSING, encoded, planned
from tests.spark.arrivals import Here, cut, flat, write
from tests.strategies import Case

from streambound.evaluation.events import batches
from streambound.evaluation.finality import finals
from streambound.evaluation.reference import initial, reference
from streambound.query.parse.corpus import CorpusLine
from streambound.query.statement import Statement

Rows = list[dict[str, Any]]
Found = list[tuple[Any, Counter[Any]]]


def told(statement: Statement, arriving: list[Any]) -> Found:
    """What the definition says is new at each marker, with what there is before."""
    tells, first = finals if statement.final else reference, Counter[Any]()
    if not statement.final:
        first.update({encoded(statement, one.row): one.count for one in initial(statement, {})})
    found: Found = [(None, first)] if first else []
    for batch, answers in zip(arriving, tells(statement, arriving, {}), strict=True):
        rows = Counter({encoded(statement, one.row): one.count for one in answers})
        found += [(batch.moment, rows)] if rows else []
    return found


def total(found: Found) -> Counter[Any]:
    every: Counter[Any] = Counter()
    for _, rows in found:
        every.update(rows)
    return Counter({row: count for row, count in every.items() if count})


@settings(max_examples=settings.default.max_examples // 3)
@given(statements_beyond(), st.data())
def test_changes_are_those_of_the_definition(made: Beyond, data: st.DataObject) -> None:
    """At each marker where all streams are in step with time; else all micro-batches together."""
    agrees(made.line, data)


@given(statements_beyond("united"), st.data())
def test_sub_queries_beside_streams(made: Beyond, data: st.DataObject) -> None:
    """Rows of sub-queries are taken in when they come, with a tuple of a stream or without."""
    agrees(made.line, data)


@settings(max_examples=settings.default.max_examples // 4)
@given(statements_beyond(*CLOSING), st.data())
def test_rows_that_are_told_once(made: Beyond, data: st.DataObject) -> None:
    assume(told_at_once(made.line.sql))
    agrees(replace(made.line, sql=f"-- mode: final\n{made.line.sql}"), data)


def agrees(line: CorpusLine, data: st.DataObject) -> None:
    statement = planned(line)
    assert line.catalog is not None
    case = Case(line.streams, line.sql, line.catalog, statement)
    rows = [dict(event) for event in line.events]
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, found = Here(case, flat(line.catalog, folder), folder), []
        everything = here.beginning.plan.inputs.keys()
        for epoch, files in enumerate(cut(lambda low, high: data.draw(st.integers(low, high)), case, rows)):
            found += here.take(write(case, files, folder, epoch))
            assert here.step.evaluation.stored_units <= max(here.step.evaluation.peak_units, 0)
        found += here.end()
    expected = told(statement, list(batches(statement, rows)))
    if here.beginning.timed == everything:
        assert found == expected, line
    assert total(found) == total(expected), line
