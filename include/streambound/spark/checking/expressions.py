"""Expressions of an analysed plan as SQL: columns by number, what is not known as a call by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from sqlglot import expressions as exp

from streambound.spark.checking import sql
from streambound.spark.checking.blocks import key_column
from streambound.spark.checking.tree import Node
from streambound.spark.checking.types import field_name, holds, named, scalar, within
from streambound.spark.checking.world import World

_BINARY: dict[str, type[exp.Binary]] = {
    "EqualTo": exp.EQ,
    "EqualNullSafe": exp.NullSafeEQ,
    "LessThan": exp.LT,
    "LessThanOrEqual": exp.LTE,
    "GreaterThan": exp.GT,
    "GreaterThanOrEqual": exp.GTE,
    "And": exp.And,
    "Or": exp.Or,
    "Add": exp.Add,
    "Subtract": exp.Sub,
    "Multiply": exp.Mul,
    "Divide": exp.Div,
    "Remainder": exp.Mod,
    "IntegralDivide": exp.IntDiv,
    "BitwiseAnd": exp.BitwiseAnd,
    "BitwiseOr": exp.BitwiseOr,
    "BitwiseXor": exp.BitwiseXor,
    "SubtractTimestamps": exp.Sub,
    "SubtractDates": exp.Sub,
    "Like": exp.Like,
    "ILike": exp.ILike,
    "RLike": exp.RegexpLike,
}
_ADDED = ("TimestampAddInterval", "TimeAdd", "DateAddInterval", "TimestampAddYMInterval", "DateAddYMInterval")
_SILENT = ("KnownNullable", "KnownNotNull", "PromotePrecision", "UpCast", "TempResolvedColumn", "Alias")
_QUERIES = {
    "Exists": "EXISTS (a sub-query)",
    "ListQuery": "IN (SELECT ...)",
    "InSubquery": "IN (SELECT ...)",
    "ScalarSubquery": "a sub-query in an expression",
    "LateralSubquery": "a lateral sub-query",
}
# What may hold nested data.
_HOLDING = ("AttributeReference", "GetStructField", "GetArrayItem", "GetMapValue", "JsonToStructs", "Cast")
_PYTHON_AGGREGATES = ("PythonUDAF", "ScalaAggregator", "ScalaUDAF")


def type_of(node: Node) -> str:
    """The type of an expression, as SQL writes it."""
    if node.kind in ("AttributeReference", "Cast", "Literal"):
        return named(node.args["dataType"])
    if node.kind in _SILENT:
        return type_of(node.children[0])
    return named(json.loads(node.jvm.dataType().json()))


def expression(node: Node, world: World) -> exp.Expr:
    """An expression as SQL; of what cannot be decided ``world`` is told."""
    if node.kind in _BINARY:
        left, right = (expression(one, world) for one in node.children)
        return sql.binary(_BINARY[node.kind], left, right)
    if node.kind in _SILENT:
        return expression(node.children[0], world)
    if node.kind in _QUERIES:
        world.refuse(_QUERIES[node.kind])
        return exp.Null()
    made = _MADE.get(node.kind)
    return made(node, world) if made is not None else _call(node, world)


def _literal(node: Node, world: World) -> exp.Expr:
    kind = type_of(node)
    found_node = sql.value(kind, node.args["value"])
    if found_node is None:
        # Of nested data, which nothing is compared with by itself.
        return exp.Literal.string(f"a literal of type {kind}")
    return found_node


def _cast(node: Node, world: World) -> exp.Expr:
    (child,) = node.children
    wide = type_of(node)
    if child.kind == "Literal" and child.args["value"] is None:
        return exp.Null()
    known = (
        child.kind in ("AttributeReference", "Cast", "Literal")
        or child.kind in _ADDED
        or child.kind in _SILENT
    )
    narrow = "timestamp" if child.kind in _ADDED or child.kind == "DatetimeSub" else None
    if known or narrow is not None:
        narrow = narrow or type_of(child)
        if holds(wide, narrow):
            return expression(child, world)
    made = sql.cast(expression(child, world), wide)
    if scalar(wide) and not scalar(narrow or type_of(child)):
        made.meta[sql.TYPE] = wide
    return made


def _in(node: Node, world: World) -> exp.Expr:
    first, *others = (expression(one, world) for one in node.children)
    return exp.In(this=sql.operand(first), expressions=others)


def _with(node: Node, world: World) -> exp.Expr:
    """An expression whose parts have names: each is put in place, and BETWEEN is told as it was written."""
    body, *parts = node.children
    held = {_common(one): expression(one.children[0], world) for one in parts}
    found = expression(body, world)
    for mark in list(found.find_all(exp.Placeholder)):
        mark.replace(sql.operand(held[mark.name].copy()))
    if isinstance(found, exp.And) and len(held) == 1:
        low, high = (
            paren.this if isinstance(paren, exp.Paren) else paren for paren in (found.this, found.expression)
        )
        if isinstance(low, exp.GTE) and isinstance(high, exp.LTE) and low.this == high.this:
            return exp.Between(this=low.this, low=low.expression, high=high.expression)
    return found


def _common(node: Node) -> str:
    return str(node.jvm.id().toString())


def _case(node: Node, world: World) -> exp.Expr:
    parts = [expression(one, world) for one in node.children]
    default = parts.pop() if len(parts) % 2 else None
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in pairs], default=default)


def _filled(node: Node, world: World) -> exp.Expr:
    """AtLeastNNonNulls, which ``na.drop`` makes: of all columns each is not NULL."""
    if int(node.args["n"]) != len(node.children):
        return sql.call(
            "atleastnnonnulls", [exp.Literal.number(node.args["n"]), *_given(node.children, world)]
        )
    first: exp.Expr
    first, *others = (
        exp.Not(this=exp.Is(this=sql.operand(one), expression=exp.Null()))
        for one in _given(node.children, world)
    )
    for one in others:
        first = exp.And(this=first, expression=one)
    return first


def _given(nodes: Iterable[Node], world: World) -> list[exp.Expr]:
    return [expression(one, world) for one in nodes]


def _aggregate(node: Node, world: World) -> exp.Expr:
    function = node.children[0]
    if function.kind in _PYTHON_AGGREGATES:
        name = _function_name(function)
        world.refuse(
            f"the aggregate {name}", f"{name} is code, which cannot be seen: what it keeps is not known"
        )
    arguments = [expression(one, world) for one in function.children]
    if function.kind == "Count" and all(isinstance(one, exp.Literal) for one in arguments):
        arguments = [exp.Star()]
    if node.args.get("isDistinct"):
        arguments = [exp.Distinct(expressions=arguments)]
    made = sql.call(_function_name(function), arguments)
    if filters := node.several("filter"):
        return exp.Filter(this=made, expression=exp.Where(this=expression(filters[0], world)))
    return made


def _field(node: Node, world: World) -> exp.Expr:
    (child,) = node.children
    kind = type_of(child)
    inner = expression(child, world)
    place = int(node.args["ordinal"])
    made = exp.Dot(this=inner, expression=exp.to_identifier(field_name(kind, place), quoted=True))
    if inner.meta.get(sql.WINDOW) is None and (found := within(kind, place)) is not None:
        made.meta[sql.TYPE] = found
    return made


def _struct(node: Node, world: World) -> exp.Expr:
    found_node = _window(node, world)
    return found_node or sql.call("named_struct", [expression(one, world) for one in node.children])


def _window(node: Node, world: World) -> exp.Expr | None:
    """The window of time that Spark has written as a struct of its start and its end."""
    stamps = list(_find(node, "PreciseTimestampConversion"))
    if not stamps or len(node.children) != 4:
        return None
    innermost = next(one for one in stamps if not list(_below(one, "PreciseTimestampConversion")))
    start, end = node.children[1], node.children[3]
    while start.kind in ("PreciseTimestampConversion", *_SILENT):
        start = start.children[0]
    while end.kind in ("PreciseTimestampConversion", *_SILENT):
        end = end.children[0]
    remainders = list(_find(end, "Remainder"))
    if end.kind == "Add" and remainders:
        made = expression(innermost.children[0], world)
        size, slide = int(end.children[1].args["value"]), int(remainders[0].children[1].args["value"])
        return sql.window(made, sql.length(size), sql.length(slide))
    gap = next(
        (one for one in _find(end, "Literal") if type_of(one).startswith(("string", "interval"))), None
    )
    made = sql.call("session_window", [expression(innermost.children[0], world), _gap(gap)])
    made.meta[sql.WINDOW] = True
    return made


def _gap(gap: Node | None) -> str:
    text = "" if gap is None else str(gap.args["value"])
    return sql.length(int(text)) if text.isdigit() else text or "a gap of each row"


def _find(node: Node, kind: str) -> list[Node]:
    nodes = [node] if node.kind == kind else []
    return [*nodes, *_below(node, kind)]


def _below(node: Node, kind: str) -> list[Node]:
    return [one for child in node.children for one in _find(child, kind)]


def _udf(node: Node, world: World) -> exp.Expr:
    name = _function_name(node)
    if node.args.get("udfDeterministic") is False:
        world.refuse(
            f"the function {name}",
            f"{name} is code, and said to answer another value each time: it is not supported",
        )
    return sql.call(name, [expression(one, world) for one in node.children])


def _over(node: Node, world: World) -> exp.Expr:
    function, spec = node.children
    order = [
        sql.ordered(
            expression(one.children[0], world),
            _is(one, "direction", "Descending"),
            _is(one, "nullOrdering", "NullsFirst"),
        )
        for one in _children(spec, "orderSpec")
    ]
    partition = [expression(one, world) for one in _children(spec, "partitionSpec")]
    (frame,) = _children(spec, "frameSpecification")
    made = None
    if frame.kind == "SpecifiedWindowFrame" and (order or not _whole(frame)):
        kind = "ROWS" if _is(frame, "frameType", "RowFrame") else "RANGE"
        start, end = (
            _edge(one, world, first) for one, first in zip(frame.children, (True, False), strict=True)
        )
        made = sql.Frame(kind, start, end)
    return sql.over(expression(function, world), partition, order, made)


def _children(node: Node, name: str) -> list[Node]:
    """The children that an argument is: JSON has their numbers."""
    value = node.args[name]
    return [node.children[place] for place in (value if isinstance(value, list) else [value])]


def _is(node: Node, name: str, word: str) -> bool:
    """Whether an argument is a word of Spark's."""
    return f".{word}" in str(node.args[name])


