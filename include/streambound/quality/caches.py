"""The quality of benchmarks of caches: nothing beats the optimum, estimates hold, and nothing is missing.

One checkpoint a run judges a table with one row for each query and size of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streambound.quality.answers import QueryQuality
from streambound.quality.checkpoint import Checked, run_checkpoint
from streambound.quality.docs import docs_context
from streambound.quality.suites import CACHE_PROMISES
from streambound.results import CacheBenchmark, CacheEstimate


def check_cache_benchmarks(
    benchmarks: Sequence[CacheBenchmark],
    estimates: Sequence[CacheEstimate],
    sizes: Iterable[int],
    policies: Iterable[str],
    run_id: str,
    job: str = "",
) -> tuple[QueryQuality, ...]:
    """Checks what a run found of each query; one outcome a query, sorted.

    Args:
        estimates: what the estimates of evaluations are worth, one a query and size.
        sizes, policies: that were to be benchmarked.
        run_id, job: the run, and the DAG that it is of.

    Raises:
        StorageError: the quality folder cannot be used.
    """
    import pandas as pd

    by_query: dict[str, list[CacheBenchmark]] = {}
    for cache_benchmark in benchmarks:
        by_query.setdefault(cache_benchmark.query, []).append(cache_benchmark)
    if not by_query:
        return ()
    wanted, named = list(dict.fromkeys(sizes)), set(policies)
    cells = {f"{query}, k = {size}": (query, size) for query in sorted(by_query) for size in wanted}
    seen = {(cache_estimate.query, cache_estimate.size): cache_estimate for cache_estimate in estimates}
    rows = []
    for cell, (query, size) in cells.items():
        measured = _measured([benchmark for benchmark in by_query[query] if benchmark.size == size], named)
        rows.append({"cell": cell, **measured, **_estimated(seen.get((query, size)))})
    table = pd.DataFrame(rows)
    expectations = [promise.expected() for promise in CACHE_PROMISES]
    with docs_context() as context:
        checked = run_checkpoint(context, "caches", "benchmarks", table, expectations, run_id, "cell")
    queries = {cell: query for cell, (query, _) in cells.items()}
    return tuple(_quality(query, queries, checked, run_id, job) for query in sorted(by_query))


def _measured(cache_benchmarks: Sequence[CacheBenchmark], policies: set[str]) -> dict[str, Any]:
    """The metrics of one query at one size: counts of contenders that break a promise."""
    kept_shares = [
        cache_benchmark.share for cache_benchmark in cache_benchmarks if cache_benchmark.share is not None
    ]
    tried = {
        cache_benchmark.policy
        for cache_benchmark in cache_benchmarks
        if not cache_benchmark.contender.startswith("earlier ")
    }
    return {
        "contenders": len(cache_benchmarks),
        "over_optimum": sum(
            cache_benchmark.kept > cache_benchmark.optimum for cache_benchmark in cache_benchmarks
        ),
        "optimum_over_possible": sum(
            cache_benchmark.optimum > cache_benchmark.possible for cache_benchmark in cache_benchmarks
        ),
        "shares_outside": sum(not 0 <= fraction <= 1 for fraction in kept_shares),
        "policies_missing": len(policies - tried),
        "chosen": sum(cache_benchmark.chosen for cache_benchmark in cache_benchmarks),
    }


def _estimated(cache_estimate: CacheEstimate | None) -> dict[str, Any]:
    """The metrics of one query's estimate at one size."""
    over = cache_estimate is not None and cache_estimate.results > cache_estimate.exact
    return {
        "estimate_missing": int(cache_estimate is None),
        "estimate_off": int(cache_estimate is not None and not cache_estimate.holds),
        "results_over_exact": int(over),
    }


def _quality(query: str, queries: dict[str, str], checked: Checked, run_id: str, job: str) -> QueryQuality:
    failures = [failure for failure in checked.failures if queries[str(failure.subject)] == query]
    reasons = tuple(f"{failure.subject}: {failure.reason}" for failure in failures)
    expectations = tuple(checked.outcomes([cell for cell, its in queries.items() if its == query]))
    evaluated, page = checked.evaluated, checked.page
    return QueryQuality(
        "caches", query, not reasons, reasons, evaluated, page, run_id, job, expectations=expectations
    )
