"""Conditions between rows of two inputs, and what they still ask of a row in the time to come.

A row is reduced to its *terms*: the columns that are compared with the other side, and the truth of the
conditions on it alone. Of what is to come the times are known to be late, and columns may have few values: so
a comparison may be false whatever comes, and a value may be as good as any before or after all that come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from streambound.plan.flow import Range, Times
from streambound.query.formula import AllOf, AnyOf, Formula, holds
from streambound.query.model import Atom, Attribute, Filter, Join, Membership, NullTest, Op

# What stands for values before all, or after all, that they will be compared with: no value is a tuple.
BELOW, ABOVE = (-1,), (1,)
Row: TypeAlias = tuple[Any, ...]
Terms: TypeAlias = tuple[Any, ...]


def compared(op: Op, left: Any, right: Any, offset: int = 0) -> bool:
    """Whether ``left op right + offset`` is true of encoded values, or of what stands for them."""
    if left is None or right is None:
        return False
    if type(left) is tuple or type(right) is tuple:
        left, right = (value[0] if type(value) is tuple else 0 for value in (left, right))
    elif offset:
        right = right + offset
    return op.holds(left, right)


def test_of(formula: Formula, positions: Mapping[Attribute, int]) -> Callable[[Row], bool]:
    """Whether a formula holds of a row that has its attributes at these positions."""

    def true(row: Row, atom: Atom) -> bool:
        if isinstance(atom, Filter):
            return compared(atom.op, row[positions[atom.attribute]], atom.constant.value)
        if isinstance(atom, Join):
            left, right = (row[positions[a]] for a in atom.attributes)
            return compared(atom.op, left, right, atom.offset)
        if isinstance(atom, Membership):
            value = row[positions[atom.attribute]]
            return value is not None and value in [member.value for member in atom.values]
        if isinstance(atom, NullTest):
            return (row[positions[atom.attribute]] is None) is atom.null
        return False

    return lambda row: holds(formula, partial(true, row))


@dataclass(frozen=True)
class Pair:
    """``left op right + offset``, of terms by their numbers."""

    left: int
    op: Op
    right: int
    offset: int = 0

    @property
    def mirrored(self) -> Pair:
        """The condition from the other side."""
        return Pair(self.right, self.op.mirrored, self.left, -self.offset)


@dataclass(frozen=True)
class Flag:
    """The truth of a condition on one side alone: a term of it."""

    left: bool
    term: int


@dataclass(frozen=True)
class Both:
    """Parts that must hold together."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Either:
    """Parts of which one must hold."""

    parts: tuple[Tree, ...]


Tree: TypeAlias = Pair | Flag | Both | Either


def mirrored(tree: Tree) -> Tree:
    """A condition from the other side."""
    if isinstance(tree, Pair):
        return tree.mirrored
    if isinstance(tree, Flag):
        return Flag(not tree.left, tree.term)
    return type(tree)(tuple(map(mirrored, tree.parts)))


def true_of(tree: Tree, left: Terms, right: Terms) -> bool:
    """Whether a condition holds of the terms of both sides."""
    if isinstance(tree, Pair):
        return compared(tree.op, left[tree.left], right[tree.right], tree.offset)
    if isinstance(tree, Flag):
        return bool((left if tree.left else right)[tree.term])
    if isinstance(tree, Both):
        return all(true_of(part, left, right) for part in tree.parts)
    return any(true_of(part, left, right) for part in tree.parts)


def pairs_of(tree: Tree) -> list[Pair]:
    """The comparisons of a condition."""
    if isinstance(tree, (Both, Either)):
        return [pair for part in tree.parts for pair in pairs_of(part)]
    return [tree] if isinstance(tree, Pair) else []


def directions(tree: Tree) -> dict[int, bool | None]:
    """Of each term of mine that is compared whether a lesser value serves for a greater one (True), a greater
    for a lesser (False), or none for another."""
    signs: dict[int, set[bool | None]] = {}
    for pair in pairs_of(tree):
        least = pair.op in (Op.LT, Op.LE)
        signs.setdefault(pair.left, set()).add(least if least or pair.op in (Op.GT, Op.GE) else None)
    return {term: ways.pop() if len(ways) == 1 else None for term, ways in signs.items()}


