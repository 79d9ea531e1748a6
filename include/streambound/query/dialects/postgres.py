"""PostgreSQL and what shares its grammar: RisingWave, Materialize, Arroyo; and DuckDB."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import expressions as exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from streambound.query.dialects.grammar import FROM_ZERO
from streambound.query.dialects.statements import Statements


class _FromZero(Statements):
    """Where the days of the week begin with Sunday, which is 0."""

    def validate_expression(self, expression: Any, args: Any = None) -> Any:
        extract = super().validate_expression(expression, args)
        if isinstance(extract, exp.Extract) and extract.this.name.upper() in ("DOW", "DAYOFWEEK"):
            extract.meta[FROM_ZERO] = True
        return extract


class _PostgresParser(_FromZero, PostgresParser):
    QUERY_MODIFIER_PARSERS = {**PostgresParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
    FUNCTIONS = {
        **PostgresParser.FUNCTIONS,
        # Materialize: DATEDIFF('minute', a, b).
        "DATEDIFF": lambda args: exp.DateDiff(this=args[2], expression=args[1], unit=exp.var(args[0].name)),
    }


class PostgresStreams(Postgres):
    """PostgreSQL, and what shares its grammar: RisingWave, Materialize and Arroyo."""

    # Else IS NOT NULL is one node with a mark, which reads as IS NULL.
    NORMALIZE_NOT_NULL = True

    class Tokenizer(Postgres.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = _PostgresParser


class DuckDBStreams(DuckDB):
    """DuckDB's SQL."""

    class Parser(_FromZero, DuckDBParser):
        QUERY_MODIFIER_PARSERS = {**DuckDBParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
