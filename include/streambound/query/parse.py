"""SQL text to the query model: parsed by sqlglot (Spark dialect), names resolved, types checked.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> query = parse("SELECT s.A FROM S s JOIN T ON s.B < D WHERE s.A BETWEEN 11 AND 19", catalog)
>>> [str(atom) for atom in query.where]
['s.B < T.D', 's.A >= 11', 's.A <= 19']
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from streambound.errors import Place, QueryError, UnsupportedError
from streambound.query.catalog import Catalog
from streambound.query.conditions import conjuncts
from streambound.query.model import Occurrence, Output, Query
from streambound.query.scope import Scope, place_of

# Past this a text is not a query that a person wrote; parsing it would only cost memory.
MAX_SQL_CHARACTERS = 100_000

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
_METADATA = re.compile(r"--\s*([A-Za-z][\w-]*)\s*:\s*(.*\S)\s*$")


def parse(sql: str, catalog: Catalog, name: str = "query") -> Query:
    """The query that ``sql`` states over the relations of ``catalog``.

    Raises:
        QueryError: bad syntax, an unknown or ambiguous name, a type mismatch.
        UnsupportedError: valid SQL outside the class that is decided, named with its place.
    """
    try:
        return _query(_select(sql), sql, catalog, name)
    except QueryError as error:
        error.text = error.text or sql
        raise error.about(name) from None
    except RecursionError:
        raise QueryError("the conditions are nested too deeply", subject=name, fix="flatten them") from None


def metadata(sql: str) -> tuple[tuple[str, str], ...]:
    """The ``-- key: value`` lines of the leading comment block, in order."""
    pairs = []
    for line in sql.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if match := _METADATA.match(line.strip()):
            pairs.append((match[1].lower(), match[2]))
    return tuple(pairs)


def _select(sql: str) -> exp.Select:
    if len(sql) > MAX_SQL_CHARACTERS:
        raise QueryError(f"the text has {len(sql):,} characters", accepted=f"at most {MAX_SQL_CHARACTERS:,}")
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="spark") if s is not None]
    except SqlglotError as error:
        raise _syntax_error(sql, error) from None
    if len(statements) != 1:
        raise QueryError(f"found {len(statements)} statements", accepted="one SELECT statement")
    if (place := _keyword_place(sql, ", FROM")) is not None:
        raise QueryError("syntax error: nothing stands between the comma and FROM", place=place, fix=_FIX)
    statement = statements[0]
    if not isinstance(statement, exp.Select):
        what = "UNION" if isinstance(statement, exp.Union) else statement.key.upper()
        place = _keyword_place(sql, what) or place_of(statement, sql)
        raise UnsupportedError(f"{what} is not supported yet", place=place, accepted="one SELECT statement")
    return statement


def _syntax_error(sql: str, error: SqlglotError) -> QueryError:
    details = getattr(error, "errors", None) or [{}]
    first = details[0]
    what = _plain_words(str(first.get("description") or error))
    line, column = first.get("line"), first.get("col")
    found = str(first.get("highlight") or "")
    # sqlglot counts a token's column at its end.
    place = Place(line, max(1, column - len(found) + 1), max(1, len(found))) if line and column else None
    return QueryError(
        f"syntax error: {what}", place=place, accepted="SELECT [DISTINCT] ... FROM ... [WHERE ...]", fix=_FIX
    )


_FIX = "complete or remove what stands at this place"


def _plain_words(description: str) -> str:
    """A parser's message without the names of its classes and tokens."""
    lines = description.split(". Line")[0].strip().splitlines() or [""]
    if "Required keyword" in lines[0]:
        return "an operand or a condition is missing"
    if "but got" in lines[0]:
        return "the statement ends too early, or a name is missing"
    return lines[0].rstrip(".")


def _keyword_place(sql: str, keyword: str) -> Place | None:
    start_of_word = r"\b" if keyword[0].isalnum() else ""
    pattern = start_of_word + r"\s*".join(map(re.escape, keyword.split())) + r"\b"
    # Comments and literals are blanked, so that a keyword inside them is not taken for the clause.
    blanked = re.sub(r"--[^\n]*|'(?:[^'\\]|\\.)*'", lambda m: " " * len(m[0]), sql)
    match = re.search(pattern, blanked, re.IGNORECASE)
    if match is None:
        return None
    start = match.start()
    return Place(sql.count("\n", 0, start) + 1, start - sql.rfind("\n", 0, start), len(match[0]))


def _query(select: exp.Select, sql: str, catalog: Catalog, name: str) -> Query:
    _refuse_clauses(select, sql)
    occurrences, ons = _from(select, sql, catalog)
    scope = Scope(sql, occurrences)
    where = select.args.get("where")
    conditions = [*ons, *([where.this] if where else [])]
    return Query(
        name=name,
        sql=sql,
        distinct=select.args.get("distinct") is not None,
        select=_outputs(select, scope),
        occurrences=occurrences,
        where=tuple(atom for condition in conditions for atom in conjuncts(condition, scope)),
        metadata=metadata(sql),
    )


def _refuse_clauses(select: exp.Select, sql: str) -> None:
    for part, value in select.args.items():
        if part in _ALLOWED_PARTS or value in (None, False, []):
            continue
        what = _PART_NAMES.get(part, part.strip("_").upper())
        raise UnsupportedError(
            f"{what} is not supported yet",
            place=_keyword_place(sql, what) or _keyword_place(sql, "SELECT"),
            accepted="SELECT [DISTINCT] columns FROM streams [JOIN ... ON] WHERE comparisons",
            fix=f"remove {what}",
        )
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise UnsupportedError("DISTINCT ON is not supported", place=_keyword_place(sql, "DISTINCT"))


def _from(
    select: exp.Select, sql: str, catalog: Catalog
) -> tuple[tuple[Occurrence, ...], list[exp.Expression]]:
    source = select.args.get("from_")
    if source is None:
        raise QueryError(
            "there is no FROM", place=_keyword_place(sql, "SELECT"), fix="name a stream after FROM"
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
            place=_keyword_place(sql, kind) or place_of(join, sql),
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
            fix=f"declare {table.name} in the catalog, or correct the name",
        )
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise UnsupportedError("column aliases in FROM are not supported", place=place)
    return Occurrence(table.alias or table.name, relation, place)


def _outputs(select: exp.Select, scope: Scope) -> tuple[Output, ...]:
    outputs: list[Output] = []
    taken: set[str] = set()
    for item in select.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            raise UnsupportedError(
                "SELECT * is not supported",
                place=_keyword_place(scope.sql, "SELECT"),
                fix="name the columns",
            )
        term = scope.term(inner)
        name = item.alias if isinstance(item, exp.Alias) else inner.name or str(term)
        outputs.append(Output(_unused(name, taken), term, place_of(inner, scope.sql)))
    return tuple(outputs)


def _unused(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate.lower() in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate.lower())
    return candidate
