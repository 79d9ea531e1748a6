"""What an evaluation gave: its answers are checked, everything is recorded, failures are named."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import DataError
from streambound_airflow.runs import record_end
from streambound_airflow.selection import summary_path, summary_paths

if TYPE_CHECKING:
    from streambound.quality import AnswerSet
    from streambound.results import Answer, CacheAnswer, Results

JOB = "evaluate_history"
log = logging.getLogger(__name__)


def record(store: Results, run_id: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Records the answers of every query that was evaluated, and their quality.

    Args:
        chosen: what ``selection.keep_out`` returned.

    Returns ``evaluated`` (how many queries), ``rows_read`` (of all queries), ``failures`` (reasons by query)
    and ``kept_out`` (how many partitions by stream).

    Raises:
        DataError: the Spark application left no summary.
    """
    from streambound.quality import check_answer_sets
    from streambound_airflow import metrics

    summary = summary_of(JOB, run_id)
    failures = dict(chosen["dropped"])
    failures |= {query: why for query in chosen["reads"] if (why := _unanswered(summary.get(query)))}
    sound = [body for query, body in sorted(summary.items()) if query not in failures]
    for body in sound:
        answer = _answer(run_id, body, chosen["reads"][body["query"]])
        cached = _cache_answer(run_id, body) if body.get("memory") else None
        store.record_answer(answer)
        if cached is not None:
            store.record_cache_answer(cached)
        metrics.evaluated(answer, body.get("late", ()), cached)
        _tell(body)
    for quality in check_answer_sets([_answer_set(body) for body in sound], run_id, JOB):
        quality.record(store)
        if not quality.success:
            failures[quality.query] = "; ".join(quality.reasons)
    for query, why in sorted(failures.items()):
        log.error("%s: %s", query, why)
    return {
        "evaluated": len(sound),
        "rows_read": sum(int(body["rows_read"]) for body in sound),
        "failures": failures,
        "kept_out": chosen["excluded"],
    }


def summary_of(job: str, run_id: str) -> dict[str, dict[str, Any]]:
    """What the Spark applications of a run of a job say of each query; of one that left nothing, nothing.

    Raises:
        DataError: none of them left a summary.
    """
    summaries = [json.loads(path.read_text(encoding="utf-8")) for path in summary_paths(job, run_id)]
    if not summaries:
        raise DataError(
            "the Spark application left no summary",
            subject=str(summary_path(job, run_id)),
            fix="see the log of task evaluate",
        )
    return {str(body["query"]): body for summary in summaries for body in summary["answers"]}


def _unanswered(body: Mapping[str, Any] | None) -> str | None:
    if body is None:
        return "the Spark application does not mention it"
    if body["error"]:
        return str(body["error"])
    return None if body["digest"] else f"not evaluated, it is {body['verdict']}"


def _answer(run_id: str, body: Mapping[str, Any], streams: Sequence[str]) -> Answer:
    from streambound.results import Answer

    return Answer(
        run_id=run_id,
        query=body["query"],
        partitions=len(body["partitions"]),
        # Of a night that reads one partition too, the answers rest on all of them.
        rows_read=body["rows"],
        answer_rows=body["answer_rows"],
        answer_count=int(body["answer_count"]),
        missing_partitions=_missing(body),
        streams=tuple(streams),
        peak_units=body["peak_units"],
        units=body["units"],
        seconds=body["seconds"],
        digest=body["digest"],
        job=JOB,
    )


def _cache_answer(run_id: str, body: Mapping[str, Any]) -> CacheAnswer:
    from streambound.results import CacheAnswer

    names = ("size", "policy", "alpha", "why", "results", "estimated_results")
    memory = {name: body["memory"][name] for name in (*names, "standard_error", "estimated_share")}
    return CacheAnswer(run_id=run_id, query=body["query"], job=JOB, **memory)


def _missing(body: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{partition['stream']} {partition['partition']}" for partition in body["missing_partitions"]
    )


def _answer_set(body: Mapping[str, Any]) -> AnswerSet:
    from streambound.projects.registry import registry_of
    from streambound.quality import AnswerSet
    from streambound.query.parse import statement
    from streambound.tasks.emit import TOTAL

    name = str(body["query"])
    registry = registry_of(settings.registry())
    query = statement(body["sql"], registry.catalog, name, registry.of_text(name, body["sql"]).dialect)
    folder = settings.answers_root() / name
    # In k tuples of memory nobody remembers which rows there have been: one may come again.
    distinct = query.projection == "eliminating" and not body.get("memory")
    # What partitions hold may be taken back by later ones.
    total = folder / TOTAL
    rows = total if not query.plain and total.exists() else folder
    return AnswerSet(name, rows, distinct, body["units"], body["peak_units"])


def _tell(body: Mapping[str, Any]) -> None:
    missing = _missing(body)
    log.info(
        "%s: %s of %s rows read, %s answer rows, at most %s of %s units, %s partitions%s",
        body["query"],
        *(f"{body[key]:,}" for key in ("rows_read", "rows", "answer_rows", "peak_units", "units")),
        len(body["partitions"]),
        f", without {', '.join(missing)}" if missing else "",
    )
    if memory := body.get("memory"):
        share = memory["estimated_share"]
        log.info(
            "%s is unbounded: %s of about %s results (%s), in %s tuples under %s: %s",
            body["query"],
            f"{memory['results']:,}",
            "an unknown number of" if share is None else f"{memory['estimated_results']:,.0f}",
            "share unknown" if share is None else f"{share:.1%}",
            f"{memory['size']:,}",
            memory["policy"],
            memory["why"],
        )


def conclude(store: Results, run_id: str, recorded: Mapping[str, Any] | None) -> None:
    """Records how the run ended.

    Args:
        recorded: what ``record`` returned; None if it did not get there.

    Raises:
        DataError: naming every query that failed.
    """
    failures = None if recorded is None else recorded["failures"]
    record_end(store, run_id, JOB, succeeded=failures is not None and not failures, engine="spark")
    if failures is None:
        raise DataError("the run ended before its answers were recorded", fix="see the tasks that failed")
    if failures:
        lines = "\n".join(f"  {query}: {why}" for query, why in sorted(failures.items()))
        raise DataError(f"failed: {', '.join(sorted(failures))}; the others are recorded\n{lines}")
