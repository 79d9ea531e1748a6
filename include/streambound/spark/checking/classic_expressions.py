"""Expressions of an analysed plan as SQL: columns by number, what is not known as a call by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from sqlglot import expressions as exp

from streambound.spark.checking import sql
from streambound.spark.checking.blocks import key_column
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.tree import Node
from streambound.spark.checking.types import field_name, holds, named, scalar, within

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


def expression(node: Node, world: PlanSources) -> exp.Expr:
    """An expression as SQL; of what cannot be decided ``world`` is told."""
    if node.kind in _BINARY:
        left, right = (expression(child, world) for child in node.children)
        return sql.binary(_BINARY[node.kind], left, right)
    if node.kind in _SILENT:
        return expression(node.children[0], world)
    if node.kind in _QUERIES:
        world.refuse(_QUERIES[node.kind])
        return exp.Null()
    made = _MADE.get(node.kind)
    return made(node, world) if made is not None else _call(node, world)


def _literal(node: Node, world: PlanSources) -> exp.Expr:
    kind = type_of(node)
    constant = sql.value(kind, node.args["value"])
    if constant is None:
        # Of nested data, which nothing is compared with by itself.
        return exp.Literal.string(f"a literal of type {kind}")
    return constant


def _cast(node: Node, world: PlanSources) -> exp.Expr:
    (child,) = node.children
    target = type_of(node)
    if child.kind == "Literal" and child.args["value"] is None:
        return exp.Null()
    exact = (
        child.kind in ("AttributeReference", "Cast", "Literal")
        or child.kind in _ADDED
        or child.kind in _SILENT
    )
    narrow = "timestamp" if child.kind in _ADDED or child.kind == "DatetimeSub" else None
    if exact or narrow is not None:
        narrow = narrow or type_of(child)
        if holds(target, narrow):
            return expression(child, world)
    made = sql.cast(expression(child, world), target)
    if scalar(target) and not scalar(narrow or type_of(child)):
        made.meta[sql.TYPE] = target
    return made


def _in(node: Node, world: PlanSources) -> exp.Expr:
    first, *rest = (expression(child, world) for child in node.children)
    return exp.In(this=sql.operand(first), expressions=rest)


def _with(node: Node, world: PlanSources) -> exp.Expr:
    """An expression whose parts have names: each is put in place, and BETWEEN is told as it was written."""
    body, *parts = node.children
    common = {_common(part): expression(part.children[0], world) for part in parts}
    tree = expression(body, world)
    for mark in list(tree.find_all(exp.Placeholder)):
        mark.replace(sql.operand(common[mark.name].copy()))
    if isinstance(tree, exp.And) and len(common) == 1:
        low, high = (
            paren.this if isinstance(paren, exp.Paren) else paren for paren in (tree.this, tree.expression)
        )
        if isinstance(low, exp.GTE) and isinstance(high, exp.LTE) and low.this == high.this:
            return exp.Between(this=low.this, low=low.expression, high=high.expression)
    return tree


def _common(node: Node) -> str:
    return str(node.jvm.id().toString())


def _case(node: Node, world: PlanSources) -> exp.Expr:
    parts = [expression(child, world) for child in node.children]
    default = parts.pop() if len(parts) % 2 else None
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in pairs], default=default)


def _filled(node: Node, world: PlanSources) -> exp.Expr:
    """AtLeastNNonNulls, which ``na.drop`` makes: of all columns each is not NULL."""
    if int(node.args["n"]) != len(node.children):
        return sql.call(
            "atleastnnonnulls", [exp.Literal.number(node.args["n"]), *_given(node.children, world)]
        )
    first: exp.Expr
    first, *rest = (
        exp.Not(this=exp.Is(this=sql.operand(item), expression=exp.Null()))
        for item in _given(node.children, world)
    )
    for each in rest:
        first = exp.And(this=first, expression=each)
    return first


def _given(nodes: Iterable[Node], world: PlanSources) -> list[exp.Expr]:
    return [expression(node, world) for node in nodes]


def _aggregate(node: Node, world: PlanSources) -> exp.Expr:
    function = node.children[0]
    if function.kind in _PYTHON_AGGREGATES:
        name = _function_name(function)
        world.refuse(
            f"the aggregate {name}", f"{name} is code, which cannot be seen: what it keeps is not known"
        )
    arguments = [expression(child, world) for child in function.children]
    if function.kind == "Count" and all(isinstance(argument, exp.Literal) for argument in arguments):
        arguments = [exp.Star()]
    if node.args.get("isDistinct"):
        arguments = [exp.Distinct(expressions=arguments)]
    made = sql.call(_function_name(function), arguments)
    if filters := node.several("filter"):
        return exp.Filter(this=made, expression=exp.Where(this=expression(filters[0], world)))
    return made


def _field(node: Node, world: PlanSources) -> exp.Expr:
    (child,) = node.children
    kind = type_of(child)
    inner = expression(child, world)
    position = int(node.args["ordinal"])
    made = exp.Dot(this=inner, expression=exp.to_identifier(field_name(kind, position), quoted=True))
    if inner.meta.get(sql.WINDOW) is None and (field := within(kind, position)) is not None:
        made.meta[sql.TYPE] = field
    return made


def _struct(node: Node, world: PlanSources) -> exp.Expr:
    window = _window(node, world)
    return window or sql.call("named_struct", [expression(child, world) for child in node.children])


def _window(node: Node, world: PlanSources) -> exp.Expr | None:
    """The window of time that Spark has written as a struct of its start and its end."""
    stamps = list(_find(node, "PreciseTimestampConversion"))
    if not stamps or len(node.children) != 4:
        return None
    innermost = next(stamp for stamp in stamps if not list(_below(stamp, "PreciseTimestampConversion")))
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
        (item for item in _find(end, "Literal") if type_of(item).startswith(("string", "interval"))), None
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
    return [item for child in node.children for item in _find(child, kind)]


def _udf(node: Node, world: PlanSources) -> exp.Expr:
    name = _function_name(node)
    if node.args.get("udfDeterministic") is False:
        world.refuse(
            f"the function {name}",
            f"{name} is code, and said to answer another value each time: it is not supported",
        )
    return sql.call(name, [expression(child, world) for child in node.children])


def _over(node: Node, world: PlanSources) -> exp.Expr:
    function, spec = node.children
    order = [
        sql.ordered(
            expression(child.children[0], world),
            _is(child, "direction", "Descending"),
            _is(child, "nullOrdering", "NullsFirst"),
        )
        for child in _children(spec, "orderSpec")
    ]
    partition = [expression(child, world) for child in _children(spec, "partitionSpec")]
    (frame,) = _children(spec, "frameSpecification")
    made = None
    if frame.kind == "SpecifiedWindowFrame" and (order or not _whole(frame)):
        kind = "ROWS" if _is(frame, "frameType", "RowFrame") else "RANGE"
        start, end = (
            _edge(child, world, first) for child, first in zip(frame.children, (True, False), strict=True)
        )
        made = sql.Frame(kind, start, end)
    return sql.over(expression(function, world), partition, order, made)


def _children(node: Node, name: str) -> list[Node]:
    """The children that an argument is: JSON has their numbers."""
    value = node.args[name]
    return [node.children[position] for position in (value if isinstance(value, list) else [value])]


def _is(node: Node, name: str, word: str) -> bool:
    """Whether an argument is a word of Spark's."""
    return f".{word}" in str(node.args[name])


