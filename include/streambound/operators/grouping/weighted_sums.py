"""COUNT, SUM and AVG over a join, of rows that weigh what is summed (Theorem L of docs/theory.md)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from streambound.operators.grouping.aggregates import Accumulator
from streambound.operators.grouping.aggregates import _as as rounded
from streambound.operators.rows.operator import Row
from streambound.query.column_types import Type
from streambound.query.operators import Aggregate, AggregateKind
from streambound.state.serial import plain, value_of


class WeightedSums(Accumulator):
    """A number of rows, and the sum of their weights times factors."""

    def __init__(self, aggregate: Aggregate, shown: Type) -> None:
        self._kind, self._shown = aggregate.kind, shown
        self._rows = 0
        self._sum: Any = 0

    @property
    def stored_units(self) -> int:
        return 2 - (self._kind is AggregateKind.COUNT)

    def add(self, row: Row, count: int) -> None:
        self._rows += count

    def weigh(self, factor: int | Fraction, weight: Any) -> None:
        """Take in the weight of some rows, times a factor."""
        self._sum += factor * weight

    def merge(self, weighed: WeightedSums) -> None:
        self._rows += weighed._rows
        self._sum += weighed._sum

    def value(self) -> Any:
        if self._kind is AggregateKind.COUNT:
            return self._rows
        if not self._rows:
            return None
        mean = self._kind is AggregateKind.MEAN
        return rounded(Fraction(self._sum) / self._rows if mean else self._sum, self._shown)

    def dump(self) -> Any:
        # A sum of fractions may be whole.
        whole = self._sum.denominator == 1
        return [self._rows, plain(self._sum.numerator if whole else self._sum)]

    def load(self, document: Any) -> None:
        self._rows, self._sum = document[0], value_of(document[1])
