"""Pieces of SQL that the readers of plans write, and what lies within nested data."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import expressions as exp

from streambound.query.differences import microseconds
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.types import scalar

# A side of a frame: a length, or which row, and on which side it lies.
Edge = tuple[exp.Expr | str, str | None]
UNBOUNDED_BEFORE: Edge = ("UNBOUNDED", "PRECEDING")
UNBOUNDED_AFTER: Edge = ("UNBOUNDED", "FOLLOWING")
CURRENT: Edge = ("CURRENT ROW", None)
# Functions that make several rows of one.
GENERATORS = ("explode", "posexplode")
# Functions that have a frame of their own.
RANKS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")
# Marks in the ``meta`` of a node: the type of a value that lies within nested data; a window of time.
TYPE, WINDOW = "spark_type", "spark_window"
OPERATORS: dict[str, type[exp.Binary]] = {
    "==": exp.EQ,
    "=": exp.EQ,
    "<=>": exp.NullSafeEQ,
    "!=": exp.NEQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "div": exp.IntDiv,
    "and": exp.And,
    "or": exp.Or,
    "&": exp.BitwiseAnd,
    "|": exp.BitwiseOr,
    "^": exp.BitwiseXor,
}
_UNITS = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))
_LENGTHS = {"microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000}
_LENGTHS |= {"hour": 3_600_000_000, "day": 86_400_000_000, "week": 604_800_000_000}
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Frame:
    """The rows around a row that a window function is over; ``kind`` is ROWS or RANGE."""

    kind: str
    start: Edge
    end: Edge


def operand(node: exp.Expr) -> exp.Expr:
    """An expression as a side of an operator."""
    loose = (exp.Binary, exp.Not, exp.Between, exp.In, exp.Is, exp.Neg, exp.Case)
    return exp.Paren(this=node) if isinstance(node, loose) and not isinstance(node, exp.Dot) else node


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """An operator between two expressions."""
    return kind(this=operand(left), expression=operand(right))


def negated(node: exp.Expr) -> exp.Expr:
    """NOT."""
    if isinstance(node, exp.EQ):
        return exp.NEQ(this=node.this, expression=node.expression)
    return exp.Not(this=operand(node))


def added(start: exp.Expr, length: exp.Expr, sign: int = 1) -> exp.Expr:
    """A moment and an interval; of an interval below zero its opposite is taken away."""
    length = length.unnest()
    if isinstance(length, exp.Binary) and (span := microseconds(length)) is not None:
        length = interval(int(span))
    if isinstance(length, exp.Neg):
        return added(start, length.this, -sign)
    if isinstance(length, exp.Interval) and length.this.name.startswith("-"):
        length = exp.Interval(this=exp.Literal.string(length.this.name[1:]), unit=length.args.get("unit"))
        sign = -sign
    return binary(exp.Add if sign > 0 else exp.Sub, start, length)


def call(name: str, arguments: Iterable[exp.Expr | str | None]) -> exp.Expr:
    """A call of a function by name."""
    given = [
        exp.Literal.string(argument) if isinstance(argument, str) else argument
        for argument in arguments
        if argument is not None
    ]
    if name.lower() == "extract" and len(given) == 2:
        return exp.Extract(this=exp.var(given[0].name.upper()), expression=given[1])
    return exp.Anonymous(this=name, expressions=given)


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """CAST."""
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="spark"))


def window(stamp: exp.Expr, length: str, slide: str | None = None) -> exp.Expr:
    """A window of time, as Spark writes it in GROUP BY."""
    made = call("window", [stamp, length, slide if slide != length else None])
    made.meta[WINDOW] = True
    return made


def within_delay(stamp: exp.Expr, delay: str) -> exp.Expr:
    """The stretch of time, as long as a watermark's delay, that a moment lies in."""
    size = microseconds_of(delay)
    return window(stamp, length(size)) if size else stamp


def microseconds_of(text: str) -> int | None:
    """A delay as Spark says it; None of one that has no fixed length.

    >>> microseconds_of("1 hours 30 minutes")
    5400000000
    """
    parts = re.findall(r"([\d.]+) ([a-z]+?)s?\b", text)
    if not parts or any(unit not in _LENGTHS for _, unit in parts):
        return None
    return round(sum(float(number) * _LENGTHS[unit] for number, unit in parts))