def _whole(frame: Node) -> bool:
    """Whether a frame is all rows, which is what there is without an order."""
    return [child.kind.rstrip("$") for child in frame.children] == [
        "UnboundedPreceding",
        "UnboundedFollowing",
    ]


def _edge(node: Node, world: PlanSources, first: bool) -> sql.Edge:
    kind = node.kind.rstrip("$")
    if kind == "CurrentRow":
        return sql.CURRENT
    if kind.startswith("Unbounded"):
        return sql.UNBOUNDED_BEFORE if first else sql.UNBOUNDED_AFTER
    return sql.edge(expression(node, world))


def _call(node: Node, world: PlanSources) -> exp.Expr:
    """Any other function: by its name in SQL, over what it was given."""
    name = _function_name(node)
    given: list[Node] = list(node.children)
    if "replacement" in node.args:
        # What it was given stands beside what Spark computes instead. In a self-join Spark gives the columns
        # of one side new numbers in the latter alone.
        inner_nodes = [item for part, nodes in node.parts() if part != "replacement" for item in nodes]
        if {column.key for column in _columns(inner_nodes)} <= {column.key for column in _columns(given)}:
            given = inner_nodes
        else:
            return expression(given[0], world)
    arguments: list[exp.Expr | str | None] = [expression(item, world) for item in given]
    if isinstance(unit := node.args.get("unit"), str):
        arguments.insert(0, exp.var(unit))
    made = sql.call(name, arguments)
    if any(item.kind in _HOLDING and not scalar(type_of(item)) for item in given):
        made.meta[sql.TYPE] = type_of(node)
    return made


def _columns(nodes: Iterable[Node]) -> list[Node]:
    return [item for node in nodes for item in _find(node, "AttributeReference")]


def _item(node: Node, world: PlanSources) -> exp.Expr:
    inner, ordinal = (expression(child, world) for child in node.children)
    made = exp.Bracket(this=inner, expressions=[ordinal])
    made.meta[sql.TYPE] = type_of(node)
    return made


def _function_name(node: Node) -> str:
    if node.kind in ("PythonUDF", "PythonUDAF", "ScalaUDF", *_PYTHON_AGGREGATES):
        name = node.args.get("name") or node.args.get("udfName") or "udf"
        name = name[0] if isinstance(name, list) else name
        return re.sub(r"\W+", "_", str(name)).strip("_") or "udf"
    return str(node.jvm.prettyName())


_MADE: dict[str, Callable[[Node, PlanSources], exp.Expr]] = {
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
