"""Groups on top of a rewrite: what is summed of rows that come with how often each is an answer.

Over one stream an engine keeps a row for each group as it is, unless a time is in the key: such groups go
where the key is a window that the engine knows (R7). Over a join the rows below are those of the plan's leaf,
so COUNT is a sum of their numbers and SUM one of products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from streambound.errors import PlanError
from streambound.query.model import Attribute, Constant, Query
from streambound.query.operators import Aggregate, Kind, Shown
from streambound.rewrites.branch import Branch, Kept
from streambound.rewrites.clauses import Clauses, Names, formula_of, interval
from streambound.rewrites.intervals import window_table
from streambound.rewrites.targets import Target
from streambound.synopsis.flow import (
    Applied,
    Framed,
    Grouped,
    Guarded,
    Hopped,
    Irredundant,
    Joined,
    Leaf,
    LookedUp,
    Operation,
    Ranked,
)
from streambound.synopsis.plan import Plan

# Units of date_trunc whose windows begin at whole multiples of their length, whatever the time zone.
_FIXED = ("SECOND", "MINUTE", "HOUR")
# Aggregates of one value a group, where rows come one by one.
_PLAIN = (Kind.COUNT, Kind.SUM, Kind.MEAN, Kind.LEAST, Kind.GREATEST)


def single_leaf(node: Applied) -> tuple[Grouped, Leaf]:
    """A grouping of the rows of one join with filters.

    Raises:
        PlanError: it is another operation, or its aggregates are computed from different rows.
    """
    operation = node.operation
    if not isinstance(operation, Grouped):
        raise PlanError(f"{named_operation(operation)} over a join: not rewritten yet")
    if operation.then.session is not None:
        raise PlanError("sessions are kept, which is not rewritten yet")
    leaves = [one for one in node.inputs if isinstance(one, Leaf) and not one.fed]
    if len(leaves) != len(node.inputs) or len(node.inputs) != 1:
        raise PlanError("aggregates are computed from different joins, which is not rewritten yet")
    return operation, leaves[0]


# How SQL calls what is done to rows.
_CALLED: dict[type[Operation], str] = {
    Grouped: "GROUP BY",
    Ranked: "the first rows in an order",
    Framed: "window functions",
    Guarded: "EXISTS and NOT EXISTS",
    LookedUp: "as-of joins",
    Joined: "joins of rows that change",
    Hopped: "windows that overlap",
    Irredundant: "joins of which irredundant tuples are kept",
}


def named_operation(operation: Operation) -> str:
    """What SQL calls an operation."""
    return _CALLED[type(operation)]


def counted(operation: Grouped, build: Clauses, below: Branch, once: bool) -> Branch:
    """The groups of rows of a rewrite.

    Args:
        below: the rows, each with the number of times that it is an answer.
        once: whether a group has one row at most, so that nothing is grouped again.

    Raises:
        PlanError: an aggregate is not a sum, a mean, an extremum or a number of rows.
    """
    reads = operation.reads
    of = {p: build.column(below.columns[at], "g") for read in reads[:1] for p, at in read.positions.items()}
    of |= {p: build.column(below.columns[at], "g") for at, p in enumerate(operation.keys)}
    number = build.column(below.number, "g") if below.number is not None else exp.Literal.number(1)
    values = [_value(one, of, number, once, bool(operation.keys)) for one in operation.then.aggregates]
    columns = _shown(operation.then.shown, build, Names(), of, values)
    source = exp.Subquery(this=below.select, alias=exp.TableAlias(this=build.name("g")))
    select = exp.select(*(build.aliased(node, name) for name, node in columns)).from_(source)
    by = [of[p].copy() for p in operation.keys]
    if operation.then.having is not None:
        if once:
            raise PlanError(
                "HAVING may take a group back, and an update says nothing of groups that it drops"
            )
        select = select.having(_formula(operation.then.having.formula, of, values))
    kept = below.kept
    if not once:
        # A literal in GROUP BY would be a position.
        select = select.group_by(*by) if by else select
        kept = (*kept, Kept("GROUP BY", None, formula="a row for each group"))
    told = tuple(name for (name, _), one in zip(columns, operation.then.shown, strict=True) if one.outputs)
    return replace(
        below,
        select=select,
        columns=tuple(name for name, _ in columns),
        further=(),
        number=None,
        kept=kept,
        appends=False,
        keys=told,
    )


def _value(one: Aggregate, of: Mapping[int, exp.Expr], number: exp.Expr, once: bool, keyed: bool) -> exp.Expr:
    """An aggregate over rows that come ``number`` times each.

    Args:
        keyed: whether groups have keys; else there is one, also without a row.
    """

    def total(node: exp.Expr) -> exp.Expr:
        return node if once else exp.Sum(this=node)

    def count(node: exp.Expr) -> exp.Expr:
        found = total(node)
        return found if keyed else exp.Coalesce(this=found, expressions=[exp.Literal.number(0)])

    def times(node: exp.Expr) -> exp.Expr:
        return exp.Mul(this=node, expression=number.copy())

    # Rows that are keys alone are counted where what COUNT reads of them is never NULL.
    if one.counts_rows or (one.function == "COUNT" and not one.distinct and not set(one.arguments) & set(of)):
        return count(number.copy())
    if not set(one.arguments) <= set(of):
        raise PlanError(f"{one.text} over a join is not rewritten yet")
    whole = ((Fraction(1), one.arguments),)
    if (
        one.kind not in _PLAIN
        or len(one.arguments) != 1
        or one.by is not None
        or one.polynomial not in (None, whole)
    ):
        raise PlanError(f"{one.text} over a join is not rewritten yet")
    argument = of[one.arguments[0]]
    if one.distinct and one.kind not in (Kind.LEAST, Kind.GREATEST):
        if once or one.kind is not Kind.COUNT:
            raise PlanError(f"{one.text} over a join is not rewritten yet")
        return exp.Count(this=exp.Distinct(expressions=[argument.copy()]))
    if one.kind in (Kind.LEAST, Kind.GREATEST):
        pick = exp.Min if one.kind is Kind.LEAST else exp.Max
        return argument.copy() if once else pick(this=argument.copy())
    there = exp.Is(this=argument.copy(), expression=exp.Not(this=exp.null()))
    present = exp.Case().when(there, number.copy()).else_(exp.Literal.number(0))
    if one.kind is Kind.COUNT:
        return count(present)
    if one.kind is Kind.SUM and one.function == "SUM":
        return total(times(argument.copy()))
    if one.function == "AVG":
        if once:
            return exp.cast(argument.copy(), "DOUBLE")
        some = exp.Nullif(this=total(present), expression=exp.Literal.number(0))
        return exp.Div(this=exp.cast(total(times(argument.copy())), "DOUBLE"), expression=some)
    raise PlanError(f"{one.text} over a join is not rewritten yet")


def _shown(
    shown: Sequence[Shown],
    build: Clauses,
    names: Names,
    of: Mapping[int, exp.Expr],
    values: Sequence[exp.Expr],
) -> list[tuple[str, exp.Expr]]:
    found = []
    for one in shown:
        if one.plain:
            node = values[one.values[0]] if one.values else of[one.outputs[0]]
        else:
            node = _formula(one.formula, of, values)
        found.append((names.fresh(build.shown(one.name)), node.copy()))
    return found


def _formula(text: str | None, of: Mapping[int, exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    if text is None:
        raise PlanError("an expression of the answer cannot be computed")
    known = {f"o{p}": node for p, node in of.items()} | {f"v{i}": node for i, node in enumerate(values)}
    return formula_of(text, lambda column: exp.paren(known[column.name].copy()))


def windowed(operation: Grouped, query: Query, plan: Plan, to: Target) -> Branch | None:
    """Groups of one stream by a window; None where no key is a time that is truncated.

    Args:
        query: the SELECT that is grouped, with all that aggregates read.
        plan: that of all rows that are grouped.

    Raises:
        PlanError: the time in the key is no window that begins at whole multiples of its length.
    """
    build = Clauses(query, to)
    terms = [query.select[p].term for p in operation.keys]
    timed = [t for t in terms if isinstance(t, Attribute) and query.is_time(t)]
    if not timed:
        return None
    (alias,) = (o.alias for o in query.occurrences)
    stamp = str(query.occurrence(alias).relation.timestamp)
    lengths = {_length(build, attribute) for attribute in timed}
    if None in lengths:
        if to.windowing and any(map(query.is_timestamp, timed)):
            raise PlanError("a timestamp is in the key, and groups go only where a window is")
        return None
    if len(lengths) != 1:
        raise PlanError("windows of different lengths are in one key")
    (length,) = lengths
    assert length is not None
    start, end, windows, source = _edges(build, alias, stamp, length)
    of: dict[int, exp.Expr] = {}
    for at, term in zip(operation.keys, terms, strict=True):
        if isinstance(term, Constant):
            raise PlanError("a constant is in the key")
        edge = end if query.column(term).edge == "end" else start
        of[at] = edge if term in timed else build.attribute(term)
    for p, output in enumerate(query.select):
        if isinstance(output.term, Attribute):
            of.setdefault(p, build.attribute(output.term))
    values = [_own_value(one, of) for one in operation.then.aggregates]
    columns = _shown(operation.then.shown, build, Names(), of, values)
    select = exp.select(*(build.aliased(node, name) for name, node in columns)).from_(source)
    accepted = build.accepted(plan.streams[0])
    select = select.where(*accepted) if accepted else select
    others = [of[p].copy() for p, term in zip(operation.keys, terms, strict=True) if term not in timed]
    select = select.group_by(*windows, *others)
    if operation.then.having is not None:
        select = select.having(_formula(operation.then.having.formula, of, values))
    kept = (Kept("GROUP BY", None, formula="a row for each group of the open windows"),)
    told = tuple(name for (name, _), one in zip(columns, operation.then.shown, strict=True) if one.outputs)
    return Branch(select, tuple(name for name, _ in columns), (), None, kept, ("R7",), False, told)


def _length(build: Clauses, attribute: Attribute) -> int | None:
    """The length of the windows that a time is truncated to; None if it is a timestamp or a window itself."""
    column = build.query.column(attribute)
    if column.bucket is None or column.formula is None:
        return None
    trunc = formula_of(column.formula, lambda column: column).find(exp.TimestampTrunc, exp.DateTrunc)
    if trunc is None:
        return None
    if str(trunc.args["unit"].name).upper() not in _FIXED:
        raise PlanError(f"the windows of {attribute} do not begin at whole multiples of their length")
    return column.bucket


def _edges(
    build: Clauses, alias: str, stamp: str, length: int
) -> tuple[exp.Expr, exp.Expr, list[exp.Expr], exp.Expr]:
    """Where a window begins and ends, what is grouped by, and the source that has it."""
    if build.target.windowing:
        edges = [build.column(name, alias) for name in ("window_start", "window_end")]
        table = window_table(build, alias, stamp, "TUMBLE", (length,))
        return edges[0], edges[1], [edge.copy() for edge in edges], table
    # Grouped by the whole window, since the watermark is told by it and not by its start.
    text = exp.Literal.string(interval(length).sql("spark").removeprefix("INTERVAL ").replace("'", ""))
    window = exp.Anonymous(this="WINDOW", expressions=[build.column(stamp, alias), text])
    first, last = (exp.Dot(this=window.copy(), expression=exp.to_identifier(p)) for p in ("start", "end"))
    return first, last, [window], build.source(alias)


def _own_value(one: Aggregate, of: Mapping[int, exp.Expr]) -> exp.Expr:
    """An aggregate over tuples, as it is written."""
    if one.counts_rows:
        return exp.Count(this=exp.Star())
    whole = ((Fraction(1), one.arguments),)
    plain = len(one.arguments) == 1 and one.by is None and one.polynomial in (None, whole)
    if one.kind not in _PLAIN or not plain or one.arguments[0] not in of:
        raise PlanError(f"{one.text} of windows is not rewritten yet")
    argument = of[one.arguments[0]].copy()
    if one.distinct:
        argument = exp.Distinct(expressions=[argument])
    return exp.func(one.function, argument)
