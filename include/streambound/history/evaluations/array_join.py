"""The join in arrays: the same rows as ``state.row_join`` gives, for larger tables.

Values become ranks, so every comparison is one of integers. Sources are joined one after the other;
after each step only the columns that later steps or the SELECT list ask for are kept, and equal
rows are added up: intermediate results are as small as the plan's tables, whatever the multiplicities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from streambound.plan.model import Pair
from streambound.query.model import Attribute, Join, Op, Query, Term
from streambound.query.ring import Weight
from streambound.state.row_join import PartialMatch, Row, RowJoin, Source
from streambound.state.table import ANY

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
ANYTHING, NULL = -1, -2
# Pairs compared at once: some tens of megabytes.
BLOCK = 1 << 20
# What a stretch of sorted values meets.
_SORTED = (Op.LT, Op.LE, Op.GE, Op.GT)
# Of an occurrence: a projected column, its side of a comparison (by number), or (None) its cell.
Slot = tuple[str, Attribute | int | None]


@dataclass(frozen=True)
class Matched:
    """Partial matches, one a row: by slot the ranks of their values, and the weight of each.

    Each array has the shape (rows,).
    """

    columns: Mapping[Slot, Integers]
    weights: NDArray[Any]

    def take(self, rows: Rows) -> Matched:
        """Some of the matches, by their rows."""
        return Matched({slot: column[rows] for slot, column in self.columns.items()}, self.weights[rows])


class ArrayJoin(RowJoin):
    """A join that adds up answer rows in arrays; a ``few`` combinations are looked at one by one."""

    few: ClassVar[int] = 1_000

    def rows(self, query: Query, sources: Iterable[Source], rows: dict[Row, Weight]) -> None:
        """Add the answer rows of every combination, with their weights."""
        given = sorted(sources, key=lambda source: len(source[1]))
        if prod(len(partial_matches) for _, partial_matches in given) <= self.few:
            super().rows(query, given, rows)
        else:
            for row, weight in self._counted(query, given):
                self.ring.put(rows, row, weight)

    @cached_property
    def sides(self) -> list[dict[str, Pair]]:
        """Each comparison, of columns and then of timestamps, seen from each of its occurrences."""
        return [_sides(atom) for atom in (*self.joins, *self.times)]

    def _counted(self, query: Query, sources: Sequence[Source]) -> Iterator[tuple[Row, Weight]]:
        """(answer row, weight) of every combination, each row once."""
        asked = frozenset(query.projected)
        raw = [self.columns(asked, streams, list(partial_matches)) for streams, partial_matches in sources]
        # Timestamps have an order of their own: they meet no other values.
        times, _ = ranked(c for columns in raw for slot, c in columns.items() if self._timely(slot))
        ranks, values = ranked(c for columns in raw for slot, c in columns.items() if not self._timely(slot))
        matched = []
        for (streams, partial_matches), columns in zip(sources, raw, strict=True):
            ranks_by_slot = {s: _ranks_of(c, times if self._timely(s) else ranks) for s, c in columns.items()}
            ranks_by_slot.update(self._cells(streams, partial_matches))
            matched.append(
                (streams, Matched(ranks_by_slot, weights_of([match.weight for match in partial_matches])))
            )
        yield from self.combined(query, matched, values)

    def combined(
        self, query: Query, sources: Sequence[tuple[frozenset[str], Matched]], values: Sequence[Any]
    ) -> Iterator[tuple[Row, Weight]]:
        """(answer row, weight) of every combination, each row once; ``values`` are by rank."""
        asked = frozenset(query.projected)
        matched: Matched | None = None
        bound = frozenset[str]()
        for streams, here in sources:
            bound |= streams
            kept = self._later(asked, bound)
            matched = grouped(here, kept) if matched is None else self._joined(matched, here, kept)
            if not len(matched.weights):
                return
        assert matched is not None
        rows = [_decoded(output.term, matched, values) for output in query.select]
        # Arrays count, whatever the ring.
        for index, count in enumerate(matched.weights.tolist()):
            yield tuple(column[index] for column in rows), self.ring.multiply(self.ring.one, count)

    def columns(
        self, asked: Iterable[Attribute], streams: frozenset[str], partial_matches: list[PartialMatch]
    ) -> dict[Slot, list[Any]]:
        """The values of matches by slot."""
        by_slot: dict[Slot, list[Any]] = {
            (a.occurrence, a): [match.values.get(a, ANY) for match in partial_matches]
            for a in asked
            if a.occurrence in streams
        }
        for number, sides in enumerate(self.sides):
            mine = [alias for alias in sides if alias in streams]
            if len(mine) == 1:
                (alias,) = mine
                by_slot[alias, number] = (
                    _stamps(self.times[number - len(self.joins)], alias, partial_matches)
                    if self._timely((alias, number))
                    else _towards(sides[alias], partial_matches)
                )
        return by_slot

    def _cells(
        self, streams: frozenset[str], partial_matches: Iterable[PartialMatch]
    ) -> dict[Slot, Integers]:
        asked = streams & {item for (item, _), _ in self.excluded}
        cells = np.array(
            [-1 if match.cell is None else match.cell for match in partial_matches] if asked else ()
        )
        return {(alias, None): cells for alias in asked}

    def _timely(self, slot: Slot) -> bool:
        return isinstance(slot[1], int) and slot[1] >= len(self.joins)

    def _later(self, asked: Iterable[Attribute], bound: frozenset[str]) -> set[Slot]:
        """What is still asked for once these occurrences are joined."""
        kept: set[Slot] = {(a.occurrence, a) for a in asked if a.occurrence in bound}
        for number, sides in enumerate(self.sides):
            inside = [alias for alias in sides if alias in bound]
            if len(inside) == 1:
                kept.add((inside[0], number))
        kept |= {
            (item, None)
            for (item, _), (partner, _) in self.excluded
            if item in bound and partner not in bound
        }
        return kept

    def _joined(self, left: Matched, right: Matched, kept: set[Slot]) -> Matched:
        tests = [*self._tests(left, right), *self._excluding(left, right)]
        exact = _exact(left.weights, right.weights)
        left, right = Matched(left.columns, exact(left.weights)), Matched(right.columns, exact(right.weights))
        if not kept & set(right.columns):
            return grouped(_summed(left, right, tests), kept)
        if not kept & set(left.columns):
            turned = [_turned(test) for test in tests]
            return grouped(_summed(right, left, turned), kept)
        return grouped(_paired(left, right, tests), kept)

    def _tests(self, left: Matched, right: Matched) -> list[_Test]:
        tests = []
        for number, sides in enumerate(self.sides):
            for alias, (_, op, attribute) in sides.items():
                own, partner = (alias, number), (attribute.occurrence, number)
                if own in left.columns and partner in right.columns:
                    tests.append(_Test(left.columns[own], op, right.columns[partner]))
        return tests

    def _excluding(self, left: Matched, right: Matched) -> list[_Test]:
        tests = []
        for column in left.columns:
            for partner in right.columns:
                if column[1] is None and partner[1] is None:
                    bad = {(a[1], b[1]) for a, b in self.excluded if (a[0], b[0]) == (column[0], partner[0])}
                    tests.append(_Test(left.columns[column], Op.NE, right.columns[partner], frozenset(bad)))
        return tests


@dataclass(frozen=True)
class _Test:
    """A comparison of a column of each side, or pairs of cells that exclude each other."""

    left: Integers
    op: Op
    right: Integers
    excluded: frozenset[tuple[int | None, int | None]] | None = None

    def holds(self, left: Rows, right: Rows) -> Mask:
        """Whether it holds for pairs of rows whose values are ranks."""
        mask: Mask = self.op.compared(self.left[left], self.right[right])
        return mask

    def asked(self, left: int, right: int) -> bool | None:
        """Whether it is to be asked of all pairs with rows alike; None if it holds for none of them."""
        if self.excluded is not None:
            return None if (left, right) in self.excluded else False
        if ANYTHING in (left, right):
            return False
        return None if NULL in (left, right) else True


def _turned(test: _Test) -> _Test:
    excluded = None if test.excluded is None else frozenset((b, a) for a, b in test.excluded)
    return _Test(test.right, test.op.mirrored, test.left, excluded)


@dataclass(frozen=True)
class _Candidates:
    """For each of some left rows a stretch of some right rows, of which those count that meet ``tests``.

    ``left``, ``starts`` and ``stops`` have the same length; ``left[i]`` meets ``right[starts[i]:stops[i]]``.
    """

    left: Rows
    right: Rows
    starts: Rows
    stops: Rows
    tests: Sequence[_Test]

    def pairs(self) -> Iterator[tuple[slice, Rows, Rows, Mask]]:
        """In blocks: which of ``left``, the pairs of rows, and whether each counts."""
        lengths = self.stops - self.starts
        blocks = np.cumsum(lengths) // BLOCK
        edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(lengths)]
        for start, stop in pairwise(edges):
            counts = lengths[start:stop]
            before = np.cumsum(counts) - counts
            positions = np.arange(int(counts.sum())) + np.repeat(self.starts[start:stop] - before, counts)
            left, right = np.repeat(self.left[start:stop], counts), self.right[positions]
            mask = np.ones(len(left), np.bool_)
            for test in self.tests:
                mask &= test.holds(left, right)
            yield slice(start, stop), left, right, mask

    def totals(self, weights: NDArray[Any]) -> NDArray[Any]:
        """For each left row the sum of its partners' weights."""
        if not self.tests:
            sums = np.concatenate([np.zeros(1, weights.dtype), np.cumsum(weights[self.right])])
            return np.asarray(sums[self.stops] - sums[self.starts])
        totals = np.zeros(len(self.left), weights.dtype)
        for rows, _, right, mask in self.pairs():
            counts = self.stops[rows] - self.starts[rows]
            some = np.flatnonzero(counts)
            if len(some):
                begins = (np.cumsum(counts) - counts)[some]
                mine = np.where(mask, weights[right], np.zeros(1, weights.dtype))
                totals[some + rows.start] = np.add.reduceat(mine, begins)
        return totals


