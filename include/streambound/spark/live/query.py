"""A live query from its start to its end: sources, trigger, progress, stop.

The state is in Spark's state store, how far sources were read is in Spark's checkpoint, and answers are
written before a micro-batch is done with: whenever the process dies, the next start goes on, and no answer
is lost or there twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from streambound import settings
from streambound.errors import PlanError, PlatformError, QueryError, StorageError
from streambound.history.executor import Progress, silent
from streambound.history.prepare import Job, Registered, draft_of, prepare, stream_scans
from streambound.live.answers import LiveAnswer, said
from streambound.live.sinks import Into, require_key
from streambound.live.start import Start, beginning_of, begun, relations_of
from streambound.live.step import END
from streambound.query.catalog import Catalog
from streambound.spark.data_frames import require_plain
from streambound.spark.executor import SparkExecutor
from streambound.spark.failures import first_lines
from streambound.spark.live.arrivals import FIELDS, SCHEMA, SPARK_TYPES, row_of
from streambound.spark.live.epochs import Epochs
from streambound.spark.live.folders import folder_of, growing
from streambound.spark.live.rows import Rows
from streambound.spark.live.sinks import sink_of
from streambound.spark.live.source import Source
from streambound.spark.live.stopping import StoppedTogether, silence
from streambound.storage.partitions import PartitionRange, history_folder
from streambound.tasks import emit
from streambound.tasks.embedded_engine import MEMORY_MB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SPARK, CONTROL = "_spark", "_control"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# All tuples meet in one state, so there is one partition of it.
CONF = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.stateStore.providerClass": ROCKSDB}
POLL_SECONDS = 1


@dataclass(frozen=True)
class Pace:
    """When micro-batches are run: every so many seconds for ever, or (None) until what is there is read.

    ``files`` is how many of each folder one takes at most (None: all that are there); ``stopped`` is asked
    every second whether to stop before that. ``ends`` if what is there is all that there will be: then
    nothing waits in the end. So it is without it if all streams are folders, with files in order of time.
    """

    seconds: float | None = None
    files: int | None = None
    stopped: Callable[[], bool] = lambda: False
    ends: bool = False


def live(
    session: SparkSession,
    query: Registered,
    catalog: Catalog,
    *,
    output: Path | None = None,
    checkpoints: str | None = None,
    recompute: bool = False,
    into: Into | None = None,
    pace: Pace = Pace(),
    progress: Progress = silent,
    memory_mb: int = MEMORY_MB,
) -> LiveAnswer:
    """Run a bounded query over streams that go on; returns when it is stopped, or what is there is read.

    Args:
        session: a classic one (not Spark Connect).
        query: name and text, or its draft.
        catalog: the streams, with their histories or what else Spark follows (``live``).
        output: folder of the answers and the state, one folder a query; by default ``settings.live_root()``.
        checkpoints: those of the nightly evaluation, from whose last boundary the query begins.
        recompute: forget what is there, and begin at the beginning.
        into: where answers go beside their files.
        pace: when micro-batches are run.
        progress: told, in a sentence, what has been done.
        memory_mb: what each task's engine may use before it spills.

    Raises:
        QueryError: the folder is of another query; ``into`` does not fit.
        PlanError: the query is not bounded, or has no plan that Spark evaluates.
        DataError: a file or row is bad or comes too late; Spark cannot follow a folder or source.
        StorageError: Spark lost the query, or the disk refuses.
    """
    if not hasattr(session, "_jsparkSession"):
        raise PlatformError(
            "a live query needs a classic Spark session, and this one is on Spark Connect",
            accepted="a local Spark, or a cluster's master (spark://host:port)",
            fix="let STREAMBOUND_SPARK_MASTER name such a master, and unset SPARK_REMOTE",
        )
    job = prepare(draft_of(query, catalog), PartitionRange(), {}, growing=True)
    if job.plan is None:
        raise PlanError(
            f"{job.verdict}: its state has no bound", subject=job.name, fix="see streambound check"
        )
    folder = (output or settings.live_root()) / job.name
    relations = relations_of(job).values()
    folders = [history_folder(relation) for relation in relations if relation.live is None]
    if pace.files is not None and not folders:
        raise QueryError(
            "no stream of this query is a folder of files, of which --files could take some",
            subject=job.name,
            fix="leave it out; sources have options of their own, such as maxOffsetsPerTrigger of kafka",
        )
    for followed in (*folders, folder):
        require_plain(followed)
    # What a nightly evaluation has read of a folder says nothing of where another source is.
    start = begun(folder, job, checkpoints if len(folders) == len(relations) else None, recompute)
    beside = Path(catalog.source).parent
    running = Running(session, job, folder, start, beside, into, pace, progress, memory_mb)
    progress(f"{job.name}: live from {_boundary(start)}")
    return running.run()


def _boundary(start: Start) -> str:
    return "the beginning" if start.after is None else f"the boundary after {start.after}"


class Running:
    """One start of a live query."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        folder: Path,
        start: Start,
        beside: Path,
        into: Into | None,
        pace: Pace,
        progress: Progress,
        memory_mb: int,
    ) -> None:
        self.session, self.job, self.folder = session, job, folder
        self.pace, self.progress, self.memory_mb = pace, progress, memory_mb
        self.sources: dict[str, Source] = {
            name: folder_of(r, start.covered, pace.files) if r.live is None else Rows(r, beside)
            for name, r in relations_of(job).items()
        }
        self.beginning = beginning_of(job, start)
        self.scans = stream_scans([job], folder.parent, markers=True)
        self.epochs = Epochs(SparkExecutor(session), job, folder, start, self.sources, memory_mb, pace.files)
        if into is not None:
            require_key(into.key, self.epochs.schema, job.name)
            self.epochs.sink = sink_of(session, into, start.run)

    def run(self) -> LiveAnswer:
        """Run it; returns how far it is then."""
        if not self.sources:
            self.progress(f"{self.job.name}: the answer is always empty")
            return self.epochs.answer
        (self.folder / CONTROL).mkdir(parents=True, exist_ok=True)
        with configured(self.session, self.pace.stopped):
            self._until_stopped()
            ends = self.pace.ends or all(source.relation.live is None for source in self.sources.values())
            at_end = ends and self.pace.seconds is None and not self.pace.stopped()
            if at_end and self.epochs.answer.waiting:
                # The end of the input is an arrival like any other, so that it is noted, and done once.
                self._put_end()
                self._until_stopped()
        emit.write_summary(self.folder, self.epochs.answer.to_json())
        return self.epochs.answer

    def _put_end(self) -> None:
        control = self.folder / CONTROL
        number = sum(1 for path in control.iterdir() if path.name[0] != ".")
        emit.write_json(control / f"end-{number:08}.json", {})

    def _until_stopped(self) -> None:
        from pyspark.errors import StreamingQueryException

        alone = False
        with StoppedTogether(self.pace.stopped):
            query = self._started()
            reported = -1
            try:
                while not query.awaitTermination(POLL_SECONDS) and not self.pace.stopped():
                    reported = self._tell(query, reported)
            except StreamingQueryException as error:
                raise self._ended(error) from None
            finally:
                query.stop()
            self._tell(query, reported)
            alone = True
        if not alone:
            self._refuse_fault()
            self.progress(
                f"{self.job.name}: Spark was stopped as well; the next start does what it had not finished"
            )

    def _ended(self, error: Exception) -> Exception:
        """What is told of a query that has ended; Spark's own error where a signal may have ended it."""
        if self.epochs.error is not None:
            return self.epochs.error
        return error if self.pace.stopped() else _lost(error, self.job.name)

    def _refuse_fault(self) -> None:
        """Raise what was wrong with the input, whatever else came at the same time."""
        error = self.epochs.error
        if error is not None and not isinstance(error, (StorageError, PlatformError)):
            raise error

    def _started(self) -> StreamingQuery:
        from pyspark.errors import PySparkException

        try:
            frame = self._frame()
            writer = frame.writeStream.foreachBatch(self.epochs.took).outputMode("append")
            writer = writer.option("checkpointLocation", str(self.folder.resolve() / SPARK))
            if self.pace.seconds is None:
                return writer.trigger(availableNow=True).start()
            return writer.trigger(processingTime=f"{self.pace.seconds} seconds").start()
        except PySparkException as error:
            raise _lost(error, self.job.name) from None

    def _frame(self) -> DataFrame:
        if self.beginning.plan.stateless:
            (source,) = self.sources.values()
            return source.stream(self.session)
        from streambound.spark.live.processor import OUTPUT, LiveProcessor

        arriving = [self._arrivals(name, source) for name, source in self.sources.items()]
        union = reduce(lambda left, right: left.union(right), [*arriving, self._ends()])
        processor = LiveProcessor(self.beginning)
        return union.groupBy("one").transformWithState(processor, OUTPUT, "append", "None")

    def _arrivals(self, name: str, source: Source) -> DataFrame:
        mapped = source.mapper(self.scans[name], self.memory_mb)
        return source.stream(self.session).mapInArrow(mapped, SCHEMA)

    def _ends(self) -> DataFrame:
        """What says that the input is at its end, among the arrivals."""
        from pyspark.sql import functions as f

        ends = growing(self.session, END, self.folder / CONTROL, "end-*.json", None)
        said = {name: f.lit(value) for name, value in row_of(END, "").items()} | {"file": ends["path"]}
        columns = (said[field.name].cast(SPARK_TYPES[field.type]).alias(field.name) for field in FIELDS)
        return ends.select(*columns)

    def _tell(self, query: StreamingQuery, reported: int) -> int:
        """Tell of micro-batches since the one that was told last; returns the newest."""
        for progress in query.recentProgress:
            epoch = int(progress["batchId"])
            operators = progress["stateOperators"]
            if epoch <= reported or not progress["numInputRows"]:
                continue
            reported = epoch
            if operators:
                self.epochs.answer = replace(self.epochs.answer, state_rows=int(operators[0]["numRowsTotal"]))
            self.progress(f"{self.job.name}: epoch {epoch}: {said(self.epochs.answer)}")
        return reported


@contextmanager
def configured(session: SparkSession, stopped: Callable[[], bool]) -> Iterator[None]:
    """A session's settings as a live query needs them, and as they were afterwards."""
    silence(session)
    before = {name: str(session.conf.get(name)) for name in CONF}
    logger = logging.getLogger("py4j.clientserver")
    level = logger.level
    for name, value in CONF.items():
        session.conf.set(name, value)
    # What fails in a micro-batch is told as an error of this project; the gateway would print its traceback.
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
        with StoppedTogether(stopped):
            for name, value in before.items():
                session.conf.set(name, value)


def _lost(error: Exception, name: str) -> StorageError:
    return StorageError(
        f"Spark lost the live query: {first_lines(error)}",
        subject=name,
        fix="start it again: it goes on where it was; if it fails again, begin anew with --recompute",
    )
