"""Answers from representatives: the query's own comparisons between occurrences, on tiny tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streambound.query.model import Attribute, Join, Op, Query
from streambound.query.ring import Weight
from streambound.synopsis.plan import Condition, Pair, Plan
from streambound.synopsis.state import ANY, Bucket, Table, apart_name, op_between, passes, unequal_name

Row = tuple[Any, ...]


@dataclass(slots=True)
class Rep:
    """A representative: its column values, how many tuples it stands for, and its cell; never changed."""

    values: Mapping[str, Any]
    weight: Weight
    cell: int | None = None
    settled: frozenset[Pair] = frozenset()
    apart: frozenset[tuple[Attribute, Attribute]] = frozenset()
    unequal: frozenset[Attribute] = frozenset()

    def __getitem__(self, column: str) -> Any:
        return self.values.get(column, ANY)

    def towards(self, pair: Pair) -> Any:
        """The value of a column to compare with one of another occurrence."""
        return self[column_towards(pair, self.apart, self.unequal)]


def column_towards(
    pair: Pair, apart: Collection[tuple[Attribute, Attribute]], unequal: Collection[Attribute]
) -> str:
    """The name of the value of a column to compare with one of another occurrence.

    Args:
        apart: the (own, other) columns that a key apart serves.
        unequal: the columns of which the cell has the values that take part in ``<>``.
    """
    mine, op, other = pair
    if (mine, other) in apart:
        return apart_name(mine.column)
    return unequal_name(mine.column) if op is Op.NE and mine in unequal else mine.column


Sources = Mapping[str, Sequence[Rep]]


def representatives(table: Table, buckets: Iterable[Bucket]) -> list[Rep]:
    """The representatives of some buckets of a table, in one list."""
    return [rep for reps in by_bucket(table, buckets).values() for rep in reps]


def by_bucket(table: Table, buckets: Iterable[Bucket]) -> dict[Bucket, list[Rep]]:
    """The representatives of some buckets of a table."""
    cells = [(c.settled, c.apart, frozenset(a for a, _ in c.unequal)) for c in table.synopsis.cells]
    return {
        bucket: [
            Rep(values, weight, bucket[0], *cells[bucket[0]])
            for values, weight in table.representatives(bucket)
        ]
        for bucket in buckets
    }


def static_rows(query: Query, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, list[Rep]]:
    """The rows of static relations that pass their own conditions, by occurrence."""
    found = {}
    for occurrence in query.statics:
        own = [a for a in query.where if {x.occurrence for x in a.attributes} == {occurrence.alias}]
        required = {x.column for x in query.present if x.occurrence == occurrence.alias}
        found[occurrence.alias] = [
            Rep(row, query.ring.one)
            for row in rows.get(occurrence.relation.name, ())
            if all(row[c] is not None for c in required) and passes(own, row)
        ]
    return found


class Joiner:
    """Joins representatives under a plan's comparisons and projects the answer rows."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.ring = plan, plan.query.ring
        self.apart = _incompatible(plan)

    def rows(self, sources: Sources, fixed: Row | None = None) -> Iterator[tuple[Row, Weight]]:
        """(answer row, weight) of every match; only of ``fixed`` if given.

        ``sources`` holds the representatives of every occurrence in FROM.
        """
        wanted = _wanted(self.plan.query, fixed)
        if wanted is None or not all(sources.values()):
            return
        narrowed = {alias: _narrowed(reps, wanted.get(alias)) for alias, reps in sources.items()}
        order = sorted(narrowed, key=lambda alias: len(narrowed[alias]))
        steps = [_Step(self.plan, order[: i + 1], narrowed[order[i]]) for i in range(len(order))]
        yield from self._extend(steps, 0, {}, self.ring.one)

    def _extend(
        self, steps: list[_Step], depth: int, chosen: dict[str, Rep], weight: Weight
    ) -> Iterator[tuple[Row, Weight]]:
        if depth == len(steps):
            yield self._project(chosen), weight
            return
        step = steps[depth]
        for rep in step.candidates(chosen):
            if self._meet(step.alias, rep, chosen):
                chosen[step.alias] = rep
                yield from self._extend(steps, depth + 1, chosen, self.ring.multiply(weight, rep.weight))
                del chosen[step.alias]

    def _meet(self, alias: str, rep: Rep, chosen: Mapping[str, Rep]) -> bool:
        if not self.apart:
            return True
        return not any(
            ((alias, rep.cell), (other, held.cell)) in self.apart for other, held in chosen.items()
        )

    def _project(self, chosen: Mapping[str, Rep]) -> Row:
        return tuple(
            chosen[o.term.occurrence][o.term.column] if isinstance(o.term, Attribute) else o.term.value
            for o in self.plan.query.select
        )

    def counts(self, sources: Sources) -> dict[Row, Weight]:
        """Every answer row with its weight."""
        return self.ring.total(self.rows(sources))

    def exists(self, sources: Sources, row: Row) -> bool:
        """Whether an answer row follows from the sources."""
        return next(self.rows(sources, row), None) is not None


