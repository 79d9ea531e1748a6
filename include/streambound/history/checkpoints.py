"""The checkpoints of one job while it is evaluated: which boundaries still hold, and what is to be committed.

Reading is decided by the identities of input files (``actions``), evaluating by the chain of what the plan
keeps of them: a partition that was written again with the same rows is read once more, and changes nothing.
Without a table no checkpoints are kept: everything is read and evaluated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from streambound.checkpoint.answer_files import (
    NO_FILE,
    NOTHING,
    AnswerFile,
    as_written,
    digest_of_file,
    identity_of,
)
from streambound.checkpoint.boundary import Checkpoint, Late, chained
from streambound.checkpoint.inputs import Input
from streambound.checkpoint.owner import NAME as NOTE
from streambound.checkpoint.owner import Owner, Total, forget_owner, new_owner, read_owner, write_owner
from streambound.checkpoint.table import CheckpointTable
from streambound.durable import flushed
from streambound.history.actions import Action, Actions, read_all
from streambound.history.evaluations import states
from streambound.history.evaluations.partition_summary import (
    PartitionSummary,
    changed,
    irretrievable,
    summary_of,
)
from streambound.history.prepare import Job
from streambound.state.serial import digest
from streambound.tasks import emit
from streambound.tasks.summarise import Summary

# Summaries and states of so many partitions are loaded at once.
LOADED = 64
# What is not committed yet, in bytes of summaries and states: of one query, and of all.
PENDING_BYTES, ALL_PENDING_BYTES = 32 << 20, 256 << 20


class Damaged(Exception):
    """A checkpoint that is needed turned out to be damaged: the table is to be opened again without it."""


class Checkpoints:
    """The checkpoints of one job.

    Args:
        job: with a plan.
        folder: of the query's answers.
        table: its checkpoints; None to keep none.
        scope: the partition from which on history is asked for, empty for all.
        recompute: nothing that is there counts.

    Raises:
        StorageError: the disk refuses.
    """

    def __init__(
        self, job: Job, folder: Path, table: CheckpointTable | None, scope: str = "", recompute: bool = False
    ) -> None:
        assert job.plan is not None
        self.job, self.plan, self.folder, self.table, self.scope = job, job.plan, folder, table, scope
        self.rows: dict[str, Checkpoint] = {}
        self._pending: list[Checkpoint] = []
        # What waits to be committed, in bytes of summaries and states.
        self.pending_bytes = 0
        self._loaded: dict[str, Checkpoint] = {}
        self._unflushed: list[Path] = []
        # By partition, the answer files that are as they were written; and what is told of the others.
        self._files: dict[str, AnswerFile] = {}
        self.faults: list[str] = []
        self._anew = recompute
        self.fingerprint = ""
        if table is None:
            forget_owner(folder)
            self.actions = read_all(job)
            return
        self.fingerprint = job.plan.fingerprint(job.static)
        if not recompute:
            self.rows = {n: row for n, row in table.rows.items() if row.fingerprint == self.fingerprint}
        self.holder = self._holder_of(table)
        self.faults += [*table.faults, *self._look()]
        boundary = max((n for n, row in self.rows.items() if row.scope == scope), default=None)
        quarantined = () if recompute else table.late
        self.actions = Actions(job, self.rows, boundary, self._written, bool(table.faults), quarantined)
        if self.plan.stateless:
            self.unsettle(self.actions.partitions(Action.READ))

    @property
    def outdated(self) -> bool:
        """Whether there are checkpoints, all of another plan, which count for nothing."""
        return self.table is not None and bool(self.table.rows) and not (self.rows or self._anew)

    def _holder_of(self, table: CheckpointTable) -> Owner:
        holder = None if self._anew else read_owner(self.folder)
        if holder is not None and holder.version > table.version:
            # Answers may be newer than the checkpoints that are left.
            table.faults.append("the newest entries of the table's log are gone")
            holder = None
        elif holder is None and not self._anew and (self.folder / NOTE).exists():
            self.faults.append("the note beside its answers is damaged, or that of another folder")
        return holder or new_owner()

    @property
    def total(self) -> Total | None:
        """What all partitions came to at an earlier boundary, if the file with it is as it was written."""
        total = None if self.table is None else self.holder.total
        if total is None or as_written(emit.total_path(self.folder), total.file) is None:
            return None
        return total

    def boundary(self, chain: str) -> str:
        """The name of a boundary among all that this folder's answers ever rested on."""
        return f"{self.fingerprint} {chain}"

    def keep_total(self, chain: str, rows: emit.Digest) -> None:
        """Note what all partitions came to at a boundary, whose file has been written.

        Raises:
            StorageError: the disk refuses.
        """
        if self.table is None:
            return
        path = emit.total_path(self.folder)
        file = AnswerFile(digest_of_file(path) or NOTHING, identity_of(path))
        self._hold(replace(self.holder, total=Total(self.boundary(chain), file, emit.tally(rows))))

    def _look(self) -> Iterator[str]:
        """Which answer files are as they were written; says which are not, though they are there."""
        # Of every partition, where a path takes longer than the disk.
        below, names = f"{self.folder}{os.sep}", set(self.job.names)
        for name, row in self.rows.items():
            if name in names and row.answers == self.holder.token and name not in self.holder.unsettled:
                path = below + emit.answer_name(self.job.key, name)
                if (kept := as_written(path, row.file)) is not None:
                    self._files[name] = kept
                elif os.path.lexists(path):
                    yield f"the answer file of partition {name} is damaged"

    @property
    def names(self) -> list[str]:
        """The partitions that are taken in, in order."""
        return self.actions.names

    @property
    def covered(self) -> list[str]:
        """The partitions that the answers rest on, in order: also those of streams that need not be read."""
        out = set(self.actions.partitions(Action.OUT)) - set(self.names)
        return [name for name in self.job.names if name not in out]

    @property
    def late(self) -> tuple[Late, ...]:
        """The versions that are in quarantine."""
        return tuple(self.actions.late[at] for at in sorted(self.actions.late))

    # What a partition adds.

    def summary(self, partition: str, summaries: Sequence[Summary]) -> PartitionSummary | None:
        """What the plan keeps of a partition, as read or as checkpointed; None if nothing of it counts.

        Raises:
            StorageError: a late partition cannot be kept.
            Damaged: a checkpoint is.
        """
        streams = self.actions.streams(partition)
        if not streams:
            return None
        row = self.rows.get(partition)
        unchanged = {s for s in streams if self.actions[s, partition] is Action.CHECKPOINTED}
        if row is not None and unchanged == set(streams) == set(row.inputs):
            return self._as_before(row, row.inputs)
        if self.job.cogroup is not None:
            return self._together(partition, row, streams, summaries)
        read = {s: [x for x in summaries if x.stream == s] for s in streams if s not in unchanged}
        inputs = {
            s: Input(self.actions.identities[s, partition], of_stream[0].rows)
            for s, of_stream in read.items()
            if of_stream
        }
        if self.plan.stateless:
            (stream,) = streams
            return self._answered(partition, stream, inputs[stream], read[stream])
        tables = {x.alias: x.table for of_stream in read.values() for x in of_stream if x.table is not None}
        if row is not None and (
            unchanged or any(self.actions[s, partition] is Action.COMPARE for s in streams)
        ):
            self._from_checkpoint(row, streams, inputs, tables)
        return summary_of(partition, inputs, tables)

    def _together(
        self, partition: str, row: Checkpoint | None, streams: Sequence[str], summaries: Sequence[Summary]
    ) -> PartitionSummary:
        """A partition that was read as a whole.

        Raises:
            DataError: a stream's share is to be taken in, and another's is no longer as it was checkpointed.
        """
        rows = {x.stream: x.rows for x in summaries}
        tables = {x.alias: x.table for x in summaries if x.table is not None}
        inputs = {s: Input(self.actions.identities[s, partition], rows[s]) for s in streams if s in rows}
        actions = {s: self.actions[s, partition] for s in streams}
        compared = [s for s in streams if actions[s] is Action.COMPARE]
        if row is not None and compared:
            before = states.tables_of(self._blob(partition, "segment"))
            for stream in compared:
                if changed(self.plan, stream, (row.inputs[stream], before), (inputs[stream], tables)):
                    self._quarantine(stream, partition)
        replaced = [s for s in streams if self.actions.replaced(s, partition)]
        if row is None or not replaced:
            return summary_of(partition, inputs, tables)
        if set(row.inputs) != set(streams) or Action.READ in actions.values():
            raise irretrievable(partition, replaced)
        mine = {s: before if s in replaced else inputs.get(s, before) for s, before in row.inputs.items()}
        return self._as_before(row, mine)

    def _as_before(self, row: Checkpoint, inputs: Mapping[str, Input]) -> PartitionSummary:
        """What a checkpoint holds of a partition."""
        file = self._files.get(row.partition, row.file)
        return PartitionSummary(
            row.partition, inputs, row.segment_digest, None, emit.digest_of(row.new), file
        )

    def _from_checkpoint(
        self, row: Checkpoint, streams: Iterable[str], inputs: dict[str, Input], tables: dict[str, bytes]
    ) -> None:
        """Put in what is checkpointed of streams that were not read, or whose change comes too late."""
        before = states.tables_of(self._blob(row.partition, "segment"))
        for stream in streams:
            action, old = self.actions[stream, row.partition], row.inputs.get(stream)
            if action is Action.READ or old is None:
                continue
            if action is Action.COMPARE:
                if not changed(self.plan, stream, (old, before), (inputs[stream], tables)):
                    continue
                self._quarantine(stream, row.partition)
            aliases = [key for key, relation in self.plan.inputs.items() if relation.name == stream]
            inputs[stream] = old
            tables.update({a: before[a] for a in aliases if a in before})

    def _answered(
        self, partition: str, stream: str, given: Input, summaries: Sequence[Summary]
    ) -> PartitionSummary:
        answered = sum((x.answers for x in summaries if x.answers is not None), emit.Digest())
        kept = states.answered_bytes(answered)
        row = self.rows.get(partition)
        if self.actions[stream, partition] is Action.COMPARE and row is not None:
            old = row.inputs[stream]
            if (old.rows, row.segment_digest) != (given.rows, digest(kept)):
                self._quarantine(stream, partition)
                given = old
            return self._as_before(row, {stream: given})
        file = next((x.file for x in summaries if x.answers is not None), NO_FILE)
        return PartitionSummary(partition, {stream: given}, digest(kept), kept, answered, file)

    def _quarantine(self, stream: str, partition: str) -> None:
        part = next(p for p in self.job.partitions[stream] if p.name == partition)
        self.actions.quarantine(stream, part, earlier=True)

    # Which boundaries hold.

    def holding(self, chain: str, summary: PartitionSummary) -> Checkpoint | None:
        """The checkpoint of a boundary, if it rests on the same history and its answers are written."""
        row = self.rows.get(summary.partition)
        if row is None or row.chain != chain or not self._written(row):
            return None
        file = self._files[row.partition]
        if dict(row.inputs) != dict(summary.inputs) or file != row.file:
            # Files were written again with the same content: only their identities are new.
            self.add(replace(self._full(row.partition), inputs=summary.inputs, file=file))
        return row

    def _written(self, row: Checkpoint) -> bool:
        return row.partition in self._files and row.partition not in self.holder.unsettled

    def kept(self, summary: PartitionSummary) -> bytes:
        """What the plan keeps of a partition.

        Raises:
            Damaged: it is in a checkpoint that is.
        """
        return self._blob(summary.partition, "segment") if summary.kept is None else summary.kept

    def state(self, row: Checkpoint) -> bytes:
        """The state at a boundary.

        Raises:
            Damaged: the checkpoint is.
        """
        return self._blob(row.partition, "state")

    def _blob(self, partition: str, which: str) -> bytes:
        blob: bytes | None = getattr(self._full(partition), which)
        assert blob is not None
        return blob

    def _full(self, partition: str) -> Checkpoint:
        if partition not in self._loaded:
            assert self.table is not None
            ahead = [name for name in self.names if name >= partition and name in self.rows]
            self._loaded = self.table.load(ahead[:LOADED])
            if partition not in self._loaded:
                # All that is damaged is found at once, so that the checkpoints are opened again once.
                self.table.load(list(self.table.rows))
                raise Damaged(partition)
        return self._loaded[partition]

    # What is committed.

    def unsettle(self, partitions: Iterable[str]) -> None:
        """Say that the answers of some partitions are about to be written.

        Raises:
            StorageError: the disk refuses.
        """
        unsettled = frozenset(partitions)
        if self.table is not None and unsettled:
            self._hold(replace(self.holder, unsettled=self.holder.unsettled | unsettled))

    def add(self, row: Checkpoint) -> None:
        """Take in a new checkpoint, with its summary and state; some are committed together.

        Raises:
            StorageError: the disk or the object storage refuses.
        """
        if row.file.digest:
            self._unflushed.append(emit.answer_path(self.folder, self.job.key, row.partition))
        if self.table is None:
            return
        self._pending.append(replace(row, answers=self.holder.token))
        self.pending_bytes += len(row.segment or b"") + len(row.state or b"")
        if self.pending_bytes > PENDING_BYTES:
            self.commit()

    def commit(self) -> None:
        """Commit what is new; the answers of these partitions are on the disk and settled then.

        Raises:
            StorageError: the disk or the object storage refuses.
        """
        flushed(self._unflushed)
        self._unflushed = []
        if self.table is None:
            return
        gone = filter(self.job.gone, self.table.rows)
        self.table.commit(self.fingerprint, self._pending, self.late, list(gone), self._anew)
        self._anew = False
        settled = {row.partition for row in self._pending}
        self._hold(
            replace(self.holder, version=self.table.version, unsettled=self.holder.unsettled - settled)
        )
        self._pending, self.pending_bytes = [], 0

    def _hold(self, holder: Owner) -> None:
        self.holder = holder
        if read_owner(self.folder) != holder:
            write_owner(self.folder, holder)

    def dumped(self, dump: Callable[[], bytes]) -> bytes:
        """The state of a checkpoint; nothing where none are kept."""
        return b"" if self.table is None else dump()

    def chain(self, before: str, summary: PartitionSummary) -> str:
        """The chain at the boundary after a partition."""
        return chained(before, summary.partition, summary.inputs, summary.digest)
