"""The quality of benchmarks of caches: what breaks a promise is named with its query and size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streambound.quality import CachesQuality, check_cache_benchmarks
from streambound.results import CacheBenchmark, Results

POLICIES = ("lru", "prob")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    return tmp_path


def found(query: str, size: int) -> list[CacheBenchmark]:
    lru = CacheBenchmark("r", query, size, "lru", "2013-01-31", "lru", 5, 10, 8, share=0.5)
    prob = replace(lru, contender="prob", policy="prob", kept=7, share=0.7, chosen=True, why="it won")
    return [lru, prob]


def check(benchmarks: list[CacheBenchmark], *sizes: int) -> dict[str, CachesQuality]:
    return {one.query: one for one in check_cache_benchmarks(benchmarks, sizes, POLICIES, "r")}


def test_sound_benchmarks_pass_and_have_a_page(home: Path) -> None:
    earlier = replace(found("b", 5)[0], contender="earlier lru", chosen=True, why="it stands")
    standing = [replace(one, chosen=False) for one in found("b", 5)]
    quality = check([*found("a", 5), *standing, earlier], 5)
    assert {query: one.reasons for query, one in quality.items()} == {"a": (), "b": ()}
    assert all(one.success and one.evaluated == 5 and one.docs.is_file() for one in quality.values())
    assert "No policy keeps more than the optimum" in quality["a"].docs.read_text()
    store = Results(f"sqlite:///{home}/results.db")
    quality["a"].record(store)
    (outcome,) = store.quality("r")
    assert (outcome.kind, outcome.subject, outcome.success) == ("caches", "a", True)


def test_each_broken_promise_is_named_with_its_query_and_size() -> None:
    lru, prob = found("q", 5)
    broken = {
        "better": [replace(lru, kept=9), prob],
        "more": [replace(lru, optimum=11), replace(prob, optimum=11)],
        "shares": [replace(lru, share=1.5), prob],
        "untried": [prob],
        "unchosen": [lru, replace(prob, chosen=False)],
        "twice": [replace(lru, chosen=True), prob],
        "earlier": [replace(lru, contender="earlier lru"), prob],
    }
    benchmarks = [replace(one, query=query) for query, mine in broken.items() for one in mine]
    reasons = {query: one.reasons for query, one in check([*benchmarks, *found("sound", 5)], 5).items()}
    assert reasons == {
        "better": ("better, k = 5: 1 beat the optimum",),
        "more": ("more, k = 5: the optimum is more than an unlimited memory finds",),
        "shares": ("shares, k = 5: 1 shares outside 0 to 1",),
        "untried": ("untried, k = 5: 1 policies were not tried",),
        "unchosen": ("unchosen, k = 5: 0 are chosen, not one",),
        "twice": ("twice, k = 5: 2 are chosen, not one",),
        "earlier": ("earlier, k = 5: 1 policies were not tried",),
        "sound": (),
    }


def test_a_size_that_was_not_tried_is_missed() -> None:
    assert check(found("q", 5), 5, 9)["q"].reasons == (
        "q, k = 9: 2 policies were not tried",
        "q, k = 9: 0 are chosen, not one",
    )


def test_nothing_benchmarked_is_nothing_checked() -> None:
    assert check([], 5) == {}
