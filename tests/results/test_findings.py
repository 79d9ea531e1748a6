"""What of a run is worth a message: pure functions, and the store's view of what was before."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.results import Answer, CacheAnswer, CacheBenchmark, QualityOutcome, Results, VerdictRecord
from streambound.results.findings import (
    Finding,
    drifted,
    failed_expectations,
    findings,
    nearly_full,
    turned_unbounded,
)

DAY = dt.datetime(2026, 3, 1, 2, tzinfo=dt.UTC)


def verdict(verdict: str, query: str = "q", criterion: str | None = "exact", **changed: Any) -> VerdictRecord:
    body = {"run_id": "r", "checked_at": DAY, "sql": "SELECT 1", "reasons": ({"message": "d.tailnum grows"},)}
    return VerdictRecord(query=query, verdict=verdict, criterion=criterion, **{**body, **changed})


def answer(units: int | None, peak: int | None, query: str = "q", run_id: str = "r", day: int = 0) -> Answer:
    moment = DAY + dt.timedelta(days=day)
    return Answer(run_id, query, 1, 10, 2, units=units, peak_units=peak, evaluated_at=moment)


def test_only_from_bounded_to_unbounded_is_told() -> None:
    states = ("bounded", "unbounded", "unknown", "invalid")
    told = {
        (before, now)
        for before in states
        for now in states
        if turned_unbounded([verdict(now)], [verdict(before)])
    }
    assert told == {("bounded", "unbounded")}
    assert turned_unbounded([verdict("unbounded")], []) == []


def test_another_criterion_or_another_query_says_nothing_of_a_change() -> None:
    now = [verdict("unbounded")]
    assert turned_unbounded(now, [verdict("bounded", criterion="arasu")]) == []
    assert turned_unbounded(now, [verdict("bounded", query="w")]) == []


def test_a_change_names_when_and_why_and_whether_the_text_changed() -> None:
    (same,) = turned_unbounded([verdict("unbounded")], [verdict("bounded")])
    assert same == Finding(
        "verdict", "query", "q", "unbounded, bounded on 2026-03-01 02:00 UTC: d.tailnum grows"
    )
    (edited,) = turned_unbounded([verdict("unbounded", sql="SELECT 2")], [verdict("bounded")])
    assert "and its text has changed since" in edited.message
    (silent,) = turned_unbounded([verdict("unbounded", reasons=())], [verdict("bounded")])
    assert silent.message == "unbounded, bounded on 2026-03-01 02:00 UTC"


def test_failed_expectations_name_partitions_and_the_first_reason() -> None:
    failed = [{"partition": f"2026-03-0{day}", "reasons": [f"{day} rows are odd"]} for day in range(1, 8)]
    outcomes = [
        QualityOutcome("r", "departures", False, 9, failed=failed),
        QualityOutcome("r", "weather", False, 9, failed=failed[:1]),
        QualityOutcome("r", "planes", True, 9),
        QualityOutcome("r", "q", False, 4, "answers", [{"reasons": ["1 rows more than once"]}]),
        QualityOutcome("r", "w", False, 4, "caches"),
    ]
    found = failed_expectations(outcomes)
    assert [(one.about, one.subject) for one in found] == [
        ("stream", "departures"),
        ("stream", "weather"),
        ("query", "q"),
        ("query", "w"),
    ]
    assert found[0].message == (
        "7 partitions broke an expectation (2026-03-01, 2026-03-02, 2026-03-03, 2026-03-04, 2026-03-05"
        " and 2 more): 1 rows are odd"
    )
    assert found[1].message == "1 partition broke an expectation (2026-03-01): 1 rows are odd"
    assert found[2].message == "its answers broke an expectation: 1 rows more than once"
    assert found[3].message == "its benchmark of caches broke an expectation"


@given(st.integers(0, 10**40), st.integers(0, 10**40))
def test_a_state_above_four_fifths_of_its_bound_is_told_exactly(units: int, peak: int) -> None:
    assert bool(nearly_full([answer(units, peak)], [])) == (units > 0 and 5 * peak > 4 * units)


def test_unknown_sizes_and_caches_are_not_near_a_bound() -> None:
    assert nearly_full([answer(None, 9), answer(10, None), answer(0, 0)], []) == []
    assert nearly_full([answer(10, 10)], [], cached=["q"]) == []
    (found,) = nearly_full([answer(10_000, 8_001)], [])
    assert found.message == "its state took 8,001 of at most 10,000 units (80%)"


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (answer(10, 9), False),  # as it was
        (answer(10, 8), True),  # was not above
        (answer(10, 10), False),  # was fuller
        (answer(9, 9), True),  # another bound
        (answer(None, None), True),
    ],
)
def test_a_state_that_stays_full_is_told_once(before: Answer, told: bool) -> None:
    assert bool(nearly_full([answer(10, 9)], [before])) is told


def test_drift_is_told_once_a_query() -> None:
    def cell(query: str, size: int, drift: bool) -> CacheBenchmark:
        return CacheBenchmark("r", query, size, "lru", "2026-03-07", "lru", 1, 2, 2, drifted=drift)

    found = drifted([cell("q", 5, True), cell("q", 10, True), cell("w", 5, False)])
    assert [(one.kind, one.subject) for one in found] == [("drift", "q")]
    assert "2026-03-07" in found[0].message


@pytest.fixture
def store(tmp_path: Path) -> Results:
    return Results(f"sqlite:///{tmp_path}/results.db")


def record(store: Results, run_id: str, day: int, **verdicts: str) -> None:
    bodies = [{"query": q, "verdict": v, "criterion": "exact", "sql": "S"} for q, v in verdicts.items()]
    store.record_verdicts(run_id, bodies, DAY + dt.timedelta(days=day))


def kinds(store: Results, run_id: str) -> list[tuple[str, str]]:
    return [(one.kind, one.subject) for one in findings(store, run_id, "")]


def test_the_newest_earlier_verdict_that_decided_counts(store: Results) -> None:
    record(store, "monday", 1, q="bounded", w="bounded", v="unbounded")
    record(store, "tuesday", 2, q="unbounded", w="invalid", v="bounded")
    record(store, "wednesday", 3, q="unbounded", w="unbounded", v="bounded")
    record(store, "friday", 5, q="bounded", w="bounded", v="bounded")
    assert kinds(store, "monday") == []
    assert kinds(store, "tuesday") == [("verdict", "q")]
    # q was told on Tuesday; between w's two verdicts it could not be read. Friday is later.
    assert kinds(store, "wednesday") == [("verdict", "w")]
    assert kinds(store, "nobody") == []


def test_one_run_can_have_findings_of_every_kind(store: Results) -> None:
    record(store, "before", 1, q="bounded")
    record(store, "r", 2, q="unbounded")
    store.record_quality(QualityOutcome("r", "departures", False, 3))
    store.record_answer(answer(10, 9, "full"))
    store.record_answer(answer(10, 10, "cached"))
    store.record_cache_answer(CacheAnswer("r", "cached", 10, "lru", "why", 3))
    cell = CacheBenchmark("r", "rotation", 5, "lru", "2026-03-07", "lru", 1, 2, 2, drifted=True)
    store.record_cache_benchmarks("r", [cell])
    assert kinds(store, "r") == [
        ("verdict", "q"),
        ("expectation", "departures"),
        ("state", "full"),
        ("drift", "rotation"),
    ]
    store.record_answer(answer(10, 9, "full", run_id="s", day=1))
    assert kinds(store, "s") == []


def test_the_answer_before_is_the_newest_of_another_run(store: Results) -> None:
    for day, peak in enumerate((3, 9, 4, 10)):
        store.record_answer(answer(10, peak, run_id=f"run {day}", day=day))
    store.record_answer(answer(10, 7, query="w", run_id="run 1", day=1))
    known = [(one.run_id, one.query) for one in store.earlier_answers("run 2")]
    assert known == [("run 1", "q"), ("run 1", "w")]
    assert store.earlier_answers("run 0") == []
    # Above once, below, and above again.
    assert [kinds(store, f"run {day}") for day in range(4)] == [[], [("state", "q")], [], [("state", "q")]]
