"""UNION ALL and UNION of SELECTs: which blocks they make, and the columns of their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from sqlglot import expressions as exp
from sqlglot import parse_one

from streambound.errors import Location, QueryError, UnsupportedError, meant, together
from streambound.query.catalog import Catalog
from streambound.query.column_types import NULL, Family, Type, common_type
from streambound.query.computing.translate import formula_of
from streambound.query.computing.typed import NotComputed
from streambound.query.dialects.tokens import token_location, tokens
from streambound.query.expressions.exactness import COMPARABLE, exactly
from streambound.query.expressions.types import type_of_expression
from streambound.query.model import Column, Constant, Output, Query
from streambound.query.operators import (
    KEYS,
    Aggregate,
    AggregateKind,
    Grouping,
    Operator,
    Ranking,
    Shown,
    WindowCalls,
)
from streambound.query.parse.blocks.distinguishing import distinguishes
from streambound.query.parse.blocks.select import keyword_location, refuse_clauses, selection
from streambound.query.parse.text.having import outputs_in, values_in
from streambound.query.parse.text.parts import Done, Rows, select_tree, stands_for
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.scope import BOOLEAN, DOUBLE, INTEGER, location_of
from streambound.query.statement import Block, Selection
from streambound.query.windows import SESSIONS

ACCEPTED = "SELECT statements joined by UNION ALL or UNION"
_PARTS = {"this", "expression", "distinct"}


def blocks_of(node: exp.Expr, sql: str, catalog: Catalog, name: str) -> tuple[Block, ...]:
    """The blocks of a statement (see ``statement``).

    Raises:
        QueryError: a SELECT that cannot be read.
        UnsupportedError: another statement or set operation.
    """
    if isinstance(node, exp.Select):
        read = selection(node, sql, catalog, name)
        return (Block(read.base.ring, (read,)),)
    if isinstance(node, exp.Subquery) and not node.alias:
        refuse_clauses(node, _PARTS, ACCEPTED, sql)
        return blocks_of(node.this, sql, catalog, name)
    if not isinstance(node, (exp.Query, exp.Command, exp.DDL, exp.DML)) and not keyword_location(
        sql, _named(node)
    ):
        raise _no_statement(sql)
    if not isinstance(node, exp.Union) or node.args.get("by_name"):
        what = "UNION BY NAME" if isinstance(node, exp.Union) else _named(node)
        location = keyword_location(sql, what.split()[0]) or location_of(node, sql)
        raise UnsupportedError(f"{what} is not supported yet", location=location, accepted=ACCEPTED)
    refuse_clauses(node, _PARTS, ACCEPTED, sql)
    members: tuple[Block, ...] = ()
    missing: list[UnsupportedError] = []
    for side in (node.this, node.expression):
        try:
            members += blocks_of(side, sql, catalog, name)
        except UnsupportedError as error:
            missing.append(error)
    if missing:
        raise together(missing)
    if not node.args.get("distinct"):
        return _of_equal_width(members, sql)
    selections = (s for block in members for s in block.selections)
    eliminating = Block(BOOLEANS, tuple(replace(s, base=replace(s.base, ring=BOOLEANS)) for s in selections))
    return _of_equal_width((eliminating,), sql)


def blocks_of_rows(rows: tuple[Rows, ...], sql: str, catalog: Catalog, name: str) -> tuple[Block, ...]:
    """The blocks of rows that are more than joins with filters, or are not.

    Raises:
        QueryError: a SELECT that cannot be read.
        UnsupportedError: a condition outside the class, named with its place.
    """
    made = []
    missing: list[UnsupportedError] = []
    for item in rows:
        try:
            selections = tuple(
                selection(
                    select_tree(part, item.distinct),
                    sql,
                    catalog,
                    name,
                    part.partners,
                    part.latest,
                    item.done is not None,
                )
                for part in item.parts
            )
        except UnsupportedError as error:
            missing.append(error)
            continue
        ring = BOOLEANS if item.distinct else INTEGERS
        then = None if item.done is None else _finished(item.done, selections[0].base)
        made.append(Block(ring, selections, then))
    if missing:
        raise together(missing)
    return _of_equal_width(tuple(made), sql)


def _of_equal_width(blocks: tuple[Block, ...], sql: str) -> tuple[Block, ...]:
    """The blocks with as many outputs for a column in each SELECT: an expression has those that it is over.

    Where a side of an outer join is missing it is over fewer.

    Raises:
        UnsupportedError: an expression over several tuples is in a union with groups, ranks or frames.
    """
    plain = [s.base for block in blocks if block.then is None for s in block.selections]
    items = [Counter(output.item for output in base.select) for base in plain]
    if not any(output.within for base in plain for output in base.select) or len({*map(len, items)}) > 1:
        return blocks
    widths = {item: max(counter[item] for counter in items) for item in items[0]}
    if len(plain) < sum(len(block.selections) for block in blocks) and max(widths.values()) > 1:
        selections = (s for block in blocks if block.then is None for s in block.selections)
        raise together([error for s in selections for error in _over_several(s, sql)])

    def of(narrow: Selection) -> Selection:
        made: list[Output] = []
        positions = list[int]()
        for item, outputs in groupby(narrow.base.select, key=lambda output: output.item):
            own = list(outputs)
            positions += range(len(made), len(made) + len(own))
            first, less = own[0], widths[item] - len(own)
            nothing = Constant(None, "NULL", narrow.base.type_of(first.term))
            own += [replace(first, name=f"{first.name}_{n}", term=nothing, moved=0) for n in range(less)]
            made += [replace(column, within=True) for column in own] if widths[item] > 1 else own
        base = replace(narrow.base, select=tuple(made))
        return replace(narrow, base=base, shown=_shown_at(narrow, positions))

    return tuple(
        replace(block, selections=_of_common_type([of(s) for s in block.selections]))
        if block.then is None
        else block
        for block in blocks
    )


def _shown_at(selection: Selection, indices: Sequence[int]) -> tuple[Shown, ...]:
    """What a selection shows, where its outputs come to other places; its outputs if that is all."""
    base = selection.base

    def of(shown: Shown) -> Shown:
        positions = tuple(indices[position] for position in shown.outputs)
        if shown.formula is None:
            return replace(shown, outputs=positions)
        tree = exp.Paren(this=parse_one(shown.formula, dialect="spark"))
        for column in list(tree.find_all(exp.Column)):
            column.replace(exp.column(f"o{indices[int(column.name[1:])]}"))
        return replace(shown, outputs=positions, formula=tree.this.sql(dialect="spark"))

    shown = selection.shown or tuple(
        Shown(output.name, base.type_of(output.term), (position,), location=output.location)
        for position, output in enumerate(base.select)
    )
    return tuple(map(of, shown))


def _of_common_type(selections: Sequence[Selection]) -> tuple[Selection, ...]:
    """Selections whose columns are of one type each, where that is without rounding; else not computed."""
    made = [list(s.shown) for s in selections]
    for number in range(len(made[0])):
        kinds = [shown[number].type for shown in made]
        kind: Type | None = kinds[0]
        for column_type in kinds[1:]:
            kind = None if kind is None else common_type(kind, column_type)
        rounded = len({k.resolution for k in kinds if k != NULL}) > 1 and (
            kind is None or kind.resolution is None
        )
        for shown in made:
            column = shown[number]
            shown[number] = (
                replace(column, plain=False, formula=None)
                if kind is None or rounded
                else replace(column, type=kind)
            )
    return tuple(replace(s, shown=tuple(shown)) for s, shown in zip(selections, made, strict=True))


def _finished(done: Done, base: Query) -> Operator:
    """What is done to rows, with the names and types of what is shown."""
    taken: set[str] = set()
    shown: list[Shown] = []
    for item in done.shown:
        positions, numbers = _outputs_in(item.value, done), values_in(item.value)
        bare = item.value.unnest()
        plain = isinstance(bare, exp.Column) and len(positions) + len(numbers) == 1
        name, number = item.name or f"column{len(shown) + 1}", 2
        while name.lower() in taken:
            name, number = f"{item.name}_{number}", number + 1
        taken.add(name.lower())
        plain = plain and not any(base.select[n].within for n in positions)
        kind, formula = _type(item.value, done, base), None
        if isinstance(bare, exp.Null):
            # A key that a set of GROUPING SETS leaves out.
            kind, formula = NULL, "NULL"
        elif not plain:
            formula, kind = _formula(item.value, done, base, kind)
        seen = (
            ()
            if plain
            else tuple(n for n in numbers if distinguishes(item.value, n, _counts(done.operator, n)))
        )
        shown.append(Shown(name, kind, positions, numbers, plain, seen, formula=formula))
    return _with_formulas(done, base, tuple(shown))


def _with_formulas(done: Done, base: Query, shown: tuple[Shown, ...]) -> Operator:
    """What is done, with the expressions that aggregates and HAVING compute."""
    made = done.operator

    def of(number: int, aggregate: Aggregate) -> Aggregate:
        if number not in done.over:
            return aggregate
        node = done.over[number]
        formula, kind = _formula(node, done, base, _type(node, done, base))
        if formula is None:
            return replace(aggregate, function=f"{aggregate.function} OF AN EXPRESSION")
        return replace(aggregate, formula=formula, computed=kind)

    by = tuple(_key(node, done, base) for node in done.by)
    if isinstance(made, WindowCalls):
        functions = tuple(
            over if over.aggregate is None else replace(over, aggregate=of(n, over.aggregate))
            for n, over in enumerate(made.functions)
        )
        return replace(made, functions=functions, shown=shown, by=by)
    if isinstance(made, Grouping):
        having = made.having
        if having is not None and done.having is not None:
            having = replace(having, formula=_formula(done.having, done, base, BOOLEAN)[0])
        aggregates = tuple(of(n, aggregate) for n, aggregate in enumerate(made.aggregates))
        return replace(made, aggregates=aggregates, having=having, shown=shown, by=by)
    return replace(made, shown=shown, by=by)


def _outputs_in(node: exp.Expr, done: Done) -> tuple[int, ...]:
    """The outputs that an expression is computed of."""
    spread = (
        (number,) if number < KEYS else outputs_in(done.by[number - KEYS]) for number in outputs_in(node)
    )
    return tuple(dict.fromkeys(number for numbers in spread for number in numbers))


def _key(node: exp.Expr, done: Done, base: Query) -> Shown:
    """A key of groups over outputs of the rows."""
    positions, plain = outputs_in(node), isinstance(node, exp.Column)
    kind = _type(node, done, base)
    formula, kind = (None, kind) if plain else _formula(node, done, base, kind)
    return Shown("key", kind, positions, (), plain, formula=formula)


def _formula(node: exp.Expr, done: Done, base: Query, kind: Type) -> tuple[str | None, Type]:
    """An expression over outputs and aggregates as Spark SQL, and its type; None if it cannot be computed.

    Of a number the type is told by the expression; ``kind`` is that of any other.
    """

    def of(name: str) -> Type:
        number = int(name[1:])
        return _of_output(number, done, base) if name[0] == "o" else _of_value(number, done, base)

    root = exp.Paren(this=node.copy())
    for column in list(root.find_all(exp.Column)):
        output, value = stands_for(column, "output"), stands_for(column, "value")
        if output is None and value is None:
            # Of a query around, or a word.
            return None, kind
        column.replace(exp.column(f"v{value}" if output is None else f"o{output}"))
    try:
        return formula_of(root.this, of, None if kind.family is Family.NUMBER else kind)
    except NotComputed:
        return None, kind


def _counts(operator: Operator, number: int) -> bool:
    """Whether what stands for a number is one of rows."""
    if not isinstance(operator, WindowCalls):
        return False
    aggregate = operator.functions[number].aggregate
    return aggregate is None or aggregate.kind in (AggregateKind.COUNT, AggregateKind.SKETCH)


def _type(node: exp.Expr, done: Done, base: Query) -> Type:
    """The type of what is shown; a number where it cannot be told."""

    def of(column: exp.Column) -> Type:
        if (number := stands_for(column, "output")) is not None:
            return _of_output(number, done, base)
        number = stands_for(column, "value")
        assert number is not None
        return _of_value(number, done, base)

    return type_of_expression(node, of)


def _of_output(number: int, done: Done, base: Query) -> Type:
    """The type of an output, or of a key."""
    if number < KEYS:
        return base.type_of(base.select[number].term)
    return _key(done.by[number - KEYS], done, base).type


def _of_value(number: int, done: Done, base: Query) -> Type:
    """The type of what an aggregate or a window function says."""
    operator = done.operator
    if isinstance(operator, Ranking):
        return INTEGER
    if isinstance(operator, WindowCalls):
        function = operator.functions[number]
        aggregate = function.aggregate
        if function.name in ("PERCENT_RANK", "CUME_DIST"):
            return DOUBLE
        if function.name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE") or aggregate is None:
            return INTEGER
    else:
        assert isinstance(operator, Grouping)
        aggregate = operator.aggregates[number]
    if aggregate.function in SESSIONS:
        relations = (o.relation for o in base.occurrences)
        return next(
            (
                relation.column(relation.timestamp).type
                for relation in relations
                if relation.timestamp is not None
            ),
            INTEGER,
        )
    if number not in done.over or aggregate.kind in _OWN_TYPES:
        return aggregate.type_of(lambda p: base.type_of(base.select[p].term))
    kind = _formula(done.over[number], done, base, _type(done.over[number], done, base))[1]
    if aggregate.kind is not AggregateKind.SUM:
        return kind
    return INTEGER if kind.resolution == 1 else DOUBLE


# Aggregates whose type is not that of what they read.
_OWN_TYPES = (AggregateKind.COUNT, AggregateKind.MEAN, AggregateKind.LIST, AggregateKind.SKETCH)


def _over_several(read: Selection, sql: str) -> Iterator[UnsupportedError]:
    """The outputs that are expressions over several tuples: others of the union have no columns for them."""
    for location in dict.fromkeys(output.location for output in read.base.select if output.within):
        what = "in a UNION an expression over several streams is not supported yet"
        yield UnsupportedError(what, location=location, text=sql, accepted="expressions over one stream each")


def _no_statement(sql: str) -> QueryError:
    """The error of a text that is a condition, a column or the like."""
    first = tokens(sql)[0]
    fix = meant(first.text, ["SELECT"], "write a SELECT statement")
    return QueryError(
        f"syntax error: {first.text[:40]} does not begin a statement",
        location=token_location(sql, first),
        accepted=ACCEPTED,
        fix=fix,
    )


def _named(node: exp.Expr) -> str:
    """The first word of a statement that is not a SELECT."""
    return str(node.this).upper() if isinstance(node, exp.Command) else node.key.upper()


def outputs(blocks: tuple[Block, ...]) -> tuple[tuple[str, Type], ...]:
    """Names (of the first SELECT) and types (common to all) of the answer columns.

    Raises:
        QueryError: the SELECTs differ in their number of columns, or in types that do not compare.
    """
    if not all(block.plain for block in blocks):
        return _common(blocks)
    first, *rest = (s.base for block in blocks for s in block.selections)
    columns = list(first.outputs)
    for query in rest:
        location = query.select[0].location if query.select else Location(1, 1)
        if len(query.select) != len(columns):
            raise QueryError(
                f"UNION of {len(columns)} and {len(query.select)} columns",
                location=location,
                accepted="the same number of columns in each SELECT",
            )
        for number, output in enumerate(query.select):
            name, kind = columns[number]
            both = common_type(kind, query.type_of(output.term))
            if both is None:
                raise QueryError(
                    f"column {number + 1} of the UNION is of type {kind.name}, and here of "
                    f"{query.type_of(output.term).name}",
                    location=output.location,
                    accepted=f"a {kind.family.value}",
                )
            columns[number] = name, both
    for number, (_, kind) in enumerate(columns):
        _refuse_rounded(blocks, number, kind)
    return tuple(columns)


def _common(blocks: tuple[Block, ...]) -> tuple[tuple[str, Type], ...]:
    first, *rest = (block.outputs for block in blocks)
    types = list(first)
    for block, columns in zip(blocks[1:], rest, strict=True):
        location = block.selections[0].base.occurrences[0].location
        if len(columns) != len(types):
            raise QueryError(
                f"UNION of {len(types)} and {len(columns)} columns",
                location=location,
                accepted="the same number of columns in each SELECT",
            )
        types = [
            (name, common_type(kind, theirs) or kind)
            for (name, kind), (_, theirs) in zip(types, columns, strict=True)
        ]
    return tuple(types)


def _refuse_rounded(blocks: tuple[Block, ...], number: int, kind: Type) -> None:
    """Refuse numbers that Spark rounds to the type of a column before it drops the duplicates.

    Raises:
        QueryError: with the place of the first that makes them so.
    """
    # What UNION ALL rounds is rounded in the answer alone; but a decimal of too many digits has no type.
    merged = [block.selections for block in blocks if block.ring.idempotent]
    groups = merged if kind.resolution is None else [tuple(s for block in blocks for s in block.selections)]
    for selections in groups:
        terms: list[Column | Constant] = []
        for query in (s.base for s in selections):
            output = query.select[number]
            terms.append(_term(query, output))
            if not exactly(*terms):
                raise QueryError(
                    f"Spark SQL rounds numbers of column {number + 1} of the UNION to {kind.name}, and then"
                    " drops duplicates",
                    location=output.location,
                    accepted=COMPARABLE,
                    fix="declare the columns of one type in the stream catalog (double reads decimals and"
                    " integers as well), or write a constant as a double: 0.1e0",
                )


def _term(query: Query, output: Output) -> Column | Constant:
    return output.term if isinstance(output.term, Constant) else query.column(output.term)
