"""The clauses of one query in SQL: conditions, key classes, and what counts of a single tuple.

Nodes are sqlglot's over columns in ordered form (see ``encoded_sql``). Constant lists too long for SQL text
travel as lookup tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from streambound.plan.model import Condition, Extremum, Keep, Key, StreamSynopsis
from streambound.query.column_types import Type, Value
from streambound.query.computing.typed import scale_of
from streambound.query.model import Atom, Attribute, Join, Membership, Never, NullTest, Op, Query
from streambound.tasks import encoded_sql

# Longer lists of constants cost more as text than as a table to look up.
IN_TEXT = 64


@dataclass(frozen=True)
class Lookup:
    """Constants of a type, sorted, as a table ``name`` with the columns ``value`` and ``at``."""

    name: str
    kind: Type
    values: tuple[Value, ...]


@dataclass
class Clauses:
    """Renders for one statement; ``tables`` names the table of each occurrence.

    ``lookups`` and ``joins`` collect what the rendered nodes need beside their own table.
    """

    query: Query
    prefix: str
    tables: Mapping[str, str]
    lookups: list[Lookup] = field(default_factory=list)
    joins: list[exp.Join] = field(default_factory=list)

    def column(self, attribute: Attribute) -> exp.Column:
        """The column behind an attribute."""
        return encoded_sql.column(attribute.column, self.tables[attribute.occurrence])

    def kind(self, attribute: Attribute) -> Type:
        """Its declared type."""
        return self.query.column(attribute).type

    def outward(self, attribute: Attribute) -> exp.Expr:
        """The column as result sets return it."""
        return encoded_sql.outward(self.column(attribute), self.kind(attribute))

    def lookup(self, kind: Type, values: Iterable[Value]) -> str:
        """The name of a new lookup table."""
        name = f"{self.prefix}{len(self.lookups)}"
        self.lookups.append(Lookup(name, kind, tuple(values)))
        return name

    def atom(self, atom: Atom) -> exp.Expr:
        """A condition that the user wrote."""
        if isinstance(atom, Never):
            return exp.false()
        if isinstance(atom, NullTest):
            test = exp.Is(this=self.column(atom.attribute), expression=exp.null())
            return test if atom.null else exp.not_(test)
        if isinstance(atom, Membership):
            return self.member(atom.attribute, [constant.value for constant in atom.values])
        if isinstance(atom, Join):
            return encoded_sql.comparison(atom.op, self.column(atom.left), self.column(atom.right))
        return self.compared(atom.attribute, atom.op, atom.constant.value)

    def present(self, attribute: Attribute) -> exp.Expr:
        """The condition that an attribute is not NULL."""
        return exp.not_(exp.Is(this=self.column(attribute), expression=exp.null()))

    def condition(self, condition: Condition) -> exp.Expr:
        """A condition of the plan's own."""
        return self.compared(condition.attribute, condition.op, condition.value)

    def compared(self, attribute: Attribute, op: Op, value: Value) -> exp.Expr:
        """An attribute against a constant."""
        return encoded_sql.compared(self.column(attribute), self.kind(attribute), op, value)

    def member(self, attribute: Attribute, values: Iterable[Value]) -> exp.Expr:
        """An attribute in a list of constants."""
        own = encoded_sql.representable(self.kind(attribute), values)
        if len(own) <= IN_TEXT:
            return encoded_sql.member(self.column(attribute), self.kind(attribute), own)
        name = self.lookup(self.kind(attribute), own)
        return exp.In(
            this=self.column(attribute),
            query=exp.select(encoded_sql.column("value", name)).from_(encoded_sql.table(name)).subquery(),
        )

    def accepted(self, synopsis: StreamSynopsis) -> list[exp.Expr]:
        """The conditions under which a tuple counts at all."""
        return [
            *map(self.present, synopsis.required),
            *(self.atom(atom) for atom in synopsis.filters),
            *(self.condition(condition) for condition in synopsis.derived),
            *(self.member(attribute, values) for attribute, values in synopsis.members),
        ]

    def key(self, key: Key) -> exp.Expr:
        """The class of a value under a key."""
        if key.points is not None:
            return self._position(key.attribute, key.points)
        node, kind = self.outward(key.attribute), self.kind(key.attribute)
        if key.alike:
            assert key.low is not None and key.high is not None
            outside = encoded_sql.comparison(Op.GE, node.copy(), encoded_sql.number(kind, key.high))
            low = encoded_sql.number(kind, key.low)
            return exp.case().when(outside, low).else_(_extreme(exp.Greatest, node, low.copy()))
        if key.low is not None:
            node = _extreme(exp.Greatest, node, encoded_sql.number(kind, key.low))
        if key.high is not None:
            node = _extreme(exp.Least, node, encoded_sql.number(kind, key.high))
        return node

    def _position(self, attribute: Attribute, points: tuple[Value, ...]) -> exp.Expr:
        own = encoded_sql.representable(self.kind(attribute), points)
        if len(points) <= IN_TEXT or len(own) < len(points):
            return self._bisected(attribute, points, 0, len(points))
        name = self.lookup(self.kind(attribute), points)
        value, at = encoded_sql.column("value", name), encoded_sql.column("at", name)
        self.joins.append(
            exp.Join(
                this=encoded_sql.table(name),
                method="ASOF",
                side="LEFT",
                on=exp.GTE(this=self.column(attribute), expression=value),
            )
        )
        twice = exp.Mul(this=at, expression=exp.Literal.number(2))
        below = exp.Is(this=value.copy(), expression=exp.null())
        hit = exp.EQ(this=self.column(attribute), expression=value.copy())
        return (
            exp.case()
            .when(below, exp.Literal.number(0))
            .when(hit, exp.Add(this=twice, expression=exp.Literal.number(1)))
            .else_(exp.Add(this=twice.copy(), expression=exp.Literal.number(2)))
        )

    def _bisected(self, attribute: Attribute, points: tuple[Value, ...], low: int, high: int) -> exp.Expr:
        if low == high:
            return exp.Literal.number(2 * low)
        middle = (low + high) // 2
        less = self._bisected(attribute, points, low, middle)
        return (
            exp.case()
            .when(self.compared(attribute, Op.LT, points[middle]), less)
            .when(self.compared(attribute, Op.EQ, points[middle]), exp.Literal.number(2 * middle + 1))
            .else_(self._bisected(attribute, points, middle + 1, high))
        )

    def combined(self, extremum: Extremum) -> exp.Expr:
        """What counts of one tuple: the greatest (least) of its shifted columns."""
        shifted = [self._shifted(a, s) for a, s in zip(extremum.attributes, extremum.shifts, strict=True)]
        if len(shifted) == 1:
            return shifted[0]
        return _extreme(exp.Greatest if extremum.keep is Keep.LEAST else exp.Least, *shifted)

    def _shifted(self, attribute: Attribute, shift: Value) -> exp.Expr:
        node = self.outward(attribute)
        if not shift:
            return node
        # Room for the largest integer plus one.
        widened = exp.cast(node, f"DECIMAL({encoded_sql.DIGITS}, {scale_of(self.kind(attribute))})")
        return exp.Add(this=widened, expression=encoded_sql.number(self.kind(attribute), shift))

    def pattern(self, extremum: Extremum) -> list[exp.Expr]:
        """For each column of a mixed extremum, whether it attains the greatest (least)."""
        best = self.combined(extremum)
        return [exp.EQ(this=self.outward(a), expression=best.copy()) for a in extremum.attributes]


def _extreme(pick: type[exp.Greatest] | type[exp.Least], first: exp.Expr, *rest: exp.Expr) -> exp.Expr:
    # The operands are never NULL; without this flag every dialect spells out what would happen if.
    return pick(this=first, expressions=list(rest), ignore_nulls=True)
