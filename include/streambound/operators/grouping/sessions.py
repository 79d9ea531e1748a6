"""GROUP BY session: rows of a key less than a gap apart are one group (docs/theory.md, "The others").

Where rows only come, of each open session there is kept its first and last time and what the aggregates keep
of its rows; rows between two sessions make them one. Where rows are taken back a session can fall apart, so
the rows themselves are kept. Whenever a session has changed its old row is taken back, and the new one given.
It is over, and is forgotten, when no row can come any more that is less than the gap after its last; its row
stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streambound.operators.grouping.aggregates import Accumulator, accumulator
from streambound.operators.rows.closing import Closing
from streambound.operators.rows.operator import Changes, Operator, Row, difference, ordering
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Grouped, Times
from streambound.query.column_types import Type
from streambound.query.operators import Aggregate
from streambound.query.windows import SESSIONS
from streambound.state.serial import decoded, plain


@dataclass
class _Session:
    first: Any
    last: Any
    kept: list[Accumulator]

    @property
    def stored_units(self) -> int:
        return 2 + sum(item.stored_units for item in self.kept)


class Sessions(Operator):
    """The sessions of some rows, all of which each aggregate reads.

    Args:
        operation: what is grouped, with a ``session``; its ``reads`` tell the time of a row.
        types: of the rows.
        times: of the rows.
        time: the position of the time of a row.
        retracts: whether rows are taken back.
    """

    def __init__(
        self, operation: Grouped, types: Sequence[Type], times: Times, time: int, retracts: bool
    ) -> None:
        self._operation, self._types, self._times = operation, types, times
        self._time, self._retracts = time, retracts
        # In the unit of the column.
        self._gap = (operation.then.session or 0) // times.scales.get(time, 1)
        self._ending = times.among({time: 0})
        self._aggregates = operation.then.aggregates
        # Those that are no edge of a session.
        self._plain = [
            n for n, aggregate in enumerate(self._aggregates) if aggregate.function not in SESSIONS
        ]
        keys = list(zip(operation.keys, types, strict=False))
        values = [self._type(aggregate) for aggregate in self._aggregates]
        self._shown = Projection(operation.then.shown, keys, values, operation.then.having)
        self._closing = Closing(times, self._ending)
        # The open sessions of each key, or their rows.
        self._open: dict[Row, list[_Session]] = {}
        self._rows: dict[Row, dict[Row, int]] = {}

    def _type(self, aggregate: Aggregate) -> Type:
        edge = aggregate.function in SESSIONS
        return self._types[self._time] if edge else aggregate.type_of(self._operation.kinds.__getitem__)

    @property
    def stored_units(self) -> int:
        """Times, and what each aggregate keeps, of every open session; or their rows with their counts."""
        sessions = sum(session.stored_units for of_key in self._open.values() for session in of_key)
        return sessions + sum(len(row) + 1 for rows in self._rows.values() for row in rows)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the sessions' rows that follow from those of their rows."""
        arrived: dict[Row, dict[Row, int]] = {}
        width = len(self._operation.keys)
        for changes in inputs:
            for row, count in changes.items():
                rows = arrived.setdefault(row[:width], {})
                rows[row] = rows.get(row, 0) + count
                self._closing.see(row)
        before, after = list[Row](), list[Row]()
        for key, rows in arrived.items():
            change = self._replaced if self._retracts else self._extended
            for session in change(key, rows, before, after):
                self._wait(key, session.last)
        for key in self._closing.over():
            self._forget(key)
        return difference(self._answers(before), self._answers(after))

    def _replaced(
        self, key: Row, arrived: Mapping[Row, int], before: list[Row], after: list[Row]
    ) -> list[_Session]:
        """The sessions of a key with rows of which some are taken back: what is kept are rows."""
        stored = self._rows.pop(key, {})
        before += [self._values(key, session) for session in self._swept((), stored)]
        rows = {row: n for row in {**stored, **arrived} if (n := stored.get(row, 0) + arrived.get(row, 0))}
        sessions = self._swept((), rows)
        after += [self._values(key, session) for session in sessions]
        if rows:
            self._rows[key] = rows
        return sessions

    def _extended(
        self, key: Row, arrived: Mapping[Row, int], before: list[Row], after: list[Row]
    ) -> list[_Session]:
        """The sessions of a key with rows that only come."""
        sessions_before = self._open.get(key, [])
        near = self._near(sessions_before, arrived)
        before += [self._values(key, session) for session in near]
        unchanged = {id(session) for session in sessions_before}.difference(map(id, near))
        sessions = self._open[key] = self._swept(sessions_before, arrived)
        after += [self._values(key, session) for session in sessions if id(session) not in unchanged]
        return sessions

    def _near(self, sessions: Sequence[_Session], arrived: Iterable[Row]) -> list[_Session]:
        """The sessions that rows of these times may belong to."""
        times = [row[self._time] for row in arrived]
        low, high = min(times), max(times)
        return [
            session
            for session in sessions
            if low - session.last < self._gap and session.first - high < self._gap
        ]

    def _swept(self, sessions_before: Iterable[_Session], rows: Mapping[Row, int]) -> list[_Session]:
        """Sessions in order of time, of others and of rows."""
        parts: list[tuple[Any, _Session | None, Row]] = [(item.first, item, ()) for item in sessions_before]
        parts += [(row[self._time], None, row) for row in rows]
        sessions: list[_Session] = []
        for time, session, row in sorted(parts, key=lambda part: part[0]):
            last = sessions[-1] if sessions and time - sessions[-1].last < self._gap else None
            if session is not None:
                sessions.append(session) if last is None else self._join(last, session)
                continue
            if last is None:
                last = _Session(time, time, [self._empty(number) for number in self._plain])
                sessions.append(last)
            last.last = max(last.last, time)
            for each in last.kept:
                each.add(row, rows[row])
        return sessions

    def _empty(self, number: int) -> Accumulator:
        reads = self._operation.reads[number]
        return accumulator(self._aggregates[number], reads.positions, False, self._types, self._time)

    def _join(self, session: _Session, later: _Session) -> None:
        session.last = max(session.last, later.last)
        for left, right in zip(session.kept, later.kept, strict=True):
            left.merge(right)

    def _values(self, key: Row, session: _Session) -> Row:
        """The keys of a session, and the values of its aggregates."""
        kept = iter(session.kept)
        edges = {SESSIONS[0]: session.first, SESSIONS[1]: session.last + self._gap}
        values = [
            edges[aggregate.function] if aggregate.function in edges else next(kept).value()
            for aggregate in self._aggregates
        ]
        return (*key, *values)

    def _answers(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        return [(row, 1) for row in self._shown(rows) if row is not None]

    def _sessions(self) -> Iterator[tuple[Row, Sequence[_Session]]]:
        """The open sessions of each key."""
        yield from self._open.items()
        yield from ((key, self._swept((), rows)) for key, rows in self._rows.items())

    def _edge(self, last: Any) -> Row:
        """The latest time that a row of a session with this last time can have."""
        return (last + self._gap - 1,)

    def _end(self, last: Any) -> int | None:
        """After a row of which ``seen`` is greater, none of a session with this last time comes."""
        return self._ending.end(self._edge(last))

    def _forget(self, key: Row) -> None:
        """Forget the sessions of a key that are over, and wait for the others."""
        rows = self._rows.pop(key, {})
        sessions = self._swept((), rows) if self._retracts else self._open.pop(key, [])
        lasting = [item for item in sessions if self._lasts(item)]
        for session in lasting:
            self._wait(key, session.last)
        if not lasting:
            return
        if self._retracts:
            self._rows[key] = {row: n for row, n in rows.items() if row[self._time] >= lasting[0].first}
        else:
            self._open[key] = lasting

    def _wait(self, key: Row, last: Any) -> None:
        """Look at a key when a session with this last time is over."""
        self._closing.until(key, self._end(last))

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows of sessions that may still get longer."""
        open_sessions = [(key, session) for key, sessions in self._sessions() for session in sessions]
        rows = [
            self._values(key, session)
            for key, session in open_sessions
            if not self._ending.over(self._edge(session.last), now)
        ]
        return difference((), self._answers(rows))

    def _lasts(self, session: _Session) -> bool:
        end, seen = self._end(session.last), self._closing.seen
        return end is None or seen is None or end >= seen

    def dump(self) -> Any:
        """Sessions in the order of their keys and times, or their rows, and the time that was seen."""
        sessions = [
            [
                list(map(plain, key)),
                [[s.first, s.last, [item.dump() for item in s.kept]] for s in of_key],
            ]
            for key, of_key in sorted(self._open.items(), key=lambda item: ordering(item[0]))
        ]
        rows = [(row, count) for counts in self._rows.values() for row, count in counts.items()]
        kept = [[*map(plain, row), count] for row, count in sorted(rows, key=lambda item: ordering(item[0]))]
        return {"sessions": sessions, "rows": kept, "seen": self._closing.seen}

    def load(self, document: Any) -> None:
        """Take up sessions."""
        self._open, self._rows = {}, {}
        self._closing = Closing(self._times, self._ending)
        self._closing.seen = document["seen"]
        for values, listed in document["sessions"]:
            sessions = self._open[decoded(values)] = []
            for first, last, kept in listed:
                sessions.append(_Session(first, last, [self._empty(number) for number in self._plain]))
                for item, part in zip(sessions[-1].kept, kept, strict=True):
                    item.load(part)
        for *values, count in document["rows"]:
            row = decoded(values)
            self._rows.setdefault(row[: len(self._operation.keys)], {})[row] = count
        for key, open_ in self._sessions():
            for session in open_:
                self._wait(key, session.last)
