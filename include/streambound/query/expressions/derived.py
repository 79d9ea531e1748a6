"""Expressions over the columns of one tuple, as further columns of its relation.

``LOWER(s.name)`` in a query over ``s`` is a *derived column* of the relation of ``s``. Its value is computed
from a tuple alone, so a query with it is decided as the same query over a relation that has the column. That
is sound for "bounded": what holds of a free column holds of one that is computed. It is exact where nothing
else in the query depends on what the column is computed from (``independence``), and it takes every value of
its range. The same expression of the same columns is one column. Of a function that is not known it is
assumed that its value depends on its arguments alone, and may be any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any
from zlib import crc32

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from streambound.errors import UnsupportedError
from streambound.query.clock import RANDOM, is_clock
from streambound.query.column_types import Family, Type
from streambound.query.computing.translate import formula_of, quoted
from streambound.query.computing.typed import NotComputed
from streambound.query.dialects.grammar import MOVED, PUT_IN, SPAN, span_of
from streambound.query.expressions import blockers
from streambound.query.expressions.paths import path_above
from streambound.query.expressions.types import (
    DATE,
    TIMES_OF_DAY,
    TIMESTAMP,
    has_fibres,
    has_unknown,
    kind_of,
    takes_every_value,
)
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Occurrence,
    Op,
    Query,
    Term,
)
from streambound.query.ranges import range_of
from streambound.query.scope import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Scope,
    describe,
    is_word,
    keyword_meant,
    location_of,
)
from streambound.query.statement import Block
from streambound.query.windows import END, SESSIONS, START, bucket, called, edge_of, overlapping

# Calls that make several rows of one.
ELEMENTS = frozenset(
    [
        *("EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER", "INLINE", "INLINE_OUTER", "STACK"),
        *(
            "UNNEST",
            "FLATTEN",
            "JSON_TUPLE",
            "GENERATE_SERIES",
            "JSONB_ARRAY_ELEMENTS",
            "JSON_ARRAY_ELEMENTS",
        ),
        *(
            "JSONB_EACH",
            "JSON_EACH",
            "REGEXP_SPLIT_TO_TABLE",
            "STRING_TO_TABLE",
            "ARRAYJOIN",
            "ARRAY_JOIN_ROWS",
        ),
    ]
)
_BY_TYPE: dict[Family, Type] = {
    Family.NUMBER: DOUBLE,
    Family.BOOLEAN: BOOLEAN,
    Family.DATE: DATE,
    Family.TIMESTAMP: TIMESTAMP,
    Family.STRING: STRING,
}
_COMPARISONS: dict[Op, tuple[type[exp.Binary], bool]] = {
    Op.LT: (exp.LT, True),
    Op.GE: (exp.LT, False),
    Op.GT: (exp.GT, True),
    Op.LE: (exp.GT, False),
    Op.EQ: (exp.EQ, True),
    Op.NE: (exp.EQ, False),
}


@dataclass(frozen=True)
class Expressions(Scope):
    """A scope that has derived columns: those of each relation, by name, as they were asked for."""

    made: dict[str, dict[str, Column]] = field(default_factory=dict, compare=False)
    _keys: dict[tuple[str, Any], str] = field(default_factory=dict, compare=False)

    def column(self, attribute: Attribute) -> Column:
        """The column behind an attribute, of the catalog or derived."""
        relation = self.owner(attribute).relation
        derived = self.made.get(relation.name, {}).get(attribute.column)
        return derived if derived is not None else relation.column(attribute.column)

    def attribute(self, node: exp.Column) -> Attribute:
        """The attribute that a column name refers to; of an unsupported type a column of any values."""
        for owner in self.occurrences:
            relation = owner.relation
            if node.table and owner.alias.lower() != node.table.lower():
                continue
            for name, kind in relation.opaque:
                if name.lower() != node.name.lower():
                    continue
                # What is computed may be so from any of the others.
                siblings = [c.name for c in relation.columns] if kind.startswith("computed(") else []
                made = Column(name, STRING, of=(name, *siblings), assumed=True)
                self.made.setdefault(relation.name, {})[name] = made
                return Attribute(owner.alias, name)
        return super().attribute(node)

    def term(self, node: exp.Expr) -> Term:
        """The attribute or constant that ``node`` is; of an expression its derived column.

        Raises:
            QueryError: an unknown or ambiguous name, a malformed literal.
            UnsupportedError: an expression over several tuples or none.
        """
        return self.typed(node, None)

    def typed(self, node: exp.Expr, family: Family | None) -> Term:
        """The same; ``family`` is that of what it is compared with, for functions that are not known."""
        node = node.unnest()
        if (window := called(node)) is not None and window.stamp is not None and not window.session:
            # Windows of one length are the same where they begin at once.
            node = window.value(False, node)
        if isinstance(node, exp.Column) or self._literal(node) is not None:
            return super().term(node)
        attributes = self.attributes(node)
        if len({a.occurrence for a in attributes}) != 1:
            raise self.refused(node)
        return self._derived(node, attributes, family)

    def computes(self, node: exp.Expr) -> bool:
        """Whether an expression is more than a column, a constant, or a timestamp and a constant offset."""
        node = node.unnest()
        if isinstance(node, (exp.Add, exp.Sub)):
            for base, step in ((node.this, node.expression), (node.expression, node.this)):
                if (
                    self._is_stamp(base)
                    and not step.find(exp.Column)
                    and not (base is node.expression and isinstance(node, exp.Sub))
                ):
                    return False
        return not isinstance(node, exp.Column) and self._literal(node) is None

    def constant(self, node: exp.Expr) -> Constant | None:
        """The constant that an expression is; None if it is none."""
        node = node.unnest()
        return self._literal(node)

    def attributes(self, node: exp.Expr) -> tuple[Attribute, ...]:
        """The columns that an expression is over, each once.

        Raises:
            UnsupportedError: it has what is no expression over tuples: an aggregate, a sub-query, the clock.
        """
        for blocker in blockers.of_expression(node, self.sql):
            raise blocker
        for part in node.walk():
            if is_clock(part) or _named(part) in RANDOM:
                what = f"{describe(part, self.sql)}, whose value is another each time,"
                raise blockers.blocker(_named(part), part, self.sql, f"{what} is not supported yet")
            if _named(part) in SESSIONS:
                raise blockers.blocker("a session without GROUP BY", part, self.sql)
            if isinstance(part, exp.UDTF) or _named(part) in ELEMENTS:
                what = f"{describe(part, self.sql)}, which makes several rows of one,"
                raise blockers.blocker(_named(part), part, self.sql, f"{what} is not supported yet")
            if isinstance(part, (exp.Tuple, exp.Star, exp.Placeholder, exp.Parameter, exp.Alias)):
                raise self.refused(node)
            if keyword_meant(part):
                raise self.refused(part)
        columns = [column for column in node.find_all(exp.Column) if not is_word(column)]
        return tuple(dict.fromkeys(map(self.attribute, columns)))

    def refused(self, node: exp.Expr) -> UnsupportedError:
        """The error of an expression that is none over the columns of one tuple."""
        return UnsupportedError(
            f"{describe(node, self.sql)} is not supported yet",
            location=location_of(node, self.sql),
            accepted="columns, constants, and expressions over the columns of one stream",
            fix=keyword_meant(node),
        )

    def _typed(self, node: exp.Cast, text: str) -> Constant | None:
        # Spark has no times of day and would write a timestamp.
        return None if node.to.this in TIMES_OF_DAY else super()._typed(node, text)

    def holds(self, op: Op, left: exp.Expr, right: exp.Expr) -> tuple[Attribute, bool]:
        """A comparison within one tuple as a boolean column, and the value that it has where it holds."""
        kind, value = _COMPARISONS[op]
        node = kind(this=left.copy(), expression=right.copy())
        attribute = self.typed(node, Family.BOOLEAN)
        assert isinstance(attribute, Attribute)
        return attribute, value

    def as_value(self, attribute: Attribute) -> Attribute:
        """A timestamp as a column like any other, for comparisons with those."""
        owner, column = self.owner(attribute), self.column(attribute)
        name = f"(value of {column.name})"
        made = replace(
            column,
            name=name,
            of=column.of or (column.name,),
            bucket=None,
            nullable=False,
            formula=column.formula if column.of else quoted(column.name),
        )
        self.made.setdefault(owner.relation.name, {})[name] = made
        return Attribute(owner.alias, name)

    def _derived(self, node: exp.Expr, of: tuple[Attribute, ...], family: Family | None) -> Attribute:
        owner = self.owner(of[0])
        key = (owner.relation.name, self._key(node))
        names = self.made.setdefault(owner.relation.name, {})
        if key not in self._keys:
            name = self._words_of(node)
            taken = {*names, *(column.name for column in owner.relation.columns)}
            while name in taken:
                name = f"({name})"
            names[name] = self._column(name, node, of, family)
            self._keys[key] = name
        return Attribute(owner.alias, self._keys[key])

    def _key(self, node: exp.Expr) -> Any:
        """What two mentions of one expression have in common: its tree, with all that its calls are given."""
        return _tree(self._resolved(node))

    def _resolved(self, node: exp.Expr) -> exp.Expr:
        plain = exp.Paren(this=node.copy())
        for column in list(plain.find_all(exp.Column)):
            if not is_word(column):
                column.replace(exp.column(exp.to_identifier(self.attribute(column).column, quoted=True)))
        resolved: exp.Expr = plain.this
        return resolved

    def _words_of(self, node: exp.Expr) -> str:
        """An expression in the user's words, without the names of occurrences."""
        span = node.meta.get(SPAN)
        put_in = any(PUT_IN in part.meta for part in node.walk() if part is not node)
        if span is None or MOVED in node.meta or put_in:
            # Not read as it stands, or without a place of its own.
            return self._plainly(node)
        text, end = "", span[0]
        for column in sorted(node.find_all(exp.Column), key=lambda c: span_of(c) or (0, 0)):
            start, after = span_of(column) or (0, 0)
            owner, _, name = self.sql[start:after].rpartition(".")
            if start < end or after > span[1] or name.strip('`"[] ').lower() != column.name.lower():
                return self._plainly(node)
            if not is_word(column) and self.attribute(column).column.lower() != column.name.lower():
                return self._plainly(node)
            text, end = text + self.sql[end:start], start + len(owner) + bool(owner)
        text += self.sql[end : span[1]]
        words = " ".join(text.split())
        # One name is one expression, in all blocks of a statement: no space in a string is lost.
        return f"({words})" if words == text or "'" not in text else self._plainly(node)

    def _plainly(self, node: exp.Expr) -> str:
        plain = self._resolved(node)
        try:
            text = plain.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
        except ValueError:
            # Spark has no words for a part of it.
            text = plain.key
        said = f"({text.replace('`', '')})"
        try:
            same = _tree(parse_one(text, dialect="spark")) == _tree(plain)
        except (SqlglotError, RecursionError):
            same = False
        # Spark's words may leave out what Spark does not have; then they are the name of no one expression.
        return said if same else f"{said[:-1]} /* {crc32(repr(_tree(plain)).encode()):08x} */)"

    def _column(self, name: str, node: exp.Expr, of: tuple[Attribute, ...], family: Family | None) -> Column:
        bounds = range_of(node, self._column_meant)
        inferred = self.kind(node)
        kind = inferred if inferred is not None else _BY_TYPE.get(family, STRING) if family else STRING
        domain = None
        if kind.family is Family.NUMBER:
            kind = INTEGER if bounds.whole else DOUBLE
            domain = bounds.domain if bounds.whole else None
        elif kind.family is Family.STRING and bounds.values and isinstance(bounds.values[0], str):
            domain = bounds.domain
        columns = [self.column(attribute) for attribute in of]
        width = self._width(node)
        if width is not None:
            domain, kind = None, inferred or kind
        slide, cumulative = overlapping(node)
        formula, computed, why = self._formula(node, of[0], kind)
        kind = INTEGER if kind is DOUBLE and computed == INTEGER else kind
        return Column(
            name,
            kind,
            domain,
            bounds.nullable,
            tuple(sorted(set(self._bases(node)))),
            takes_every_value(node, kind, columns),
            width is None and (inferred is None or has_unknown(node)),
            width,
            # As many values as the arguments have together, whatever the function is.
            cardinality=prod(c.cardinality or 0 for c in columns) or None if columns else None,
            edge="" if width is None or any(c.bucket for c in columns) else edge_of(node),
            formula=formula,
            uncomputed=why,
            slide=slide,
            cumulative=cumulative,
            fibres=has_fibres(node, columns),
        )

    def _formula(self, node: exp.Expr, attribute: Attribute, kind: Type) -> tuple[str | None, Type, str]:
        """An expression in Spark SQL, and its type; or None, and why it is not computed."""
        relation = self.owner(attribute).relation
        kinds = {column.name: column.type for column in relation.columns}
        try:
            formula, made = formula_of(self._resolved(node), kinds.get, None if kind is DOUBLE else kind)
        except NotComputed as error:
            return None, kind, error.why
        return (formula, made, "") if made.family is kind.family else (None, kind, "")

    def _bases(self, node: exp.Expr) -> Iterator[str]:
        """The columns that an expression is computed from, with where within them it looks."""
        for part in node.find_all(exp.Column):
            if not is_word(part):
                column = self.column(self.attribute(part))
                path = path_above(part) if column.of in ((), (column.name,)) else ""
                yield from (f"{base}{path}" for base in column.of or (column.name,))

    def _width(self, node: exp.Expr) -> int | None:
        """How far an expression may be from the application timestamp that it rounds; None of others."""
        bucketed = bucket(node)
        if bucketed is None:
            return None
        inner, width = bucketed
        while isinstance(inner, (exp.Paren, exp.TimeStrToTime, exp.TsOrDsToDate, exp.TsOrDsToTimestamp)):
            inner = inner.this
        if isinstance(inner, exp.Cast) and inner.to.this in exp.DataType.TEMPORAL_TYPES:
            inner = inner.this
        if isinstance(inner, exp.Column) and not is_word(inner):
            attribute = self.attribute(inner)
            if self.is_timestamp(attribute):
                return width
            of = self.column(attribute).bucket
            return None if of is None else of + width
        nested = self._width(inner)
        return None if nested is None else nested + width

    def _column_meant(self, column: exp.Column) -> Column | None:
        if is_word(column):
            return None
        attribute = self.attribute(column)
        derived = self.column(attribute)
        return derived if self.nullable(attribute) else replace(derived, nullable=False)

    def kind(self, node: exp.Expr) -> Type | None:
        """The type of an expression; None where it is not known."""
        if isinstance(node, exp.Anonymous) and str(node.this) in (START, END):
            return self.kind(node.expressions[0])
        if (window := called(node)) is not None and window.stamp is not None:
            return self.kind(window.stamp)
        if isinstance(node, exp.Column):
            meant_column = self._column_meant(node)
            return None if meant_column is None else meant_column.type

        def of(column: exp.Column) -> Type | None:
            meant = self._column_meant(column)
            return None if meant is None else meant.type

        return kind_of(node, of)


