"""Partition summaries of one query to its answers: in order, from tiny tables, on the driver.

New answers of a partition follow from the tables before it and its own (``evaluation.onepass``). A
stateless query's answers were written by the tasks; here only their digests meet.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from streambound.checkpoint.answer_files import AnswerFile
from streambound.checkpoint.boundary import Checkpoint
from streambound.durable import remove
from streambound.errors import DataError, StreamboundError
from streambound.evaluation.events import answers, refuse_overflow
from streambound.evaluation.promises import require_units
from streambound.history.actions import Action
from streambound.history.answer import HistoryAnswer
from streambound.history.checkpoints import Checkpoints
from streambound.history.current_answer import distinct_rows, write_current
from streambound.history.evaluations import states
from streambound.history.evaluations.partition_summary import PartitionSummary
from streambound.history.evaluations.statement import statement_evaluation
from streambound.history.prepare import Job, Missing
from streambound.state.row_join import Row
from streambound.state.serial import digest
from streambound.tasks import emit
from streambound.tasks.summarise import Summary


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's search for cycles is off: taking in rows makes none, and over many small rows the search takes
    longer than all else."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Fold:
    """Takes the summaries of one job's partitions, in order, and writes what is new at each.

    Where a checkpoint holds, the fold skips the partition. ``started_after`` is the boundary from which it
    went on for the first time (None: the beginning); ``unbroken`` says whether all boundaries did hold;
    ``rows_read`` begins at what an earlier try of this run has read.
    """

    def __init__(self, job: Job, checkpoints: Checkpoints, rows_read: int = 0, publish: bool = True) -> None:
        assert job.plan is not None
        self.job, self.plan, self.folder, self.checkpoints = job, job.plan, checkpoints.folder, checkpoints
        self.statement = job.plan.statement
        self.evaluation = statement_evaluation(self.plan, job.static, job.cogroup)
        self.digest = emit.digest(self._answers(self.evaluation.initial).to_batches())
        self.rows_read, self.publish, self.markers, self._reported = rows_read, publish, 0, 0
        self.rows = self.peak_units = 0
        self.chain = ""
        self.at: Checkpoint | None = None
        self.live = self.unbroken = True
        self.started_after: str | None = None
        self.written: list[str] = []
        # What the first of these files come to, where that is noted.
        self._earlier = checkpoints.total
        self._summed: int | None = None
        self.error: StreamboundError | None = None

    def take(self, partition: str, summaries: Iterable[Summary]) -> None:
        """Take in a partition; the first error ends the evaluation of this query alone.

        Raises:
            Damaged: a checkpoint is, and the fold has to begin again.
        """
        if self.error is not None:
            return
        try:
            mine = list(summaries)
            self.error = next((s.error for s in mine if s.error is not None), None)
            # A stream under two aliases has been read once.
            self.rows_read += sum({s.stream: s.rows for s in mine}.values())
            if self.error is None and (summary := self.checkpoints.summary(partition, mine)) is not None:
                self._take(summary)
        except StreamboundError as error:
            self.error = error

    def _take(self, summary: PartitionSummary) -> None:
        self.markers += 1
        self.chain = self.checkpoints.chain(self.chain, summary)
        checkpoint = self.checkpoints.holding(self.chain, summary)
        if checkpoint is None:
            self._go_on(summary)
        else:
            self.at, self.live = checkpoint, False
            self.rows, self.peak_units = checkpoint.rows, checkpoint.peak_units
            self.digest = emit.digest_of(checkpoint.total)
            require_units(self.job.name, self.plan.max_units, self.peak_units)
        new = self.at.new.rows if self.at is not None else 0
        if new:
            self.written.append(emit.answer_name(self.job.key, summary.partition))
        if self._earlier is not None and self._earlier.boundary == self.checkpoints.boundary(self.chain):
            self._summed = len(self.written)

    def _go_on(self, summary: PartitionSummary) -> None:
        """Evaluate a partition, from the state at the boundary before it."""
        if self.unbroken:
            self.unbroken, self.started_after = False, self.at.partition if self.at is not None else None
            if not self.plan.stateless:
                self.checkpoints.unsettle(
                    name for name in self.checkpoints.names if name >= summary.partition
                )
        self._restore()
        path = emit.answer_path(self.folder, self.job.key, summary.partition)
        kept = self.checkpoints.kept(summary)
        if summary.answered is not None and self.plan.stateless:
            new, file = summary.answered, summary.file
        else:
            tables = states.tables_of(kept) if summary.tables is None else summary.tables
            new, file = self._advance(path, summary.partition, tables)
        self.digest += new
        self.rows += summary.rows
        self.peak_units = max(self.peak_units, self.evaluation.peak_units)
        # Before it is checkpointed.
        require_units(self.job.name, self.plan.max_units, self.peak_units)
        self._check(summary, kept, new, file)

    def _check(self, summary: PartitionSummary, kept: bytes, new: emit.Digest, file: AnswerFile) -> None:
        """The boundary after a partition, as a checkpoint."""
        state = self.checkpoints.dumped(self.evaluation.dump)
        self.at = Checkpoint(
            query=self.job.name,
            fingerprint=self.checkpoints.fingerprint,
            partition=summary.partition,
            scope=self.checkpoints.scope,
            inputs=summary.inputs,
            segment_digest=summary.digest,
            state_digest=digest(state),
            chain=self.chain,
            units=self.evaluation.stored_units,
            peak_units=self.peak_units,
            rows=self.rows,
            new=emit.tally(new),
            total=replace(emit.tally(self.digest), rows=0),
            file=file,
            answers="",
            segment=kept,
            state=state,
        )
        self.checkpoints.add(self.at)

    def _restore(self) -> None:
        """Take up the state at the boundary that was reached, if it is not that of the tables."""
        if self.live or self.at is None or self.plan.stateless:
            return
        self.evaluation.load(json.loads(self.checkpoints.state(self.at)), self.at.peak_units)
        self.live = True

    def _advance(self, path: Path, partition: str, summaries: Mapping[str, bytes]) -> emit.Written:
        new = self.evaluation.new_rows(self.statement, partition, summaries)
        return emit.write_answers(path, new.table.schema, new.table.to_batches(), new.digest)

    def reached(self) -> str | None:
        """How far the fold is, in a sentence; None if it is no further than when it was last asked."""
        if self.at is None or self.error is not None or self.markers == self._reported:
            return None
        self._reported = self.markers
        stored = "no state" if self.plan.stateless else emit.counted(self.at.units, "unit")
        return (
            f"{self.job.name}: {emit.counted(self.markers, 'marker')} up to {self.at.partition},"
            f" {emit.counted(self.rows, 'row')}, {stored}"
        )

    def commit(self) -> None:
        """Commit the checkpoints so far."""
        try:
            self.checkpoints.commit()
        except StreamboundError as error:
            self.error = self.error or error

    def finish(self, seconds: float) -> HistoryAnswer:
        """The answer as a whole, also written as ``_answer.json`` of the query's folder if it is published.

        Raises:
            StorageError: the disk refuses.
            Damaged: a checkpoint is, and the fold has to begin again.
        """
        self.commit()
        emit.drop_aside(self.folder)
        if not self.publish:
            return self._answer(seconds)
        try:
            if self.error is None:
                self._total()
        except StreamboundError as error:
            self.error = self.error or error
        # What is checkpointed stays, also where a later partition failed.
        emit.prune_answers(self.folder, self.written if self.error is None or self.checkpoints.table else ())
        if self.error is not None or not self.plan.totalled:
            # That of an earlier evaluation must not pass for this one's.
            remove(emit.total_path(self.folder))
        done = self._answer(seconds)
        emit.write_summary(self.folder, done.to_json())
        return done

    def _total(self) -> None:
        earlier = self._earlier
        if earlier is not None and self._summed == len(self.written):
            self.digest = emit.digest_of(earlier.rows)
            return
        self.digest = self._current() if self.plan.totalled else self._counted()
        self.checkpoints.keep_total(self.chain, self.digest)

    def _current(self) -> emit.Digest:
        """Write what is the answer now: the changes since it was last written are put to what it was.

        Raises:
            CountOverflow: a multiplicity has more than 38 digits.
        """
        total = emit.total_path(self.folder)
        initial = self._answers(self.evaluation.initial)
        files = [self.folder / name for name in self.written]
        if self._summed is not None:
            initial, files = initial.schema.empty_table(), [total, *files[self._summed :]]
        try:
            return write_current(total, initial, files)
        except DataError:
            refuse_overflow(self.statement, [self.digest.count])
            raise

    def _counted(self) -> emit.Digest:
        """The answers of all partitions, with how many different rows there are."""
        files = [self.folder / name for name in self.written]
        rows = distinct_rows(emit.answer_schema(self.statement.outputs), files)
        return emit.Digest(rows, self.digest.count, self.digest.hash)

    def _answers(self, rows: Mapping[Row, int]) -> pa.Table:
        return emit.answer_table(self.statement, answers(self.statement, None, rows))

    def _answer(self, seconds: float) -> HistoryAnswer:
        job, done = self.job, self.error is None and self.publish
        return HistoryAnswer(
            query=job.name,
            sql=job.sql,
            verdict=job.verdict,
            units=self.plan.max_units,
            peak_units=self.peak_units if self.error is None else None,
            rows=self.rows,
            rows_read=self.rows_read,
            answer_rows=self.digest.rows if done else 0,
            answer_count=self.digest.count if done else 0,
            partitions=tuple(self.checkpoints.covered),
            missing_partitions=self._missing(),
            read_partitions=tuple(self.checkpoints.actions.partitions(Action.READ, Action.COMPARE)),
            started_after=self._started_after(),
            late=self.checkpoints.late,
            streams=tuple(job.partitions),
            digest=str(self.digest) if done else None,
            seconds=seconds,
            memory=self._memory() if done else None,
            error=None if self.error is None else self.error.about(job.name),
            initial=tuple(answers(self.statement, None, self.evaluation.initial)),
        )

    def _memory(self) -> Mapping[str, Any] | None:
        """How complete the answer of a query in k tuples is."""
        if not self.evaluation.approximate:
            return None
        self._restore()
        return self.evaluation.report()

    def _missing(self) -> tuple[Missing, ...]:
        late = (Missing(record.stream, record.partition, record.reason) for record in self.checkpoints.late)
        return (*self.job.missing, *late)

    def _started_after(self) -> str | None:
        return self.started_after if not self.unbroken or self.at is None else self.at.partition
