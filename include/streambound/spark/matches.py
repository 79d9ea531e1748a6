"""The join of representatives in arrays: the same rows as ``synopsis.answer.Joiner``, for larger tables.

Values become ranks, so every comparison is one of integers. Occurrences are joined one after the other;
after each step only the columns that later steps or the SELECT list ask for are kept, and equal
rows are added up: intermediate results are as small as the plan's tables, whatever the multiplicities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streambound.query.model import Attribute, Comparison, Op
from streambound.synopsis.answer import Joiner, Rep, Row, Sources, column_towards
from streambound.synopsis.plan import Pair, Plan
from streambound.synopsis.state import ANY

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
ANYTHING, NULL = -1, -2
# No column has this name.
NOTHING = ""
# Comparisons made at once: a few megabytes of truth values.
BLOCK = 1 << 22
_TESTS = {
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.GE: np.greater_equal,
    Op.GT: np.greater,
}
# Of an occurrence: a projected column, its side of a comparison (by number), or (None) its cell.
Slot = tuple[str, str | int | None]


@dataclass(frozen=True)
class Matched:
    """Partial matches: ranks by slot, and how many matches each row stands for."""

    columns: Mapping[Slot, Codes]
    weights: NDArray[Any]

    def take(self, rows: NDArray[np.intp]) -> Matched:
        """Some of the rows."""
        return Matched({slot: codes[rows] for slot, codes in self.columns.items()}, self.weights[rows])


class Matches(Joiner):
    """A Joiner that counts in arrays; single rows are looked up as before."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.asked: set[Slot] = {(a.occurrence, a.column) for a in plan.query.projected}
        self.sides = [_sides(atom) for atom in plan.joins]
        self.brought = {
            (alias, number): _brought(plan, alias, pair)
            for number, sides in enumerate(self.sides)
            for alias, pair in sides.items()
        }

    def rows(self, sources: Sources, fixed: Row | None = None) -> Iterator[tuple[Row, int]]:
        """(answer row, multiplicity); every row once, unless ``fixed`` is given."""
        if fixed is not None:
            yield from super().rows(sources, fixed)
        elif all(sources.values()):
            yield from self._counted(sources)

    def _counted(self, sources: Sources) -> Iterator[tuple[Row, int]]:
        raw = {alias: self._values(alias, reps) for alias, reps in sources.items()}
        ranks, values = _ranked(raw)
        found: Matched | None = None
        order = sorted(sources, key=lambda alias: len(sources[alias]))
        for depth, alias in enumerate(order):
            here = self._matched(alias, sources[alias], raw[alias], ranks)
            kept = self._later(order[: depth + 1])
            found = _grouped(here, kept) if found is None else self._joined(found, here, alias, kept)
            if not len(found.weights):
                return
        assert found is not None
        columns = [self._decoded(o.term, found, values) for o in self.plan.query.select]
        for index, weight in enumerate(found.weights.tolist()):
            yield tuple(column[index] for column in columns), weight

    def _values(self, alias: str, reps: Sequence[Rep]) -> dict[Slot, list[Any]]:
        found: dict[Slot, list[Any]] = {
            slot: [rep.values.get(str(slot[1]), ANY) for rep in reps]
            for slot in self.asked
            if slot[0] == alias
        }
        for number, sides in enumerate(self.sides):
            if alias in sides:
                names = self.brought[alias, number]
                found[alias, number] = [rep.values.get(names[rep.cell], ANY) for rep in reps]
        return found

    def _matched(
        self, alias: str, reps: Sequence[Rep], raw: Mapping[Slot, list[Any]], ranks: Mapping[Any, int]
    ) -> Matched:
        columns = {slot: np.array([ranks[v] for v in values], np.int64) for slot, values in raw.items()}
        if self.apart:
            columns[alias, None] = np.array([-1 if r.cell is None else r.cell for r in reps], np.int64)
        return Matched(columns, _weights([rep.weight for rep in reps]))

    def _later(self, bound: Sequence[str]) -> set[Slot]:
        """What is still asked for once these occurrences are joined."""
        kept: set[Slot] = {slot for slot in self.asked if slot[0] in bound}
        for number, sides in enumerate(self.sides):
            inside = [alias for alias in sides if alias in bound]
            if len(inside) == 1:
                kept.add((inside[0], number))
        if self.apart and len(bound) < len(self.plan.query.occurrences):
            kept |= {(alias, None) for alias in bound}
        return kept

    def _joined(self, left: Matched, right: Matched, alias: str, kept: set[Slot]) -> Matched:
        tests = [*self._tests(left, right), *self._apart_tests(left, right, alias)]
        exact = _exact(left.weights, right.weights)
        left, right = Matched(left.columns, exact(left.weights)), Matched(right.columns, exact(right.weights))
        if not kept & set(right.columns):
            return _grouped(_summed(left, right, tests), kept)
        if not kept & set(left.columns):
            turned = [_turned(test) for test in tests]
            return _grouped(_summed(right, left, turned), kept)
        return _grouped(_paired(left, right, tests), kept)

    def _tests(self, left: Matched, right: Matched) -> list[_Test]:
        found = []
        for number, sides in enumerate(self.sides):
            for alias, (_, op, other) in sides.items():
                one, partner = (alias, number), (other.occurrence, number)
                if one in left.columns and partner in right.columns:
                    found.append(_Test(left.columns[one], op, right.columns[partner]))
        return found

    def _apart_tests(self, left: Matched, right: Matched, alias: str) -> list[_Test]:
        found = []
        for slot, cells in left.columns.items():
            if slot[1] is not None:
                continue
            bad = {(a[1], b[1]) for a, b in self.apart if a[0] == slot[0] and b[0] == alias}
            if bad:
                found.append(_Test(cells, Op.NE, right.columns[alias, None], frozenset(bad)))
        return found

    def _decoded(self, term: Any, found: Matched, values: Sequence[Any]) -> list[Any]:
        if not isinstance(term, Attribute):
            return [term.value] * len(found.weights)
        codes = found.columns[term.occurrence, term.column].tolist()
        return [None if code == NULL else values[code] for code in codes]