class Serving:
    """Which of the terms of two rows of one side serve for the other's.

    They match all that the others match; of rows that are ``hard`` to match, nothing that the others do not.
    """

    def __init__(self, tree: Tree, hard: bool = False) -> None:
        ways = directions(tree)
        self._least = [term for term, least in ways.items() if least is not None and least is not hard]
        self._greatest = [term for term, least in ways.items() if least is not None and least is hard]

    def group(self, terms: Terms) -> Row:
        """What must be the same of two rows for one to serve for the other."""
        free = {*self._least, *self._greatest}
        return tuple([value is None if n in free else value for n, value in enumerate(terms)])

    def serves(self, own: Terms, served: Terms) -> bool:
        """Whether a row of the same group serves for another."""
        return all(_before(own[n], served[n]) for n in self._least) and all(
            _before(served[n], own[n]) for n in self._greatest
        )


def _before(left: Any, right: Any) -> bool:
    return left is None or compared(Op.LE, left, right)


def serving(tree: Tree) -> frozenset[int]:
    """The terms of mine of which one value serves for another."""
    return frozenset(term for term, least in directions(tree).items() if least is not None)


def equalities(tree: Tree) -> tuple[Pair, ...]:
    """The equalities that must hold for the condition to."""
    parts = tree.parts if isinstance(tree, Both) else (tree,)
    return tuple(part for part in parts if isinstance(part, Pair) and part.op is Op.EQ)


@dataclass(frozen=True)
class Terming:
    """How rows of one side are reduced: the positions of columns, and conditions on the row alone."""

    columns: tuple[int, ...]
    tests: tuple[Callable[[Row], bool], ...]

    @property
    def width(self) -> int:
        """How many terms there are."""
        return len(self.columns) + len(self.tests)

    def __call__(self, row: Row) -> Terms:
        return (*(row[p] for p in self.columns), *(test(row) for test in self.tests))


def condition(
    formula: Formula, left: Mapping[Attribute, int], right: Mapping[Attribute, int]
) -> tuple[Tree, Terming, Terming]:
    """A formula as a condition on terms, and how the rows of either side are reduced to them."""
    sides = (left, right)
    columns: tuple[dict[int, int], dict[int, int]] = ({}, {})
    tests: tuple[dict[Formula, int], dict[Formula, int]] = ({}, {})

    def side(of: Formula) -> int | None:
        positions = {0 if a in left else 1 for a in _attributes(of)}
        return None if len(positions) > 1 else min(positions, default=0)

    for atom in _crossing(formula, side):
        for attribute in atom.attributes:
            number = 0 if attribute in left else 1
            columns[number].setdefault(sides[number][attribute], len(columns[number]))

    def tree(of: Formula) -> Tree:
        number = side(of)
        if number is not None:
            term = tests[number].setdefault(of, len(tests[number]))
            return Flag(number == 0, len(columns[number]) + term)
        if isinstance(of, (AllOf, AnyOf)):
            kind = Both if isinstance(of, AllOf) else Either
            return kind(tuple(map(tree, of.parts)))
        assert isinstance(of, Join)
        if of.left in left:
            return Pair(columns[0][left[of.left]], of.op, columns[1][right[of.right]], of.offset)
        return Pair(columns[1][right[of.left]], of.op, columns[0][left[of.right]], of.offset).mirrored

    made = tree(formula)
    first, second = (
        Terming(tuple(columns[n]), tuple(test_of(test, sides[n]) for test in tests[n])) for n in (0, 1)
    )
    return made, first, second


def _attributes(formula: Formula) -> Iterable[Attribute]:
    if isinstance(formula, (AllOf, AnyOf)):
        for part in formula.parts:
            yield from _attributes(part)
    else:
        yield from formula.attributes


def _crossing(formula: Formula, side: Callable[[Formula], int | None]) -> Iterable[Atom]:
    if side(formula) is not None:
        return
    if isinstance(formula, (AllOf, AnyOf)):
        for part in formula.parts:
            yield from _crossing(part, side)
    else:
        yield formula


@dataclass(frozen=True)
class Coming:
    """What is known of a column in the rows of the other side that come.

    Times are at least ``seen - lag`` (None: it is no time that ends), where they are multiplied by ``scale``.
    """

    lag: int | None = None
    scale: int = 1
    range: Range = field(default_factory=Range)

    @classmethod
    def of(cls, position: int, times: Times, ranges: Mapping[int, Range]) -> Coming:
        """What is known of a column by its position."""
        return cls(times.lag(position), times.scales.get(position, 1), ranges.get(position, Range()))


