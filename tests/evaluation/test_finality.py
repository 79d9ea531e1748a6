"""Mode final: the corpus, random statements of which more comes after a row was told, and their plans."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.beyond import TIME, VALUES, Beyond, after, statements_beyond, told_at_once

from streambound.errors import StreamboundError
from streambound.evaluation.corpus import evaluated
from streambound.evaluation.events import Batch, batches
from streambound.evaluation.finality import finals
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.reference import initial, reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import defined, statement
from streambound.query.parse.corpus import CorpusLine, read_corpus

CORPUS = Path(__file__).parents[1] / "corpus" / "answers_beyond.jsonl"
EXPECTED = {
    line["id"]: line["final"] for line in map(json.loads, CORPUS.read_text().splitlines()) if "final" in line
}
LINES = [line for line in read_corpus(CORPUS) if line.id in EXPECTED]


@pytest.mark.parametrize("engine", ["reference", "onepass"])
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.id)
def test_the_finals_of_the_corpus(line: CorpusLine, engine: str) -> None:
    found = evaluated(line, engine, "final")
    assert "initial" not in found
    told = Counter({(one["ts"], *one["row"]): one["count"] for one in found["answers"]})
    assert told == Counter({(one["ts"], *one["row"]): one["count"] for one in EXPECTED[line.id]})


def rows_told(case: Beyond, arrived: list[Batch]) -> Counter[tuple[Any, ...]]:
    """All rows that are told as final."""
    query = defined(case.line.sql, case.line.catalog, case.line.id)
    found: Counter[tuple[Any, ...]] = Counter()
    for answer in (answer for marker in finals(query, arrived, {}) for answer in marker):
        assert answer.count > 0
        found[answer.row] += answer.count
    return found


def rows_that_hold(case: Beyond, arrived: list[Batch]) -> Counter[tuple[Any, ...]]:
    """The answer after the last marker."""
    query = defined(case.line.sql, case.line.catalog, case.line.id)
    found: Counter[tuple[Any, ...]] = Counter()
    for marker in [initial(query, {}), *reference(query, arrived, {})]:
        for answer in marker:
            found[answer.row] += answer.count
    return found


@given(statements_beyond(), st.integers(0, 10**6))
def test_what_was_told_is_never_taken_back(case: Beyond, seed: int) -> None:
    query = defined(case.line.sql, case.line.catalog, case.line.id)
    every = case.line.events
    cut = seed % (len(every) + 1)
    while 0 < cut < len(every) and TIME in every[cut] and every[cut][TIME] == every[cut - 1][TIME]:
        cut += 1
    there = list(every[:cut])
    told = rows_told(case, list(batches(query, there)))
    for other in range(3 if told else 0):
        later = case.later(seed + other, there)
        holds = rows_that_hold(case, list(batches(query, [*there, *later])))
        assert told <= holds, f"{case}: {told - holds} was told before {later}"


def single_tuples(case: Beyond, there: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every tuple of likely values that may come next."""
    moments = [event[TIME] for event in there if TIME in event]
    for name, stream in case.line.streams.items():
        columns = [column for column in stream["columns"] if column != TIME]
        values = [
            [
                *((0, 1) if c == "K" else VALUES[stream["columns"][c]]),
                *([-1, 5] if c == "A" else []),
                *([] if c in stream.get("not_null", ()) else [None]),
            ]
            for c in columns
        ]
        for row in product(*values):
            for steps in (1, 9) if TIME in stream["columns"] else (1,):
                made = {"stream": name, **dict(zip(columns, row, strict=True))}
                if TIME in stream["columns"]:
                    made[TIME] = after(moments[-1], steps)
                yield made


