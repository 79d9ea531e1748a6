"""What is checkpointed of a query, and whether the next evaluation can rely on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streambound.checkpoint.answer_files import as_written
from streambound.checkpoint.boundary import Checkpoint, Late, chained
from streambound.checkpoint.inputs import identity
from streambound.checkpoint.owner import Owner, read_owner
from streambound.checkpoint.table import CheckpointTable

DAMAGED = "its answer file is not what was written"
# A fingerprint does not tell which.
CHANGED_PLAN = "the query, its catalog or the release of streambound has changed"

# The files of each partition, by stream and partition.
Files = Mapping[tuple[str, str], tuple[Path, ...]]


@dataclass(frozen=True)
class Inspected:
    """A checkpoint, and why it is not valid (None: it is)."""

    checkpoint: Checkpoint
    why: str | None

    def to_json(self) -> dict[str, Any]:
        """The object that ``state --format json`` prints."""
        row = self.checkpoint
        return {
            "query": row.query,
            "kind": "boundary",
            "partition": row.partition,
            "fingerprint": row.fingerprint,
            "inputs": {s: {"identity": i.identity, "rows": i.rows} for s, i in sorted(row.inputs.items())},
            "rows": row.rows,
            "units": row.units,
            "peak_units": row.peak_units,
            "new_answers": str(row.new.count),
            "answer_count": str(row.total.count),
            "answer_digest": f"{row.total.hash:064x}",
            "chain": row.chain,
            "digest": row.digest,
            "valid": self.why is None,
            "why": self.why,
        }


@dataclass(frozen=True)
class Inspection:
    """The checkpoints of a query in order, what is in quarantine, and what is damaged."""

    query: str
    boundaries: tuple[Inspected, ...]
    late: tuple[Late, ...]
    faults: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.faults or self.late or any(inspected.why for inspected in self.boundaries))

    @property
    def damaged(self) -> list[str]:
        """The partitions whose answer files are not what was written."""
        return [inspected.checkpoint.partition for inspected in self.boundaries if inspected.why == DAMAGED]

    def to_json(self) -> list[dict[str, Any]]:
        """The objects that ``state --format json`` prints, one a line."""
        late = [
            {"query": self.query, "kind": "late", **vars(record), "why": record.reason}
            for record in self.late
        ]
        damaged = [{"query": self.query, "kind": "damaged", "why": fault} for fault in self.faults]
        return [*(inspected.to_json() for inspected in self.boundaries), *late, *damaged]


def inspect(
    table: CheckpointTable,
    fingerprint: str | None,
    files: Files,
    answers: Path,
    file_of: Callable[[str], Path],
    verify: bool = False,
) -> Inspection:
    """The checkpoints of a query, each with the first reason for which an evaluation would not rely on it.

    Args:
        table: the query's.
        fingerprint: of its plan now; None if it has none any more.
        files: the histories of its streams.
        answers: the folder of its answers.
        file_of: where the answers of a partition lie.
        verify: read all answer files, also those that nobody seems to have touched.

    Raises:
        StorageError: the disk or the object storage refuses.
    """
    names = sorted(table.rows)
    rows = {name: table.rows[name] for name in names}
    sound = table.load(names)
    holder, boundaries, broken = read_owner(answers), list[Inspected](), False
    # What is in quarantine is passed over: the version before it counts.
    late = {(record.stream, record.partition): record.identity for record in table.late}
    chain = ""
    for name in names:
        row = rows[name]
        why = _why(row, name in sound, fingerprint, holder) or _changed(row, files, late)
        if why is None and as_written(file_of(name), row.file, verify) is None:
            why = DAMAGED
        if why is None and broken:
            why = "an earlier partition has changed"
        chain = chained(chain, name, row.inputs, row.segment_digest)
        if why is None and row.chain != chain:
            why = "it does not follow from the boundary before it"
        broken = broken or why is not None
        boundaries.append(Inspected(row, why))
    return Inspection(table.query, tuple(boundaries), table.late, tuple(table.faults))


def _why(row: Checkpoint, intact: bool, fingerprint: str | None, holder: Owner | None) -> str | None:
    if not intact:
        return "its state is damaged"
    if row.fingerprint != fingerprint:
        return CHANGED_PLAN
    if holder is None or holder.token != row.answers or row.partition in holder.unsettled:
        return "its answers are not where they belong"
    return None


def _changed(row: Checkpoint, files: Files, late: Mapping[tuple[str, str], str]) -> str | None:
    for stream, item in sorted(row.inputs.items()):
        at = (stream, row.partition)
        if at not in files:
            return f"{stream} has no such partition any more"
        if identity(files[at]) not in (item.identity, late.get(at)):
            return f"the files of {stream} have changed"
    return None
