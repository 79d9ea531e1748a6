"""Making choices: a depth-first search with a named limit, where difference bounds do not decide.

A *choice* is a disjunction of two constraints: ``<>`` is one between less and more, a finite set of
values one between each two neighbours. Most need no search. Between ``x < y + c`` and ``x > y + c`` both
cannot fail at once

- if the difference of x and y is unbounded: far out in a generic direction in which the conditions stay
  met, all such choices are made at once; or
- if the two are dense and nothing forces ``x = y + c``: finitely many hyperplanes do not cover a convex
  set that lies in none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from streambound.constraints.closure import Bound, Closure, Difference

# Steps of the search for values that meet the conditions <> and IN, for all questions about one query.
SEARCH_LIMIT = 5_000


class SearchLimit(Exception):
    """The questions about a query needed more than SEARCH_LIMIT steps."""


Disjunction = tuple[Difference, Difference]


@dataclass
class Budget:
    """How many steps a search may still take."""

    left: int

    def take(self) -> None:
        """Take one step.

        Raises:
            SearchLimit: none is left.
        """
        self.left -= 1
        if self.left < 0:
            raise SearchLimit


class _Open(NamedTuple):
    """A choice with its options as bounds; ``opposite`` if they are the two sides of one difference,
    ``line`` if between them lies but one value of a dense difference."""

    disjunction: Disjunction
    bounds: tuple[Bound, Bound]
    opposite: bool
    line: bool

    def made(self, closure: Closure) -> bool:
        (i, j, number), (k, n, second) = self.bounds
        return closure.matrix[i][j] <= number or closure.matrix[k][n] <= second

    def ways(self, closure: Closure) -> list[int]:
        """The options that contradict nothing, rounding aside: 0 for the first, 1 for the second."""
        return [way for way, (i, j, value) in enumerate(self.bounds) if closure.matrix[j][i] + value >= 0]

    def cannot_fail(self, closure: Closure, ways: list[int]) -> bool:
        i, j, _ = self.bounds[0]
        free = closure.matrix[i][j] == inf or closure.matrix[j][i] == inf
        return (self.opposite and free) or (self.line and bool(ways))


def made(closure: Closure, disjunction: Disjunction) -> bool:
    """Whether one option of a choice is implied."""
    return closure.implies(disjunction[0]) or closure.implies(disjunction[1])


def search(start: Closure, disjunctions: Iterable[Disjunction], budget: Budget) -> list[Difference] | None:
    """The options taken in one way of making every choice that can fail; None if there is no way.

    Raises:
        SearchLimit: no step is left.
    """
    rest = [disjunction for disjunction in disjunctions if not made(start, disjunction)]
    if not start.mixed:
        # Where steps mix, an attribute between two others can round their bounds.
        start = start.among(node for disjunction in rest for d in disjunction for node in (d.high, d.low))
    pending = [(start, [_opened(start, disjunction) for disjunction in rest], list[Difference]())]
    while pending:
        budget.take()
        closure, still, taken = pending.pop()
        still = [disjunction for disjunction in still if not disjunction.made(closure)]
        first = _fewest(closure, still)
        if first is None:
            return taken
        remaining = [disjunction for disjunction in still if disjunction is not first]
        for way in reversed(first.ways(closure)):
            option = first.disjunction[way]
            if (narrowed := closure.assume([option])) is not None:
                pending.append((narrowed, remaining, [*taken, option]))
    return None


def _opened(closure: Closure, disjunction: Disjunction) -> _Open:
    left, right = disjunction
    opposite = left.high == right.low and left.low == right.high
    bounds = (closure.bound_of(left), closure.bound_of(right))
    dense = not closure.mixed and closure.dense(left.high) and closure.dense(left.low)
    line = opposite and dense and left.strict and right.strict and left.by == -right.by
    return _Open(disjunction, bounds, opposite, line)


def _fewest(closure: Closure, disjunctions: list[_Open]) -> _Open | None:
    """The first choice with the fewest ways of making it, of those that can fail; None if none can."""
    best: tuple[int, _Open] | None = None
    for disjunction in disjunctions:
        ways = disjunction.ways(closure)
        if disjunction.cannot_fail(closure, ways):
            continue
        if best is None or len(ways) < best[0]:
            best = len(ways), disjunction
        if len(ways) < 2:
            break
    return None if best is None else best[1]


def consistent(start: Closure, disjunctions: Iterable[Disjunction]) -> bool:
    """Whether every choice can be made within a closure.

    Raises:
        SearchLimit: more than SEARCH_LIMIT steps.
    """
    return search(start, disjunctions, Budget(SEARCH_LIMIT)) is not None


def resolved(start: Closure, disjunctions: tuple[Disjunction, ...]) -> Closure | None:
    """A closure within ``start`` in which every choice is made; None if there is none.

    Raises:
        SearchLimit: more than SEARCH_LIMIT steps.
    """
    taken = search(start, disjunctions, Budget(SEARCH_LIMIT))
    return None if taken is None else all_made(start, disjunctions, taken)


def all_made(start: Closure, disjunctions: Iterable[Disjunction], taken: list[Difference]) -> Closure | None:
    """The closure with what a search found, and with a way of making each choice that cannot fail."""
    closure = start.assume(taken)
    for disjunction in disjunctions:
        if closure is None:
            return None
        if not made(closure, disjunction):
            closure = closure.assume([_outward(closure, disjunction)])
    return closure


def _outward(closure: Closure, disjunction: Disjunction) -> Difference:
    """The option that leaves the difference unbounded: then no other choice becomes one that can fail.

    Where it is bounded on both sides, one that nothing contradicts.
    """
    left, right = disjunction
    if closure.free(left.high, left.low):
        return left if closure.bound(left.low, left.high) is None else right
    return left if closure.allows(left) else right