@settings(max_examples=30)
@given(statements_beyond("guards"))
def test_what_is_not_told_can_be_taken_back(case: Beyond) -> None:
    sql = case.line.sql
    query = defined(sql, case.line.catalog, case.line.id)
    assume(len(query.blocks) == 1)
    (block,) = query.blocks
    # One partner, so that one more tuple can be it; and rows that are told apart.
    assume(block.then is None and not block.ring.idempotent and "t1" not in sql and case.line.events)
    there = list(case.line.events)
    holds, told = (of(case, list(batches(query, there))) for of in (rows_that_hold, rows_told))
    waiting = set(holds - told)
    for one in single_tuples(case, there) if waiting else ():
        later = rows_that_hold(case, list(batches(query, [*there, one])))
        waiting -= {row for row in waiting if later[row] < holds[row]}
        if not waiting:
            return
    assert not waiting, f"{case}: nothing takes {waiting} back after {there}"


Told = list[Counter[tuple[Any, ...]]]


def both(case: Beyond) -> tuple[Told, Told] | None:
    """What the definition and the plan tell at each marker, the last of them long after; None: no plan."""
    events = [dict(event) for event in case.line.events]
    texts = [event[TIME] for event in events if TIME in event]
    for name, columns in case.streams.items() if texts else ():
        values = ((c, VALUES[kind][0]) for c, kind in columns.items() if c != TIME)
        events.append({"stream": name, **dict(values), TIME: after(texts[-1], 1000)})
    try:
        made = statement(case.line.sql, case.line.catalog, case.line.id).in_mode("final")
        plan = statement_pass(made, {})
    except StreamboundError:
        return None
    query = defined(case.line.sql, case.line.catalog, case.line.id)
    arriving = list(batches(query, events))
    found = [list(finals(query, arriving, {})), list(plan.run(arriving))]
    assert not plan.initial
    defines, tells = ([Counter({one.row: one.count for one in m}) for m in every] for every in found)
    return defines, tells


def test_groups_that_may_still_change_do_not_hold_back_those_before_them() -> None:
    groups = "SELECT y.ts AS w, COUNT(*) AS n FROM T x, S y WHERE x.ts <= y.ts + 1 GROUP BY y.ts"
    arrivals = [("T", 1, 0), ("S", 1, 0), ("S", 3, 1), ("T", 9, 1), ("S", 9, 0)]
    events = tuple({"stream": name, "ts": ts, "K": k} for name, ts, k in arrivals)
    body = {"columns": {"K": "int", "ts": "int"}, "timestamp": "ts"}
    streams = {"S": body, "T": body}
    for sql in (
        f"SELECT w, LAG(n) OVER (ORDER BY w) AS p FROM ({groups}) q",
        f"SELECT w, SUM(n) OVER (ORDER BY w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS p FROM ({groups}) q",
        f"SELECT w, n FROM ({groups}) q QUALIFY ROW_NUMBER() OVER (ORDER BY w) <= 5",
    ):
        line = CorpusLine("q", sql, catalog_from_mapping(streams), events, streams=streams)
        told = evaluated(line, "reference", "final")["answers"]
        assert told == evaluated(line, "onepass", "final")["answers"]
        # At 9 all is settled but what 9 itself has.
        assert [answer["row"][0] for answer in told] == [1, 3], sql


@given(statements_beyond())
def test_plans_tell_what_the_definition_tells(case: Beyond) -> None:
    """No row before the definition does, and none that it does not tell; mostly at the same markers."""
    if (found := both(case)) is None:
        return
    defines, tells = found
    if "NOW()" in case.line.sql:
        # The definition asks of tuples what may come, and not how long they stay.
        arrived = list(batches(defined(case.line.sql, case.line.catalog, case.line.id), case.line.events))
        assert sum(tells[:-1], Counter()) <= rows_that_hold(case, arrived), case
        return
    if told_at_once(case.line.sql):
        assert tells == defines, case
    assert all(sum(tells[:n], Counter()) <= sum(defines[:n], Counter()) for n in range(1, len(tells) + 1)), (
        case
    )
    # What was to be told before the last marker is told then.
    assert sum(defines[:-1], Counter()) <= sum(tells, Counter()), case
