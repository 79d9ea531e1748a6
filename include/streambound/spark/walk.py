"""Partition summaries of one query to its answers: in order, from tiny tables, on the driver.

New answers of a partition follow from the tables before it and its own (``evaluation.onepass``). A
stateless query's answers were written by the tasks; here only their digests meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streambound.errors import CountOverflow, StreamboundError
from streambound.evaluation.events import answers
from streambound.evaluation.onepass import OnePass
from streambound.sources.partitions import write_table
from streambound.spark import emit
from streambound.spark.distinct import distinct_rows
from streambound.spark.matches import Matches
from streambound.spark.ordered import DIGITS
from streambound.spark.prepare import Job, Missing
from streambound.spark.summarise import Summary
from streambound.synopsis.serial import loads
from streambound.synopsis.state import Table


@dataclass(frozen=True)
class HistoryAnswer:
    """What evaluating a query over its history gave.

    ``verdict`` is bounded, unbounded, unknown or invalid; only a bounded query without ``error`` has
    answers. ``answer_rows`` counts different rows and ``answer_count`` their multiplicities;
    ``peak_units`` is the most that the driver's tables held; ``rows_read`` counts rows of all streams;
    ``seconds`` from the start of the evaluation to this answer.
    """

    query: str
    sql: str
    verdict: str
    units: int | None = None
    peak_units: int | None = None
    rows_read: int = 0
    answer_rows: int = 0
    answer_count: int = 0
    partitions: tuple[str, ...] = ()
    missing_partitions: tuple[Missing, ...] = ()
    streams: tuple[str, ...] = ()
    digest: str | None = None
    seconds: float = 0.0
    error: StreamboundError | None = None

    @property
    def evaluated(self) -> bool:
        """Whether there are answers."""
        return self.digest is not None

    def to_json(self) -> dict[str, Any]:
        """The object of ``_answer.json`` and of the summary of a run."""
        return {
            "query": self.query,
            "sql": self.sql,
            "verdict": self.verdict,
            "units": self.units,
            "peak_units": self.peak_units,
            "rows_read": self.rows_read,
            "answer_rows": self.answer_rows,
            "answer_count": str(self.answer_count),
            "streams": list(self.streams),
            "partitions": list(self.partitions),
            "missing_partitions": [vars(missing) for missing in self.missing_partitions],
            "digest": self.digest,
            "seconds": round(self.seconds, 3),
            "error": None if self.error is None else self.error.one_line(),
        }


def news(before: Table, new: Table) -> Table:
    """The entries of a duplicate-eliminating table that the state before does not already serve.

    What an entry no better than one under the same key gives, that one gave before.
    """
    found = Table(new.synopsis, new.preserving)
    for bucket, held in new.entries.items():
        known, shape = before.entries.get(bucket, {}), new.layouts[bucket[0]]
        kept = {
            unequal: ends
            for unequal, ends in held.items()
            if unequal not in known or shape.better(known[unequal], ends) != known[unequal]
        }
        if kept:
            found.entries[bucket] = kept
    return found


class Walk:
    """Takes the summaries of one job's partitions, in order, and writes what is new at each."""

    def __init__(self, job: Job, folder: Path) -> None:
        assert job.plan is not None and job.query is not None
        self.job, self.plan, self.query, self.folder = job, job.plan, job.query, folder
        self.onepass = OnePass(self.query, job.static, self.plan)
        self.onepass.joiner = Matches(self.plan)
        self.total: dict[tuple[Any, ...], int] = {}
        self.digest = emit.Digest()
        self.rows_read = 0
        self.written: list[Path] = []
        self.error: StreamboundError | None = None

    def take(self, partition: str, summaries: Iterable[Summary]) -> None:
        """Take in a partition; the first error ends the evaluation of this query alone."""
        if self.error is not None:
            return
        try:
            mine = list(summaries)
            self.error = next((s.error for s in mine if s.error is not None), None)
            if self.error is None:
                self._take(partition, mine)
        except StreamboundError as error:
            self.error = error

    def _take(self, partition: str, summaries: list[Summary]) -> None:
        # A stream under two aliases has been read once.
        self.rows_read += sum({s.stream: s.rows for s in summaries}.values())
        path = emit.answer_path(self.folder, self.job.key, partition)
        if self.plan.stateless:
            found = sum((s.answers for s in summaries if s.answers is not None), emit.Digest())
            self.digest += found
        else:
            found = self._advance(path, partition, summaries)
        if found.rows:
            self.written.append(path)

    def _advance(self, path: Path, partition: str, summaries: list[Summary]) -> emit.Digest:
        given = {s.alias: s.table for s in summaries if s.table is not None}
        new = self._tables(given)
        if self.query.distinct:
            new = {alias: news(self.onepass.tables[alias], table) for alias, table in new.items()}
        changed = any(table.counts or table.entries for table in new.values())
        counts = self.onepass.advance(new) if changed else {}
        for row, count in counts.items():
            self.total[row] = self.total.get(row, 0) + count
        table = emit.answer_table(self.query, answers(self.query, partition, counts))
        return emit.write_answers(path, table.schema, table.to_batches())

    def _tables(self, given: Mapping[str, bytes]) -> dict[str, Table]:
        preserving = not self.query.distinct
        return {
            s.alias: loads(s, preserving, given[s.alias]) if s.alias in given else Table(s, preserving)
            for s in self.plan.synopses
        }

    def finish(self, seconds: float) -> HistoryAnswer:
        """The answer as a whole, also written as ``_answer.json`` of the query's folder.

        Raises:
            StorageError: the disk refuses.
        """
        emit.drop_others(self.folder, self.written if self.error is None else ())
        if self.error is None:
            try:
                self._total()
            except StreamboundError as error:
                self.error = error
        if self.error is not None or self.plan.stateless:
            # That of an earlier evaluation must not pass for this one's.
            emit.total_path(self.folder).unlink(missing_ok=True)
        done = self._answer(seconds)
        emit.write_summary(self.folder, done.to_json())
        return done

    def _total(self) -> None:
        if self.plan.stateless:
            rows = distinct_rows(emit.answer_schema(self.query), self.written)
            self.digest = emit.Digest(rows, self.digest.count, self.digest.hash)
            return
        if any(count >= 10**DIGITS for count in self.total.values()):
            raise CountOverflow(
                f"an answer row has, over all partitions, a multiplicity of more than {DIGITS} digits",
                subject=self.query.name,
                fix="evaluate fewer partitions, or use SELECT DISTINCT",
            )
        table = emit.answer_table(self.query, answers(self.query, None, self.total))
        self.digest = emit.digest(table.to_batches())
        write_table(table, emit.total_path(self.folder))

    def _answer(self, seconds: float) -> HistoryAnswer:
        job, done = self.job, self.error is None
        return HistoryAnswer(
            query=job.name,
            sql=job.sql,
            verdict=job.verdict,
            units=self.plan.units,
            peak_units=self.onepass.peak_units if done else None,
            rows_read=self.rows_read,
            answer_rows=self.digest.rows if done else 0,
            answer_count=self.digest.count if done else 0,
            partitions=tuple(job.names),
            missing_partitions=job.missing,
            streams=tuple(job.partitions),
            digest=str(self.digest) if done else None,
            seconds=seconds,
            error=None if self.error is None else self.error.about(job.name),
        )
