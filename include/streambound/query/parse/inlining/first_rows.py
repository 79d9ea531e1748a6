"""The first rows in an order: LIMIT, DISTINCT ON, IsFirst of Azure, and conditions on the rank of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.clock import conjuncts
from streambound.query.expressions import blockers
from streambound.query.model import Op
from streambound.query.operators import Ranking, WindowCalls
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.select_list import SelectOutputs
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.inlining.window_functions import ordering, ranked
from streambound.query.parse.text.having import values_in
from streambound.query.parse.text.parts import Done, Item, Part, Rows, Source, column_of, output
from streambound.query.scope import is_word
from streambound.query.windows import called as called_window

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner


def first_in_time(
    inliner: Inliner, select: exp.Select, names: Names, where: list[exp.Expr], firsts: list[exp.Expr]
) -> tuple[Rows, ...]:
    """Azure's ``IsFirst(minute, 10) OVER (PARTITION BY k) = 1``: the first row of each key and window."""
    if len(firsts) > 1 or any(source.names is None for source in names.sources):
        inliner.refuse("ISFIRST beside another", firsts[-1])
        return ()
    over = firsts[0].find(exp.Window)
    assert over is not None
    unit, number = over.this.expressions[:2]
    kind = exp.Anonymous(this="TumblingWindow", expressions=[unit.copy(), number.copy()])
    window = called_window(kind)
    if window is None:
        inliner.refuse("ISFIRST without a length", over)
        return ()
    asked, items = SelectOutputs(names), names.items(select)
    stamp = names.stamp(over)
    keys = [*(over.args.get("partition_by") or []), window.value(False, over, stamp)]
    partition = tuple(n for key in keys for n in asked.spread(key))
    shown = _shown(asked, items)
    ranking = Ranking("ROW_NUMBER", partition, ((asked.output(stamp), False),), Op.LE, 1, ())
    rest = [node for node in where if node is not firsts[0]]
    return _ranking(inliner, asked, ranking, shown, rest)


def first_of_each(
    inliner: Inliner,
    select: exp.Select,
    names: Names,
    items: Items,
    where: list[exp.Expr],
    on: exp.Expr,
) -> tuple[Rows, ...]:
    """DISTINCT ON: the first row of each key, in the order of ORDER BY."""
    keys = (
        list(on.expressions) if isinstance(on, exp.Tuple) else [on.this if isinstance(on, exp.Paren) else on]
    )
    asked = SelectOutputs(names)
    partition, own = asked.partition(keys)
    shown = _shown(asked, items)
    order = _order(select, names, asked, items)
    order = tuple(pair for pair in order if pair[0] not in (own or partition))
    ranking = Ranking("ROW_NUMBER", partition, order, Op.LE, 1, (), keys=own)
    return _ranking(inliner, asked, ranking, shown, where)


def _shown(asked: SelectOutputs, items: Items) -> tuple[Item, ...]:
    return tuple(Item(name, key, output(asked.output(item))) for name, key, item in items)


def _ranking(
    inliner: Inliner, asked: SelectOutputs, ranking: Ranking, shown: tuple[Item, ...], where: list[exp.Expr]
) -> tuple[Rows, ...]:
    return (
        Rows(
            False, inliner.parts(asked.names, asked.outputs, where), Done(ranking, shown, by=tuple(asked.by))
        ),
    )


def _order(node: exp.Expr, names: Names, asked: SelectOutputs, items: Items) -> tuple[tuple[int, bool], ...]:
    clause = node.args.get("order")
    made: list[tuple[exp.Expr, exp.Expr]] = []
    for item in () if clause is None else clause.expressions:
        of = item.this
        if isinstance(of, exp.Literal) and of.name.isdigit() and 0 < int(of.name) <= len(items):
            of = items[int(of.name) - 1][2]
        of = names.aliased(of, items)
        of = of.unnest()
        made.append((item, of))
    return ordering(made, asked)