def _tree(node: exp.Expr) -> Any:
    """An expression as nested tuples that are equal for the same expression only."""
    node = node.unnest()

    def of(part: Any) -> Any:
        if isinstance(part, list):
            return tuple(map(of, part))
        return _tree(part) if isinstance(part, exp.Expr) else (type(part).__name__, str(part))

    args = dict(node.args)
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        args["this"] = node.this.upper()
    given = ((name, of(part)) for name, part in sorted(args.items()) if part not in (None, False, []))
    return (type(node).__name__, *given)


def _named(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    return node.sql_name() if isinstance(node, exp.Func) else ""


def with_columns(scope: Expressions) -> tuple[Occurrence, ...]:
    """The occurrences of a scope, their relations with the derived columns that were asked for."""
    return tuple(_extended(o, scope.made.get(o.relation.name, {}).values()) for o in scope.occurrences)


def _extended(occurrence: Occurrence, columns: Iterable[Column]) -> Occurrence:
    relation = occurrence.relation
    names = {column.name for column in relation.columns}
    further = tuple(column for column in columns if column.name not in names)
    if not further:
        return occurrence
    return replace(occurrence, relation=replace(relation, columns=(*relation.columns, *further)))


def aligned(blocks: tuple[Block, ...], sql: str) -> tuple[Block, ...]:
    """The blocks with each relation the same wherever it occurs: with the derived columns of all.

    Raises:
        UnsupportedError: an expression is of one type here and of another there.
    """
    columns: dict[str, dict[str, Column]] = {}
    selections = [selection for block in blocks for selection in block.selections]
    bases = [base for s in selections for base in (s.base, *(guard.base for guard in s.guards))]
    for occurrence in (o for base in bases for o in base.occurrences):
        by_name = columns.setdefault(occurrence.relation.name, {})
        for column in occurrence.relation.columns:
            if column.of and by_name.setdefault(column.name, column) != column:
                kinds = f"a {by_name[column.name].type.name} and a {column.type.name}"
                what = f"{column.name} is used as {kinds}"
                raise UnsupportedError(what, location=occurrence.location, text=sql)
    if not any(columns.values()):
        return blocks

    def of(base: Query) -> Query:
        made = (_extended(o, columns[o.relation.name].values()) for o in base.occurrences)
        return replace(base, occurrences=tuple(made))

    return tuple(replace(b, selections=tuple(s.with_queries(of) for s in b.selections)) for b in blocks)
