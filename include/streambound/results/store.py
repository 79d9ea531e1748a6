"""Recording and reading results. A write is one transaction; writing the same again replaces it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select

from streambound.results.connection import transaction
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
from streambound.results.rows import Rows, before, in_run
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


class Results(Rows):
    """The results database at a SQLAlchemy address; connects, and creates its tables, at first use.

    A run is told by its id and its job, the id of its DAG; the job is empty where none was recorded. Every
    method raises StorageError where the database fails.
    """

    def record_verdicts(
        self,
        run_id: str,
        verdicts: Iterable[Mapping[str, Any]],
        checked_at: dt.datetime | None = None,
        job: str = "",
    ) -> None:
        """Records objects of ``streambound check --format json``, each with ``sql`` added if known."""
        moment = checked_at or now()
        self._write(VERDICTS, [VerdictRecord.from_json(run_id, body, moment, job) for body in verdicts])

    def record_run(self, run: Run) -> None:
        """Records the start or the end of a run; what is None keeps what was recorded before."""
        self._write(RUNS, [run], keep_existing=True)

    def record_answer(self, answer: Answer) -> None:
        """Records what one query's evaluation gave."""
        self._write(ANSWERS, [answer])

    def record_cache_answer(self, answer: CacheAnswer) -> None:
        """Records how complete the answer of an unbounded query is."""
        self._write(CACHE_ANSWERS, [answer])

    def record_cache_benchmarks(
        self, run_id: str, benchmarks: Sequence[CacheBenchmark], job: str = ""
    ) -> None:
        """Records the benchmarks of one run; those of an earlier try are forgotten."""
        self._write_run(CACHE_BENCHMARKS, run_id, job, benchmarks)

    def record_cache_estimates(self, run_id: str, estimates: Sequence[CacheEstimate], job: str = "") -> None:
        """Records what estimates were worth in one run; those of an earlier try are forgotten."""
        self._write_run(CACHE_ESTIMATES, run_id, job, estimates)

    def record_quality(self, outcome: QualityOutcome) -> None:
        """Records the quality of a stream or of a query's answers."""
        self._write(QUALITY, [outcome])

    def record_figures(self, figures: Sequence[Figure]) -> None:
        """Records measured numbers."""
        self._write(FIGURES, figures)

    def record_partition_metrics(
        self, run_id: str, stream: str, metrics: Mapping[str, Mapping[str, Any]], job: str = ""
    ) -> None:
        """Records ``{partition: metrics}`` of one stream; partitions of an earlier try are forgotten."""
        rows = [PartitionMetrics(run_id, stream, name, values, job) for name, values in metrics.items()]
        self._write_run(PARTITION_METRICS, run_id, job, rows, PARTITION_METRICS.c.stream == stream)

    def latest_verdicts(
        self, criterion: str = EVALUATED_BY, until: dt.datetime | None = None
    ) -> list[VerdictRecord]:
        """The newest verdict of each query under one criterion, or under none that is named; by query.

        Args:
            until: the newest of those that were recorded up to a moment.
        """
        where = [_under(criterion), *([] if until is None else [VERDICTS.c.checked_at <= until])]
        return self._newest(VerdictRecord, VERDICTS, VERDICTS.c.checked_at, [VERDICTS.c.query], where=where)

    def earlier_verdicts(self, run_id: str, job: str = "") -> list[VerdictRecord]:
        """Of each query and criterion the newest verdict before those of a run, of those that decided."""
        decided = VERDICTS.c.verdict.in_(("bounded", "unbounded"))
        keys = [VERDICTS.c.query, VERDICTS.c.criterion]
        moment = VERDICTS.c.checked_at
        where = [decided, before(VERDICTS, moment, run_id, job)]
        return self._newest(VerdictRecord, VERDICTS, moment, keys, where=where)

    def earlier_answers(self, run_id: str, job: str = "") -> list[Answer]:
        """The newest evaluation of each query before those of a run."""
        moment = ANSWERS.c.evaluated_at
        where = [before(ANSWERS, moment, run_id, job)]
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

    def verdicts(self, run_id: str, job: str = "") -> list[VerdictRecord]:
        """The verdicts of one run, by query."""
        return self._of_run(VerdictRecord, VERDICTS, run_id, job, VERDICTS.c.query)

    def answers(self, run_id: str, job: str = "") -> list[Answer]:
        """The answers of one run, by query."""
        return self._of_run(Answer, ANSWERS, run_id, job, ANSWERS.c.query)

    def cache_answers(self, run_id: str, job: str = "") -> list[CacheAnswer]:
        """How complete the answers of one run are that were made in k tuples of memory, by query."""
        return self._of_run(CacheAnswer, CACHE_ANSWERS, run_id, job, CACHE_ANSWERS.c.query)

    def cache_benchmarks(self, run_id: str, job: str = "") -> list[CacheBenchmark]:
        """The benchmarks of caches of one run, by query, size and contender."""
        columns = CACHE_BENCHMARKS.c
        order = (columns.query, columns.size, columns.contender)
        return self._of_run(CacheBenchmark, CACHE_BENCHMARKS, run_id, job, *order)

    def cache_estimates(self, run_id: str, job: str = "") -> list[CacheEstimate]:
        """What estimates were worth in the benchmark of one run, by query and size."""
        columns = CACHE_ESTIMATES.c
        return self._of_run(CacheEstimate, CACHE_ESTIMATES, run_id, job, columns.query, columns.size)

    def latest_cache_answers(self) -> list[CacheAnswer]:
        """The newest of each query, by query."""
        table = CACHE_ANSWERS
        return self._newest(CacheAnswer, table, table.c.evaluated_at, [table.c.query])

    def quality(self, run_id: str, job: str = "") -> list[QualityOutcome]:
        """The quality found by one run, by kind and subject."""
        return self._of_run(QualityOutcome, QUALITY, run_id, job, QUALITY.c.kind, QUALITY.c.subject)

    def figures(self, run_id: str, job: str = "") -> list[Figure]:
        """The figures of one run, by name."""
        return self._of_run(Figure, FIGURES, run_id, job, FIGURES.c.name)

    def partition_metrics(self, run_id: str, stream: str, job: str = "") -> list[PartitionMetrics]:
        """The metrics of a stream's partitions in one run, by partition."""
        table = PARTITION_METRICS
        statement = select(table).where(in_run(table, run_id, job), table.c.stream == stream)
        return self._read(PartitionMetrics, statement.order_by(table.c.partition))

    def runs(self, limit: int = 100, offset: int = 0, job: str | None = None) -> list[Run]:
        """The newest runs first, of one job or of all."""
        chosen = select(RUNS) if job is None else select(RUNS).where(RUNS.c.job == job)
        order = (RUNS.c.started_at.desc(), RUNS.c.job, RUNS.c.run_id)
        return self._read(Run, chosen.order_by(*order).limit(limit).offset(offset))

    def run(self, job: str, run_id: str) -> Run | None:
        """One run of a job; None if it was not recorded."""
        runs = self._read(Run, select(RUNS).where(RUNS.c.job == job, RUNS.c.run_id == run_id))
        return runs[0] if runs else None

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

    def quality_of(self, kind: str, subject: str, limit: int = 100, offset: int = 0) -> list[QualityOutcome]:
        """What was found of a subject, the newest first."""
        chosen = select(QUALITY).where(QUALITY.c.kind == kind, QUALITY.c.subject == subject)
        order = (QUALITY.c.checked_at.desc(), QUALITY.c.run_id.desc(), QUALITY.c.job.desc())
        return self._read(QualityOutcome, chosen.order_by(*order).limit(limit).offset(offset))

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


def _under(criterion: str) -> ColumnElement[bool]:
    # A verdict without a criterion is one of a text that could not be read, whichever was asked for.
    return (VERDICTS.c.criterion == criterion) | VERDICTS.c.criterion.is_(None)


def _of(
    query: str, answer: Answer | None, quality: Mapping[tuple[str, str], QualityOutcome]
) -> tuple[QualityOutcome, ...]:
    keys = [("stream", stream) for stream in (answer.streams if answer else ())] + [("answers", query)]
    return tuple(quality[key] for key in keys if key in quality)
