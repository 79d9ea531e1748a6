"""What is built on Calcite or follows its grammar: Flink, DataSQRL, Feldera and ksqlDB."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from sqlglot import expressions as exp
from sqlglot import generator, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.parsers.base import BaseParser
from sqlglot.tokenizer_core import Token, TokenType

from streambound.query.dialects.grammar import JOINS_TEXTS, NULL_UNMATCHED, OF_UTC, WITHIN
from streambound.query.dialects.statements import DeclaredTable, Statements, Written


def _without_hints(keywords: dict[str, TokenType]) -> dict[str, TokenType]:
    """Keywords but for hints, which are comments then: they change how a query runs, not what it asks."""
    return {word: kind for word, kind in keywords.items() if not word.startswith("/*+")}


class _CalciteTokenizer(tokens.Tokenizer):
    KEYWORDS = _without_hints(tokens.Tokenizer.KEYWORDS)
    # Statements that sqlglot would take as one text are tokens: queries may stand within them.
    COMMANDS: ClassVar[set[TokenType]] = set()


_EPOCH = dt.datetime(1970, 1, 1)
# What follows their arguments says which value they have of what is missing or wrong.
_OF_JSON = ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_ARRAY")


# The moments that every row of ksqlDB has, which are numbers of milliseconds there.
_MOMENTS = ("ROWTIME", "WINDOWSTART", "WINDOWEND")


def _is_moment(node: Any) -> bool:
    return isinstance(node, exp.Column) and node.name.upper() in _MOMENTS


def _moment_of(milliseconds: exp.Literal) -> exp.Expr:
    """A number of milliseconds since 1970 as a moment, if there is such a moment."""
    try:
        moment = _EPOCH + dt.timedelta(milliseconds=int(milliseconds.name))
    except OverflowError:
        return milliseconds
    made = exp.Cast(this=exp.Literal.string(str(moment)), to=exp.DataType(this=exp.DType.TIMESTAMP))
    made.meta.update(milliseconds.meta)
    return made


def _unit(args: list[exp.Expr]) -> exp.Var:
    return exp.var(args[0].name or args[0].sql())


def _extracted(value: exp.Expr, pattern: exp.Expr, *group: exp.Expr) -> exp.Expr:
    """A group of the first match, all of it without one; NULL where there is none."""
    number = group[0] if group else exp.Literal.number(0)
    made = exp.RegexpExtract(this=value, expression=pattern, group=number)
    made.meta[NULL_UNMATCHED] = True
    return made


def _zoned(args: list[exp.Expr]) -> exp.Expr:
    """``CONVERT_TZ(moment, 'UTC', zone)``."""
    if len(args) != 3 or args[1].name != "UTC":
        return exp.Anonymous(this="CONVERT_TZ", expressions=args)
    made = exp.AtTimeZone(this=args[0], zone=args[2])
    made.meta[OF_UTC] = True
    return made


def _masked(args: list[exp.Expr]) -> exp.Expr:
    """``MASK(text)``, with the signs that it puts in."""
    signs = [exp.Literal.string(sign) for sign in "Xxn-"] if len(args) == 1 else []
    return exp.Anonymous(this="MASK", expressions=[*args, *signs])


def _difference(args: list[exp.Expr]) -> exp.Expr:
    """``TIMESTAMPDIFF(unit, from, to)``: whole units, rounded toward zero."""
    return exp.TimestampDiff(this=args[2], expression=args[1], unit=_unit(args))


class _CalciteParser(Statements, BaseParser):
    """Calcite's grammar; of its types ROW<...> and MULTISET<...> are ones of no engine here."""

    QUERY_MODIFIER_PARSERS = {**BaseParser.QUERY_MODIFIER_PARSERS, **Statements.STREAM_MODIFIERS}

    def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
        named = self._curr.text.upper() in ("ROW", "MULTISET")
        if not named or not (self._next.text == "<" or self._prev.token_type is TokenType.ALIAS):
            return super()._parse_types(*args, **options)
        start = self._index
        self._skip_type()
        return exp.DataType(this=exp.DType.USERDEFINED, kind=self._source_between(start, self._index))

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        name = self._curr.text.upper()
        if name in _OF_JSON and self._next.text == "(":
            start = self._index
            self._advance(2)
            given = self._parse_csv(self._parse_disjunction)
            if (first := self._index) and self._curr.text != ")":
                # RETURNING, WITH WRAPPER, NULL ON EMPTY: part of what the function is.
                self._to_comma()
                given.append(exp.Literal.string(self._source_between(first, self._index)))
                self._match_r_paren()
                return exp.Anonymous(this=name, expressions=given)
            self._retreat(start)
        return super()._parse_function_call(*args, **options)

    FUNCTIONS = {
        **BaseParser.FUNCTIONS,
        "TIMESTAMPDIFF": _difference,
        "DATEDIFF": _difference,
        "TIMESTAMPADD": lambda args: exp.TimestampAdd(this=args[2], expression=args[1], unit=_unit(args)),
    }


