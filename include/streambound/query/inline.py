"""Views, WITH, sub-queries in FROM, ``*``, USING and NATURAL, written out: only streams are left in FROM.

A query becomes a bag sum of *parts*, as in ``statement``: a part is one conjunction over streams, and some
parts may be united without duplicates. A view of plain parts is put in place of its name: its streams join
those of the query that names it, its conditions are added, its columns replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, meant, together
from streambound.query import blockers
from streambound.query.aggregates import is_aggregate
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.clock import (
    CLOCK,
    bounds_clock,
    clock_column,
    clocked,
    conjuncts,
    is_clock,
    reads_clock,
)
from streambound.query.correlated import without_laterals, without_scalars
from streambound.query.derived import ELEMENTS
from streambound.query.dialects.grammar import WITHIN, is_system_time, span_of
from streambound.query.dialects.reading import Language
from streambound.query.differences import plain
from streambound.query.fed import fed_relation
from streambound.query.grouped import (
    Asked,
    framing,
    grouping,
    having_of,
    on_keys,
    ordering,
    ranked,
    values_in,
)
from streambound.query.model import Column, Kind, Op, Relation
from streambound.query.names import Names, Substitution
from streambound.query.nested import is_path
from streambound.query.operators import Framing, Grouping, Ranking, Tests
from streambound.query.parts import (
    GROUPED,
    NESTED,
    Done,
    Item,
    Other,
    Part,
    Partners,
    Rows,
    Source,
    View,
    alias_of,
    apart,
    at_place,
    column_of,
    conditions_of,
    moved,
    output,
    plainly_named,
    stands_for,
    statement_tree,
    unnested,
)
from streambound.query.patterns import as_window
from streambound.query.scope import is_word, place_of
from streambound.query.windows import Window, of_snapshot, tabled
from streambound.query.windows import called as called_window

# More members than a person writes: a query of unions of unions would otherwise fill the memory.
MAX_PARTS = 64
_DIRECT = ("this", "alias")


def is_first(condition: exp.Expr) -> bool:
    """Whether a condition is Azure's IsFirst(...) OVER (...) = 1."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if not isinstance(condition, exp.EQ) or condition.expression.name != "1":
        return False
    inner = condition.this.this if isinstance(condition.this, exp.Window) else None
    return (
        isinstance(inner, exp.Anonymous)
        and str(inner.this).upper() == "ISFIRST"
        and len(inner.expressions) > 1
    )


# Functions that make rows of the elements of a value.
_EXPLODING = (exp.Unnest, exp.Explode, exp.Posexplode, exp.Inline)


def elements_of(table: exp.Expr) -> exp.Expr | None:
    """UNNEST(x), LATERAL VIEW EXPLODE(x) and the like: an element as a function of its row; else None."""
    call = table.this if isinstance(table, exp.Lateral) else table
    if isinstance(call, exp.Unnest):
        given = list(call.expressions)
    elif isinstance(table, exp.Lateral) and isinstance(call, _EXPLODING):
        given = [call.this]
    elif isinstance(table, exp.Lateral) and isinstance(call, exp.Anonymous):
        given = list(call.expressions)
    else:
        return None
    made = exp.Anonymous(this="ELEMENT", expressions=[one.copy() for one in given])
    if (span := span_of(table)) is not None:
        made.meta["span"] = span
    return made


def with_fields(select: exp.Select) -> exp.Select:
    """What lies within an element, as ``a.ArrayValue.x``, as a field of it: ``a`` is no schema."""
    joined = [join.this for join in select.args.get("joins") or []]
    tables = [*(select.args.get("laterals") or []), *joined]
    names = {str(one.alias).lower() for one in tables if one.alias and elements_of(one) is not None}
    if not names:
        return select
    made = select.copy()
    made.meta.update(select.meta)
    for column in list(made.find_all(exp.Column)):
        first, *rest = column.parts
        if len(rest) > 1 and first.name.lower() in names:
            field: exp.Expr = exp.Column(this=rest[0].copy(), table=first.copy())
            for part in rest[1:]:
                field = exp.Dot(this=field, expression=part.copy())
            column.replace(at_place(field, column))
    return made


