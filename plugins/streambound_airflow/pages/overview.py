"""All queries at a glance: the registry's files beside the newest verdict, evaluation and quality of each.

A page reads this in a few statements whatever the number of queries, in one as long as neither the registry
nor the database has changed; nothing is decided for it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from streambound.approximate.requested import CACHE_SIZE
from streambound.report.tables import quality_cell, why_not
from streambound.results import Answer, CacheAnswer, QuerySummary, Results, VerdictRecord
from streambound_airflow.pages.schemas import CachePart, Outcome, QueryPage, QueryRow, StatePoint
from streambound_airflow.pages.sources import Registered, registered, stamps, store

# Evaluations in the small chart of a row.
CHARTED = 12
# Seconds that what was read is kept at most.
LASTING = 10
VERDICTS: tuple[Outcome, ...] = get_args(Outcome)


class _Kept:
    """What was read last, and what it holds for."""

    lock = threading.Lock()
    stamp: Any = None
    rows: Mapping[str, QueryRow] = {}


def rows() -> Mapping[str, QueryRow]:
    """Every registered query, and every other one that something is recorded of, by name.

    Raises:
        QueryError: the registry cannot be read.
        StorageError: the results database failed.
    """
    files, database = stamps(), store()
    # The moment of a record is older than its commit: one that was committed late is seen after this while.
    stamp = (str(database.url), files, database.newest_moments(), int(time.monotonic() // LASTING))
    with _Kept.lock:
        if _Kept.stamp != stamp:
            _Kept.rows = _read(registered(files), database)
            _Kept.stamp = stamp
        return _Kept.rows


def page(
    text: str = "",
    verdict: str | None = None,
    owner: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> QueryPage:
    """The registered queries of a verdict and an owner with every word of a text (in name, owner,
    description, note)."""
    known = [row for row in rows().values() if row.registered]
    words = text.lower().split()
    found = [
        row
        for row in known
        if verdict in (None, row.verdict) and owner in (None, row.owner) and _has(row, words)
    ]
    counts = Counter(row.verdict for row in known)
    owners = Counter(row.owner for row in known if row.owner)
    end = None if limit is None else offset + limit
    return QueryPage(
        total=len(found),
        registered=len(known),
        counts={name: counts[name] for name in VERDICTS},
        owners=dict(sorted(owners.items())),
        queries=found[offset:end],
    )


def _has(row: QueryRow, words: Sequence[str]) -> bool:
    text = " ".join((row.name, row.owner or "", row.description or "", row.note, row.verdict)).lower()
    return all(word in text for word in words)


def _read(files: Mapping[str, Registered], database: Results) -> Mapping[str, QueryRow]:
    summaries = {summary.query: summary for summary in database.latest_summary()}
    cached = {one.query: one for one in database.latest_cache_answers()}
    states = _states(database.recent_answers(CHARTED))
    return {
        name: _row(name, files.get(name), summaries.get(name), cached.get(name), states[name])
        for name in sorted(files.keys() | summaries.keys())
    }


def _states(answers: Iterable[Answer]) -> defaultdict[str, list[StatePoint]]:
    """The largest states of each query's last evaluations, the oldest first."""
    found = defaultdict[str, list[StatePoint]](list)
    for answer in answers:
        if answer.peak_units is not None:
            point = StatePoint(evaluated_at=answer.evaluated_at, peak_units=answer.peak_units)
            found[answer.query].insert(0, point)
    return found


def _row(
    name: str,
    file: Registered | None,
    summary: QuerySummary | None,
    cached: CacheAnswer | None,
    states: list[StatePoint],
) -> QueryRow:
    about = file.about if file is not None else {}
    row = QueryRow(
        name=name,
        owner=about.get("owner"),
        description=about.get("description"),
        registered=file is not None,
        cache_size=about.get(CACHE_SIZE),
        states=states,
    )
    if file is not None and file.error is not None:
        row.note = file.error
    if summary is not None and summary.verdict is not None:
        _add_verdict(row, summary.verdict, file)
    if summary is not None and summary.answer is not None:
        _add_answer(row, summary.answer)
    if summary is not None and summary.quality:
        row.quality_note = quality_cell(summary.quality)
        row.quality = "ok" if all(one.success for one in summary.quality) else "failed"
    if cached is not None:
        row.cache = CachePart(size=cached.size, policy=cached.policy, share=cached.estimated_share)
    return row


def _add_verdict(row: QueryRow, verdict: VerdictRecord, file: Registered | None) -> None:
    row.verdict = verdict.verdict if verdict.verdict in VERDICTS else "unknown"
    row.units, row.units_formula = verdict.units, verdict.units_formula
    row.checked_at, row.check_job, row.check_run = verdict.checked_at, verdict.job, verdict.run_id
    row.note = row.note or why_not(verdict)
    row.stale = file is not None and file.sql != verdict.sql


def _add_answer(row: QueryRow, answer: Answer) -> None:
    row.evaluated_at = answer.evaluated_at
    row.evaluation_job, row.evaluation_run = answer.job, answer.run_id
    row.partitions, row.missing_partitions = answer.partitions, len(answer.missing_partitions)
    row.rows_read, row.answer_rows = answer.rows_read, answer.answer_rows
    if row.units is None and row.verdict == "bounded":
        row.units = answer.units
