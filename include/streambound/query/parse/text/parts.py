"""A query while its names are written out: parts over streams, and the rows that they make together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import expressions as exp

from streambound.query.catalog import Catalog
from streambound.query.dialects.grammar import MOVED, PUT_IN, SPAN, span_of
from streambound.query.dialects.languages import Language
from streambound.query.operators import Operator


@dataclass(frozen=True)
class Item:
    """An output: its name as written, the name that is meant, and what it is in terms of streams.

    A ``path`` leads into another column: it is no column of its own, and ``*`` does not show it.
    """

    name: str
    key: str
    value: exp.Expr
    path: bool = False


@dataclass(frozen=True)
class Partners:
    """Further tables of which a row must have a match, or (``negated``) none; ``outer``: of an outer join."""

    tables: tuple[exp.Table, ...]
    conditions: tuple[exp.Expr, ...]
    negated: bool
    outer: bool
    node: exp.Expr


@dataclass(frozen=True)
class Latest:
    """An as-of join with the table of that alias; sides and keys in terms of streams.

    ``conditions`` are what else ON asks of the tuple that is looked for, and ``tolerance`` is a comparison of
    the same times that says how far it may be away.
    """

    alias: str
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    left: exp.Expr
    right: exp.Expr
    before: bool
    strict: bool
    tolerance: exp.Expr | None
    outer: bool
    node: exp.Expr
    conditions: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Part:
    """One conjunction over streams, and the columns that it shows."""

    tables: tuple[exp.Table, ...]
    conditions: tuple[exp.Expr, ...]
    columns: tuple[Item, ...]
    partners: tuple[Partners, ...] = ()
    latest: tuple[Latest, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is a join with filters, and nothing more."""
        return not self.partners and not self.latest


@dataclass(frozen=True)
class Done:
    """What is done to the rows of parts (see ``operators``): ``shown`` in place of the operator's own.

    The columns of ``shown`` are those of ``output`` and ``value``: an output of the rows, or an aggregate.
    ``having`` is the condition on groups in the same words, and ``over`` what aggregates (by their numbers)
    read that is over several tuples.
    """

    operator: Operator
    shown: tuple[Item, ...]
    having: exp.Expr | None = None
    over: Mapping[int, exp.Expr] = field(default_factory=dict)
    # What rows are grouped by, where a key is over several tuples (``Grouping.by``).
    by: tuple[exp.Expr, ...] = ()


def output(number: int) -> exp.Column:
    """What stands in ``Done.shown`` for an output of the rows."""
    return column_of("#output", str(number))


def value(number: int) -> exp.Column:
    """What stands in ``Done.shown`` for an aggregate, or what a window function says."""
    return column_of("#value", str(number))


def stands_for(node: exp.Expr, what: str) -> int | None:
    """The number of an output or of a value (``what``), if a column is one."""
    if isinstance(node, exp.Column) and node.table == f"#{what}":
        return int(node.name)
    return None


@dataclass(frozen=True)
class Rows:
    """Rows of parts, added up, or united without duplicates; and what is done to them."""

    distinct: bool
    parts: tuple[Part, ...]
    done: Done | None = None

    @property
    def plain(self) -> bool:
        """Whether it is a union of joins with filters."""
        return self.done is None and all(part.plain for part in self.parts)

    @property
    def columns(self) -> tuple[Item, ...]:
        """What the rows show."""
        return self.parts[0].columns if self.done is None else self.done.shown

    def with_items(self, of: Callable[[tuple[Item, ...]], tuple[Item, ...]]) -> Rows:
        """The rows with other names of their columns."""
        if self.done is not None:
            return replace(self, done=replace(self.done, shown=of(self.done.shown)))
        return replace(self, parts=tuple(replace(part, columns=of(part.columns)) for part in self.parts))

    def called(self, names: tuple[Item, ...]) -> Rows:
        """The rows with the column names of other rows."""

        def of(items: tuple[Item, ...]) -> tuple[Item, ...]:
            renamed = [replace(item, name=n.name, key=n.key) for n, item in zip(names, items, strict=False)]
            return (*renamed, *items[len(renamed) :])

        return self.with_items(of)


@dataclass(frozen=True)
class View:
    """A named query, and the names around it (None: those of its text); ``columns`` are those it is given."""

    tree: exp.Expr
    columns: tuple[exp.Identifier, ...] = ()
    around: Mapping[str, View] | None = None


