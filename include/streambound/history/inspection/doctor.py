"""What is known before Spark starts: what a run would refuse, and what it would read.

Folders, names of partitions and the footers of all files are looked at, and the rows of the newest partition
of each stream, by the checks that a run makes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from streambound.checkpoint.inputs import identity
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import CatalogError, DataError, QueryError, StreamboundError
from streambound.evaluation.promises import domain_text
from streambound.history.prepare import Draft, Job, Registered, draft_of, prepare
from streambound.query.catalog import Catalog
from streambound.query.column_types import EPOCH, Family, shown
from streambound.query.model import Relation, RelationKind
from streambound.storage.files import footers, readable
from streambound.storage.partitions import (
    DAYS,
    Partition,
    PartitionRange,
    day_of,
    partitions_in,
    require_sound,
)
from streambound.tasks import encoded_sql
from streambound.tasks.embedded_engine import EmbeddedEngine, EngineQuery, opened
from streambound.tasks.promises import faults
from streambound.tasks.statements import TUPLES

DAY = 86_400_000_000


@dataclass(frozen=True)
class Finding:
    """Something that a run refuses or that is probably wrong; ``column`` is None where it is about all."""

    check: str
    message: str
    fix: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class Cost:
    """What is read: partitions (of each stream), files, bytes on disk, and rows."""

    partitions: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True)
class PartitionCost:
    """A partition of a stream: its name, an identity of its files, and what it costs."""

    partition: str
    identity: str
    cost: Cost


@dataclass(frozen=True)
class Examined:
    """A relation: what lies in its history, what the newest partition holds, and what was found.

    ``ranges`` are the least and greatest value of each column in words, with its domain if one is declared;
    ``zone`` is the time zone of the stored timestamps (empty: none); ``most`` rows share a timestamp.
    """

    stream: str
    key: str | None = None
    parts: tuple[PartitionCost, ...] = ()
    empty: tuple[str, ...] = ()
    newest: str | None = None
    ranges: Mapping[str, tuple[str, str, str | None]] | None = None
    zone: str | None = None
    most: int | None = None
    declared: int | None = None
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object that ``doctor --format json`` prints."""
        names = [part.partition for part in self.parts]
        ranges = {
            name: {"min": low, "max": high, "domain": domain}
            for name, (low, high, domain) in (self.ranges or {}).items()
        }
        return {
            "stream": self.stream,
            "partition_by": self.key,
            **asdict(summed(self.parts)),
            "first": names[0] if names else None,
            "last": names[-1] if names else None,
            "empty": list(self.empty),
            "newest": self.newest,
            "ranges": ranges,
            "time_zone": self.zone,
            "most_rows_per_timestamp": self.most,
            "max_rows_per_timestamp": self.declared,
            "findings": [asdict(finding) for finding in self.findings],
        }


