"""SQL text to the query model: parsed by sqlglot (as ``tokens`` says), names resolved, types checked.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> query = parse("SELECT s.A FROM S s JOIN T ON s.B < D WHERE s.A BETWEEN 11 AND 19", catalog)
>>> [str(atom) for atom in query.where]
['s.B < T.D', 's.A >= 11', 's.A <= 19']
"""

from __future__ import annotations

import re

from sqlglot import expressions as exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import CatalogError, QueryError, UnsupportedError
from streambound.query.catalog import Catalog
from streambound.query.model import Query
from streambound.query.statement import Statement
from streambound.query.syntax import refuse_gaps, syntax_error
from streambound.query.tokens import MAX_NESTING, code, place_at, token_place, tokens, trees
from streambound.query.union import blocks_of, outputs
from streambound.query.values import shown

# Past this a text is not a query that a person wrote; parsing it would only cost memory.
MAX_SQL_CHARACTERS = 100_000

_METADATA = re.compile(r"--\s*([A-Za-z][\w-]*(?: [\w-]+)*)\s*:\s*(.*\S)\s*$")


def statement(sql: str, catalog: Catalog, name: str = "query") -> Statement:
    """The statement that ``sql`` makes over the relations of ``catalog``.

    Raises:
        QueryError: bad syntax, an unknown or ambiguous name, a type mismatch.
        UnsupportedError: valid SQL outside the class that is decided, named with its place.
        CatalogError: ``catalog`` is none.
    """
    if not isinstance(sql, str):
        raise QueryError(f"the query is {shown(sql)}", subject=name, accepted="SQL text")
    if not isinstance(catalog, Catalog):
        raise CatalogError(
            f"the catalog is {shown(catalog)}",
            subject=name,
            fix="make one with streambound.catalog(file or mapping)",
        )
    try:
        blocks = blocks_of(_parsed(sql, catalog), sql, catalog, name)
        return Statement(name, sql, blocks, outputs(blocks, sql), metadata(sql))
    except QueryError as error:
        error.text = error.text or sql
        raise error.about(name) from None
    except RecursionError:
        raise QueryError(
            "the conditions are nested too deeply",
            subject=name,
            accepted=f"{MAX_NESTING} parentheses within each other",
            fix="flatten them",
        ) from None


def parse(sql: str, catalog: Catalog, name: str = "query") -> Query:
    """The conjunctive query that ``sql`` states over the relations of ``catalog``.

    Raises:
        QueryError: as ``statement``.
        UnsupportedError: as ``statement``, and for OR between conditions, and UNION.
    """
    found = statement(sql, catalog, name)
    if found.simple is None:
        raise UnsupportedError("OR or UNION, where one conjunction is asked for", subject=name, text=sql)
    return found.simple


def metadata(sql: str) -> tuple[tuple[str, str], ...]:
    """The ``-- key: value`` lines of the leading comment block, in order."""
    pairs = []
    for line in sql.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if match := _METADATA.match(line.strip()):
            pairs.append((match[1].lower(), match[2]))
    return tuple(pairs)


def _parsed(sql: str, catalog: Catalog) -> exp.Expr:
    if len(sql) > MAX_SQL_CHARACTERS:
        raise QueryError(f"the text has {len(sql):,} characters", accepted=f"at most {MAX_SQL_CHARACTERS:,}")
    found = tokens(sql)
    refuse_gaps(sql, found)
    _refuse_nesting(sql)
    try:
        statements = trees(sql, found)
    except ParseError as error:
        raise syntax_error(sql, found, error, catalog) from None
    if len(statements) != 1:
        raise _several(sql, found, len(statements))
    return statements[0]


def _refuse_nesting(sql: str) -> None:
    depth = 0
    for position, character in enumerate(code(sql)):
        depth += (character == "(") - (character == ")")
        if depth > MAX_NESTING:
            raise QueryError(
                "the conditions are nested too deeply",
                place=place_at(sql, position, position + 1),
                accepted=f"{MAX_NESTING} parentheses within each other",
                fix="flatten them",
            )


def _several(sql: str, found: list[Token], count: int) -> QueryError:
    """The error of a text of no or several statements; the second one is pointed to."""
    ends = [i for i, token in enumerate(found) if token.token_type is TokenType.SEMICOLON]
    after = next((found[i + 1] for i in ends[:-1] or ends if i + 1 < len(found)), None)
    return QueryError(
        f"found {count} statements",
        place=None if after is None else token_place(sql, after),
        accepted="one SELECT statement",
        fix="put each into a file of its own" if count else "write a SELECT statement",
    )