class _FlinkParser(_CalciteParser):
    FUNCTIONS = {**_CalciteParser.FUNCTIONS, "REGEXP_EXTRACT": lambda args: _extracted(*args)}


class InputTable(exp.Expression):
    """``TABLE S``, what a function of tables is given."""


class Flink(Dialect):
    """Flink SQL: names in backticks; other quotes are refused where the text is read."""

    # A quotient of whole numbers is one.
    TYPED_DIVISION = True
    # The first element of an array is number 1.
    INDEX_OFFSET = 1

    class Tokenizer(_CalciteTokenizer):
        QUOTES = ["'", '"']
        IDENTIFIERS = ["`"]
        STRING_ESCAPES = ["'"]

    Parser = _FlinkParser

    class Generator(generator.Generator):
        TYPE_MAPPING: ClassVar[dict[exp.DType, str]] = {
            **generator.Generator.TYPE_MAPPING,
            exp.DType.TEXT: "STRING",
        }
        TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
            **generator.Generator.TRANSFORMS,
            InputTable: lambda self, node: f"TABLE {self.sql(node, 'this')}",
        }


class Sqrl(Flink):
    """DataSQRL: Flink SQL with ``Name := query;``."""

    class Parser(_FlinkParser):
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
            named = name if isinstance(name, exp.Table) else None
            self._match_text_seq("SUBSCRIBE")
            query: exp.Expr | None
            if self._match(TokenType.DISTINCT):
                # The latest row of each key.
                distinct = exp.Distinct(on=exp.Tuple())
                distinct.args["on"].meta["span"] = (self._prev.start, self._prev.end + 1)
                table = self._parse_table()
                if self._match(TokenType.ON):
                    distinct.args["on"].set("expressions", self._parse_csv(self._parse_column))
                order = self._parse_order()
                self._pass_over_all()
                star = [exp.Star()]
                query = exp.Select(
                    expressions=star, distinct=distinct, from_=exp.From(this=table), order=order
                )
            else:
                query = self._query()
            return Written("table", first, self._prev, named, query, DeclaredTable("view"))


class Feldera(Dialect):
    """Feldera: Calcite with names in double quotes."""

    class Tokenizer(_CalciteTokenizer):
        STRING_ESCAPES = ["'"]

    class Parser(_CalciteParser):
        def _named_query(self, first: Token) -> Written | None:
            # LATENESS view.column INTERVAL ...; DECLARE RECURSIVE VIEW ...
            if self._curr.text.upper() in ("LATENESS", "DECLARE"):
                self._pass_over_all()
                return Written("other", first, self._prev)
            return None


class Ksql(Dialect):
    """ksqlDB: names folded to upper case unless they are in backticks or double quotes."""

    INDEX_OFFSET = 1

    class Tokenizer(_CalciteTokenizer):
        IDENTIFIERS = ["`", '"']
        STRING_ESCAPES = ["'"]

    class Parser(_CalciteParser):
        CLAUSES = {**Statements.CLAUSES, WITHIN.upper(): frozenset()}
        FUNCTIONS = {
            **_CalciteParser.FUNCTIONS,
            # With a time zone it is another function.
            "FORMAT_TIMESTAMP": lambda args: exp.Anonymous(
                this="DATE_FORMAT" if len(args) == 2 else "FORMAT_TIMESTAMP", expressions=args
            ),
            "REGEXP_EXTRACT": lambda args: _extracted(args[1], args[0], *args[2:]),
            # Of milliseconds.
            "FROM_UNIXTIME": lambda args: exp.UnixToTime(this=args[0], scale=exp.Literal.number(3)),
            "CONVERT_TZ": _zoned,
            "MASK": _masked,
        }
        COLUMN_OPERATORS = {
            **BaseParser.COLUMN_OPERATORS,
            # a->b is the field b of a.
            TokenType.ARROW: lambda self, this, field: exp.Dot(
                this=this, expression=exp.to_identifier(field.name)
            ),
        }

        def validate_expression(self, expression: Any, args: Any = None) -> Any:
            predicate = super().validate_expression(expression, args)
            if isinstance(predicate, exp.Add):
                predicate.meta[JOINS_TEXTS] = "null"
            if isinstance(predicate, (exp.Predicate, exp.Between)) and any(
                map(_is_moment, predicate.args.values())
            ):
                for part, given in list(predicate.args.items()):
                    if isinstance(given, exp.Literal) and not given.is_string and given.name.isdigit():
                        predicate.set(part, _moment_of(given))
            return predicate

        # a => f(a), where a->b is a field.
        LAMBDAS: ClassVar = {TokenType.FARROW: BaseParser.LAMBDAS[TokenType.ARROW]}
        QUERY_MODIFIER_PARSERS = {
            **_CalciteParser.QUERY_MODIFIER_PARSERS,
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
