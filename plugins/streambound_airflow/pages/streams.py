"""Streams and tables: what the catalog declares beside what checks have recorded. No data are read.

Of each partition the newest check counts, whichever run it was in. Checks are read from the newest back to
one that is as wide as all that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from streambound.query.column_types import Family
from streambound.query.model import Column, Relation, RelationKind
from streambound.results import QualityOutcome, Results
from streambound_airflow.pages import made_of, overview
from streambound_airflow.pages.catalog import declared, domain_words
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.sources import store
from streambound_airflow.pages.stream_schemas import (
    ColumnBody,
    DayBody,
    PartitionBody,
    PartitionPage,
    RateBody,
    ReaderBody,
    StreamDetail,
    StreamPage,
    StreamRow,
)

# Checks that are looked back over for partitions that newer ones left out.
LOOKED_BACK, READ_AT_ONCE = 400, 4
# Partitions in the small chart of a row.
RECENT = 60


@dataclass(frozen=True)
class Seen:
    """The newest that is recorded of one partition."""

    name: str
    metrics: Mapping[str, Any]
    reasons: tuple[str, ...]
    outcome: QualityOutcome


def page(limit: int | None = None, offset: int = 0) -> StreamPage:
    """The streams and tables of the catalog: those that failed first, then by name.

    Raises:
        CatalogError: the catalog cannot be read.
    """
    newest = {outcome.subject: outcome for outcome in store().latest_quality() if outcome.kind == "stream"}
    reads = made_of.read_by()
    rows = [_row(relation, newest.get(relation.name), reads) for relation in declared().relations]
    rows.sort(key=lambda row: (row.quality != "failed", row.name.lower(), row.name))
    end = None if limit is None else offset + limit
    failed = sum(row.quality == "failed" for row in rows)
    return StreamPage(total=len(rows), failed=failed, streams=rows[offset:end])


def relation_of(name: str) -> Relation:
    """A relation of the catalog, by its exact name.

    Raises:
        Refused: there is none.
        CatalogError: the catalog cannot be read.
    """
    relations = {relation.name: relation for relation in declared().relations}
    if name not in relations:
        shown = name if len(name) <= 60 else f"{name[:60]}..."
        raise Refused(404, f"the catalog has no stream {shown!r}", accepted="a name of api/v1/streams")
    return relations[name]


def _newest(name: str) -> QualityOutcome | None:
    outcomes = store().quality_of("stream", name, 1)
    return outcomes[0] if outcomes else None


def _row(relation: Relation, newest: QualityOutcome | None, reads: Mapping[str, Sequence[str]]) -> StreamRow:
    row = StreamRow(name=relation.name, kind=relation.kind.value, description=relation.description)
    row.readers = list(made_of.readers(relation.name, reads))
    if newest is None:
        return row
    parts = seen(store(), newest)
    row.quality = "ok" if newest.success else "failed"
    row.failed_partitions = len(newest.failed)
    if newest.failed:
        last = newest.failed[-1]
        said = "; ".join(last.get("reasons", ()))
        row.reason = f"{last['partition']}: {said}" if "partition" in last else said
    row.checked_at, row.check_run, row.check_job = newest.checked_at, newest.run_id, newest.job
    row.partitions = len(parts)
    row.rows = sum(part.metrics.get("rows") or 0 for part in parts)
    if relation.history is not None and relation.history.partition_by and parts:
        row.newest = parts[-1].name
        row.days = [day(part) for part in parts[-RECENT:]]
    return row


def day(part: Seen) -> DayBody:
    """A partition in the chart of rows."""
    return DayBody(partition=part.name, rows=part.metrics.get("rows"), failed=bool(part.reasons))


def seen(database: Results, newest: QualityOutcome) -> tuple[Seen, ...]:
    """The partitions of a stream by name, each as its newest check found it.

    Args:
        newest: the stream's newest outcome.
    """
    return _seen(database, _Stamp(newest.subject, newest.run_id, newest.job, newest.checked_at.isoformat()))


@dataclass(frozen=True)
class _Stamp:
    """The newest check of a stream: what was read before holds while it is the newest."""

    stream: str
    run_id: str
    job: str
    moment: str


@lru_cache(maxsize=64)
def _seen(database: Results, stamp: _Stamp) -> tuple[Seen, ...]:
    seen: dict[str, Seen] = {}
    ranges: list[tuple[str, str]] = []
    for outcome in _checks(database, stamp.stream):
        metrics = database.partition_metrics(outcome.run_id, stamp.stream, outcome.job)
        reasons = {failure.get("partition"): tuple(failure.get("reasons", ())) for failure in outcome.failed}
        # A check looks at all partitions of its range: what a newer one did not see there is gone.
        older = [
            Seen(metric.partition, metric.metrics, reasons.get(metric.partition, ()), outcome)
            for metric in metrics
            if metric.partition not in seen
            and not any(low <= metric.partition <= high for low, high in ranges)
        ]
        if ranges and not older and len(metrics) >= len(seen):
            break
        seen |= {partition.name: partition for partition in older}
        if metrics:
            ranges.append((metrics[0].partition, metrics[-1].partition))
    return tuple(seen[name] for name in sorted(seen))


def _checks(database: Results, stream: str) -> Iterator[QualityOutcome]:
    """The newest checks of a stream, a few at a time: mostly the first two are enough."""
    for offset in range(0, LOOKED_BACK, READ_AT_ONCE):
        yield from (some := database.quality_of("stream", stream, READ_AT_ONCE, offset))
        if len(some) < READ_AT_ONCE:
            return


def detail(name: str) -> StreamDetail:
    """All that is declared and was observed of a stream.

    Raises:
        Refused: the catalog has none of this name.
    """
    relation, newest = relation_of(name), _newest(name)
    parts = () if newest is None else seen(store(), newest)
    reads = made_of.read_by()
    detail = StreamDetail(
        summary=_row(relation, newest, reads),
        timestamp=relation.timestamp,
        granularity=relation.granularity,
        allowed_lateness=relation.allowed_lateness,
        columns=[_column(relation, column, parts, newest) for column in relation.columns],
        rates=_rates(relation, parts),
        readers=_readers(name, reads),
    )
    if relation.history is not None:
        detail.history, detail.partition_by = relation.history.path, relation.history.partition_by
    outside = _of(parts, "outside_day")
    detail.outside_day = sum(outside) if outside else None
    detail.first = min(_of(parts, "first"), default=None)
    detail.last = max(_of(parts, "last"), default=None)
    return detail


def _of(parts: Iterable[Seen], key: str) -> list[Any]:
    """What was recorded under a key; where the catalog has changed since, what is of the newest kind."""
    figures = [part.metrics[key] for part in parts if part.metrics.get(key) is not None]
    return [value for value in figures if type(value) is type(figures[-1])]


def _column(
    relation: Relation, column: Column, parts: Sequence[Seen], newest: QualityOutcome | None
) -> ColumnBody:
    name = column.name
    different = {} if newest is None else newest.observed.get(name, {})
    by_column = {
        key: [part.metrics[key][name] for part in parts if part.metrics.get(key, {}).get(name) is not None]
        for key in ("least", "greatest", "nulls", "outside_domain")
    }
    is_number = column.type.family is Family.NUMBER
    ordered: Any = _number if is_number else str
    for key in ("least", "greatest"):
        # A text that is no number is from when the column was declared otherwise.
        by_column[key] = [value for value in by_column[key] if not is_number or _number(value)]
    return ColumnBody(
        name=name,
        type=column.type.name,
        nullable=column.nullable,
        timestamp=name == relation.timestamp,
        domain=domain_words(column),
        least=min(by_column["least"], key=ordered, default=None),
        greatest=max(by_column["greatest"], key=ordered, default=None),
        different=different.get("different"),
        exact=different.get("exact", True),
        nulls=sum(by_column["nulls"]) if by_column["nulls"] else None,
        outside=sum(by_column["outside_domain"]) if by_column["outside_domain"] else None,
    )


def _number(value: Any) -> tuple[bool, Decimal] | None:
    """What recorded numbers are compared by: decimals are texts, and nan is the greatest, as DuckDB has it;
    None of what is none."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number.is_nan(), Decimal(0) if number.is_nan() else number


