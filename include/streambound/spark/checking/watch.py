"""``streambound.spark.watch``: what Spark keeps of a query that runs, beside what was predicted of it.

Rows alone miss what grows inside a value (a list, an array), so bytes are watched as well. Where the most
entries are known, more is a warning; where only that they stay the same is, so is state that grows on and on
while rows come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from streambound.engines.model import Growth
from streambound.engines.state import OnEngine
from streambound.errors import QueryError
from streambound.query.column_types import shown
from streambound.report.engine import summary
from streambound.spark.checking.check import Checked, Promises, check
from streambound.spark.checking.plans import of_spark

log = logging.getLogger("streambound.spark")

# Takes the name of a metric, its value, and its labels.
Gauge = Callable[[str, float, Mapping[str, str]], None]
ROWS, BYTES, MOST = "streambound.state.rows", "streambound.state.bytes", "streambound.state.predicted_rows"
NEEDED = "streambound.state.needed_units"
# State is compared whenever so many times as many rows have come, and has grown if it is so much larger: once
# is what a window or a range holds that had not yet been full.
DOUBLED, LARGER, TIMES = 2, 1.5, 2


@dataclass(frozen=True)
class State:
    """What a query keeps after a batch, in rows and bytes, and how many rows have come until then."""

    arrived: int
    rows: int
    bytes: int


@dataclass
class Watch:
    """A query that is watched; ``state`` is the newest that was seen, ``warnings`` all that was said.

    ``remove`` ends it, as does leaving a ``with`` block.
    """

    checked: Checked
    most_rows: int | None = None
    most_bytes: int | None = None
    gauge: Gauge | None = None
    state: State = State(0, 0, 0)
    warnings: list[str] = field(default_factory=list)
    _marks: list[State] = field(default_factory=list)
    _ended: Callable[[], None] = lambda: None

    @property
    def predicted(self) -> OnEngine | None:
        """What Spark was predicted to keep; None where the query is not decided."""
        return self.checked.engine

    def observe(self, progress: Any) -> None:
        """Take a progress of the query, a ``StreamingQueryProgress`` or its JSON as a mapping."""
        operators = progress["stateOperators"] or ()
        rows = sum(operator["numRowsTotal"] for operator in operators)
        size = sum(operator["memoryUsedBytes"] for operator in operators)
        arrived = progress["numInputRows"]
        if arrived is None:
            arrived = sum(item["numInputRows"] for item in progress["sources"])
        self.state = State(self.state.arrived + arrived, rows, size)
        for each in operators:
            self._export(ROWS, each["numRowsTotal"], each["operatorName"])
            self._export(BYTES, each["memoryUsedBytes"], each["operatorName"])
        for name, limit in ((MOST, self._most), (NEEDED, self.checked.units)):
            if limit is not None:
                self._export(name, limit, "all")
        for text in self._passed():
            if text not in self.warnings:
                self.warnings.append(text)
                log.warning("%s: %s", self.checked.query, text)

    @property
    def _most(self) -> int | None:
        limit = None if self.predicted is None else self.predicted.most
        given = [number for number in (self.most_rows, limit) if number is not None]
        return min(given, default=None)

    def _export(self, name: str, value: float, operator: str) -> None:
        if self.gauge is not None:
            self.gauge(name, float(value), {"query": self.checked.query, "operator": operator})

    def _passed(self) -> Iterator[str]:
        """What the state has passed."""
        if self._most is not None and self.state.rows > self._most:
            yield f"its state has more rows than the {self._most:,} that were predicted"
        if self.most_bytes is not None and self.state.bytes > self.most_bytes:
            yield f"its state has more bytes than {self.most_bytes:,}"
        if self.predicted is None or self.predicted.growth is not Growth.CONSTANT:
            return
        if not self._marks or self.state.arrived >= DOUBLED * self._marks[-1].arrived:
            self._marks.append(self.state)
        recent = self._marks[-TIMES - 1 :]
        if len(recent) <= TIMES:
            return
        pairs = list(pairwise(recent))
        if all(later.rows > LARGER * before.rows for before, later in pairs):
            yield "its state was predicted to be constant, and its rows grow with those that come"
        elif all(later.bytes > LARGER * before.bytes for before, later in pairs):
            yield "its state was predicted to be constant, and its bytes grow with the rows that come"

    def remove(self) -> None:
        """The query is watched no longer; it goes on."""
        self._ended()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def watch(
    query: Any,
    gauge: Gauge | None = None,
    promises: Promises | None = None,
    most_rows: int | None = None,
    most_bytes: int | None = None,
) -> Watch:
    """Compare what Spark keeps of a running query with what is predicted, from its next batch on.

    What is predicted is logged, and a warning where state grows although it should not, or passes a limit, by
    the logger ``streambound.spark``.

    Args:
        query: a ``StreamingQuery`` that runs.
        gauge: called with the name of a metric, its value and its labels after each batch: rows and bytes of
            each operator, and where a number is known the most rows that were predicted, and the units that
            the query needs.
        promises: as for ``check``.
        most_rows: a warning past so many rows of state, whatever is predicted.
        most_bytes: the same of bytes.

    Raises:
        QueryError: ``query`` is none that runs, or it tells no plan.
    """
    kinds = ("sql.streaming.query", "sql.connect.streaming.query")
    if not any(of_spark(query, kind, "StreamingQuery") for kind in kinds):
        raise QueryError(f"found {shown(query)}", accepted="a StreamingQuery that runs")
    made = Watch(check(query, promises=promises, suggest=False), most_rows, most_bytes, gauge)
    said = "not decided" if made.predicted is None else summary(made.predicted)
    log.info("%s: %s", made.checked.query, said)
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """What of all queries of the session concerns this one."""

        def onQueryStarted(self, event: Any) -> None:
            """Nothing: it runs already."""

        def onQueryProgress(self, event: Any) -> None:
            """A batch is done."""
            if str(event.progress.runId) == str(query.runId):
                made.observe(event.progress)

        def onQueryTerminated(self, event: Any) -> None:
            """Nothing: no batch follows."""

    session = SparkSession.active()
    listener = Listener()
    session.streams.addListener(listener)
    made._ended = lambda: session.streams.removeListener(listener)
    return made
