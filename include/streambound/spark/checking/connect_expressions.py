"""Expressions that a Connect client sends, as SQL: names as written, texts as sqlglot reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from streambound.query.scope import is_word
from streambound.spark.checking import sql
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.tree import said
from streambound.spark.checking.types import scalar, within

# What Spark calls a column by its parts: a column, and the fields within it that follow.
Resolve = Callable[[Sequence[str], int | None], exp.Expr]
_LITERALS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
}
_DESCENDING, _NULLS_FIRST, _ROWS = 2, 1, 1
# Kinds of a Python function that takes many rows for one value.
_AGGREGATES = (202, 203, 252)


class Sent:
    """Expressions over the columns that ``resolve`` knows; ``kind`` says the type of one as it was sent."""

    def __init__(self, world: PlanSources, resolve: Resolve, kind: Callable[[Any], str]) -> None:
        self._world, self._resolve, self._kind = world, resolve, kind

    def of(self, sent: Any) -> exp.Expr:
        """An expression as SQL; of what cannot be decided the world is told."""
        form = sent.WhichOneof("expr_type")
        made = getattr(self, f"_{form}", None)
        if made is None:
            self._world.refuse(f"the expression {str(form).replace('_', ' ')}", None, origin_of(sent))
            return exp.Null()
        value: exp.Expr = made(getattr(sent, form))
        if isinstance(value, (exp.Dot, exp.Bracket)) and sql.TYPE not in value.meta:
            value.meta[sql.TYPE] = self._kind(sent)
        return value

    def _unresolved_attribute(self, sent: Any) -> exp.Expr:
        from pyspark.sql.connect.types import parse_attr_name

        parts = parse_attr_name(sent.unparsed_identifier) or [sent.unparsed_identifier]
        return self._resolve(parts, sent.plan_id if sent.HasField("plan_id") else None)

    def _unresolved_star(self, sent: Any) -> exp.Expr:
        return exp.Star()

    def _alias(self, sent: Any) -> exp.Expr:
        return self.of(sent.expr)

    def _sort_order(self, sent: Any) -> exp.Expr:
        return self.of(sent.child)

    def _literal(self, sent: Any) -> exp.Expr:
        form = sent.WhichOneof("literal_type")
        value = getattr(sent, form)
        if form == "null":
            return exp.Null()
        if form == "boolean":
            return exp.true() if value else exp.false()
        if form == "decimal":
            return exp.Literal.number(value.value)
        if form == "date":
            return sql.cast(exp.Literal.string(sql.day(value)), "date")
        if form in ("timestamp", "timestamp_ntz"):
            return sql.cast(exp.Literal.string(sql.moment(value)), "timestamp")
        if form == "day_time_interval":
            return sql.interval(value)
        if form == "year_month_interval":
            return sql.months(value)
        node = sql.value(_LITERALS.get(form, form), str(value))
        return node if node is not None else exp.Literal.string(f"a literal of type {form}")

    def _cast(self, sent: Any) -> exp.Expr:
        from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

        kind = sent.type_str or proto_schema_to_pyspark_data_type(sent.type).simpleString()
        made = sql.cast(self.of(sent.expr), kind)
        if (
            scalar(kind)
            and sent.expr.WhichOneof("expr_type") != "literal"
            and not scalar(self._kind(sent.expr))
        ):
            made.meta[sql.TYPE] = kind
        return made

    def _unresolved_function(self, sent: Any) -> exp.Expr:
        name = sent.function_name
        given = [self.of(argument) for argument in sent.arguments]
        if name.lower() == "count" and all(isinstance(node, exp.Literal) for node in given):
            given = [exp.Star()]
        if sent.is_distinct:
            given = [exp.Distinct(expressions=given)]
        if (kind := sql.OPERATORS.get(name.lower())) is not None and len(given) == 2:
            if any(isinstance(node, exp.Interval) for node in given) and kind in (exp.Add, exp.Sub):
                return sql.added(given[0], given[1], 1 if kind is exp.Add else -1)
            return sql.binary(kind, *given)
        return _FUNCTIONS[name.lower()](given) if name.lower() in _FUNCTIONS else sql.call(name, given)

    def _call_function(self, sent: Any) -> exp.Expr:
        return sql.call(sent.function_name, [self.of(argument) for argument in sent.arguments])

    def _expression_string(self, sent: Any) -> exp.Expr:
        return self.text(sent.expression)

    def _unresolved_extract_value(self, sent: Any) -> exp.Expr:
        inner = self.of(sent.child)
        named = sent.extraction.literal.string if sent.extraction.HasField("literal") else ""
        if named:
            return field_of(inner, named, None)
        return exp.Bracket(this=inner, expressions=[self.of(sent.extraction)])

    def _common_inline_user_defined_function(self, sent: Any) -> exp.Expr:
        name = "".join(c if c.isalnum() else "_" for c in sent.function_name).strip("_") or "udf"
        if sent.python_udf.eval_type in _AGGREGATES:
            message = f"{name} is code, which cannot be seen: what it keeps is not known"
            self._world.refuse(f"the aggregate {name}", message)
        elif not sent.deterministic:
            message = f"{name} is code, and said to answer another value each time: it is not supported"
            self._world.refuse(f"the function {name}", message)
        return sql.call(name, [self.of(argument) for argument in sent.arguments])

    def _window(self, sent: Any) -> exp.Expr:
        order = [
            sql.ordered(
                self.of(item.child), item.direction == _DESCENDING, item.null_ordering == _NULLS_FIRST
            )
            for item in sent.order_spec
        ]
        partition = [self.of(item) for item in sent.partition_spec]
        frame = None
        if sent.HasField("frame_spec"):
            kind = "ROWS" if sent.frame_spec.frame_type == _ROWS else "RANGE"
            start = self._edge(sent.frame_spec.lower, sql.UNBOUNDED_BEFORE)
            frame = sql.Frame(kind, start, self._edge(sent.frame_spec.upper, sql.UNBOUNDED_AFTER))
        return sql.over(self.of(sent.window_function), partition, order, frame)

    def _edge(self, sent: Any, unbounded: sql.Edge) -> sql.Edge:
        if sent.HasField("value"):
            return sql.edge(self.of(sent.value))
        return unbounded if sent.unbounded else sql.CURRENT

    def _subquery_expression(self, sent: Any) -> exp.Expr:
        self._world.refuse("a sub-query in an expression")
        return exp.Null()

    def _lambda_function(self, sent: Any) -> exp.Expr:
        return sql.call("lambda", [self.of(sent.function)])

    def _unresolved_named_lambda_variable(self, sent: Any) -> exp.Expr:
        return exp.Literal.string(".".join(sent.name_parts))

    def text(self, written: str) -> exp.Expr:
        """An expression that was sent as text, with its alias if it has one."""
        try:
            root = exp.Paren(this=parse_one(written, dialect="spark"))
        except SqlglotError:
            self._world.refuse("an expression that is not understood", f"{written} is not understood")
            return exp.Null()
        if root.find(exp.Query):
            self._world.refuse("a sub-query in an expression")
            return exp.Null()
        for column in list(root.find_all(exp.Column)):
            if isinstance(column.this, exp.Star) or (is_word(column) and not column.args.get("table")):
                continue
            column.replace(self._resolve([part.name for part in column.parts], None))
        for call in root.find_all(exp.Anonymous):
            if call.name.lower() in ("window", "session_window"):
                call.meta[sql.WINDOW] = True
        made: exp.Expr = root.this
        made.pop()
        return made


def field_of(value: exp.Expr, name: str, kind: str | None) -> exp.Expr:
    """A field of a struct; ``kind`` is the type of the struct, if it is known."""
    made = exp.Dot(this=value, expression=exp.to_identifier(name, quoted=True))
    container = kind or value.meta.get(sql.TYPE)
    if container is not None and (field := within(container, name)) is not None:
        made.meta[sql.TYPE] = field
    return made


def origin_of(sent: Any) -> str | None:
    """Where in the program an expression was written, if the client has kept it."""
    origin = sent.common.origin.python_origin
    return said(origin.fragment, origin.call_site) if origin.call_site else None


def _null(given: list[exp.Expr]) -> exp.Expr:
    return exp.Is(this=sql.operand(given[0]), expression=exp.Null())


def _case(given: list[exp.Expr]) -> exp.Expr:
    default = given.pop() if len(given) % 2 else None
    pairs = zip(given[::2], given[1::2], strict=True)
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in pairs], default=default)


def _window(given: list[exp.Expr]) -> exp.Expr:
    made = sql.call("window", given)
    made.meta[sql.WINDOW] = True
    return made


def _session(given: list[exp.Expr]) -> exp.Expr:
    made = sql.call("session_window", given)
    made.meta[sql.WINDOW] = True
    return made


_FUNCTIONS: dict[str, Callable[[list[exp.Expr]], exp.Expr]] = {
    "not": lambda given: sql.negated(given[0]),
    "!": lambda given: sql.negated(given[0]),
    "isnull": _null,
    "isnotnull": lambda given: exp.Not(this=_null(given)),
    "negative": lambda given: exp.Neg(this=sql.operand(given[0])),
    "in": lambda given: exp.In(this=sql.operand(given[0]), expressions=given[1:]),
    "like": lambda given: sql.binary(exp.Like, given[0], given[1]),
    "ilike": lambda given: sql.binary(exp.ILike, given[0], given[1]),
    "rlike": lambda given: sql.binary(exp.RegexpLike, given[0], given[1]),
    "when": _case,
    "window": _window,
    "session_window": _session,
}