@dataclass(frozen=True)
class ReferencedQuery:
    """The query of another text, the views around it, the relations of its text, and its dialect."""

    query: View
    views: Mapping[str, View]
    catalog: Catalog
    language: Language


@dataclass(frozen=True)
class Source:
    """What one name in FROM stands for: its columns are None where they are not known."""

    key: str
    node: exp.Expr
    blocks: tuple[Rows, ...]
    names: tuple[Item, ...] | None
    # Whether its rows are elements of a value of the sources before it.
    elements: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for block in self.blocks for part in block.parts)


def conditions_of(select: exp.Select) -> Iterator[exp.Expr]:
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield join.args["on"]
    for part in ("where", "group", "having"):
        if (clause := select.args.get(part)) is not None:
            yield from clause.iter_expressions()


# Of a join within parentheses that an outer join is with: its tables come first, the join with the last.
GROUPED = "grouped"
# An outer join with an outer join in parentheses.
NESTED = "nested"


def unnested(joins: Iterable[exp.Join]) -> Iterator[exp.Join]:
    """Joins, with those in parentheses, and those that stand at a table, after it."""
    for join in joins:
        table = join.this
        inner = (
            table.this
            if isinstance(table, (exp.Subquery, exp.Paren)) and not table.args.get("alias")
            else None
        )
        if isinstance(inner, exp.Table):
            parts = {key: value for key, value in join.args.items() if key != "this"}
            further = [*(inner.args.get("joins") or []), *(table.args.get("joins") or [])]
            plain_table = inner.copy()
            plain_table.set("joins", None)
            if further and join.args.get("side"):
                yield from _grouped(join, [exp.Join(this=plain_table), *further])
                continue
            yield from unnested([_beside(join, plain_table, parts), *further])
            continue
        further = table.args.get("joins") or []
        if further:
            table = table.copy()
            table.set("joins", None)
            yield _beside(join, table, {key: value for key, value in join.args.items() if key != "this"})
            yield from unnested(further)
            continue
        yield join


def _grouped(join: exp.Join, inner: list[exp.Join]) -> Iterator[exp.Join]:
    """An outer join with a join in parentheses."""
    within = list(unnested(inner))
    for member in within[:-1]:
        member.meta[GROUPED] = True
        yield member
    last = within[-1]
    parts = {key: value for key, value in join.args.items() if key not in ("this", "on")}
    ons = [member.args["on"].copy() for member in (last, join) if member.args.get("on") is not None]
    made = _beside(join, last.this, parts)
    made.meta[NESTED] = any(member.args.get("side") or member.args.get("method") for member in within[1:])
    if ons:
        made.set(
            "on",
            ons[0]
            if len(ons) == 1
            else exp.And(this=exp.Paren(this=ons[0]), expression=exp.Paren(this=ons[1])),
        )
    yield made


def _beside(join: exp.Join, table: exp.Expr, parts: Mapping[str, object]) -> exp.Join:
    made = exp.Join(this=table, **parts)
    made.meta.update(join.meta)
    return made


def alias_of(table: exp.Expr) -> exp.Identifier | None:
    alias = table.args.get("alias")
    if alias is not None and isinstance(alias.this, exp.Identifier):
        return alias.this
    name = table.this if isinstance(table, exp.Table) else None
    return name if isinstance(name, exp.Identifier) else None


def plainly_named(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier) and not table.args.get("db")


def name_in(node: exp.Expr) -> exp.Identifier | str:
    return (
        node if isinstance(node, exp.Identifier) else node.this if isinstance(node, exp.Column) else node.name
    )


