"""Groups, ranks and frames over each other: window functions over groups, a SELECT over a query with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.query.clock import conjuncts, reads_clock
from streambound.query.dialects.grammar import span_of
from streambound.query.expressions import blockers
from streambound.query.operators import KEYS, Grouping, Tests, WindowCalls
from streambound.query.parse.inlining.grouped import grouping
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.inlining.window_functions import ranked, window_functions
from streambound.query.parse.text.having import having_of, values_in
from streambound.query.parse.text.parts import (
    Done,
    Item,
    Part,
    Rows,
    Source,
    at_location,
    rebuilt,
    stands_for,
)
from streambound.query.scope import is_word, location_of
from streambound.query.windows import called as called_window

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner


def _correlated(condition: exp.Expr) -> bool:
    """Whether a condition over outputs and values names what is neither: a column of the query around."""
    columns = (column for column in condition.find_all(exp.Column) if not is_word(column))
    return any(
        stands_for(column, "output") is None and stands_for(column, "value") is None for column in columns
    )


def composed(
    inliner: Inliner, select: exp.Select, names: Names, items: Items, where: list[exp.Expr]
) -> tuple[Rows, ...] | None:
    """A SELECT over groups or ranks alone, as one with them: its WHERE is their HAVING, or their rank.

    None where it is more.
    """
    if len(names.sources) != 1 or select.args.get("distinct") is not None or select.args.get("qualify"):
        return None
    (source,) = names.sources
    if len(source.blocks) != 1 or source.blocks[0].done is None:
        return None
    (rows,) = source.blocks
    assert rows.done is not None
    if any(blockers.semi_join(condition) for condition in where):
        return None
    view = Part((), (), rows.done.shown)
    substitution = Substitution(names, [view])
    conditions = [substitution.of(condition) for condition in where]
    if any(_correlated(condition) for condition in conditions):
        return None
    values = [substitution.of(item) for item in inliner.in_words(names, items)]
    shown = tuple(Item(name, key, made) for (name, key, _), made in zip(items, values, strict=True))
    done = replace(rows.done, shown=shown)
    if not conditions:
        return (replace(rows, done=done),)
    if (kept := ranked(done, conditions)) is not None and isinstance(done.operator, WindowCalls):
        done, conditions = kept
        if conditions:
            return None
        return (replace(rows, done=done),)
    if not isinstance(done.operator, Grouping) or any(map(reads_clock, conditions)):
        return None
    early = [condition for condition in conditions if not values_in(condition)]
    late = [condition for condition in conditions if values_in(condition)]
    parts = tuple(
        replace(part, conditions=(*part.conditions, *(_of_outputs(c, part, names, done) for c in early)))
        for part in rows.parts
    )
    operator = done.operator
    if late:
        whole = exp.and_(*late, copy=True)
        having = having_of(whole, location_of(where[0], inliner.text))
        if operator.having is not None:
            both = (operator.having.tests, having.tests)
            tests = None if None in both else Tests(True, tuple(t for t in both if t is not None))
            numbers = (*operator.having.aggregates, *having.aggregates)
            having = replace(having, aggregates=tuple(dict.fromkeys(numbers)), tests=tests)
            whole = exp.and_(done.having, whole, copy=True)
        done = replace(done, having=whole)
        operator = replace(operator, having=having)
    return (replace(rows, parts=parts, done=replace(done, operator=operator)),)


def _of_outputs(condition: exp.Expr, part: Part, names: Names, done: Done) -> exp.Expr:
    """A condition over outputs of rows as one over streams."""
    root = exp.Paren(this=condition.copy())
    for column in list(root.find_all(exp.Column)):
        if (number := stands_for(column, "output")) is not None and number >= KEYS:
            column.replace(exp.Paren(this=done.by[number - KEYS].copy()))
    for column in list(root.find_all(exp.Column)):
        if (number := stands_for(column, "output")) is not None:
            column.replace(at_location(part.columns[number].value, column))
    return names.condition(root.this)


def with_frames(
    inliner: Inliner, select: exp.Select, names: Names, items: Items, where: list[exp.Expr]
) -> tuple[Rows, ...]:
    """A SELECT with window functions; QUALIFY keeps rows by what they say."""
    items = [
        (name, key, item) for (name, key, _), item in zip(items, inliner.in_words(names, items), strict=True)
    ]
    qualify = select.args.get("qualify")
    further = [] if qualify is None else [("", "#qualify", names.aliased(qualify.this, items))]
    outputs, done = window_functions(select, names, [*items, *further])
    rows = Rows(False, inliner.parts(names, outputs, where), done)
    if qualify is None:
        return (rows,) if rows.parts else ()
    *shown, kept = done.shown
    done = replace(done, shown=tuple(shown))
    ranks = ranked(done, list(conjuncts(kept.value)))
    if ranks is None or ranks[1]:
        inliner.refuse("QUALIFY but of a rank", qualify)
        return ()
    return (replace(rows, done=ranks[0]),)


def with_frames_of_groups(
    inliner: Inliner, select: exp.Select, names: Names, items: Items, where: list[exp.Expr]
) -> tuple[Rows, ...]:
    """Window functions over groups: the groups first, then the functions over them as a sub-query."""
    inner: Items = []
    numbers: dict[str, int] = {}

    def of(node: exp.Expr) -> exp.Expr:
        plain_node = isinstance(node, exp.Column) and not is_word(node)
        whole = isinstance(node.parent, exp.Window) and node.arg_key == "this"
        if (blockers.aggregates_here(node) and not whole) or plain_node or called_window(node) is not None:
            key = names.canonical(node)
            if key not in numbers:
                numbers[key] = len(inner)
                inner.append((f"c{len(inner)}", f"c{len(inner)}", node.copy()))
            made: exp.Expr = exp.column(exp.to_identifier(f"c{numbers[key]}", quoted=True))
            if (span := span_of(node)) is not None:
                made.meta["span"] = span
            return made
        return rebuilt(node, of)

    outer = [(name, key, of(item)) for name, key, item in items]
    groups = tuple(
        Rows(False, inliner.parts(names, outputs, where), done)
        for outputs, done in grouping(select, names, inner)
    )
    if not all(rows.parts for rows in groups):
        return ()
    fed = inliner.fed(groups, "groups")
    around = Names.of(inliner, Source("#groups", select, (fed,), fed.columns))
    outputs, done = window_functions(select, around, outer)
    return (Rows(False, inliner.parts(around, outputs, []), done),)
