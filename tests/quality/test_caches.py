"""The quality of benchmarks of caches: what breaks a promise is named with its query and size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streambound.approximate.nightly.accuracy import Accuracy
from streambound.quality import QueryQuality, check_cache_benchmarks
from streambound.results import CacheBenchmark, CacheEstimate, Results

POLICIES = ("lru", "prob")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    return tmp_path


def found(query: str, size: int) -> list[CacheBenchmark]:
    lru = CacheBenchmark("r", query, size, "lru", "2013-01-31", "lru", 5, 10, 8, share=0.5)
    prob = replace(lru, contender="prob", policy="prob", kept=7, share=0.7, chosen=True, why="it won")
    return [lru, prob]


def estimates(benchmarks: list[CacheBenchmark]) -> list[CacheEstimate]:
    cells = {(one.query, one.size) for one in benchmarks}
    return [CacheEstimate("r", *cell, "2013-01-31", "prob", 4, 8, 7.0, 1.0) for cell in sorted(cells)]


def check(
    benchmarks: list[CacheBenchmark], *sizes: int, seen: list[CacheEstimate] | None = None
) -> dict[str, QueryQuality]:
    seen = estimates(benchmarks) if seen is None else seen
    return {one.query: one for one in check_cache_benchmarks(benchmarks, seen, sizes, POLICIES, "r")}


def test_sound_benchmarks_pass_and_have_a_page(home: Path) -> None:
    earlier = replace(found("b", 5)[0], contender="earlier lru", chosen=True, why="it stands")
    standing = [replace(one, chosen=False) for one in found("b", 5)]
    quality = check([*found("a", 5), *standing, earlier], 5)
    assert {query: one.reasons for query, one in quality.items()} == {"a": (), "b": ()}
    assert all(one.success and one.evaluated == 8 and one.docs.is_file() for one in quality.values())
    page = quality["a"].docs.read_text()
    assert "No policy keeps more than the optimum" in page
    assert "lies in the interval that its estimate states" in page
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
        "q, k = 9: no estimate was compared",
    )


def test_an_estimate_that_does_not_hold_is_named() -> None:
    benchmarks = [*found("off", 5), *found("over", 5), *found("sound", 5)]
    off, over, sound = estimates(benchmarks)
    seen = [replace(off, holds=False), replace(over, results=9), sound]
    assert {query: one.reasons for query, one in check(benchmarks, 5, seen=seen).items()} == {
        "off": ("off, k = 5: the estimate of all results does not hold",),
        "over": ("over, k = 5: more results were found than there are",),
        "sound": (),
    }


def test_an_estimate_that_could_not_be_made_is_no_failure() -> None:
    told = Accuracy(4, 8)
    (none,) = estimates(found("q", 5))
    none = replace(none, estimated=told.estimated, standard_error=told.error, holds=told.holds)
    assert check(found("q", 5), 5, seen=[none])["q"].reasons == ()


def test_nothing_benchmarked_is_nothing_checked() -> None:
    assert check([], 5) == {}
