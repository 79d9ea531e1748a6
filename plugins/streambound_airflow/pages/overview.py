"""All queries at a glance: the registry's files beside the newest verdict, evaluation and quality of each.

Problems come first. A page reads this in a few statements whatever the number of queries, in one as long as
neither the registry nor the database has changed; nothing is decided for it.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from streambound.approximate.requested_size import CACHE_SIZE
from streambound.engines import of_dialect
from streambound.report.sizes import size_text
from streambound.report.tables import quality_cell, why_not
from streambound.results import Answer, CacheAnswer, QuerySummary, Results, VerdictRecord
from streambound.results.records import now
from streambound_airflow.pages.schemas import (
    CachePart,
    Notable,
    Outcome,
    Quality,
    QueryPage,
    QueryRow,
    StatePoint,
)
from streambound_airflow.pages.sources import Registered, registered, stamps, store

# Evaluations in the small chart of a row.
CHARTED = 12
# Seconds that what was read is kept at most.
LASTING = 10
VERDICTS: tuple[Outcome, ...] = get_args(Outcome)
NOTABLE: tuple[Notable, ...] = get_args(Notable)
QUALITIES: tuple[Quality, ...] = get_args(Quality)
# A peak of so much of the bound is near it.
NEAR = 0.9
# What a verdict is compared with is at least so old.
DAY = dt.timedelta(days=1)


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


@dataclass(frozen=True)
class Wanted:
    """The queries that are asked for: all that match each of these, as far as it is given.

    ``text`` has words of a query's name, verdict, owner, or of what the list says of it.
    """

    text: str = ""
    verdict: Outcome | None = None
    notable: Notable | None = None
    owner: str | None = None
    quality: Quality | None = None
    engine: str | None = None

    def takes(self, row: QueryRow) -> bool:
        """Whether a query matches."""
        text = " ".join((row.name, row.verdict, row.owner or "", said(row))).lower()
        return (
            self.verdict in (None, row.verdict)
            and self.notable in (None, *row.notable)
            and self.owner in (None, row.owner)
            and self.quality in (None, row.quality)
            and self.engine in (None, row.engine)
            and all(word in text for word in self.text.lower().split())
        )


def page(wanted: Wanted, limit: int | None = None, offset: int = 0) -> QueryPage:
    """The registered queries that match, problems first."""
    registered = sorted((row for row in rows().values() if row.registered), key=_sort_key)
    matching = [row for row in registered if wanted.takes(row)]
    counts = Counter(row.verdict for row in registered)
    notable = Counter(fact for row in registered for fact in row.notable)
    qualities = Counter(row.quality for row in registered)
    end = None if limit is None else offset + limit
    return QueryPage(
        total=len(matching),
        registered=len(registered),
        counts={name: counts[name] for name in VERDICTS},
        notable={name: notable[name] for name in NOTABLE},
        owners=_counted(row.owner for row in registered if row.owner),
        engines=_counted(row.engine for row in registered),
        qualities={name: qualities[name] for name in QUALITIES},
        queries=matching[offset:end],
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _sort_key(row: QueryRow) -> tuple[int, str]:
    """Where a query stands in the list: first what somebody has to do something about."""
    order = {"invalid": 0, "unbounded": 2, "unknown": 3, "unchecked": 4}
    rank = order.get(row.verdict, 5 if row.notable else 6)
    return min(rank, 1) if "failed" in row.notable else rank, row.name


def said(row: QueryRow) -> str:
    """What the list says of a query: first what is wrong or new, then why, then what it is for."""
    cache = row.cache
    part = "–" if cache is None or cache.share is None else f"{cache.share:.1%}"
    parts = (
        row.quality_note if row.quality == "failed" else "",
        "The file has changed since it was checked" if row.stale else "",
        f"A day ago: {row.before}" if row.before else "",
        row.note,
        f"{part} of its answer in {cache.size:,} tuples ({cache.policy})" if cache else "",
        row.description or "",
    )
    return " · ".join(filter(None, parts))


def _read(files: Mapping[str, Registered], database: Results) -> Mapping[str, QueryRow]:
    summaries = {summary.query: summary for summary in database.latest_summary()}
    cached = {record.query: record for record in database.latest_cache_answers()}
    states = _states(database.recent_answers(CHARTED))
    earlier = {record.query: record for record in database.latest_verdicts(until=now() - DAY)}
    return {
        name: _row(
            name, files.get(name), summaries.get(name), cached.get(name), states[name], earlier.get(name)
        )
        for name in sorted(files.keys() | summaries.keys())
    }


def _states(answers: Iterable[Answer]) -> defaultdict[str, list[StatePoint]]:
    """The largest states of each query's last evaluations, the oldest first."""
    points = defaultdict[str, list[StatePoint]](list)
    for answer in answers:
        if answer.peak_units is not None:
            point = StatePoint(evaluated_at=answer.evaluated_at, peak_units=answer.peak_units)
            points[answer.query].insert(0, point)
    return points


def _row(
    name: str,
    file: Registered | None,
    summary: QuerySummary | None,
    cached: CacheAnswer | None,
    states: list[StatePoint],
    earlier: VerdictRecord | None,
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
    row.engine = _engine(about.get("dialect"))
    if file is not None and file.error is not None:
        row.note = file.error
    if summary is not None and summary.verdict is not None:
        _add_verdict(row, summary.verdict, file)
    if summary is not None and summary.answer is not None:
        _add_answer(row, summary.answer)
    # An evaluation since then had all of the answer.
    if cached is not None and row.evaluation_run in (None, cached.run_id):
        row.cache = CachePart(size=cached.size, policy=cached.policy, share=cached.estimated_share)
    if summary is not None and summary.quality:
        row.quality_note = quality_cell(summary.quality)
        hold = all(outcome.success for outcome in summary.quality)
        row.quality = "failed" if not hold else "partial" if row.cache else "ok"
    if summary is not None and summary.verdict is not None and earlier is not None:
        _compare(row, summary.verdict, earlier)
    row.notable = [name for name in NOTABLE if _is(row, name)]
    return row


def _engine(dialect: str | None) -> str:
    return of_dialect(dialect) or dialect or "spark"


def _is(row: QueryRow, name: Notable) -> bool:
    if name == "failed":
        return row.quality == "failed"
    if name == "changed":
        return bool(row.before)
    # Without a state there is no bound that one could be near.
    return bool(row.states and row.units) and row.states[-1].peak_units >= NEAR * (row.units or 0)


def _compare(row: QueryRow, verdict: VerdictRecord, earlier: VerdictRecord) -> None:
    compared = ("verdict", "units", "units_formula")
    if any(getattr(verdict, field) != getattr(earlier, field) for field in compared):
        size = size_text(earlier.units, earlier.units_formula, earlier.unplanned)
        row.before = f"bounded, {size}" if earlier.verdict == "bounded" else earlier.verdict


def _add_verdict(row: QueryRow, verdict: VerdictRecord, file: Registered | None) -> None:
    row.verdict = verdict.verdict if verdict.verdict in VERDICTS else "unknown"
    row.engine = _engine(verdict.dialect) if verdict.dialect else row.engine
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
