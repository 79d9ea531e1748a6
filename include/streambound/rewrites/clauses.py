"""Columns, constants and conditions of a query as a person writes them, as nodes of sqlglot.

What ``tasks.clauses`` renders is over columns in ordered form, which only this project's files have; here
they are the columns of the user's own tables.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from streambound.errors import UnsupportedError
from streambound.plan.model import Condition, Key, StreamSynopsis
from streambound.query.column_types import NAN, Family, Type, Value
from streambound.query.computing.json import is_path
from streambound.query.model import Atom, Attribute, Join, Membership, Never, NullTest, Op, Query
from streambound.rewrites.targets import Target

NODES: dict[Op, type[exp.Binary]] = {
    Op.LT: exp.LT,
    Op.LE: exp.LTE,
    Op.EQ: exp.EQ,
    Op.NE: exp.NEQ,
    Op.GE: exp.GTE,
    Op.GT: exp.GT,
}
# More digits than a decimal has.
_EXACT = Context(prec=80)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Reserved by Calcite or SQL:2016 and no keyword of sqlglot, as far as columns are called so.
# fmt: off
_RESERVED = frozenset((
    "abs", "both", "count", "cube", "date", "day", "do", "each", "element", "end", "first", "hour",
    "language", "last", "leading", "log", "lower", "match", "max", "measure", "method", "min", "minute",
    "mod", "module", "month", "multiset", "next", "none", "old", "one", "open", "over", "pattern", "per",
    "percent", "period", "permute", "position", "power", "precision", "prev", "rank", "ref", "result",
    "return", "row", "rows", "second", "seek", "show", "start", "static", "sum", "system", "time",
    "timestamp", "to", "trailing", "upper", "user", "value", "values", "when", "window", "within", "year",
))
# fmt: on


class Names:
    """Names for the columns and tables that a rewrite makes: each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}

    def fresh(self, name: str) -> str:
        """The name, or one like it that is free."""
        name = name if name.strip("*") else "n"
        candidate, number = name, 1
        while candidate.lower() in self._taken:
            number += 1
            candidate = f"{name}{number}"
        self._taken.add(candidate.lower())
        return candidate


