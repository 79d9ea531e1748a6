"""The stateful part of a live query, as Spark calls it (``transformWithState``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from streambound.errors import StreamboundError
from streambound.history.fold import uncollected
from streambound.live.step import Beginning, LiveState, New
from streambound.spark.live.arrivals import arrival_of
from streambound.state.serial import row_text
from streambound.tasks.summarise import error_text

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# What a row is: new answers of a marker, how far the query is, or why it cannot go on.
OUTPUT = "kind string, body string"
ANSWERS, PROGRESS, ERROR = "answers", "told", "error"
# Answer rows that one row holds: a row is in memory as a whole.
PORTION = 1_000


class LiveProcessor(StatefulProcessor):
    """Goes on from the state in the store by what has arrived, and gives the new answers."""

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.state = handle.getMapState("state", "name string", "held string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Take in what tasks made of the files of a micro-batch."""
        arrived = [row.asDict() for row in rows]
        if failed := sorted(row["error"] for row in arrived if row["error"] is not None):
            yield Row(kind=ERROR, body=failed[0])
            return
        before = {name: value for (name,), (value,) in self.state.iterator()}
        try:
            with uncollected():
                step = LiveState(self.beginning, before)
                new = step.take(map(arrival_of, arrived))
                after = step.entries()
        except StreamboundError as error:
            yield Row(kind=ERROR, body=error_text(error))
            return
        self._store(before, after)
        yield from (Row(kind=ANSWERS, body=text) for text in _portions(new))
        yield Row(kind=PROGRESS, body=json.dumps(asdict(step.progress)))

    def _store(self, before: dict[str, str], after: dict[str, str]) -> None:
        for name in before.keys() - after.keys():
            self.state.removeKey((name,))
        for name, value in after.items():
            if before.get(name) != value:
                self.state.updateValue((name,), (value,))

    def close(self) -> None:
        """Nothing is open."""


def _portions(new: New) -> Iterator[str]:
    """Answer rows as JSON, ``[[marker, [value, ...], multiplicity], ...]``."""
    listed = (
        f"[{'null' if at is None else at},{row_text(row)},{n}]" for at, rows in new for row, n in rows.items()
    )
    while portion := list(islice(listed, PORTION)):
        yield f"[{','.join(portion)}]"
