"""Conditions over several tuples that no comparison says, as filters of joined rows that show what is asked.

``WHERE ABS(s.a - t.b) > 3`` asks of a row of the join what a filter asks of a tuple. So the join with its
other conditions comes first, as a sub-query that shows all the columns that are named, and the condition
is a filter of its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.query.clock import conjuncts, reads_clock
from streambound.query.dialects.grammar import span_of
from streambound.query.expressions.conditions import operands
from streambound.query.expressions.linear import linear
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.text.parts import Source, rebuilt
from streambound.query.scope import is_word

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner

_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def split(names: Names, where: list[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The conditions of WHERE and of inner joins: those that comparisons say, and those that none says.

    The latter are taken out of ON.
    """
    if len({table for source in names.sources for part in source.parts for table in part.tables}) < 2:
        return where, []
    if any(condition.find(exp.Query) for condition in where):
        return where, []
    across = [condition for condition in where if _is_across(names, condition)]
    if all(side == "" for side in names.sides):
        for number, given in enumerate(names.ons):
            listed = [part for condition in given for part in conjuncts(condition)]
            mine = [condition for condition in listed if _is_across(names, condition)]
            if mine:
                across += mine
                names.ons[number] = [condition for condition in listed if condition not in mine]
    return [condition for condition in where if condition not in across], across


def _is_across(names: Names, condition: exp.Expr) -> bool:
    columns = [column for column in condition.find_all(exp.Column) if not is_word(column)]
    if not all(map(names.knows, columns)) or any(map(names.of_time, columns)) or reads_clock(condition):
        return False
    if any(str(call.this).upper() == "DATE_DIFF_WITHIN" for call in condition.find_all(exp.Anonymous)):
        return False
    parts = [source.parts[0] for source in names.sources if source.parts]
    return len(parts) == len(names.sources) and spans(Substitution(names, parts).of(condition))


def spans(node: exp.Expr) -> bool:
    """Whether a condition over streams has a part over several of them that is no comparison of sums."""
    node = node.unnest()
    if isinstance(node, (exp.And, exp.Or)):
        return any(spans(part) for part in operands(node))
    if isinstance(node, exp.Not):
        return spans(node.this)
    if len(_tables(node)) < 2 or isinstance(node, (exp.In, exp.Tuple)):
        return False
    if isinstance(node, exp.Between):
        sides = [node.this, node.args["low"], node.args["high"]]
    elif isinstance(node, _COMPARISONS):
        sides = [node.this, node.expression]
    else:
        return True
    terms = [term for side in sides for _, term, _ in linear(side).terms]
    return any(len(_tables(term)) > 1 for term in terms)


def _tables(node: exp.Expr) -> set[str]:
    """The streams that a node is over; a name without one counts for itself."""
    return {column.table or column.name for column in node.find_all(exp.Column) if not is_word(column)}


def joined(
    inliner: Inliner,
    select: exp.Select,
    names: Names,
    items: Items,
    where: list[exp.Expr],
    across: list[exp.Expr],
) -> tuple[exp.Select, Names, list[exp.Expr]]:
    """A SELECT as one over the join as a sub-query, the names in it, and its conditions."""
    inner: Items = []
    numbers: dict[str, int] = {}

    def of(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or is_word(node) or not names.knows(node):
            return rebuilt(node, of)
        key = names.canonical(node)
        if key not in numbers:
            numbers[key] = len(inner)
            taken = {name.lower() for name, _, _ in inner}
            name = node.name if node.name.lower() not in taken else f"{node.name} ({len(inner)})"
            inner.append((name, name, node.copy()))
        made: exp.Expr = exp.column(exp.to_identifier(inner[numbers[key]][0], quoted=True))
        if (span := span_of(node)) is not None:
            made.meta["span"] = span
        return made

    made = select.copy()
    made.meta.update(select.meta)
    shown: list[exp.Expr] = []
    for name, key, node in items:
        quoted = inliner.key(exp.to_identifier(name, quoted=True)) == key
        shown.append(
            exp.Alias(this=of(node), alias=exp.to_identifier(name, quoted=quoted)) if name else of(node)
        )
    conditions = [of(condition) for condition in across]
    for part in ("group", "having", "qualify", "order"):
        if (given := select.args.get(part)) is not None:
            made.set(part, of(given))
    made.set("windows", [of(window) for window in select.args.get("windows") or []])
    made.set("expressions", shown)
    fed = inliner.fed(inliner.plain_rows(names, inner, where, False), "joined")
    return made, Names.of(inliner, Source("#joined", select, (fed,), fed.columns)), conditions