@dataclass(frozen=True)
class Clauses:
    """Renders for one query on one engine."""

    query: Query
    target: Target

    def name(self, text: str) -> exp.Identifier:
        """A name, in quotes if it needs them."""
        return identifier(text, self.target)

    def shown(self, name: str) -> str:
        """The name of an answer column: of ``S.A``, which is a column without an alias, its own."""
        alias, _, column = name.partition(".")
        return column if column and any(o.alias == alias for o in self.query.occurrences) else name

    def column(self, name: str, table: str) -> exp.Column:
        """A column of a table, by their names."""
        return exp.Column(this=self.name(name), table=self.name(table))

    def aliased(self, node: exp.Expr, name: str) -> exp.Expr:
        """A named output; a column of that name stays as it is."""
        if isinstance(node, exp.Column) and node.name == name:
            return node
        return exp.Alias(this=node, alias=self.name(name))

    def table(self, alias: str) -> exp.Table:
        """The relation of an occurrence, by its name."""
        *path, last = map(self.name, self.query.occurrence(alias).relation.name.split("."))
        return exp.Table(this=last, **dict(zip(("db", "catalog"), reversed(path), strict=False)))

    def source(self, alias: str) -> exp.Table:
        """The relation of an occurrence in FROM."""
        table = self.table(alias)
        if alias != table.name:
            table.set("alias", exp.TableAlias(this=self.name(alias)))
        return table

    def attribute(self, attribute: Attribute) -> exp.Expr:
        """A column of an occurrence, or the expression that it is.

        Raises:
            UnsupportedError: it calls a function that is not known.
        """
        column = self.query.column(attribute)
        if not column.of:
            return self.column(attribute.column, attribute.occurrence)
        if column.formula is None:
            raise UnsupportedError(
                f"{attribute} cannot be computed: it calls a function that is not known",
                subject=self.query.name,
                fix="run it with streambound, or write the expression with known functions",
            )
        node = formula_of(column.formula, lambda source: self.column(source.name, attribute.occurrence))
        return node if isinstance(node, exp.Column) else exp.paren(node)

    def kind(self, attribute: Attribute) -> Type:
        """The type of a column."""
        return self.query.column(attribute).type

    def atom(self, atom: Atom) -> exp.Expr:
        """A condition that the user wrote on one occurrence."""
        if isinstance(atom, Never):
            return exp.false()
        if isinstance(atom, NullTest):
            return null_test(self.attribute(atom.attribute), atom.null)
        if isinstance(atom, Membership):
            values = (constant.value for constant in atom.values)
            return self.member(atom.attribute, [value for value in values if value is not None])
        if isinstance(atom, Join):
            right = shifted(self.attribute(atom.right), self.kind(atom.right), atom.offset)
            return NODES[atom.op](this=self.attribute(atom.left), expression=right)
        assert atom.constant.value is not None
        constant = literal(atom.constant.value, atom.constant.type, self.kind(atom.attribute))
        return NODES[atom.op](this=self.attribute(atom.attribute), expression=constant)

    def compared(self, attribute: Attribute, op: Op, value: Value) -> exp.Expr:
        """A column against an encoded value of its own family."""
        kind = self.kind(attribute)
        return NODES[op](this=self.attribute(attribute), expression=literal(value, kind, kind))

    def condition(self, condition: Condition) -> exp.Expr:
        """A condition of the plan's own."""
        return self.compared(condition.attribute, condition.op, condition.value)

    def member(self, attribute: Attribute, values: Collection[Value]) -> exp.Expr:
        """A column in a list of encoded values."""
        if not values:
            return exp.false()
        kind = self.kind(attribute)
        return exp.In(
            this=self.attribute(attribute), expressions=[literal(value, kind, kind) for value in values]
        )

    def accepted(self, synopsis: StreamSynopsis) -> list[exp.Expr]:
        """The conditions under which a tuple counts at all: written, implied, and against NULL."""
        bounded = {c.attribute for c in synopsis.derived} | {a for a, _ in synopsis.members}
        compared = {a for atom in synopsis.filters if not isinstance(atom, NullTest) for a in atom.attributes}
        attributes = {atom.attribute for atom in synopsis.filters if isinstance(atom, NullTest)}
        nodes = [self.atom(atom) for atom in synopsis.filters]
        nodes += [self.condition(condition) for condition in synopsis.derived]
        nodes += [self.member(attribute, values) for attribute, values in synopsis.members]
        tested = (
            a
            for a in synopsis.required
            if a not in bounded | compared | attributes and self.query.nullable(a)
        )
        return list(dict.fromkeys((*nodes, *(null_test(self.attribute(a), False) for a in tested))))

    def key(self, key: Key) -> exp.Expr:
        """The class of a value under a key."""
        node, kind = self.attribute(key.attribute), self.kind(key.attribute)
        if key.points is not None:
            cases = exp.Case()
            for at, point in enumerate(key.points):
                for op, number in ((Op.LT, 2 * at), (Op.EQ, 2 * at + 1)):
                    cases = cases.when(self.compared(key.attribute, op, point), exp.Literal.number(number))
            last = exp.Literal.number(2 * len(key.points))
            return cases.else_(last) if key.points else last
        if key.alike:
            outside = self.compared(key.attribute, Op.GE, key.high)
            low = literal(key.low, kind, kind)
            return exp.Case().when(outside, low).else_(extreme(exp.Greatest, node, low.copy()))
        if key.low is not None:
            node = extreme(exp.Greatest, node, literal(key.low, kind, kind))
        if key.high is not None:
            node = extreme(exp.Least, node, literal(key.high, kind, kind))
        return node


