"""Azure Stream Analytics, whose grammar is that of Transact-SQL."""

from __future__ import annotations

from typing import Any

from sqlglot import expressions as exp
from sqlglot.dialects.tsql import TSQL
from sqlglot.parsers.tsql import TSQLParser
from sqlglot.tokenizer_core import TokenType

from streambound.query.dialects.grammar import LIMITED, WATERMARK, is_system_time
from streambound.query.dialects.statements import Statements, Written


def _keep_time(step: exp.Select) -> None:
    """Have a step with windows show the end of its window: the time of its rows for who reads them."""
    group = step.args.get("group")
    windows = [str(key.this) for key in group.expressions if isinstance(key, exp.Anonymous)] if group else []
    if not any(name.upper().endswith("WINDOW") for name in windows) or any(
        isinstance(item, exp.Alias) and is_system_time(item.this) for item in step.expressions
    ):
        return
    time = exp.Column(this=exp.to_identifier("Timestamp"), table=exp.to_identifier("System"))
    step.append("expressions", exp.Alias(this=time, alias=exp.to_identifier("System.Timestamp")))


class Azure(TSQL):
    """Azure Stream Analytics: Transact-SQL with TIMESTAMP BY; a text may have several SELECTs in a row."""

    class Parser(Statements, TSQLParser):
        QUERY_MODIFIER_PARSERS = {**TSQLParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}
        CLAUSES = {
            **Statements.CLAUSES,
            "TIMESTAMP": frozenset(("BY",)),
            "PARTITION": frozenset(("BY",)),
            "OVER": frozenset(),
        }

        WINDOW_ALIAS_TOKENS = TSQLParser.WINDOW_ALIAS_TOKENS - {TokenType.LIMIT}

        # What LIMIT DURATION says within the OVER that is being read.
        _durations: tuple[exp.Interval, ...] = ()

        def _several_follow(self) -> bool:
            return self._curr.text.upper() in ("SELECT", "WITH")

        def statement(self) -> list[Written]:
            parsed = super().statement()
            clause = None
            for written in parsed:
                # WITH holds for all the SELECTs that follow it.
                if isinstance(written.tree, exp.Query):
                    clause = written.tree.args.get("with_") or clause
                    if clause is not None and not written.tree.args.get("with_"):
                        written.tree.set("with_", clause.copy())
                    for inner in written.tree.find_all(exp.Select):
                        if inner is not written.tree:
                            _keep_time(inner)
            return parsed

        def _parse_partition_and_order(self) -> Any:
            clauses = super()._parse_partition_and_order()
            if self._match_text_seq("LIMIT", "DURATION"):
                given = [token.text for token in self._skip_parenthesis() if token.text not in "(),"]
                if len(given) == 2 and given[1].isdigit():
                    length = exp.Interval(this=exp.Literal.number(given[1]), unit=exp.var(given[0]))
                    self._durations = (length,)
            if self._match_text_seq("WHEN"):
                self._parse_disjunction()
            return clauses

        def parse_set_operation(self, *args: Any, **options: Any) -> exp.SetOperation | None:
            # All rows of both, those that are equal as well.
            operation = super().parse_set_operation(*args, **options)
            if isinstance(operation, exp.Union):
                operation.set("distinct", False)
            return operation

        def _parse_window(self, this: exp.Expr | None, *args: Any, **options: Any) -> Any:
            if isinstance(this, exp.Anonymous) and str(this.this).upper() == "SESSIONWINDOW":
                # OVER (PARTITION BY k): sessions are those of a key as it is.
                if self._match_text_seq("OVER"):
                    self._skip_parenthesis()
                return this
            outer, self._durations = self._durations, ()
            window = super()._parse_window(this, *args, **options)
            mine: tuple[exp.Interval, ...] = self._durations
            if isinstance(window, exp.Window):
                for duration in mine:
                    # Of so long before the row, in the order of time.
                    spec = {"kind": "RANGE", "start": duration, "start_side": "PRECEDING"}
                    window.set("spec", exp.WindowSpec(**spec, end="CURRENT ROW"))
                    window.meta[LIMITED] = True
            self._durations = outer
            return window

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
