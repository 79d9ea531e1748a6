"""Timestamps compared on Spark: the answers and the states of one pass, however time is cut into partitions.

Groups: random queries; nights; partitions out of order; one real session.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.moments import Rows, cut, expected, last_boundary, write, write_statics
from tests.spark.nights import from_scratch, left, night
from tests.strategies import Case, static, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.evaluation.events import encode_static
from streambound.evaluation.onepass import one_pass
from streambound.history.corpus import run_corpus
from streambound.history.evaluate import evaluate_history
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.parse.corpus import CorpusLine, read_corpus

MIXES = [(), ("int",), ("double", "int"), ("string", "boolean"), ("decimal(3,1)", "date", "int")]
CORPUS = Path(__file__).parents[1] / "corpus" / "answers.jsonl"


def drawn(data: st.DataObject, types: tuple[str, ...]) -> tuple[Case, Rows, dict[str, Rows]]:
    """A random query with a plan that steps through time, its events, and static rows."""
    case = data.draw(timed_cases(types, windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    statics, rows = data.draw(static(case)), data.draw(timed_events(case, size=12))
    plan = one_pass(case.query, encode_static(case.statement, statics)).plan
    assume(plan.ending is None and plan.timed)
    return case, rows, statics


@pytest.mark.parametrize("types", MIXES, ids=lambda types: "-".join(types) or "plain")
@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(data=st.data())
def test_answers_are_those_of_the_definition(types: tuple[str, ...], data: st.DataObject) -> None:
    case, rows, statics = drawn(data, types)
    parts = cut(data, rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = write_statics(case, statics, folder)
        for number, part in enumerate(parts):
            write(case, number, part, folder)
        (answer,) = evaluate_history(
            LocalExecutor(1), [Registered("q", case.sql)], catalog, output=folder / "out"
        )
        assert answer.error is None, answer.error
        found = histories.read_answers(folder / "out" / "q", case.query)
    assert found == expected(case, parts, encode_static(case.statement, statics)), case.sql
    total = sum(found.values(), Counter())
    assert (answer.answer_rows, answer.answer_count) == (len(total), total.total())
    assert answer.peak_units is not None and (answer.units is None or answer.peak_units <= answer.units)


@pytest.mark.parametrize("types", [(), ("double", "int")], ids=["plain", "mixed"])
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_any_cut_into_partitions_and_nights(types: tuple[str, ...], data: st.DataObject) -> None:
    """Each night a partition; the answers and boundaries are those of one evaluation, whatever the cut."""
    case, rows, statics = drawn(data, types)
    query = Registered("q", case.sql)
    boundaries = []
    for parts in (cut(data, rows), cut(data, rows)):
        with TemporaryDirectory() as name:
            folder = Path(name)
            catalog = write_statics(case, statics, folder)
            for number, part in enumerate(parts):
                write(case, number, part, folder)
                answer = night([query], catalog, folder / "nightly")["q"]
                assert answer.error is None, answer.error
            plan = one_pass(case.query, encode_static(case.statement, statics)).plan
            if plan.empty:
                return
            assert answer.started_after == (str(number - 1) if number else None)
            assert left(folder / "nightly", "q") == from_scratch([query], catalog, folder / "whole")["q"]
            boundaries.append(last_boundary(folder / "nightly"))
    assert boundaries[0] == boundaries[1], case.sql


TWO = {n: {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"} for n in "ST"}
WITHIN = "SELECT S.A, T.A FROM S, T WHERE S.ts <= T.ts AND T.ts <= S.ts + 3 AND S.B = T.B"


def two(sql: str) -> Case:
    catalog = catalog_from_mapping(TWO)
    return Case(TWO, sql, catalog, parse(sql, catalog))


def row(stream: str, ts: int, a: int = 1) -> dict[str, Any]:
    return {"stream": stream, "A": a, "B": 0, "ts": ts}


@pytest.mark.parametrize("moment", [3, 5], ids=["earlier", "equal"])
def test_a_partition_that_is_not_later_is_refused(moment: int, tmp_path: Path) -> None:
    case = two(WITHIN)
    write(case, 0, [row("S", 2), row("S", 5)], tmp_path)
    write(case, 1, [row("T", moment), row("T", 7)], tmp_path)
    catalog = histories.placed(case.catalog, tmp_path)
    plain = Registered("plain", "SELECT A FROM S")
    found = night([Registered("q", case.sql), plain], catalog, tmp_path / "home")
    said = f"q: partition 1 of T has a row of {moment}, but the partitions before it reach 5"
    assert str(found["q"].error).startswith(f"{said}, with a row of S or T in partition 0\n")
    assert found["plain"].error is None
    again = night([Registered("q", case.sql)], catalog, tmp_path / "home")["q"]
    assert str(again.error).startswith(f"{said}, with a row of S or T\n")
    write(case, 1, [row("T", 6), row("T", 7)], tmp_path)
    mended = night([Registered("q", case.sql)], catalog, tmp_path / "home")["q"]
    assert (mended.error, mended.started_after, mended.answer_count) == (None, "0", 2)


def test_rows_that_do_not_count_may_be_anywhere(tmp_path: Path) -> None:
    case = two(WITHIN + " AND T.A > 0")
    write(case, 0, [row("S", 5)], tmp_path)
    write(case, 1, [row("T", 3, a=0), row("T", 7)], tmp_path)
    catalog = histories.placed(case.catalog, tmp_path)
    (answer,) = evaluate_history(
        LocalExecutor(1), [Registered("q", case.sql)], catalog, output=tmp_path / "out"
    )
    assert (answer.error, answer.answer_count) == (None, 1)


def test_an_earlier_partition_that_changes_is_evaluated_again(tmp_path: Path) -> None:
    case, query = two(WITHIN), Registered("q", WITHIN)
    catalog = histories.placed(case.catalog, tmp_path)
    for number, rows in enumerate([[row("S", 1)], [row("S", 4)], [row("T", 5)]]):
        write(case, number, rows, tmp_path)
        night([query], catalog, tmp_path / "nightly")
    write(case, 1, [row("S", 4), row("S", 4), row("S", 4, a=2)], tmp_path)
    answer = night([query], catalog, tmp_path / "nightly")["q"]
    assert (answer.started_after, answer.read_partitions, answer.answer_count) == ("0", ("1",), 3)
    assert left(tmp_path / "nightly", "q") == from_scratch([query], catalog, tmp_path / "whole")["q"]


def test_a_stream_without_timestamps_is_refused(tmp_path: Path) -> None:
    bodies = {**TWO, "U": {"columns": {"A": "int"}}}
    catalog = catalog_from_mapping(bodies)
    sql = "SELECT 1 FROM S, T, U WHERE S.ts < T.ts"
    for relation in catalog.relations:
        histories.write(relation, [{"A": 1, "B": 1, "ts": 1}], tmp_path, 0)
    (answer,) = evaluate_history(
        LocalExecutor(1),
        [Registered("q", sql)],
        histories.placed(catalog, tmp_path),
        output=tmp_path / "out",
    )
    assert "stream U declares no application timestamp" in str(answer.error)


def timed_lines() -> list[CorpusLine]:
    return [line for line in read_corpus(CORPUS) if "ts" in str(line.sql)]


def compared(executor: Executor, lines: list[CorpusLine]) -> int:
    """How many lines were evaluated, to the answers that the corpus gives."""
    raw = {body["id"]: body for body in map(json.loads, CORPUS.read_text().splitlines())}
    evaluated = 0
    for line, (found, code) in zip(lines, run_corpus(executor, lines), strict=True):
        assert code == 0, found
        evaluated += 1
        assert found["answers"] == raw[line.id]["answers"], line.id
    return evaluated


def test_a_corpus_with_timestamps() -> None:
    lines = timed_lines()
    assert compared(LocalExecutor(1), lines) == len(lines) > 30