def identifier(text: str, target: Target) -> exp.Identifier:
    """A name, in quotes if the engine would read it otherwise."""
    folded = target.fold is not None and text != getattr(text, target.fold)()
    quoted = folded or _PLAIN.fullmatch(text) is None or text.lower() in _RESERVED or _keyword(text, target)
    return exp.Identifier(this=text, quoted=quoted)


def _keyword(text: str, target: Target) -> bool:
    return text.upper() in target.dialect.tokenizer_class.KEYWORDS


def formula_of(text: str, column: Callable[[exp.Column], exp.Expr]) -> exp.Expr:
    """An expression in Spark SQL, with something in the place of each column.

    Raises:
        UnsupportedError: it cannot be read.
    """
    return (
        _formula(text).copy().transform(lambda node: column(node) if isinstance(node, exp.Column) else node)
    )


@lru_cache
def _formula(text: str) -> exp.Expr:
    try:
        made = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        made = None
    # What lies at a path that is no plain value engines write differently.
    if made is None or any(map(is_path, made.walk())):
        raise UnsupportedError(f"the expression {text} cannot be written for other engines")
    return made


def null_test(node: exp.Expr, null: bool) -> exp.Expr:
    """``IS NULL``, or that it is not."""
    return exp.Is(this=node, expression=exp.null() if null else exp.Not(this=exp.null()))


def extreme(pick: type[exp.Greatest] | type[exp.Least], first: exp.Expr, *rest: exp.Expr) -> exp.Expr:
    """The greatest or the least of several; of one, that."""
    # The operands are never NULL; without this flag every dialect spells out what would happen if.
    return pick(this=first, expressions=list(rest), ignore_nulls=True) if rest else first


def literal(value: Value, kind: Type, beside: Type) -> exp.Expr:
    """An encoded value as SQL writes it, to stand beside a column of a type."""
    if kind.family is Family.STRING:
        return exp.Literal.string(str(value))
    if kind.family in (Family.DATE, Family.TIMESTAMP):
        decoded = kind.decode(value)
        text = decoded.isoformat() if kind.family is Family.DATE else _moment(decoded)
        return exp.cast(exp.Literal.string(text), kind.family.name)
    if kind.family is Family.BOOLEAN:
        return exp.true() if value else exp.false()
    if value == NAN or (isinstance(value, float) and value in (float("inf"), float("-inf"))):
        return exp.cast(exp.Literal.string("NaN" if value == NAN else str(value)), "DOUBLE")
    if beside.family is Family.NUMBER and beside.resolution is None and Fraction(value).denominator > 1:
        return exp.cast(exp.Literal.string(repr(float(value))), "DOUBLE")
    return number(value)


def number(value: Value) -> exp.Expr:
    """A number in decimal notation."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return exp.Literal.number(int(exact))
    return exp.Literal.number(
        format(_EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(), "f")
    )


def _moment(moment: dt.datetime) -> str:
    return str(moment.replace(tzinfo=None))


def shifted(node: exp.Expr, kind: Type, offset: Value) -> exp.Expr:
    """A column and an offset: an interval of time, or a number."""
    if not offset:
        return node
    more = offset > 0
    size = abs(offset)
    if kind.family is Family.TIMESTAMP:
        by: exp.Expr = interval(size)
    else:
        by = number(size)
    return (exp.Add if more else exp.Sub)(this=node, expression=by)


def interval(size: int) -> exp.Interval:
    """So many microseconds, in the largest unit of which they are whole; below a second as its fraction."""
    unit, length = next((u, n) for u, n in _UNITS if size % n == 0 or u == "SECOND")
    text = str(size // length) if size % length == 0 else format(Decimal(size).scaleb(-6).normalize(), "f")
    return exp.Interval(this=exp.Literal.string(text), unit=exp.var(unit))


_UNITS = (
    ("DAY", 86_400_000_000),
    ("HOUR", 3_600_000_000),
    ("MINUTE", 60_000_000),
    ("SECOND", 1_000_000),
)
