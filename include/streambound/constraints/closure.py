"""Transitive closure of comparisons as difference bounds (Arasu et al., section 3: P+).

A constraint is ``x - y <= c`` or ``x - y < c`` between attributes, or between an attribute and the
origin (then it is a comparison with the constant ``c``). Constants are integers here: ``space``
scales every number of a query by their common denominator and ranks strings.

Law: ``assume`` keeps the closure closed, so the bound between two attributes is always the
tightest that the assumed constraints imply; over discrete types it is exact for integers
(``A < B`` and ``B < C`` imply ``A <= C - 2``).

>>> from streambound.query.model import Attribute
>>> a, b, c = (Attribute("S", name) for name in "ABC")
>>> closure = Closure.over({a: 1, b: 1, c: 1}).assume([below(a, b), below(b, c)])
>>> closure.bound(a, c)
(-2, False)
>>> closure.assume([below(c, a)]) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd, inf

from streambound.query.model import Attribute


@dataclass(frozen=True)
class Difference:
    """``high - low <= by`` (``<`` if strict); None stands for the origin."""

    high: Attribute | None
    low: Attribute | None
    by: int
    strict: bool = False


def below(low: Attribute, high: Attribute, strict: bool = True) -> Difference:
    """``low < high``, or ``low <= high``."""
    return Difference(low, high, 0, strict)


def at_most(attribute: Attribute, value: int, strict: bool = False) -> Difference:
    """``attribute <= value``, or ``<``."""
    return Difference(attribute, None, value, strict)


def at_least(attribute: Attribute, value: int, strict: bool = False) -> Difference:
    """``attribute >= value``, or ``>``."""
    return Difference(None, attribute, -value, strict)


# A bound is one number, by * _UNIT - (number of strict steps): comparing and adding such numbers is
# comparing and adding bounds, as long as no path has _UNIT strict steps.
_UNIT = 1 << 24
_Matrix = list[list[float]]
# Row, column and bound.
Bound = tuple[int, int, float]


@dataclass(frozen=True)
class Closure:
    """Attributes with the tightest implied difference bound between any two.

    ``spacings`` gives the distance of neighbouring values of a discrete attribute, None if dense.
    """

    index: Mapping[Attribute | None, int]
    spacings: tuple[int | None, ...]
    matrix: _Matrix

    @classmethod
    def over(cls, spacings: Mapping[Attribute, int | None]) -> Closure:
        """The closure of no constraint over the given attributes."""
        nodes: list[Attribute | None] = [None, *spacings]
        size = len(nodes)
        matrix: _Matrix = [[0 if i == j else inf for j in range(size)] for i in range(size)]
        return cls({node: i for i, node in enumerate(nodes)}, (0, *spacings.values()), matrix)

    def assume(self, constraints: Iterable[Difference]) -> Closure | None:
        """The closure with more constraints; None if they contradict."""
        matrix = [row[:] for row in self.matrix]
        changed = False
        for constraint in constraints:
            i, j, value = self.bound_of(constraint)
            if value >= matrix[i][j]:
                continue
            if matrix[j][i] + value < 0:
                return None
            _relax(matrix, i, j, value)
            changed = True
        if changed and self.mixed and not self._tighten(matrix):
            return None
        return Closure(self.index, self.spacings, matrix)

    def among(self, attributes: Iterable[Attribute | None]) -> Closure:
        """The closure of what is implied between some attributes and the origin."""
        nodes = list(dict.fromkeys([None, *attributes]))
        positions = [self.index[node] for node in nodes]
        matrix = [[row[j] for j in positions] for row in (self.matrix[i] for i in positions)]
        return Closure(
            {n: i for i, n in enumerate(nodes)}, tuple(self.spacings[i] for i in positions), matrix
        )

    def admits(self, constraints: Iterable[Difference]) -> bool:
        """Whether constraints contradict nothing that is implied between the attributes they name.

        This is whether ``assume`` gives a closure, unless discrete and dense attributes mix: then a
        contradiction can need others as well, and only "no" is certain. Work: the number of
        constraints times the square of the number of attributes named.
        """
        literals = tuple(constraints)
        named = (node for d in literals for node in (d.high, d.low))
        return self.among(named).assume(literals) is not None

    def free(self, left: Attribute | None, right: Attribute | None) -> bool:
        """Whether the difference of two attributes lacks an upper or a lower bound."""
        i, j = self.index[left], self.index[right]
        return self.matrix[i][j] == inf or self.matrix[j][i] == inf

    def bound_of(self, constraint: Difference) -> Bound:
        """Where a constraint stands in the matrix, and its bound there."""
        i, j = self.index[constraint.high], self.index[constraint.low]
        return i, j, self._tight(i, j, constraint.by * _UNIT - constraint.strict)

    def dense(self, node: Attribute | None) -> bool:
        """Whether an attribute has no steps; the origin hinders nothing."""
        return not self.spacings[self.index[node]]

    def allows(self, constraint: Difference) -> bool:
        """Whether one constraint contradicts nothing that is implied, rounding aside."""
        i, j, value = self.bound_of(constraint)
        return self.matrix[j][i] + value >= 0

    @cached_property
    def mixed(self) -> bool:
        """Whether attributes have values of several steps, so that sums of bounds are rounded again."""
        return len({resolution for resolution in self.spacings[1:]}) > 1

    def _tight(self, i: int, j: int, value: float) -> float:
        number, column_spacing = self.spacings[i], self.spacings[j]
        if number is None or column_spacing is None or value == inf:
            return value
        resolution = gcd(number, column_spacing) or 1
        by = -(-int(value) // _UNIT)
        largest = by if by * _UNIT == value else by - 1
        return largest // resolution * resolution * _UNIT

    def _tighten(self, matrix: _Matrix) -> bool:
        # With steps of several sizes a sum of tight bounds need not be tight: repeat until it is.
        while True:
            looser = [
                (i, j, tight)
                for i, row in enumerate(matrix)
                for j, value in enumerate(row)
                if i != j and (tight := self._tight(i, j, value)) < value
            ]
            if not looser:
                return True
            for i, j, value in looser:
                if matrix[j][i] + value < 0:
                    return False
                if value < matrix[i][j]:
                    _relax(matrix, i, j, value)

    def bound(self, high: Attribute | None, low: Attribute | None) -> tuple[int, bool] | None:
        """The tightest implied ``high - low <= c`` as (c, strict); None if there is none."""
        value = self.matrix[self.index[high]][self.index[low]]
        if value == inf:
            return None
        by = -(-int(value) // _UNIT)
        return by, by * _UNIT != value

    def scaled(self, factor: int) -> Closure:
        """The same constraints in units that are ``factor`` times finer."""
        spacings = tuple(None if resolution is None else resolution * factor for resolution in self.spacings)
        matrix = [[_scaled(value, factor) for value in row] for row in self.matrix]
        return Closure(self.index, spacings, matrix)

    def strict_steps(self, high: Attribute | None, low: Attribute | None) -> int:
        """The number of strict comparisons that the tightest bound on ``high - low`` sums up."""
        value = self.matrix[self.index[high]][self.index[low]]
        return 0 if value == inf else int(-value % _UNIT)

    def implies(self, constraint: Difference) -> bool:
        """Whether the constraint follows."""
        i, j = self.index[constraint.high], self.index[constraint.low]
        return self.matrix[i][j] <= constraint.by * _UNIT - constraint.strict

    def orders(self, low: Attribute, high: Attribute) -> bool:
        """Whether ``low <= high`` follows."""
        return self.matrix[self.index[low]][self.index[high]] <= 0

    def equates(self, left: Attribute, right: Attribute) -> bool:
        """Whether ``one = other`` follows."""
        return self.orders(left, right) and self.orders(right, left)

    def upper(self, attribute: Attribute) -> tuple[int, bool] | None:
        """The implied upper bound as (value, strict); None if there is none."""
        return self.bound(attribute, None)

    def lower(self, attribute: Attribute) -> tuple[int, bool] | None:
        """The implied lower bound as (value, strict); None if there is none."""
        upper = self.bound(None, attribute)
        return None if upper is None else (-upper[0], upper[1])


def _scaled(value: float, factor: int) -> float:
    if value == inf:
        return inf
    by = -(-int(value) // _UNIT)
    return by * factor * _UNIT - (by * _UNIT - int(value))


def _relax(matrix: _Matrix, i: int, j: int, value: float) -> None:
    row = [(k, value + rest) for k, rest in enumerate(matrix[j]) if rest != inf]
    for line in matrix:
        # A line that reaches j no sooner by way of i gains nothing beyond j either: it is closed.
        first = line[i]
        if first + value >= line[j]:
            continue
        for k, rest in row:
            if first + rest < line[k]:
                line[k] = first + rest
