"""PostgreSQL and what shares its grammar: RisingWave, Materialize, Arroyo; and DuckDB."""

from __future__ import annotations

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.postgres import PostgresParser

from streambound.query.dialects.statements import Statements


class _PostgresParser(Statements, PostgresParser):
    QUERY_MODIFIER_PARSERS = {**PostgresParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


class PostgresStreams(Postgres):
    """PostgreSQL, and what shares its grammar: RisingWave, Materialize and Arroyo."""

    Parser = _PostgresParser


class DuckDBStreams(DuckDB):
    """DuckDB's SQL."""

    class Parser(Statements, DuckDBParser):
        QUERY_MODIFIER_PARSERS = {**DuckDBParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
