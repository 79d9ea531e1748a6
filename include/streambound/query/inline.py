"""Views, WITH, sub-queries in FROM, ``*``, USING and NATURAL, written out: only streams are left in FROM.

A query becomes a bag sum of *parts*, as in ``statement``: a part is one conjunction over streams, and some
parts may be united without duplicates. A view of plain parts is put in place of its name: its streams join
those of the query that names it, its conditions are added, its columns replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, meant, together
from streambound.query import blockers
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.clock import (
    CLOCK,
    bounds_clock,
    clock_column,
    clocked,
    conjuncts,
    is_clock,
    reads_clock,
    with_clock,
)
from streambound.query.declared import STAMPS
from streambound.query.dialects.grammar import MOVED, SPAN, WITHIN, span_of
from streambound.query.dialects.reading import Language
from streambound.query.differences import band, microseconds, plain
from streambound.query.model import Kind, Relation
from streambound.query.scope import is_word, place_of

# More members than a person writes: a query of unions of unions would otherwise fill the memory.
MAX_PARTS = 64
_DIRECT = ("this", "alias")


@dataclass(frozen=True)
class _Column:
    """An output: its name as written, the name that is meant, and what it is in terms of streams."""

    name: str
    key: str
    value: exp.Expr


@dataclass(frozen=True)
class _Part:
    tables: tuple[exp.Table, ...]
    conditions: tuple[exp.Expr, ...]
    columns: tuple[_Column, ...]


@dataclass(frozen=True)
class _Block:
    distinct: bool
    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class View:
    """A named query, and the names around it (None: those of its text); ``columns`` are those it is given."""

    tree: exp.Expr
    columns: tuple[exp.Identifier, ...] = ()
    around: Mapping[str, View] | None = None


@dataclass(frozen=True)
class Other:
    """The query of another text, the views around it, the relations of its text, and its dialect."""

    query: View
    views: Mapping[str, View]
    catalog: Catalog
    language: Language


@dataclass(frozen=True)
class _Source:
    """What one name in FROM stands for: its columns are None where they are not known."""

    key: str
    node: exp.Expr
    blocks: tuple[_Block, ...]
    names: tuple[_Column, ...] | None

    @property
    def parts(self) -> tuple[_Part, ...]:
        return tuple(part for block in self.blocks for part in block.parts)


class Inliner:
    """One text's queries over a catalog and the views of the text."""

    def __init__(
        self,
        sql: str,
        catalog: Catalog,
        language: Language,
        views: Mapping[str, View],
        unlisted: frozenset[str],
        reader: Callable[[NamedQuery], Other],
    ) -> None:
        self._sql, self.catalog, self._language, self._views = sql, catalog, language, views
        self._unlisted, self._reader = unlisted, reader
        # Queries of other texts that are being put in place of their names.
        self._others: list[NamedQuery] = []
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
            blocks = tuple(_Block(one.distinct, self._timed(one)) for one in blocks)
        if self._missing:
            raise together(self._missing)
        return _tree(blocks)

    def _timed(self, block: _Block) -> tuple[_Part, ...]:
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
                columns = (*columns, _Column(CLOCK.name, CLOCK.name, clock_column()))
            made.append(_Part(tables, tuple(conditions), columns))
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
        conditions = list(_conditions_of(tree))
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
        relation = self.catalog.find(table.name)
        if relation is None:
            return self.catalog.query(table.name) is None
        return _decided(relation) and not relation.opaque

    def _key(self, name: exp.Expr | str) -> str:
        if isinstance(name, str):
            return self._language.folded(name, False)
        return self._language.folded(name.name, bool(name.args.get("quoted")))

    # Queries

    def _query(
        self, node: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[_Block, ...]:
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
        defined = set[str]()
        for cte in clause.expressions:
            key = self._key(cte.args["alias"].this)
            if key in defined:
                name = cte.args["alias"].this
                raise QueryError(
                    f"WITH defines {name.name} twice",
                    place=place_of(name, self._sql),
                    fix="rename one of them",
                )
            defined.add(key)
            named = {self._key(table.this) for table in cte.this.find_all(exp.Table) if _plainly_named(table)}
            if clause.args.get("recursive") and named & (names - set(known) | {key}):
                self._missing.append(blockers.blocker("WITH RECURSIVE", clause, self._sql))
                known[key] = View(exp.Null())
                continue
            known[key] = View(cte.this, tuple(cte.args["alias"].args.get("columns") or ()), dict(known))
        return known

    def _set_operation(
        self, node: exp.SetOperation, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[_Block, ...]:
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
            members = tuple(
                _Block(one.distinct, tuple(_called(names, p) for p in one.parts)) for one in members
            )
        # ClickHouse asks for one of the words; without any, sqlglot leaves it open.
        if not node.args.get("distinct"):
            return members
        return (_Block(True, tuple(part for block in members for part in block.parts)),)

    def _select(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[_Block, ...]:
        before = len(self._missing)
        self._open.append(select)
        try:
            return self._selected(select, around, taken, hint)
        finally:
            self._open.pop()
            if len(self._missing) > before:
                # What else a person has to know of: which functions there are beside.
                items = [*select.expressions, *_conditions_of(select)]
                for item in items:
                    self._missing += blockers.of_expression(item, self._sql, functions=True)

    def _selected(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[_Block, ...]:
        self._missing += blockers.of_clauses(select, self._sql)
        from_ = select.args.get("from_")
        if from_ is None:
            return self._without_from(select)
        joins = [exp.Join(this=from_.this), *(select.args.get("joins") or [])]
        joins = list(_unnested(joins))
        tables = [join.this for join in joins]
        taken.update(self._key(name) for name in map(_alias_of, tables) if name)
        scope = _Scope(self, [])
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
        self._refuse_twins(scope)
        self._refuse_rank(select, scope)
        return self._combined(select, scope, [condition for condition, _ in conditions])

    def _without_from(self, select: exp.Select) -> tuple[_Block, ...]:
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

    def _refuse_twins(self, scope: _Scope) -> None:
        seen: set[str] = set()
        for source in scope.sources:
            if source.key in seen and not source.key.startswith("#"):
                name = _alias_of(source.node) or source.node
                raise QueryError(
                    f"the alias {name.name} is used twice",
                    place=place_of(name, self._sql),
                    fix="give each a different alias",
                )
            seen.add(source.key)

    def _refuse_rank(self, select: exp.Select, scope: _Scope) -> None:
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
    ) -> _Source:
        alias = table.args.get("alias")
        name = _alias_of(table)
        key = self._key(name) if name is not None else f"#{len(self._open)}"
        if isinstance(table, exp.Subquery) and isinstance(table.this, (exp.Query, exp.Subquery)):
            blocks = self._query(table.this, around, taken, name.name if name is not None else hint)
        elif isinstance(table, exp.Query):
            blocks = self._query(table, around, taken, hint)
        elif not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
            self._missing.append(blockers.of_source(table, self._sql))
            for query in blockers.subqueries(table):
                self._beside(query, around)
            return _Source(key, table, (), None)
        elif (view := self._view(table, around)) is not None:
            blocks = self._viewed(view, table, taken)
        elif (other := self._named(table)) is not None:
            blocks = self._registered(other, table, taken)
        else:
            return self._streamed(table, key, hint)
        parts = [part for block in blocks for part in block.parts]
        if not parts:
            return _Source(key, table, (), None)
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        blocks = self._renamed(blocks, given)
        return _Source(key, table, blocks, blocks[0].parts[0].columns)

    def _view(self, table: exp.Table, around: Mapping[str, View]) -> View | None:
        found = around.get(self._key(table.this)) if _plainly_named(table) else None
        return found or around.get(".".join(map(self._key, table.parts)))

    def _viewed(self, view: View, table: exp.Table, taken: set[str]) -> tuple[_Block, ...]:
        if isinstance(view.tree, exp.Null):
            return ()
        if any(tree is view.tree for tree in self._open):
            self._missing.append(blockers.blocker("a view that reads itself", table, self._sql))
            return ()
        self._open.append(view.tree)
        try:
            around = self._views if view.around is None else view.around
            blocks = self._query(view.tree, around, taken, (table.args.get("alias") or table).name)
        finally:
            self._open.pop()
        return self._renamed(blocks, view.columns)

    def _named(self, table: exp.Table) -> NamedQuery | None:
        """The query of another text that a name is; None where there is a relation of that name."""
        dotted = ".".join(part.name for part in table.parts)
        if self.catalog.find(dotted) is not None or dotted.lower() in self._unlisted:
            return None
        return self.catalog.query(dotted)

    def _registered(self, other: NamedQuery, table: exp.Table, taken: set[str]) -> tuple[_Block, ...]:
        """A query of another text, as if all of it stood where it is named."""
        if other in self._others:
            self._missing.append(blockers.blocker("a query that reads itself", table, self._sql))
            return ()
        place, before = place_of(table, self._sql), len(self._missing)
        self._others.append(other)
        try:
            found = self._reader(other)
            if found.language is not self._language:
                titles = f"{found.language.title}, and this query in {self._language.title}"
                raise QueryError(f"it is written in {titles}", fix="write both in one dialect")
            span = span_of(table)
            scope: dict[str, View] = {}
            for name, view in found.views.items():
                scope[name] = View(_moved(view.tree, span), view.columns, scope)
            tree = _moved(found.query.tree, span)
            self._declare(found.catalog, [tree, *(view.tree for view in scope.values())])
            blocks = self._query(tree, scope, taken, (table.args.get("alias") or table).name)
            return self._renamed(blocks, found.query.columns)
        except QueryError as error:
            if isinstance(error, UnsupportedError) and error.place is not None:
                raise
            raise QueryError(
                f"the query {other.name} cannot be read here: {error.message}",
                place=place,
                accepted=error.accepted,
                fix=error.fix or f"streambound check says more of {other.name}",
            ) from None
        finally:
            self._others.pop()
            for missing in self._missing[before:]:
                if not missing.message.startswith("in the query "):
                    missing.message = f"in the query {other.name}: {missing.message}"

    def _declare(self, catalog: Catalog, trees: Iterable[exp.Expr]) -> None:
        """Take over the relations that a query of another text reads, as that text knows them."""
        names = {table.name for tree in trees for table in tree.find_all(exp.Table)}
        for relation in {one for name in names if (one := catalog.find(name)) is not None}:
            here = self.catalog.find(relation.name)
            if here is None:
                self.catalog = replace(self.catalog, relations=(*self.catalog.relations, relation))
            elif here != relation:
                raise QueryError(
                    f"it reads {relation.name}, which this text declares otherwise",
                    fix="declare it once, in the stream catalog",
                )

    def _renamed(self, blocks: tuple[_Block, ...], names: tuple[exp.Expr, ...]) -> tuple[_Block, ...]:
        if not names:
            return blocks

        def of(part: _Part) -> _Part:
            pairs = zip(names, part.columns[: len(names)], strict=False)
            columns = [_Column(n.name, self._key(n), c.value) for n, c in pairs]
            return replace(part, columns=(*columns, *part.columns[len(names) :]))

        return tuple(_Block(block.distinct, tuple(map(of, block.parts))) for block in blocks)

    def _streamed(self, table: exp.Table, key: str, hint: str | None) -> _Source:
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
            _Column(column.name, self._key(column.name), _column(called, column.name))
            for column in relation.columns
        ]
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        (block,) = self._renamed((_Block(False, (_Part((plain_table,), (), tuple(columns)),)),), given)
        return _Source(key, table, (block,), block.parts[0].columns)

    def _relation(self, table: exp.Table) -> Relation:
        dotted = ".".join(part.name for part in table.parts)
        found = self.catalog.find(dotted) or self.catalog.find(table.name)
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
                accepted=", ".join(self.catalog.names) or None,
                fix=meant(
                    dotted, self.catalog.names, f"declare {dotted} in the catalog, or correct the name"
                ),
            )
        return found

    # Combination

    def _combined(self, select: exp.Select, scope: _Scope, conditions: list[exp.Expr]) -> tuple[_Block, ...]:
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
        scope: _Scope,
        conditions: list[exp.Expr],
        known: list[_Source],
        distinct: bool,
    ) -> tuple[_Block, ...]:
        if distinct or len(known) != 1:
            chosen = product(*(source.parts for source in known))
            parts = tuple(scope.part(select, conditions, of) for of in chosen)
            return (_Block(True, parts),) if distinct else tuple(_Block(False, (part,)) for part in parts)
        return tuple(
            _Block(block.distinct, tuple(scope.part(select, conditions, (part,)) for part in block.parts))
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
        found = self.catalog.find(table.name)
        assert found is not None
        return found

    def refuse(self, error: UnsupportedError) -> None:
        """Note what is not decided."""
        self._missing.append(error)


@dataclass
class _Scope:
    """What names stand for in one SELECT."""

    inliner: Inliner
    sources: list[_Source]
    # Names that USING makes one: of what each source calls so, the first source's is meant.
    merged: dict[str, int] = field(default_factory=dict)
    equal: list[tuple[int, int, str, exp.Expr]] = field(default_factory=list)
    within: list[tuple[exp.Expr, int]] = field(default_factory=list)

    def join(self, join: exp.Join) -> None:
        """Note what USING and NATURAL say of the source that came last."""
        here = len(self.sources) - 1
        mine = self.sources[here].names
        if str(join.args.get("method") or "").upper() == "NATURAL" and mine is not None:
            before = {c.key for source in self.sources[:here] for c in source.names or ()}
            using: list[exp.Expr] = [exp.to_identifier(c.name, quoted=True) for c in mine if c.key in before]
            for name in using:
                name.meta["span"] = span_of(join)
        else:
            using = join.args.get("using") or []
        for name in using:
            key = self.inliner.key(name if isinstance(name, exp.Identifier) else name.name)
            first = self.merged.get(key)
            if first is None:
                owners = [i for i, s in enumerate(self.sources[:here]) if self._column(s, key) is not None]
                if not owners:
                    if any(source.names is None for source in self.sources):
                        continue
                    raise self._unknown(name, name.name)
                first = self.merged[key] = owners[0]
            if mine is not None and self._column(self.sources[here], key) is None:
                raise self._unknown(name, name.name)
            self.equal.append((first, here, key, name))

    def _column(self, source: _Source, key: str) -> int | None:
        names = source.names or ()
        exact = [i for i, c in enumerate(names) if c.key == key]
        if exact:
            return exact[0]
        # Names of a catalog file have no quotes: their case says nothing.
        loose = [i for i, c in enumerate(names) if c.key.lower() == key.lower()]
        return loose[0] if loose else None

    def _only(self, source: _Source, key: str, column: exp.Column) -> int | None:
        """The column of a source that a name is; refused where several have it, but for DuckDB: the first."""
        names = [c.key for c in source.names or ()]
        often = names.count(key) or [name.lower() for name in names].count(key.lower())
        if often > 1 and self.inliner.language.name != "duckdb":
            raise QueryError(
                f"the column {column.name} is ambiguous",
                place=place_of(column, self.inliner.text),
                accepted="names of which each is one column's",
                fix="rename one of the columns where they are made",
            )
        return self._column(source, key)

    def passes(self, select: exp.Select) -> bool:
        """Whether a SELECT shows every column of its one source."""
        (source,) = self.sources
        shown: set[int] = set()
        for item in select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if _is_star(inner):
                return not any(inner.find(exp.Star).args.values())
            if isinstance(inner, exp.Column):
                found = self._column(source, self.inliner.key(inner.this))
                shown |= set() if found is None else {found}
        return len(shown) == len(source.names or ())

    def part(self, select: exp.Select, conditions: list[exp.Expr], of: tuple[_Part, ...]) -> _Part:
        """The SELECT with one part in place of each source."""
        tables = self._apart(of)
        found = _Substitution(self, tables)
        made = [condition for part in tables for condition in part.conditions]
        for first, second, key, name in self.equal:
            sides = []
            for number in (first, second):
                at = self._column(self.sources[number], key)
                assert at is not None
                sides.append(_at(tables[number].columns[at].value, name))
            same = exp.EQ(this=sides[0], expression=sides[1])
            same.meta["span"] = span_of(name)
            made.append(same)
        made += [self._plain(with_clock(found.of(condition))) for condition in conditions]
        for table, number in self.within:
            made += self._within(table, tables[: number - 1], tables[number - 1])
        columns: list[_Column] = []
        for item in select.expressions:
            columns += self._outputs(item, tables, found)
        return _Part(tuple(t for part in tables for t in part.tables), tuple(made), tuple(columns))

    def _plain(self, condition: exp.Expr) -> exp.Expr:
        return plain(condition, self.inliner.language.name, self.inliner.relaxed)

    def _within(self, table: exp.Expr, left: list[_Part], right: _Part) -> Iterable[exp.Expr]:
        """What WITHIN says of the timestamps of a join's sides: that of several rows is their latest."""
        sides: list[list[exp.Expr]] = []
        for parts in (left, [right]):
            tables = [one for part in parts for one in part.tables]
            stamps = [(one, self.inliner.relation_of(one).timestamp) for one in tables]
            sides.append([_column(one.args["alias"].name, stamp) for one, stamp in stamps if stamp])
            if not sides[-1]:
                raise QueryError(
                    f"WITHIN needs the timestamp of {tables[-1].name}",
                    place=place_of(table, self.inliner.text),
                    fix=f"declare timestamp of {tables[-1].name} in the catalog",
                )
        before, after = (microseconds(span) for span in table.meta[WITHIN])
        if before is None or after is None:
            raise QueryError(
                "WITHIN has no length of time",
                place=place_of(table, self.inliner.text),
                accepted="WITHIN 10 MINUTES; DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS",
            )
        yield from band(sides[0], sides[1], before, after)

    def _apart(self, of: tuple[_Part, ...]) -> list[_Part]:
        """The parts, with their streams under names of their own."""
        # What stands in FROM itself keeps its name; of two that differ in case the first.
        taken = set[str]()
        kept = []
        for source, part in zip(self.sources, of, strict=True):
            kept.append(_goes_by(part, source.key) and source.key.lower() not in taken)
            taken |= {source.key.lower()} if kept[-1] else set()
        made = []
        for source, part, direct in zip(self.sources, of, kept, strict=True):
            renamed: dict[str, str] = {}
            for table in part.tables:
                name = table.args["alias"].name
                if direct or name.lower() not in taken:
                    taken.add(name.lower())
                    continue
                around = source.key if not source.key.startswith("#") else "t"
                number, free = 2, f"{around}_{name}"
                while free.lower() in taken:
                    number, free = number + 1, f"{around}_{name}{number}"
                taken.add(free.lower())
                renamed[name] = free
            made.append(_with_names(part, renamed))
        return made

    def _outputs(self, item: exp.Expr, parts: list[_Part], found: _Substitution) -> Iterator[_Column]:
        inner = item.this if isinstance(item, exp.Alias) else item
        if _is_star(inner):
            yield from self._star(inner, parts, found)
            return
        value = found.of(inner)
        if isinstance(item, exp.Alias):
            alias = item.args["alias"]
            column = _Column(alias.name, self.inliner.key(alias), value)
        else:
            name = inner.this if isinstance(inner, exp.Column) else None
            key = self.inliner.key(name) if isinstance(name, exp.Identifier) else inner.name
            column = _Column(inner.name, key, value)
        found.earlier[column.key] = value
        yield column

    def _star(self, star: exp.Expr, parts: list[_Part], found: _Substitution) -> Iterator[_Column]:
        owner = star.args.get("table") if isinstance(star, exp.Column) else None
        words = star if isinstance(star, exp.Star) else star.this
        left_out = {self.inliner.key(_named(e)) for e in words.args.get("except_") or ()}
        replaced = [e for e in words.args.get("replace") or () if isinstance(e, exp.Alias)]
        instead = {self.inliner.key(e.args["alias"]): e.this for e in replaced}
        if words.args.get("rename"):
            self.inliner.refuse(blockers.blocker("* RENAME", star, self.inliner.text))
        chosen = list(range(len(self.sources)))
        if owner is not None:
            chosen = [i for i in chosen if self.sources[i].key == self.inliner.key(owner)]
            if not chosen:
                raise self._unknown_owner(owner)
        elif not self._in_place():
            for key, first in self.merged.items():
                at = self._column(self.sources[first], key)
                assert at is not None
                yield self._shown(parts[first].columns[at], star)
        for number in chosen:
            source = self.sources[number]
            if isinstance(source.node, exp.Table) and source.blocks[0].parts[0].tables:
                self._refuse_opaque(source, star)
            for column in parts[number].columns:
                of = [first for key, first in self.merged.items() if self._same(column, key)]
                if owner is None and of and not (self._in_place() and number in of):
                    continue
                if column.key in left_out:
                    continue
                if column.key in instead:
                    column = replace(column, value=found.of(instead[column.key]))
                yield self._shown(column, star)

    def _in_place(self) -> bool:
        """Whether a column that USING merges stays where the first table has it; elsewhere it comes first."""
        return self.inliner.language.name in ("duckdb", "timeplus")

    def _same(self, column: _Column, key: str) -> bool:
        return column.key.lower() == key.lower()

    def _refuse_opaque(self, source: _Source, star: exp.Expr) -> None:
        for table in source.blocks[0].parts[0].tables:
            for name, kind in self.inliner.relation_of(table).opaque:
                message = f"* has the column {name}, whose type {kind} is not supported yet"
                if kind.startswith("computed("):
                    message = f"* has the column {name}, which is computed: this is not supported yet"
                self.inliner.refuse(
                    blockers.blocker(f"a column of type {kind}", star, self.inliner.text, message)
                )

    def _shown(self, column: _Column, star: exp.Expr) -> _Column:
        return replace(column, value=_at(column.value, star))

    def _unknown(self, node: exp.Expr, name: str) -> QueryError:
        known = sorted({c.name for source in self.sources for c in source.names or ()})
        return QueryError(
            f"no stream in FROM has a column {name}",
            place=place_of(node, self.inliner.text),
            accepted=", ".join(known),
            fix=meant(name, known),
        )

    def _unknown_owner(self, owner: exp.Expr) -> QueryError:
        known = [source.key for source in self.sources if not source.key.startswith("#")]
        return QueryError(
            f"unknown stream or alias {owner.name}",
            place=place_of(owner, self.inliner.text),
            accepted=", ".join(known),
            fix=meant(owner.name, known),
        )

    def resolve(self, column: exp.Column) -> tuple[int, int] | None:
        """Which column of which source a name is; None if it is none of theirs.

        Raises:
            QueryError: a name that several have, or an alias that is not in FROM.
        """
        key = self.inliner.key(column.this)
        if owner := column.args.get("table"):
            wanted = self.inliner.key(owner)
            of = [i for i, s in enumerate(self.sources) if s.key == wanted]
            of = of or [i for i, s in enumerate(self.sources) if s.key.lower() == wanted.lower()]
            if not of:
                if self._nested(owner):
                    return None
                raise self._unknown_owner(owner)
            at = self._only(self.sources[of[0]], key, column)
            if at is None:
                at = self._pseudo(self.sources[of[0]], key)
            if at is None and not self._opaque(self.sources[of[0]], column):
                names = [c.name for c in self.sources[of[0]].names or ()]
                raise QueryError(
                    f"{owner.name} has no column {column.name}",
                    place=place_of(column, self.inliner.text),
                    accepted=", ".join(names),
                    fix=meant(column.name, names),
                )
            return None if at is None else (of[0], at)
        sources = enumerate(self.sources)
        found = [(i, at) for i, s in sources if (at := self._only(s, key, column)) is not None]
        if not found:
            found = [(i, at) for i, s in enumerate(self.sources) if (at := self._pseudo(s, key)) is not None]
        if key in self.merged:
            found = [pair for pair in found if pair[0] == self.merged[key]]
        if len(found) > 1:
            owners = [self.sources[i].key for i, _ in found]
            raise QueryError(
                f"the column {column.name} is ambiguous",
                place=place_of(column, self.inliner.text),
                accepted=" or ".join(f"{owner}.{column.name}" for owner in owners),
                fix=f"write {owners[0]}.{column.name}",
            )
        return found[0] if found else None

    def _pseudo(self, source: _Source, key: str) -> int | None:
        """ksqlDB's ROWTIME and Timeplus' _tp_time: the application timestamp under another name."""
        name = STAMPS.get(self.inliner.language.name)
        if key != name or not isinstance(source.node, exp.Table) or len(source.parts) != 1:
            return None
        stamp = self.inliner.relation_of(source.parts[0].tables[0]).timestamp
        return None if stamp is None else self._column(source, self.inliner.key(stamp))

    def _nested(self, owner: exp.Expr) -> bool:
        """Whether what looks like an alias is a column: then what follows the dot lies within it."""
        key = self.inliner.key(owner)
        if any(self._column(source, key) is not None for source in self.sources):
            return True
        return any(self._opaque(source, exp.column(owner.copy())) for source in self.sources)

    def _opaque(self, source: _Source, column: exp.Column) -> bool:
        """Whether a column has a type that is not supported; if so it is refused."""
        for part in source.parts[:1] if isinstance(source.node, exp.Table) else ():
            for table in part.tables:
                for name, _ in self.inliner.relation_of(table).opaque:
                    if name.lower() == column.name.lower():
                        return True
        return False

    def computed(self, column: exp.Column) -> bool:
        """Whether a name is that of a column that its declaration computes."""
        tables = [table for source in self.sources for part in source.parts[:1] for table in part.tables]
        kinds = [pair for table in tables for pair in self.inliner.relation_of(table).opaque]
        return any(n.lower() == column.name.lower() and kind.startswith("computed(") for n, kind in kinds)

    def stamp_of(self, key: str, parts: list[_Part]) -> exp.Expr | None:
        """Azure: in DATEDIFF the name of a source stands for its timestamp."""
        for source, part in zip(self.sources, parts, strict=True):
            if source.key.lower() == key.lower() and self.inliner.language.name == "azure" and part.tables:
                stamp = self.inliner.relation_of(part.tables[0]).timestamp
                found = [column for column in part.columns if column.name == stamp]
                return found[0].value if found else None
        return None

    def opaque(self, column: exp.Column) -> bool:
        """Whether a name is that of a column whose type is not supported, or of what lies within one."""
        owner = column.args.get("table")
        return any(self._opaque(source, column) for source in self.sources) or (
            owner is not None and self._nested(owner)
        )

    def unknown(self, column: exp.Column) -> QueryError:
        """The error of a name that nothing in FROM has."""
        return self._unknown(column, column.name)


@dataclass
class _Substitution:
    """Expressions of a SELECT in terms of the streams of its parts."""

    scope: _Scope
    parts: list[_Part]
    # Outputs of the same SELECT that have been named before.
    earlier: dict[str, exp.Expr] = field(default_factory=dict)

    def of(self, node: exp.Expr) -> exp.Expr:
        """A copy of an expression without names of views."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if column.find_ancestor(exp.Query) is not None or isinstance(column.this, exp.Star):
                continue
            column.replace(self._value(column))
        made: exp.Expr = root.this
        made.pop()
        return made

    def _value(self, column: exp.Column) -> exp.Expr:
        at = self.scope.resolve(column)
        if at is not None:
            return _at(self.parts[at[0]].columns[at[1]].value, column)
        key = self.scope.inliner.key(column.this)
        if not column.args.get("table") and key in self.earlier:
            return _at(self.earlier[key], column)
        if self.scope.opaque(column):
            text = self.scope.inliner.text
            what = "nested data" if column.args.get("table") else "a column of nested data"
            what = "a computed column" if self.scope.computed(column) else what
            self.scope.inliner.refuse(
                blockers.blocker(what, column, text, f"{column.sql()}: {what} is not supported yet")
            )
            return exp.Null()
        if is_word(column):
            return column
        if column.find_ancestor(exp.DateDiff) and (stamp := self.scope.stamp_of(key, self.parts)) is not None:
            return _at(stamp, column)
        raise self.scope.unknown(column)


def _decided(relation: Relation) -> bool:
    return relation.kind is not Kind.VERSIONED


def _conditions_of(select: exp.Select) -> Iterator[exp.Expr]:
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield join.args["on"]
    for part in ("where", "group", "having"):
        if (clause := select.args.get(part)) is not None:
            yield from clause.iter_expressions()


def _unnested(joins: Iterable[exp.Join]) -> Iterator[exp.Join]:
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
            yield from _unnested([_beside(join, plain_table, parts), *further])
            continue
        further = table.args.get("joins") or []
        if further:
            table = table.copy()
            table.set("joins", None)
            yield _beside(join, table, {key: value for key, value in join.args.items() if key != "this"})
            yield from _unnested(further)
            continue
        yield join


def _beside(join: exp.Join, table: exp.Expr, parts: Mapping[str, object]) -> exp.Join:
    made = exp.Join(this=table, **parts)
    made.meta.update(join.meta)
    return made


def _alias_of(table: exp.Expr) -> exp.Identifier | None:
    alias = table.args.get("alias")
    if alias is not None and isinstance(alias.this, exp.Identifier):
        return alias.this
    name = table.this if isinstance(table, exp.Table) else None
    return name if isinstance(name, exp.Identifier) else None


def _plainly_named(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier) and not table.args.get("db")


def _named(node: exp.Expr) -> exp.Identifier | str:
    return (
        node if isinstance(node, exp.Identifier) else node.this if isinstance(node, exp.Column) else node.name
    )


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _column(table: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def _at(value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A copy of what a name stands for, at the place of the name."""
    made = value.copy()
    if not isinstance(made, exp.Column):
        return exp.Paren(this=made) if isinstance(made, exp.Binary) else made
    if (span := span_of(node)) is not None:
        for part in made.find_all(exp.Identifier):
            part.meta.update(start=span[0], end=span[1] - 1)
    return made


def _moved(tree: exp.Expr, span: tuple[int, int] | None) -> exp.Expr:
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


def _called(names: tuple[_Column, ...], part: _Part) -> _Part:
    pairs = zip(names, part.columns, strict=False)
    columns = [replace(column, name=name.name, key=name.key) for name, column in pairs]
    return replace(part, columns=(*columns, *part.columns[len(columns) :]))


def _goes_by(part: _Part, key: str) -> bool:
    """Whether a part is one stream, under the name of its source."""
    return len(part.tables) == 1 and part.tables[0].args["alias"].name.lower() == key.lower()


def _with_names(part: _Part, renamed: Mapping[str, str]) -> _Part:
    if not renamed:
        return part

    def of(node: exp.Expr) -> exp.Expr:
        made = node.copy()
        for column in made.find_all(exp.Column):
            owner = column.args.get("table")
            if owner is not None and owner.name in renamed:
                owner.set("this", renamed[owner.name])
        return made

    tables = []
    for table in part.tables:
        made = table.copy()
        name = made.args["alias"].this
        name.set("this", renamed.get(name.name, name.name))
        tables.append(made)
    columns = (replace(column, value=of(column.value)) for column in part.columns)
    return _Part(tuple(tables), tuple(map(of, part.conditions)), tuple(columns))


def _tree(blocks: tuple[_Block, ...]) -> exp.Expr:
    """The parts as one statement: SELECTs joined by UNION ALL, and UNION within."""
    found = [_joined([_select(part, block.distinct) for part in block.parts], True) for block in blocks]
    return _joined(found, False)


def _joined(trees: list[exp.Expr], distinct: bool) -> exp.Expr:
    if len(trees) > 1:
        trees = [exp.Subquery(this=tree) if isinstance(tree, exp.Union) else tree for tree in trees]
    first, *others = trees
    for other in others:
        first = exp.Union(this=first, expression=other, distinct=distinct)
    return first


def _select(part: _Part, distinct: bool) -> exp.Select:
    outputs: list[exp.Expr] = []
    for column in part.columns:
        named = isinstance(column.value, exp.Column) and column.value.name == column.name
        outputs.append(
            column.value.copy()
            if named or not column.name
            else exp.Alias(this=column.value.copy(), alias=exp.to_identifier(column.name, quoted=True))
        )
    first, *others = part.tables
    made = exp.Select(
        expressions=outputs,
        from_=exp.From(this=first.copy()),
        joins=[exp.Join(this=table.copy()) for table in others],
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
