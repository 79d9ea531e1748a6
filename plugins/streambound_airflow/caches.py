"""The nightly benchmark of caches: which queries take part, with what, and what came of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import DataError, PlanError, StreamboundError, meant
from streambound_airflow.partitions import days, require_days
from streambound_airflow.runs import record_end
from streambound_airflow.selection import SUMMARY, run_folder, summary_path
from streambound_airflow.validation import chosen_queries

if TYPE_CHECKING:
    from streambound.results import CacheBenchmark, CacheEstimate, Results

JOB = "benchmark_caches"
log = logging.getLogger(__name__)


def choose(params: Mapping[str, Any]) -> list[str]:
    """The chosen queries that are equijoins over one of the chosen streams; the others are logged.

    A query that is named itself, not as one of all, has to be one.

    Raises:
        CatalogError, QueryError: the registry cannot be read, or has no query of a chosen name.
        DataError: what the form says contradicts itself, or names what there is not.
        StreamboundError: a query that is named cannot be benchmarked.
    """
    from streambound.history.inspection.recent_past import plan_for
    from streambound.projects.registry import load_registry
    from streambound.spark.applications.cache_benchmark import Wanted

    days(None, params["to"])
    names = ("days", "held_out", "runs")
    wanted = Wanted(tuple(params["sizes"]), tuple(_policies(params)), **{n: params[n] for n in names})
    registry = load_registry(settings.registry())
    catalog = registry.catalog
    streams = set(params["streams"] or ())
    if unknown := sorted(streams - set(catalog.names)):
        raise DataError(
            f"stream {unknown[0]} is not in the catalog",
            accepted=", ".join(catalog.names),
            fix=meant(unknown[0], catalog.names),
        )
    chosen_by_query: dict[str, list[str]] = {}
    for name in chosen_queries(params["queries"]):
        query = registry.query(name)
        try:
            if query.error is not None:
                raise query.error
            plan = plan_for(query.name, query.sql, catalog, min(wanted.sizes), query.dialect)
            reads = {o.relation.name for o in plan.query.streams}
            if streams and not streams & reads:
                raise PlanError(f"it reads {' and '.join(sorted(reads))}", subject=name)
            chosen_by_query[name] = sorted(reads)
        except StreamboundError as error:
            if params["queries"]:
                raise error.about(name) from None
            log.info("left out: %s", error.about(name).one_line())
    if chosen_by_query:
        require_days(chosen_by_query, catalog, None, params["to"])
    log.info("benchmarked: %s", ", ".join(chosen_by_query) or "none")
    return list(chosen_by_query)


def _policies(params: Mapping[str, Any]) -> Sequence[str]:
    from streambound.approximate.policies import POLICIES

    return params["policies"] or tuple(POLICIES)


def spark_arguments(run_id: str, queries: Sequence[str], params: Mapping[str, Any]) -> list[str]:
    """The arguments of ``spark_apps/benchmark_caches.py``; a summary of an earlier try is removed."""
    folder = run_folder(JOB, run_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)
    return [
        f"--queries={','.join(queries)}",
        f"--sizes={','.join(str(size) for size in params['sizes'])}",
        f"--policies={','.join(_policies(params))}",
        *(f"--{name.replace('_', '-')}={params[name]}" for name in ("days", "held_out", "runs")),
        *([f"--to={params['to']}"] if params["to"] else []),
        f"--summary={folder / SUMMARY}",
        f"--run-id={run_id}",
    ]


def record(store: Results, run_id: str, queries: Sequence[str]) -> dict[str, Any]:
    """Records what every contender kept of each query, which one was chosen, and what estimates are worth.

    Returns ``choices`` (policy by size, by query), ``drifted`` (queries), ``failures`` (reasons by query:
    their earlier choices stand).

    Raises:
        DataError: the Spark application left no summary, or no query could be benchmarked.
    """
    summary = summary_of(run_id)
    nights = [night for night in summary["nights"] if night["query"] in queries]
    benchmarks = [benchmark for night in nights for benchmark in benchmarks_of(run_id, night)]
    estimates = [estimate for night in nights for estimate in estimates_of(run_id, night)]
    store.record_cache_benchmarks(run_id, benchmarks, JOB)
    store.record_cache_estimates(run_id, estimates, JOB)
    failures = {failure["query"]: str(failure["error"]) for failure in summary["failed"]}
    mentioned = {night["query"] for night in nights} | set(failures)
    failures |= {
        name: "the Spark application does not mention it" for name in queries if name not in mentioned
    }
    for night in nights:
        _tell(night)
    for name, why in sorted(failures.items()):
        log.error("%s: %s; an earlier choice stands", name, why)
    if not nights:
        raise DataError(f"no query was benchmarked: {'; '.join(failures.values())}")
    return {
        "choices": {n["query"]: {str(s["size"]): s["choice"]["policy"] for s in n["sizes"]} for n in nights},
        "drifted": [night["query"] for night in nights if night["drifted"]],
        "failures": failures,
    }


def summary_of(run_id: str) -> dict[str, Any]:
    """What the Spark application of a run says: ``nights``, and what ``failed``.

    Raises:
        DataError: it left no summary.
    """
    path = summary_path(JOB, run_id)
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            "the Spark application left no summary", subject=str(path), fix="see the log of task benchmark"
        ) from None
    return summary


def benchmarks_of(run_id: str, night: Mapping[str, Any]) -> list[CacheBenchmark]:
    """The records of one query's benchmark: one a contender and size, and one a choice that stands."""
    from streambound.results import CacheBenchmark

    def made(size: Mapping[str, Any], contender: str, **contents: Any) -> CacheBenchmark:
        fraction = contents["kept"] / night["possible"] if night["possible"] else None
        why = size["why"] if contents["chosen"] else None
        return CacheBenchmark(
            run_id=run_id,
            query=night["query"],
            size=size["size"],
            contender=contender,
            night=night["days"][-1],
            possible=night["possible"],
            optimum=size["optimum"],
            share=fraction,
            why=why,
            drifted=night["drifted"],
            job=JOB,
            **contents,
        )

    records = []
    for size in night["sizes"]:
        for judged in size["judged"]:
            figures = {name: judged[name] for name in ("policy", "alpha", "kept")}
            mine = {name: judged[name] for name in ("policy", "alpha")}
            records.append(made(size, _contender(**mine), **figures, chosen=mine == size["chosen"]))
        if size["chosen"] is None:
            policy, alpha = size["choice"]["policy"], size["choice"]["alpha"]
            alpha = None if alpha is None else alpha / size["size"]
            figures = {"policy": policy, "alpha": alpha, "kept": size["kept"], "chosen": True}
            records.append(made(size, f"earlier {_contender(policy, alpha)}", **figures))
    return records


