"""Views, WITH, sub-queries in FROM, ``*``, USING and NATURAL, written out: only streams are left in FROM.

A query becomes a bag sum of *parts*, as in ``statement``: a part is one conjunction over streams, and some
parts may be united without duplicates. A view of plain parts is put in place of its name: its streams join
those of the query that names it, its conditions are added, its columns replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, meant, together
from streambound.query import blockers
from streambound.query.catalog import Catalog
from streambound.query.clock import (
    CLOCK,
    bounds_clock,
    clock_column,
    clocked,
    conjuncts,
    is_clock,
    reads_clock,
)
from streambound.query.dialects.grammar import WITHIN, span_of
from streambound.query.dialects.reading import Language
from streambound.query.differences import plain
from streambound.query.model import Kind, Relation
from streambound.query.names import Names
from streambound.query.parts import (
    Item,
    Part,
    Rows,
    Source,
    View,
    alias_of,
    called,
    column_of,
    conditions_of,
    plainly_named,
    unnested,
)
from streambound.query.scope import place_of

# More members than a person writes: a query of unions of unions would otherwise fill the memory.
MAX_PARTS = 64
_DIRECT = ("this", "alias")


class Inliner:
    """One text's queries over a catalog and the views of the text."""

    def __init__(
        self,
        sql: str,
        catalog: Catalog,
        language: Language,
        views: Mapping[str, View],
        unlisted: frozenset[str] = frozenset(),
    ) -> None:
        self._sql, self._catalog, self._language, self._views = sql, catalog, language, views
        self._unlisted = unlisted
        self._missing: list[UnsupportedError] = []
        self._open: list[exp.Expr] = []
        self._lenient = 0
        # Comparisons that are decided wider than they are written, and whether the clock is read.
        self.relaxed: list[exp.Expr] = []
        self.clock = False

    def written_out(self, tree: exp.Expr) -> exp.Expr:
        """The same query over streams alone; as it came where it is so already.

        Raises:
            QueryError: a name that is not known, or is not unique.
            UnsupportedError: with everything in it that is not decided.
        """
        if self._is_plain(tree):
            return tree
        blocks = self._query(tree, self._views, set(), None)
        if not self._missing:
            blocks = tuple(Rows(one.distinct, self._timed(one)) for one in blocks)
        if self._missing:
            raise together(self._missing)
        return statement_tree(blocks)

    def _timed(self, block: Rows) -> tuple[Part, ...]:
        """The parts of a block, with the clock in FROM of those whose answers it ends."""
        made = []
        for part in block.parts:
            conditions = [one for condition in part.conditions for one in conjuncts(condition)]
            if not any(map(reads_clock, conditions)):
                made.append(part)
                continue
            self.clock = True
            stamps = {
                (table.args["alias"].name, stamp)
                for table in part.tables
                if (stamp := self.relation_of(table).timestamp) is not None
            }
            for condition in conditions:
                if reads_clock(condition) and not bounds_clock(condition, stamps):
                    self._missing.append(
                        blockers.blocker("NOW() but beside a timestamp", condition, self._sql)
                    )
            if block.distinct and len(block.parts) > 1:
                self._missing.append(blockers.blocker("NOW() in a UNION", conditions[0], self._sql))
            tables, conditions = clocked(part.tables, conditions, sorted(stamps))
            columns = part.columns
            if block.distinct and len(tables) > len(part.tables):
                columns = (*columns, Item(CLOCK.name, CLOCK.name, clock_column()))
            made.append(Part(tables, tuple(conditions), columns))
        return tuple(made)

    def missing(self, tree: exp.Expr) -> tuple[UnsupportedError, ...]:
        """What in the clauses of a query is not decided; none of one that is written out."""
        try:
            self.written_out(tree)
        except UnsupportedError as error:
            return error.blockers
        except QueryError:
            pass
        return ()

    def _is_plain(self, tree: exp.Expr) -> bool:
        """Whether nothing has to be written out: then a query is read as it stands."""
        if isinstance(tree, exp.Union):
            parts = [
                value for key, value in tree.args.items() if key not in ("this", "expression", "distinct")
            ]
            if any(parts):
                return False
            return self._is_plain(tree.this) and self._is_plain(tree.expression)
        if isinstance(tree, exp.Subquery) and not [k for k, v in tree.args.items() if v and k != "this"]:
            return self._is_plain(tree.this)
        if not isinstance(tree, exp.Select):
            return not isinstance(tree, (exp.Query, exp.DDL))
        if tree.args.get("from_") is None:
            return True
        if any(
            v for k, v in tree.args.items() if k not in ("expressions", "distinct", "from_", "joins", "where")
        ):
            return False
        distinct = tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            return False
        joins = tree.args.get("joins") or []
        if any(
            value for join in joins for key, value in join.args.items() if key not in ("this", "on", "kind")
        ):
            return False
        if any(str(join.args.get("kind") or "INNER") not in ("INNER", "CROSS") for join in joins):
            return False
        tables = [tree.args["from_"].this, *(join.this for join in joins)]
        if not all(self._is_direct(table) for table in tables):
            return False
        awkward = (exp.Star, exp.Query, exp.Window, exp.AggFunc, exp.Filter)
        if self._language.name != "spark" or any(part.find(*awkward) for part in tree.iter_expressions()):
            return False
        conditions = list(conditions_of(tree))
        if any(is_clock(node) for condition in conditions for node in condition.walk()):
            return False
        return all(plain(condition, "spark", self.relaxed) is condition for condition in conditions)

    def _is_direct(self, table: exp.Expr) -> bool:
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            return False
        alias = table.args.get("alias")
        if any(value for key, value in table.args.items() if key not in _DIRECT) or table.meta.get(WITHIN):
            return False
        if (alias is not None and alias.args.get("columns")) or self._key(table.this) in self._views:
            return False
        relation = self._catalog.find(table.name)
        return relation is None or (_decided(relation) and not relation.opaque)

    def _key(self, name: exp.Expr | str) -> str:
        if isinstance(name, str):
            return self._language.folded(name, False)
        return self._language.folded(name.name, bool(name.args.get("quoted")))

    # Queries

    def _query(
        self, node: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        if len(self._open) > 60:
            raise QueryError("views and sub-queries are nested too deeply", place=place_of(node, self._sql))
        if isinstance(node, (exp.Subquery, exp.Paren)):
            around = self._with(node, around)
            self._missing += blockers.of_clauses(node, self._sql)
            return self._query(node.this, around, taken, hint)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, self._with(node, around), taken, hint)
        if isinstance(node, exp.Select):
            return self._select(node, self._with(node, around), taken, hint)
        self._missing.append(
            blockers.blocker(node.key.upper().replace("TABLE", "TABLE ..."), node, self._sql)
        )
        return ()

    def _with(self, node: exp.Expr, around: Mapping[str, View]) -> Mapping[str, View]:
        clause = node.args.get("with_")
        if clause is None:
            return around
        known = dict(around)
        names = {self._key(cte.args["alias"].this) for cte in clause.expressions if cte.args.get("alias")}
        for cte in clause.expressions:
            key = self._key(cte.args["alias"].this)
            named = {self._key(table.this) for table in cte.this.find_all(exp.Table) if plainly_named(table)}
            if clause.args.get("recursive") and named & (names - set(known) | {key}):
                self._missing.append(blockers.blocker("WITH RECURSIVE", clause, self._sql))
                known[key] = View(exp.Null())
                continue
            known[key] = View(cte.this, tuple(cte.args["alias"].args.get("columns") or ()), dict(known))
        return known

    def _set_operation(
        self, node: exp.SetOperation, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        self._missing += blockers.of_clauses(node, self._sql)
        if not isinstance(node, exp.Union) or node.args.get("by_name"):
            what = "UNION BY NAME" if isinstance(node, exp.Union) else node.key.upper()
            self._missing.append(blockers.blocker(what, node, self._sql))
        sides = []
        for side in (node.this, node.expression):
            mine = set(taken)
            sides.append(self._query(side, around, mine, hint))
        members = (*sides[0], *sides[1])
        if members and members[0].parts:
            # The names are those of the first member.
            names = members[0].parts[0].columns
            members = tuple(Rows(one.distinct, tuple(called(names, p) for p in one.parts)) for one in members)
        # ClickHouse asks for one of the words; without any, sqlglot leaves it open.
        if not node.args.get("distinct"):
            return members
        return (Rows(True, tuple(part for block in members for part in block.parts)),)

    def _select(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        before = len(self._missing)
        self._open.append(select)
        try:
            return self._selected(select, around, taken, hint)
        finally:
            self._open.pop()
            if len(self._missing) > before:
                # What else a person has to know of: which functions there are beside.
                items = [*select.expressions, *conditions_of(select)]
                for item in items:
                    self._missing += blockers.of_expression(item, self._sql, functions=True)

    def _selected(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        self._missing += blockers.of_clauses(select, self._sql)
        from_ = select.args.get("from_")
        if from_ is None:
            return self._without_from(select)
        joins = [exp.Join(this=from_.this), *(select.args.get("joins") or [])]
        joins = list(unnested(joins))
        tables = [join.this for join in joins]
        taken.update(self._key(name) for name in map(alias_of, tables) if name)
        scope = Names(self, [])
        conditions: list[tuple[exp.Expr, int]] = []
        for number, join in enumerate(joins):
            if number and (kind := blockers.of_join(join, self._sql)) is not None:
                self._missing.append(kind)
            scope.sources.append(self._source(join.this, around, taken, hint if len(joins) == 1 else None))
            scope.join(join)
            if join.args.get("on") is not None:
                conditions.append((join.args["on"], len(scope.sources)))
            if WITHIN in join.this.meta:
                scope.within.append((join.this, len(scope.sources)))
        if (where := select.args.get("where")) is not None:
            conditions.append((where.this, len(scope.sources)))
        for item in (*select.expressions, *(condition for condition, _ in conditions)):
            self._missing += blockers.of_expression(item, self._sql)
            for query in blockers.subqueries(item):
                self._beside(query, around)
        self._refuse_rank(select, scope)
        return self._combined(select, scope, [condition for condition, _ in conditions])

    def _without_from(self, select: exp.Select) -> tuple[Rows, ...]:
        if not self._missing:
            place = place_of(select, self._sql)
            raise QueryError("there is no FROM", place=place, fix="name a stream after FROM")
        return ()

    def _beside(self, query: exp.Expr, around: Mapping[str, View]) -> None:
        """What is not decided in a query within an expression, which itself is refused."""
        self._lenient += 1
        try:
            self._query(query, around, set(), None)
        except QueryError as error:
            if isinstance(error, UnsupportedError):
                self._missing += error.blockers
        finally:
            self._lenient -= 1

    def _refuse_rank(self, select: exp.Select, scope: Names) -> None:
        """Name a rank that is compared outside: together they are the first n of each group."""
        where = select.args.get("where")
        for column in () if where is None else where.find_all(exp.Column):
            for source in scope.sources:
                inner = source.node.this if isinstance(source.node, exp.Subquery) else None
                for item in inner.expressions if isinstance(inner, exp.Select) else ():
                    if item.alias_or_name.lower() == column.name.lower() and blockers.ranked(item):
                        self._missing.append(
                            blockers.blocker("top-n (a rank that is compared)", column, self._sql)
                        )
                        return

    # Sources

    def _source(
        self, table: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> Source:
        alias = table.args.get("alias")
        name = alias_of(table)
        key = self._key(name) if name is not None else f"#{len(self._open)}"
        if isinstance(table, exp.Subquery) and isinstance(table.this, (exp.Query, exp.Subquery)):
            blocks = self._query(table.this, around, taken, name.name if name is not None else hint)
        elif isinstance(table, exp.Query):
            blocks = self._query(table, around, taken, hint)
        elif not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
            self._missing.append(blockers.of_source(table, self._sql))
            for query in blockers.subqueries(table):
                self._beside(query, around)
            return Source(key, table, (), None)
        elif (view := self._view(table, around)) is not None:
            blocks = self._viewed(view, table, taken)
        else:
            return self._streamed(table, key, hint)
        parts = [part for block in blocks for part in block.parts]
        if not parts:
            return Source(key, table, (), None)
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        blocks = self._renamed(blocks, given)
        return Source(key, table, blocks, blocks[0].parts[0].columns)

    def _view(self, table: exp.Table, around: Mapping[str, View]) -> View | None:
        found = around.get(self._key(table.this)) if plainly_named(table) else None
        return found or around.get(".".join(map(self._key, table.parts)))

    def _viewed(self, view: View, table: exp.Table, taken: set[str]) -> tuple[Rows, ...]:
        if isinstance(view.tree, exp.Null):
            return ()
        if any(tree is view.tree for tree in self._open):
            self._missing.append(blockers.blocker("a view that reads itself", table, self._sql))
            return ()
        self._open.append(view.tree)
        try:
            around = view.around or self._views
            blocks = self._query(view.tree, around, taken, (table.args.get("alias") or table).name)
        finally:
            self._open.pop()
        return self._renamed(blocks, view.columns)

    def _renamed(self, blocks: tuple[Rows, ...], names: tuple[exp.Expr, ...]) -> tuple[Rows, ...]:
        if not names:
            return blocks

        def of(part: Part) -> Part:
            pairs = zip(names, part.columns[: len(names)], strict=False)
            columns = [Item(n.name, self._key(n), c.value) for n, c in pairs]
            return replace(part, columns=(*columns, *part.columns[len(names) :]))

        return tuple(Rows(block.distinct, tuple(map(of, block.parts))) for block in blocks)

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
        if (version := table.args.get("version")) is not None and relation.kind is not Kind.STATIC:
            joined = "SYSTEM" in self._sql[slice(*(span_of(version) or (0, 0)))].upper()
            what = "a temporal join (FOR SYSTEM_TIME AS OF)" if joined else "VERSION AS OF"
            self._missing.append(blockers.blocker(what, version, self._sql))
        for part in ("sample", "pivots", "partition", "when"):
            if (value := table.args.get(part)) is not None and value != []:
                node = value[0] if isinstance(value, list) else value
                what = {"sample": "TABLESAMPLE", "pivots": "PIVOT"}.get(part, part.upper())
                what = "MATCH_RECOGNIZE" if isinstance(node, exp.MatchRecognize) else what
                self._missing.append(blockers.blocker(what, node, self._sql))
        if not _decided(relation):
            what = f"{relation.name} is a versioned table, of which the latest row of each key is state: it"
            self._missing.append(
                blockers.blocker("a versioned table", table, self._sql, f"{what} is not decided yet")
            )
        columns = [
            Item(column.name, self._key(column.name), column_of(called, column.name))
            for column in relation.columns
        ]
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        (block,) = self._renamed((Rows(False, (Part((plain_table,), (), tuple(columns)),)),), given)
        return Source(key, table, (block,), block.parts[0].columns)

    def _relation(self, table: exp.Table) -> Relation:
        dotted = ".".join(part.name for part in table.parts)
        found = self._catalog.find(dotted) or self._catalog.find(table.name)
        if found is None and table.name.lower() in self._unlisted:
            raise QueryError(
                f"the columns of {dotted} are not known: its declaration does not list them",
                place=place_of(table, self._sql),
                fix=f"list the columns of {dotted} in the stream catalog (--catalog FILE)",
            )
        if found is None:
            raise QueryError(
                f"unknown stream {dotted}",
                place=place_of(table, self._sql),
                accepted=", ".join(self._catalog.names) or None,
                fix=meant(
                    dotted, self._catalog.names, f"declare {dotted} in the catalog, or correct the name"
                ),
            )
        return found

    # Combination

    def _combined(self, select: exp.Select, scope: Names, conditions: list[exp.Expr]) -> tuple[Rows, ...]:
        distinct = select.args.get("distinct") is not None
        known = [source for source in scope.sources if source.names is not None]
        if len(known) < len(scope.sources) or self._lenient:
            # Something in FROM is refused: names cannot be told from those it would have.
            return ()
        merged = [block for source in known for block in source.blocks if block.distinct]
        if merged and not distinct and not (len(known) == 1 and scope.passes(select)):
            self._missing.append(blockers.blocker("DISTINCT in a sub-query", known[0].node, self._sql))
        number = 1
        for source in known:
            number *= len(source.parts)
        if number > MAX_PARTS:
            raise UnsupportedError(
                f"the unions in FROM make {number:,} members",
                place=place_of(select, self._sql),
                accepted=f"at most {MAX_PARTS}",
            )
        try:
            return self._parts(select, scope, conditions, known, distinct)
        except QueryError:
            # What is refused may have names of its own, such as the start of a window.
            if not self._missing:
                raise
            return ()

    def _parts(
        self,
        select: exp.Select,
        scope: Names,
        conditions: list[exp.Expr],
        known: list[Source],
        distinct: bool,
    ) -> tuple[Rows, ...]:
        if distinct or len(known) != 1:
            chosen = product(*(source.parts for source in known))
            parts = tuple(scope.part(select, conditions, of) for of in chosen)
            return (Rows(True, parts),) if distinct else tuple(Rows(False, (part,)) for part in parts)
        return tuple(
            Rows(block.distinct, tuple(scope.part(select, conditions, (part,)) for part in block.parts))
            for block in known[0].blocks
        )

    @property
    def text(self) -> str:
        """The user's text."""
        return self._sql

    @property
    def language(self) -> Language:
        """The dialect of the text."""
        return self._language

    def key(self, name: exp.Expr | str) -> str:
        """The name that is meant."""
        return self._key(name)

    def relation_of(self, table: exp.Table) -> Relation:
        """The relation of a table in a part."""
        found = self._catalog.find(table.name)
        assert found is not None
        return found

    def refuse(self, error: UnsupportedError) -> None:
        """Note what is not decided."""
        self._missing.append(error)


def _decided(relation: Relation) -> bool:
    return relation.kind is not Kind.VERSIONED
