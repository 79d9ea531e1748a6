"""Timeplus, whose grammar is that of ClickHouse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import expressions as exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.parsers.clickhouse import ClickHouseParser
from sqlglot.tokenizer_core import Token, TokenType

from streambound.query.dialects.statements import Statements

_LENGTH = re.compile(r"(\d+)(us|ms|s|m|h|d|w)", re.IGNORECASE)
_CLOSING = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_LENGTHS = {
    **{"us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND", "m": "MINUTE"},
    **{"h": "HOUR", "d": "DAY", "w": "WEEK"},
}


class Timeplus(ClickHouse):
    """Timeplus: ClickHouse's grammar with streams, and ``a:b`` for what lies in a JSON text."""

    class Parser(Statements, ClickHouseParser):
        # quantile(x, 0.9), where ClickHouse has quantile(0.9)(x).
        FUNCTION_PARSERS = {k: v for k, v in ClickHouseParser.FUNCTION_PARSERS.items() if k != "QUANTILE"}
        COLON_IS_VARIANT_EXTRACT = True
        CLAUSES = {
            **Statements.CLAUSES,
            "PARTITION": frozenset(("BY",)),
            "PARTITION BY": frozenset(),
            "SHUFFLE": frozenset(("BY",)),
            "LATEST": frozenset(("JOIN", "LEFT", "INNER")),
        }

        def _parse_table_clause(self, table: exp.Expr) -> bool:
            if any(self._match_text_seq(word, "BY") for word in ("PARTITION", "SHUFFLE")) or self._match(
                TokenType.PARTITION_BY
            ):
                self._parse_csv(self._parse_column)
                return True
            return super()._parse_table_clause(table)

        def _parse(self, parse_method: Any, raw_tokens: Any, sql: str | None = None) -> Any:
            return super()._parse(parse_method, _with_pairs(raw_tokens), sql)

        def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
            # The latest row of the other side, which replaces the one before.
            sided = self._curr.token_type in (TokenType.INNER, TokenType.LEFT, TokenType.FULL)
            word = self._next if sided else self._curr
            latest = word.text.upper() == "LATEST" and (sided or self._clause_ahead())
            side = self._curr.text.upper() if latest and sided else ""
            if latest:
                self._advance(2 if sided else 1)
            join = super()._parse_join(*args, **options)
            if latest and join is not None:
                join.set("method", "LATEST")
                if side in ("LEFT", "FULL"):
                    join.set("side", side)
            elif join is not None and join.kind == "ASOF":
                join.set("method", join.args["kind"])
                join.set("kind", None)
            return join

        def _parse_window(self, this: exp.Expr | None, *args: Any, **options: Any) -> Any:
            window = super()._parse_window(this, *args, **options)
            if window is not this or not isinstance(this, exp.Lag):
                return window
            # Without OVER it is of the rows as they come.
            order = exp.Order(expressions=[exp.Ordered(this=exp.column("_tp_time"))])
            made = exp.Window(this=this, order=order)
            made.meta.update(this.meta)
            return made

        def _parse_column(self) -> exp.Expr | None:
            first = self._curr
            column = super()._parse_column()
            if (
                isinstance(column, exp.Column)
                and not column.table
                and (match := _LENGTH.fullmatch(first.text))
            ):
                # 5m is a length of time, not a name.
                span = exp.Interval(
                    this=exp.Literal.number(match[1]), unit=exp.var(_LENGTHS[match[2].lower()])
                )
                span.meta["span"] = (first.start, first.end + 1)
                return span
            return column

        QUERY_MODIFIER_PARSERS = {**ClickHouseParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}


def _with_pairs(stream: Sequence[Token]) -> list[Token]:
    """Tokens in which the range of a session, ``[a, b)``, ends as it begins.

    Whether the rows at its ends belong to it says nothing of how long it lasts.
    """
    made, opened = list[Token](), list[tuple[TokenType, bool]]()
    for before, token in zip((None, *stream), stream, strict=False):
        if token.token_type in _CLOSING:
            last = before is not None and before.text.upper() == "SESSION"
            opened.append((_CLOSING[token.token_type], last))
        elif opened and token.token_type in _CLOSING.values():
            kind, _ = opened.pop()
            if kind is not token.token_type and opened and opened[-1][1]:
                token = Token(kind, token.text, token.line, token.col, token.start, token.end)
        made.append(token)
    return made
