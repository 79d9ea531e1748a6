"""A partition's shares of streams: what the plan keeps of them, and whether one has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streambound.checkpoint.answer_files import NO_FILE, AnswerFile
from streambound.checkpoint.inputs import Input
from streambound.errors import DataError
from streambound.history.evaluations import states
from streambound.state.serial import digest
from streambound.tasks import emit
from streambound.tasks.plans import StatementPlan

# The input of a stream, and what was made of each occurrence.
InputSummaries = tuple[Input, Mapping[str, bytes]]


@dataclass(frozen=True)
class PartitionSummary:
    """A partition's input, and what the plan keeps of it; ``kept`` is None where a checkpoint holds it.

    ``answered`` are the answers that tasks have written, and ``file`` where; ``tables`` are what ``kept`` was
    made of, where that has just been done.
    """

    partition: str
    inputs: Mapping[str, Input]
    digest: str
    kept: bytes | None
    answered: emit.Digest | None = None
    file: AnswerFile = NO_FILE
    tables: Mapping[str, bytes] | None = None

    @property
    def rows(self) -> int:
        """Rows of all its streams."""
        return sum(source.rows for source in self.inputs.values())


def changed(plan: StatementPlan, stream: str, before: InputSummaries, now: InputSummaries) -> bool:
    """Whether a stream's share has other rows than before, of those that count."""
    aliases = [key for key, relation in plan.inputs.items() if relation.name == stream]
    return before[0].rows != now[0].rows or any(before[1].get(a) != now[1].get(a) for a in aliases)


def irretrievable(partition: str, streams: Sequence[str]) -> DataError:
    """What is said where a partition cannot be read again as it counted."""
    return DataError(
        f"partition {partition} of {', '.join(streams)} was written again too late to count, and what"
        " counted of it is needed to take in another stream's late rows",
        accepted="late rows within allowed_lateness of all streams of the query",
        fix="put the former version back, or take in what is in quarantine by recomputing",
    )


def summary_of(partition: str, inputs: Mapping[str, Input], tables: Mapping[str, bytes]) -> PartitionSummary:
    """What the plan keeps of a partition, from what tasks made of it."""
    kept = states.tables_bytes(tables)
    return PartitionSummary(partition, inputs, digest(kept), kept, tables=tables)
