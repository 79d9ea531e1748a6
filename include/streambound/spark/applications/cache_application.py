"""One application over registered queries: the benchmark of the caches of equijoins."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from streambound import settings
from streambound.approximate.nightly.defaults import SIZES
from streambound.approximate.policies import POLICIES
from streambound.errors import DataError, PlanError, StreamboundError, meant
from streambound.history.inspection.recent_past import plan_for
from streambound.history.prepare import beside
from streambound.projects.registry import load_registry
from streambound.query.catalog import Catalog
from streambound.query.registry import RegisteredQuery
from streambound.spark.applications.cache_benchmark import Failed, Wanted, benchmark_caches
from streambound.spark.applications.simulations import worked
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session
from streambound.tasks.emit import write_json


def run_benchmark(
    names: Sequence[str],
    *,
    streams: Sequence[str] = (),
    sizes: Sequence[str] = (),
    policies: Sequence[str] = (),
    days: int,
    held_out: int,
    runs: int,
    last: str | None = None,
    summary: Path | None = None,
    run_id: str = "",
) -> int:
    """Benchmark the registered queries of the given names (all if none), and return the exit code.

    Args:
        names: queries of the registry; no equijoins and those that need no cache are left out, unless named.
        streams: only queries over one of these; all if none.
        summary: where to write what was found, as JSON, with the ``run_id``.

    Raises:
        StreamboundError: nothing could be benchmarked.
    """
    registry = load_registry(settings.registry())
    wanted = Wanted(
        sizes=tuple(dict.fromkeys(_size(text) for text in sizes)) or SIZES,
        policies=tuple(policies or POLICIES),
        days=days,
        held_out=held_out,
        runs=runs,
    )
    queries = _over(registry.chosen(names), registry.catalog, streams)
    chosen, left_out = _equijoins(queries, registry.catalog, min(wanted.sizes), named=bool(names))
    for error in left_out:
        print(error.one_line(), flush=True)
    with session("streambound benchmark_caches") as spark:
        by_query = benchmark_caches(
            SparkExecutor(spark),
            partial(worked, spark),
            chosen,
            registry.catalog,
            settings.caches_root(),
            wanted,
            last=last or None,
            progress=lambda message: print(message, flush=True),
        )
    errors = [item for item in by_query if isinstance(item, Failed)]
    for failed in errors:
        print(f"benchmark_caches: {failed.error}", file=sys.stderr)
    if summary is not None:
        nights = [night.to_json() for night in by_query if not isinstance(night, Failed)]
        failures = [{"query": item.query, "error": item.error.one_line()} for item in errors]
        write_json(summary, {"run_id": run_id, "nights": nights, "failed": failures})
    return max((item.error.exit_code for item in errors), default=0)


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"a size is {text!r}", accepted="whole numbers, such as 100,500") from None


def _over(
    queries: Sequence[RegisteredQuery], catalog: Catalog, streams: Sequence[str]
) -> list[RegisteredQuery]:
    registered = catalog.names
    if unknown := sorted(set(streams) - set(registered)):
        raise DataError(
            f"stream {unknown[0]} is not in the catalog",
            accepted=", ".join(registered),
            fix=meant(unknown[0], registered),
        )
    if not streams:
        return list(queries)
    return [query for query in queries if _reads(query, catalog, set(streams))]


def _reads(query: RegisteredQuery, catalog: Catalog, streams: set[str]) -> bool:
    try:
        plan = plan_for(query.name, query.sql, catalog, 1, *beside(query))
    except StreamboundError:
        return False
    return bool(streams & {o.relation.name for o in plan.query.streams})


def _equijoins(
    queries: Sequence[RegisteredQuery], catalog: Catalog, size: int, named: bool
) -> tuple[list[RegisteredQuery], list[StreamboundError]]:
    """The queries to be benchmarked, and why the others are not; a query that was named fails instead."""
    chosen, left_out = [], []
    for query in queries:
        try:
            plan_for(query.name, query.sql, catalog, size, *beside(query))
        except PlanError as error:
            if not named:
                left_out.append(error.about(query.name))
                continue
        except StreamboundError:
            pass
        chosen.append(query)
    return chosen, left_out
