"""SQL text to the query model: parsed by sqlglot (Spark dialect), names resolved, types checked.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> query = parse("SELECT s.A FROM S s JOIN T ON s.B < D WHERE s.A BETWEEN 11 AND 19", catalog)
>>> [str(atom) for atom in query.where]
['s.B < T.D', 's.A >= 11', 's.A <= 19']
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from streambound.errors import Place, QueryError, UnsupportedError
from streambound.query.catalog import Catalog
from streambound.query.model import Query
from streambound.query.select import blanked, keyword_place
from streambound.query.statement import Statement
from streambound.query.union import outputs, united

# Past this a text is not a query that a person wrote; parsing it would only cost memory.
MAX_SQL_CHARACTERS = 100_000
# Parentheses within each other. sqlglot calls some thirty functions within each other for one.
MAX_NESTING = 100
FRAMES = 80 * MAX_NESTING

_METADATA = re.compile(r"--\s*([A-Za-z][\w-]*(?: [\w-]+)*)\s*:\s*(.*\S)\s*$")


def statement(sql: str, catalog: Catalog, name: str = "query") -> Statement:
    """The statement that ``sql`` makes over the relations of ``catalog``.

    Raises:
        QueryError: bad syntax, an unknown or ambiguous name, a type mismatch.
        UnsupportedError: valid SQL outside the class that is decided, named with its place.
    """
    try:
        blocks = united(_parsed(sql), sql, catalog, name)
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


def _parsed(sql: str) -> exp.Expr:
    if len(sql) > MAX_SQL_CHARACTERS:
        raise QueryError(f"the text has {len(sql):,} characters", accepted=f"at most {MAX_SQL_CHARACTERS:,}")
    _refuse_nesting(sql)
    try:
        with _quiet():
            statements = trees(sql)
    except SqlglotError as error:
        raise _syntax_error(sql, error) from None
    if len(statements) != 1:
        raise QueryError(f"found {len(statements)} statements", accepted="one SELECT statement")
    if (place := keyword_place(sql, ", FROM")) is not None:
        raise QueryError("syntax error: nothing stands between the comma and FROM", place=place, fix=_FIX)
    return statements[0]


def trees(sql: str) -> list[exp.Expr]:
    """The statements of a text as sqlglot reads them, nested to the limit."""
    # Never lowered again: another thread may be within a text.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
    return [tree for tree in sqlglot.parse(sql, dialect="spark") if tree is not None]


def _refuse_nesting(sql: str) -> None:
    depth = 0
    for position, character in enumerate(blanked(sql)):
        depth += (character == "(") - (character == ")")
        if depth > MAX_NESTING:
            line_start = sql.rfind("\n", 0, position)
            raise QueryError(
                "the conditions are nested too deeply",
                place=Place(sql.count("\n", 0, position) + 1, position - line_start),
                accepted=f"{MAX_NESTING} parentheses within each other",
                fix="flatten them",
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the parser's warnings of statements that it passes on unread: they are refused by name."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


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
