"""Window functions: what OVER asks of the rows of a SELECT, and conditions on ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.dialects.grammar import LIMITED
from streambound.query.expressions import blockers
from streambound.query.expressions.aggregates import (
    aggregate,
    is_aggregate,
    name_of,
)
from streambound.query.model import Op
from streambound.query.operators import (
    Aggregate,
    AggregateKind,
    Frame,
    Having,
    Over,
    Ranking,
    Test,
    Tests,
    WindowCalls,
)
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.select_list import SelectOutputs
from streambound.query.parse.text.having import tests_of, values_in
from streambound.query.parse.text.parts import Done, Item, output, rebuilt, value
from streambound.query.scope import is_word, location_of
from streambound.query.windows import edge_called, length

RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")


def window_functions(select: exp.Select, names: Names, items: Items) -> tuple[list[exp.Expr], Done]:
    """The outputs of a SELECT with window functions, and what they do to them."""
    asked = SelectOutputs(names)
    functions: list[Over] = []
    clauses = {
        window.name.lower(): window
        for window in select.args.get("windows") or []
        if isinstance(window, exp.Window)
    }

    def of(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            over = _over(node, asked, clauses)
            if over not in functions:
                functions.append(over)
            return value(functions.index(over))
        if (edge := edge_called(node)) is not None:
            # Kept as what it is, which says when there are no more rows of it.
            return output(asked.output(names.edge(*edge, node)))
        if isinstance(node, exp.Column) and not is_word(node):
            return output(asked.output(node))
        return rebuilt(node, of)

    shown = tuple(Item(name, key, of(node)) for name, key, node in items)
    numbers = {n: over.aggregate for n, over in enumerate(functions) if over.aggregate is not None}
    over = {n: asked.over[aggregate] for n, aggregate in numbers.items() if aggregate in asked.over}
    return asked.outputs, Done(WindowCalls(tuple(functions), ()), shown, over=over, by=tuple(asked.by))


def _over(node: exp.Window, asked: SelectOutputs, clauses: dict[str, exp.Window]) -> Over:
    sql = asked.names.inliner.text
    spec = node
    name = node.alias or (node.args["alias"].name if node.args.get("alias") else "")
    if name.lower() in clauses:
        spec = clauses[name.lower()]
    elif name:
        raise QueryError(
            f"there is no window {name}",
            location=location_of(node, sql),
            accepted=", ".join(clauses) or None,
            fix=f"define it: WINDOW {name} AS (PARTITION BY ... ORDER BY ...)",
        )
    partition = [*(node.args.get("partition_by") or []), *(spec.args.get("partition_by") or [])]
    if spec is node:
        partition = list(node.args.get("partition_by") or [])
    clause = node.args.get("order") or spec.args.get("order")
    order = ordering([(term, term.this) for term in (clause.expressions if clause else [])], asked)
    keys, own = asked.partition([_windowed(key, asked.names) for key in partition])
    inner = node.this
    passes_over = False
    while isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)):
        passes_over = passes_over or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    called_ = aggregate(inner) if is_aggregate(inner) or isinstance(inner, exp.Filter) else None
    named = name_of(inner.this if isinstance(inner, exp.Filter) else inner)
    if called_ is not None and named in ("FIRST_VALUE", "LAST_VALUE", "FIRST", "LAST"):
        named = {"FIRST": "FIRST_VALUE", "LAST": "LAST_VALUE"}.get(named, named)
    arguments: tuple[int, ...] = ()
    made = None if called_ is None else asked.aggregate(called_)
    if made is not None and made.further:
        asked.names.inliner.spread.append(inner)
    if made is None:
        given = [inner.this] if isinstance(inner.this, exp.Expr) else list(inner.expressions)[:1]
        read = (term for term in given if not isinstance(term, exp.Literal))
        before = len(asked.names.inliner.spread)
        arguments = tuple(n for term in read for n in asked.spread(term, different=False))
        if arguments:
            made = Aggregate(
                AggregateKind.ANY,
                blockers.words(inner, sql),
                arguments,
                None,
                False,
                None,
                location_of(inner, sql),
                _function_of(inner, named, passes_over),
            )
            if len(arguments) > 1:
                asked.over[made] = asked.in_outputs(given[0])
                del asked.names.inliner.spread[before:]
    elif named in ("FIRST_VALUE", "LAST_VALUE"):
        arguments = made.arguments
    return Over(
        named,
        made,
        keys,
        tuple(order),
        _frame(node, spec, named, inner, bool(order), asked.names),
        location_of(node, sql),
        arguments,
        _rows_away(inner, named),
        own,
    )


def ordering(
    given: Sequence[tuple[exp.Expr, exp.Expr]], asked: SelectOutputs
) -> tuple[tuple[int, bool], ...]:
    """The positions that rows are ordered by, of ORDER BY and what its parts mean.

    NULL is first where the order ascends; where it is to be at the other end, that it is NULL comes before.
    """
    made = []
    for term, node in given:
        descends, first = bool(term.args.get("desc")), term.args.get("nulls_first")
        if first is not None and bool(first) is descends and asked.names.nullable(node):
            made.append((asked.output(exp.Is(this=node.copy(), expression=exp.Null())), bool(first)))
        made.append((asked.output(node), descends))
    return tuple(made)


def _offset(inner: exp.Expr) -> exp.Expr | None:
    node: exp.Expr | None = inner.args.get("offset")
    return node or (inner.expressions[1] if len(inner.expressions) > 1 else None)


def _rows_away(inner: exp.Expr, name: str) -> int:
    """How many rows away LAG and LEAD look; of which row NTH_VALUE is; how many parts NTILE makes."""
    node = _offset(inner)
    if name == "NTILE":
        given = [inner.this] if isinstance(inner.this, exp.Expr) else list(inner.expressions)
        return (length(given[0]) if given else None) or 1
    rows = None if node is None or name not in ("LAG", "LEAD", "NTH_VALUE") else length(node)
    return 1 if rows is None else rows


def _function_of(inner: exp.Expr, name: str, passes_over: bool) -> str:
    """The name of a window function, with what else changes its meaning."""
    if passes_over:
        return f"{name} IGNORE NULLS"
    default = inner.args.get("default") or (inner.expressions[2] if len(inner.expressions) > 2 else None)
    if default is not None and not isinstance(default, exp.Null):
        return f"{name} with a default"
    counted = _offset(inner)
    if name in ("LAG", "LEAD", "NTH_VALUE") and counted is not None and length(counted) is None:
        return f"{name} with an expression"
    return name


def _windowed(node: exp.Expr, names: Names) -> exp.Expr:
    edge = edge_called(node)
    return node if edge is None else names.edge(*edge, node)


def _refuse_edges(spec: exp.WindowSpec, names: Names) -> None:
    """Refuse an edge of a frame that is no number and no length of time.

    Raises:
        QueryError: with its place.
    """
    for which in ("start", "end"):
        given = spec.args.get(which)
        if isinstance(given, exp.Expr) and length(given) is None:
            raise QueryError(
                f"a frame begins or ends {blockers.words(given, names.inliner.text)} from its row",
                location=location_of(given, names.inliner.text),
                accepted="a number of rows, a length of time (INTERVAL '1' HOUR), UNBOUNDED, CURRENT ROW",
            )


def _frame(
    node: exp.Window, spec: exp.Window, name: str, inner: exp.Expr, ordered: bool, names: Names
) -> Frame:
    frame = node.args.get("spec") or spec.args.get("spec")
    if name in ("LAG", "LEAD") and frame is None:
        offset = _offset(inner)
        rows = length(offset) if offset is not None else 1
        rows = 1 if rows is None else rows
        return Frame(True, rows, 0) if name == "LAG" else Frame(True, 0, rows)
    if frame is not None:
        if str(frame.args.get("kind")) == "SESSION":
            raise blockers.blocker("SESSION WITH GAP", node, names.inliner.text)
        _refuse_edges(frame, names)
        start, end = (_reach(frame, which) for which in ("start", "end"))
        lengths = (isinstance(frame.args.get(which), exp.Expr) for which in ("start", "end"))
        if (
            LIMITED not in node.meta
            and not ordered
            and str(frame.args.get("kind")).upper() != "ROWS"
            and any(lengths)
        ):
            raise QueryError(
                "a frame by RANGE begins or ends so far from its row, and the rows have no order",
                location=location_of(node, names.inliner.text),
                accepted="RANGE beside ORDER BY of one column",
                fix="add ORDER BY with the time of the rows",
            )
        if start > end or start == inf or end == -inf:
            raise QueryError(
                "a frame ends before it begins, so it has no rows",
                location=location_of(node, names.inliner.text),
                accepted="a frame such as ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                fix="exchange its ends",
            )
    if name in (*RANKS, "NTILE", "PERCENT_RANK", "CUME_DIST"):
        return Frame(True, None, 0 if name in RANKS and ordered else None)
    if frame is None:
        return Frame(False, None, 0 if ordered else None)
    rows = str(frame.args.get("kind") or "RANGE").upper() == "ROWS"
    before, after = _edge(frame, "start"), _edge(frame, "end")
    if frame.args.get("end") is None and frame.args.get("start") is not None:
        after = 0
    return Frame(rows, before, after)


def _reach(spec: exp.WindowSpec, which: str) -> float:
    """Where a frame begins or ends, counted from its row; without an end it is infinite."""
    given, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    sign = -1 if side == "PRECEDING" else 1
    if isinstance(given, str):
        return sign * inf if given.upper() == "UNBOUNDED" else 0
    return sign * ((None if given is None else length(given)) or 0)


def _edge(spec: exp.WindowSpec, which: str) -> int | None:
    """How far a frame reaches: before a row (start) or after it (end); None is without an end."""
    given = spec.args.get(which)
    if given in (None, "CURRENT ROW"):
        return 0
    if isinstance(given, str):
        return None if given.upper() == "UNBOUNDED" else 0
    span = length(given)
    side = str(spec.args.get(f"{which}_side") or "").upper()
    if span is None:
        return None
    return span if (side == "PRECEDING") is (which == "start") else -span


def ranked(done: Done, conditions: list[exp.Expr]) -> tuple[Done, list[exp.Expr]] | None:
    """Rows with a rank of which conditions keep the first ones (or others), as a ranking; else None.

    Args:
        conditions: over outputs and values of ``done``.
    """
    operator = done.operator
    if not isinstance(operator, WindowCalls) or len(operator.functions) != 1:
        return None
    (function,) = operator.functions
    if function.name not in RANKS or operator.having is not None:
        return None
    left, rank_test = [], None
    for condition in conditions:
        test = tests_of(condition, True)
        if isinstance(test, Tests) and test.every and len(test.parts) == 2 and rank_test is None:
            # BETWEEN 1 AND n is what <= n is.
            bounds = [p for p in test.parts if isinstance(p, Test) and not (p.op is Op.GE and p.value <= 1)]
            test = bounds[0] if len(bounds) == 1 else test
        if isinstance(test, Test) and rank_test is None and test.value.denominator == 1:
            rank_test = test
        else:
            left.append(condition)
    if rank_test is None or any(values_in(condition) for condition in left):
        return None
    shown_rank = any(values_in(item.value) for item in done.shown)
    made = Ranking(
        function.name,
        function.partition,
        function.order,
        rank_test.op,
        int(rank_test.value),
        (),
        shown_rank,
        keys=function.keys,
    )
    if shown_rank and made.beyond:
        # All rows go on to change: they are what a window function says, and some are left out.
        kept = Having((0,), location=function.location, formula=f"v0 {rank_test.op.value} {rank_test.value}")
        return replace(done, operator=replace(operator, having=kept)), left
    return Done(made, done.shown, by=done.by), left
