"""Spark SQL, with the clauses of Databricks for streaming tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import expressions as exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from streambound.query.dialects.grammar import OF_UTC, WATERMARK, NoPath
from streambound.query.dialects.statements import Statements

# The words of an expression that a watermark may be of.
LONGEST = 100
# What get_json_object takes; of any other path it gives NULL (Spark's JsonPathParser, which skips blanks).
_PATH = re.compile(r"\s*\$(?:\s*(?:\.\s*\*|\.\s*[^.\[\s][^.\[]*|\['[^'?]+'\]|\[\s*(?:\*|\d+)\s*\]))*\s*")


def _at_path(args: list[exp.Expr], dialect: Any) -> exp.Expr:
    path = args[1] if len(args) == 2 else None
    if isinstance(path, exp.Literal) and path.is_string and not _PATH.fullmatch(path.name):
        raise NoPath(path)
    made: exp.Expr = SparkParser.FUNCTIONS["GET_JSON_OBJECT"](args, dialect=dialect)
    return made


def _of_utc(args: list[exp.Expr], dialect: Any) -> exp.Expr:
    made: exp.Expr = SparkParser.FUNCTIONS["FROM_UTC_TIMESTAMP"](args, dialect=dialect)
    made.meta[OF_UTC] = True
    return made


def _since_1970(digits: int) -> Callable[[list[exp.Expr]], exp.Expr]:
    return lambda args: exp.UnixToTime(this=args[0], scale=exp.Literal.number(digits))


class SparkStreams(Spark):
    """Spark SQL, with the clauses of Databricks for streaming tables."""

    # A year without leading zeros, which is another text than ``yyyy`` gives.
    TIME_MAPPING = {**Spark.TIME_MAPPING, "y": "%-Y"}

    class Parser(Statements, SparkParser):
        PASSES_OVER = False
        FUNCTIONS = {
            **SparkParser.FUNCTIONS,
            "FROM_UTC_TIMESTAMP": _of_utc,
            "GET_JSON_OBJECT": _at_path,
            "TIMESTAMP_SECONDS": _since_1970(0),
            "TIMESTAMP_MILLIS": _since_1970(3),
            "TIMESTAMP_MICROS": _since_1970(6),
        }
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
                return any((self._ahead(n), self._ahead(n + 1)) == ("DELAY", "OF") for n in range(2, LONGEST))
            return super()._clause_ahead()

        def _parse_table_clause(self, table: exp.Expr) -> bool:
            if self._clause_ahead() and self._curr.text.upper() == WATERMARK.upper():
                self._advance()
                column = self._parse_disjunction()
                if self._match(TokenType.ALIAS):
                    # What is computed has a name, and is a column of the table.
                    column = exp.Alias(this=column, alias=self._parse_id_var(any_token=True))
                self._match_text_seq("DELAY", "OF")
                table.meta[WATERMARK] = (column, self._parse_disjunction())
                return True
            return super()._parse_table_clause(table)