def _rates(relation: Relation, parts: Sequence[Seen]) -> list[RateBody]:
    bounds = []
    if relation.timestamp is not None:
        most = max(_of(parts, "most_rows_at_one_timestamp"), default=None)
        says = f"rows at one {relation.timestamp}"
        bounds.append(RateBody(says=says, declared=relation.max_rows_per_timestamp, observed=most))
    if relation.rate is not None:
        says = f"rows per {relation.rate.per} (counted where the stream is evaluated)"
        bounds.append(RateBody(says=says, declared=relation.rate.rows, observed=None))
    most = max(_of(parts, "rows"), default=None)
    if (
        relation.kind is not RelationKind.STATIC
        and relation.history is not None
        and relation.history.partition_by
    ):
        unit = "day" if relation.history.partition_by == "date" else relation.history.partition_by
        bounds.append(RateBody(says=f"rows per {unit}", declared=None, observed=most))
    return bounds


def _readers(name: str, reads: Mapping[str, Sequence[str]]) -> list[ReaderBody]:
    rows, lead = overview.rows(), f"{name} "
    missing = {
        answer.query: [
            partition.removeprefix(lead)
            for partition in answer.missing_partitions
            if partition.startswith(lead)
        ]
        for answer in store().latest_answers()
    }
    return [
        ReaderBody(
            name=reader,
            verdict=rows[reader].verdict if reader in rows else "unchecked",
            through=list(through),
            missing=missing.get(reader, []),
        )
        for reader, through in made_of.readers(name, reads).items()
    ]


def checked(name: str, limit: int) -> list[DayBody]:
    """The last partitions that were checked of a stream, whether or not the catalog still has it."""
    newest = _newest(name)
    return [] if newest is None else [day(part) for part in seen(store(), newest)[-limit:]]


def partitions(name: str, failed: bool, limit: int, offset: int) -> PartitionPage:
    """Partitions of a stream as their newest checks found them, the newest first.

    Raises:
        Refused: the catalog has none of this name.
    """
    relation_of(name)
    newest = _newest(name)
    parts = () if newest is None else seen(store(), newest)
    wrong = [part for part in parts if part.reasons]
    chosen = (wrong if failed else list(parts))[::-1]
    return PartitionPage(
        total=len(chosen),
        failed=len(wrong),
        partitions=[_partition(part) for part in chosen[offset : offset + limit]],
    )


def _partition(part: Seen) -> PartitionBody:
    metrics, outcome = part.metrics, part.outcome
    return PartitionBody(
        partition=part.name,
        quality="failed" if part.reasons else "ok",
        reasons=list(part.reasons),
        rows=metrics.get("rows"),
        # Of what cannot be read nothing was counted.
        nulls=None if metrics.get("rows") is None else metrics.get("nulls_total"),
        first=metrics.get("first"),
        last=metrics.get("last"),
        checked_at=outcome.checked_at,
        run_id=outcome.run_id,
        job=outcome.job,
    )