def _whole(frame: Node) -> bool:
    """Whether a frame is all rows, which is what there is without an order."""
    return [one.kind.rstrip("$") for one in frame.children] == ["UnboundedPreceding", "UnboundedFollowing"]


def _edge(node: Node, world: World, first: bool) -> sql.Edge:
    kind = node.kind.rstrip("$")
    if kind == "CurrentRow":
        return sql.CURRENT
    if kind.startswith("Unbounded"):
        return sql.UNBOUNDED_BEFORE if first else sql.UNBOUNDED_AFTER
    return sql.edge(expression(node, world))


def _call(node: Node, world: World) -> exp.Expr:
    """Any other function: by its name in SQL, over what it was given."""
    name = _function_name(node)
    given: list[Node] = list(node.children)
    if "replacement" in node.args:
        # What it was given stands beside what Spark computes instead. In a self-join Spark gives the columns
        # of one side new numbers in the latter alone.
        told = [one for part, nodes in node.parts() if part != "replacement" for one in nodes]
        if {one.key for one in _columns(told)} <= {one.key for one in _columns(given)}:
            given = told
        else:
            return expression(given[0], world)
    arguments: list[exp.Expr | str | None] = [expression(one, world) for one in given]
    if isinstance(unit := node.args.get("unit"), str):
        arguments.insert(0, exp.var(unit))
    made = sql.call(name, arguments)
    if any(one.kind in _HOLDING and not scalar(type_of(one)) for one in given):
        made.meta[sql.TYPE] = type_of(node)
    return made