@dataclass(frozen=True)
class _Test:
    """A comparison of a column of each side, or pairs of cells that exclude each other."""

    left: Codes
    op: Op
    right: Codes
    apart: frozenset[tuple[int | None, int | None]] | None = None

    def mask(self, rows: slice) -> Mask:
        """Whether it holds, for some rows of the left side and all of the right one."""
        left, right = self.left[rows, None], self.right[None, :]
        if self.apart is not None:
            excluded: Mask = np.logical_or.reduce([(left == a) & (right == b) for a, b in self.apart])
            return ~excluded
        found: Mask = _TESTS[self.op](left, right)
        if min(self.left.min(), self.right.min()) < 0:
            found = (found & (left != NULL) & (right != NULL)) | (left == ANYTHING) | (right == ANYTHING)
        return found


def _turned(test: _Test) -> _Test:
    apart = None if test.apart is None else frozenset((b, a) for a, b in test.apart)
    return _Test(test.right, test.op.mirrored, test.left, apart)


def _masks(left: Matched, right: Matched, tests: Sequence[_Test]) -> Iterator[tuple[slice, Mask]]:
    width = len(right.weights)
    rows = max(1, BLOCK // width)
    for start in range(0, len(left.weights), rows):
        block = slice(start, min(start + rows, len(left.weights)))
        mask: Mask = np.ones((block.stop - block.start, width), np.bool_)
        for test in tests:
            mask &= test.mask(block)
        yield block, mask


def _summed(left: Matched, right: Matched, tests: Sequence[_Test]) -> Matched:
    """The left rows, each standing for all of its partners: nothing of them is asked for later."""
    partners = [mask @ right.weights for _, mask in _masks(left, right, tests)]
    weights = left.weights * np.concatenate(partners)
    rows = np.flatnonzero(weights)
    return Matched(left.columns, weights).take(rows)


def _paired(left: Matched, right: Matched, tests: Sequence[_Test]) -> Matched:
    ones, others = [], []
    for block, mask in _masks(left, right, tests):
        one, other = np.nonzero(mask)
        ones.append(one + block.start)
        others.append(other)
    a, b = left.take(np.concatenate(ones)), right.take(np.concatenate(others))
    return Matched({**a.columns, **b.columns}, a.weights * b.weights)


def _grouped(found: Matched, kept: set[Slot]) -> Matched:
    """Only some columns; rows that are then equal become one."""
    columns = {slot: codes for slot, codes in found.columns.items() if slot in kept}
    if not len(found.weights):
        return Matched(columns, found.weights)
    if not columns:
        return Matched({}, np.add.reduce(found.weights, keepdims=True))
    order = np.lexsort(tuple(columns.values()))
    sorted_columns = {slot: codes[order] for slot, codes in columns.items()}
    changes = [codes[1:] != codes[:-1] for codes in sorted_columns.values()]
    starts = np.concatenate([[0], np.flatnonzero(np.logical_or.reduce(changes)) + 1])
    weights = np.add.reduceat(found.weights[order], starts)
    return Matched({slot: codes[starts] for slot, codes in sorted_columns.items()}, weights)


def _weights(found: Sequence[int]) -> NDArray[Any]:
    return np.array(found, np.int64 if sum(found) < 2**62 else object)


def _exact(one: NDArray[Any], other: NDArray[Any]) -> Any:
    """Machine integers where no sum of products can leave their range, else Python's."""
    total = int(one.sum()) * int(other.sum()) if len(one) and len(other) else 0
    return (lambda w: w) if total < 2**62 else (lambda w: w.astype(object))


def _sides(atom: Comparison) -> dict[str, Pair]:
    """A comparison seen from each of its occurrences."""
    assert isinstance(atom.right, Attribute)
    mirrored = (atom.right, atom.op.mirrored, atom.left)
    return {atom.left.occurrence: (atom.left, atom.op, atom.right), atom.right.occurrence: mirrored}


def _brought(plan: Plan, alias: str, pair: Pair) -> dict[int | None, str]:
    """By cell, the column that goes into a comparison, or NOTHING where the cell settles that it holds."""
    mine, op, _ = pair
    found: dict[int | None, str] = {None: mine.column}
    cells = next((s.cells for s in plan.synopses if s.alias == alias), ())
    for number, cell in enumerate(cells):
        if op is Op.EQ:
            found[number] = mine.column
        else:
            unequal = [a for a, _ in cell.unequal]
            found[number] = NOTHING if pair in cell.settled else column_towards(pair, cell.apart, unequal)
    return found


def _ranked(raw: Mapping[str, Mapping[Slot, list[Any]]]) -> tuple[dict[Any, int], list[Any]]:
    """The rank of every value that occurs, and the values by rank; one order a family of types."""
    present = set[Any]().union(*(values for slots in raw.values() for values in slots.values()))
    present -= {None, ANY}
    # Values of different families never meet, so text may rank anywhere among the others.
    text = {value for value in present if isinstance(value, str)}
    values = [*sorted(present - text), *sorted(text)]
    return {None: NULL, ANY: ANYTHING} | {value: rank for rank, value in enumerate(values)}, values
