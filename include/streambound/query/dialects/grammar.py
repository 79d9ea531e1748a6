"""What sqlglot's parsers lack for every stream processor: places of nodes, and the clauses of streams.

A node's place is its ``meta["span"]``: the first character and the one past the last. sqlglot itself records
places of names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from sqlglot import expressions as exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

SPAN = "span"
# A node of another text, whose place is that of the name by which it was asked for.
MOVED = "moved"
# An expression in the place of a name: the text around it does not say what it is.
PUT_IN = "put in"
# What WITHIN of ksqlDB and a WATERMARK clause say is kept beside the table that they stand at.
WITHIN, WATERMARK = "within", "watermark"
# EXTRACT(DOW FROM x) of an engine whose Sunday is 0, where others' is 1.
FROM_ZERO = "from zero"
# A pattern that is not found gives NULL, where in Spark it gives an empty text.
NULL_UNMATCHED = "null unmatched"
# A sum of texts is one after the other: by what stands there for NULL, if it does not make all of it NULL.
JOINS_TEXTS = "joins texts"
# The moment of a clock in a zone, of one in UTC.
OF_UTC = "of utc"
# A window function of the rows of so long ago.
LIMITED = "limited"
# By what the rows of a table that a function of tables is given are partitioned.
PARTITIONED = "partitioned"
# The words of MATCH_RECOGNIZE.
PATTERN = "pattern"
# Functions of tables that put each row into windows.
WINDOWS = ("TUMBLE", "HOP", "SESSION", "CUMULATE", "TUMBLING", "HOPPING")

_PLACED = (
    "_parse_unary",
    "_parse_type",
    "_parse_column",
    "_parse_primary",
    "_parse_function",
    "_parse_interval",
    "_parse_bitwise",
    "_parse_star",
    "_parse_select",
    "_parse_with",
    "_parse_cte",
    "_parse_table",
    "_parse_join",
    "_parse_lateral",
    "_parse_unnest",
    "_parse_version",
    "_parse_match_recognize",
    "_parse_pivot",
    "_parse_table_sample",
    "_parse_group",
    "_parse_having",
    "_parse_qualify",
    "_parse_order",
    "_parse_sort",
    "_parse_cluster",
    "_parse_limit",
    "_parse_offset",
    "_parse_connect",
)


class NoPath(ParseError):
    """What is given as a path in a JSON text, and is none."""

    def __init__(self, literal: exp.Literal) -> None:
        super().__init__(literal.name, [{"line": literal.meta["line"], "col": literal.meta["col"]}])
        self.text = literal.name


def _placed(name: str) -> Callable[..., Any]:
    plain = getattr(Parser, name)

    @wraps(plain)
    def parse(self: Any, *args: Any, **options: Any) -> Any:
        first = self._curr
        node = getattr(super(Placed, self), name)(*args, **options)
        if isinstance(node, exp.Expr) and SPAN not in node.meta and self._prev.end >= first.start:
            node.meta[SPAN] = (first.start, self._prev.end + 1)
        return node

    return parse


class Placed(Parser):
    """A parser that records where nodes stand; a class of sqlglot's must come after it."""

    locals().update({name: _placed(name) for name in _PLACED})

    def parse_set_operation(self, *args: Any, **options: Any) -> exp.SetOperation | None:
        # Its place is that of its word: what it joins has places of its own.
        first = self._curr
        set_operation = super().parse_set_operation(*args, **options)
        if set_operation is not None:
            set_operation.meta[SPAN] = (first.start, first.end + 1)
        return set_operation


