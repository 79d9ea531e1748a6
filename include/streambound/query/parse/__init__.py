"""SQL text to the query model: parsed by sqlglot (as ``tokens`` says), names resolved, types checked.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> query = parse("SELECT s.A FROM S s JOIN T ON s.B < D WHERE s.A BETWEEN 11 AND 19", catalog)
>>> [str(atom) for atom in query.where]
['s.B < T.D', 's.A >= 11', 's.A <= 19']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from streambound.errors import CatalogError, QueryError, StreamboundError, UnsupportedError
from streambound.query.catalog import Catalog
from streambound.query.column_types import shown
from streambound.query.dialects.languages import MAX_NESTING, Language
from streambound.query.expressions.derived import aligned
from streambound.query.expressions.independence import not_computed
from streambound.query.formula import atoms_of
from streambound.query.model import Join, Query
from streambound.query.modes import mode_of
from streambound.query.operators import Grouping
from streambound.query.parse.blocks.union import blocks_of, blocks_of_rows, outputs
from streambound.query.parse.script import Script, script
from streambound.query.parse.text.parts import View
from streambound.query.registry import metadata
from streambound.query.scope import location_of
from streambound.query.statement import Statement

# Past this a text is not a query that a person wrote; parsing it would only cost memory.
MAX_SQL_CHARACTERS = 100_000

_FOLLOWS = (
    "a comparison with a second time column is decided by what it promises, and cannot be evaluated yet"
)
_SPREAD = (
    "what is made of the different values of an expression over several streams (of a sub-query, or by LIMIT)"
    " is decided, and cannot be evaluated yet"
)
_CUT_SHORT = "a session with a greatest length is decided, and cannot be evaluated yet"


@dataclass(frozen=True)
class Read:
    """A query as it was read: the statement, and its relations, those that its own text declares among them.

    ``guessed`` is the sign by which the dialect was told, where it was not given; ``span`` are the characters
    of the query's statement.
    """

    statement: Statement
    catalog: Catalog
    dialect: str
    guessed: str | None
    span: tuple[int, int]


def read(
    sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None, query: str | None = None
) -> Read:
    """The query of a text over the relations of ``catalog`` and of the text.

    Args:
        dialect: that of the text; without it what its first comments say, or a guess.
        query: which one, of a text of several.

    Raises:
        QueryError: bad syntax, an unknown or ambiguous name, a type mismatch.
        UnsupportedError: valid SQL outside the class that is decided, every construct with its place.
        CatalogError: ``catalog`` is none, or a declaration in the text cannot be read.
    """
    text = read_script(sql, catalog, name, dialect)
    try:
        script_query = text.chosen(query)
        tree, full_catalog, unevaluated = text.written_out(script_query)
        made_blocks = (
            blocks_of_rows(tree, sql, full_catalog, name)
            if isinstance(tree, tuple)
            else blocks_of(tree, sql, full_catalog, name)
        )
        blocks = aligned(made_blocks, sql)
        made = Statement(
            name,
            sql,
            blocks,
            outputs(blocks),
            metadata(sql),
            unevaluated=unevaluated,
            undefined=unevaluated,
        )
        made = made.in_mode(mode_of(made.metadata))
        if _follows(made) and unevaluated is None:
            made = replace(made, unevaluated=_FOLLOWS, undefined=_FOLLOWS)
        elif unevaluated is None and _cut_short(made):
            made = replace(made, unevaluated=_CUT_SHORT, undefined=_CUT_SHORT)
        elif unevaluated is None and _spread(made):
            made = replace(made, unevaluated=_SPREAD, undefined=_SPREAD)
        elif unevaluated is None and (what := not_computed(made)) is not None:
            said = f"{what[0]} is decided, and cannot be evaluated yet"
            made = replace(made, unevaluated=f"{said}: {what[1]}" if what[1] else said)
        plain = script_query.tree if isinstance(tree, tuple) else tree
        alone = plain is script_query.tree and not script_query.wrapped
        more = len(text.queries) > 1 or text.catalog.relations != text.given.relations
        if plain is not None and (not alone or more or text.language.name != "spark"):
            bare = _in_spark_sql(plain, sql)
            made = replace(made, bare=bare, views=_views_of(plain, script_query.views, text.language, sql))
        return Read(made, full_catalog, text.language.name, text.guessed, script_query.span)
    except StreamboundError as error:
        raise _about(error, sql, name) from None
    except RecursionError:
        raise _too_deep(name) from None


def _views_of(
    tree: exp.Expr, views: Mapping[str, View | None], language: Language, sql: str
) -> tuple[str, ...]:
    """The views that a query reads, as WITH of Spark SQL has them, those first that others read."""
    texts: dict[str, None] = {}
    for table in tree.find_all(exp.Table):
        key = language.folded(table.name, bool(table.this.args.get("quoted")))
        if (view := views.get(key)) is None:
            continue
        texts |= dict.fromkeys(_views_of(view.tree, {**views, key: None}, language, sql))
        columns = ", ".join(column.sql(dialect="spark") for column in view.columns)
        name = table.this.sql(dialect="spark") + (f"({columns})" if columns else "")
        texts[f"{name} AS ({_in_spark_sql(view.tree, sql)})"] = None
    return tuple(texts)


def _cut_short(made: Statement) -> bool:
    """Whether sessions have a greatest length, here or in a sub-query."""
    return any(
        isinstance(block.then, Grouping) and block.then.longest is not None for block in made.blocks
    ) or any(_cut_short(o.relation.fed) for o in made.occurrences if o.relation.fed is not None)


def _spread(made: Statement) -> bool:
    """Whether the rows are counted of a sub-query whose different rows are told apart by what is computed of
    several streams: what it feeds has the columns of that, of which more are different.
    """
    for block in made.blocks:
        for selection in block.selections:
            fed = [o.relation.fed for o in selection.base.occurrences if o.relation.fed is not None]
            if not block.ring.idempotent and any(map(_different_values, fed)):
                return True
            within = [o.relation.fed for g in selection.guards for o in g.base.occurrences if o.relation.fed]
            if any(map(_spread, (*fed, *within))):
                return True
    return False


def _different_values(fed: Statement) -> bool:
    blocks = (block for block in fed.blocks if block.ring.idempotent)
    return any(output.within for block in blocks for s in block.selections for output in s.base.select)


def _follows(made: Statement) -> bool:
    """Whether comparisons of timestamps stand for those with second time columns.

    Raises:
        UnsupportedError: one is a bound from below and from above: what follows may be wider than both.
    """
    ends: dict[tuple[int, str], set[bool]] = {}
    for number, selection in enumerate(made.selections):
        formulas = (selection.formula, *(guard.formula for guard in selection.guards))
        joins = [a for a in chain.from_iterable(map(atoms_of, formulas)) if isinstance(a, Join)]
        for atom in joins:
            for occurrence, below in atom.follows:
                ends.setdefault((number, occurrence), set()).add(below)
        bases = (selection.base, *(guard.base for guard in selection.guards))
        relations = {o.alias: o.relation for base in bases for o in base.occurrences}
        for atom in joins:
            # What is equal is bounded from both sides.
            within = [relations[a.occurrence].column(a.column).within for a in atom.attributes]
            tied = {a.occurrence for a in atom.attributes} if None not in within else set[str]()
            for occurrence in (*dict(atom.follows), *tied):
                positions = ends.get((number, occurrence), set())
                if len(positions) > 1 or (positions and occurrence in tied):
                    raise UnsupportedError(
                        f"the second time of {occurrence} is compared from below and from above",
                        location=atom.location,
                        accepted="one of both, such as b.ts BETWEEN a.ts AND a.expires",
                    )
    return bool(ends)


def _in_spark_sql(tree: exp.Expr, sql: str) -> str:
    """A query of a text in Spark SQL.

    Raises:
        UnsupportedError: it has a path in a JSON text that cannot be written there.
    """
    try:
        return tree.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE)
    except ValueError:
        # The first that cannot be written by itself is the one.
        paths = (path.parent for path in tree.find_all(exp.JSONPath) if path.parent is not None)
        path = next((node for node in paths if not _written_by_spark(node)), tree)
        raise UnsupportedError(
            "a path in a JSON text has parts that are neither names nor places, such as .. or a filter",
            location=location_of(path, sql),
            accepted="paths such as $.a.b[0]",
            fix="write the path out, or give the text to the query as a column of what lies there",
        ) from None


def _written_by_spark(node: exp.Expr) -> bool:
    try:
        return bool(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))
    except ValueError:
        return False


def statement(
    sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None, query: str | None = None
) -> Statement:
    """The statement that ``sql`` makes over the relations of ``catalog``, to be evaluated; see ``read``.

    Raises:
        UnsupportedError: it is decided, and its answers cannot be computed.
    """
    parsed = read(sql, catalog, name, dialect, query).statement
    if parsed.unevaluated is not None:
        raise UnsupportedError(parsed.unevaluated, subject=name)
    return parsed


def defined(
    sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None, query: str | None = None
) -> Statement:
    """As ``statement``, to be evaluated by the definition, which computes more than the engines do.

    Raises:
        UnsupportedError: what was read is wider than what was written.
    """
    parsed = read(sql, catalog, name, dialect, query).statement
    if parsed.undefined is not None:
        raise UnsupportedError(parsed.undefined, subject=name)
    return parsed


def queries(sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None) -> tuple[str, ...]:
    """The names of the queries of a text, in its order; see ``read`` for the arguments and errors."""
    return tuple(script_query.name for script_query in read_script(sql, catalog, name, dialect).queries)


def named_queries(sql: str, catalog: Catalog, dialect: str | None = None) -> tuple[str | None, ...]:
    """The names of a text's queries, for ``compile``; None alone where it has one, or cannot be read."""
    try:
        listed = queries(sql, catalog, dialect=dialect)
    except StreamboundError:
        return (None,)
    return listed if len(listed) > 1 else (None,)


