"""Checkpoints that are brought up to date when partitions arrive: for which queries, and what came of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import DataError
from streambound_airflow.recording import summary_of
from streambound_airflow.runs import record_end
from streambound_airflow.validation import chosen_queries

if TYPE_CHECKING:
    from streambound.results import Results

JOB = "materialize_synopses"
log = logging.getLogger(__name__)


def unchecked(store: Results, wanted: Sequence[str] | None) -> list[str]:
    """The chosen queries without a verdict that evaluations go by: their first evaluation follows from it.

    Raises:
        CatalogError, QueryError: the registry cannot be read, or has no query of a chosen name.
    """
    decided = {verdict.query for verdict in store.latest_verdicts()}
    return [name for name in chosen_queries(wanted) if name not in decided]


def synopsis(run_id: str, query: str) -> dict[str, Any]:
    """What is checkpointed of one query after a run, as the table of its checkpoints has it.

    Returns ``boundary`` (its newest partition), ``checkpoints`` (how many), ``rows`` (that the boundary
    rests on), ``rows_read`` (in this run), ``units``, ``peak_units``, ``late`` (quarantined versions) and
    ``digest`` (of the newest checkpoint).

    Raises:
        DataError: the query could not be evaluated.
        StorageError: its checkpoints cannot be read.
    """
    from streambound.checkpoint.table import CheckpointTable, address_of

    body = summary_of(JOB, run_id).get(query)
    if body is None or body["error"]:
        raise DataError(body["error"] if body else "the Spark application does not mention it", subject=query)
    table = CheckpointTable(address_of(settings.checkpoints(), query), query)
    newest = max(table.rows, default=None)
    row = None if newest is None else table.load([newest]).get(newest)
    if row is None:
        raise DataError("its newest checkpoint is missing or damaged", subject=query, fix="run it again")
    log.info(
        "%s: the boundary after %s, %s rows of which %s were read, %s units, at most %s, digest %s",
        query,
        newest,
        *(f"{number:,}" for number in (row.rows, body["rows_read"], row.units, row.peak_units)),
        row.digest,
    )
    for partition in table.late:
        log.warning("%s: %s, partition %s %s", query, partition.stream, partition.partition, partition.reason)
    return {
        "boundary": newest,
        "checkpoints": len(table.rows),
        "rows": row.rows,
        "rows_read": int(body["rows_read"]),
        "units": row.units,
        "peak_units": row.peak_units,
        "late": len(table.late),
        "digest": row.digest,
    }


def conclude(store: Results, run_id: str, chosen: Mapping[str, Any] | None) -> None:
    """Records how the run ended.

    Args:
        chosen: what ``selection.keep_out`` returned; None if the run did not get there.

    Raises:
        DataError: naming every query whose checkpoints are not up to date.
    """
    try:
        failures = _failures(run_id, chosen)
    except DataError:
        record_end(store, run_id, JOB, succeeded=False, engine="spark")
        raise
    record_end(store, run_id, JOB, succeeded=not failures, engine="spark")
    if failures:
        lines = "\n".join(f"  {query}: {why}" for query, why in sorted(failures.items()))
        raise DataError(f"failed: {', '.join(sorted(failures))}; the others are up to date\n{lines}")


def _failures(run_id: str, chosen: Mapping[str, Any] | None) -> dict[str, str]:
    if chosen is None:
        raise DataError("the run ended before anything was evaluated", fix="see the tasks that failed")
    summary = summary_of(JOB, run_id)
    missing = {query: "the Spark application does not mention it" for query in chosen["reads"]}
    failed = {query: str(body["error"]) for query, body in summary.items() if body["error"]}
    silent = {query: why for query, why in missing.items() if query not in summary}
    return {**chosen["dropped"], **failed, **silent}
