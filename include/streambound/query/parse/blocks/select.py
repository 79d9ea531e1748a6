"""One SELECT to the model: its clauses, its FROM with the occurrences, its outputs, its conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import expressions as exp

from streambound.errors import Location, QueryError, UnsupportedError, meant, together
from streambound.query.catalog import Catalog
from streambound.query.column_types import NULL, Family, Type
from streambound.query.computing.translate import formula_of
from streambound.query.computing.typed import NotComputed
from streambound.query.dialects.grammar import SPAN
from streambound.query.dialects.tokens import code, location_at
from streambound.query.expressions.conditions import formula, operands
from streambound.query.expressions.derived import Expressions, with_columns
from streambound.query.expressions.offsets import without_offsets
from streambound.query.expressions.types import type_of_expression
from streambound.query.formula import Formula, all_of
from streambound.query.model import Attribute, Constant, Occurrence, Op, Output, Query, Term
from streambound.query.operators import Shown
from streambound.query.parse.text.parts import Latest, Partners
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.scope import describe, is_word, location_of
from streambound.query.statement import AsOf, Guard, Selection

_ALLOWED_PARTS = {"expressions", "distinct", "from_", "joins", "where"}
_PART_NAMES = {
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "with_": "WITH",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "hint": "hint",
    "sample": "TABLESAMPLE",
}


def selection(
    select: exp.Select,
    sql: str,
    catalog: Catalog,
    name: str,
    partners: Sequence[Partners] = (),
    latest: Sequence[Latest] = (),
    done: bool = False,
) -> Selection:
    """One SELECT, its names resolved and its conditions typed.

    Args:
        partners: what its rows are looked for beside FROM; the tables of ``latest`` are in FROM.
        done: something is done to its rows: each of its outputs is a column of one tuple.

    Raises:
        QueryError: an unknown or ambiguous name, a type mismatch.
        UnsupportedError: a clause or condition outside the class, named with its place.
    """
    _refuse_select_clauses(select, sql)
    occurrences, ons = _from(select, sql, catalog)
    further = [tuple(_occurrence(table, sql, catalog) for table in partner.tables) for partner in partners]
    scope = Expressions(sql, (*occurrences, *(o for group in further for o in group)))
    where = select.args.get("where")
    missing: list[UnsupportedError] = []

    # Conditions first: they tell of what type a function is that is not known.
    def read(conditions: Iterable[exp.Expr]) -> Formula:
        formulas = []
        for condition in conditions:
            for part in operands(condition) if isinstance(condition, exp.And) else [condition]:
                try:
                    formulas.append(formula(part, scope))
                except UnsupportedError as error:
                    missing.append(error)
        return all_of(formulas)

    conditions = [read([*ons, *([where.this] if where else [])]), *(read(p.conditions) for p in partners)]
    conditions += [read(join.conditions) for join in latest]
    as_of = tuple(_as_of(join, scope) for join in latest)
    outputs = _outputs(select, scope, missing, done)
    if missing:
        raise together(missing)
    conditions, outputs = without_offsets(conditions, outputs, scope, done)
    shown = () if done else _computed(select, outputs, scope)
    with_computed = with_columns(scope)
    ring = INTEGERS if select.args.get("distinct") is None else BOOLEANS
    base = Query(name, sql, ring, outputs, with_computed[: len(occurrences)], ())
    guards, start = [], len(occurrences)
    for partner, inner, condition in zip(partners, further, conditions[1 : len(partners) + 1], strict=True):
        own = replace(base, ring=BOOLEANS, select=(), occurrences=with_computed[start : start + len(inner)])
        guards.append(Guard(own, condition, partner.negated, partner.outer, location_of(partner.node, sql)))
        start += len(inner)
    asked = zip(as_of, conditions[len(partners) + 1 :], strict=True)
    return Selection(base, conditions[0], tuple(guards), tuple(replace(a, where=c) for a, c in asked), shown)


def _as_of(latest: Latest, scope: Expressions) -> AsOf:
    """An as-of join over attributes.

    Raises:
        UnsupportedError: a key or a time is a constant, or over several tuples, or a time has an offset.
    """
    location = location_of(latest.node, scope.sql)

    def attribute(node: exp.Expr) -> Attribute:
        time_attribute, offset = scope.shifted(node) if not scope.computes(node) else (scope.term(node), 0)
        if offset:
            raise UnsupportedError(
                "an as-of join by a time with an offset is not supported yet", location=location
            )
        if not isinstance(time_attribute, Attribute):
            raise UnsupportedError(
                f"an as-of join by {time_attribute} is not supported yet", location=location
            )
        return time_attribute

    def time(node: exp.Expr) -> Attribute | None:
        return None if isinstance(node, exp.Null) else attribute(node)

    keys = tuple((attribute(left), attribute(right)) for left, right in latest.keys)
    op = (Op.GT if latest.strict else Op.GE) if latest.before else (Op.LT if latest.strict else Op.LE)
    times = time(latest.left), time(latest.right)

    def tolerance(node: exp.Expr) -> int:
        sides = [scope.shifted(side) for side in (node.this, node.expression)]
        if tuple(side for side, _ in sides) != times:
            raise UnsupportedError("an as-of join by several times is not supported yet", location=location)
        (_, mine), (_, theirs) = sides
        most = theirs - mine if latest.before else mine - theirs
        return most - isinstance(node, (exp.LT, exp.GT))

    return AsOf(
        latest.alias,
        keys,
        *times,
        op,
        None if latest.tolerance is None else tolerance(latest.tolerance),
        latest.outer,
        location,
    )


def keyword_location(sql: str, keyword: str, after: int = 0) -> Location | None:
    """Where a keyword first stands outside comments and literals from a position on; None if nowhere."""
    start_of_word = r"\b" if keyword[0].isalnum() else ""
    pattern = start_of_word + r"\s*".join(map(re.escape, keyword.split())) + r"\b"
    match = re.compile(pattern, re.IGNORECASE).search(code(sql), after)
    return None if match is None else location_at(sql, *match.span())


def refuse_clauses(node: exp.Expr, allowed: set[str], accepted: str, sql: str) -> None:
    """Refuse every clause of a statement but the allowed ones.

    Raises:
        UnsupportedError: another clause, with its place.
    """
    for part, value in node.args.items():
        if part in allowed or value in (None, False, []):
            continue
        what = _PART_NAMES.get(part, part.strip("_").upper())
        # A clause stands after what it belongs to; WITH and hints stand before.
        location = keyword_location(sql, what, _first(node)) or keyword_location(sql, what)
        raise UnsupportedError(
            f"{what} is not supported yet",
            location=location or _select_location(node, sql),
            accepted=accepted,
        )


def _first(node: exp.Expr) -> int:
    """The position of the first name or literal of a statement."""
    return min((n.meta["start"] for n in node.walk() if "start" in n.meta), default=0)


def _select_location(node: exp.Expr, sql: str) -> Location | None:
    """The SELECT that a part of a statement belongs to: the last one before it."""
    location = keyword_location(sql, "SELECT")
    position = 0
    while (start := code(sql).upper().find("SELECT", position)) >= 0 and start < max(1, _first(node)):
        location, position = keyword_location(sql, "SELECT", start), start + 1
    return location


def _refuse_select_clauses(select: exp.Select, sql: str) -> None:
    accepted = "SELECT [DISTINCT] columns FROM streams [JOIN ... ON] WHERE comparisons"
    refuse_clauses(select, _ALLOWED_PARTS, accepted, sql)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise UnsupportedError("DISTINCT ON is not supported", location=keyword_location(sql, "DISTINCT"))


def _from(
    select: exp.Select, sql: str, catalog: Catalog
) -> tuple[tuple[Occurrence, ...], list[exp.Expression]]:
    source = select.args.get("from_")
    if source is None:
        raise QueryError(
            "there is no FROM", location=_select_location(select, sql), fix="name a stream after FROM"
        )
    tables, ons = [source.this], []
    for join in select.args.get("joins") or []:
        _refuse_join(join, sql)
        tables.append(join.this)
        if join.args.get("on") is not None:
            ons.append(join.args["on"])
    occurrences: dict[str, Occurrence] = {}
    for table in tables:
        occurrence = _occurrence(table, sql, catalog)
        if occurrence.alias.lower() in occurrences:
            raise QueryError(
                f"the alias {occurrence.alias} is used twice",
                location=occurrence.location,
                fix=f"give this one another alias, such as {occurrence.alias}2",
            )
        occurrences[occurrence.alias.lower()] = occurrence
    return tuple(occurrences.values()), ons


def _refuse_join(join: exp.Join, sql: str) -> None:
    words = [str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    kind = " ".join(word for word in words if word)
    if join.args.get("using"):
        kind = "USING"
    if kind not in ("", "INNER", "CROSS"):
        what = "USING" if kind == "USING" else f"{kind} JOIN"
        raise UnsupportedError(
            f"{what} is not supported yet",
            location=keyword_location(sql, kind) or location_of(join, sql),
            accepted="a comma, [INNER] JOIN ... ON, CROSS JOIN",
        )


def _occurrence(table: exp.Expression, sql: str, catalog: Catalog) -> Occurrence:
    location = location_of(table, sql)
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        what = "a sub-query" if isinstance(table, exp.Subquery) else table.key.upper()
        raise UnsupportedError(
            f"{what} in FROM is not supported yet", location=location, accepted="stream names"
        )
    extra = [part for part, value in table.args.items() if value and part not in ("this", "alias")]
    if extra:
        raise UnsupportedError(
            f"{table.sql(dialect='spark')}: only a plain stream name is supported in FROM", location=location
        )
    relation = catalog.find(table.name)
    if relation is None:
        where = (
            "in the catalog, or correct the name"
            if catalog.names
            else "in a catalog, named by --catalog FILE"
        )
        raise QueryError(
            f"unknown stream {table.name}",
            location=location,
            accepted=", ".join(catalog.names),
            fix=meant(table.name, catalog.names, f"declare {table.name} {where}"),
        )
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise UnsupportedError("column aliases in FROM are not supported", location=location)
    return Occurrence(table.alias or table.name, relation, location)


def _outputs(
    select: exp.Select, scope: Expressions, missing: list[UnsupportedError], done: bool
) -> tuple[Output, ...]:
    outputs: list[Output] = []
    taken: set[str] = set()
    if not select.expressions and not done:
        raise QueryError(
            "nothing is selected",
            location=_select_location(select, scope.sql),
            fix="name columns after SELECT",
        )
    for number, item in enumerate(select.expressions):
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            raise UnsupportedError(
                "SELECT * is not supported",
                location=_select_location(select.args["from_"], scope.sql),
                fix="name the columns",
            )
        try:
            terms, moved = _shown(inner, scope, select.args.get("distinct") is not None)
        except UnsupportedError as error:
            missing.append(error)
            continue
        if done and len(terms) > 1:
            what = f"{describe(inner, scope.sql)} over several streams of a sub-query is not supported yet"
            missing.append(UnsupportedError(what, location=location_of(inner, scope.sql)))
            continue
        for term in terms:
            name = item.alias if isinstance(item, exp.Alias) else inner.name or str(term)
            if done and not isinstance(inner, exp.Column) and (span := inner.meta.get(SPAN)) is not None:
                # Not shown under a name: the user's words say what it is.
                name = " ".join(scope.sql[slice(*span)].split())
            location = location_of(inner, scope.sql)
            within = len(terms) > 1 or bool(inner.meta.get("within"))
            outputs.append(Output(free_name(name, taken), term, location, within, number, moved))
    return tuple(outputs)


def _computed(select: exp.Select, outputs: Sequence[Output], scope: Expressions) -> tuple[Shown, ...]:
    """What rows show, where some of it is an expression over several tuples."""
    if not any(output.within for output in outputs):
        return ()
    made = []
    for number, item in enumerate(select.expressions):
        mine = {position: output for position, output in enumerate(outputs) if output.item == number}
        first = next(iter(mine.values()))
        positions, kind = tuple(mine), scope.type_of(first.term)
        formula, plain = None, not first.within
        if not plain:
            inner = item.this if isinstance(item, exp.Alias) else item
            formula, kind = _formula(inner, positions, outputs, scope)
        made.append(Shown(first.name, kind, positions, (), plain, location=first.location, formula=formula))
    return tuple(made)


def _formula(
    node: exp.Expr, positions: Sequence[int], outputs: Sequence[Output], scope: Expressions
) -> tuple[str | None, Type]:
    """An expression over outputs as Spark SQL, and its type; None if it cannot be computed."""
    at = dict(zip(scope.attributes(node), positions, strict=True))
    kinds = {f"o{position}": scope.type_of(outputs[position].term) for position in positions}
    root = exp.Paren(this=node.copy())
    for column in [column for column in root.find_all(exp.Column) if not is_word(column)]:
        column.replace(exp.column(f"o{at[scope.attribute(column)]}"))
    kind = type_of_expression(root.this, lambda column: kinds[column.name])
    try:
        return formula_of(root.this, kinds.get, None if kind.family is Family.NUMBER else kind)
    except NotComputed:
        return None, kind


def _shown(node: exp.Expr, scope: Expressions, distinct: bool) -> tuple[tuple[Term, ...], int]:
    """What a row has to know to show an expression: itself; over several tuples the columns that it is over.

    And how much more that is than what is shown: of a time and a length of time it is the time.

    Raises:
        UnsupportedError: it is over several tuples, and what duplicates are cannot be told from the columns.
    """
    if not scope.computes(node):
        term, offset = scope.shifted(node)
        return (term,), -offset
    attributes = scope.attributes(node)
    if not attributes and (node.find(exp.Columns) or not node.find(exp.Null, exp.Literal, exp.Boolean)):
        raise scope.refused(node)
    if not attributes:
        # Of a side of an outer join that is missing: one value, whatever it is.
        return (Constant(None, "NULL", scope.kind(node) or NULL),), 0
    if len({a.occurrence for a in attributes}) < 2:
        return (scope.term(node),), 0
    if distinct and any(map(scope.is_timestamp, attributes)):
        what = f"DISTINCT with {describe(node, scope.sql)}, over timestamps of several streams,"
        raise UnsupportedError(
            f"{what} is not supported yet",
            location=location_of(node, scope.sql),
            accepted="each timestamp alone",
        )
    return attributes, 0


def free_name(name: str, taken: set[str]) -> str:
    """A name like this one that is not taken yet, whatever its case; it is taken then."""
    candidate, number = name, 2
    while candidate.lower() in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate.lower())
    return candidate
