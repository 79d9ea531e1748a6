"""The steps of Schiff & Özçep as text, against the paper's example and against the criterion itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from tests.strategies import Case, cases, timed_cases

from streambound.boundedness.criterion.verdict import Outcome
from streambound.papers.procedure import SPLITS_SHOWN, procedure_text
from streambound.papers.schiff_ozcep import applies, schiff_ozcep
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse

CATALOG = catalog_from_mapping(
    {
        "S": {"A": "int", "ts": "timestamp"},
        "T": {"B": "int", "ts": "timestamp"},
        "U": {"C": "int", "ts": "timestamp"},
    }
)
EXAMPLE = "S.ts > T.ts AND T.ts > U.ts AND S.A > T.B AND T.B > 0 AND T.B < 5"


def steps(sql: str) -> str:
    return procedure_text(parse(sql, CATALOG))


def test_the_papers_example() -> None:
    assert steps(f"SELECT S.A, T.B FROM S, T, U WHERE {EXAMPLE}") == (
        "Steps of Schiff & Özçep, Theorem 1 (duplicate-preserving)\n"
        "0. Normal form (Definition 4)\n"
        "   project (all): S.A, T.B\n"
        "   infinite streams: S, T, U\n"
        "   select: S.ts > T.ts and T.ts > U.ts and S.A > T.B and T.B > 0 and T.B < 5\n"
        "1. Split <> and <= into disjoint queries\n"
        "   between timestamps: none\n"
        "   between columns of two streams: none\n"
        "   ways of splitting time that differ in what follows: 1\n"
        "Query 1: nothing was split\n"
        "2. Merge streams of equal timestamps: none are equal\n"
        "3. Streams whose timestamp is bounded above become finite: none\n"
        "   forest of time, a later stream above the earlier ones:\n"
        "     S\n"
        "       T\n"
        "         U\n"
        "4. Locally totally ordered queries: 2; a condition fails in 0\n"
        "   - where S.A >= 2 and S.A <= 5, T.B >= 1 and T.B <= 4:\n"
        "       redundant: S.A > T.B\n"
        "       MaxRef(S) = {}, MinRef(S) = {}\n"
        "       MaxRef(T) = {}, MinRef(T) = {}\n"
        "       MaxRef(U) = {}, MinRef(U) = {}\n"
        "       every condition holds\n"
        "   - where S.A >= 6, T.B >= 1 and T.B <= 4:\n"
        "       redundant: S.A > T.B\n"
        "       MaxRef(S) = {}, MinRef(S) = {}\n"
        "       MaxRef(T) = {}, MinRef(T) = {}\n"
        "       MaxRef(U) = {}, MinRef(U) = {}\n"
        "       every condition holds\n"
        "Result: bounded; the conditions hold in every branch"
    )


def test_its_distinct_form_breaks_c1() -> None:
    text = steps(f"SELECT DISTINCT S.A, T.B FROM S, T, U WHERE {EXAMPLE}")
    assert "a condition fails in 1\n   - where S.A >= 6" in text
    assert "C1: a projected attribute is unbounded in a branch\n" in text
    assert "Result: the theorem is silent; C1" in text


def test_time_is_split_and_equal_timestamps_are_merged() -> None:
    text = steps("SELECT 1 FROM S, T, U WHERE S.ts >= T.ts AND T.ts > U.ts AND S.A > T.B")
    assert "between timestamps: S.ts >= T.ts" in text and "in what follows: 2" in text
    assert "Query 1: S.ts = T.ts\n2. Merge streams of equal timestamps: S = T" in text
    assert "Query 2: T.ts < S.ts\n2. Merge streams of equal timestamps: none" in text
    assert "MaxRef(S) = {S.A}, MinRef(S) = {}\n       MaxRef(T) = {}, MinRef(T) = {T.B}" in text


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT 1 FROM S, T WHERE S.ts < TIMESTAMP '2026-01-01' AND S.A < T.B", "become finite: S"),
        ("SELECT 1 FROM S, T, U WHERE S.ts > U.ts AND T.ts > U.ts", "C1: a stream has two later streams"),
        ("SELECT 1 FROM S, T WHERE S.A <> T.B", "between columns of two streams: S.A <> T.B"),
        ("SELECT S.ts FROM S, T WHERE S.ts > T.ts", "does not apply"),
        ("SELECT 1 FROM S, T WHERE S.A > 5 AND S.A < 3", "contradict each other"),
        ("SELECT 1 FROM S", "One infinite stream"),
    ],
)
def test_what_each_step_finds(sql: str, words: str) -> None:
    assert words in steps(sql)


def assert_agrees(case: Case) -> None:
    text = procedure_text(case.query)
    if not applies(case.query):
        return
    verdict = schiff_ozcep(case.query)
    (shown,) = re.findall(r"in what follows: (\d+)", text) or ["0"]
    assume("limit" not in text and int(shown) <= SPLITS_SHOWN)
    failing = [int(n) for n in re.findall(r"a condition fails in (\d+)", text)]
    shapes = re.findall(r"^   C\d", text, re.MULTILINE)
    if verdict.outcome is Outcome.BOUNDED:
        assert not any(failing) and not shapes
    elif verdict.outcome is not Outcome.UNKNOWN:
        assert any(failing) or shapes


@given(cases())
def test_the_branches_shown_agree_with_the_criterion(case: Case) -> None:
    assert_agrees(case)


@given(timed_cases())
def test_the_branches_shown_agree_with_the_criterion_on_timed_queries(case: Case) -> None:
    assert_agrees(case)
