"""Timeplus, whose grammar is that of ClickHouse."""

from __future__ import annotations

import re

from sqlglot import expressions as exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.parsers.clickhouse import ClickHouseParser

from streambound.query.dialects.statements import Statements

_LENGTH = re.compile(r"(\d+)(us|ms|s|m|h|d|w)", re.IGNORECASE)
_LENGTHS = {
    **{"us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND", "m": "MINUTE"},
    **{"h": "HOUR", "d": "DAY", "w": "WEEK"},
}


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
