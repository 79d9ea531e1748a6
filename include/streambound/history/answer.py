"""What evaluating a query over its history gave, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streambound.checkpoint.boundary import Late
from streambound.errors import StreamboundError
from streambound.evaluation.events import Answer
from streambound.history.prepare import Missing
from streambound.tasks.emit import counted, total_path

# So many partitions are named one by one in what is told.
NAMED = 5


@dataclass(frozen=True)
class HistoryAnswer:
    """What evaluating a query over its history gave.

    ``verdict`` is bounded, unbounded, unknown or invalid; a query without ``error`` has answers if it is
    bounded, or if it is evaluated in a ``memory``, which says under which policy and how complete they are.
    ``answer_rows`` counts different rows and ``answer_count`` their multiplicities; ``peak_units`` is the
    most that the driver's tables held; ``rows`` counts the rows of all streams that the answers rest on;
    ``seconds`` from the start of the evaluation to this answer. Of this run alone are ``rows_read``,
    ``read_partitions``, and ``started_after``: the partition at whose boundary the evaluation took up a
    checkpoint (None: from the beginning). ``late`` are the versions of partitions in quarantine.
    """

    query: str
    sql: str
    verdict: str
    units: int | None = None
    peak_units: int | None = None
    rows: int = 0
    rows_read: int = 0
    answer_rows: int = 0
    answer_count: int = 0
    partitions: tuple[str, ...] = ()
    missing_partitions: tuple[Missing, ...] = ()
    read_partitions: tuple[str, ...] = ()
    started_after: str | None = None
    late: tuple[Late, ...] = ()
    streams: tuple[str, ...] = ()
    digest: str | None = None
    seconds: float = 0.0
    memory: Mapping[str, Any] | None = None
    error: StreamboundError | None = None
    # The rows before anything came, decoded.
    initial: tuple[Answer, ...] = ()

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
            "rows": self.rows,
            "rows_read": self.rows_read,
            "answer_rows": self.answer_rows,
            "answer_count": str(self.answer_count),
            "streams": list(self.streams),
            "partitions": list(self.partitions),
            "missing_partitions": [vars(missing) for missing in self.missing_partitions],
            "read_partitions": list(self.read_partitions),
            "started_after": self.started_after,
            "late": [vars(late) for late in self.late],
            "digest": self.digest,
            "seconds": round(self.seconds, 3),
            "memory": None if self.memory is None else dict(self.memory),
            "error": None if self.error is None else self.error.one_line(),
        }


def whole_answer(folder: Path) -> Path | None:
    """The file with a query's answer as a whole, below that of its answers; None without one."""
    total = total_path(folder)
    return total if total.exists() else None


def answer_sentence(answer: HistoryAnswer, checkpointed: bool, publish: bool) -> str:
    """An answer in a sentence: what there is, and what was read for it."""
    if answer.error is not None:
        # What failed is told by who asked.
        return f"{answer.query}: failed"
    if not publish:
        return f"{answer.query}: checkpointed{_began(answer)}"
    kept_out = f", {len(answer.missing_partitions)} kept out" if answer.missing_partitions else ""
    rows, partitions = answer.answer_rows, len(answer.partitions)
    said = f"{counted(rows, 'row')} from {counted(partitions, 'partition')}"
    return f"{answer.query}: {said}{kept_out}{_began(answer) if checkpointed else ''}"


def _began(answer: HistoryAnswer) -> str:
    after = answer.started_after
    boundary = "the beginning" if after is None else f"the boundary after {after}"
    read = answer.read_partitions
    if not read:
        return f"; nothing read, evaluated from {boundary}"
    named = ", ".join(read) if len(read) <= NAMED else f"{read[0]} to {read[-1]}"
    return f"; {counted(len(read), 'partition')} read ({named}), evaluated from {boundary}"