def over(
    function: exp.Expr,
    partition: Sequence[exp.Expr],
    order: Sequence[exp.Expr],
    frame: Frame | None,
) -> exp.Expr:
    """A window function.

    Args:
        order: what orders its rows (see ``ordered``).
        frame: None where the function has none of its own.
    """
    made = exp.Window(this=function, partition_by=[*partition], over="OVER")
    if order:
        made.set("order", exp.Order(expressions=[*order]))
    if frame is not None and function.name.lower() not in RANKS:
        (start, before), (end, after) = frame.start, frame.end
        made.set(
            "spec",
            exp.WindowSpec(kind=frame.kind, start=start, start_side=before, end=end, end_side=after),
        )
    return made


def ordered(value: exp.Expr, falls: bool, nulls_first: bool) -> exp.Expr:
    """What rows are ordered by."""
    return exp.Ordered(this=value, desc=falls or None, nulls_first=nulls_first)


def edge(value: exp.Expr) -> Edge:
    """A side of a frame that lies a length away: below zero before the row."""
    value = value.unnest()
    if isinstance(value, exp.Neg):
        return value.this, "PRECEDING"
    if isinstance(value, exp.Interval) and value.this.name.startswith("-"):
        shorter = exp.Interval(this=exp.Literal.string(value.this.name[1:]), unit=value.args.get("unit"))
        return shorter, "PRECEDING"
    return value, "FOLLOWING"


def interval(size: int) -> exp.Expr:
    """A length of time in microseconds as a literal."""
    name, unit = next(((n, s) for n, s in _UNITS if size % s == 0), _UNITS[-1])
    number = size // unit if size % unit == 0 else size / unit
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.var(name))


def months(number: int) -> exp.Expr:
    """A number of months as a literal."""
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.var("MONTH"))


def length(size: int) -> str:
    """A length of time in words.

    >>> length(600_000_000), length(5_400_000_000)
    ('10 minutes', '90 minutes')
    """
    made = interval(size)
    return f"{made.this.name} {made.args['unit'].name.lower()}{'s' if made.this.name != '1' else ''}"


def moment(since: int) -> str:
    """A moment, in microseconds since 1970, as text."""
    return str(_EPOCH + dt.timedelta(microseconds=since))


def day(number: int) -> str:
    """A day since 1970 as text."""
    return str((_EPOCH + dt.timedelta(days=number)).date())


def value(kind: str, text: str | None) -> exp.Expr | None:
    """A literal of a type; None of one that has no literals here."""
    if text is None:
        return exp.Null()
    name = kind.partition("(")[0]
    if name == "string" or name.startswith(("varchar", "char", "string collate")):
        return exp.Literal.string(text)
    if name == "boolean":
        return exp.true() if text == "true" else exp.false()
    if name in ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double"):
        if not text.lower().lstrip("+-").startswith(tuple("0123456789.")):
            return cast(exp.Literal.string(text), "double")
        return (
            exp.Neg(this=exp.Literal.number(text[1:])) if text.startswith("-") else exp.Literal.number(text)
        )
    if name in ("date", "timestamp", "timestamp_ntz"):
        text = moment(int(text)) if name == "timestamp_ntz" and text.lstrip("-").isdigit() else text
        return cast(exp.Literal.string(text), "date" if name == "date" else "timestamp")
    if name.startswith("interval"):
        if not text.lstrip("-").isdigit():
            return exp.Interval(this=exp.Literal.string(text))
        year = "year" in name or "month" in name
        return months(int(text)) if year else interval(int(text))
    return None


def unnested(node: exp.Expr, world: PlanSources, called: str | None = None) -> exp.Expr:
    """An expression whose values within nested data of one source are columns of that source.

    Args:
        called: what the whole is called, if it is such a value.
    """
    node = _picked(node)
    windowed = any(item.meta.get(WINDOW) for item in node.walk())
    if (kind := node.meta.get(TYPE)) is not None and scalar(kind) and not windowed:
        return world.parsed(node, kind, called or _last(node))
    for name, part in list(node.args.items()):
        if isinstance(part, exp.Expr):
            node.set(name, unnested(part, world))
        elif isinstance(part, list):
            node.set(name, [unnested(item, world) if isinstance(item, exp.Expr) else item for item in part])
    return node


def _last(node: exp.Expr) -> str | None:
    """The field that a path ends at."""
    return node.expression.name if isinstance(node, exp.Dot) else None


def _picked(node: exp.Expr) -> exp.Expr:
    """A field of a struct that is put together there, as what it was put together from."""
    while isinstance(node, exp.Dot):
        inner = _picked(node.this)
        inner = inner.unnest()
        if not (isinstance(inner, exp.Anonymous) and inner.name == "named_struct"):
            node.set("this", inner)
            return node
        members = inner.expressions
        names = [member.name.lower() for member in members[::2]]
        if node.expression.name.lower() not in names:
            return node
        node = members[2 * names.index(node.expression.name.lower()) + 1].copy()
    return node