class Streaming(Placed):
    """The clauses that stream processors add to FROM and to SELECT."""

    # Words that would be read as the alias of a table, with what may come next; an empty set: anything.
    CLAUSES: dict[str, frozenset[str]] = {
        "EMIT": frozenset(
            (
                *("CHANGES", "FINAL", "ON", "STREAM", "AFTER", "LAST", "PERIODIC", "WITHOUT"),
                *("PER", "CHANGELOG", "TIMEOUT"),
            )
        ),
        "MATCH_CONDITION": frozenset("("),
        "WINDOW": frozenset(("TUMBLING", "HOPPING", "SESSION")),
    }

    # What SESSION WITH GAP says within the OVER that is being read.
    _gaps: tuple[exp.Expr | None, ...] = ()

    # For the ``QUERY_MODIFIER_PARSERS`` of every dialect.
    STREAM_MODIFIERS: dict[TokenType, Callable[[Any], tuple[str, Any]]] = {
        TokenType.WINDOW: lambda self: self._parse_stream_window(),
    }

    def _ahead(self, number: int) -> str:
        """The word that stands so many tokens ahead, in upper case; empty past the end."""
        at = self._index + number
        return self._tokens[at].text.upper() if at < self._tokens_size else ""

    def _clause_ahead(self) -> bool:
        after = self.CLAUSES.get(self._curr.text.upper())
        if after is None or self._curr.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            return False
        return not after or self._next.text.upper() in after

    def validate_expression(self, expression: Any, args: Any = None) -> Any:
        # A function that another engine has with other arguments is a function all the same.
        if args is not None and isinstance(expression, exp.Func) and expression.error_messages(args):
            return exp.Anonymous(this=expression.sql_name(), expressions=list(args))
        return super().validate_expression(expression, args)

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        first = self._index
        try:
            return super()._parse_function_call(*args, **options)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            # What sqlglot makes of its arguments asks for more of them.
            self._retreat(first)
            return super()._parse_function_call(*args, **{**options, "anonymous": True})

    def _parse_with(self, *args: Any, **options: Any) -> exp.With | None:
        if self._curr.token_type is TokenType.WITH and self._next.text.upper() == "MUTUALLY":
            # Materialize: WITH MUTUALLY RECURSIVE.
            self._advance(2)
            clause = super()._parse_with(True)
            return clause
        return super()._parse_with(*args, **options)

    def _parse_lateral(self) -> exp.Lateral | None:
        if self._curr.token_type is TokenType.LATERAL and self._next.text.upper() == "TABLE":
            # Flink: LATERAL TABLE(f(x)).
            first = self._curr
            self._advance()
            call = self._parse_table_call()
            if call is None:
                self._retreat(self._index - 1)
                return super()._parse_lateral()
            lateral = exp.Lateral(this=call.this, alias=call.args.get("alias"))
            lateral.meta[SPAN] = (first.start, self._prev.end + 1)
            return lateral
        return super()._parse_lateral()

    def _parse_table_alias(self, alias_tokens: Any = None) -> exp.TableAlias | None:
        return None if self._clause_ahead() else super()._parse_table_alias(alias_tokens)

    def _parse_table_hints(self) -> list[exp.Expr] | None:
        # WITH after a table begins the options of a sink, never hints.
        return None

    def _parse_table(self, *args: Any, **options: Any) -> exp.Expr | None:
        table = self._parse_table_call() or super()._parse_table(*args, **options)
        if isinstance(table, (exp.Table, exp.Subquery)) and not options.get("schema"):
            self._parse_after_table(table)
        return table

    def _parse_after_table(self, table: exp.Expr) -> None:
        """What a processor lets follow a table, in any order; the alias may come after it."""
        while self._parse_table_clause(table) or (not table.args.get("alias") and self._alias_follows(table)):
            pass

    def _alias_follows(self, table: exp.Expr) -> bool:
        if not any(key in table.meta for key in (WATERMARK, WITHIN)) and not table.args.get("version"):
            return False
        if WITHIN in table.meta or not (alias := self._parse_table_alias(self.TABLE_ALIAS_TOKENS)):
            return False
        table.set("alias", alias)
        return True

    def _parse_table_clause(self, table: exp.Expr) -> bool:
        """Read one clause that follows a table; whether there was one."""
        if not isinstance(table, exp.Table) or table.args.get("version"):
            return False
        table.set("version", self._parse_version())
        return table.args.get("version") is not None

    def _parse_table_call(self) -> exp.Expr | None:
        """``TABLE(TUMBLE(TABLE t, DESCRIPTOR(c), ...))``, with or without names of arguments."""
        bare = (
            self._curr.text.upper() in WINDOWS
            and self._ahead(1) == "("
            and self._ahead(2) in ("TABLE", "DATA")
        )
        wrapped = self._curr.text.upper() == "TABLE" and self._ahead(1) == "(" and self._ahead(3) == "("
        if not bare and not wrapped:
            return None
        self._advance(2 if wrapped else 0)
        name = self._parse_id_var(any_token=True)
        call = exp.Anonymous(
            this=name and name.name, expressions=self._parse_wrapped(self._parse_call_arguments)
        )
        call.meta[SPAN] = (name.meta["start"], self._prev.end + 1) if name and "start" in name.meta else None
        if wrapped:
            self._match_r_paren()
        return exp.Table(this=call, alias=self._parse_table_alias(self.TABLE_ALIAS_TOKENS))

    def _parse_call_arguments(self) -> list[exp.Expr]:
        return self._parse_csv(self._parse_call_argument)

    def _parse_call_argument(self) -> exp.Expr | None:
        if self._ahead(1) == "=>":
            self._advance(2)
        if self._match(TokenType.TABLE):
            table = self._parse_table_parts()
            while self._match_texts(("PARTITION", "ORDER")) or self._match_set(
                (TokenType.PARTITION_BY, TokenType.ORDER_BY)
            ):
                partitions = "PARTITION" in self._prev.text.upper()
                self._match_text_seq("BY")
                # Several stand in parentheses: after a comma the next argument begins.
                key = self._parse_ordered()
                if partitions and key is not None and table is not None:
                    table.meta[PARTITIONED] = key
            return table
        if self._match(TokenType.L_PAREN, advance=False) and self._next.token_type in (
            TokenType.SELECT,
            TokenType.WITH,
        ):
            return self._parse_select(table=True)
        return self._parse_disjunction()

    def _parse_join_parts(self) -> tuple[Token | None, Token | None, Token | None]:
        # LEFT ASOF JOIN, where sqlglot knows ASOF LEFT JOIN.
        if self._curr.token_type in self.JOIN_SIDES and self._next.token_type in self.JOIN_METHODS:
            sided, by = self._curr, self._next
            self._advance(2)
            return by, sided, self._prev if self._match_set(self.JOIN_KINDS) else None
        return super()._parse_join_parts()

    def _parse_partition_and_order(self) -> Any:
        clauses = super()._parse_partition_and_order()
        if self._match_text_seq("SESSION", "WITH", "GAP"):
            # RisingWave: the rows without a gap between them.
            self._gaps = (self._parse_disjunction(),)
        return clauses

    def _parse_window(self, this: exp.Expr | None, *args: Any, **options: Any) -> Any:
        outer, self._gaps = self._gaps, ()
        window = super()._parse_window(this, *args, **options)
        for gap in self._read_gaps():
            if isinstance(window, exp.Window):
                window.set("spec", exp.WindowSpec(kind="SESSION", start=gap))
        self._gaps = outer
        return window

    def _read_gaps(self) -> tuple[exp.Expr | None, ...]:
        return self._gaps

    def _parse_stream_window(self) -> tuple[str, Any]:
        if self._next.text.upper() not in ("TUMBLING", "HOPPING", "SESSION"):
            return "windows", self._parse_window_clause()
        first = self._curr
        self._advance()
        call = exp.Anonymous(this=f"WINDOW {self._curr.text.upper()}")
        self._advance()
        call.set("expressions", list(_lengths(self._skip_parenthesis())))
        call.meta[SPAN] = (first.start, self._prev.end + 1)
        return "windows", [call]

    def _parse_match_recognize(self) -> exp.MatchRecognize | None:
        # Its patterns differ with each processor: what a verdict asks of them is read from the words alone.
        if not self._match(TokenType.MATCH_RECOGNIZE):
            return None
        words = self._skip_parenthesis()
        made = self.expression(exp.MatchRecognize(alias=self._parse_table_alias()))
        made.meta[PATTERN] = words
        return made

    def _skip_parenthesis(self) -> list[Token]:
        """Pass over what stands in parentheses here, if anything; its tokens with them."""
        first, depth = self._index, 0
        while self._curr.token_type is not TokenType.SENTINEL:
            depth += (self._curr.text == "(") - (self._curr.text == ")")
            if not depth and self._index == first:
                return []
            self._advance()
            if not depth:
                break
        return list(self._tokens[first : self._index])


