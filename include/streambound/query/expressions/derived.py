"""Expressions over the columns of one tuple, as further columns of its relation.

``LOWER(s.name)`` in a query over ``s`` is a *derived column* of the relation of ``s``. Its value is computed
from a tuple alone, so a query with it is decided as the same query over a relation that has the column. That
is sound for "bounded": what holds of a free column holds of one that is computed. It is exact where nothing
else in the query depends on what the column is computed from (``independent``), and it takes every value of
its range. The same expression of the same columns is one column. Of a function that is not known it is
assumed that its value depends on its arguments alone, and may be any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any
from zlib import crc32

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from streambound.errors import UnsupportedError
from streambound.query.clock import is_clock
from streambound.query.computed import NotComputed, formula_of, quoted
from streambound.query.dialects.grammar import MOVED, SPAN, span_of
from streambound.query.expressions import blockers
from streambound.query.expressions.linear import Sum, linear
from streambound.query.expressions.paths import path_above
from streambound.query.formula import AllOf, AnyOf, all_of, atoms_of
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Filter,
    Join,
    Membership,
    Occurrence,
    Op,
    Relation,
    Term,
)
from streambound.query.operators import Grouping
from streambound.query.ranges import is_pmod, range_of
from streambound.query.scope import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Scope,
    describe,
    is_word,
    keyword_meant,
    place_of,
)
from streambound.query.statement import Block, Selection, Statement
from streambound.query.values import Family, Type, parse_type
from streambound.query.windows import END, SESSIONS, START, bucket, called, edge_of, overlapping

TIMESTAMP, DATE = parse_type("timestamp"), parse_type("date")
# Calls whose value is another each time, and those that make several rows of one.
_RANDOM = frozenset(
    (
        "RAND",
        "RANDOM",
        "RANDN",
        "UUID",
        "GEN_RANDOM_UUID",
        "NEWID",
        "RAND_INTEGER",
        "UNIX_TIMESTAMP",
        "SHUFFLE",
    )
)
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
_TYPES = {
    Family.NUMBER: exp.DType.DOUBLE,
    Family.BOOLEAN: exp.DType.BOOLEAN,
    Family.DATE: exp.DType.DATE,
    Family.TIMESTAMP: exp.DType.TIMESTAMP,
    Family.TIME: exp.DType.TIMESTAMP,
    Family.STRING: exp.DType.VARCHAR,
}
_TIMES = (exp.DType.TIME, exp.DType.TIMETZ)
# Parts of a date and of a timestamp whose range has no value that never occurs.
_CALENDAR = frozenset(("DAY", "MONTH", "QUARTER", "DOY", "DAYOFYEAR", "ISODOW"))
_CLOCK = _CALENDAR | {"HOUR", "MINUTE"}
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
        found = self.made.get(relation.name, {}).get(attribute.column)
        return found if found is not None else relation.column(attribute.column)

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
                others = [c.name for c in relation.columns] if kind.startswith("computed(") else []
                made = Column(name, STRING, of=(name, *others), assumed=True)
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
        while isinstance(node, exp.Paren):
            node = node.this
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
        while isinstance(node, exp.Paren):
            node = node.this
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
        while isinstance(node, exp.Paren):
            node = node.this
        return self._literal(node)

    def attributes(self, node: exp.Expr) -> tuple[Attribute, ...]:
        """The columns that an expression is over, each once.

        Raises:
            UnsupportedError: it has what is no expression over tuples: an aggregate, a sub-query, the clock.
        """
        for found in blockers.of_expression(node, self.sql):
            raise found
        for part in node.walk():
            if is_clock(part) or _named(part) in _RANDOM:
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
            place=place_of(node, self.sql),
            accepted="columns, constants, and expressions over the columns of one stream",
            fix=keyword_meant(node),
        )

    def _typed(self, node: exp.Cast, text: str) -> Constant | None:
        # Spark has no times of day and would write a timestamp.
        return None if node.to.this in _TIMES else super()._typed(node, text)

    def holds(self, op: Op, left: exp.Expr, right: exp.Expr) -> tuple[Attribute, bool]:
        """A comparison within one tuple as a boolean column, and the value that it has where it holds."""
        kind, value = _COMPARISONS[op]
        node = kind(this=left.copy(), expression=right.copy())
        found = self.typed(node, Family.BOOLEAN)
        assert isinstance(found, Attribute)
        return found, value

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
            name = self._text(node)
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
        found: exp.Expr = plain.this
        return found

    def _text(self, node: exp.Expr) -> str:
        """An expression in the user's words, without the names of occurrences."""
        span = node.meta.get(SPAN)
        if span is None or MOVED in node.meta:
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
        text = plain.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
        said = f"({text.replace('`', '')})"
        try:
            same = _tree(parse_one(text, dialect="spark")) == _tree(plain)
        except (SqlglotError, RecursionError):
            same = False
        # Spark's words may leave out what Spark does not have; then they are the name of no one expression.
        return said if same else f"{said[:-1]} /* {crc32(repr(_tree(plain)).encode()):08x} */)"

    def _column(self, name: str, node: exp.Expr, of: tuple[Attribute, ...], family: Family | None) -> Column:
        found = range_of(node, self._column_meant)
        known = self.kind(node)
        kind = known if known is not None else _BY_TYPE.get(family, STRING) if family else STRING
        domain = None
        if kind.family is Family.NUMBER:
            kind = INTEGER if found.whole else DOUBLE
            domain = found.domain if found.whole else None
        elif kind.family is Family.STRING and found.values and isinstance(found.values[0], str):
            domain = found.domain
        columns = [self.column(attribute) for attribute in of]
        width = self._width(node)
        if width is not None:
            domain, kind = None, known or kind
        slide, cumulative = overlapping(node)
        formula, computed = self._formula(node, of[0], kind)
        kind = INTEGER if kind is DOUBLE and computed == INTEGER else kind
        return Column(
            name,
            kind,
            domain,
            found.nullable,
            tuple(sorted(set(self._bases(node)))),
            _onto(node, kind, columns),
            width is None and (known is None or _unknown(node)),
            width,
            # As many values as the arguments have together, whatever the function is.
            cardinality=prod(c.cardinality or 0 for c in columns) or None if columns else None,
            edge="" if width is None or any(c.bucket for c in columns) else edge_of(node),
            formula=formula,
            slide=slide,
            cumulative=cumulative,
            fibres=_fibres(node, columns),
        )

    def _formula(self, node: exp.Expr, one: Attribute, kind: Type) -> tuple[str | None, Type]:
        """An expression over a tuple's columns as Spark SQL, and its type; None if it is not computed."""
        relation = self.owner(one).relation
        kinds = {column.name: column.type for column in relation.columns}
        try:
            found = formula_of(self._resolved(node), kinds.get, None if kind is DOUBLE else kind)
        except NotComputed:
            return None, kind
        return found if found[1].family is kind.family else (None, kind)

    def _bases(self, node: exp.Expr) -> Iterator[str]:
        """The columns that an expression is computed from, with where within them it looks."""
        for part in node.find_all(exp.Column):
            if not is_word(part):
                column = self.column(self.attribute(part))
                path = path_above(part) if column.of in ((), (column.name,)) else ""
                yield from (f"{base}{path}" for base in column.of or (column.name,))

    def _width(self, node: exp.Expr) -> int | None:
        """How far an expression may be from the application timestamp that it rounds; None of others."""
        found = bucket(node)
        if found is None:
            return None
        inner, width = found
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
        found = self.column(attribute)
        return found if self.nullable(attribute) else replace(found, nullable=False)

    def kind(self, node: exp.Expr) -> Type | None:
        """The type of an expression; None where it is not known."""
        if isinstance(node, exp.Anonymous) and str(node.this) in (START, END):
            return self.kind(node.expressions[0])
        if (window := called(node)) is not None and window.stamp is not None:
            return self.kind(window.stamp)
        if isinstance(node, exp.Column):
            found = self._column_meant(node)
            return None if found is None else found.type

        def of(column: exp.Column) -> Type | None:
            known = self._column_meant(column)
            return None if known is None else known.type

        return _kind(node, of)