def limited(
    inliner: Inliner, rows: tuple[Rows, ...], node: exp.Expr, names: Names | None = None
) -> tuple[Rows, ...]:
    """Rows with LIMIT: the first in an order, or any; ORDER BY alone is how they are looked at."""
    limit = node.args.get("limit")
    if limit is None or not rows:
        return rows
    count = limit.args.get("expression") if isinstance(limit, exp.Limit) else limit.args.get("count")
    options = limit.args.get("limit_options")
    if options is not None and (options.args.get("with_ties") or options.args.get("percent")):
        inliner.refuse("LIMIT WITH TIES or PERCENT", limit)
        return ()
    if not isinstance(count, exp.Literal) or not count.name.isdigit():
        inliner.refuse("LIMIT with an expression", limit)
        return ()
    offset = node.args.get("offset")
    first = offset.expression if offset is not None else None
    if offset is not None and not (isinstance(first, exp.Literal) and first.name.isdigit()):
        inliner.refuse("OFFSET with an expression", offset)
        return ()
    above = 0 if first is None else int(first.name)
    most = int(count.name) + above
    single = len(rows) == 1 and len(rows[0].parts) >= 1 and rows[0].done is None and not rows[0].distinct
    if single and names is not None and isinstance(node, exp.Select) and rows[0].plain:
        items = names.items(node)
        asked = SelectOutputs(names)
        shown = _shown(asked, items)
        order = _order(node, names, asked, items)
        where = [] if node.args.get("where") is None else list(conjuncts(node.args["where"].this))
        keys, own = asked.partition([names.aliased(key, items) for key in limit.expressions])
        ranking = Ranking("ROW_NUMBER", keys, order, Op.LE, most, (), above=above, keys=own)
        return _ranking(inliner, asked, ranking, shown, where)
    if limit.expressions:
        inliner.refuse("LIMIT ... BY of groups", limit)
        return ()
    fed = inliner.fed(rows, "rows")
    around = Names.of(inliner, Source("#rows", node, (fed,), fed.columns))
    items = [(c.name, c.key, column_of("#0", str(n))) for n, c in enumerate(fed.columns)]
    asked = SelectOutputs(around)
    shown = _shown(asked, items)
    if names is not None and isinstance(node, exp.Select):
        node = _by_number(node, names)
    try:
        order = _order(node, around, asked, items)
    except QueryError:
        inliner.refuse("ORDER BY of what is not shown, with LIMIT", node.args["order"])
        return ()
    ranking = Ranking("ROW_NUMBER", (), order, Op.LE, most, (), above=above)
    return _ranking(inliner, asked, ranking, shown, [])


def _by_number(select: exp.Select, names: Names) -> exp.Select:
    """A SELECT whose ORDER BY has numbers for what it shows: names of FROM mean nothing of its rows."""
    clause = select.args.get("order")
    if clause is None:
        return select
    shown = [names.canonical(item) for _, _, item in names.items(select)]
    made = select.copy()
    for expression in made.args["order"].expressions:
        key = names.canonical(expression.this) if expression.this.find(exp.Column) else ""
        if key in shown:
            expression.set("this", exp.Literal.number(shown.index(key) + 1))
    return made


def without_ranks(names: Names, where: list[exp.Expr]) -> list[exp.Expr]:
    """WHERE without the conditions on the rank of a sub-query, whose first rows are then its rows."""
    for number, source in enumerate(names.sources):
        outer = names.sides[number] or any(side in ("RIGHT", "FULL") for side in names.sides)
        if len(source.blocks) != 1 or outer:
            continue
        (rows,) = source.blocks
        if rows.done is None or not isinstance(rows.done.operator, WindowCalls):
            continue
        view = [Part((), (), rows.done.shown if n == number else ()) for n in range(len(names.sources))]
        mine = []
        for condition in where:
            columns = [c for c in condition.find_all(exp.Column) if not is_word(c)]
            at = [names.resolve(c) if names.knows(c) else None for c in columns]
            if blockers.semi_join(condition) or any(item is None or item[0] != number for item in at):
                continue
            resolved = Substitution(names, view).of(condition)
            if values_in(resolved):
                mine.append((condition, resolved))
        kept = ranked(rows.done, [node for _, node in mine]) if mine else None
        if kept is None or kept[1]:
            continue
        blocks = (replace(rows, done=kept[0]),)
        names.sources[number] = replace(source, blocks=blocks, names=blocks[0].columns)
        where = [node for node in where if all(node is not condition for condition, _ in mine)]
    return where