def _candidates(left: Matched, right: Matched, tests: Sequence[_Test]) -> Iterator[_Candidates]:
    """Stretches that have all matches: rows with equal keys, in order of the first inequality."""
    cells = [test.excluded is not None for test in tests]
    for mine, indices in _alike([test.left for test in tests], cells, len(left.weights)):
        for theirs, partners in _alike([test.right for test in tests], cells, len(right.weights)):
            asked = [test.asked(a, b) for test, a, b in zip(tests, mine, theirs, strict=True)]
            if None not in asked:
                active = [test for test, ask in zip(tests, asked, strict=True) if ask]
                yield _stretches(indices, partners, active)


def _alike(
    columns: Sequence[Integers], cells: Sequence[bool], size: int
) -> Iterator[tuple[tuple[int, ...], Rows]]:
    """Rows by what stands in their columns: ANYTHING, NULL or (0) any rank; of cells by which."""
    kinds = [column if cell else np.minimum(column, 0) for column, cell in zip(columns, cells, strict=True)]
    various = [kind for kind in kinds if len(kind) and (kind != kind[0]).any()]
    if not various:
        yield tuple(int(kind[0]) for kind in kinds if len(kind)), np.arange(size)
        return
    _, firsts, numbers = np.unique(np.stack(various), axis=1, return_index=True, return_inverse=True)
    for number, first in enumerate(firsts.tolist()):
        yield tuple(int(kind[first]) for kind in kinds), np.flatnonzero(numbers == number)