def type_of_expression(node: exp.Expr, of: Callable[[exp.Column], Type]) -> Type:
    """The type of an expression over columns of known types; a string where it cannot be told."""
    while isinstance(node, exp.Paren):
        node = node.this
    return of(node) if isinstance(node, exp.Column) else _kind(node, of) or STRING


def _kind(node: exp.Expr, of: Callable[[exp.Column], Type | None]) -> Type | None:
    """The type of an expression; None where it is not known."""
    # Loaded here: a query without expressions needs no types of them.
    from sqlglot.optimizer.annotate_types import annotate_types

    root = exp.Paren(this=node.copy())
    for column in list(root.find_all(exp.Column)):
        known = of(column)
        if known is not None:
            dtype = exp.DType.BIGINT if known.step == 1 else _TYPES.get(known.family, exp.DType.VARCHAR)
            dtype = dtype if known.family is Family.NUMBER else _TYPES.get(known.family, exp.DType.VARCHAR)
            column.replace(exp.Cast(this=exp.Null(), to=exp.DataType(this=dtype)))
    try:
        made = annotate_types(root, dialect="spark").this
        found = made.type
        if isinstance(made, exp.Sub) and all(map(_is_moment, (made.this, made.expression))):
            # A length of time, which is the type of no column.
            return None
    except (SqlglotError, KeyError, AttributeError, TypeError, ValueError):
        return None
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        return TIMESTAMP
    if is_pmod(node):
        return DOUBLE
    return None if found is None else _type_of(found)