def _columns(nodes: Iterable[Node]) -> list[Node]:
    return [one for node in nodes for one in _find(node, "AttributeReference")]


def _item(node: Node, world: World) -> exp.Expr:
    inner, place = (expression(one, world) for one in node.children)
    made = exp.Bracket(this=inner, expressions=[place])
    made.meta[sql.TYPE] = type_of(node)
    return made


def _function_name(node: Node) -> str:
    if node.kind in ("PythonUDF", "PythonUDAF", "ScalaUDF", *_PYTHON_AGGREGATES):
        found = node.args.get("name") or node.args.get("udfName") or "udf"
        found = found[0] if isinstance(found, list) else found
        return re.sub(r"\W+", "_", str(found)).strip("_") or "udf"
    return str(node.jvm.prettyName())


_MADE: dict[str, Callable[[Node, World], exp.Expr]] = {
    "AttributeReference": lambda node, world: key_column(node.key),
    "OuterReference": lambda node, world: expression(node.children[0], world),
    "Literal": _literal,
    "Cast": _cast,
    "Not": lambda node, world: sql.negated(expression(node.children[0], world)),
    "IsNull": lambda node, world: exp.Is(
        this=sql.operand(expression(node.children[0], world)), expression=exp.Null()
    ),
    "IsNotNull": lambda node, world: exp.Not(
        this=exp.Is(this=sql.operand(expression(node.children[0], world)), expression=exp.Null())
    ),
    "UnaryMinus": lambda node, world: exp.Neg(this=sql.operand(expression(node.children[0], world))),
    "In": _in,
    "Between": lambda node, world: expression(node.children[0], world),
    "With": _with,
    "CommonExpressionRef": lambda node, world: exp.Placeholder(this=_common(node)),
    "CaseWhen": _case,
    "AtLeastNNonNulls": _filled,
    "AggregateExpression": _aggregate,
    "GetStructField": _field,
    "GetArrayItem": _item,
    "GetMapValue": _item,
    "CreateNamedStruct": _struct,
    "PythonUDF": _udf,
    "ScalaUDF": _udf,
    "WindowExpression": _over,
    "LambdaFunction": lambda node, world: sql.call("lambda", [expression(node.children[0], world)]),
    "NamedLambdaVariable": lambda node, world: exp.Literal.string(str(node.args.get("name"))),
    "DatetimeSub": lambda node, world: expression(node.children[0], world),
    **dict.fromkeys(
        _ADDED,
        lambda node, world: sql.added(
            expression(node.children[0], world), expression(node.children[1], world)
        ),
    ),
}