def is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def column_of(table: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def rebuilt(node: exp.Expr, of: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of a node over what ``of`` makes of each node directly below it."""
    made = node.copy()
    for name, given in node.args.items():
        if isinstance(given, exp.Expr):
            made.set(name, of(given))
        elif isinstance(given, list):
            made.set(name, [of(item) if isinstance(item, exp.Expr) else item for item in given])
    return made


def at_location(value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A copy of what a name stands for, at the place of the name."""
    made = value.copy()
    if not isinstance(made, exp.Column):
        made = exp.Paren(this=made) if isinstance(made, exp.Binary) else made
        made.meta[PUT_IN] = True
        return made
    if (span := span_of(node)) is not None:
        for part in made.find_all(exp.Identifier):
            part.meta.update(start=span[0], end=span[1] - 1)
    return made


def moved(tree: exp.Expr, span: tuple[int, int] | None) -> exp.Expr:
    """A copy of a tree of another text, all of it at one place of this one."""
    made: exp.Expr = tree.copy()
    for node in made.walk():
        for key in ("line", "col", "start", "end", SPAN):
            node.meta.pop(key, None)
        node.meta[MOVED] = True
        if span is not None:
            node.meta[SPAN] = span
            if isinstance(node, (exp.Identifier, exp.Literal)):
                node.meta.update(start=span[0], end=span[1] - 1)
    return made


def goes_by(part: Part, key: str) -> bool:
    """Whether a part is one stream, under the name of its source."""
    return len(part.tables) == 1 and part.tables[0].args["alias"].name.lower() == key.lower()


def apart(part: Part, taken: set[str], around: str) -> Part:
    """A part with its tables under names that are not taken (lower case), which it then takes."""
    renamed: dict[str, str] = {}
    for table in part.tables:
        name = table.args["alias"].name
        if name.lower() not in taken:
            taken.add(name.lower())
            continue
        number, free = 2, f"{around}_{name}"
        while free.lower() in taken:
            number, free = number + 1, f"{around}_{name}{number}"
        taken.add(free.lower())
        renamed[name] = free
    return with_names(part, renamed)


def with_names(part: Part, renamed: Mapping[str, str]) -> Part:
    if not renamed:
        return part

    def of(node: exp.Expr) -> exp.Expr:
        made = node.copy()
        for column in made.find_all(exp.Column):
            owner = column.args.get("table")
            if owner is not None and owner.name in renamed:
                owner.set("this", renamed[owner.name])
        return made

    def table(node: exp.Table) -> exp.Table:
        made = node.copy()
        name = made.args["alias"].this
        name.set("this", renamed.get(name.name, name.name))
        return made

    def partners(guard: Partners) -> Partners:
        return replace(guard, conditions=tuple(map(of, guard.conditions)))

    def latest(lookup: Latest) -> Latest:
        return replace(
            lookup,
            alias=renamed.get(lookup.alias, lookup.alias),
            keys=tuple((of(left), of(right)) for left, right in lookup.keys),
            left=of(lookup.left),
            right=of(lookup.right),
            tolerance=None if lookup.tolerance is None else of(lookup.tolerance),
            conditions=tuple(map(of, lookup.conditions)),
        )

    return Part(
        tuple(map(table, part.tables)),
        tuple(map(of, part.conditions)),
        tuple(replace(column, value=of(column.value)) for column in part.columns),
        tuple(map(partners, part.partners)),
        tuple(map(latest, part.latest)),
    )


def statement_tree(blocks: tuple[Rows, ...]) -> exp.Expr:
    """The parts as one statement: SELECTs joined by UNION ALL, and UNION within."""
    nodes = [_joined([select_tree(part, block.distinct) for part in block.parts], True) for block in blocks]
    return _joined(nodes, False)


def _joined(trees: list[exp.Expr], distinct: bool) -> exp.Expr:
    if len(trees) > 1:
        trees = [exp.Subquery(this=tree) if isinstance(tree, exp.Union) else tree for tree in trees]
    first, *rest = trees
    for node in rest:
        first = exp.Union(this=first, expression=node, distinct=distinct)
    return first


def select_tree(part: Part, distinct: bool) -> exp.Select:
    """A part as a SELECT over streams, without what it looks for beside them."""
    outputs: list[exp.Expr] = []
    for column in part.columns:
        named = isinstance(column.value, exp.Column) and column.value.name == column.name
        outputs.append(
            column.value.copy()
            if named or not column.name
            else exp.Alias(this=column.value.copy(), alias=exp.to_identifier(column.name, quoted=True))
        )
    first, *rest = part.tables
    made = exp.Select(
        expressions=outputs,
        from_=exp.From(this=first.copy()),
        joins=[exp.Join(this=table.copy()) for table in rest],
    )
    if distinct:
        made.set("distinct", exp.Distinct())
    if part.conditions:
        whole, *further = (condition.copy() for condition in part.conditions)
        for condition in further:
            whole = exp.And(this=_wrapped(whole), expression=_wrapped(condition))
        made.set("where", exp.Where(this=whole))
    return made


def _wrapped(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Or) else node