def _tree(node: exp.Expr) -> Any:
    """An expression as nested tuples that are equal for the same expression only."""
    while isinstance(node, exp.Paren):
        node = node.this

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


def _is_moment(node: exp.Expr) -> bool:
    return node.type is not None and node.type.this in exp.DataType.TEMPORAL_TYPES


def _type_of(found: exp.DataType) -> Type | None:
    if found.this == exp.DType.BOOLEAN:
        return BOOLEAN
    if found.this in exp.DataType.NUMERIC_TYPES:
        return DOUBLE
    if found.this in exp.DataType.TEXT_TYPES:
        return STRING
    if found.this in (exp.DType.DATE, exp.DType.DATE32):
        return DATE
    if found.this in _TIMES:
        # A time of day is no timestamp, and the type of no column.
        return None
    return TIMESTAMP if found.this in exp.DataType.TEMPORAL_TYPES else None


def _onto(node: exp.Expr, kind: Type, columns: list[Column]) -> bool:
    """Whether every value of the range is one of some tuple's.

    Of functions that are not known, and of those that make strings, it is assumed.
    """
    if node.find(exp.Null) or any(c.domain is not None or c.type.family is Family.BOOLEAN for c in columns):
        return False
    if isinstance(node, (exp.Case, exp.If, exp.Coalesce)):
        return False
    whole = all(column.type.step == 1 for column in columns)
    if isinstance(node, exp.IntDiv):
        divisor = node.expression
        return whole and isinstance(node.this, exp.Column) and isinstance(divisor, exp.Literal)
    if isinstance(node, (exp.LT, exp.GT, exp.EQ)):
        summed = linear(node.this).plus(linear(node.expression), -1)
        return _unknown(node) or _free(node, summed, not isinstance(node, exp.EQ))
    if isinstance(node, exp.Like) and isinstance(node.expression, exp.Literal):
        return bool(node.expression.name.strip("%"))
    if isinstance(node, exp.Mod) or is_pmod(node):
        one, divisor = node.expressions if is_pmod(node) else (node.this, node.expression)
        counted = isinstance(divisor, exp.Literal) and divisor.name.strip("0").isdigit()
        return whole and counted and isinstance(one, exp.Column)
    if isinstance(node, exp.Cast):
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if len(columns) != 1:
            return False
        if isinstance(inner, exp.Column):
            return _casts_onto(node.to, columns[0])
        # Functions that make strings, or what is not known, are taken to make any.
        text = replace(columns[0], type=STRING, domain=None)
        return _onto(inner, STRING, columns) and _casts_onto(node.to, text)
    if isinstance(node, exp.Extract):
        parts = _CLOCK if columns[0].type.family is Family.TIMESTAMP else _CALENDAR
        dated = columns[0].type.family in (Family.TIMESTAMP, Family.DATE)
        return dated and isinstance(node.expression, exp.Column) and node.this.name.upper() in parts
    if kind.family in (Family.BOOLEAN, Family.STRING) or isinstance(node, exp.Anonymous):
        return True
    if kind.family is Family.NUMBER:
        dense = all(column.type.step is None for column in columns)
        return (kind is INTEGER or dense) and _free(node, linear(node), kind is DOUBLE)
    return isinstance(node, (exp.Add, exp.Sub)) and _free(node, linear(node), False)


