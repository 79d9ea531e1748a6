"""Mode *final*: each row once, when nothing takes it back any more (docs/theory.md, "Answers that change").

What may still take a row back is what the operation that gave it keeps, so nothing is kept here but how far
time is: the rows that are told are the answer without those of it that are ``standing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streambound.errors import DataError
from streambound.operators.rows.operator import Changes, Operator, Row, added
from streambound.plan.flow import Times


class Once(Operator):
    """The operation ``Settled``.

    Args:
        times: of the rows of the inputs beside the first.
    """

    stored_units = 1

    def __init__(self, times: Sequence[Times]) -> None:
        self._times = times
        self.now: int | None = None

    def see(self, inputs: Sequence[Changes]) -> None:
        """Take note of the times of what has come: all until the latest of them is there."""
        seen = [times.seen(row) for times, rows in zip(self._times, inputs, strict=True) for row in rows]
        self.now = max((number for number in (self.now, *seen) if number is not None), default=None)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The rows that are settled now and were not before.

        Args:
            inputs: the changes of the rows, and which of them are standing before these and after.

        Raises:
            DataError: a row that was told is taken back.
        """
        changes, before, after = inputs
        changes_ = added([changes, before, {row: -count for row, count in after.items()}])
        if any(count < 0 for count in changes_.values()):
            raise DataError(
                "a row that was answered once and for all is taken back: a tuple came later than its time",
                accepted="rows in order of time, those of one time together",
                fix="write the histories partitioned by the date of their timestamps, or use --mode changes",
            )
        return changes_

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """No rows: what is told once is not taken back."""
        return {}

    def dump(self) -> Any:
        """How far time is."""
        return {"seen": self.now}

    def load(self, document: Any) -> None:
        """Take up how far time was."""
        self.now = document["seen"]