def estimates_of(run_id: str, night: Mapping[str, Any]) -> list[CacheEstimate]:
    """The records of what an evaluation's own estimate is worth, one a size."""
    from streambound.results import CacheEstimate

    names = ("results", "exact", "estimated", "share", "estimated_share", "holds")
    return [
        CacheEstimate(
            run_id=run_id,
            query=night["query"],
            size=size["size"],
            night=night["days"][-1],
            policy=size["choice"]["policy"],
            standard_error=size["estimate"]["error"],
            job=JOB,
            **{name: size["estimate"][name] for name in names},
        )
        for size in night["sizes"]
    ]


def _contender(policy: str, alpha: float | None) -> str:
    return policy if alpha is None else f"{policy}, alpha {alpha:g} k"


def _tell(night: Mapping[str, Any]) -> None:
    from streambound.approximate.nightly.accuracy import Accuracy
    from streambound.approximate.nightly.benchmark import Fit

    name, possible = night["query"], max(night["possible"], 1)
    for size in night["sizes"]:
        kept, optimum = (f"{size[what] / possible:.1%}" for what in ("kept", "optimum"))
        at, policy = f"{name}, k = {size['size']}", size["choice"]["policy"]
        log.info("%s: %s keeps %s (optimum %s): %s", at, policy, kept, optimum, size["why"])
        estimate = Accuracy.of_json(size["estimate"])
        write = log.info if estimate.holds else log.warning
        write("%s: over the held-out days alone a pass %s", at, estimate.sentence())
    for fit in map(Fit.of_json, night["drifts"]):
        if fit.drifted:
            log.warning("%s: its streams have drifted, and models are learned anew: %s", name, fit.sentence())


def check(store: Results, run_id: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Judges what a run recorded by its promises; returns the reasons by query that broke one.

    Raises:
        StorageError: the quality folder or the results database failed.
    """
    from streambound.quality import check_cache_benchmarks

    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    broken = {}
    tried = (params["sizes"], _policies(params))
    benchmarks, estimates = store.cache_benchmarks(run_id, JOB), store.cache_estimates(run_id, JOB)
    for finding in check_cache_benchmarks(benchmarks, estimates, *tried, run_id, JOB):
        finding.record(store)
        if not finding.success:
            broken[finding.query] = "; ".join(finding.reasons)
            log.error("%s: %s", finding.query, broken[finding.query])
    return broken


def conclude(
    store: Results, run_id: str, recorded: Mapping[str, Any] | None, broken: Mapping[str, str] | None
) -> None:
    """Records how the run ended.

    Args:
        recorded: what ``record`` returned; None if the run did not get there.
        broken: what ``check`` returned; None if the run did not get there.

    Raises:
        DataError: naming every query that failed, and apart from them those whose choices are made but whose
            benchmark broke a promise.
    """
    complete = recorded is not None and broken is not None
    failures = {**(recorded or {"failures": {}})["failures"], **(broken or {})}
    record_end(store, run_id, JOB, succeeded=complete and not failures, engine="spark")
    if not complete:
        raise DataError(
            "the run ended before its benchmarks were checked; choices that were not replaced stand",
            fix="see the tasks that failed",
        )
    if failures:
        made = sorted(broken or {})
        lost = sorted(set(failures).difference(made))
        what = {"failed": lost, "made, but broke a promise": made}
        named = [f"{how}: {', '.join(queries)}" for how, queries in what.items() if queries]
        lines = "\n".join(f"  {query}: {why}" for query, why in sorted(failures.items()))
        raise DataError(f"{'; '.join(named)}; the choices of the others are made\n{lines}")
