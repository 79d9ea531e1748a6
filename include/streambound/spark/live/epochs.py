"""What is done with a micro-batch: its answers are written, and how far the query is by then is noted.

Spark counts a micro-batch as done when this is; it may run one again that was done in part.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from streambound.errors import DataError, StreamboundError
from streambound.history.executor import Executor, silent
from streambound.history.prepare import Job, stream_scans
from streambound.live.answers import (
    EPOCH,
    LiveAnswer,
    epoch_path,
    live_schema,
    note_epoch,
    require_written,
    write_epoch,
)
from streambound.live.sinks import Sink
from streambound.live.start import Start, beginning_of
from streambound.live.step import LATE
from streambound.spark.live.folders import Folder, simultaneous_files_fix
from streambound.spark.live.source import Source
from streambound.storage.files import parquet_file
from streambound.tasks import emit
from streambound.tasks.summarise import Task, error_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What the state tells of itself, and what is known of it from an earlier start.
OF_THE_STATE = ("units", "peak_units", "files", "rows", "markers", "waiting", "late", "malformed")
# Where the rows of a micro-batch are until its answers are written, of a plan that keeps nothing.
SPOOL = "_arrived"
RESUMED = (*OF_THE_STATE, "epochs", "last")


class Epochs:
    """The micro-batches of a query; ``error`` is why one failed."""

    def __init__(
        self,
        executor: Executor,
        job: Job,
        folder: Path,
        start: Start,
        sources: Mapping[str, Source],
        memory_mb: int,
        files: int | None = None,
    ) -> None:
        self.executor, self.job, self.folder, self.sources = executor, job, folder, sources
        self.memory_mb, self.files = memory_mb, files
        assert job.plan is not None
        self.plan, self.query = job.plan, job.plan.statement
        self.timed = bool(beginning_of(job, start).timed)
        self.schema = live_schema(self.query, self.timed)
        self.sink: Sink | None = None
        self.error: StreamboundError | None = None
        self.answer = self._last_answer(start)

    def _last_answer(self, start: Start) -> LiveAnswer:
        """What the last micro-batch of an earlier start told."""
        fresh = LiveAnswer(
            self.job.name,
            self.job.sql,
            self.plan.max_units,
            started_after=start.after,
            output=str(self.folder),
        )
        try:
            body = json.loads((self.folder / emit.SUMMARY).read_text(encoding="utf-8"))
            live_answer = replace(
                fresh, answer_count=int(body["answer_count"]), **{name: body[name] for name in RESUMED}
            )
            require_written(self.folder, live_answer.epochs)
            return live_answer
        except FileNotFoundError:
            return fresh
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"not what a live query noted of itself: {type(error).__name__}: {error}",
                subject=str(self.folder / emit.SUMMARY),
                fix="begin anew with --recompute, or choose another --output",
            ) from None

    def took(self, frame: DataFrame, epoch: int) -> None:
        """Write what a micro-batch gave; only then Spark counts it as done."""
        try:
            progress = self._filtered(frame, epoch) if self.plan.stateless else self._answered(frame, epoch)
            self._hand_over(epoch)
            self.answer = replace(self.answer, epochs=epoch + 1, **progress)
            emit.write_summary(self.folder, self.answer.to_json())
        except StreamboundError as error:
            self.error = error.about(self.job.name)
            if self.files is not None and LATE in error.message:
                folders = [source for source in self.sources.values() if isinstance(source, Folder)]
                error.fix = simultaneous_files_fix(folders, str(error.subject)) or error.fix
            raise

    def _hand_over(self, epoch: int) -> None:
        path = epoch_path(self.folder, epoch)
        if self.sink is not None and path.exists():
            with parquet_file(str(path)) as file:
                self.sink.put(epoch, file.read(), self.schema.names[-2] if self.timed else None)

    def _answered(self, frame: DataFrame, epoch: int) -> dict[str, Any]:
        from streambound.spark.live.processor import ANSWERS, ERROR, PROGRESS

        rows = frame.collect()
        for row in rows:
            if row["kind"] == ERROR:
                raise error_of(row["body"])
        portions = [row["body"] for row in rows if row["kind"] == ANSWERS]
        note_epoch(self.folder, epoch, write_epoch(self.folder, self.query, self.timed, epoch, portions))
        noted: dict[str, Any] = next((json.loads(row["body"]) for row in rows if row["kind"] == PROGRESS), {})
        if not noted:
            return {}
        return {**{name: noted[name] for name in OF_THE_STATE}, "answer_count": noted["answers"]}

    def _filtered(self, frame: DataFrame, epoch: int) -> dict[str, Any]:
        """The answers of a plan that keeps nothing, which tasks write."""
        ((stream, source),) = self.sources.items()
        spool = self.folder / SPOOL
        shutil.rmtree(spool, ignore_errors=True)
        arrived = source.arrived(frame, spool)
        new = {"files": arrived.user_files, "rows": 0, "answer_count": 0, "malformed": arrived.malformed}
        schema, path = emit.answer_schema(self.query.outputs), epoch_path(self.folder, epoch)
        if not arrived.files:
            emit.write_answers(path, schema, ())
            return self._counted(epoch, new)
        size = sum(file.stat().st_size for file in map(Path, arrived.files) if file.exists())
        partition = path.parent.name.partition("=")[2]
        task = Task(stream, partition, arrived.files, size, frozenset((self.job.name,)))
        scan = replace(stream_scans([self.job], self.folder.parent, markers=True)[stream], key=EPOCH)
        (summary,) = self.executor.summaries(
            [task], {stream: scan}, silent, self.memory_mb, in_rounds=False, ended=Event()
        )
        if summary.error is not None:
            raise source.about(summary.error)
        assert summary.answers is not None
        note_epoch(self.folder, epoch, summary.file)
        shutil.rmtree(spool, ignore_errors=True)
        return self._counted(epoch, {**new, "rows": summary.rows, "answer_count": summary.answers.count})

    def _counted(self, epoch: int, new: dict[str, int]) -> dict[str, Any]:
        """Totals with a micro-batch, which Spark may run again."""
        again = self.answer.last if self.answer.epochs == epoch + 1 else {}
        totals = {n: getattr(self.answer, n) - again.get(n, 0) + count for n, count in new.items()}
        return {**totals, "last": new}