def _stretches(left: Rows, right: Rows, tests: Sequence[_Test]) -> _Candidates:
    equal = [test for test in tests if test.op is Op.EQ]
    order = next((test for test in tests if test.op in _SORTED), None)
    keyed = [(t.left[left], t.right[right]) for t in equal]
    lefts, rights = _keys(keyed, len(left), len(right))
    if order is None:
        positions = np.argsort(rights, kind="stable")
        keys = rights[positions]
        starts, stops = np.searchsorted(keys, lefts, "left"), np.searchsorted(keys, lefts, "right")
    else:
        mine, theirs = order.left[left], order.right[right]
        width = int(max(mine.max(initial=0), theirs.max(initial=0))) + 2
        keys = rights * width + theirs
        positions = np.argsort(keys, kind="stable")
        keys = keys[positions]
        first = np.searchsorted(keys, lefts * width, "left")
        last = np.searchsorted(keys, (lefts + 1) * width, "left")
        after = np.searchsorted(keys, lefts * width + mine, "left" if order.op in (Op.LE, Op.GT) else "right")
        starts, stops = (after, last) if order.op in (Op.LT, Op.LE) else (first, after)
    rest = [test for test in tests if test is not order and test.op is not Op.EQ]
    return _Candidates(left, right[positions], starts, stops, rest)


