"""The different rows of a join, from irredundant tuples ("Self-joins" and "Offsets" of docs/theory.md).

A tuple is redundant if whatever it makes with tuples to come is made without it: by another tuple, by
those to come alone, or it is a row already. That is a question on differences of values: whether the
conditions that the tuple leaves of what comes can hold where those of no other tuple do. First the tuples
go that one other serves, then, the greatest first, those that several serve together. Who calls the query
bounded has shown that boundedly many remain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from streambound.operators.rows.operator import Changes, Operator, Row, ordering
from streambound.plan.flow import Irredundant, Times
from streambound.query.column_types import NotANumber
from streambound.query.model import Attribute, Constant, Filter, Op, is_null
from streambound.state.serial import decoded, plain

# A time that is before all that come.
_PAST = -(2**62)
# Above all numbers, as an infinite one and NaN are; and more than the characters there are.
_INFINITE, _CHARACTERS = 10**400, 2**21
# A value of a tuple to come: the number of its input, and its position.
Variable: TypeAlias = tuple[int, int]
# A variable (None: nothing) plus a number; None is NULL.
Side: TypeAlias = tuple[Variable | None, Fraction | int] | None


@dataclass(frozen=True)
class Comparison:
    """``left op right``, of values of tuples to come or of known ones."""

    left: tuple[Variable | None, Fraction | int]
    op: Op
    right: tuple[Variable | None, Fraction | int]

    @property
    def truth(self) -> bool | None:
        """Whether it holds; None where that depends on what comes."""
        if self.left[0] != self.right[0]:
            return None
        return self.op.holds(self.left[1], self.right[1])

    @property
    def negated(self) -> Comparison:
        """What holds just where this does not."""
        return Comparison(self.left, self.op.negated, self.right)

    @property
    def variables(self) -> set[Variable]:
        """What it compares of what comes."""
        return {side[0] for side in (self.left, self.right) if side[0] is not None}


Conjunction: TypeAlias = tuple[Comparison, ...]
# The least difference of two variables that is allowed, and -1 if it is not allowed itself.
_Bound: TypeAlias = tuple[Fraction | int, int]


@dataclass
class _Differences:
    """How much one variable may be more than another at most, closed under sums."""

    # The step of the numbers of a variable; None where there is one between any two.
    resolution: Fraction | int | None
    bounds: dict[tuple[Variable | None, Variable | None], _Bound] = field(default_factory=dict)

    def with_(self, comparison: Comparison) -> Iterator[_Differences]:
        """The ways in which it holds as well."""
        (first, left), op, (second, right) = comparison.left, comparison.op, comparison.right
        more = right - left
        if op is Op.NE:
            for strict in (Op.LT, Op.GT):
                yield from self.with_(Comparison(comparison.left, strict, comparison.right))
            return
        made: _Differences | None = self
        if op in (Op.LT, Op.LE, Op.EQ):
            made = made and made._added(first, second, more, op is Op.LT)
        if op in (Op.GT, Op.GE, Op.EQ):
            made = made and made._added(second, first, -more, op is Op.GT)
        if made is not None:
            yield made

    def _added(
        self, first: Variable | None, second: Variable | None, most: Fraction | int, strict: bool
    ) -> _Differences | None:
        """With ``first - second <= most`` (or ``<``); None if that cannot be."""
        new: _Bound = (
            (most - self.resolution, 0) if strict and self.resolution is not None else (most, -int(strict))
        )
        bounds = self.bounds
        if first == second:
            return self if new >= (0, 0) else None
        if (back := bounds.get((second, first))) is not None and _sum(back, new) < (0, 0):
            return None
        if (bound := bounds.get((first, second))) is not None and bound <= new:
            return self
        differences, names = dict(bounds), {name for pair in bounds for name in pair} | {first, second}
        for a in names:
            before = (0, 0) if a == first else bounds.get((a, first))
            if before is None:
                continue
            for b in names:
                after = (0, 0) if b == second else bounds.get((second, b))
                if after is None or a == b:
                    continue
                total = _sum(_sum(before, new), after)
                if (a, b) not in differences or total < differences[a, b]:
                    differences[a, b] = total
        return _Differences(self.resolution, differences)


def _sum(left: _Bound, right: _Bound) -> _Bound:
    return left[0] + right[0], min(left[1], right[1])


def escapes(here: _Differences, covers: Sequence[Conjunction]) -> bool:
    """Whether some values that are allowed meet none of several conjunctions."""
    if not covers:
        return True
    first, rest = covers[0], covers[1:]
    return any(escapes(made, rest) for comparison in first for made in here.with_(comparison.negated))


class Irredundants(Operator):
    """The operation ``Irredundant``; ``times`` are those of the rows of each input."""

    def __init__(self, operation: Irredundant, times: Sequence[Times]) -> None:
        self._made = operation
        self._names = {alias: number for number, (alias, _) in enumerate(operation.occurrences)}
        self._inputs = [number for _, number in operation.occurrences]
        self._times = times
        self._kept: list[dict[Row, None]] = [{} for _ in times]
        self._rows: dict[Row, None] = {}
        self._seen: int | None = None

    @property
    def stored_units(self) -> int:
        """The values of each tuple that is kept, and of each row that was given."""
        kept = sum(len(row) for rows in self._kept for row in rows)
        return kept + sum(max(1, len(row)) for row in self._rows)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The rows that are new: see ``Operator``."""
        arrived = [
            (self._times[number].seen(row), number, row)
            for number, rows in enumerate(inputs)
            for row, count in rows.items()
            if count
        ]
        arrived.sort(key=lambda a: (a[0] is not None, a[0] or 0, a[1], ordering(a[2])))
        changes: dict[Row, int] = {}
        for moment, number, row in arrived:
            if moment is not None and (self._seen is None or moment > self._seen):
                self._seen = moment
            for answer in self._answers(number, row):
                if answer not in self._rows:
                    self._rows[answer] = None
                    changes[answer] = 1
            self._keep(number, row)
        self._settle(bool(changes))
        return changes

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """No rows: a match is for good."""
        return {}

    def _answers(self, number: int, row: Row) -> Iterator[Row]:
        """The rows of all matches of a tuple with itself and those that are kept."""
        for own, name in enumerate(self._inputs):
            if name != number:
                continue
            candidates = [
                [row] if slot == own else [*self._kept[n], *([row] if n == number else [])]
                for slot, n in enumerate(self._inputs)
            ]
            for match in product(*candidates):
                made = self._conjunction(dict(enumerate(match)))
                if made is not None and not made:
                    yield tuple([self._shown(term, match) for term in self._made.select])

    def _shown(self, term: Any, match: Sequence[Row]) -> Any:
        if isinstance(term, Constant):
            return term.value
        position, _ = self._made.positions[term]
        return match[self._names[term.occurrence]][position]

    def _side(self, attribute: Attribute, match: Mapping[int, Row], offset: int = 0) -> Side:
        slot = self._names[attribute.occurrence]
        position, shift = self._made.positions[attribute]
        if slot not in match:
            return (self._inputs[slot], position), shift + offset
        value = match[slot][position]
        return None if value is None else (None, number_of(value) + shift + offset)

    def _conjunction(self, match: Mapping[int, Row]) -> Conjunction | None:
        """What the conditions ask of what comes, where some tuples are known; None if they cannot hold."""
        comparisons = []
        for atom in self._made.atoms:
            right: Side
            if isinstance(atom, Filter):
                left, right = self._side(atom.attribute, match), (None, number_of(atom.constant.value))
            else:
                left, right = self._side(atom.left, match), self._side(atom.right, match, atom.offset)
            if left is None or right is None:
                return None
            made = Comparison(left, atom.op, right)
            if made.truth is False:
                return None
            if made.truth is None:
                comparisons.append(made)
        return tuple(comparisons)

    def _row(self, match: Mapping[int, Row]) -> tuple[Any, ...]:
        return tuple(
            (None, number_of(term.value)) if isinstance(term, Constant) else self._side(term, match)
            for term in self._made.select
            if not isinstance(term, Constant) or term.value is not None
        )

    def _targets(self, number: int, row: Row) -> Iterator[tuple[Conjunction, tuple[Any, ...]]]:
        """What a tuple asks of those to come, for each occurrence, with the row that they make."""
        for slot, name in enumerate(self._inputs):
            if name == number and (made := self._conjunction({slot: row})) is not None:
                yield made, self._row({slot: row})

    def _served(self, number: int, row: Row, rows: Iterable[Row]) -> bool:
        """Whether others, those to come, and the rows that there are serve wherever a tuple does."""
        makers = [target for serving in rows for target in self._targets(number, serving)]
        if self._inputs.count(number) > 1 and (alone := self._conjunction({})) is not None:
            makers.append((alone, self._row({})))
        for asked, shown in self._targets(number, row):
            present = {v for comparison in asked for v in comparison.variables}
            present.update(side[0] for side in shown if side is not None and side[0] is not None)
            covers = [_also(made, serving, shown) for made, serving in makers]
            covers += [_also((), self._given(answer), shown) for answer in self._rows]
            real = [
                cover
                for cover in covers
                if cover is not None
                and not any(v not in present and v in self._made.nullable for c in cover for v in c.variables)
            ]
            if any(escapes(start, real) for start in self._starts(asked)):
                return False
        return True

    def _given(self, answer: Row) -> tuple[Any, ...]:
        """A row that there is, as ``_row`` has one."""
        constant = list(map(is_null, self._made.select))
        values = [value for value, null in zip(answer, constant, strict=True) if not null]
        return tuple(None if value is None else (None, number_of(value)) for value in values)

    def _starts(self, asked: Conjunction) -> list[_Differences]:
        """What is allowed where a conjunction holds, of tuples that come later than what was seen."""
        starts = [_Differences(self._made.resolution)]
        comparisons = list(asked)
        for number, position in enumerate(self._made.stamps):
            bound = self._bound(number)
            if position is not None and bound is not None:
                comparisons.append(Comparison(((number, position), 0), Op.GE, (None, bound)))
        comparisons += self._made_within()
        for comparison in comparisons:
            starts = [made for here in starts for made in here.with_(comparison)]
        return starts

    def _made_within(self) -> Iterator[Comparison]:
        for variable, (low, high) in self._made.within.items():
            if low is not None:
                yield Comparison((variable, 0), Op.GE, (None, number_of(low)))
            if high is not None:
                yield Comparison((variable, 0), Op.LE, (None, number_of(high)))

    def _bound(self, number: int) -> int | None:
        """The least time of what comes."""
        position = self._made.stamps[number]
        if self._seen is None or position is None:
            return None
        lag = self._times[number].lag(position)
        return None if lag is None else self._seen - lag

    def _keep(self, number: int, row: Row) -> None:
        """Take a tuple in unless it is redundant, and drop those that it makes so."""
        row, kept = self._aged(number, row), self._kept[number]
        if row in kept or self._served(number, row, ()):
            return
        for kept_row in kept:
            first = ordering(kept_row) < ordering(row)
            if self._served(number, row, [kept_row]) and (first or not self._served(number, kept_row, [row])):
                return
        for kept_row in [o for o in kept if self._served(number, o, [row])]:
            del kept[kept_row]
        kept[row] = None
        self._drop(number)

    def _drop(self, number: int) -> None:
        """Drop the tuples that several others serve together."""
        kept = self._kept[number]
        for row in sorted(kept, key=ordering, reverse=True) if len(kept) > 2 else ():
            if self._served(number, row, [kept_row for kept_row in kept if kept_row != row]):
                del kept[row]

    def _settle(self, again: bool) -> None:
        """Of what is kept, keep what is needed now that there are more rows, or that it is later."""
        for number, position in enumerate(self._made.stamps):
            if again or position is not None:
                rows, self._kept[number] = self._kept[number], {}
                for row in rows:
                    self._keep(number, row)

    def _aged(self, number: int, row: Row) -> Row:
        """A tuple without its time, if all that comes is later by more than any condition asks."""
        position, bound = self._made.stamps[number], self._bound(number)
        if position is None or bound is None or row[position] + self._made.longest >= bound:
            return row
        return (*row[:position], _PAST, *row[position + 1 :])

    def dump(self) -> Any:
        """What it keeps: see ``Operator``."""
        kept, rows = (
            [[list(map(plain, row)) for row in sorted(group, key=ordering)] for group in several]
            for several in (self._kept, [self._rows])
        )
        return {"kept": kept, "given": rows[0], "seen": self._seen}

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        self._kept = [{decoded(row): None for row in rows} for rows in document["kept"]]
        self._rows = {decoded(row): None for row in document["given"]}
        self._seen = document["seen"]


def _also(made: Conjunction, row: Sequence[Side], shown: Sequence[Side]) -> Conjunction | None:
    """A conjunction, and that what it makes is a certain row; None if that cannot be."""
    comparisons = list(made)
    for left, right in zip(row, shown, strict=True):
        if left is None or right is None:
            if left is not right:
                return None
            continue
        equal = Comparison(left, Op.EQ, right)
        if equal.truth is False:
            return None
        if equal.truth is None:
            comparisons.append(equal)
    return tuple(comparisons)


def number_of(value: Any) -> Fraction | int:
    """A number that is to others as an encoded value is to others of its type.

    >>> number_of("a") < number_of("ab") < number_of("b") < 1 < number_of(math.inf)
    True
    """
    if isinstance(value, str):
        fraction = Fraction(0)
        for character in reversed(value):
            fraction = (fraction + ord(character) + 1) / _CHARACTERS
        return fraction
    if isinstance(value, NotANumber):
        return _INFINITE + 1
    if isinstance(value, float):
        return Fraction(value) if math.isfinite(value) else int(math.copysign(1, value)) * _INFINITE
    return value  # type: ignore[no-any-return]
