"""What is kept of one occurrence, as SQL: a side of a join of tables that stand for streams.

A plan's cell becomes one grouped SELECT: its keys are GROUP BY, its extrema and what follows MIN or MAX, a
bag's weight COUNT or SUM. Comparisons between streams are asked of these columns, which stand for all tuples
(``state.table.Layout``: the same representatives, there as rows in memory).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlglot import exp

from streambound.errors import PlanError
from streambound.plan.exclusions import excluded
from streambound.plan.model import Cell, Extremum, Keep, Key, Pair, Plan
from streambound.query.model import Attribute, Join, Op
from streambound.rewrites.clauses import NODES, Clauses, Names, extreme, shifted

# A column of a side, less a shift.
ShiftedColumn = tuple[str, Any]


@dataclass(frozen=True)
class Side:
    """One cell of an occurrence.

    ``keys`` and ``ends`` have names: of the columns to group by, and of aggregates. ``number`` is the name of
    the weight, which is that of the ``weighed`` expressions (none: a count); None where none is needed.
    ``columns`` says where the value of a column is, for some of its comparisons or for all; none where no
    comparison asks for it, several where any of them may do.
    """

    alias: str
    cell: Cell
    accepted: tuple[exp.Expr, ...]
    keys: tuple[tuple[str, exp.Expr, Key | None], ...]
    ends: tuple[tuple[str, exp.Expr, Keep], ...]
    number: str | None
    weighed: tuple[exp.Expr, ...]
    columns: Mapping[Any, tuple[ShiftedColumn, ...]]
    # Whether nothing is kept of it: its tuples pass.
    plain: bool = False

    def towards(self, pair: Pair) -> tuple[ShiftedColumn, ...]:
        """Where the value is that is compared with a column of another occurrence."""
        local, op, _ = pair
        column = self.columns.get(pair)
        if column is None and op is Op.NE:
            column = self.columns.get((local, op))
        return self.columns.get(local, ()) if column is None else column

    @property
    def groups(self) -> int:
        """How many groups there are at most."""
        size = 1
        for _, _, key in self.keys:
            size *= 2 if key is None else key.size
        return size

    @property
    def width(self) -> int:
        """Values kept of each group."""
        return max(1, len(self.ends) + (self.number is not None))

    def weight(self) -> exp.Expr:
        """The weight of a group, or of a tuple where nothing is grouped."""
        each = product_of([node.copy() for node in self.weighed])
        if self.plain:
            return each
        return exp.Sum(this=each) if self.weighed else exp.Count(this=exp.Star())

    def answer(self, attributes: Iterable[Attribute]) -> dict[Attribute, str]:
        """The names of the columns that have those of its attributes among some."""
        return {a: self.columns[a][0][0] for a in attributes if a.occurrence == self.alias}


def sides_of(plan: Plan, build: Clauses) -> list[tuple[Side, ...]]:
    """For each occurrence a side, of every combination of cells that may join.

    Raises:
        PlanError: what a cell keeps is no aggregate of SQL.
    """
    if any(len(table.streams) > 1 or table.ages for table in plan.synopses):
        raise PlanError("pairs of tuples are kept, which is no aggregate of one stream")
    by_alias: dict[str, list[Side]] = {}
    for synopsis in plan.streams:
        tables = [table for table in plan.synopses if table.streams == (synopsis.alias,)]
        cells = tables[0].cells if tables else (_alone(plan, synopsis.alias),)
        by_alias[synopsis.alias] = [_side(plan, build, synopsis.alias, cell, not tables) for cell in cells]
    never = excluded(plan.synopses)
    made = []
    for chosen in product(*(enumerate(sides) for sides in by_alias.values())):
        chosen_cells = [(side.alias, number) for number, side in chosen]
        if not any((first, second) in never for first in chosen_cells for second in chosen_cells):
            made.append(tuple(side for _, side in chosen))
    return made


def _alone(plan: Plan, alias: str) -> Cell:
    """The cell of the only stream of a bag: nothing is kept of it, and its rows are its projected columns."""
    local_columns = (a for a in plan.query.projected if a.occurrence == alias)
    return Cell((), tuple(Key(a, 0) for a in local_columns))


def _side(plan: Plan, build: Clauses, alias: str, cell: Cell, plain: bool) -> Side:
    query = plan.query
    names = Names()
    synopsis = next(s for s in plan.streams if s.alias == alias)
    accepted = [*build.accepted(synopsis), *map(build.condition, cell.conditions)]
    keys: list[tuple[str, exp.Expr, Key | None]] = []
    ends: list[tuple[str, exp.Expr, Keep]] = []
    shifted_columns: dict[Any, tuple[ShiftedColumn, ...]] = {pair: () for pair in cell.settled}
    for key in cell.keys:
        name = names.fresh(key.attribute.column if key.points is None else f"{key.attribute.column}_class")
        keys.append((name, build.key(key), key))
        if key.points is None:
            shifted_columns[key.attribute] = ((name, 0),)
    for extremum in cell.extrema:
        if extremum.mixed:
            keys += [(names.fresh("best"), node, None) for node in _pattern(build, extremum)]
            for local in extremum.attributes:
                name = names.fresh(local.column)
                ends.append((name, build.attribute(local), extremum.keep))
                shifted_columns[local] = ((name, 0),)
        else:
            name = names.fresh(extremum.attributes[0].column)
            ends.append((name, _combined(build, extremum), extremum.keep))
            alone = len(extremum.attributes) == 1
            for local, shift in zip(extremum.attributes, extremum.shifts, strict=True):
                shifted_columns[local] = ((name, 0 if alone else shift),)
    for local, keep in cell.follow:
        name = names.fresh(local.column)
        ends.append((name, build.attribute(local), keep))
        shifted_columns[local] = ((name, 0),)
    for key in cell.keys:
        if key.points is not None:
            name = names.fresh(key.attribute.column)
            ends.append((name, build.attribute(key.attribute), Keep.LEAST))
            served: Iterable[Any] = [key.attribute]
            if key.apart:
                served = [pair for pair in cell.apart if pair[0] == key.attribute]
            shifted_columns.update(dict.fromkeys(served, ((name, 0),)))
    if cell.unequal:
        (local, count), *rest = cell.unequal
        if rest or count > 1 or cell.extrema or cell.follow:
            raise PlanError("of columns under <> several tuples are kept, which is no aggregate of SQL")
        columns = []
        for keep in Keep:
            name = names.fresh(f"{keep.value}_{local.column}")
            ends.append((name, build.attribute(local), keep))
            columns.append((name, 0))
        shifted_columns[local, Op.NE] = tuple(columns)
    for local, mate in cell.same:
        shifted_columns[local] = shifted_columns[mate]
    counted = not query.ring.idempotent or not (keys or ends)
    number = names.fresh("n") if counted else None
    weighed = tuple(build.attribute(a) for a in query.weighing(alias))
    return Side(
        alias, cell, tuple(accepted), tuple(keys), tuple(ends), number, weighed, shifted_columns, plain
    )


def product_of(nodes: Sequence[exp.Expr]) -> exp.Expr:
    """The product of some numbers; of none, one."""
    if not nodes:
        return exp.Literal.number(1)
    first, *rest = nodes
    for node in rest:
        first = exp.Mul(this=first, expression=node)
    return first


def _combined(build: Clauses, extremum: Extremum) -> exp.Expr:
    alone = len(extremum.attributes) == 1
    nodes = [
        build.attribute(a) if alone else shifted(build.attribute(a), build.kind(a), shift)
        for a, shift in zip(extremum.attributes, extremum.shifts, strict=True)
    ]
    return extreme(exp.Greatest if extremum.keep is Keep.LEAST else exp.Least, *nodes)


def _pattern(build: Clauses, extremum: Extremum) -> Iterator[exp.Expr]:
    pick = exp.Greatest if extremum.keep is Keep.LEAST else exp.Least
    for local in extremum.attributes:
        best = extreme(pick, *map(build.attribute, extremum.attributes))
        yield exp.EQ(this=build.attribute(local), expression=best)


def end_of(name: exp.Expr, keep: Keep) -> exp.Expr:
    """The aggregate of an end."""
    return exp.Min(this=name) if keep is Keep.LEAST else exp.Max(this=name)


def comparison(
    build: Clauses, join: Join, sides: Mapping[str, Side], table: Mapping[str, str]
) -> list[exp.Expr]:
    """What a comparison asks of two sides: nothing, or one condition.

    Args:
        sides: all of them, by their aliases.
        table: the name under which the columns of each side are known.
    """
    left, right = (sides[attribute.occurrence] for attribute in join.attributes)
    pair: Pair = (join.left, join.op, join.right)
    back: Pair = (join.right, join.op.mirrored, join.left)
    alternatives = [
        NODES[join.op](
            this=_value(build, join.left, mine, table), expression=_value(build, join.right, its, table)
        )
        for mine in left.towards(pair)
        for its in right.towards(back)
    ]
    if not alternatives:
        return []
    return [alternatives[0] if len(alternatives) == 1 else exp.paren(exp.or_(*alternatives))]


def _value(build: Clauses, attribute: Attribute, column: ShiftedColumn, table: Mapping[str, str]) -> exp.Expr:
    name, shift = column
    return shifted(build.column(name, table[attribute.occurrence]), build.kind(attribute), -shift)


def between(plan: Plan, alias: str, partners: Iterable[str]) -> list[Join]:
    """The comparisons of an occurrence with some others; equalities first."""
    bound = set(partners)
    joins = [
        join
        for join in plan.joins
        if alias in (aliases := {a.occurrence for a in join.attributes}) and aliases - {alias} <= bound
    ]
    return sorted(joins, key=lambda join: join.op is not Op.EQ)
