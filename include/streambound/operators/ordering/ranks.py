"""Rows of some ranks: ROW_NUMBER, RANK, DENSE_RANK, DISTINCT ON, ORDER BY ... LIMIT.

See "Top-n" in docs/theory.md. Where rows only come, a rank only grows. So of each partition the rows up to
the last rank that is told from later ones are kept; what is displaced from them leaves for good: it is
answered (``rn > n``) or is taken back, and is forgotten. RANK and DENSE_RANK keep all rows of a tie. Where
rows are taken back, or later ranks are shown, any row can come to have any rank, so all of a partition are
kept: these must be finitely many, or the partition must end. Or rows have a time, and once it is over they
are not taken back: of these the first ones are kept.

The order is that of the columns named, NULL first ascending and last descending (as in Spark); rows that tie
are in the order of all their values from left to right, NULL first. So neither arrival nor cuts of history
matter. A partition with a time is dropped when its time is over; its rows stay answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import total_ordering
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from streambound.operators.rows.closing import Closing
from streambound.operators.rows.operator import Changes, Operator, Row, ordering
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Times
from streambound.plan.frame_reach import settles_rows
from streambound.query.column_types import NAN, Type, parse_type
from streambound.query.operators import Ranking
from streambound.state.serial import decoded, plain

RANK = parse_type("bigint")
# What sorts a row: by the columns of the order, then by all its values.
Key: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]
# A row with how often it is there.
Ranked: TypeAlias = tuple[Key, Row, int]


class Ranks(Operator):
    """The rows of some ranks.

    Args:
        types: of the rows.
        times: of the rows.
        retracts: whether rows are taken back.
    """

    def __init__(self, then: Ranking, types: Sequence[Type], times: Times, retracts: bool) -> None:
        self.then = then
        self._key = key_of(then.order)
        self._shown = Projection(then.shown, list(enumerate(types)), [RANK] if then.ranked else [])
        # All rows of a partition, or those up to a rank.
        self._most = None if then.keeps_all(retracts) else then.last
        self._settles = settles_rows(then, times, retracts)
        self._seen: int | None = None
        self._times, self._parted = times, times.among({p: n for n, p in enumerate(then.partition)})
        self._closing = Closing(self._times, self._parted)
        # No row comes before one whose time is over, if they are in order of time.
        first = [p for p, descends in then.order[:1] if not descends]
        self._before = times.among({p: p for p in (*then.partition, *first)} if first else {})
        self._partitions: dict[Row, list[Ranked]] = {}

    @property
    def stored_units(self) -> int:
        """The values of each row that is kept, and its count."""
        return sum(len(row) + 1 for kept in self._partitions.values() for _, row, _ in kept)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the ranked rows that follow from those of the rows."""
        arrived: dict[Row, list[Ranked]] = {}
        for changes in inputs:
            for row, count in changes.items():
                key = tuple([row[p] for p in self.then.partition])
                arrived.setdefault(key, []).append((self._key(row), row, count))
                self._closing.see(row)
        changed: dict[Row, int] = {}
        for key, rows in arrived.items():
            self._change(key, rows, changed)
        for key in self._closing.over():
            self._partitions.pop(key, None)
        if self._settles:
            self._settle(inputs)
        return self._answers(changed)

    def _settle(self, inputs: Sequence[Changes]) -> None:
        """Drop rows that are not taken back any more, and have so many before them that are not either."""
        moments = [m for changes in inputs for row in changes if (m := self._times.seen(row)) is not None]
        self._seen = max((m for m in (self._seen, *moments) if m is not None), default=None)
        for key, kept in self._partitions.items():
            ends = [self._times.end(row) for _, row, _ in kept]
            over = [end is not None and self._seen is not None and end < self._seen for end in ends]
            settled, _ = self._cut(
                [item for item, past in zip(kept, over, strict=True) if past], self.then.last
            )
            rest = [item for item, past in zip(kept, over, strict=True) if not past]
            self._partitions[key] = merged([*rest, *settled])

    def _change(self, key: Row, arrived: list[Ranked], changes: dict[Row, int]) -> None:
        """Take rows into a partition; ``changes`` are rows with their ranks, as they change."""
        before = self._partitions.get(key)
        every = merged([*(before or ()), *arrived])
        kept, displaced = (every, []) if self._most is None else self._cut(every, self._most)
        for sign, rows in ((-1, before or ()), (1, kept)):
            for row, count in self._accepted(rows):
                changes[row] = changes.get(row, 0) + sign * count
        if self.then.beyond:
            for _, row, count in displaced:
                changes[row] = changes.get(row, 0) + count
        if kept:
            if before is None:
                self._closing.open(key)
            self._partitions[key] = kept
        else:
            self._partitions.pop(key, None)

    def _cut(self, rows: Sequence[Ranked], most: int) -> tuple[list[Ranked], list[Ranked]]:
        """The rows of the ranks up to one, and the others."""
        if not most:
            return [], list(rows)
        kept, displaced = list[Ranked](), list[Ranked]()
        for rank, (key, row, count) in self._ranks(rows):
            many = min(count, max(0, most - rank + 1)) if self.then.function == "ROW_NUMBER" else count
            if rank > most:
                many = 0
            if many:
                kept.append((key, row, many))
            if many < count:
                displaced.append((key, row, count - many))
        return kept, displaced

    def _ranks(self, rows: Iterable[Ranked]) -> Iterator[tuple[int, Ranked]]:
        """Rows with their rank: of equal rows the first of theirs."""
        before = 0
        for number, (_, tied) in enumerate(groupby(rows, key=lambda item: item[0][0])):
            first = before
            for item in tied:
                rank = {"ROW_NUMBER": before, "RANK": first}.get(self.then.function, number)
                yield rank + 1, item
                before += item[2]

    def _accepted(self, rows: Iterable[Ranked]) -> Iterator[tuple[Row, int]]:
        """The rows that are answered, followed by their rank where that is shown."""
        for rank, (_, row, count) in self._ranks(rows):
            last = rank + count - 1 if self.then.function == "ROW_NUMBER" else rank
            for low, high in self.then.ranks:
                first, end = max(low, rank), last if high is None else min(high, last)
                if first > end:
                    continue
                if self.then.function != "ROW_NUMBER":
                    yield (*row, rank) if self.then.ranked else row, count
                elif not self.then.ranked:
                    yield row, end - first + 1
                else:
                    yield from (((*row, own), 1) for own in range(first, end + 1))

    def _answers(self, changes: dict[Row, int]) -> dict[Row, int]:
        changed = [(row, count) for row, count in changes.items() if count]
        made: dict[Row, int] = {}
        for row, (_, count) in zip(self._shown([row for row, _ in changed]), changed, strict=True):
            if row is not None:
                made[row] = made.get(row, 0) + count
        return {row: count for row, count in made.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """Those before which rows may still come: of what is ordered by time first, those that are recent."""
        rows: dict[Row, int] = {}
        for key, kept in self._partitions.items():
            if self._closing.closed(key, now):
                continue
            for row, count in self._accepted(kept):
                if not self._before.over(row, now):
                    rows[row] = rows.get(row, 0) + count
        return self._answers(rows)

    def dump(self) -> Any:
        """The rows that are kept in their order, partition by partition, and the time that was seen."""
        parts = (self._partitions[key] for key in sorted(self._partitions, key=ordering))
        rows = [[*map(plain, row), count] for part in parts for _, row, count in part]
        return {"rows": rows, "seen": self._seen if self._settles else self._closing.seen}

    def load(self, document: Any) -> None:
        """Take up rows."""
        self._partitions = {}
        self._closing = Closing(self._times, self._parted)
        self._closing.seen = self._seen = document["seen"]
        for *values, count in document["rows"]:
            row = decoded(values)
            key = tuple(row[p] for p in self.then.partition)
            if key not in self._partitions:
                self._closing.open(key)
            self._partitions.setdefault(key, []).append((self._key(row), row, count))


def merged(rows: Iterable[Ranked]) -> list[Ranked]:
    """Rows in order, equal ones together; those that are all taken back are none."""
    ranks: list[Ranked] = []
    for key, same in groupby(sorted(rows, key=itemgetter(0)), key=itemgetter(0)):
        rows = list(same)
        count = sum(row[2] for row in rows)
        if count:
            ranks.append((key, rows[0][1], count))
    return ranks


@total_ordering
class _Descending:
    """A text in an order that descends."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.text == other.text

    def __lt__(self, descending: _Descending) -> bool:
        return descending.text < self.text

    def __hash__(self) -> int:
        return hash(self.text)


def key_of(order: Sequence[tuple[int, bool]]) -> Callable[[Row], Key]:
    """What sorts rows by some columns (which may descend), then by all values."""

    def key(row: Row) -> Key:
        columns = [_falling(row[p]) if descends else _rising(row[p]) for p, descends in order]
        return tuple(columns), ordering(row)

    return key


def _rising(value: Any) -> tuple[bool, Any]:
    return value is not None, 0 if value is None else value


def _falling(value: Any) -> tuple[int, Any]:
    if value is None:
        return 2, 0
    if value == NAN:
        # Greater than every number.
        return 0, 0
    return 1, _Descending(value) if isinstance(value, str) else -value
