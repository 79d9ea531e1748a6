"""Which dialects there are, and a text in one of them as statements."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from sqlglot import parser as sqlglot_parser
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import PlatformError
from streambound.query.dialects.statements import Written

# sqlglot calls some thirty functions within each other for a parenthesis, and each is placed.
MAX_NESTING = 100
FRAMES = 140 * MAX_NESTING
# Functions where sqlglot has but a keyword, and clauses that only some of its dialects have.
_CALLS = {
    "WINDOW": TokenType.VAR,
    "SESSION": TokenType.VAR,
    "MATCH_CONDITION": TokenType.MATCH_CONDITION,
    "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
}


@dataclass(frozen=True)
class Language:
    """A dialect: its name, how people call it, and how names without quotes are folded (None: not at all).

    ``exact`` says whether case tells names in quotes apart.
    """

    name: str
    title: str
    # A module of this room, and its class.
    class_name: tuple[str, str]
    fold: str | None = None
    exact: bool = True

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect of sqlglot; loaded when a text asks for it.

        Raises:
            PlatformError: this Python has sqlglot's compiled parsers.
        """
        require_extensible()
        module, name = self.class_name
        dialect: Dialect = getattr(import_module(f"streambound.query.dialects.{module}"), name)()
        return dialect

    def folded(self, name: str, quoted: bool) -> str:
        """The name that is meant."""
        if not self.exact:
            return name.lower()
        if quoted or self.fold is None:
            return name
        return name.upper() if self.fold == "upper" else name.lower()


LANGUAGES = {
    item.name: item
    for item in (
        Language("spark", "Spark SQL", ("spark", "SparkStreams"), exact=False),
        Language("flink", "Flink SQL", ("calcite", "Flink")),
        Language("sqrl", "DataSQRL", ("calcite", "Sqrl")),
        Language("ksql", "ksqlDB", ("calcite", "Ksql"), "upper"),
        Language("risingwave", "RisingWave", ("postgres", "PostgresStreams"), "lower"),
        Language("materialize", "Materialize", ("postgres", "PostgresStreams"), "lower"),
        Language("feldera", "Feldera", ("calcite", "Feldera"), "lower"),
        Language("arroyo", "Arroyo", ("postgres", "PostgresStreams"), "lower"),
        Language("azure", "Azure Stream Analytics", ("tsql", "Azure"), exact=False),
        Language("timeplus", "Timeplus", ("clickhouse", "Timeplus")),
        Language("postgres", "PostgreSQL", ("postgres", "PostgresStreams"), "lower"),
        Language("duckdb", "DuckDB", ("postgres", "DuckDBStreams"), exact=False),
    )
}
SPARK = LANGUAGES["spark"]


def require_extensible() -> None:
    """Refuse sqlglot's compiled parsers, of which none can be the base of ours.

    Raises:
        PlatformError: sqlglotc is installed beside sqlglot, by whatever asks for ``sqlglot[c]``.
    """
    if str(sqlglot_parser.__file__).endswith(tuple(EXTENSION_SUFFIXES)):
        raise PlatformError(
            "the package sqlglotc is installed: dialects cannot be added to its compiled parsers",
            accepted="sqlglot without sqlglotc",
            fix=f"{sys.executable} -m pip uninstall sqlglotc, or another environment for streambound",
        )


def statements(stream: Sequence[Token], sql: str, language: Language) -> list[Written | ParseError]:
    """The statements of a text with these tokens; of one that is not understood the error."""
    # Never lowered again: another thread may be within a text.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
    read: list[Written | ParseError] = []
    for part in parts(stream):
        # sqlglot calls what a statement is an expression; ours are more.
        parser: Any = language.dialect.parser()
        try:
            with quiet():
                for several in parser._parse(type(parser).statement, part, sql):
                    read += several
        except ParseError as error:
            read.append(error)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            # sqlglot takes some texts apart before it knows that they are none.
            at = parser._curr or parser._prev or part[0]
            read.append(ParseError("not understood", [{"line": at.line, "col": at.col}]))
    return read


def parts(stream: Sequence[Token]) -> list[list[Token]]:
    """The tokens between semicolons."""
    split: list[list[Token]] = [[]]
    for token, after in zip(stream, (*stream[1:], None), strict=False):
        if token.token_type is TokenType.SEMICOLON:
            split.append([])
            continue
        if after is not None and after.token_type is TokenType.L_PAREN and token.text.upper() in _CALLS:
            kind = _CALLS[token.text.upper()]
            token = Token(kind, token.text, token.line, token.col, token.start, token.end)
        split[-1].append(token)
    return [part for part in split if part]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the parser's warnings of statements that it passes on unread: they are refused by name."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
