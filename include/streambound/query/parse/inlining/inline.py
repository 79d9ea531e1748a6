"""Views, WITH, sub-queries in FROM, ``*``, USING and NATURAL, written out: only streams are left in FROM.

A query becomes a bag sum of *parts*, as in ``statement``: a part is one conjunction over streams, and some
parts may be united without duplicates. A view of plain parts is put in place of its name: its streams join
those of the query that names it, its conditions are added, its columns replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, together
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.clock import (
    CLOCK,
    bounds_clock,
    clocked,
    conjuncts,
    reads_clock,
)
from streambound.query.dialects.grammar import WITHIN, is_system_time
from streambound.query.dialects.languages import Language
from streambound.query.expressions import blockers
from streambound.query.model import SUB_QUERY, Column, Relation
from streambound.query.parse.blocks.derived_tables import fed_relation
from streambound.query.parse.inlining.across import joined, split
from streambound.query.parse.inlining.composed import composed, with_frames, with_frames_of_groups
from streambound.query.parse.inlining.first_rows import first_in_time, first_of_each, limited, without_ranks
from streambound.query.parse.inlining.grouped import grouping, on_keys
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.plain import stands_as_it_is
from streambound.query.parse.inlining.semijoins import without_rows
from streambound.query.parse.inlining.sources import Sources
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.text.correlated import without_laterals, without_scalars
from streambound.query.parse.text.idioms import (
    is_first,
    with_elements,
    with_fields,
    with_matches,
    with_top_row,
    with_values_before,
)
from streambound.query.parse.text.parts import (
    GROUPED,
    NESTED,
    Item,
    Part,
    ReferencedQuery,
    Rows,
    Source,
    View,
    alias_of,
    at_location,
    plainly_named,
    statement_tree,
    unnested,
)
from streambound.query.scope import location_of
from streambound.query.windows import called as called_window
from streambound.query.windows import of_snapshot

_UNORDERED = "declare what it is compared with as the timestamp of its stream or view, in the catalog"
_WRITTEN = "VALUES or SELECT without FROM but in a join"
# More members than a person writes: a query of unions of unions would otherwise fill the memory.
MAX_PARTS = 64


class Inliner:
    """One text's queries over a catalog and the views of the text."""

    def __init__(
        self,
        sql: str,
        catalog: Catalog,
        language: Language,
        views: Mapping[str, View],
        unlisted: frozenset[str],
        reader: Callable[[NamedQuery], ReferencedQuery],
    ) -> None:
        self.text, self.catalog, self.language, self.views = sql, catalog, language, views
        self.sources = Sources(self, unlisted, reader)
        # Whether the catalog has relations of sub-queries that are not written out.
        self._feeds = False
        self.refused: list[UnsupportedError] = []
        self.open: list[exp.Expr] = []
        self._lenient = 0
        # Whether a view has the time of its rows from the catalog.
        self.ordered = False
        # Comparisons that are decided wider than they are written, and whether the clock is read.
        self.relaxed: list[exp.Expr] = []
        self.clock = False
        # Expressions over several tuples by whose values rows are told apart, or chosen.
        self.spread: list[exp.Expr] = []
        # The present time where rows show it that are made at times which none of their columns has.
        self.made_at: list[exp.Expr] = []
        # What has another value for each row, where each row is shown once.
        self.fresh: list[exp.Expr] = []
        # Where the rows are read that a stream has had so far.
        self.stored: list[exp.Expr] = []
        # The query around that a sub-query in a condition speaks of, its views, and relations by alias.
        self._around: Substitution | None = None
        self._conditions_around: Mapping[str, View] = views
        self._named_tables: dict[str, str] = {}

    def written_out(self, tree: exp.Expr) -> exp.Expr | tuple[Rows, ...]:
        """The same query over streams alone; as it came where it is so already.

        As a tree where joins, filters and unions are all there is to it.

        Raises:
            QueryError: a name that is not known, or is not unique.
            UnsupportedError: with everything in it that is not decided.
        """
        if stands_as_it_is(self, tree):
            return tree
        blocks = self.query(tree, self.views, set(), None)
        if not self.refused:
            blocks = tuple(map(self._timed, blocks))
        if self.refused:
            raise together(self.refused)
        alone = [not part.tables for rows in blocks for part in rows.parts]
        if any(alone):
            error = blockers.blocker(_WRITTEN if not all(alone) else "a query of no stream", tree, self.text)
            error.fix = "name a stream in FROM: what reads none keeps nothing" if all(alone) else None
            raise error
        shown = (item.value for rows in blocks for item in rows.columns)
        plain_rows = all(rows.plain for rows in blocks) and not any(node.meta.get("within") for node in shown)
        # What a sub-query feeds has no name that the user's text has.
        own = plain_rows and not self._feeds
        return statement_tree(blocks) if blocks and own else blocks

    def _timed(self, block: Rows) -> Rows:
        """A block with the clock in FROM of those that read it."""
        made = []
        for part in block.parts:
            conditions = [node for condition in part.conditions for node in conjuncts(condition)]
            asked = [node for p in part.partners for node in p.conditions]
            asked += [node for late in part.latest for node in late.conditions]
            for condition in filter(reads_clock, asked):
                self.refuse("NOW() in ON of an outer or as-of join", condition)
            shown = any(reads_clock(item.value) for item in part.columns)
            if not shown and not any(map(reads_clock, conditions)):
                made.append(part)
                continue
            if not self.clock:
                self.clock = True
                self.declare(CLOCK)
            stamps = {
                (table.args["alias"].name, stamp)
                for table in part.tables
                if (stamp := self.relation_of(table).timestamp) is not None
            }
            for condition in conditions:
                if reads_clock(condition) and not bounds_clock(condition, stamps):
                    self.refuse("NOW() but beside a timestamp", condition)
                    self.refused[-1].fix = _UNORDERED if bounds_clock(condition, None) else None
            if block.distinct and len(block.parts) > 1:
                self.refuse("NOW() in a UNION", conditions[0])
            tables, conditions = clocked(part.tables, conditions, sorted(stamps))
            made.append(replace(part, tables=tables, conditions=tuple(conditions)))
        return replace(block, parts=tuple(made))

    def missing(self, tree: exp.Expr) -> tuple[UnsupportedError, ...]:
        """What in the clauses of a query is not decided; none of one that is written out."""
        try:
            self.written_out(tree)
        except UnsupportedError as error:
            return error.blockers
        except QueryError:
            pass
        return ()

    def key(self, name: exp.Expr | str) -> str:
        """The name that is meant."""
        if isinstance(name, str):
            return self.language.folded(name, False)
        return self.language.folded(name.name, bool(name.args.get("quoted")))

    # Queries

    def query(
        self, node: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        if len(self.open) > 60:
            raise QueryError(
                "views and sub-queries are nested too deeply", location=location_of(node, self.text)
            )
        if isinstance(node, (exp.Subquery, exp.Paren)):
            around = self._with(node, around)
            self.refused += blockers.of_clauses(node, self.text)
            return self.query(node.this, around, taken, hint)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, self._with(node, around), taken, hint)
        if isinstance(node, exp.Select):
            return self._select(node, self._with(node, around), taken, hint)
        self.refuse(node.key.upper().replace("TABLE", "TABLE ..."), node)
        return ()

    def _with(self, node: exp.Expr, around: Mapping[str, View]) -> Mapping[str, View]:
        clause = node.args.get("with_")
        if clause is None:
            return around
        visible = dict(around)
        names = {self.key(cte.args["alias"].this) for cte in clause.expressions if cte.args.get("alias")}
        defined = set[str]()
        for cte in clause.expressions:
            key = self.key(cte.args["alias"].this)
            if key in defined:
                name = cte.args["alias"].this
                raise QueryError(
                    f"WITH defines {name.name} twice",
                    location=location_of(name, self.text),
                    fix="rename one of them",
                )
            defined.add(key)
            named = {self.key(table.this) for table in cte.this.find_all(exp.Table) if plainly_named(table)}
            if clause.args.get("recursive") and named & (names - set(visible) | {key}):
                self.refuse("WITH RECURSIVE", clause)
                visible[key] = View(exp.Null())
                continue
            visible[key] = View(cte.this, tuple(cte.args["alias"].args.get("columns") or ()), dict(visible))
        return visible

    def _set_operation(
        self, node: exp.SetOperation, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        self.refused += blockers.of_clauses(node, self.text)
        if node.args.get("by_name"):
            self.refuse("UNION BY NAME", node)
        sides = []
        for side in (node.this, node.expression):
            mine = set(taken)
            sides.append(self.query(side, around, mine, hint))
        if not isinstance(node, exp.Union):
            return limited(self, without_rows(self, node, sides), node)
        members = (*sides[0], *sides[1])
        if members and members[0].parts:
            # The names are those of the first member.
            names = members[0].columns
            members = tuple(rows.called(names) for rows in members)
        # ClickHouse asks for one of the words; without any, sqlglot leaves it open.
        if not node.args.get("distinct"):
            return limited(self, members, node)
        if any(not rows.plain for rows in members):
            members = tuple(self.fed((rows,), f"member {n}") for n, rows in enumerate(members, 1))
        return limited(self, (Rows(True, tuple(part for block in members for part in block.parts)),), node)

    def plainly(self, blocks: tuple[Rows, ...], name: str) -> tuple[Rows, ...]:
        """Rows as joins with filters: what is more as a relation of its own."""
        return tuple(rows if rows.plain else self.fed((rows,), name) for rows in blocks)

    def _select(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        self.open.append(select)
        try:
            return self._selected(select, around, taken, hint)
        finally:
            self.open.pop()

    def _selected(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        select = with_fields(with_matches(with_values_before(select)))
        self.refused += blockers.of_clauses(select, self.text)
        if select.args.get("from_") is None:
            return self._without_from(select)
        select, joins = self._joins(select, around)
        taken.update(self.key(name) for name in (alias_of(join.this) for join in joins) if name)
        outer, self._around = self._around, None
        names = Names(self, [], outer=outer)
        for join in joins:
            self._join(names, join, around, taken, hint if len(joins) == 1 else None)
        self._refuse_twins(names)
        if outer is not None or any(names.sides):
            for source in filter(_constants, names.sources):
                self.refuse(_WRITTEN, source.node)
        if self.language.name == "azure":
            select = self._with_system_time(with_top_row(of_snapshot(select)), names)
        where = [] if select.args.get("where") is None else [select.args["where"].this]
        where = [node for condition in where for node in conjuncts(condition)]
        firsts = [conjunct for conjunct in where if is_first(conjunct)]
        if firsts:
            return first_in_time(self, select, names, where, firsts)
        select = with_elements(select)
        items = list(select.expressions)
        self._look_into(items, names, where, around)
        before = len(self.refused)
        if self._lenient or any(source.names is None for source in names.sources):
            # Something in FROM is refused: names cannot be told from those it would have.
            for condition in where:
                for query in blockers.subqueries(condition):
                    self.beside(query, around)
            return ()
        grouped = select.args.get("group") is not None or select.args.get("having") is not None
        grouped = grouped or any(map(blockers.aggregates, items))
        over = any(item.find(exp.Window) is not None for item in items)
        try:
            self._conditions_around = around
            rows = self._combined(select, names, where, grouped, over)
            return limited(self, rows, select, names)
        except QueryError:
            # What is refused may have names of its own, such as the start of a window.
            if not self.refused[: before + 1]:
                raise
            return ()

    def _joins(self, select: exp.Select, around: Mapping[str, View]) -> tuple[exp.Select, list[exp.Join]]:
        """What a SELECT joins in FROM, the first table too; scalar and lateral sub-queries are joins as well,
        whose columns the SELECT that is returned has in their place.
        """

        def columns(table: exp.Expr) -> list[str] | None:
            return self.sources.columns(table, around)

        joins = [exp.Join(this=select.args["from_"].this), *(select.args.get("joins") or [])]
        laterals = [exp.Join(this=lateral) for lateral in select.args.get("laterals") or []]
        joins = [*unnested([*joins, *laterals])]
        select, scalars = without_scalars(select, [join.this for join in joins], columns)
        return select, [*without_laterals(joins, columns), *scalars]

    def _join(
        self, names: Names, join: exp.Join, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> None:
        """Take a source into the names of a SELECT, with how it is joined to those before it."""
        first = not names.sources
        side = "" if first else blockers.side_of(join)
        if side is None:
            self.refuse(blockers.kind_of(join), join)
        if isinstance(join.this, exp.Table) and join.this.args.get("version") is not None and not first:
            side = "ASOF LEFT" if side == "LEFT" else "ASOF" if side == "" else side
        source = self.sources.source(join.this, around, taken, hint)
        names.sources.append(source)
        if (side or "").startswith("ASOF") and self.sources.is_static(source):
            side = side[5:] if side else ""
        elif not first and side in ("", "LEFT") and self.sources.is_looked_up(source):
            side = f"ASOF {side}".strip()
        names.sides.append(GROUPED if join.meta.get(GROUPED) else side or "")
        if join.meta.get(NESTED):
            self.refuse("an outer join within the parentheses of another", join)
        names.join(join)
        on = join.args.get("on")
        names.ons.append([] if on is None else [on])
        if WITHIN in join.this.meta:
            names.within.append((join.this, len(names.sources)))

    def _look_into(
        self,
        items: Sequence[exp.Expr],
        names: Names,
        where: Sequence[exp.Expr],
        around: Mapping[str, View],
    ) -> None:
        """Note what is refused in the expressions of a SELECT, and in sub-queries in its list and in ON."""
        ons = [on for conditions in names.ons for on in conditions]
        for item in items:
            self.refused += blockers.of_expression(item, self.text, decided=True)
        for item in (*ons, *where):
            self.refused += blockers.of_expression(item, self.text, conditions=item in where)
        for item in (*items, *ons):
            for query in blockers.subqueries(item):
                self.beside(query, around)

    def _with_system_time(self, select: exp.Select, names: Names) -> exp.Select:
        """Azure's System.Timestamp() of rows that are in no window: the timestamp of the first source."""
        group = select.args.get("group")
        keys = [] if group is None else group.expressions
        for key in keys:
            if key.name.upper() == "WINDOWS" and isinstance(key, exp.Anonymous):
                self.refuse("Windows()", key)
        if any(called_window(key) is not None for key in keys) or not any(map(is_system_time, select.walk())):
            return select

        def of(node: exp.Expr) -> exp.Expr:
            if not is_system_time(node):
                return node
            try:
                return at_location(names.stamp(node), node)
            except QueryError:
                raise blockers.blocker("System.Timestamp() of rows without one", node, self.text) from None

        parts = {name: given for name, given in select.args.items() if name not in ("from_", "with_")}
        made = select.copy()
        made.meta.update(select.meta)
        for name, given in parts.items():
            if isinstance(given, exp.Expr):
                made.set(name, given.transform(of))
            elif isinstance(given, list) and name != "joins":
                made.set(name, [item.transform(of) if isinstance(item, exp.Expr) else item for item in given])
        return made

    def _without_from(self, select: exp.Select) -> tuple[Rows, ...]:
        """One row of constants, where a query around has streams."""
        if (
            len(self.open) > 1
            and self._around is None
            and not any(value for part, value in select.args.items() if part not in ("expressions", "kind"))
        ):
            names = Names(self, [])
            items = names.items(select)
            values = self.in_words(names, items)
            if not any(value.find(exp.Column, exp.Query) for value in values):
                shown = (Item(name, key, value) for (name, key, _), value in zip(items, values, strict=True))
                return (Rows(False, (Part((), (), tuple(shown)),)),)
        if not self.refused:
            location = location_of(select, self.text)
            raise QueryError("there is no FROM", location=location, fix="name a stream after FROM")
        return ()

    def beside(self, query: exp.Expr, around: Mapping[str, View]) -> None:
        """What is not decided in a query within an expression, which itself is refused."""
        self._lenient += 1
        try:
            self.query(query, around, set(), None)
        except QueryError as error:
            if isinstance(error, UnsupportedError):
                self.refused += error.blockers
        finally:
            self._lenient -= 1

    def _refuse_twins(self, names: Names) -> None:
        seen: set[str] = set()
        for source in names.sources:
            if source.key in seen and not source.key.startswith("#"):
                name = alias_of(source.node) or source.node
                raise QueryError(
                    f"the alias {name.name} is used twice",
                    location=location_of(name, self.text),
                    fix="give each a different alias",
                )
            seen.add(source.key)

    def note(self, parts: Iterable[Part]) -> None:
        """Note of which relations the tables of parts are."""
        for part in parts:
            for table in part.tables:
                self._named_tables[table.args["alias"].name] = table.name

    # Combination

    def _combined(
        self, select: exp.Select, names: Names, where: list[exp.Expr], grouped: bool, over: bool
    ) -> tuple[Rows, ...]:
        distinct = select.args.get("distinct")
        items = names.items(select)
        if not grouped and not over and (merged := composed(self, select, names, items, where)) is not None:
            return merged
        where = without_ranks(names, where)
        # What is told of several rows depends on how often each is there.
        counted = grouped or over or any(select.args.get(part) for part in ("group", "qualify"))
        names.sources = [
            self.readable(source, names, select, number, counted)
            for number, source in enumerate(names.sources)
        ]
        number = 1
        for source in names.sources:
            number *= len(source.parts)
        if number > MAX_PARTS:
            raise UnsupportedError(
                f"the unions in FROM make {number:,} members",
                location=location_of(select, self.text),
                accepted=f"at most {MAX_PARTS}",
            )
        # The first ones are looked for among the rows of FROM.
        where, across = split(names, where) if select.args.get("limit") is None else (where, [])
        if across:
            select, names, where = joined(self, select, names, items, where, across)
            return self._combined(select, names, where, grouped, over)
        if grouped:
            select, early = on_keys(select, names, items)
            where = [*where, *early]
            if over:
                return with_frames_of_groups(self, select, names, items, where)
            made = [
                Rows(False, self.parts(names, outputs, where), done)
                for outputs, done in grouping(select, names, items)
            ]
            rows = tuple(part_rows for part_rows in made if part_rows.parts)
        elif over or select.args.get("qualify") is not None:
            rows = with_frames(self, select, names, items, where)
        elif distinct is not None and distinct.args.get("on") is not None:
            return first_of_each(self, select, names, items, where, distinct.args["on"])
        else:
            return self.plain_rows(names, items, where, distinct is not None)
        return self._without_duplicates(rows) if distinct is not None else rows

    def parts(self, names: Names, items: list[exp.Expr], where: list[exp.Expr]) -> tuple[Part, ...]:
        chosen = product(*(source.parts for source in names.sources))
        return tuple(part for of in chosen for part in names.parts(items, where, of))

    def plain_rows(
        self, names: Names, items: Items, where: list[exp.Expr], distinct: bool
    ) -> tuple[Rows, ...]:
        """A SELECT of joins and filters: as many rows as there are unions in FROM."""
        names.outermost = len(self.open) == 1 and not distinct
        blocks = names.sources[0].blocks if len(names.sources) == 1 else ()
        groups: list[tuple[Part, ...] | None] = [block.parts for block in blocks] or [None]
        made = []
        for group in groups:
            chosen = (
                [(part,) for part in group]
                if group is not None
                else product(*(s.parts for s in names.sources))
            )
            combined = [
                [self._named(part, items) for part in names.parts(self.in_words(names, items), where, of)]
                for of in chosen
            ]
            unique = group is not None and any(block.distinct and block.parts is group for block in blocks)
            if distinct or unique:
                made.append(Rows(True, tuple(part for parts in combined for part in parts)))
            else:
                made += [Rows(False, tuple(parts)) for parts in combined if parts]
        if distinct:
            made = [Rows(True, tuple(part for rows in made for part in rows.parts))]
        return tuple(rows for rows in made if rows.parts)

    def in_words(self, names: Names, items: Items) -> list[exp.Expr]:
        """The items with the names that earlier ones give resolved."""
        earlier: dict[str, exp.Expr] = {}
        made = []
        for _, key, item in items:
            tree = item
            for column in list(item.find_all(exp.Column)):
                node = earlier.get(self.key(column.this)) if not column.args.get("table") else None
                if node is None or isinstance(column.this, exp.Star) or names.knows(column):
                    continue
                if tree is item:
                    tree = exp.Paren(this=item.copy())
                    tree.meta.update(item.meta)
                    occurrences = [c for c in tree.find_all(exp.Column) if c == column]
                    for occurrence in occurrences:
                        occurrence.replace(at_location(node, occurrence))
            earlier[key] = tree
            made.append(tree)
        return made

    def _named(self, part: Part, items: Items) -> Part:
        pairs = zip(items, part.columns, strict=True)
        return replace(part, columns=tuple(Item(name, key, made.value) for (name, key, _), made in pairs))

    def _without_duplicates(self, rows: tuple[Rows, ...]) -> tuple[Rows, ...]:
        """DISTINCT of groups, ranks and the like."""
        if not rows:
            return ()
        fed = self.fed(rows, "rows")
        return (Rows(True, fed.parts),)

    # Relations of their own

    def readable(
        self, source: Source, names: Names, select: exp.Select, number: int, counted: bool
    ) -> Source:
        """A source as joins with filters: what is more is a relation of its own."""
        outer = names.sides[number] not in ("", GROUPED) or any(
            side in ("RIGHT", "FULL") for side in names.sides[number + 1 :]
        )
        unique = any(rows.distinct for rows in source.blocks)
        distinct = select.args.get("distinct") is not None
        passes = len(names.sources) == 1 and names.passes(select)
        whole = all(rows.plain for rows in source.blocks) and (not outer or len(source.parts) == 1)
        if whole and (not unique or (not counted and (distinct or passes))):
            return source
        fed = self.fed(source.blocks, source.key)
        columns = tuple(
            replace(mine, name=was.name, key=was.key)
            for mine, was in zip(fed.columns, source.names or (), strict=True)
        )
        fed = Rows(False, (replace(fed.parts[0], columns=columns),))
        return replace(source, blocks=(fed,), names=columns)

    def fed(self, blocks: tuple[Rows, ...], name: str) -> Rows:
        """Rows as those of a relation, whose statement is kept with it."""
        for part in (part for rows in blocks for part in rows.parts if not part.tables):
            raise blockers.blocker(_WRITTEN, part.columns[0].value, self.text)
        if not self.refused:
            blocks = tuple(self._timed(rows) for rows in blocks)
        name = SUB_QUERY if name.lstrip("#").isdigit() else name.lstrip("#")
        relation, columns = fed_relation(blocks, name, self.text, self.catalog)
        self.declare(relation)
        self._feeds = True
        table = exp.Table(this=exp.to_identifier(relation.name, quoted=True))
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        return Rows(False, (Part((table,), (), tuple(columns)),))

    def column_of(self, node: exp.Column) -> Column | None:
        """The column of a relation that a name over streams means; None if it is none."""
        name = self._named_tables.get(node.table)
        relation = None if name is None else self.catalog.find(name)
        return None if relation is None else next((c for c in relation.columns if c.name == node.name), None)

    def is_timestamp(self, node: exp.Column) -> bool:
        """Whether a name over streams is that of an application timestamp."""
        name = self._named_tables.get(node.table)
        relation = None if name is None else self.catalog.find(name)
        return relation is not None and relation.timestamp == node.name

    def refuse(self, construct: str, node: exp.Expr) -> None:
        """Note what is not decided, where it stands."""
        self.refused.append(blockers.blocker(construct, node, self.text))

    def correlated(self, query: exp.Expr, outer: Substitution) -> tuple[Rows, ...]:
        """The rows of a sub-query in a condition, which may speak of those around."""
        self._around = outer
        try:
            return self.query(query, self._conditions_around, set(), None)
        finally:
            self._around = None

    def declare(self, relation: Relation) -> None:
        """Have a relation in the catalog that this text alone knows."""
        self.catalog = replace(self.catalog, relations=(*self.catalog.relations, relation))

    def order(self, relation: Relation, column: Column) -> None:
        """Have the rows of a relation come in the order of a column, perhaps one that it has not."""
        columns = relation.columns if column in relation.columns else (*relation.columns, column)
        made = replace(relation, columns=columns, timestamp=column.name)
        relations = (made if r.name == relation.name else r for r in self.catalog.relations)
        self.catalog, self.ordered = replace(self.catalog, relations=tuple(relations)), True

    def relation_of(self, table: exp.Table) -> Relation:
        """The relation of a table in a part."""
        relation = self.catalog.find(table.name)
        assert relation is not None
        return relation


def _constants(source: Source) -> bool:
    """Whether a source has rows that a person wrote."""
    parts = (part for part in source.parts if not part.tables)
    return any(not any(item.value.find(exp.Column) for item in part.columns) for part in parts)