def _fibres(node: exp.Expr, columns: list[Column]) -> bool:
    """Whether each value is that of endless values of the one column, above and below any."""
    while isinstance(node, exp.Paren):
        node = node.this
    if len(columns) != 1 or columns[0].of or columns[0].domain is not None:
        return False
    if isinstance(node, exp.Mod) or is_pmod(node):
        return _onto(node, INTEGER, columns)
    if isinstance(node, exp.Like):
        pattern = node.expression
        plain = isinstance(node.this, exp.Column) and isinstance(pattern, exp.Literal)
        return plain and pattern.name.startswith("%") and bool(pattern.name.strip("%"))
    return isinstance(node, exp.Extract) and _onto(node, INTEGER, columns)


def _unknown(node: exp.Expr) -> bool:
    """Whether an expression has a function that is not known."""
    return any(isinstance(part, exp.Anonymous) and not is_pmod(part) for part in node.walk())


def _casts_onto(to: exp.DataType, column: Column) -> bool:
    """Whether a cast of a column takes every value of its type."""
    source = column.type.family
    if to.expressions:
        return False
    if to.this in (exp.DType.INT, exp.DType.BIGINT, exp.DType.DOUBLE):
        return source is Family.STRING or (source is Family.NUMBER and not column.type.discrete)
    if to.this in exp.DataType.TEXT_TYPES:
        return source is Family.STRING
    if to.this in (exp.DType.DATE, exp.DType.DATE32):
        return source in (Family.STRING, Family.DATE, Family.TIMESTAMP)
    if to.this in exp.DataType.TEMPORAL_TYPES and to.this not in _TIMES:
        return source in (Family.STRING, Family.TIMESTAMP)
    return to.this == exp.DType.BOOLEAN and source in (Family.STRING, Family.NUMBER)


def _free(node: exp.Expr, summed: Sum, scaled: bool) -> bool:
    """Whether a sum has a column that nothing else in it depends on; ``scaled``: with any factor."""
    names = [column.name.lower() for column in node.find_all(exp.Column)]
    return any(
        isinstance(term, exp.Column)
        and names.count(term.name.lower()) == 1
        and factor != 0
        and (scaled or abs(factor) == 1)
        for _, term, factor in summed.terms
    )


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
    """The blocks with each relation the same in all of them: with the derived columns of all.

    Raises:
        UnsupportedError: an expression is of one type here and of another there.
    """
    columns: dict[str, dict[str, Column]] = {}
    for block in blocks:
        for selection in block.selections:
            for occurrence in selection.base.occurrences:
                known = columns.setdefault(occurrence.relation.name, {})
                for column in occurrence.relation.columns:
                    if column.of and known.setdefault(column.name, column) != column:
                        kinds = f"a {known[column.name].type.name} and a {column.type.name}"
                        what = f"{column.name} is used as {kinds}"
                        raise UnsupportedError(what, place=occurrence.place, text=sql)
    if not any(columns.values()):
        return blocks

    def of(selection: Selection) -> Selection:
        made = (_extended(o, columns[o.relation.name].values()) for o in selection.base.occurrences)
        return replace(selection, base=replace(selection.base, occurrences=tuple(made)))

    return tuple(replace(block, selections=tuple(map(of, block.selections))) for block in blocks)


