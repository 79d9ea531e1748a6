"""GROUP BY: aggregates of the rows of each group, as they change (docs/theory.md, Theorems L, M and D).

Of a group there is kept how many rows it has, if rows are taken back, and what each aggregate keeps of them.
A group that has changed takes its old row back and gives the new one. Where a key is a time, a group of which
no row comes any more is forgotten, and its row stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from streambound.operators.grouping.aggregates import Accumulator, Folding, Settling, accumulators, of_column
from streambound.operators.grouping.weighted_sums import WeightedSums
from streambound.operators.rows.closing import Closing
from streambound.operators.rows.expressions import Compiled, compiled
from streambound.operators.rows.operator import Changes, Operator, Row, added, difference, ordering
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Grouped, Measured, Times
from streambound.query.column_types import Type
from streambound.query.operators import Aggregate
from streambound.state.serial import decoded, plain


@dataclass
class _Group:
    """The number of rows from each input (1 if none is taken back), and what the aggregates keep."""

    counts: list[int]
    kept: list[Accumulator]

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple([accumulator.value() for accumulator in self.kept])


class Groups(Operator):
    """The groups of some rows.

    Args:
        types: of the rows of each input.
        rows: the times of the rows of each input.
        retracts: of each input, whether its rows are taken back.
    """

    rows = ("groups",)

    def __init__(
        self,
        operation: Grouped,
        types: Sequence[Sequence[Type]],
        rows: Sequence[Times],
        retracts: Sequence[bool],
    ) -> None:
        self.operation = operation
        self.types, self.retracts = types, retracts
        # Of each input the aggregates that take its rows, with the factor of their weights.
        self.takers = _takers(operation, len(types))
        # Of those that can be computed from shares of the rows, the numbers that are folded.
        self.folded = [
            (number, [[(_exact(factor), position) for factor, position in terms] for terms in reads.measures])
            for number, reads in enumerate(operation.reads)
            if reads.measures
        ]
        # Expressions over several tuples are further columns of the rows of their input.
        self.computed, self.columns = _computed_columns(operation, types)
        self._made = list(self._makers())
        # Weights that are sums say nothing of how many rows there are.
        self.counted = [not some or any(factor is None for _, factor in some) for some in self.takers]
        keys = list(zip(operation.keys, types[0], strict=False))
        self.shown = Projection(operation.then.shown, keys, _value_types(operation), operation.then.having)
        self.groups: dict[Row, _Group] = {}
        # When groups are over, and their rows, as far as it was asked for since they changed.
        self._said: dict[Row, tuple[int | None, list[tuple[Row, int]]]] = {}
        times = Times.of_any(rows).among({p: p for p in range(len(operation.keys))})
        self.closing = Closing(times, times)
        # Of rows that may be taken back, until when; where nothing says so, for ever.
        chosen = {
            reads.input
            for made, reads in zip(self._made, operation.reads, strict=True)
            if isinstance(made(), Settling)
        }
        self.settling = [Closing(t, t if n in chosen else Times()) for n, t in enumerate(rows)]
        self.open: list[dict[Row, int]] = [{} for _ in types]

    @property
    def stored_units(self) -> int:
        """Counts of rows, and what each aggregate keeps, of every group."""
        groups = sum(
            len(g.counts) + sum(accumulator.stored_units for accumulator in g.kept)
            for g in self.groups.values()
        )
        return groups + sum(len(row) + 1 for kept in self.open for row in kept)

    def initial(self) -> dict[Row, int]:
        """The row of no rows, where there are no keys."""
        return {} if self.operation.then.keys else dict(self._answers([self._row_of(self.operation.alone)]))

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the groups' rows that follow from those of their rows."""
        before: dict[Row, Row | None] = {}
        width = len(self.operation.keys)
        for number, changes in enumerate(inputs):
            takers, counted, retracts = self.takers[number], self.counted[number], self.retracts[number]
            settles, nulls = self.settling[number].parted, self.operation.nulls.get(number)
            rows = self._with_computed(number, changes)
            for row, (given, weight) in zip(rows, changes.items(), strict=True):
                count: Any = weight
                key = row[:width]
                if key not in before:
                    before[key] = self._row_of(key)
                    self._said.pop(key, None)
                    self.closing.see(key)
                group = self._group(key)
                # How many rows there were says nothing where the best of them is all that comes.
                if counted:
                    group.counts[number] = group.counts[number] + count if retracts else 1
                lasting = nulls is not None and any(given[p] is not None for p in nulls)
                if isinstance(count, Measured):
                    for position, measures in self.folded:
                        folding = group.kept[position]
                        assert isinstance(folding, Folding)
                        for partial_row in count.partials:
                            folding.fold([_total(terms, partial_row) for terms in measures])
                    continue
                for position, factor in takers:
                    kept = group.kept[position]
                    if factor is None and lasting and isinstance(kept, Settling):
                        kept.add_lasting(row, count)
                    elif factor is None:
                        kept.add(row, count)
                    elif isinstance(kept, WeightedSums):
                        kept.weigh(factor, count)
                if settles and not lasting:
                    self._keep(number, given, count)
        after = [self._row_of(key) for key in before]
        differences = difference(self._answers(before.values()), self._answers(after))
        for key in before:
            if not any(self.groups[key].counts):
                del self.groups[key]
        for key in self.closing.over():
            self.groups.pop(key, None)
            self._said.pop(key, None)
        self._settle()
        return differences

    def _with_computed(self, number: int, rows: Iterable[Row]) -> Iterable[Row]:
        """Rows of an input with what is computed of each."""
        made = self.computed[number]
        if not made:
            return rows
        extended = list(rows)
        columns = [compute(extended) for _, compute in made]
        return [(*row, *values) for row, values in zip(extended, zip(*columns, strict=True), strict=True)]

    def _keep(self, number: int, row: Row, count: int) -> None:
        """Take note of a row that may be taken back for some time."""
        self.settling[number].see(row)
        kept = self.open[number]
        if row not in kept:
            self.settling[number].open(row)
        kept[row] = kept.get(row, 0) + count
        if not kept[row]:
            del kept[row]

    def _settle(self) -> None:
        """Tell what keeps rows that some are not taken back any more."""
        for number, closing in enumerate(self.settling):
            over = list(closing.over())
            for given, row in zip(over, self._with_computed(number, over), strict=True):
                count = self.open[number].pop(given, 0)
                group = self.groups.get(row[: len(self.operation.keys)])
                for position, _ in self.takers[number] if group is not None and count else ():
                    if isinstance(kept := group.kept[position], Settling):  # type: ignore[union-attr]
                        kept.settle(row, count)

    def _row_of(self, key: Row) -> Row | None:
        """The keys of a group with the values of its aggregates; None if there is none."""
        group = self.groups.get(key)
        if self.operation.then.keys:
            return None if group is None or not any(group.counts) else (*key, *group.values)
        return (*key, *(group or self._empty()).values)

    def _answers(self, rows_now: Iterable[Row | None]) -> list[tuple[Row, int]]:
        rows = self.shown([row for row in rows_now if row is not None])
        return [(row, 1) for row in rows if row is not None]

    def _empty(self) -> _Group:
        return _Group([0] * len(self.types), [made() for made in self._made])

    def _makers(self) -> Iterator[Callable[[], Accumulator]]:
        """What makes the accumulator of each aggregate."""
        pairs = zip(self.operation.then.aggregates, self.operation.reads, strict=True)
        for number, (aggregate, reads) in enumerate(pairs):
            kinds = self.types[reads.input]
            if (column := self.columns.get(number)) is not None:
                wider = [*kinds, *[_computed(aggregate)] * (column + 1 - len(kinds))]
                own, positions = of_column(aggregate, column), {column: column}
                if own.by is not None:
                    at = reads.positions[own.by]
                    own, positions = replace(own, by=at, arguments=(at,)), {column: column, at: at}
                yield accumulators(own, positions, reads.retracts, wider, reads.time)
            elif reads.weighed:
                yield partial(WeightedSums, aggregate, aggregate.type_of(self.operation.kinds.__getitem__))
            else:
                yield accumulators(aggregate, reads.positions, reads.retracts, kinds, reads.time)

    def _group(self, key: Row) -> _Group:
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = self._empty()
            self.closing.open(key)
        return group

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows of groups into which rows may still come.

        Where nothing is said of a group but that it is there, one row that stays is enough.
        """
        then = self.operation.then
        if then.keys and not then.aggregates:
            rows = added(below)
            alone = [key for key, group in self.groups.items() if sum(group.counts) == rows.get(key, 0)]
            return difference((), self._answers(map(self._row_of, alone)))
        answers: list[tuple[Row, int]] = []
        for key in self.groups if then.keys else [self.operation.alone]:
            if key not in self._said:
                self._said[key] = self.closing.end(key), self._answers([self._row_of(key)])
            end, said = self._said[key]
            if end is None or now is None or now < end:
                answers += said
        return difference((), answers)

    def dump(self) -> Any:
        """The groups in the order of their texts, and the time that was seen."""
        groups = sorted(self.groups.items(), key=lambda item: ordering(item[0]))
        rows = [
            [list(map(plain, key)), g.counts, [accumulator.dump() for accumulator in g.kept]]
            for key, g in groups
        ]
        kept = [
            [
                [list(map(plain, row)), count]
                for row, count in sorted(item.items(), key=lambda r: ordering(r[0]))
            ]
            for item in self.open
        ]
        seen = [closing.seen for closing in (self.closing, *self.settling)]
        return {"groups": rows, "open": kept, "seen": seen}

    def load(self, document: Any) -> None:
        """Take up groups."""
        self.groups = {}
        for closing, seen in zip((self.closing, *self.settling), document["seen"], strict=True):
            closing.seen = seen
        for number, rows in enumerate(document["open"]):
            for row, count in rows:
                self._keep(number, decoded(row), count)
        for key, counts, kept in document["groups"]:
            group = self._group(decoded(key))
            group.counts = list(counts)
            for accumulator, part in zip(group.kept, kept, strict=True):
                accumulator.load(part)


def _takers(operation: Grouped, inputs: int) -> list[list[tuple[int, Any]]]:
    """By input the aggregates (by number) that take its rows, each with its factor of their weights."""
    takers: list[list[tuple[int, Any]]] = [[] for _ in range(inputs)]
    for number, reads in enumerate(operation.reads):
        takers[reads.input].append((number, None))
        for factor, source in reads.terms:
            takers[source].append((number, _exact(factor)))
    return takers


def _computed_columns(
    operation: Grouped, types: Sequence[Sequence[Type]]
) -> tuple[list[list[tuple[int, Compiled]]], dict[int, int]]:
    """By input the aggregates (by number) that read an expression, with what computes it; and the position of
    the column that it is, by aggregate.
    """
    computed: list[list[tuple[int, Compiled]]] = [[] for _ in types]
    columns: dict[int, int] = {}
    pairs = zip(operation.then.aggregates, operation.reads, strict=True)
    for number, (aggregate, reads) in enumerate(pairs):
        if aggregate.formula is not None:
            made = computed[reads.input]
            columns[number] = len(types[reads.input]) + len(made)
            names = {position: f"o{p}" for p, position in reads.positions.items()}
            # Also what it does not read: columns are taken by their places.
            named = [(names.get(n, f"_{n}"), kind) for n, kind in enumerate(types[reads.input])]
            made.append((number, compiled(aggregate.formula, named, _computed(aggregate))))
    return computed, columns


def _value_types(operation: Grouped) -> list[Type]:
    """The type of the value of each aggregate: as it is shown, if it is shown as it is."""
    shown = {s.values: s.type for s in reversed(operation.then.shown) if s.plain}
    return [
        shown.get((number,)) or aggregate.type_of(operation.kinds.__getitem__)
        for number, aggregate in enumerate(operation.then.aggregates)
    ]


def _computed(aggregate: Aggregate) -> Type:
    assert aggregate.computed is not None
    return aggregate.computed


def _exact(factor: Fraction) -> int | Fraction:
    return factor.numerator if factor.denominator == 1 else factor


def _total(terms: Sequence[tuple[int | Fraction, int]], partial_row: Sequence[Any]) -> Any:
    """A sum of factors times places of a share; what is alone may be no number."""
    (first, position), *rest = terms
    total = partial_row[position] if first == 1 else first * partial_row[position]
    for factor, at in rest:
        total += factor * partial_row[at]
    return total