def names_read(
    sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None
) -> tuple[str, ...]:
    """The relations and the queries of the catalog that a text names; see ``read`` for arguments and errors.

    >>> from streambound.query.catalog import NamedQuery, catalog_from_mapping
    >>> known = replace(catalog_from_mapping({"S": {"A": "int"}}), queries=(NamedQuery("small", "SELECT 1"),))
    >>> names_read("WITH t AS (SELECT A FROM S) SELECT A FROM t JOIN small USING (A)", known)
    ('S', 'small')
    """
    names: dict[str, None] = {}
    for script_query in read_script(sql, catalog, name, dialect).queries:
        for tree in filter(None, (script_query.tree, *(view.tree for view in script_query.views.values()))):
            own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
            for table in tree.find_all(exp.Table):
                dotted = ".".join(part.name for part in table.parts)
                named = None if dotted.lower() in own else catalog.query(dotted)
                relation = catalog.find(dotted) or named
                if relation is not None:
                    names[relation.name] = None
    return tuple(sorted(names))


def read_script(sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None) -> Script:
    """The queries of a text and its catalog.

    Args:
        dialect: see ``read``.

    Raises:
        QueryError: the text cannot be read (see ``read``).
        CatalogError: the catalog is none, or contradicts the text.
    """
    if not isinstance(sql, str):
        raise QueryError(f"the query is {shown(sql)}", subject=name, accepted="SQL text")
    if not isinstance(catalog, Catalog):
        raise CatalogError(
            f"the catalog is {shown(catalog)}",
            subject=name,
            fix="make one with streambound.catalog(file or mapping)",
        )
    if len(sql) > MAX_SQL_CHARACTERS:
        raise QueryError(
            f"the text has {len(sql):,} characters", subject=name, accepted=f"at most {MAX_SQL_CHARACTERS:,}"
        )
    try:
        return script(sql, catalog, dialect)
    except StreamboundError as error:
        raise _about(error, sql, name) from None
    except RecursionError:
        raise _too_deep(name) from None


def _about(error: StreamboundError, sql: str, name: str) -> StreamboundError:
    if isinstance(error, QueryError):
        error.text = error.text or sql
    return error.about(name)


def _too_deep(name: str) -> QueryError:
    return QueryError(
        "the conditions are nested too deeply",
        subject=name,
        accepted=f"{MAX_NESTING} parentheses within each other",
        fix="flatten them",
    )


def parse(sql: str, catalog: Catalog, name: str = "query") -> Query:
    """The conjunctive query that ``sql`` states over the relations of ``catalog``.

    Raises:
        QueryError: as ``statement``.
        UnsupportedError: as ``statement``, and for OR between conditions, and UNION.
    """
    parsed = statement(sql, catalog, name)
    if parsed.simple is None:
        raise UnsupportedError("OR or UNION, where one conjunction is asked for", subject=name, text=sql)
    return parsed.simple
