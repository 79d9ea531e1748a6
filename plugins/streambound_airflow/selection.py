"""What one evaluation is about: the queries that can be evaluated, and the partitions kept out of it."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import DataError, PlanError, StreamboundError
from streambound_airflow.partitions import days, require_days
from streambound_airflow.validation import chosen_queries

if TYPE_CHECKING:
    from streambound.query.catalog import Catalog
    from streambound.query.registry import RegisteredQuery
    from streambound.results import Results, VerdictRecord

EXCLUDE = "exclude.json"
SUMMARY = "summary.json"
# Each shard's application has a folder of its own.
SHARD = "shard-"
# How far its Spark application is; written by that.
PROGRESS = "progress.json"
# Of the name of a run's folder: with its digest it fits wherever a file's name does.
PLAIN_CHARACTERS = 200

log = logging.getLogger(__name__)


def select(store: Results, wanted: Sequence[str] | None) -> dict[str, list[str]]:
    """The relations that each chosen query reads whose newest verdict is bounded; the others are logged.

    The verdict is that of the criterion that evaluations go by, whatever others were asked for since.

    An unbounded one is chosen too if its file says how many tuples may be cached (``-- cache size: N``); if
    it asks for that in vain, the evaluation says why.

    A query that cannot be read any more, or that no longer fits the catalog, is logged and left out too.

    Raises:
        CatalogError, QueryError: the registry cannot be read, or has no query of a chosen name.
        PlanError: no query can be evaluated.
    """
    from streambound.projects.registry import load_registry

    registry = load_registry(settings.registry())
    verdicts = {verdict.query: verdict for verdict in store.latest_verdicts()}
    reads: dict[str, list[str]] = {}
    for name in chosen_queries(wanted):
        query = registry.query(name)
        reason = _why_not(query, verdicts.get(name))
        if reason is None:
            try:
                reason, relations = _planned(query, registry.catalog)
                if reason is None:
                    reads[name] = relations
            except StreamboundError as error:
                # The text is the one that was checked, so the catalog has changed since.
                reason = error.one_line()
        if reason is not None:
            log.warning("left out: %s, %s", name, reason)
    if not reads:
        raise PlanError(
            "none of the chosen queries can be evaluated",
            accepted="queries whose newest verdict is bounded, or equijoins with -- cache size: N",
            fix="run validate_queries, or choose other queries",
        )
    for name, relations in reads.items():
        log.info("%s reads %s", name, ", ".join(relations))
    return reads


def select_days(
    store: Results, wanted: Sequence[str] | None, first: str | None, last: str | None
) -> dict[str, list[str]]:
    """As ``select``, of days that there are.

    Raises:
        DataError: the days are none, reversed, or none of those that the queries' streams have.
    """
    from streambound.projects.registry import registry_of

    days(first, last)
    reads = select(store, wanted)
    require_days(reads, registry_of(settings.registry()).catalog, first, last)
    return reads


def _why_not(query: RegisteredQuery, verdict: VerdictRecord | None) -> str | None:
    from streambound.results import EVALUATED_BY

    if query.error is not None:
        return query.error.one_line()
    if verdict is None:
        return f"not checked yet by the criterion {EVALUATED_BY}: run validate_queries"
    if verdict.sql != query.sql:
        return "changed since it was checked: run validate_queries"
    if verdict.verdict == "bounded" or (verdict.error is None and _has_memory(query)):
        return None
    why = verdict.error or "; ".join(str(reason.get("message")) for reason in verdict.reasons[:1])
    return f"{verdict.verdict}: {why}"


def _has_memory(query: RegisteredQuery) -> bool:
    from streambound.approximate.requested_size import CACHE_SIZE
    from streambound.query.registry import metadata

    return CACHE_SIZE in dict(metadata(query.sql))


def _planned(query: RegisteredQuery, catalog: Catalog) -> tuple[str | None, list[str]]:
    """Why a bounded query cannot be evaluated yet (None if it can), and the relations that a query reads."""
    from streambound.compiler import compile

    job = compile(query.sql, catalog, query.name, dialect=query.dialect)
    return job.unplanned, sorted({relation.name for relation in job.statement.scanned})


def keep_out(
    store: Results,
    job: str,
    run_id: str,
    reads: Mapping[str, Sequence[str]],
    checked: Iterable[Mapping[str, Any]],
    include_failed: bool,
) -> dict[str, Any]:
    """Which partitions are kept out of the evaluation, and which queries have nothing left to read.

    Args:
        store: where the run's quality is recorded, with the reasons of each failed partition.
        job: the DAG of the run.
        reads: the relations that each query reads.
        checked: what StreamQualityOperator returned for each stream; one that could not be checked is absent.
        include_failed: evaluate partitions that failed all the same.

    Returns ``reads`` (the relations of each query that is evaluated), ``excluded`` (how many partitions by
    stream) and ``dropped`` (reasons by query). The partitions are written to ``exclude.json`` for Spark.

    Raises:
        DataError: no query has anything to read.
    """
    by_stream = {str(body["stream"]): body for body in checked}
    failed = _failed(store, job, run_id, by_stream)
    for stream, reasons in failed.items():
        word = "evaluated all the same" if include_failed else "kept out"
        for partition, why in reasons.items():
            log.warning("%s, partition %s failed and is %s: %s", stream, partition, word, why)
    excluded = {} if include_failed else failed
    dropped = {
        query: "; ".join(unusable)
        for query, relations in reads.items()
        if (unusable := [text for name in relations if (text := _unusable(name, by_stream, excluded))])
    }
    for query, why in dropped.items():
        log.error("%s is not evaluated: %s", query, why)
    left = {query: list(names) for query, names in reads.items() if query not in dropped}
    if not left:
        raise DataError(
            f"no query has anything to read: {'; '.join(sorted(set(dropped.values())))}",
            fix="choose other days, or run what writes the streams (in the demo ingest_flights)",
        )
    folder = run_folder(job, run_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / EXCLUDE).write_text(json.dumps(excluded, indent=1), encoding="utf-8")
    # What an earlier try said must not pass for this one's.
    for path in (*summary_paths(job, run_id), *progress_paths(job, run_id)):
        path.unlink(missing_ok=True)
    return {"reads": left, "excluded": {s: len(names) for s, names in excluded.items()}, "dropped": dropped}


def _failed(store: Results, job: str, run_id: str, streams: Iterable[str]) -> dict[str, dict[str, str]]:
    outcomes = {o.subject: o for o in store.quality(run_id, job) if o.kind == "stream" and not o.success}
    return {
        name: {str(item["partition"]): "; ".join(item["reasons"]) for item in outcomes[name].failed}
        for name in sorted(streams)
        if name in outcomes
    }


def _unusable(
    stream: str, checked: Mapping[str, Mapping[str, Any]], excluded: Mapping[str, Mapping[str, str]]
) -> str | None:
    if stream not in checked:
        return f"stream {stream} could not be checked"
    partitions = int(checked[stream]["partitions"])
    if partitions == 0:
        return f"stream {stream} has no partition in the chosen days"
    if len(excluded.get(stream, ())) >= partitions:
        return f"every partition of {stream} failed"
    return None


def run_folder(job: str, run_id: str) -> Path:
    """The folder of what the tasks of one run of a job hand to each other in files.

    Runs of several DAGs may have one id, and ids may differ in characters alone that no folder's name has.
    """
    return settings.home() / "runs" / _plain(job) / _plain(run_id)


def _plain(name: str) -> str:
    """A short name of a folder, and the same for no other name."""
    kept = re.sub(r"[^\w.-]", "-", name, flags=re.ASCII)[:PLAIN_CHARACTERS]
    return f"{kept}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def summary_path(job: str, run_id: str) -> Path:
    """Where the Spark application of a run says what it did; of one that an earlier release began, there."""
    folder = run_folder(job, run_id)
    earlier = settings.home() / "runs" / re.sub(r"[^\w.-]", "-", run_id)
    return (folder if folder.exists() or not (earlier / SUMMARY).is_file() else earlier) / SUMMARY


def summary_paths(job: str, run_id: str) -> list[Path]:
    """The summaries that the Spark applications of a run have left, in the order of their shards."""
    whole, folder = summary_path(job, run_id), run_folder(job, run_id)
    shards = folder.glob(f"{SHARD}*/{SUMMARY}")
    return [
        *([whole] if whole.is_file() else []),
        *sorted(shards, key=lambda path: _shard_number(path.parent)),
    ]


def progress_paths(job: str, run_id: str) -> list[Path]:
    """Where the Spark applications of a run say how far they are."""
    folder = run_folder(job, run_id)
    return [folder / PROGRESS, *folder.glob(f"{SHARD}*/{PROGRESS}")]


def _shard_number(folder: Path) -> int:
    return int(folder.name.removeprefix(SHARD))


def spark_arguments(
    job: str,
    run_id: str,
    queries: Collection[str],
    params: Mapping[str, Any],
    checkpoints_only: bool = False,
) -> list[list[str]]:
    """Of each application of a run (``settings.shards``) the arguments, from what the form gives.

    There are no more than queries, so that none has nothing to do.

    Raises:
        DataError: the number of shards is none.
    """
    folder, shards = run_folder(job, run_id), min(settings.shards(), len(queries))
    in_common = _in_common(job, run_id, queries, params, checkpoints_only)
    if shards == 1:
        return [[*in_common, f"--summary={folder / SUMMARY}"]]
    return [
        [*in_common, f"--summary={folder / f'{SHARD}{number}' / SUMMARY}", f"--shard={number}/{shards}"]
        for number in range(1, shards + 1)
    ]


def _in_common(
    job: str, run_id: str, queries: Iterable[str], params: Mapping[str, Any], checkpoints_only: bool
) -> list[str]:
    folder = run_folder(job, run_id)
    days = [f"--{end}={params[end]}" for end in ("from", "to") if params[end]]
    return [
        f"--queries={','.join(queries)}",
        *days,
        f"--run-id={run_id}",
        f"--exclude={folder / EXCLUDE}",
        f"--output={settings.answers_root()}",
        *(["--recompute"] if params["recompute"] else []),
        *(["--checkpoints-only"] if checkpoints_only else []),
    ]