def used(statement: Statement) -> Iterator[tuple[Relation, tuple[Column, ...]]]:
    """The columns of each relation that a statement mentions."""
    relations = {o.relation.name: o.relation for o in statement.occurrences}
    for name, relation in relations.items():
        names = statement.columns(name)
        yield relation, tuple(column for column in relation.columns if column.name in names)


def not_computed(statement: Statement) -> str | None:
    """The first expression of a statement whose values cannot be computed; None if there is none."""
    for block in statement.blocks:
        keys = block.then.keys if isinstance(block.then, Grouping) else None if block.then is None else 0
        for output in (o for s in block.selections for o in s.base.select[:keys]):
            if output.within:
                return f"the expression over several streams at {output.place}"
        for shown in () if block.then is None else block.then.shown:
            if not shown.plain and shown.formula is None:
                return f"the expression that {shown.name} is"
        having = block.then.having if isinstance(block.then, Grouping) else None
        if having is not None and having.formula is None:
            return f"the condition at {having.place}"
    for _, columns in used(statement):
        for column in columns:
            if column.of and column.formula is None:
                return column.name
    return None


def derives(statement: Statement) -> bool:
    """Whether a statement has expressions."""
    return any(column.of for _, columns in used(statement) for column in _valued(columns)) or any(
        output.within for selection in statement.selections for output in selection.base.select
    )