@dataclass(frozen=True)
class Diagnosis:
    """A query: its verdict, what a run reads in all and of that anew, and what it would refuse."""

    query: str
    verdict: str
    units: int | None
    streams: tuple[str, ...]
    cost: Cost
    anew: Cost
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``doctor --format json`` prints."""
        body = {**vars(self), "streams": list(self.streams)}
        body |= {"cost": asdict(self.cost), "anew": asdict(self.anew)}
        return {**body, "findings": [asdict(finding) for finding in self.findings]}


def summed(partitions: Iterable[PartitionCost]) -> Cost:
    """What some partitions cost together."""
    costs = [part.cost for part in partitions]
    return Cost(*(sum(column) for column in zip(*(vars(c).values() for c in costs), strict=True)))


def diagnose(
    queries: Sequence[Registered], catalog: Catalog, checkpoints: str
) -> tuple[list[Examined], list[Diagnosis]]:
    """Examine queries and the histories that they read, each once, without Spark.

    Args:
        checkpoints: where those of registered queries are, which tell what has been read before.

    Raises:
        StorageError: a folder or the checkpoints cannot be read.
    """
    drafts = {query.name: _draft(query, catalog) for query in queries}
    wanted: dict[str, tuple[Relation, set[str]]] = {}
    for outcome in drafts.values():
        for relation, columns in _reads(outcome):
            wanted.setdefault(relation.name, (relation, set()))[1].update(columns)
    with opened() as session:
        examined = {name: examine(session, *wanted[name]) for name in sorted(wanted)}
    return list(examined.values()), [
        _diagnosis(name, outcome, examined, checkpoints) for name, outcome in drafts.items()
    ]


def _draft(query: Registered, catalog: Catalog) -> Draft | StreamboundError:
    unreadable: StreamboundError | None = getattr(query, "error", None)
    try:
        return unreadable or draft_of(query, catalog)
    except StreamboundError as error:
        return error.about(query.name)


def _reads(draft: Draft | StreamboundError) -> Iterator[tuple[Relation, frozenset[str]]]:
    """The relations of a query, each with the columns that it reads."""
    if isinstance(draft, Draft):
        statement = draft.statement
        for relation in statement.scanned:
            stamp = {str(relation.timestamp)} if statement.reads_time(relation) else set()
            yield relation, frozenset(relation.stored(statement.columns(relation.name))) | stamp


# Histories.


def examine(session: EmbeddedEngine, relation: Relation, columns: AbstractSet[str]) -> Examined:
    """What lies in the history of a relation, as far as these columns are concerned."""
    history = relation.history
    key = history.partition_by if history else None
    if history is not None and not history.direct:
        return Examined(relation.name, key)
    try:
        parts = partitions_in(relation, PartitionRange())
    except StreamboundError as error:
        return Examined(relation.name, key, findings=(_finding("history", error),))
    findings: dict[tuple[str, str | None], list[tuple[str, StreamboundError]]] = {}
    costs, names = [], sorted(columns)
    for part in parts:
        files, rows = tuple(map(str, part.files)), 0
        try:
            require_sound(relation, part)
            promised = footers(relation, names, files)
            rows = promised.rows
            for column, fault in promised.faults.items():
                findings.setdefault(("schema", column), []).append((part.name, fault))
        except StreamboundError as error:
            # What cannot be read is there all the same; how many rows it has is not known.
            findings.setdefault(("partition", None), []).append((part.name, error))
        if files:
            size = sum(file.stat().st_size for file in part.files if file.exists())
            costs.append(PartitionCost(part.name, identity(part.files), Cost(1, len(files), size, rows)))
    joined_findings = tuple(_merged_finding(at, mine) for at, mine in findings.items())
    empty = tuple(part.name for part in parts if not part.files)
    filled = {share.partition for share in costs if share.cost.rows}
    newest = next((part for part in reversed(parts) if part.name in filled), None)
    base = Examined(relation.name, key, tuple(costs), empty, findings=joined_findings)
    if newest is None:
        return base
    unfit = {column for (_, column), mine in findings.items() if newest.name in dict(mine)}
    return _newest(session, base, relation, sorted(columns - unfit), newest)


def _finding(check: str, error: StreamboundError, column: str | None = None) -> Finding:
    where = f"{error.subject}: " if error.subject else ""
    return Finding(check, where + error.message, error.fix, column)


def _merged_finding(at: tuple[str, str | None], mine: Sequence[tuple[str, StreamboundError]]) -> Finding:
    check, column = at
    first = _finding(check, mine[0][1], column)
    more = "" if len(mine) == 1 else f" (and likewise {len(mine) - 1:,} more, up to partition {mine[-1][0]})"
    return Finding(check, first.message + more, first.fix, column)


def _newest(
    session: EmbeddedEngine, base: Examined, relation: Relation, columns: Sequence[str], part: Partition
) -> Examined:
    """With what the rows of the newest partition tell."""
    files, stamp = list(map(str, part.files)), relation.timestamp
    findings, ranges, most, zone = list(base.findings), dict[str, tuple[str, str, str | None]](), None, None
    try:
        with session.tuples(relation, columns, [files], copied=True):
            (broken,) = faults(session, relation, columns, [files])
            findings += [_finding("promise", error, column) for column, error in broken.items()]
            ends = _ends(session, relation, columns)
            if stamp in columns:
                most = _most(session, str(stamp))
    except DataError as error:
        findings.append(_finding("partition", error.about(f"partition {part.name}")))
        ends = {}
    for name, (low, high) in ends.items():
        kind, column = relation.column(name).type, relation.column(name)
        domain = None if column.domain is None else domain_text(column)
        ranges[name] = (shown(kind.decode(low)), shown(kind.decode(high)), domain)
    if stamp in ends and relation.column(str(stamp)).type.family is Family.TIMESTAMP:
        zone = _zone(str(stamp), files)
        if (wrong := _outside_day(relation, part.name, *ends[str(stamp)])) is not None:
            findings.append(wrong)
    return Examined(
        **{
            **vars(base),
            "newest": part.name,
            "ranges": ranges,
            "zone": zone,
            "most": most,
            "declared": relation.max_rows_per_timestamp,
            "findings": tuple(findings),
        }
    )


def _ends(session: EmbeddedEngine, relation: Relation, columns: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """The least and the greatest value (encoded) of the columns that have any."""
    if not columns:
        return {}
    nodes = [
        encoded_sql.outward(encoded_sql.column(name, TUPLES), relation.column(name).type) for name in columns
    ]
    ends = [kind(this=node.copy()) for node in nodes for kind in (exp.Min, exp.Max)]
    statement = exp.select(*ends).from_(encoded_sql.table(TUPLES)).sql(dialect=encoded_sql.DIALECT)
    (row,) = session.rows(EngineQuery(statement))
    pairs = zip(columns, zip(row[::2], row[1::2], strict=True), strict=True)
    return {
        n: (encoded_sql.encoded(low), encoded_sql.encoded(high))
        for n, (low, high) in pairs
        if low is not None
    }


def _most(session: EmbeddedEngine, stamp: str) -> int:
    """The most rows that share a timestamp."""
    at = encoded_sql.column(stamp, TUPLES)
    count = exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True)
    counts = exp.select(count).from_(encoded_sql.table(TUPLES)).group_by(at).subquery("counts")
    statement = exp.select(exp.Max(this=encoded_sql.column("n", "counts"))).from_(counts)
    ((most,),) = session.rows(EngineQuery(statement.sql(dialect=encoded_sql.DIALECT)))
    return int(most or 0)


def _zone(stamp: str, files: Iterable[str]) -> str:
    """The time zone of the stored timestamps; empty for none."""
    zones = set()
    for file in files:
        with readable(file):
            stored = pq.read_schema(file).field(stamp).type
        zones.add(stored.tz or "" if pa.types.is_timestamp(stored) else "")
    return ", ".join(sorted(zones))


def _outside_day(relation: Relation, name: str, low: int, high: int) -> Finding | None:
    """What is said of timestamps outside the UTC day that names their partition."""
    key = relation.history.partition_by if relation.history else None
    day = day_of(name) if key == DAYS else None
    if day is None:
        return None
    start = (dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)
    if start <= low and high < start + DAY:
        return None
    kind = relation.column(str(relation.timestamp)).type
    first, last = (shown(kind.decode(end)) for end in (low, high))
    return Finding(
        "range",
        f"partition {name} has timestamps from {first} to {last} (UTC), which is not its day",
        "write timestamps in UTC, or partition by their UTC day: a query that compares timestamps refuses"
        " partitions that overlap",
        relation.timestamp,
    )


# Queries.


def _diagnosis(
    name: str, outcome: Draft | StreamboundError, examined: Mapping[str, Examined], checkpoints: str
) -> Diagnosis:
    if not isinstance(outcome, Draft):
        invalid = isinstance(outcome, (QueryError, CatalogError))
        verdict = "invalid" if invalid else "bounded"
        return Diagnosis(name, verdict, None, (), Cost(), Cost(), (_finding("query", outcome),))
    reads = {relation.name: columns for relation, columns in _reads(outcome)}
    mine = tuple(examined[stream] for stream in reads)
    findings, job = list(_zones(outcome, mine)), None
    if not outcome.evaluated:
        findings.append(_undecided(outcome))
    broken = [f for item in mine for f in item.findings if f.column is None or f.column in reads[item.stream]]
    if not broken:
        try:
            job = prepare(outcome, PartitionRange(), {}) if all(item.parts for item in mine) else None
        except StreamboundError as error:
            findings.append(_finding("run", error))
    arriving = {r.name for r in outcome.statement.scanned if r.kind is not RelationKind.STATIC}
    costs = [(item.stream, part) for item in mine if item.stream in arriving for part in item.parts]
    evaluated = _evaluated_inputs(name, job, checkpoints)
    anew = (part for stream, part in costs if (stream, part.partition, part.identity) not in evaluated)
    plan = None if job is None else job.plan
    return Diagnosis(
        query=name,
        verdict=outcome.verdict.outcome.value,
        units=None if plan is None else plan.max_units,
        streams=tuple(reads),
        cost=summed(part for _, part in costs),
        anew=summed(anew),
        findings=(*findings, *broken),
    )


def _undecided(draft: Draft) -> Finding:
    said = f"the query is {draft.verdict.outcome.value}: {draft.verdict.reasons[0].message}"
    return Finding("verdict", said, "see streambound check")


def _zones(draft: Draft, mine: Iterable[Examined]) -> Iterator[Finding]:
    """What is said where streams that are put in one order store time in different ways."""
    kinds = {
        relation.name for relation in draft.statement.scanned if relation.kind is not RelationKind.STATIC
    }
    zones = {
        examined.stream: examined.zone
        for examined in mine
        if examined.stream in kinds and examined.zone is not None
    }
    if len({bool(zone) for zone in zones.values()}) > 1:
        listed = ", ".join(f"{name} with {zone or 'none'}" for name, zone in sorted(zones.items()))
        yield Finding(
            "time zone",
            f"timestamps are stored with time zones and without, which are then read as UTC: {listed}",
            "write all timestamps in UTC, with the time zone",
        )


def _evaluated_inputs(name: str, job: Job | None, checkpoints: str) -> set[tuple[str, str, str]]:
    """Stream, partition and identity of what the next run need not read again."""
    if job is None or job.plan is None:
        return set()
    if "://" not in checkpoints and not Path(address_of(checkpoints, name)).exists():
        return set()
    table, mine = CheckpointTable(address_of(checkpoints, name), name), job.plan.fingerprint(job.static)
    rows = (row for row in table.rows.values() if row.fingerprint == mine)
    return {(s, row.partition, i.identity) for row in rows for s, i in row.inputs.items()}