def _keys(equated: Sequence[tuple[Integers, Integers]], lefts: int, rights: int) -> tuple[Integers, Integers]:
    """Small numbers for the combinations of equated values, the same on both sides."""
    both = np.zeros(lefts + rights, np.int64)
    for pair in equated:
        column = np.concatenate(pair)
        _, both = np.unique(both * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    return both[:lefts], both[lefts:]


def _summed(left: Matched, right: Matched, tests: Sequence[_Test]) -> Matched:
    """The left rows, each standing for all of its partners: nothing of them is asked for later."""
    partners = np.zeros(len(left.weights), right.weights.dtype)
    for candidates in _candidates(left, right, tests):
        partners[candidates.left] += candidates.totals(right.weights)
    weights = left.weights * partners
    rows = np.flatnonzero(weights)
    return Matched(left.columns, weights).take(rows)


def _paired(left: Matched, right: Matched, tests: Sequence[_Test]) -> Matched:
    lefts, rights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for candidates in _candidates(left, right, tests):
        for _, near, far, mask in candidates.pairs():
            lefts.append(near[mask])
            rights.append(far[mask])
    a, b = left.take(np.concatenate(lefts)), right.take(np.concatenate(rights))
    return Matched({**a.columns, **b.columns}, a.weights * b.weights)


def grouped(matched: Matched, kept: Collection[Slot]) -> Matched:
    """Only some columns; rows that are then equal become one."""
    columns = {slot: column for slot, column in matched.columns.items() if slot in kept}
    if not len(matched.weights):
        return Matched(columns, matched.weights)
    if not columns:
        return Matched({}, np.add.reduce(matched.weights, keepdims=True))
    order = np.lexsort(tuple(columns.values()))
    sorted_columns = {slot: column[order] for slot, column in columns.items()}
    changes = [column[1:] != column[:-1] for column in sorted_columns.values()]
    starts = np.concatenate([[0], np.flatnonzero(np.logical_or.reduce(changes)) + 1])
    weights = np.add.reduceat(matched.weights[order], starts)
    return Matched({slot: column[starts] for slot, column in sorted_columns.items()}, weights)


def weights_of(weights: Sequence[int]) -> NDArray[Any]:
    """Weights as an array: machine integers where these hold their sum, else Python's numbers."""
    small = all(type(weight) is int for weight in weights) and sum(map(abs, weights)) < 2**62
    return np.array(weights, np.int64 if small else object)


def _exact(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """Machine integers where no sum of products can leave their range, else Python's."""
    total = int(np.abs(left).sum()) * int(np.abs(right).sum()) if len(left) and len(right) else 0
    return (lambda w: w) if total < 2**62 else (lambda w: w.astype(object))


def _sides(atom: Join) -> dict[str, Pair]:
    """A comparison seen from each of its occurrences."""
    mirrored = (atom.right, atom.op.mirrored, atom.left)
    return {atom.left.occurrence: (atom.left, atom.op, atom.right), atom.right.occurrence: mirrored}


def _towards(pair: Pair, partial_matches: Sequence[PartialMatch]) -> list[Any]:
    """The value of each match that goes into a comparison; equated columns are always faithful."""
    local, op, _ = pair
    if op is Op.EQ:
        return [match.values[local] for match in partial_matches]
    # Those that represent a cell have the same columns.
    names: dict[int | None, Any] = {}
    for match in partial_matches:
        if match.cell is not None and match.cell not in names:
            names[match.cell] = next((n for n in (pair, (local, op)) if n in match.values), local)
    return [
        match.towards(pair) if match.cell is None else match.values.get(names[match.cell], ANY)
        for match in partial_matches
    ]


def _stamps(atom: Join, alias: str, partial_matches: Sequence[PartialMatch]) -> list[Any]:
    """The timestamp of each match that goes into a condition, with its offset."""
    by = 0 if atom.left.occurrence == alias else atom.offset
    stamps = (match.stamps.get(alias) for match in partial_matches)
    return [ANY if stamp is None else stamp + by for stamp in stamps]


def ranked(columns: Iterable[list[Any]]) -> tuple[dict[Any, int], list[Any]]:
    """The rank of every value that occurs, and the values by rank; one order a family of types."""
    present = set[Any]().union(*columns)
    present -= {None, ANY}
    # Values of different families never meet, so text may rank anywhere among the others.
    text = {value for value in present if isinstance(value, str)}
    values = [*sorted(present - text), *sorted(text)]
    return {None: NULL, ANY: ANYTHING} | {value: rank for rank, value in enumerate(values)}, values


def _ranks_of(column: Sequence[Any], ranks: Mapping[Any, int]) -> Integers:
    return np.array([ranks[value] for value in column], np.int64)


def _decoded(term: Term, matched: Matched, values: Sequence[Any]) -> list[Any]:
    if not isinstance(term, Attribute):
        return [term.value] * len(matched.weights)
    ranks = matched.columns[term.occurrence, term].tolist()
    return [None if code == NULL else values[code] for code in ranks]
