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
    for one in benchmarks:
        by_query.setdefault(one.query, []).append(one)
    if not by_query:
        return ()
    wanted, named = list(dict.fromkeys(sizes)), set(policies)
    cells = {f"{query}, k = {size}": (query, size) for query in sorted(by_query) for size in wanted}
    seen = {(one.query, one.size): one for one in estimates}
    rows = []
    for cell, (query, size) in cells.items():
        measured = _measured([one for one in by_query[query] if one.size == size], named)
        rows.append({"cell": cell, **measured, **_estimated(seen.get((query, size)))})
    table = pd.DataFrame(rows)
    expectations = [promise.expected() for promise in CACHE_PROMISES]
    with docs_context() as context:
        checked = run_checkpoint(context, "caches", "benchmarks", table, expectations, run_id, "cell")
    queries = {cell: query for cell, (query, _) in cells.items()}
    return tuple(_quality(query, queries, checked, run_id, job) for query in sorted(by_query))


def _measured(found: Sequence[CacheBenchmark], policies: set[str]) -> dict[str, Any]:
    """The metrics of one query at one size: counts of contenders that break a promise."""
    shares = [one.share for one in found if one.share is not None]
    tried = {one.policy for one in found if not one.contender.startswith("earlier ")}
    return {
        "contenders": len(found),
        "over_optimum": sum(one.kept > one.optimum for one in found),
        "optimum_over_possible": sum(one.optimum > one.possible for one in found),
        "shares_outside": sum(not 0 <= share <= 1 for share in shares),
        "policies_missing": len(policies - tried),
        "chosen": sum(one.chosen for one in found),
    }


def _estimated(found: CacheEstimate | None) -> dict[str, Any]:
    """The metrics of one query's estimate at one size."""
    over = found is not None and found.results > found.exact
    return {
        "estimate_missing": int(found is None),
        "estimate_off": int(found is not None and not found.holds),
        "results_over_exact": int(over),
    }


def _quality(query: str, queries: dict[str, str], checked: Checked, run_id: str, job: str) -> QueryQuality:
    failures = [one for one in checked.failures if queries[str(one.subject)] == query]
    reasons = tuple(f"{one.subject}: {one.reason}" for one in failures)
    told = tuple(checked.told([cell for cell, its in queries.items() if its == query]))
    evaluated, page = checked.evaluated, checked.page
    return QueryQuality(
        "caches", query, not reasons, reasons, evaluated, page, run_id, job, expectations=told
    )
