"""The story of a witness: two histories of which the definition says that their answers differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read
from tests.strategies import Case, cases, statements, timed_cases

from streambound import evaluate
from streambound.compiler import Planned, compile
from streambound.errors import StreamboundError
from streambound.projects.registry import load_registry
from streambound.query.catalog import catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.report.pages import WitnessStory, witness_story

REGISTRY = load_registry(Path(__file__).parents[3] / "include" / "registry")
CATALOG = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}, "F": {"G": "boolean"}})
# Seconds. No machine is so busy that it finds none of these examples meanwhile.
ENOUGH = 600.0
MADE = {"section", "p", "div", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def answered(job: Planned, events: Sequence[Mapping[str, Any]], told: WitnessStory) -> Counter[str]:
    """Every answer row of some events with its multiplicity, by the definition run as users run it."""
    found = evaluate(job.sql, job.catalog, events, told.story.static or {}, engine="reference")
    rows = Counter[str]()
    for answer in found["answers"]:
        rows[repr(answer["row"])] += answer["count"]
    return rows


def told_apart(job: Planned, told: WitnessStory) -> None:
    """The two histories differ as they say, and the answers after them are those of the definition."""
    one, other = told.story.histories
    shared = [[event for event, both in history.events if both] for history in (one, other)]
    assert shared[0] == shared[1] and any(not both for _, both in (*one.events, *other.events))
    counts: list[dict[str, int]] = []
    for history in (one, other):
        before = [event for event, _ in history.events]
        after = answered(job, [*before, *told.story.continuation], told)
        # What is taken back counts as well.
        after.subtract(answered(job, before, told))
        counts.append({row: count for row, count in after.items() if count})
        assert sum(counts[-1].values()) == sum(answer.count for answer in history.answers)
    assert counts[0] != counts[1]


@pytest.mark.parametrize("query", REGISTRY.queries, ids=lambda query: query.name)
def test_every_registered_query_has_a_story(query: RegisteredQuery) -> None:
    job = compile(query.sql, REGISTRY.catalog, query.name)
    told = witness_story(job, seconds=ENOUGH)
    root = read(told.markup())
    assert names(root) <= MADE
    assert told.has_example is not job.verdict.bounded
    if told.has_example:
        told_apart(job, told)
    else:
        assert root.findtext("p[@class='missing']") == told.story.missing
        assert (
            told.story.missing
            == "The query is bounded: a fixed memory tells apart all histories that matter."
        )


def test_the_story_in_words() -> None:
    job = compile("SELECT A FROM S, T WHERE B < D AND A = 7", CATALOG)
    root = read(witness_story(job, seconds=ENOUGH).markup())
    tables = {
        table.findtext("caption"): ["|".join(row.itertext()) for row in table.iter("tr")]
        for table in root.iter("table")
    }
    assert tables == {
        "History A": ["#|Stream|Tuple|In which", "1|S|A = 7, B = 8|only in this history"],
        "History B": ["#|Stream|Tuple|In which", "1|S|A = 7, B = 10|only in this history"],
        "Then, in both, comes": ["#|Stream|Tuple", "1|T|D = 9"],
        "Answers after A": ["A", "7"],
        "Answers after B": ["Answer", "no new answer"],
    }
    assert [row.attrib["class"] for row in root.iter("tr") if row.attrib] == ["differs", "differs"]
    words = ["".join(p.itertext()) for p in root.iter("p")]
    assert "After history A it brings 1 new answer, after history B no new answer." in words
    assert words[-1].startswith("2 slots → 2^2 = 4 states")


def test_three_slots_make_eight_histories() -> None:
    told = witness_story(compile("SELECT DISTINCT A FROM S", CATALOG), slots=3, seconds=ENOUGH)
    assert "3 slots → 2^3 = 8 states" in told.markup()


def test_where_there_is_no_example_the_story_says_why() -> None:
    unbounded = compile("SELECT DISTINCT A FROM S", CATALOG)
    late = witness_story(unbounded, seconds=-1)
    assert late.story.missing == "No example was found within -1 seconds."
    assert "No example was found" in late.markup()
    silent = compile("SELECT A FROM S, T WHERE A <> D", CATALOG, criterion="arasu")
    assert witness_story(silent).story.missing.startswith("The criterion that was asked for, arasu")
    # More than five composites (docs/theory.md, condition (G)): an open question.
    catalog = catalog_from_mapping({name: {"A": "int", "ts": "timestamp"} for name in "STUVWXY"})
    open_ended = compile(
        "SELECT DISTINCT 1 FROM S, T, U, V, W, X, Y WHERE S.A < T.A AND V.A < X.A AND W.A < Y.A"
        " AND S.ts < U.ts AND S.ts < V.ts AND T.ts < V.ts AND S.ts < W.ts AND T.ts < W.ts",
        catalog,
    )
    assert open_ended.verdict is not None and open_ended.verdict.outcome.value == "unknown"
    assert witness_story(open_ended).story.missing.startswith("Neither a witness nor a plan")


@settings(max_examples=25)
@given(st.one_of(cases(), timed_cases(("int",), windows=True), statements()))
def test_the_histories_of_any_query_are_told_apart(case: Case) -> None:
    job = compile(case.sql, case.catalog, "q")
    told = witness_story(job, seconds=ENOUGH)
    read(told.markup())
    if told.has_example:
        told_apart(job, told)
    assert told.has_example is (job.verdict.outcome.value == "unbounded")


@settings(max_examples=40)
@given(hostile.filter(str.strip), hostile, hostile)
def test_names_and_values_stay_text(name: str, column: str, value: str) -> None:
    # Half of a pair of surrogates is no text: no value is made from it.
    word = "".join(c for c in value if c not in "\\'\x00" and not "\ud800" <= c <= "\udfff")
    relation, attribute = (f"`{text.replace('`', '``')}`" for text in (name, f"A{column}"))
    catalog = catalog_from_mapping({name: {f"A{column}": "string"}})
    sql = f"SELECT DISTINCT x.{attribute} AS {attribute} FROM {relation} x WHERE x.{attribute} > '{word}'"
    try:
        job = compile(sql, catalog, name)
    except StreamboundError:
        # Not every text is a name.
        assume(False)
    told = witness_story(job, seconds=ENOUGH)
    assert told.has_example
    assert names(read(told.markup())) <= MADE