def _lengths(tokens: list[Token]) -> Iterator[exp.Expr]:
    """The lengths of ``(SIZE 10 MINUTES, ADVANCE BY 1 MINUTE, GRACE PERIOD 1 HOUR)``, or a session's gap."""
    for clause in " ".join(token.text.upper() for token in tokens[1:-1]).split(","):
        *said, number, unit = clause.split() if len(clause.split()) > 1 else ("", "", "")
        if number.isdigit() and said in ([], ["SIZE"], ["ADVANCE", "BY"]):
            yield exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit.removesuffix("S")))


def span_of(node: exp.Expr) -> tuple[int, int] | None:
    """Where a node stands, from and to: as recorded, or what its parts cover; None if neither."""
    noted: tuple[int, int] | None = node.meta.get(SPAN)
    if noted is not None:
        return noted
    if node.meta.get("end"):
        return node.meta["start"], node.meta["end"] + 1
    within = [part for part in node.iter_expressions() if PUT_IN not in part.meta]
    parts = [span for part in within or node.iter_expressions() if (span := span_of(part)) is not None]
    return (min(start for start, _ in parts), max(end for _, end in parts)) if parts else None


def is_system_time(node: exp.Expr) -> bool:
    """Azure: ``System.Timestamp()``, or without parentheses: the time of a row or of its window."""
    if isinstance(node, exp.Column):
        return node.table.upper() == "SYSTEM" and node.name.upper() == "TIMESTAMP"
    if not isinstance(node, exp.Dot) or not isinstance(node.this, exp.Expr):
        return False
    called = node.expression
    name = str(called.this) if isinstance(called, exp.Anonymous) else called.name
    return node.this.name.upper() == "SYSTEM" and name.upper() in ("TIMESTAMP", "TIMESTAMP()")
