"""One SELECT to the model: its clauses, its FROM with the occurrences, its outputs, its conditions."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from streambound.errors import Place, QueryError, UnsupportedError, meant, together
from streambound.query.catalog import Catalog
from streambound.query.conditions import formula, operands
from streambound.query.formula import all_of
from streambound.query.model import Occurrence, Output, Query
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.scope import Scope, place_of
from streambound.query.statement import Selection
from streambound.query.tokens import code, place_at

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


def selection(select: exp.Select, sql: str, catalog: Catalog, name: str) -> Selection:
    """One SELECT, its names resolved and its conditions typed.

    Raises:
        QueryError: an unknown or ambiguous name, a type mismatch.
        UnsupportedError: a clause or condition outside the class, named with its place.
    """
    _refuse_select_clauses(select, sql)
    occurrences, ons = _from(select, sql, catalog)
    scope = Scope(sql, occurrences)
    where = select.args.get("where")
    missing: list[UnsupportedError] = []
    outputs = _outputs(select, scope, missing)
    formulas = []
    for condition in [*ons, *([where.this] if where else [])]:
        for part in operands(condition) if isinstance(condition, exp.And) else [condition]:
            try:
                formulas.append(formula(part, scope))
            except UnsupportedError as error:
                missing.append(error)
    if missing:
        raise together(missing)
    base = Query(
        name=name,
        sql=sql,
        ring=INTEGERS if select.args.get("distinct") is None else BOOLEANS,
        select=outputs,
        occurrences=occurrences,
        where=(),
    )
    return Selection(base, all_of(formulas))


def keyword_place(sql: str, keyword: str, after: int = 0) -> Place | None:
    """Where a keyword first stands outside comments and literals from a position on; None if nowhere."""
    start_of_word = r"\b" if keyword[0].isalnum() else ""
    pattern = start_of_word + r"\s*".join(map(re.escape, keyword.split())) + r"\b"
    match = re.compile(pattern, re.IGNORECASE).search(code(sql), after)
    return None if match is None else place_at(sql, *match.span())


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
        place = keyword_place(sql, what, _first(node)) or keyword_place(sql, what)
        raise UnsupportedError(
            f"{what} is not supported yet",
            place=place or _select_place(node, sql),
            accepted=accepted,
        )


def _first(node: exp.Expr) -> int:
    """The position of the first name or literal of a statement."""
    return min((n.meta["start"] for n in node.walk() if "start" in n.meta), default=0)


def _select_place(node: exp.Expr, sql: str) -> Place | None:
    """The SELECT that a part of a statement belongs to: the last one before it."""
    found = keyword_place(sql, "SELECT")
    position = 0
    while (start := code(sql).upper().find("SELECT", position)) >= 0 and start < max(1, _first(node)):
        found, position = keyword_place(sql, "SELECT", start), start + 1
    return found


def _refuse_select_clauses(select: exp.Select, sql: str) -> None:
    accepted = "SELECT [DISTINCT] columns FROM streams [JOIN ... ON] WHERE comparisons"
    refuse_clauses(select, _ALLOWED_PARTS, accepted, sql)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise UnsupportedError("DISTINCT ON is not supported", place=keyword_place(sql, "DISTINCT"))


def _from(
    select: exp.Select, sql: str, catalog: Catalog
) -> tuple[tuple[Occurrence, ...], list[exp.Expression]]:
    source = select.args.get("from_")
    if source is None:
        raise QueryError("there is no FROM", place=_select_place(select, sql), fix="name a stream after FROM")
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
                place=occurrence.place,
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
            place=keyword_place(sql, kind) or place_of(join, sql),
            accepted="a comma, [INNER] JOIN ... ON, CROSS JOIN",
        )


def _occurrence(table: exp.Expression, sql: str, catalog: Catalog) -> Occurrence:
    place = place_of(table, sql)
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        what = "a sub-query" if isinstance(table, exp.Subquery) else table.key.upper()
        raise UnsupportedError(f"{what} in FROM is not supported yet", place=place, accepted="stream names")
    extra = [part for part, value in table.args.items() if value and part not in ("this", "alias")]
    if extra:
        raise UnsupportedError(
            f"{table.sql(dialect='spark')}: only a plain stream name is supported in FROM", place=place
        )
    relation = catalog.find(table.name)
    if relation is None:
        raise QueryError(
            f"unknown stream {table.name}",
            place=place,
            accepted=", ".join(catalog.names),
            fix=meant(table.name, catalog.names, f"declare {table.name} in the catalog, or correct the name"),
        )
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise UnsupportedError("column aliases in FROM are not supported", place=place)
    return Occurrence(table.alias or table.name, relation, place)


def _outputs(select: exp.Select, scope: Scope, missing: list[UnsupportedError]) -> tuple[Output, ...]:
    outputs: list[Output] = []
    taken: set[str] = set()
    if not select.expressions:
        raise QueryError(
            "nothing is selected", place=_select_place(select, scope.sql), fix="name columns after SELECT"
        )
    for item in select.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            raise UnsupportedError(
                "SELECT * is not supported",
                place=_select_place(select.args["from_"], scope.sql),
                fix="name the columns",
            )
        try:
            term = scope.term(inner)
        except UnsupportedError as error:
            missing.append(error)
            continue
        name = item.alias if isinstance(item, exp.Alias) else inner.name or str(term)
        outputs.append(Output(_unused(name, taken), term, place_of(inner, scope.sql)))
    return tuple(outputs)


def _unused(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate.lower() in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate.lower())
    return candidate
