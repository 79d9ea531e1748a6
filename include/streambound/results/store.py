"""Recording and reading results. A write is one transaction; writing the same again replaces it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from sqlalchemy import URL, Column, ColumnElement, Engine, Subquery, Table, and_, delete, func, select

from streambound import settings
from streambound.results.connection import connect, parse_url, prepare, transaction
from streambound.results.records import (
    EVALUATED_BY,
    Answer,
    CacheAnswer,
    CacheBenchmark,
    CacheEstimate,
    Figure,
    PartitionMetrics,
    QualityOutcome,
    QuerySummary,
    Run,
    VerdictRecord,
    now,
)
from streambound.results.schema import (
    ANSWERS,
    CACHE_ANSWERS,
    CACHE_BENCHMARKS,
    CACHE_ESTIMATES,
    FIGURES,
    PARTITION_METRICS,
    QUALITY,
    RUNS,
    VERDICTS,
)
from streambound.results.writing import upsert

Record = TypeVar(
    "Record",
    Answer,
    CacheAnswer,
    CacheBenchmark,
    CacheEstimate,
    Figure,
    PartitionMetrics,
    QualityOutcome,
    Run,
    VerdictRecord,
)


class Results:
    """The results database at a SQLAlchemy address; connects, and creates its tables, at first use.

    Every method raises StorageError where the database fails.
    """

    def __init__(self, url: str | None = None) -> None:
        self._url = parse_url(url or settings.database_url())
        self._engine: Engine | None = None

    @property
    def url(self) -> URL:
        """The address; its text masks the password."""
        return self._url

    def record_verdicts(
        self, run_id: str, verdicts: Iterable[Mapping[str, Any]], checked_at: dt.datetime | None = None
    ) -> None:
        """Records objects of ``streambound check --format json``, each with ``sql`` added if known."""
        moment = checked_at or now()
        self._write(VERDICTS, [VerdictRecord.from_json(run_id, body, moment) for body in verdicts])

    def record_run(self, run: Run) -> None:
        """Records the start or the end of a run; what is None keeps what was recorded before."""
        self._write(RUNS, [run], keep_known=True)

    def record_answer(self, answer: Answer) -> None:
        """Records what one query's evaluation gave."""
        self._write(ANSWERS, [answer])

    def record_cache_answer(self, answer: CacheAnswer) -> None:
        """Records how complete the answer of an unbounded query is."""
        self._write(CACHE_ANSWERS, [answer])

    def record_cache_benchmarks(self, run_id: str, benchmarks: Sequence[CacheBenchmark]) -> None:
        """Records the benchmarks of one run; those of an earlier try are forgotten."""
        self._write_run(CACHE_BENCHMARKS, run_id, benchmarks)

    def record_cache_estimates(self, run_id: str, estimates: Sequence[CacheEstimate]) -> None:
        """Records what estimates were worth in one run; those of an earlier try are forgotten."""
        self._write_run(CACHE_ESTIMATES, run_id, estimates)

    def record_quality(self, outcome: QualityOutcome) -> None:
        """Records the quality of a stream or of a query's answers."""
        self._write(QUALITY, [outcome])

    def record_figures(self, figures: Sequence[Figure]) -> None:
        """Records measured numbers."""
        self._write(FIGURES, figures)

    def record_partition_metrics(
        self, run_id: str, stream: str, metrics: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Records ``{partition: metrics}`` of one stream; partitions of an earlier try are forgotten."""
        rows = [PartitionMetrics(run_id, stream, name, values) for name, values in metrics.items()]
        table = PARTITION_METRICS
        with transaction(self._ready(), writing=True) as connection:
            connection.execute(delete(table).where(table.c.run_id == run_id, table.c.stream == stream))
            upsert(connection, table, [asdict(row) for row in rows])

    def latest_verdicts(self, criterion: str = EVALUATED_BY) -> list[VerdictRecord]:
        """The newest verdict of each query under one criterion, or under none that is named; by query."""
        where = [_under(criterion)]
        return self._newest(VerdictRecord, VERDICTS, VERDICTS.c.checked_at, [VERDICTS.c.query], where=where)

    def earlier_verdicts(self, run_id: str) -> list[VerdictRecord]:
        """Of each query and criterion the newest verdict before those of a run, of those that decided."""
        decided = VERDICTS.c.verdict.in_(("bounded", "unbounded"))
        keys = [VERDICTS.c.query, VERDICTS.c.criterion]
        moment = VERDICTS.c.checked_at
        where = [decided, _before(VERDICTS, moment, run_id)]
        return self._newest(VerdictRecord, VERDICTS, moment, keys, where=where)

    def earlier_answers(self, run_id: str) -> list[Answer]:
        """Of each query the newest evaluation before those of a run."""
        moment = ANSWERS.c.evaluated_at
        where = [_before(ANSWERS, moment, run_id)]
        return self._newest(Answer, ANSWERS, moment, [ANSWERS.c.query], where=where)

    def latest_answers(self) -> list[Answer]:
        """The newest evaluation of each query, by query."""
        return self._newest(Answer, ANSWERS, ANSWERS.c.evaluated_at, [ANSWERS.c.query])

    def latest_quality(self) -> list[QualityOutcome]:
        """The newest quality of each subject, by kind and subject."""
        keys = [QUALITY.c.kind, QUALITY.c.subject]
        return self._newest(QualityOutcome, QUALITY, QUALITY.c.checked_at, keys)

    def latest_summary(self) -> list[QuerySummary]:
        """For each query with a verdict (of the criterion that evaluations go by) or an answer the newest of
        each, with the quality of its answers and of the streams that the answer read; by query."""
        verdicts = {v.query: v for v in self.latest_verdicts()}
        answers = {a.query: a for a in self.latest_answers()}
        quality = {(q.kind, q.subject): q for q in self.latest_quality()}
        return [
            QuerySummary(name, verdicts.get(name), answers.get(name), _of(name, answers.get(name), quality))
            for name in sorted(verdicts | answers)
        ]

    def verdicts(self, run_id: str) -> list[VerdictRecord]:
        """The verdicts of one run, by query."""
        return self._of_run(VerdictRecord, VERDICTS, run_id, VERDICTS.c.query)

    def answers(self, run_id: str) -> list[Answer]:
        """The answers of one run, by query."""
        return self._of_run(Answer, ANSWERS, run_id, ANSWERS.c.query)

    def cache_answers(self, run_id: str) -> list[CacheAnswer]:
        """How complete the answers of one run are that were made in k tuples of memory, by query."""
        return self._of_run(CacheAnswer, CACHE_ANSWERS, run_id, CACHE_ANSWERS.c.query)

    def cache_benchmarks(self, run_id: str) -> list[CacheBenchmark]:
        """The benchmarks of caches of one run, by query, size and contender."""
        columns = CACHE_BENCHMARKS.c
        order = (columns.query, columns.size, columns.contender)
        return self._of_run(CacheBenchmark, CACHE_BENCHMARKS, run_id, *order)

    def cache_estimates(self, run_id: str) -> list[CacheEstimate]:
        """What estimates were worth in the benchmark of one run, by query and size."""
        columns = CACHE_ESTIMATES.c
        return self._of_run(CacheEstimate, CACHE_ESTIMATES, run_id, columns.query, columns.size)

    def latest_cache_answers(self) -> list[CacheAnswer]:
        """The newest of each query, by query."""
        table = CACHE_ANSWERS
        return self._newest(CacheAnswer, table, table.c.evaluated_at, [table.c.query])

    def quality(self, run_id: str) -> list[QualityOutcome]:
        """The quality found by one run, by kind and subject."""
        return self._of_run(QualityOutcome, QUALITY, run_id, QUALITY.c.kind, QUALITY.c.subject)

    def figures(self, run_id: str) -> list[Figure]:
        """The figures of one run, by name."""
        return self._of_run(Figure, FIGURES, run_id, FIGURES.c.name)

    def partition_metrics(self, run_id: str, stream: str) -> list[PartitionMetrics]:
        """The metrics of a stream's partitions in one run, by partition."""
        table = PARTITION_METRICS
        statement = select(table).where(table.c.run_id == run_id, table.c.stream == stream)
        return self._read(PartitionMetrics, statement.order_by(table.c.partition))

    def runs(self, limit: int = 100, offset: int = 0, job: str | None = None) -> list[Run]:
        """The newest runs first, of one job or of all."""
        chosen = select(RUNS) if job is None else select(RUNS).where(RUNS.c.job == job)
        order = (RUNS.c.started_at.desc(), RUNS.c.job, RUNS.c.run_id)
        return self._read(Run, chosen.order_by(*order).limit(limit).offset(offset))

    def run(self, job: str, run_id: str) -> Run | None:
        """One run of a job; None if it was not recorded."""
        found = self._read(Run, select(RUNS).where(RUNS.c.job == job, RUNS.c.run_id == run_id))
        return found[0] if found else None

    def jobs_of(self, run_id: str) -> list[str]:
        """The jobs that recorded a run of this id."""
        return sorted(run.job for run in self._read(Run, select(RUNS).where(RUNS.c.run_id == run_id)))

    def recent_answers(self, number: int) -> list[Answer]:
        """The newest evaluations of each query, by query, the newest first."""
        return self._newest(Answer, ANSWERS, ANSWERS.c.evaluated_at, [ANSWERS.c.query], number)

    def verdicts_of(
        self, query: str, limit: int = 100, offset: int = 0, criterion: str | None = None
    ) -> list[VerdictRecord]:
        """A query's verdicts, the newest first; of one criterion, or of all."""
        where = () if criterion is None else (_under(criterion),)
        return self._of_query(VerdictRecord, VERDICTS, VERDICTS.c.checked_at, query, limit, offset, where)

    def answers_of(self, query: str, limit: int = 100, offset: int = 0) -> list[Answer]:
        """A query's evaluations, the newest first."""
        return self._of_query(Answer, ANSWERS, ANSWERS.c.evaluated_at, query, limit, offset)

    def cache_answers_of(self, query: str, limit: int = 100, offset: int = 0) -> list[CacheAnswer]:
        """A query's evaluations in k tuples of memory, the newest first."""
        table = CACHE_ANSWERS
        return self._of_query(CacheAnswer, table, table.c.evaluated_at, query, limit, offset)

    def newest_moments(self) -> tuple[dt.datetime | None, ...]:
        """When a verdict, an evaluation, one in k tuples and a quality were last recorded: what was read
        before holds as long as these are the same."""
        moments = (
            VERDICTS.c.checked_at,
            ANSWERS.c.evaluated_at,
            CACHE_ANSWERS.c.evaluated_at,
            QUALITY.c.checked_at,
        )
        asked = select(*(select(func.max(moment)).scalar_subquery() for moment in moments))
        with transaction(self._ready(), writing=False) as connection:
            return tuple(connection.execute(asked).one())

    def _ready(self) -> Engine:
        if self._engine is None:
            engine = connect(self._url)
            prepare(engine)
            self._engine = engine
        return self._engine

    def _write(self, table: Table, records: Sequence[Record], *, keep_known: bool = False) -> None:
        if records:
            with transaction(self._ready(), writing=True) as connection:
                upsert(connection, table, [asdict(record) for record in records], keep_known)

    def _write_run(self, table: Table, run_id: str, records: Sequence[Record]) -> None:
        """All that a table has of one run."""
        with transaction(self._ready(), writing=True) as connection:
            connection.execute(delete(table).where(table.c.run_id == run_id))
            upsert(connection, table, [asdict(one) for one in records])

    def _read(self, kind: type[Record], statement: Any) -> list[Record]:
        with transaction(self._ready(), writing=False) as connection:
            rows = connection.execute(statement).mappings().all()
        names = [f.name for f in fields(kind)]
        return [kind(**{name: _frozen(row[name]) for name in names}) for row in rows]

    def _of_run(self, kind: type[Record], table: Table, run_id: str, *order: Column[Any]) -> list[Record]:
        return self._read(kind, select(table).where(table.c.run_id == run_id).order_by(*order))

    def _of_query(
        self,
        kind: type[Record],
        table: Table,
        moment: Column[Any],
        query: str,
        limit: int,
        offset: int,
        where: Sequence[ColumnElement[bool]] = (),
    ) -> list[Record]:
        chosen = select(table).where(table.c.query == query, *where)
        order = (moment.desc(), table.c.run_id.desc())
        return self._read(kind, chosen.order_by(*order).limit(limit).offset(offset))

    def _newest(
        self,
        kind: type[Record],
        table: Table,
        moment: Column[Any],
        keys: list[Column[Any]],
        number: int = 1,
        where: Sequence[ColumnElement[bool]] = (),
    ) -> list[Record]:
        place = func.row_number().over(partition_by=keys, order_by=[moment.desc(), table.c.run_id.desc()])
        key = list(table.primary_key)
        # Ranked by columns of an index alone, so that only the rows that are wanted are read.
        ranked: Subquery = select(*key, place.label("place")).where(*where).subquery()
        found = select(table).join(ranked, and_(*(column == ranked.c[column.name] for column in key)))
        return self._read(kind, found.where(ranked.c.place <= number).order_by(*keys, ranked.c.place))


def _under(criterion: str) -> ColumnElement[bool]:
    # A verdict without a criterion is one of a text that could not be read, whichever was asked for.
    return (VERDICTS.c.criterion == criterion) | VERDICTS.c.criterion.is_(None)


def _before(table: Table, moment: Column[Any], run_id: str) -> ColumnElement[bool]:
    """Rows of other runs that are older than all of a run's; none if it has none."""
    first = select(func.min(moment)).where(table.c.run_id == run_id).scalar_subquery()
    return (table.c.run_id != run_id) & (moment < first)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _of(
    query: str, answer: Answer | None, quality: Mapping[tuple[str, str], QualityOutcome]
) -> tuple[QualityOutcome, ...]:
    keys = [("stream", stream) for stream in (answer.streams if answer else ())] + [("answers", query)]
    return tuple(quality[key] for key in keys if key in quality)