class _Step:
    """One occurrence in the join order: its representatives that agree with those chosen before."""

    def __init__(self, plan: Plan, bound: list[str], reps: Sequence[Rep]) -> None:
        self.alias = bound[-1]
        self.reps = reps
        pairs = [pair for atom in plan.joins if (pair := _oriented(atom, self.alias, bound)) is not None]
        self.equal = [pair for pair in pairs if pair[1] is Op.EQ]
        self.rest = [pair for pair in pairs if pair[1] is not Op.EQ]
        self.index: dict[Row, list[Rep]] = {}
        if self.equal:
            for rep in reps:
                self.index.setdefault(tuple(rep[mine.column] for mine, _, _ in self.equal), []).append(rep)

    def candidates(self, chosen: Mapping[str, Rep]) -> Iterator[Rep]:
        """The representatives that agree; equated columns are keys, so they are always faithful."""
        found = self.reps
        if self.equal:
            values = tuple(chosen[other.occurrence][other.column] for _, _, other in self.equal)
            found = self.index.get(values, []) if None not in values else []
        partners = [(pair, chosen[pair[2].occurrence]) for pair in self.rest]
        for rep in found:
            if all(self._agrees(pair, rep, partner) for pair, partner in partners):
                yield rep

    def _agrees(self, pair: Pair, rep: Rep, partner: Rep) -> bool:
        mine, op, other = pair
        back = (other, op.mirrored, mine)
        if pair in rep.settled or back in partner.settled:
            return True
        return op_between(op, rep.towards(pair), partner.towards(back))


def _oriented(atom: Join, alias: str, bound: list[str]) -> Pair | None:
    left, right = atom.left, atom.right
    if left.occurrence == alias and right.occurrence in bound:
        return left, atom.op, right
    if right.occurrence == alias and left.occurrence in bound:
        return right, atom.op.mirrored, left
    return None


def _wanted(query: Query, fixed: Row | None) -> dict[str, dict[str, Any]] | None:
    """The values that a fixed answer row demands of each occurrence; None if it cannot be an answer."""
    demanded: dict[str, dict[str, Any]] = {}
    for output, value in zip(query.select, fixed or (), strict=False):
        if not isinstance(output.term, Attribute):
            if output.term.value != value:
                return None
            continue
        columns = demanded.setdefault(output.term.occurrence, {})
        if columns.setdefault(output.term.column, value) != value:
            return None
    return demanded


def _narrowed(reps: Sequence[Rep], wanted: Mapping[str, Any] | None) -> Sequence[Rep]:
    if not wanted:
        return reps
    return [rep for rep in reps if all(rep[column] == value for column, value in wanted.items())]


Place = tuple[str, int | None]


def _incompatible(plan: Plan) -> frozenset[tuple[Place, Place]]:
    """Pairs of cells, both ways, of which one's context excludes the other."""
    pairs: set[tuple[Place, Place]] = set()
    for one in plan.synopses:
        for number, cell in enumerate(one.cells):
            for other in plan.synopses:
                mine = [c for c in cell.context if c.attribute.occurrence == other.alias]
                for index, partner in enumerate(other.cells):
                    if not all(_within(partner.conditions, c) for c in mine):
                        pairs.add(((one.alias, number), (other.alias, index)))
                        pairs.add(((other.alias, index), (one.alias, number)))
    return frozenset(pairs)


def _within(conditions: tuple[Condition, ...], context: Condition) -> bool:
    """Whether a cell that was cut at a context's bound lies on the context's side of it."""
    upper = context.op in (Op.LT, Op.LE)
    for condition in conditions:
        if condition.attribute != context.attribute or (condition.op in (Op.LT, Op.LE)) is not upper:
            continue
        tighter = condition.value < context.value if upper else condition.value > context.value
        strict_enough = condition.op is context.op or condition.op in (Op.LT, Op.GT)
        if tighter or (condition.value == context.value and strict_enough):
            return True
    return False
