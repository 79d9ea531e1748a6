"""One micro-batch: from the state before and what tasks made of its files to new answers and the state after.

Spark may run a micro-batch again after a failure, from the same state and the same files: nothing else, and
no order in which files come, may matter here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby

from streambound.errors import DataError
from streambound.evaluation.events import Encoded
from streambound.query.model import Query
from streambound.query.values import shown
from streambound.spark.evaluations import Evaluation, Timed, evaluation_of
from streambound.spark.live.entries import Entries, entries_of, load_entries
from streambound.spark.live.waiting import PREFIX, Waiting, waiting_of
from streambound.synopsis.match_join import Row
from streambound.synopsis.plan import Plan
from streambound.synopsis.timed import TimedPlan

ABOUT = "about"
# The occurrence of the row by which a file says that the input is at its end.
END = ""


@dataclass(frozen=True)
class Arrival:
    """What a task made of a file for one occurrence of its stream (see ``reading``).

    ``latest`` is the latest timestamp in the file, of all its rows (None without rows, or without time).
    """

    stream: str
    file: str
    alias: str
    rows: int = 0
    latest: int | None = None
    table: bytes = b""


@dataclass(frozen=True)
class Told:
    """How far the query is: totals since it began, and the state now.

    ``reached`` is the last timestamp that was evaluated; ``waiting`` counts tuples of incomplete timestamps.
    """

    files: int = 0
    rows: int = 0
    markers: int = 0
    answers: int = 0
    units: int = 0
    peak_units: int = 0
    waiting: int = 0
    reached: int | None = None
    latest: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Beginning:
    """What a micro-batch needs beside the state: the plan, and the state of a query that has none yet.

    ``state`` is a checkpoint's (None: the empty one); ``streams`` are those that are read.
    """

    plan: Plan | TimedPlan
    query: Query
    static: Mapping[str, list[Encoded]]
    streams: tuple[str, ...]
    state: bytes | None = None
    peak_units: int = 0

    @property
    def timed(self) -> bool:
        """Whether the plan steps through time."""
        return isinstance(self.plan, TimedPlan)


# New answer rows with their multiplicities, by marker; None where there is no time.
New = list[tuple[int | None, Mapping[Row, int]]]


class Step:
    """The state of one query between two micro-batches."""

    def __init__(self, beginning: Beginning, entries: Mapping[str, str]) -> None:
        self.beginning = beginning
        self.evaluation: Evaluation = evaluation_of(beginning.plan, beginning.query, beginning.static)
        self.told = _told(entries.get(ABOUT), beginning.streams)
        waits = {name: held for name, held in entries.items() if name.startswith(PREFIX)}
        self.waiting: Waiting = waiting_of(self.told.latest, waits)
        if ABOUT in entries:
            kept = {n: held for n, held in entries.items() if n not in waits and n != ABOUT}
            load_entries(self.evaluation, kept, self.told.peak_units)
        elif beginning.state is not None:
            self.evaluation.load(beginning.state, beginning.peak_units)
            if isinstance(self.evaluation, Timed):
                self.told = replace(self.told, reached=self.evaluation.onepass.state.now)

    def take(self, arrivals: Iterable[Arrival]) -> New:
        """The new answers of a micro-batch, by marker.

        Raises:
            DataError: a file has a row of a timestamp that has been evaluated.
        """
        ordered = sorted(arrivals, key=lambda a: (a.stream, a.file, a.alias))
        files = {(a.stream, a.file): a for a in ordered if a.stream != END}
        found = self._timed(ordered) if self.beginning.timed else self._tabled(ordered)
        self.told = replace(
            self.told,
            files=self.told.files + len(files),
            rows=self.told.rows + sum(a.rows for a in files.values()),
            answers=self.told.answers + sum(sum(rows.values()) for _, rows in found),
            units=self.evaluation.units,
            peak_units=self.evaluation.peak_units,
            waiting=self.waiting.count,
            latest=dict(self.waiting.latest),
        )
        return found

    def _tabled(self, arrivals: list[Arrival]) -> New:
        found: Counter[Row] = Counter()
        for (stream, file), shares in groupby(arrivals, key=lambda a: (a.stream, a.file)):
            if stream != END:
                given = {share.alias: share.table for share in shares}
                found.update(self.evaluation.advance(file, given))
        return [(None, found)] if found else []

    def _timed(self, arrivals: list[Arrival]) -> New:
        ended = any(arrival.stream == END for arrival in arrivals)
        for arrival in arrivals:
            if arrival.stream != END:
                rows = json.loads(arrival.table)
                self._refuse_late(arrival, min((moment for moment, _, _ in rows), default=None))
                self.waiting.show(arrival.stream, arrival.latest)
                self.waiting.put(arrival.alias, rows)
        return list(self._markers(ended))

    def _markers(self, ended: bool) -> Iterator[tuple[int, Mapping[Row, int]]]:
        for moment, given in self.waiting.complete(ended):
            rows = self.evaluation.advance("", given)
            self.told = replace(self.told, markers=self.told.markers + 1, reached=moment)
            if rows:
                yield moment, rows

    def _refuse_late(self, arrival: Arrival, first: int | None) -> None:
        if first is None or self.told.reached is None or first > self.told.reached:
            return
        relation = self.beginning.query.occurrence(arrival.alias).relation
        kind = relation.column(str(relation.timestamp)).type
        own, last = shown(kind.decode(first)), shown(kind.decode(self.told.reached))
        raise DataError(
            f"stream {arrival.stream} has a row of {own}, but the answers have been given up to {last}",
            subject=arrival.file,
            accepted="files of each stream in order of time: a timestamp is complete when every stream has"
            " shown a later one, or --available-now is at its end",
            fix="move the file elsewhere and start again, or evaluate everything again (--recompute)",
        )

    def entries(self) -> Entries:
        """The state after it, as entries."""
        about = json.dumps(asdict(self.told), separators=(",", ":"), ensure_ascii=False)
        return {ABOUT: about, **dict(self.waiting.entries()), **entries_of(self.evaluation)}


def _told(about: str | None, streams: Iterable[str]) -> Told:
    if about is None:
        return Told(latest=dict.fromkeys(streams))
    return Told(**json.loads(about))