def _valued(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that are no buckets: those are times, which what they are computed from bounds."""
    return tuple(column for column in columns if column.bucket is None)


def independent(statement: Statement) -> bool:
    """Whether the derived columns may be taken for free ones: then verdicts on them are exact."""
    if any(output.within for selection in statement.selections for output in selection.base.select):
        return False
    for relation, mentioned in used(statement):
        columns = _valued(mentioned)
        derived = [column for column in columns if column.of]
        bases = [base for column in columns for base in column.of or (column.name,)]
        nested = any(one.startswith(f"{other}.") for one in bases for other in bases)
        if derived and (nested or len(bases) != len(set(bases)) or not all(c.onto for c in derived)):
            return False
        # An application timestamp is never free: tuples come in its order.
        if relation.timestamp is not None and any(relation.timestamp in column.of for column in derived):
            return False
    return True


def shown_less(statement: Statement) -> Statement:
    """A statement without outputs that depend on one another, and conditions that leave values of every kind.

    If it is unbounded, so is the statement: an answer with fewer columns follows from the whole one, and of
    the values that meet such a condition there are infinitely many, above and below any.
    """
    statement = _without_fibres(statement)
    kept: dict[str, set[str]] = {}
    for relation, columns in used(statement):
        kept[relation.name] = set(_apart(statement, relation, _valued(columns)))
        kept[relation.name] |= {column.name for column in columns if column.bucket is not None}
    dropped: set[int] = set()
    for selection in statement.selections:
        for number, output in enumerate(selection.base.select):
            if isinstance(output.term, Constant):
                continue
            relation = selection.base.occurrence(output.term.occurrence).relation
            if output.within or output.term.column not in kept[relation.name]:
                dropped.add(number)

    def of(selection: Selection) -> Selection:
        select = tuple(o for number, o in enumerate(selection.base.select) if number not in dropped)
        return replace(selection, base=replace(selection.base, select=select))

    return replace(
        statement,
        blocks=tuple(replace(b, selections=tuple(map(of, b.selections))) for b in statement.blocks),
        outputs=tuple(o for number, o in enumerate(statement.outputs) if number not in dropped),
    )


def _apart(statement: Statement, relation: Relation, columns: Sequence[Column]) -> Iterator[str]:
    """The columns that may stay shown, of each set of those that depend on one another one."""
    asked = {
        a.column
        for s in statement.selections
        for atom in s.atoms
        for a in atom.attributes
        if any(o.alias == a.occurrence and o.relation.name == relation.name for o in s.occurrences)
    }
    rest = list(columns)
    while rest:
        group, grown = [rest.pop(0)], True
        while grown:
            near = [one for one in rest if any(_depend(one, other) for other in group)]
            rest, grown = [one for one in rest if one not in near], bool(near)
            group += near
        if len(group) == 1 and group[0].onto and relation.timestamp not in group[0].of:
            yield group[0].name
        elif any(column.name in asked for column in group):
            yield from (column.name for column in group if column.name in asked)
        elif all(not column.of for column in group):
            yield from (column.name for column in group)
        else:
            free = [one for one in group if one.onto and relation.timestamp not in one.of]
            yield from (one.name for one in sorted(free, key=lambda one: len(one.of))[:1])


def _depend(one: Column, other: Column) -> bool:
    """Whether two columns are computed from values of which one lies in the other."""
    pairs = ((a, b) for a in one.of or (one.name,) for b in other.of or (other.name,))
    return any(a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.") for a, b in pairs)


def _without_fibres(statement: Statement) -> Statement:
    """Without filters of columns of which each value is that of endless values of what they are of."""

    def of(selection: Selection) -> Selection:
        base = selection.base
        if not isinstance(selection.formula, AllOf | Filter | Membership):
            return selection
        atoms = selection.formula.parts if isinstance(selection.formula, AllOf) else (selection.formula,)
        plain = [atom for atom in atoms if isinstance(atom, (Filter, Membership))]
        fibres = [a for a in plain if base.column(a.attribute).fibres]
        joined = {a for atom in selection.atoms if isinstance(atom, Join) for a in atom.attributes}
        held = _bound_columns(selection, {a.attribute for a in plain if a not in fibres})
        left = []
        for atom in fibres:
            bases = {Attribute(atom.attribute.occurrence, name) for name in base.column(atom.attribute).of}
            alone = (
                sum(
                    one.attribute.occurrence == atom.attribute.occurrence
                    and bool(
                        bases
                        & {Attribute(one.attribute.occurrence, n) for n in base.column(one.attribute).of}
                    )
                    for one in fibres
                )
                == 1
            )
            if alone and not bases & held and atom.attribute not in joined:
                left.append(atom)
        return replace(selection, formula=all_of(atom for atom in atoms if atom not in left))

    return replace(
        statement,
        blocks=tuple(replace(b, selections=tuple(map(of, b.selections))) for b in statement.blocks),
    )


def _bound_columns(selection: Selection, found: set[Attribute]) -> set[Attribute]:
    """The columns that conditions on single columns bind, themselves or by comparisons; of OR all."""
    loose = [p for p in getattr(selection.formula, "parts", ()) if isinstance(p, (AllOf, AnyOf))]
    found |= {a for part in loose for atom in atoms_of(part) for a in atom.attributes}
    found |= {Attribute(a.occurrence, name) for a in set(found) for name in _bases_of(selection, a)}
    grown = True
    while grown:
        near = {
            a
            for atom in selection.atoms
            if isinstance(atom, Join) and found & set(atom.attributes)
            for a in atom.attributes
        } - found
        found, grown = found | near, bool(near)
    return found


def _bases_of(selection: Selection, attribute: Attribute) -> tuple[str, ...]:
    known = next((o.relation for o in selection.occurrences if o.alias == attribute.occurrence), None)
    return () if known is None else known.column(attribute.column).of


def assumptions(statement: Statement) -> tuple[str, ...]:
    """What is assumed of each expression with functions that are not known."""
    names = (column.name for _, columns in used(statement) for column in columns if column.assumed)
    said = "depends on its arguments alone, and may have any value of its type"
    return tuple(f"{name} {said}" for name in dict.fromkeys(names))
