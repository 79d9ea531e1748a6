"""What stands in FROM: a stream, a view, a sub-query, the query of another text, a function of windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, meant
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.column_types import Family, parse_type
from streambound.query.dialects.grammar import span_of
from streambound.query.expressions import blockers
from streambound.query.model import Column, Relation, RelationKind
from streambound.query.parse.inlining.names import Names
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.text.ddl import COMPUTED
from streambound.query.parse.text.idioms import (
    elements_of,
)
from streambound.query.parse.text.nested_columns import is_path
from streambound.query.parse.text.parts import (
    Item,
    Part,
    ReferencedQuery,
    Rows,
    Source,
    View,
    alias_of,
    column_of,
    moved,
    plainly_named,
)
from streambound.query.scope import location_of
from streambound.query.windows import Window, tabled

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner


class Sources:
    """The sources of one text's queries, each as the rows that it has.

    Args:
        unlisted: names of relations whose columns are not known, in lower case.
        reader: reads the query of another text.
    """

    def __init__(
        self, inliner: Inliner, unlisted: frozenset[str], reader: Callable[[NamedQuery], ReferencedQuery]
    ) -> None:
        self._inliner, self._unlisted, self._reader = inliner, unlisted, reader
        # Queries of other texts that are being put in place of their names.
        self._entered: list[NamedQuery] = []

    def source(
        self, table: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> Source:
        alias = table.args.get("alias")
        windowed = tabled(table)
        name = alias_of(table) or (None if windowed is None else alias_of(_as_table(windowed[0])))
        key = self._inliner.key(name) if name is not None else f"#{len(self._inliner.open)}"
        if isinstance(table, exp.Subquery) and isinstance(table.this, (exp.Query, exp.Subquery)):
            blocks = self._inliner.query(table.this, around, taken, name.name if name is not None else hint)
        elif isinstance(table, exp.Query):
            blocks = self._inliner.query(table, around, taken, hint)
        elif (elements := elements_of(table)) is not None:
            named = tuple(alias.args.get("columns") or ()) if alias is not None else ()
            named = named or (() if name is None else (name,))
            items = tuple(Item(n.name, self._inliner.key(n), elements.copy()) for n in named)
            return Source(key, table, (Rows(False, (Part((), (), items),)),), items, True)
        elif isinstance(table, exp.Values):
            blocks = tuple(self._written_down(table))
        elif (stored := self._stored(table)) is not None:
            return self._streamed(stored, key, hint)
        elif windowed is not None:
            blocks = self._windowed(table, *windowed, around, taken, hint)
        elif not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
            self._inliner.refused.append(blockers.of_source(table, self._inliner.text))
            for query in blockers.subqueries(table):
                self._inliner.beside(query, around)
            return Source(key, table, (), None)
        elif (view := self._view(table, around)) is not None:
            blocks = self._viewed(view, table, taken, hint)
        elif (named_query := self._named_query(table)) is not None:
            blocks = self._registered(named_query, table, taken, hint)
        else:
            return self._streamed(table, key, hint)
        parts = [part for block in blocks for part in block.parts]
        if not parts:
            return Source(key, table, (), None)
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        blocks = self._renamed(blocks, given)
        return Source(key, table, blocks, blocks[0].columns)

    def _stored(self, table: exp.Expr) -> exp.Table | None:
        """Timeplus: ``table(s)``, the rows that a stream has had so far, as a static relation; else None."""
        call = table.this if isinstance(table, exp.Table) else None
        if self._inliner.language.name != "timeplus" or not isinstance(call, exp.Anonymous):
            return None
        if str(call.this).upper() != "TABLE" or len(call.expressions) != 1:
            return None
        made = _as_table(call.expressions[0])
        if not isinstance(made, exp.Table) or self._view(made, self._inliner.views) is not None:
            return None
        relation = self._relation(made)
        name = f"table({relation.name})"
        if self._inliner.catalog.find(name) is None:
            self._inliner.declare(
                replace(relation, name=name, kind=RelationKind.STATIC, timestamp=None, primary_key=())
            )
            self._inliner.stored.append(table)
        stored = exp.Table(this=exp.to_identifier(name, quoted=True), alias=table.args.get("alias"))
        stored.this.meta.update(made.this.meta)
        stored.meta.update(table.meta)
        return stored

    def _written_down(self, values: exp.Values) -> Iterator[Rows]:
        """Rows that a person writes: each is constants beside the rows of the streams."""
        for row in values.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            for cell in cells:
                if cell.find(exp.Column, exp.Query):
                    raise blockers.blocker("VALUES of what is no constant", cell, self._inliner.text)
            items = (Item(f"col{n}", self._inliner.key(f"col{n}"), cell) for n, cell in enumerate(cells, 1))
            yield Rows(False, (Part((), (), tuple(items)),))

    def columns(self, table: exp.Expr, around: Mapping[str, View]) -> list[str] | None:
        """The columns of a stream in FROM, in lower case; None of a view or a sub-query."""
        if not isinstance(table, exp.Table) or self._view(table, around) is not None:
            return None
        relation = self._inliner.catalog.find(".".join(part.name for part in table.parts))
        if relation is None:
            return None
        return [
            name.lower() for name in (*(c.name for c in relation.columns), *(n for n, _ in relation.opaque))
        ]

    def _windowed(
        self,
        table: exp.Expr,
        of: exp.Expr,
        window: Window,
        around: Mapping[str, View],
        taken: set[str],
        hint: str | None,
    ) -> tuple[Rows, ...]:
        """The rows of a table with the windows that each is in."""
        alias = table.args.get("alias")
        inner = _as_table(of.copy())
        if isinstance(inner, exp.Table) and alias is not None and not inner.args.get("alias"):
            inner.set("alias", exp.TableAlias(this=alias.this.copy()) if alias.this is not None else None)
        source = self.source(inner, around, taken, hint)
        if source.names is None:
            return ()
        names = Names.of(self._inliner, source)
        names.sources = [
            self._inliner.readable(source, names, exp.Select(expressions=[exp.Star()]), 0, False)
        ]
        stamp = window.stamp if window.stamp is not None else names.stamp(window.node)
        made = []
        for rows in names.sources[0].blocks:
            parts = []
            for part in rows.parts:
                of_part = Substitution(names, [part]).of(stamp)
                edges = (("window_start", False), ("window_end", True), ("window_time", True))
                further = (
                    Item(name, self._inliner.key(name), window.value(end, window.node, of_part))
                    for name, end in edges
                )
                parts.append(replace(part, columns=(*part.columns, *further)))
            made.append(replace(rows, parts=tuple(parts)))
        return tuple(made)

    def is_looked_up(self, source: Source) -> bool:
        """ksqlDB: whether a join looks a row up in a table as it is when the row comes."""
        kinds = {self._inliner.relation_of(table).kind for part in source.parts for table in part.tables}
        return self._inliner.language.name == "ksql" and kinds == {RelationKind.VERSIONED}

    def is_static(self, source: Source) -> bool:
        """Whether a source is of relations that never change."""
        return all(
            self._inliner.relation_of(t).kind is RelationKind.STATIC
            for part in source.parts
            for t in part.tables
        )

    def _view(self, table: exp.Table, around: Mapping[str, View]) -> View | None:
        view = around.get(self._inliner.key(table.this)) if plainly_named(table) else None
        return view or around.get(".".join(map(self._inliner.key, table.parts)))

    def _viewed(self, view: View, table: exp.Table, taken: set[str], hint: str | None) -> tuple[Rows, ...]:
        if isinstance(view.tree, exp.Null):
            return ()
        if any(tree is view.tree for tree in self._inliner.open):
            self._inliner.refuse("a view that reads itself", table)
            return ()
        self._inliner.open.append(view.tree)
        try:
            around = self._inliner.views if view.around is None else view.around
            called = hint or (table.args.get("alias") or table).name
            blocks = self._inliner.query(view.tree, around, taken, called)
        finally:
            self._inliner.open.pop()
        return self._ordered(table, self._renamed(blocks, view.columns))

    def _ordered(self, table: exp.Table, blocks: tuple[Rows, ...]) -> tuple[Rows, ...]:
        """The rows of a view of one stream, in the order of the time that the catalog gives the view."""
        declared = self._inliner.catalog.find(table.name)
        stamp = None if declared is None else declared.timestamp
        part = blocks[0].parts[0] if len(blocks) == 1 and len(blocks[0].parts) == 1 else None
        if stamp is None or part is None or not blocks[0].plain or len(part.tables) != 1 or part.conditions:
            return blocks
        relation = self._inliner.relation_of(part.tables[0])
        asked = [item for item in part.columns if item.name.lower() == stamp.lower()]
        if relation.timestamp is not None or relation.kind is not RelationKind.STREAM or len(asked) != 1:
            return blocks
        value = asked[0].value.unnest()
        plain = [c for c in relation.columns if isinstance(value, exp.Column) and c.name == value.name]
        if plain and plain[0].type.family is not Family.TIMESTAMP:
            return blocks
        column = plain[0] if plain else Column(COMPUTED, parse_type("timestamp"), nullable=False)
        self._inliner.order(relation, column)
        made = replace(asked[0], value=column_of(part.tables[0].args["alias"].name, column.name))
        columns = tuple(made if item is asked[0] else item for item in part.columns)
        return (replace(blocks[0], parts=(replace(part, columns=columns),)),)

    def _named_query(self, table: exp.Table) -> NamedQuery | None:
        """The query of another text that a name is; None where there is a relation of that name."""
        dotted = ".".join(part.name for part in table.parts)
        if self._inliner.catalog.find(dotted) is not None or dotted.lower() in self._unlisted:
            return None
        return self._inliner.catalog.query(dotted)

    def _registered(
        self, named_query: NamedQuery, table: exp.Table, taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        """A query of another text, as if all of it stood where it is named."""
        if named_query in self._entered:
            self._inliner.refuse("a query that reads itself", table)
            return ()
        location, before = location_of(table, self._inliner.text), len(self._inliner.refused)
        self._entered.append(named_query)
        try:
            script = self._reader(named_query)
            if script.language is not self._inliner.language:
                titles = f"{script.language.title}, and this query in {self._inliner.language.title}"
                raise QueryError(f"it is written in {titles}", fix="write both in one dialect")
            span = span_of(table)
            scope: dict[str, View] = {}
            for name, view in script.views.items():
                scope[name] = View(moved(view.tree, span), view.columns, scope)
            tree = moved(script.query.tree, span)
            self._declare(script.catalog, [tree, *(view.tree for view in scope.values())])
            called = hint or (table.args.get("alias") or table).name
            blocks = self._inliner.query(tree, scope, taken, called)
            return self._renamed(blocks, script.query.columns)
        except QueryError as error:
            if isinstance(error, UnsupportedError) and error.location is not None:
                raise
            raise QueryError(
                f"the query {named_query.name} cannot be read here: {error.message}",
                location=location,
                accepted=error.accepted,
                fix=error.fix or f"streambound check says more of {named_query.name}",
            ) from None
        finally:
            self._entered.pop()
            for missing in self._inliner.refused[before:]:
                if not missing.message.startswith("in the query "):
                    missing.message = f"in the query {named_query.name}: {missing.message}"

    def _declare(self, catalog: Catalog, trees: Iterable[exp.Expr]) -> None:
        """Take over the relations that a query of another text reads, as that text knows them."""
        names = {table.name for tree in trees for table in tree.find_all(exp.Table)}
        for relation in {stored for name in names if (stored := catalog.find(name)) is not None}:
            here = self._inliner.catalog.find(relation.name)
            if here is None:
                self._inliner.declare(relation)
            elif here != relation:
                raise QueryError(
                    f"it reads {relation.name}, which this text declares otherwise",
                    fix="declare it once, in the stream catalog",
                )

    def _renamed(self, blocks: tuple[Rows, ...], names: tuple[exp.Expr, ...]) -> tuple[Rows, ...]:
        if not names:
            return blocks

        def of(items: tuple[Item, ...]) -> tuple[Item, ...]:
            pairs = zip(names, items[: len(names)], strict=False)
            renamed = [replace(item, name=n.name, key=self._inliner.key(n)) for n, item in pairs]
            return (*renamed, *items[len(names) :])

        return tuple(rows.with_items(of) for rows in blocks)

    def _streamed(self, table: exp.Table, key: str, hint: str | None) -> Source:
        relation = self._relation(table)
        alias = table.args.get("alias")
        # The name of the sub-query around it is the one that a person knows it by.
        called = hint or (alias.name if alias is not None and alias.this is not None else table.name)
        plain_table = exp.Table(this=exp.to_identifier(relation.name, quoted=True))
        plain_table.set("alias", exp.TableAlias(this=exp.to_identifier(called, quoted=True)))
        plain_table.meta.update(table.meta)
        for node in (plain_table.this, plain_table.args["alias"].this):
            node.meta.update(table.this.meta if isinstance(table.this, exp.Identifier) else {})
        version = table.args.get("version")
        if version is not None and relation.kind is not RelationKind.STATIC:
            words = self._inliner.text[slice(*(span_of(version) or (0, 0)))]
            if "SYSTEM" not in words.upper():
                self._inliner.refuse("VERSION AS OF", version)
        for part in ("sample", "pivots", "partition", "when"):
            if (value := table.args.get(part)) is not None and value != []:
                node = value[0] if isinstance(value, list) else value
                what = {"sample": "TABLESAMPLE", "pivots": "PIVOT"}.get(part, part.upper())
                what = "MATCH_RECOGNIZE" if isinstance(node, exp.MatchRecognize) else what
                self._inliner.refuse(what, node)
        paths = [c.name for c in relation.columns if is_path(relation, c.name)]
        whole = (c.name for c in relation.columns if c.name not in paths)
        columns = [
            Item(name, self._inliner.key(name), column_of(called, name), name in paths)
            for name in (*whole, *(name for name, _ in relation.opaque), *paths)
        ]
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        (block,) = self._renamed((Rows(False, (Part((plain_table,), (), tuple(columns)),)),), given)
        return Source(key, table, (block,), block.parts[0].columns)

    def _relation(self, table: exp.Table) -> Relation:
        dotted = ".".join(part.name for part in table.parts)
        relation = self._inliner.catalog.find(dotted) or self._inliner.catalog.find(table.name)
        if relation is None and table.name.lower() in self._unlisted:
            raise QueryError(
                f"the columns of {dotted} are not known: its declaration does not list them",
                location=location_of(table, self._inliner.text),
                fix=f"list the columns of {dotted} in the stream catalog (--catalog FILE)",
            )
        if relation is None:
            raise QueryError(
                f"unknown stream {dotted}",
                location=location_of(table, self._inliner.text),
                accepted=", ".join(self._inliner.catalog.names) or None,
                fix=meant(
                    dotted,
                    self._inliner.catalog.names,
                    f"declare {dotted} in the catalog, or correct the name",
                ),
            )
        return relation


def _as_table(node: exp.Expr) -> exp.Expr:
    """What a window function is of: the name of a table reads as that of a column."""
    if not isinstance(node, exp.Column):
        return node
    parts = [part.copy() for part in node.parts]
    made = exp.Table(this=parts[-1], db=parts[-2] if len(parts) > 1 else None)
    made.meta.update(node.meta)
    return made