def _same(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Whether two values are the same to EXCEPT and DISTINCT: equal, or both NULL."""
    nulls = (exp.Is(this=value.copy(), expression=exp.Null()) for value in (one, other))
    equal = exp.EQ(this=one.copy(), expression=other.copy())
    made: exp.Expr = exp.Paren(
        this=exp.Or(this=equal, expression=exp.Paren(this=exp.And(this=next(nulls), expression=next(nulls))))
    )
    return made


def _correlated(condition: exp.Expr) -> bool:
    """Whether a condition over outputs and values names what is neither: a column of the query around."""
    columns = (column for column in condition.find_all(exp.Column) if not is_word(column))
    return any(
        stands_for(column, "output") is None and stands_for(column, "value") is None for column in columns
    )


def with_matches(select: exp.Select) -> exp.Select:
    """A SELECT with MATCH_RECOGNIZE as one over a sub-query with a window function, where it is decided."""
    match, from_ = select.args.get("match"), select.args.get("from_")
    if not isinstance(match, exp.MatchRecognize) or from_ is None or select.args.get("joins"):
        return select
    table = as_window(match, from_.this)
    if table is None:
        return select
    made = select.copy()
    made.meta.update(select.meta)
    made.set("match", None)
    made.set("from_", exp.From(this=table))
    return made


def with_elements(select: exp.Select) -> exp.Select:
    """EXPLODE(x) and its like in a SELECT list: an element as a function of its row, as in FROM."""

    def of(node: exp.Expr) -> exp.Expr:
        named = str(node.this).upper() in ELEMENTS if isinstance(node, exp.Anonymous) else False
        if not named and not isinstance(node, (exp.Unnest, exp.Explode, exp.ExplodeOuter, exp.Posexplode)):
            return node
        given = node.expressions if isinstance(node, (exp.Anonymous, exp.Unnest)) else [node.this]
        made = exp.Anonymous(this="ELEMENT", expressions=[one.copy() for one in given])
        made.meta.update(node.meta)
        return made

    shown = [item.transform(of) for item in select.expressions]
    if all(one == other for one, other in zip(shown, select.expressions, strict=True)):
        return select
    made = select.copy()
    made.meta.update(select.meta)
    made.set("expressions", shown)
    return made


def with_top_one(select: exp.Select) -> exp.Select:
    """Azure's ``TopOne() OVER (ORDER BY ...)`` of a group as an aggregate: a row of it."""

    def of(node: exp.Expr) -> exp.Expr:
        inner = node.this if isinstance(node, exp.Window) else None
        if not isinstance(inner, exp.Anonymous) or str(inner.this).upper() not in ("TOPONE", "COLLECTTOP"):
            return node
        made = exp.Anonymous(this=inner.this, expressions=[])
        made.meta.update(node.meta)
        return made

    made = select.transform(of) if select.args.get("group") is not None else select
    assert isinstance(made, exp.Select)
    return made


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
        # Whether the catalog has relations of sub-queries that are not written out.
        self._feeds = False
        self._missing: list[UnsupportedError] = []
        self._open: list[exp.Expr] = []
        self._lenient = 0
        # Comparisons that are decided wider than they are written, and whether the clock is read.
        self.relaxed: list[exp.Expr] = []
        self.clock = False
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
        if self._is_plain(tree):
            return tree
        blocks = self._query(tree, self._views, set(), None)
        if not self._missing:
            blocks = tuple(map(self._timed, blocks))
        if self._missing:
            raise together(self._missing)
        shown = (item.value for rows in blocks for item in rows.columns)
        plain_rows = all(rows.plain for rows in blocks) and not any(node.meta.get("within") for node in shown)
        # What a sub-query feeds has no name that the user's text has.
        own = plain_rows and not self._feeds
        return statement_tree(blocks) if blocks and own else blocks

    def _timed(self, block: Rows) -> Rows:
        """A block with the clock in FROM of those whose answers it ends."""
        made = []
        for part in block.parts:
            conditions = [one for condition in part.conditions for one in conjuncts(condition)]
            shown = any(reads_clock(item.value) for item in part.columns)
            if not shown and not any(map(reads_clock, conditions)):
                made.append(part)
                continue
            if not self.clock:
                self.clock = True
                self.catalog = replace(self.catalog, relations=(*self.catalog.relations, CLOCK))
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
            tables, conditions = clocked(part.tables, conditions, sorted(stamps), shown)
            columns = part.columns
            if block.distinct and len(tables) > len(part.tables):
                columns = (*columns, Item(CLOCK.name, CLOCK.name, clock_column()))
            made.append(replace(part, tables=tables, conditions=tuple(conditions), columns=columns))
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
        calls = (call for part in tree.iter_expressions() for call in part.find_all(exp.Anonymous))
        if any(is_aggregate(call) or called_window(call) is not None for call in calls):
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
        if node.args.get("by_name"):
            self._missing.append(blockers.blocker("UNION BY NAME", node, self._sql))
        sides = []
        for side in (node.this, node.expression):
            mine = set(taken)
            sides.append(self._query(side, around, mine, hint))
        if not isinstance(node, exp.Union):
            return self._limited(self._except(node, sides), node)
        members = (*sides[0], *sides[1])
        if members and members[0].parts:
            # The names are those of the first member.
            names = members[0].columns
            members = tuple(one.called(names) for one in members)
        # ClickHouse asks for one of the words; without any, sqlglot leaves it open.
        if not node.args.get("distinct"):
            return self._limited(members, node)
        if any(not one.plain for one in members):
            members = tuple(self._fed((one,), f"member {n}") for n, one in enumerate(members, 1))
        return self._limited((Rows(True, tuple(part for block in members for part in block.parts)),), node)

    def _except(self, node: exp.SetOperation, sides: list[tuple[Rows, ...]]) -> tuple[Rows, ...]:
        """EXCEPT and INTERSECT: the different rows of the first that have no equal, or one, in the second."""
        what = node.key.upper()
        if not node.args.get("distinct"):
            self._missing.append(blockers.blocker(f"{what} ALL", node, self._sql))
        if not all(sides) or not all(rows.parts for side in sides for rows in side):
            return ()
        first = [part for rows in self._plainly(sides[0], "left") for part in rows.parts]
        second = [part for rows in self._plainly(sides[1], "right") for part in rows.parts]
        widths = len(first[0].columns), len(second[0].columns)
        if widths[0] != widths[1]:
            raise QueryError(
                f"{what} of {widths[0]} and {widths[1]} columns",
                place=blockers.blocker(what, node, self._sql).place,
                accepted="the same number of columns in each SELECT",
            )
        if isinstance(node, exp.Intersect) and len(second) > 1:
            self._missing.append(blockers.blocker("INTERSECT with a UNION", node, self._sql))
        made = []
        for one in first:
            taken = {table.args["alias"].name.lower() for table in one.tables}
            partners = []
            for other in second:
                there = apart(other, taken, "right")
                if there.partners or there.latest:
                    self._missing.append(blockers.blocker(f"{what} of an outer join", node, self._sql))
                pairs = zip(one.columns, there.columns, strict=False)
                same = tuple(_same(a.value, b.value) for a, b in pairs)
                partners.append(
                    Partners(
                        there.tables, (*there.conditions, *same), isinstance(node, exp.Except), False, node
                    )
                )
            made.append(replace(one, partners=(*one.partners, *partners)))
        return (Rows(True, tuple(made)),)

    def _plainly(self, blocks: tuple[Rows, ...], name: str) -> tuple[Rows, ...]:
        """Rows as joins with filters: what is more as a relation of its own."""
        return tuple(one if one.plain else self._fed((one,), name) for one in blocks)

    def _select(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        self._open.append(select)
        try:
            return self._selected(select, around, taken, hint)
        finally:
            self._open.pop()

    def _selected(
        self, select: exp.Select, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> tuple[Rows, ...]:
        select = with_fields(with_matches(select))
        self._missing += blockers.of_clauses(select, self._sql)
        from_ = select.args.get("from_")
        if from_ is None:
            return self._without_from(select)
        joins = [exp.Join(this=from_.this), *(select.args.get("joins") or [])]
        laterals = [exp.Join(this=one) for one in select.args.get("laterals") or []]
        joins = [*unnested([*joins, *laterals])]

        def columns(table: exp.Expr) -> list[str] | None:
            return self._columns(table, around)

        select, scalars = without_scalars(select, [join.this for join in joins], columns)
        joins = [*without_laterals(joins, columns), *scalars]
        tables = [join.this for join in joins]
        taken.update(self._key(name) for name in map(alias_of, tables) if name)
        outer, self._around = self._around, None
        names = Names(self, [], outer=outer)
        for number, join in enumerate(joins):
            side = "" if not number else blockers.side_of(join)
            if side is None:
                self._missing.append(blockers.blocker(blockers.kind_of(join), join, self._sql))
            if isinstance(join.this, exp.Table) and join.this.args.get("version") is not None and number:
                side = "ASOF LEFT" if side == "LEFT" else "ASOF" if side == "" else side
            source = self._source(join.this, around, taken, hint if len(joins) == 1 else None)
            names.sources.append(source)
            if (side or "").startswith("ASOF") and self._is_static(source):
                side = side[5:] if side else ""
            elif number and side in ("", "LEFT") and self._looked_up(source):
                side = f"ASOF {side}".strip()
            names.sides.append(GROUPED if join.meta.get(GROUPED) else side or "")
            if join.meta.get(NESTED):
                what = "an outer join within the parentheses of another"
                self._missing.append(blockers.blocker(what, join, self._sql))
            names.join(join)
            on = join.args.get("on")
            names.ons.append([] if on is None else [on])
            if WITHIN in join.this.meta:
                names.within.append((join.this, len(names.sources)))
        self._refuse_twins(names)
        if self._language.name == "azure":
            select = self._with_system_time(with_top_one(of_snapshot(select)), names)
        where = [] if select.args.get("where") is None else [select.args["where"].this]
        where = [one for condition in where for one in conjuncts(condition)]
        firsts = [one for one in where if is_first(one)]
        if firsts:
            return self._first_in_time(select, names, where, firsts)
        select = with_elements(select)
        items = list(select.expressions)
        grouped = select.args.get("group") is not None or select.args.get("having") is not None
        framed = False
        for item in items:
            self._missing += blockers.of_expression(item, self._sql, decided=True)
            grouped = grouped or blockers.aggregates(item)
            framed = framed or item.find(exp.Window) is not None
        for item in (*(on for ons in names.ons for on in ons), *where):
            self._missing += blockers.of_expression(item, self._sql, conditions=item in where)
        for item in (*items, *(on for ons in names.ons for on in ons)):
            for query in blockers.subqueries(item):
                self._beside(query, around)
        before = len(self._missing)
        if self._lenient or any(source.names is None for source in names.sources):
            # Something in FROM is refused: names cannot be told from those it would have.
            for condition in where:
                for query in blockers.subqueries(condition):
                    self._beside(query, around)
            return ()
        try:
            self._conditions_around = around
            rows = self._combined(select, names, where, grouped, framed)
            return self._limited(rows, select, names)
        except QueryError:
            # What is refused may have names of its own, such as the start of a window.
            if not self._missing[: before + 1]:
                raise
            return ()

    def _with_system_time(self, select: exp.Select, names: Names) -> exp.Select:
        """Azure's System.Timestamp() of rows that are in no window: the timestamp of the first source."""
        group = select.args.get("group")
        keys = [] if group is None else group.expressions
        several = [key for key in keys if key.name.upper() == "WINDOWS" and isinstance(key, exp.Anonymous)]
        self._missing += [blockers.blocker("Windows()", key, self._sql) for key in several]
        if any(called_window(key) is not None for key in keys) or not any(map(is_system_time, select.walk())):
            return select

        def of(node: exp.Expr) -> exp.Expr:
            if not is_system_time(node):
                return node
            try:
                return at_place(names.stamp(node), node)
            except QueryError:
                raise blockers.blocker("System.Timestamp() of rows without one", node, self._sql) from None

        parts = {name: given for name, given in select.args.items() if name not in ("from_", "with_")}
        made = select.copy()
        made.meta.update(select.meta)
        for name, given in parts.items():
            if isinstance(given, exp.Expr):
                made.set(name, given.transform(of))
            elif isinstance(given, list) and name != "joins":
                made.set(name, [one.transform(of) if isinstance(one, exp.Expr) else one for one in given])
        return made

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

    def _refuse_twins(self, names: Names) -> None:
        seen: set[str] = set()
        for source in names.sources:
            if source.key in seen and not source.key.startswith("#"):
                name = alias_of(source.node) or source.node
                raise QueryError(
                    f"the alias {name.name} is used twice",
                    place=place_of(name, self._sql),
                    fix="give each a different alias",
                )
            seen.add(source.key)

    # Sources

    def _source(
        self, table: exp.Expr, around: Mapping[str, View], taken: set[str], hint: str | None
    ) -> Source:
        alias = table.args.get("alias")
        windowed = tabled(table)
        name = alias_of(table) or (None if windowed is None else alias_of(_as_table(windowed[0])))
        key = self._key(name) if name is not None else f"#{len(self._open)}"
        if isinstance(table, exp.Subquery) and isinstance(table.this, (exp.Query, exp.Subquery)):
            blocks = self._query(table.this, around, taken, name.name if name is not None else hint)
        elif isinstance(table, exp.Query):
            blocks = self._query(table, around, taken, hint)
        elif (elements := elements_of(table)) is not None:
            named = tuple(alias.args.get("columns") or ()) if alias is not None else ()
            named = named or (() if name is None else (name,))
            items = tuple(Item(n.name, self._key(n), elements.copy()) for n in named)
            return Source(key, table, (Rows(False, (Part((), (), items),)),), items, True)
        elif windowed is not None:
            blocks = self._windowed(table, *windowed, around, taken, hint)
        elif not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
            self._missing.append(blockers.of_source(table, self._sql))
            for query in blockers.subqueries(table):
                self._beside(query, around)
            return Source(key, table, (), None)
        elif (view := self._view(table, around)) is not None:
            blocks = self._viewed(view, table, taken)
        elif (other := self._named_query(table)) is not None:
            blocks = self._registered(other, table, taken)
        else:
            return self._streamed(table, key, hint)
        parts = [part for block in blocks for part in block.parts]
        if not parts:
            return Source(key, table, (), None)
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        blocks = self._renamed(blocks, given)
        return Source(key, table, blocks, blocks[0].columns)

    def _columns(self, table: exp.Expr, around: Mapping[str, View]) -> list[str] | None:
        """The columns of a stream in FROM, in lower case; None of a view or a sub-query."""
        if not isinstance(table, exp.Table) or self._view(table, around) is not None:
            return None
        relation = self.catalog.find(".".join(part.name for part in table.parts))
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
        source = self._source(inner, around, taken, hint)
        if source.names is None:
            return ()
        names = Names(self, [source])
        names.sides, names.ons = [""], [[]]
        names.sources = [self._readable(source, names, exp.Select(expressions=[exp.Star()]), 0)]
        stamp = window.stamp if window.stamp is not None else names.stamp(window.node)
        made = []
        for rows in names.sources[0].blocks:
            parts = []
            for part in rows.parts:
                of_part = Substitution(names, [part]).of(stamp)
                edges = (("window_start", False), ("window_end", True), ("window_time", True))
                further = (
                    Item(name, self._key(name), window.value(end, window.node, of_part))
                    for name, end in edges
                )
                parts.append(replace(part, columns=(*part.columns, *further)))
            made.append(replace(rows, parts=tuple(parts)))
        return tuple(made)

    def _looked_up(self, source: Source) -> bool:
        """ksqlDB: whether a join looks a row up in a table as it is when the row comes."""
        kinds = {self.relation_of(table).kind for part in source.parts for table in part.tables}
        return self._language.name == "ksql" and kinds == {Kind.VERSIONED}

    def _is_static(self, source: Source) -> bool:
        """Whether a source is of relations that never change."""
        return all(self.relation_of(t).kind is Kind.STATIC for part in source.parts for t in part.tables)

    def note(self, parts: Iterable[Part]) -> None:
        """Note of which relations the tables of parts are."""
        for part in parts:
            for table in part.tables:
                self._named_tables[table.args["alias"].name] = table.name

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
            around = self._views if view.around is None else view.around
            blocks = self._query(view.tree, around, taken, (table.args.get("alias") or table).name)
        finally:
            self._open.pop()
        return self._renamed(blocks, view.columns)

    def _named_query(self, table: exp.Table) -> NamedQuery | None:
        """The query of another text that a name is; None where there is a relation of that name."""
        dotted = ".".join(part.name for part in table.parts)
        if self.catalog.find(dotted) is not None or dotted.lower() in self._unlisted:
            return None
        return self.catalog.query(dotted)

    def _registered(self, other: NamedQuery, table: exp.Table, taken: set[str]) -> tuple[Rows, ...]:
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
                scope[name] = View(moved(view.tree, span), view.columns, scope)
            tree = moved(found.query.tree, span)
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

    def _renamed(self, blocks: tuple[Rows, ...], names: tuple[exp.Expr, ...]) -> tuple[Rows, ...]:
        if not names:
            return blocks

        def of(items: tuple[Item, ...]) -> tuple[Item, ...]:
            pairs = zip(names, items[: len(names)], strict=False)
            renamed = [replace(item, name=n.name, key=self._key(n)) for n, item in pairs]
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
        said = "SYSTEM" if version is None else self._sql[slice(*(span_of(version) or (0, 0)))].upper()
        if version is not None and "SYSTEM" not in said and relation.kind is not Kind.STATIC:
            self._missing.append(blockers.blocker("VERSION AS OF", version, self._sql))
        for part in ("sample", "pivots", "partition", "when"):
            if (value := table.args.get(part)) is not None and value != []:
                node = value[0] if isinstance(value, list) else value
                what = {"sample": "TABLESAMPLE", "pivots": "PIVOT"}.get(part, part.upper())
                what = "MATCH_RECOGNIZE" if isinstance(node, exp.MatchRecognize) else what
                self._missing.append(blockers.blocker(what, node, self._sql))
        paths = [c.name for c in relation.columns if is_path(relation, c.name)]
        whole = (c.name for c in relation.columns if c.name not in paths)
        columns = [
            Item(name, self._key(name), column_of(called, name), name in paths)
            for name in (*whole, *(name for name, _ in relation.opaque), *paths)
        ]
        given = tuple(alias.args.get("columns") or ()) if alias is not None else ()
        (block,) = self._renamed((Rows(False, (Part((plain_table,), (), tuple(columns)),)),), given)
        return Source(key, table, (block,), block.parts[0].columns)

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

    def _combined(
        self, select: exp.Select, names: Names, where: list[exp.Expr], grouped: bool, framed: bool
    ) -> tuple[Rows, ...]:
        distinct = select.args.get("distinct")
        items = names.items(select)
        if not grouped and not framed and (merged := self._merged(select, names, items, where)) is not None:
            return merged
        where = self._ranked_first(names, where)
        names.sources = [
            self._readable(source, names, select, number) for number, source in enumerate(names.sources)
        ]
        number = 1
        for source in names.sources:
            number *= len(source.parts)
        if number > MAX_PARTS:
            raise UnsupportedError(
                f"the unions in FROM make {number:,} members",
                place=place_of(select, self._sql),
                accepted=f"at most {MAX_PARTS}",
            )
        if grouped:
            select, early = on_keys(select, names, items)
            where = [*where, *early]
            if framed:
                return self._framed_groups(select, names, items, where)
            made = [
                Rows(False, self._parts(names, outputs, where), done)
                for outputs, done in grouping(select, names, items)
            ]
            rows = tuple(one for one in made if one.parts)
        elif framed or select.args.get("qualify") is not None:
            rows = self._framed(select, names, items, where)
        elif distinct is not None and distinct.args.get("on") is not None:
            return self._first_of_each(select, names, items, where, distinct.args["on"])
        else:
            return self._plain_rows(names, items, where, distinct is not None)
        return self._without_duplicates(rows) if distinct is not None else rows

    def _parts(self, names: Names, items: list[exp.Expr], where: list[exp.Expr]) -> tuple[Part, ...]:
        chosen = product(*(source.parts for source in names.sources))
        return tuple(part for of in chosen for part in names.parts(items, where, of))

    def _plain_rows(
        self, names: Names, items: list[tuple[str, str, exp.Expr]], where: list[exp.Expr], distinct: bool
    ) -> tuple[Rows, ...]:
        """A SELECT of joins and filters: as many rows as there are unions in FROM."""
        blocks = names.sources[0].blocks if len(names.sources) == 1 else ()
        groups: list[tuple[Part, ...] | None] = [block.parts for block in blocks] or [None]
        made = []
        for group in groups:
            chosen = (
                [(part,) for part in group]
                if group is not None
                else product(*(s.parts for s in names.sources))
            )
            found = [
                [self._named(part, items) for part in names.parts(self._in_words(names, items), where, of)]
                for of in chosen
            ]
            united = group is not None and any(block.distinct and block.parts is group for block in blocks)
            if distinct or united:
                made.append(Rows(True, tuple(part for parts in found for part in parts)))
            else:
                made += [Rows(False, tuple(parts)) for parts in found if parts]
        if distinct:
            made = [Rows(True, tuple(part for rows in made for part in rows.parts))]
        return tuple(rows for rows in made if rows.parts)

    def _in_words(self, names: Names, items: list[tuple[str, str, exp.Expr]]) -> list[exp.Expr]:
        """The items with the names that earlier ones give resolved."""
        earlier: dict[str, exp.Expr] = {}
        made = []
        for _, key, item in items:
            found = item
            for column in list(item.find_all(exp.Column)):
                known = earlier.get(self._key(column.this)) if not column.args.get("table") else None
                if known is None or isinstance(column.this, exp.Star) or names.knows(column):
                    continue
                if found is item:
                    found = exp.Paren(this=item.copy())
                    found.meta.update(item.meta)
                    return_to = [c for c in found.find_all(exp.Column) if c == column]
                    for one in return_to:
                        one.replace(at_place(known, one))
            earlier[key] = found
            made.append(found)
        return made

    def _named(self, part: Part, items: list[tuple[str, str, exp.Expr]]) -> Part:
        pairs = zip(items, part.columns, strict=True)
        return replace(part, columns=tuple(Item(name, key, made.value) for (name, key, _), made in pairs))

    def _merged(
        self, select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]], where: list[exp.Expr]
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
        found = Substitution(names, [view])
        conditions = [found.of(condition) for condition in where]
        if any(_correlated(condition) for condition in conditions):
            return None
        values = [found.of(item) for item in self._in_words(names, items)]
        shown = tuple(Item(name, key, made) for (name, key, _), made in zip(items, values, strict=True))
        done = replace(rows.done, shown=shown)
        if not conditions:
            return (replace(rows, done=done),)
        if (kept := ranked(done, conditions)) is not None and isinstance(done.operator, Framing):
            done, conditions = kept
            if conditions:
                return None
            return (replace(rows, done=done),)
        if not isinstance(done.operator, Grouping) or any(map(reads_clock, conditions)):
            return None
        early = [condition for condition in conditions if not values_in(condition)]
        late = [condition for condition in conditions if values_in(condition)]
        parts = tuple(
            replace(part, conditions=(*part.conditions, *(self.of_outputs(c, part, names) for c in early)))
            for part in rows.parts
        )
        operator = done.operator
        if late:
            whole = exp.and_(*late, copy=True)
            having = having_of(whole, place_of(where[0], self._sql))
            if operator.having is not None:
                both = (operator.having.tests, having.tests)
                tests = None if None in both else Tests(True, tuple(t for t in both if t is not None))
                numbers = (*operator.having.aggregates, *having.aggregates)
                having = replace(having, aggregates=tuple(dict.fromkeys(numbers)), tests=tests)
                whole = exp.and_(done.having, whole, copy=True)
            done = replace(done, having=whole)
            operator = replace(operator, having=having)
        return (replace(rows, parts=parts, done=replace(done, operator=operator)),)

    def _ranked_first(self, names: Names, where: list[exp.Expr]) -> list[exp.Expr]:
        """WHERE without the conditions on the rank of a sub-query, whose first rows are then its rows."""
        for number, source in enumerate(names.sources):
            outer = names.sides[number] or any(side in ("RIGHT", "FULL") for side in names.sides)
            if len(source.blocks) != 1 or outer:
                continue
            (rows,) = source.blocks
            if rows.done is None or not isinstance(rows.done.operator, Framing):
                continue
            view = [Part((), (), rows.done.shown if n == number else ()) for n in range(len(names.sources))]
            mine = []
            for condition in where:
                columns = [c for c in condition.find_all(exp.Column) if not is_word(c)]
                at = [names.resolve(c) if names.knows(c) else None for c in columns]
                if blockers.semi_join(condition) or any(one is None or one[0] != number for one in at):
                    continue
                found = Substitution(names, view).of(condition)
                if values_in(found):
                    mine.append((condition, found))
            kept = ranked(rows.done, [found for _, found in mine]) if mine else None
            if kept is None or kept[1]:
                continue
            blocks = (replace(rows, done=kept[0]),)
            names.sources[number] = replace(source, blocks=blocks, names=blocks[0].columns)
            where = [one for one in where if all(one is not condition for condition, _ in mine)]
        return where

    def of_outputs(self, condition: exp.Expr, part: Part, names: Names) -> exp.Expr:
        """A condition over outputs of rows as one over streams."""
        root = exp.Paren(this=condition.copy())
        for column in list(root.find_all(exp.Column)):
            if (number := stands_for(column, "output")) is not None:
                column.replace(at_place(part.columns[number].value, column))
        return names.condition(root.this)

    def _framed(
        self, select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]], where: list[exp.Expr]
    ) -> tuple[Rows, ...]:
        """A SELECT with window functions; QUALIFY keeps rows by what they say."""
        items = [
            (name, key, item)
            for (name, key, _), item in zip(items, self._in_words(names, items), strict=True)
        ]
        qualify = select.args.get("qualify")
        further = [] if qualify is None else [("", "#qualify", self._aliased(qualify.this, names, items))]
        outputs, done = framing(select, names, [*items, *further])
        rows = Rows(False, self._parts(names, outputs, where), done)
        if qualify is None:
            return (rows,) if rows.parts else ()
        *shown, kept = done.shown
        done = replace(done, shown=tuple(shown))
        found = ranked(done, list(conjuncts(kept.value)))
        if found is None or found[1]:
            self._missing.append(blockers.blocker("QUALIFY but of a rank", qualify, self._sql))
            return ()
        return (replace(rows, done=found[0]),)

    def _aliased(self, node: exp.Expr, names: Names, items: list[tuple[str, str, exp.Expr]]) -> exp.Expr:
        """An expression with the names that SELECT gives resolved."""
        known = {key: item for _, key, item in items}

        def of(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and not part.args.get("table") and not names.knows(part):
                return known.get(self._key(part.this), part).copy()
            return part

        return exp.Paren(this=node.copy()).transform(of)

    def _framed_groups(
        self, select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]], where: list[exp.Expr]
    ) -> tuple[Rows, ...]:
        """Window functions over groups: the groups first, then the functions over them as a sub-query."""
        inner: list[tuple[str, str, exp.Expr]] = []
        numbers: dict[str, int] = {}

        def of(node: exp.Expr) -> exp.Expr:
            plain_node = isinstance(node, exp.Column) and not is_word(node)
            whole = isinstance(node.parent, exp.Window) and node.arg_key == "this"
            if (
                (blockers.aggregates_here(node) and not whole)
                or plain_node
                or called_window(node) is not None
            ):
                key = names.canonical(node)
                if key not in numbers:
                    numbers[key] = len(inner)
                    inner.append((f"c{len(inner)}", f"c{len(inner)}", node.copy()))
                made: exp.Expr = exp.column(exp.to_identifier(f"c{numbers[key]}", quoted=True))
                if (span := span_of(node)) is not None:
                    made.meta["span"] = span
                return made
            made = node.copy()
            for name, given in node.args.items():
                if isinstance(given, exp.Expr):
                    made.set(name, of(given))
                elif isinstance(given, list):
                    made.set(name, [of(one) if isinstance(one, exp.Expr) else one for one in given])
            return made

        outer = [(name, key, of(item)) for name, key, item in items]
        groups = tuple(
            Rows(False, self._parts(names, outputs, where), done)
            for outputs, done in grouping(select, names, inner)
        )
        if not all(rows.parts for rows in groups):
            return ()
        fed = self._fed(groups, "groups")
        around = Names(self, [Source("#groups", select, (fed,), fed.columns)])
        around.sides, around.ons = [""], [[]]
        outputs, done = framing(select, around, outer)
        return (Rows(False, self._parts(around, outputs, []), done),)

    def _first_in_time(
        self, select: exp.Select, names: Names, where: list[exp.Expr], firsts: list[exp.Expr]
    ) -> tuple[Rows, ...]:
        """Azure's ``IsFirst(minute, 10) OVER (PARTITION BY k) = 1``: the first row of each key and window."""
        if len(firsts) > 1 or any(source.names is None for source in names.sources):
            self._missing.append(blockers.blocker("ISFIRST beside another", firsts[-1], self._sql))
            return ()
        over = firsts[0].find(exp.Window)
        assert over is not None
        unit, number = over.this.expressions[:2]
        kind = exp.Anonymous(this="TumblingWindow", expressions=[unit.copy(), number.copy()])
        window = called_window(kind)
        if window is None:
            self._missing.append(blockers.blocker("ISFIRST without a length", over, self._sql))
            return ()
        asked, items = Asked(names), names.items(select)
        stamp = names.stamp(over)
        keys = [*(over.args.get("partition_by") or []), window.value(False, over, stamp)]
        partition = tuple(n for key in keys for n in asked.spread(key))
        shown = tuple(Item(name, key, output(asked.output(item))) for name, key, item in items)
        done = Done(Ranking("ROW_NUMBER", partition, ((asked.output(stamp), False),), Op.LE, 1, ()), shown)
        rest = [one for one in where if one is not firsts[0]]
        return (Rows(False, self._parts(names, asked.outputs, rest), done),)

    def _first_of_each(
        self,
        select: exp.Select,
        names: Names,
        items: list[tuple[str, str, exp.Expr]],
        where: list[exp.Expr],
        on: exp.Expr,
    ) -> tuple[Rows, ...]:
        """DISTINCT ON: the first row of each key, in the order of ORDER BY."""
        keys = (
            list(on.expressions)
            if isinstance(on, exp.Tuple)
            else [on.this if isinstance(on, exp.Paren) else on]
        )
        asked = Asked(names)
        partition = tuple(n for key in keys for n in asked.spread(key))
        shown = tuple(Item(name, key, output(asked.output(item))) for name, key, item in items)
        order = self._order(select, names, asked, items)
        order = tuple(pair for pair in order if pair[0] not in partition)
        done = Done(Ranking("ROW_NUMBER", partition, order, Op.LE, 1, ()), shown)
        return (Rows(False, self._parts(names, asked.outputs, where), done),)

    def _order(
        self, node: exp.Expr, names: Names, asked: Asked, items: list[tuple[str, str, exp.Expr]]
    ) -> tuple[tuple[int, bool], ...]:
        clause = node.args.get("order")
        made: list[tuple[exp.Expr, exp.Expr]] = []
        for one in () if clause is None else clause.expressions:
            of = one.this
            if isinstance(of, exp.Literal) and of.name.isdigit() and 0 < int(of.name) <= len(items):
                of = items[int(of.name) - 1][2]
            of = self._aliased(of, names, items)
            while isinstance(of, exp.Paren):
                of = of.this
            made.append((one, of))
        return ordering(made, asked)

    def _limited(
        self, rows: tuple[Rows, ...], node: exp.Expr, names: Names | None = None
    ) -> tuple[Rows, ...]:
        """Rows with LIMIT: the first in an order, or any; ORDER BY alone is how they are looked at."""
        limit = node.args.get("limit")
        if limit is None or not rows:
            return rows
        count = limit.args.get("expression") if isinstance(limit, exp.Limit) else limit.args.get("count")
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("with_ties") or options.args.get("percent")):
            self._missing.append(blockers.blocker("LIMIT WITH TIES or PERCENT", limit, self._sql))
            return ()
        if not isinstance(count, exp.Literal) or not count.name.isdigit():
            self._missing.append(blockers.blocker("LIMIT with an expression", limit, self._sql))
            return ()
        offset = node.args.get("offset")
        first = offset.expression if offset is not None else None
        if offset is not None and not (isinstance(first, exp.Literal) and first.name.isdigit()):
            self._missing.append(blockers.blocker("OFFSET with an expression", offset, self._sql))
            return ()
        above = 0 if first is None else int(first.name)
        most = int(count.name) + above
        single = len(rows) == 1 and len(rows[0].parts) >= 1 and rows[0].done is None and not rows[0].distinct
        if single and names is not None and isinstance(node, exp.Select) and rows[0].plain:
            items = names.items(node)
            asked = Asked(names)
            shown = tuple(Item(name, key, output(asked.output(item))) for name, key, item in items)
            order = self._order(node, names, asked, items)
            where = [] if node.args.get("where") is None else list(conjuncts(node.args["where"].this))
            keys = tuple(
                n for key in limit.expressions for n in asked.spread(self._aliased(key, names, items))
            )
            done = Done(Ranking("ROW_NUMBER", keys, order, Op.LE, most, (), above=above), shown)
            return (Rows(False, self._parts(names, asked.outputs, where), done),)
        if limit.expressions:
            self._missing.append(blockers.blocker("LIMIT ... BY of groups", limit, self._sql))
            return ()
        fed = self._fed(rows, "rows")
        around = Names(self, [Source("#rows", node, (fed,), fed.columns)])
        around.sides, around.ons = [""], [[]]
        items = [(c.name, c.key, column_of("#0", str(n))) for n, c in enumerate(fed.columns)]
        asked = Asked(around)
        shown = tuple(Item(name, key, output(asked.output(item))) for name, key, item in items)
        if names is not None and isinstance(node, exp.Select):
            node = self._by_number(node, names)
        try:
            order = self._order(node, around, asked, items)
        except QueryError:
            self._missing.append(
                blockers.blocker("ORDER BY of what is not shown, with LIMIT", node.args["order"], self._sql)
            )
            return ()
        done = Done(Ranking("ROW_NUMBER", (), order, Op.LE, most, (), above=above), shown)
        return (Rows(False, self._parts(around, asked.outputs, []), done),)

    def _by_number(self, select: exp.Select, names: Names) -> exp.Select:
        """A SELECT whose ORDER BY has numbers for what it shows: names of FROM mean nothing of its rows."""
        clause = select.args.get("order")
        if clause is None:
            return select
        shown = [names.canonical(item) for _, _, item in names.items(select)]
        made = select.copy()
        for one in made.args["order"].expressions:
            key = names.canonical(one.this) if one.this.find(exp.Column) else ""
            if key in shown:
                one.set("this", exp.Literal.number(shown.index(key) + 1))
        return made

    def _without_duplicates(self, rows: tuple[Rows, ...]) -> tuple[Rows, ...]:
        """DISTINCT of groups, ranks and the like."""
        if not rows:
            return ()
        fed = self._fed(rows, "rows")
        return (Rows(True, fed.parts),)

    # Relations of their own

    def _readable(self, source: Source, names: Names, select: exp.Select, number: int) -> Source:
        """A source as joins with filters: what is more is a relation of its own."""
        outer = names.sides[number] not in ("", GROUPED) or any(
            side in ("RIGHT", "FULL") for side in names.sides[number + 1 :]
        )
        united = any(rows.distinct for rows in source.blocks)
        distinct = select.args.get("distinct") is not None
        grouped = select.args.get("group") is not None
        passes = len(names.sources) == 1 and not grouped and names.passes(select)
        whole = all(rows.plain for rows in source.blocks) and (not outer or len(source.parts) == 1)
        if whole and (not united or (distinct and not grouped) or passes):
            return source
        fed = self._fed(source.blocks, source.key)
        columns = tuple(
            replace(mine, name=was.name, key=was.key)
            for mine, was in zip(fed.columns, source.names or (), strict=True)
        )
        fed = Rows(False, (replace(fed.parts[0], columns=columns),))
        return replace(source, blocks=(fed,), names=columns)

    def _fed(self, blocks: tuple[Rows, ...], name: str) -> Rows:
        """Rows as those of a relation, whose statement is kept with it."""
        if not self._missing:
            blocks = tuple(self._timed(one) for one in blocks)
        name = "sub_query" if name.lstrip("#").isdigit() else name.lstrip("#")
        relation, columns = fed_relation(blocks, name, self._sql, self.catalog)
        self.catalog = replace(self.catalog, relations=(*self.catalog.relations, relation))
        self._feeds = True
        table = exp.Table(this=exp.to_identifier(relation.name, quoted=True))
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        return Rows(False, (Part((table,), (), tuple(columns)),))

    def partners(
        self, condition: exp.Expr, query: exp.Expr, outer: Substitution, beside: Iterable[Partners]
    ) -> list[Partners]:
        """What [NOT] EXISTS and [NOT] IN (SELECT ...) look for, of the rows of the query around.

        Args:
            beside: what else is looked for, under names of its own.
        """
        negated, member = blockers.semi_join_words(condition)
        self._around = outer
        try:
            rows = self._query(query, self._conditions_around, set(), None)
        finally:
            self._around = None
        if not rows or self._missing:
            return []
        if any(not one.plain for one in rows):
            if any(map(self._reads_around, rows)):
                self._missing.append(
                    blockers.blocker(
                        "a correlated sub-query that is more than joins and filters", condition, self._sql
                    )
                )
                return []
            rows = (self._fed(rows, "sub_query"),)
        parts = [part for one in rows for part in one.parts]
        if len(parts) > 1 and not negated:
            self._missing.append(blockers.blocker("a UNION in EXISTS or IN", condition, self._sql))
            return []
        made = []
        taken = {table.args["alias"].name.lower() for one in beside for table in one.tables}
        taken |= set(outer.names())
        for part in parts:
            if any(map(reads_clock, part.conditions)):
                part = self._in_time(part)
            there = apart(part, taken, "inner")
            conditions = list(there.conditions)
            if member is not None:
                if len(there.columns) != 1:
                    raise QueryError(
                        f"IN compares one value with rows of {len(there.columns)} columns",
                        place=place_of(condition, self._sql),
                        accepted="a sub-query of one column",
                    )
                left, right = outer.of(member), there.columns[0].value
                conditions.append(self._same(left, right.copy(), negated))
            made.append(Partners(there.tables, tuple(conditions), negated, False, condition))
        return made

    def _in_time(self, part: Part) -> Part:
        """A part of a sub-query whose rows leave with time, as rows of a relation of their own."""
        own = {CLOCK.name, *(table.args["alias"].name for table in part.tables)}

        def over(node: exp.Expr) -> set[str]:
            return {column.table for column in node.find_all(exp.Column)}

        split = [one for condition in part.conditions for one in conjuncts(condition)]
        local = tuple(one for one in split if over(one) <= own)
        rest = [one for one in split if not over(one) <= own]
        said = [*rest, *(item.value for item in part.columns)]
        asked = {
            (column.table, column.name): column
            for node in said
            for column in node.find_all(exp.Column)
            if column.table in own
        }
        items = tuple(Item(f"{t}.{name}", f"{t}.{name}", c.copy()) for (t, name), c in asked.items())
        items = items or (Item("one", "one", exp.Literal.number(1)),)
        fed = self._fed((Rows(False, (Part(part.tables, local, items),)),), "in_time").parts[0]
        known = {key: item.value for key, item in zip(asked, fed.columns, strict=False)}

        def of(node: exp.Expr) -> exp.Expr:
            root = exp.Paren(this=node.copy())
            for column in list(root.find_all(exp.Column)):
                if (value := known.get((column.table, column.name))) is not None:
                    column.replace(at_place(value, column))
            made: exp.Expr = root.this
            made.pop()
            return made

        columns = tuple(replace(item, value=of(item.value)) for item in part.columns)
        return replace(part, tables=fed.tables, conditions=tuple(map(of, rest)), columns=columns)

    def _reads_around(self, rows: Rows) -> bool:
        """Whether rows depend on those of a query around."""
        for part in rows.parts:
            own = {
                t.args["alias"].name for t in (*part.tables, *(t for p in part.partners for t in p.tables))
            }
            said = [*part.conditions, *(c.value for c in part.columns)]
            said += [c for p in part.partners for c in p.conditions]
            tables = {column.table for one in said for column in one.find_all(exp.Column)}
            own.add(CLOCK.name)
            if any(name and not name.startswith("#") and name not in own for name in tables):
                return True
        return False

    def _same(self, left: exp.Expr, right: exp.Expr, negated: bool) -> exp.Expr:
        """That a value is one of a sub-query's; of NOT IN also that it cannot be told, for NULL."""
        same: exp.Expr = exp.EQ(this=left, expression=right)
        if not negated:
            return same
        for side in (left, right):
            column = self.column_of(side) if isinstance(side, exp.Column) else None
            if column is None or column.nullable:
                same = exp.Or(this=same, expression=exp.Is(this=side.copy(), expression=exp.Null()))
        return exp.Paren(this=same)

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


def _as_table(node: exp.Expr) -> exp.Expr:
    """What a window function is of: the name of a table reads as that of a column."""
    if not isinstance(node, exp.Column):
        return node
    parts = [part.copy() for part in node.parts]
    made = exp.Table(this=parts[-1], db=parts[-2] if len(parts) > 1 else None)
    made.meta.update(node.meta)
    return made


def _decided(relation: Relation) -> bool:
    return relation.kind is not Kind.VERSIONED