class Outlook:
    """What a condition still asks of the terms of one side, given what is known of the other side's."""

    def __init__(self, tree: Tree, columns: int, coming: Sequence[Coming]) -> None:
        self._tree = tree
        self._coming = coming
        self._of_column = [[pair for pair in pairs_of(tree) if pair.left == n] for n in range(columns)]

    def rest(self, terms: Terms, seen: int | None) -> Terms | None:
        """The terms as far as they matter for what comes; None if nothing that comes is a match."""
        if not self._possible(self._tree, terms, seen):
            return None
        return (
            *(self._clipped(n, terms[n], seen) for n in range(len(self._of_column))),
            *terms[len(self._of_column) :],
        )

    def next(self, terms: Terms, seen: int | None) -> int | None:
        """The least time not before ``seen`` after which ``rest`` may be less; None if there is none."""
        limits = (
            limit
            for pairs in self._of_column
            for pair in pairs
            for limit in self._limits(pair, terms[pair.left])
            if seen is None or limit >= seen
        )
        return min(limits, default=None)

    def until(self, terms: Terms) -> int | None:
        """The least time after which ``rest`` is None; None if there is none."""
        pairs = (pair for some in self._of_column for pair in some)
        limits = {limit for pair in pairs for limit in self._limits(pair, terms[pair.left])}
        return next((n for n in sorted(limits) if not self._possible(self._tree, terms, n + 1)), None)

    def _limits(self, pair: Pair, value: Any) -> Iterable[int]:
        """The times after which a comparison with what comes is false, and after which it is as of BELOW."""
        coming = self._coming[pair.right]
        if coming.lag is None or type(value) is not int:
            return
        if pair.op is Op.GT:
            yield (value - 1 - pair.offset) * coming.scale + coming.lag
        yield (value - pair.offset) * coming.scale + coming.lag

    def _possible(self, tree: Tree, terms: Terms, seen: int | None) -> bool:
        if isinstance(tree, Both):
            return all(self._possible(part, terms, seen) for part in tree.parts)
        if isinstance(tree, Either):
            return any(self._possible(part, terms, seen) for part in tree.parts)
        if isinstance(tree, Flag):
            return not tree.left or bool(terms[tree.term])
        value = terms[tree.left]
        if value is None or self._excluded(tree, value):
            return False
        if tree.op is Op.GT and seen is not None and any(seen > limit for limit in self._limits(tree, value)):
            return False
        stands = self._stands(tree, value, seen)
        return stands is None or tree.op.holds(stands[0], 0)

    def _excluded(self, pair: Pair, value: Any) -> bool:
        """Whether no value of the other column's range is strictly on the side that is asked for."""
        low, high = self._coming[pair.right].range.low, self._coming[pair.right].range.high
        if type(value) is tuple or pair.offset:
            return False
        if pair.op is Op.NE:
            return low is not None and bool(low == high == value)
        above, below = pair.op is Op.GT and low is not None, pair.op is Op.LT and high is not None
        return bool((above and value <= low) or (below and value >= high))

    def _clipped(self, number: int, value: Any, seen: int | None) -> Any:
        if value is None or type(value) is tuple:
            return value
        sides = {self._stands(pair, value, seen) for pair in self._of_column[number]}
        if sides == {BELOW} or sides == {ABOVE}:
            return sides.pop()
        # What equals nothing that comes, and is asked for nothing else.
        unequal = all(pair.op in (Op.EQ, Op.NE) for pair in self._of_column[number])
        return ABOVE if unequal and None not in sides else value

    def _stands(self, pair: Pair, value: Any, seen: int | None) -> tuple[int] | None:
        """Whether a value is below or above all that come, or as good as that; None if it is neither."""
        if type(value) is tuple:
            return (value[0],)
        coming = self._coming[pair.right]
        late = seen is not None and coming.lag is not None and type(value) is int
        if late and seen > (value - pair.offset) * coming.scale + coming.lag:
            return BELOW
        if pair.offset:
            return None
        limits = coming.range
        if limits.low is not None and value < limits.low:
            return BELOW
        if limits.high is not None and value > limits.high:
            return ABOVE
        if limits.values is not None and pair.op in (Op.EQ, Op.NE) and value not in limits.values:
            return ABOVE
        return None
