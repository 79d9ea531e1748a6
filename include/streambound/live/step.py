"""One micro-batch: from the state before and what tasks made of its rows to new answers and the state after.

Spark may run a micro-batch again after a failure, from the same state and the same rows: nothing else, and
no order in which files come, may matter here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streambound.errors import DataError
from streambound.evaluation.events import Encoded
from streambound.evaluation.promises import require_units, too_many
from streambound.history.evaluations.statement import live_evaluation
from streambound.live.entries import Entries, entries_of, state_of, tree_entries, tree_state
from streambound.live.waiting import PREFIX, Waiting, waiting_of
from streambound.query.column_types import Type
from streambound.query.live_sources import DROP
from streambound.query.model import Relation
from streambound.state.row_join import Row
from streambound.state.serial import compact_text
from streambound.tasks.plans import StatementPlan
from streambound.tasks.relations import kinds_of, load_relation
from streambound.tasks.statements import COUNT, MOMENT

ABOUT = "about"
# The occurrence of the row by which a file says that the input is at its end.
END = ""


@dataclass(frozen=True)
class Arrival:
    """What a task made of a file, or of a share of what a source has, for one occurrence of its stream.

    ``alias`` is that of the occurrence, with the label of its part (see ``plans``).
    ``latest`` is the latest timestamp there, of all its rows (None without rows, or without time);
    ``malformed`` counts what was dropped there since it could not be decoded.
    """

    stream: str
    file: str
    alias: str
    rows: int = 0
    latest: int | None = None
    table: bytes = b""
    malformed: int = 0


@dataclass(frozen=True)
class Progress:
    """How far the query is: totals since it began, and the state now.

    ``reached`` is the last timestamp that was evaluated; ``waiting`` counts tuples of incomplete timestamps,
    ``late`` and ``malformed`` what was dropped. ``files`` are those of folders.
    """

    files: int = 0
    rows: int = 0
    markers: int = 0
    answers: int = 0
    units: int = 0
    peak_units: int = 0
    waiting: int = 0
    late: int = 0
    malformed: int = 0
    reached: int | None = None
    latest: Mapping[str, int | None] = field(default_factory=dict)


# What the error of a row that comes too late says.
LATE = "but the answers have been given up to"


@dataclass(frozen=True)
class Beginning:
    """What a micro-batch needs beside the state: the plan, and the state of a query that has none yet.

    ``state`` is a checkpoint's (None: the empty one).
    """

    plan: StatementPlan
    static: Mapping[str, list[Encoded]]
    state: bytes | None = None
    peak_units: int = 0

    @property
    def timed(self) -> frozenset[str]:
        """The occurrences in parts that step through time: their tuples wait."""
        return self.plan.waiting

    @property
    def kinds(self) -> Mapping[str, Sequence[Type]]:
        """The types of the relation of each of these occurrences."""
        sides = ((p.label + s.alias, p.plan.query, s) for p in self.plan.parts for s in p.plan.streams)
        return {key: kinds_of(query, s) for key, query, s in sides if key in self.timed}

    @property
    def lateness(self) -> Mapping[str, int]:
        """How far behind its latest timestamp each source may be, in units of the timestamp."""
        relations = self.plan.inputs.values()
        return {relation.name: relation.live.lateness for relation in relations if relation.live}


# New answer rows with their multiplicities, by marker; None of parts where there is no time.
New = list[tuple[int | None, Mapping[Row, int]]]


class LiveState:
    """The state of one query between two micro-batches."""

    def __init__(self, beginning: Beginning, entries: Mapping[str, str]) -> None:
        self.beginning = beginning
        self.evaluation = live_evaluation(beginning.plan, beginning.static)
        labels = [part.label for part in beginning.plan.parts]
        self.labels = labels if len(labels) > 1 else []
        # What is the answer before anything comes is told with the first that comes.
        began = ABOUT in entries or beginning.state is not None
        self.initial: Mapping[Row, int] = {} if began else self.evaluation.initial
        self.progress = _progress_of(
            entries.get(ABOUT), {beginning.plan.inputs[stream_file].name for stream_file in beginning.timed}
        )
        waits = {name: value for name, value in entries.items() if name.startswith(PREFIX)}
        self.waiting: Waiting = waiting_of(self.progress.latest, waits, beginning.lateness, beginning.kinds)
        if ABOUT in entries:
            kept = {n: value for n, value in entries.items() if n not in waits and n != ABOUT}
            self.evaluation.load(self._state(kept), self.progress.peak_units)
        elif beginning.state is not None:
            self.evaluation.load(json.loads(beginning.state), beginning.peak_units)
            self.progress = replace(self.progress, reached=self.evaluation.latest)

    def take(self, arrivals: Iterable[Arrival]) -> New:
        """The new answers of a micro-batch, by marker.

        Raises:
            DataError: there is a row of a timestamp that has been evaluated, or one too many of one.
            UnitsExceeded: the state passed the plan's units.
        """
        ordered = sorted(arrivals, key=lambda a: (a.stream, a.file, a.alias))
        by_file = {(a.stream, a.file): a for a in ordered if a.stream != END}
        sources = {r.name for r in self.beginning.plan.inputs.values() if r.live}
        timed = self.beginning.timed
        waits = [a for a in ordered if a.alias in timed]
        answers = self._untimed([a for a in ordered if a.stream != END and a.alias not in timed])
        answers = [(None, self.initial), *answers] if self.initial else answers
        answers += self._timed(waits, ended=any(a.stream == END for a in ordered))
        self.progress = replace(
            self.progress,
            files=self.progress.files + sum(stream not in sources for stream, _ in by_file),
            rows=self.progress.rows + sum(a.rows for a in by_file.values()),
            malformed=self.progress.malformed + sum(a.malformed for a in by_file.values()),
            answers=self.progress.answers + sum(sum(rows.values()) for _, rows in answers),
            units=self.evaluation.stored_units,
            peak_units=self.evaluation.peak_units,
            waiting=self.waiting.count,
            latest=dict(self.waiting.latest),
        )
        plan = self.beginning.plan
        require_units(plan.statement.name, plan.max_units, self.progress.peak_units)
        return answers

    def _untimed(self, arrivals: list[Arrival]) -> New:
        counter: Counter[Row] = Counter()
        for (_, file), tables in groupby(arrivals, key=lambda a: (a.stream, a.file)):
            for step in self.evaluation.by_moment(
                file, {stream_file.alias: stream_file.table for stream_file in tables}
            ):
                counter.update(step.take())
        new = {row: count for row, count in counter.items() if count}
        return [(None, new)] if new else []

    def _timed(self, arrivals: list[Arrival], ended: bool) -> New:
        late: dict[tuple[str, str], int] = {}
        for arrival in arrivals:
            tuples, dropped = self._in_time(arrival, load_relation(arrival.table))
            # A row is one, however many occurrences of its stream there are.
            stream_file = (arrival.stream, arrival.file)
            late[stream_file] = max(dropped, late.get(stream_file, 0))
            self.waiting.show(arrival.stream, arrival.latest)
            relation = self.beginning.plan.inputs[arrival.alias]
            # A task has seen one file; its stream may have further ones with rows of the same timestamp.
            moment = self.waiting.put(arrival.alias, tuples, relation.max_rows_per_timestamp)
            if moment is not None:
                raise too_many(relation, relation.rates[0], moment).about(arrival.file)
        self.progress = replace(self.progress, late=self.progress.late + sum(late.values()))
        moments, given = self.waiting.complete(ended)
        if not moments:
            return []
        answers = [(step.moment, step.take()) for step in self.evaluation.by_moment("", given)]
        self.progress = replace(
            self.progress, markers=self.progress.markers + len(moments), reached=moments[-1]
        )
        return [(moment, rows) for moment, rows in answers if rows]

    def _in_time(self, arrival: Arrival, tuples: pa.Table) -> tuple[pa.Table, int]:
        """Those of timestamps that have not been evaluated, and how many others were dropped.

        Raises:
            DataError: there are others, and they are not to be dropped.
        """
        reached, moments = self.progress.reached, tuples.column(MOMENT)
        if reached is None or not len(tuples) or (first := int(pc.min(moments).as_py())) > reached:
            return tuples, 0
        relation = self.beginning.plan.inputs[arrival.alias]
        if relation.live is None or relation.live.late != DROP:
            raise self._late(arrival, relation, first, reached)
        late = tuples.filter(pc.less_equal(moments, reached))
        return tuples.filter(pc.greater(moments, reached)), sum(late.column(COUNT).to_pylist())

    def _late(self, arrival: Arrival, relation: Relation, first: int, reached: int) -> DataError:
        kind = relation.column(str(relation.timestamp)).type
        message = f"stream {arrival.stream} has a row of {kind.text(first)}, {LATE} {kind.text(reached)}"
        if relation.live is not None:
            return DataError(
                message,
                subject=f"{relation.live.format} source of stream {relation.name}",
                accepted="rows that are behind the latest one of their stream by no more than its lateness",
                fix="drop such rows, and have them counted (late: drop in live of the stream catalog), or"
                " declare a longer lateness there and evaluate everything again (--recompute)",
            )
        return DataError(
            message,
            subject=arrival.file,
            accepted="files of each stream in order of time: a timestamp is complete when every stream has"
            " shown a later one, or the input has ended",
            fix="move the file elsewhere and start again, or evaluate everything again (--recompute)",
        )

    def entries(self) -> Entries:
        """The state after it, as entries."""
        about = compact_text(asdict(self.progress))
        return {
            ABOUT: about,
            **dict(self.waiting.entries()),
            **self._kept(),
        }

    def _kept(self) -> Entries:
        state, tree = json.loads(self.evaluation.dump()), self.evaluation.tree
        return entries_of(state, self.labels) if tree is None else tree_entries(tree, state)

    def _state(self, entries: Entries) -> Any:
        tree = self.evaluation.tree
        return state_of(entries, self.labels) if tree is None else tree_state(tree, entries)


def _progress_of(about: str | None, streams: Iterable[str]) -> Progress:
    if about is None:
        return Progress(latest=dict.fromkeys(sorted(streams)))
    return Progress(**json.loads(about))
