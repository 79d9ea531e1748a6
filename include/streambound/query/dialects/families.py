"""One dialect a stream processor: how names are quoted and folded, and what only this one has."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import expressions as exp
from sqlglot import tokens
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.spark import Spark
from sqlglot.dialects.tsql import TSQL
from sqlglot.parsers.base import BaseParser
from sqlglot.parsers.clickhouse import ClickHouseParser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.tsql import TSQLParser
from sqlglot.tokenizer_core import Token, TokenType

from streambound.query.dialects.grammar import WATERMARK, WITHIN
from streambound.query.dialects.statements import Statements, Written

_LENGTH = re.compile(r"(\d+)(us|ms|s|m|h|d|w)", re.IGNORECASE)
_LENGTHS = {
    **{"us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND", "m": "MINUTE"},
    **{"h": "HOUR", "d": "DAY", "w": "WEEK"},
}


def _without_hints(keywords: dict[str, TokenType]) -> dict[str, TokenType]:
    """Keywords but for hints, which are comments then: they change how a query runs, not what it asks."""
    return {word: kind for word, kind in keywords.items() if not word.startswith("/*+")}


class SparkStreams(Spark):
    """Spark SQL, with the clauses of Databricks for streaming tables."""

    class Parser(Statements, SparkParser):
        QUERY_MODIFIER_PARSERS = {**SparkParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
        CLAUSES = {**Statements.CLAUSES, WATERMARK.upper(): frozenset()}

        def _parse_table(self, *args: Any, **options: Any) -> exp.Expr | None:
            if self._curr.text.upper() == "STREAM" and self._next.text == "(":
                # STREAM(t) reads t as it grows, as every query does here.
                self._advance(2)
                table = self._parse_table_parts()
                self._match_r_paren()
                if table is None:
                    return None
                self._parse_after_table(table)
                if not table.args.get("alias"):
                    table.set("alias", self._parse_table_alias(self.TABLE_ALIAS_TOKENS))
                return table
            named = self._next.token_type is TokenType.VAR and self._ahead(2) != "ON"
            if self._curr.text.upper() == "STREAM" and named:
                self._advance()
            return super()._parse_table(*args, **options)

        def _clause_ahead(self) -> bool:
            if self._curr.text.upper() == WATERMARK.upper():
                return "DELAY" in (self._ahead(2), self._ahead(4))
            return super()._clause_ahead()

        def _parse_table_clause(self, table: exp.Expr) -> bool:
            if self._clause_ahead() and self._curr.text.upper() == WATERMARK.upper():
                self._advance()
                column = self._parse_column()
                self._match_text_seq("DELAY", "OF")
                table.meta[WATERMARK] = (column, self._parse_disjunction())
                return True
            return super()._parse_table_clause(table)


class _CalciteTokenizer(tokens.Tokenizer):
    KEYWORDS = {
        **_without_hints(tokens.Tokenizer.KEYWORDS),
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
    }


class Flink(Dialect):
    """Flink SQL: names in backticks; other quotes are refused where the text is read."""

    class Tokenizer(_CalciteTokenizer):
        QUOTES = ["'", '"']
        IDENTIFIERS = ["`"]
        STRING_ESCAPES = ["'"]

    class Parser(Statements, BaseParser):
        QUERY_MODIFIER_PARSERS = {**BaseParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


class Sqrl(Flink):
    """DataSQRL: Flink SQL with ``Name := query;``."""

    class Parser(Flink.Parser):
        def _named_query(self, first: Token) -> Written | None:
            if self._curr.text.upper() in ("IMPORT", "EXPORT"):
                self._pass_over_all()
                return Written("other", first, self._prev)
            if self._ahead(1) not in (":=", "(", ".") or self._curr.text in ("(", ")"):
                return None
            index = self._index
            name = self._parse_table_parts(schema=True)
            self._skip_parenthesis()
            if not self._match(TokenType.COLON_EQ):
                self._retreat(index)
                return None
            if self._curr.text.upper() == "SUBSCRIBE":
                self._advance()
            named = name if isinstance(name, exp.Table) else None
            return Written("table", first, self._prev, named, self._query())


class Ksql(Dialect):
    """ksqlDB: names folded to upper case unless they are in backticks or double quotes."""

    class Tokenizer(_CalciteTokenizer):
        IDENTIFIERS = ["`", '"']
        STRING_ESCAPES = ["'"]

    class Parser(Statements, BaseParser):
        CLAUSES = {**Statements.CLAUSES, WITHIN.upper(): frozenset()}
        QUERY_MODIFIER_PARSERS = {
            **BaseParser.QUERY_MODIFIER_PARSERS,
            **Statements.STREAM_MODIFIERS,
            TokenType.PARTITION_BY: lambda self: ("partition", self._parse_repartition()),
        }

        def _parse_repartition(self) -> None:
            """PARTITION BY says where rows go, not which there are."""
            self._advance()
            self._parse_csv(self._parse_disjunction)

        def _clause_ahead(self) -> bool:
            if self._curr.text.upper() == WITHIN.upper():
                return self._next.token_type in (TokenType.NUMBER, TokenType.L_PAREN)
            return super()._clause_ahead()

        def _parse_table_clause(self, table: exp.Expr) -> bool:
            if not self._clause_ahead() or self._curr.text.upper() != WITHIN.upper():
                return super()._parse_table_clause(table)
            first = self._curr
            self._advance()
            wrapped = self._match(TokenType.L_PAREN)
            spans = [self._parse_span()]
            while wrapped and self._match(TokenType.COMMA):
                spans.append(self._parse_span())
            if wrapped:
                self._match_r_paren()
            if self._match_text_seq("GRACE", "PERIOD"):
                self._parse_span()
            # Of two the first is how far the right side may be before the left one.
            table.meta[WITHIN] = (spans[0], spans[-1])
            table.meta[f"{WITHIN}_{'span'}"] = (first.start, self._prev.end + 1)
            return True

        def _parse_span(self) -> exp.Interval:
            first = self._curr
            number = self._parse_number()
            unit = self._parse_var(any_token=True, upper=True)
            span = exp.Interval(this=number, unit=unit)
            span.meta["span"] = (first.start, self._prev.end + 1)
            return span


class _PostgresParser(Statements, PostgresParser):
    QUERY_MODIFIER_PARSERS = {**PostgresParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


class PostgresStreams(Postgres):
    """PostgreSQL, and what shares its grammar: RisingWave, Materialize and Arroyo."""

    Parser = _PostgresParser


class Feldera(Dialect):
    """Feldera: Calcite with names in double quotes."""

    class Tokenizer(_CalciteTokenizer):
        STRING_ESCAPES = ["'"]

    class Parser(Statements, BaseParser):
        QUERY_MODIFIER_PARSERS = {**BaseParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}

        def _named_query(self, first: Token) -> Written | None:
            # LATENESS view.column INTERVAL ...; DECLARE RECURSIVE VIEW ...
            if self._curr.text.upper() in ("LATENESS", "DECLARE"):
                self._pass_over_all()
                return Written("other", first, self._prev)
            return None


class DuckDBStreams(DuckDB):
    """DuckDB's SQL."""

    class Parser(Statements, DuckDBParser):
        QUERY_MODIFIER_PARSERS = {**DuckDBParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


class Timeplus(ClickHouse):
    """Timeplus: ClickHouse's grammar with streams, and ``a:b`` for what lies in a JSON text."""

    class Parser(Statements, ClickHouseParser):
        COLON_IS_VARIANT_EXTRACT = True

        def _parse_column(self) -> exp.Expr | None:
            first = self._curr
            found = super()._parse_column()
            if isinstance(found, exp.Column) and not found.table and (match := _LENGTH.fullmatch(first.text)):
                # 5m is a length of time, not a name.
                span = exp.Interval(
                    this=exp.Literal.number(match[1]), unit=exp.var(_LENGTHS[match[2].lower()])
                )
                span.meta["span"] = (first.start, first.end + 1)
                return span
            return found

        QUERY_MODIFIER_PARSERS = {**ClickHouseParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


class Azure(TSQL):
    """Azure Stream Analytics: Transact-SQL with TIMESTAMP BY; a text may have several SELECTs in a row."""

    class Tokenizer(TSQL.Tokenizer):
        KEYWORDS = {**TSQL.Tokenizer.KEYWORDS, "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE}

    class Parser(Statements, TSQLParser):
        QUERY_MODIFIER_PARSERS = {**TSQLParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
        CLAUSES = {
            **Statements.CLAUSES,
            "TIMESTAMP": frozenset(("BY",)),
            "PARTITION": frozenset(("BY",)),
            "OVER": frozenset(),
        }

        def _several_follow(self) -> bool:
            return self._curr.text.upper() in ("SELECT", "WITH")

        def _parse_partition_and_order(self) -> Any:
            found = super()._parse_partition_and_order()
            if self._match_text_seq("LIMIT", "DURATION"):
                self._skip_parenthesis()
            if self._match_text_seq("WHEN"):
                self._parse_disjunction()
            return found

        def _parse_table_clause(self, table: exp.Expr) -> bool:
            if self._match_text_seq("TIMESTAMP", "BY"):
                table.meta[WATERMARK] = (self._parse_disjunction(), None)
                if self._match_text_seq("OVER"):
                    self._parse_csv(self._parse_column)
                return True
            if self._match_text_seq("PARTITION", "BY") or self._match(TokenType.PARTITION_BY):
                self._parse_csv(self._parse_column)
                return True
            return super()._parse_table_clause(table)
