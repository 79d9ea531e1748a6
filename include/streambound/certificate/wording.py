"""What an edit adds to a query, in the words of the dialect that the user's text is in.

Edits are searched in Spark SQL, whatever the text is in. What they add is a comparison with constants, a
name, the window between two timestamps, or a window as a key; the last two have other words, and another
place, in some dialects: ``WITHIN 1 HOUR`` and ``WINDOW TUMBLING (SIZE 1 HOUR)`` in ksqlDB, ``DATEDIFF`` in ON
in Azure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import TokenType

from streambound.errors import QueryError
from streambound.query.dialects.guess import language
from streambound.query.dialects.languages import Language
from streambound.query.dialects.tokens import tokens, trees

_CALCITE = ("flink", "sqrl", "feldera")
_POSTGRES = ("risingwave", "materialize", "postgres", "duckdb", "arroyo")

# Windows of time as keys, by the function of Spark that they are in its words.
_KEYS = {
    "window": {
        "ksql": "WINDOW TUMBLING (SIZE {number} {upper})",
        "azure": "TumblingWindow({unit}, {number})",
        "arroyo": "TUMBLE({interval})",
        **dict.fromkeys(("flink", "sqrl"), "TUMBLE({stamp}, {interval})"),
        "feldera": "TIMESTAMP_TRUNC({stamp}, {upper})",
        "others": "DATE_TRUNC('{unit}', {stamp})",
    },
    "session_window": {
        "ksql": "WINDOW SESSION ({number} {upper})",
        "azure": "SessionWindow({unit}, {number})",
        "arroyo": "SESSION({interval})",
        **dict.fromkeys(("flink", "sqrl"), "SESSION({stamp}, {interval})"),
    },
}


class Spot(Enum):
    """Where an addition stands."""

    LISTED = "among the conditions, outputs or keys"
    JOINED = "among the conditions of the join"
    BEFORE_ON = "between the table that is joined and ON"
    AFTER_FROM = "behind FROM and its joins"


@dataclass(frozen=True)
class Addition:
    """A text that is added, and where."""

    text: str
    spot: Spot = Spot.LISTED


@dataclass(frozen=True)
class Wording:
    """The words of a dialect; ``quoted`` are the names that the user's text has in quotes."""

    language: Language
    quoted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sql: str, dialect: str) -> Wording:
        """The words that fit to a text."""
        spoken = language(dialect)
        quoted = (t.text for t in tokens(sql, spoken) if t.token_type is TokenType.IDENTIFIER)
        return cls(spoken, frozenset(quoted))

    def addition(self, spark: str) -> Addition:
        """What is added, where ``spark`` says it in Spark SQL.

        Raises:
            QueryError: the dialect cannot say it.
        """
        name = self.language.name
        if name == "spark":
            return Addition(spark)
        (tree,) = trees(spark)
        for function, words in _KEYS.items():
            if (key := _window_key(tree, function)) is not None:
                return self._key(words.get(name, words.get("others")), *key)
        if (between := _width(tree)) is not None and name in ("ksql", "azure"):
            number, unit = between
            if name == "ksql":
                return Addition(f"WITHIN {number} {unit.upper()}", Spot.BEFORE_ON)
            left, right = (self._sql(exp.column(a)) for a in _related(tree))
            distance = f"DATEDIFF({unit}, {left}, {right})"
            return Addition(f"{distance} BETWEEN -{number} AND {number}", Spot.JOINED)
        return Addition(self._sql(tree))

    def _key(self, words: str | None, column: exp.Expr, number: int, unit: str) -> Addition:
        if words is None:
            raise QueryError(f"{self.language.name} has no sessions as keys")
        stamp, interval = self._sql(column), self._interval(number, unit)
        text = words.format(stamp=stamp, interval=interval, number=number, unit=unit, upper=unit.upper())
        return Addition(text, Spot.AFTER_FROM if self.language.name == "ksql" else Spot.LISTED)

    def said(self, words: str, added: tuple[str, ...]) -> str:
        """A sentence about additions in Spark SQL, about the same in this dialect."""
        for spark in added:
            words = words.replace(spark, self.addition(spark).text)
        return words

    def _sql(self, tree: exp.Expr) -> str:
        return tree.transform(_plain_cast).transform(self._node).sql(dialect=self.language.dialect)

    def _node(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Interval):
            number, unit = _length(node)
            return exp.var(self._interval(number, unit))
        if isinstance(node, exp.Identifier):
            quoted = node.quoted or node.name in self.quoted or not is_word(node.name, self.language)
            return exp.to_identifier(node.name, quoted=quoted)
        return typed_as_written(node)

    def _interval(self, number: int, unit: str) -> str:
        if self.language.name in _CALCITE:
            return f"INTERVAL '{number}' {unit.upper()}"
        if self.language.name in _POSTGRES:
            return f"INTERVAL '{number} {unit}{'s' * (number > 1)}'"
        return f"INTERVAL {number} {unit.upper()}"


def is_word(name: str, spoken: Language | None = None) -> bool:
    """Whether a name needs no quotes: it is one word, and no keyword."""
    try:
        stream = tokens(name) if spoken is None else tokens(name, spoken)
    except QueryError:
        return False
    return len(stream) == 1 and stream[0].token_type is TokenType.VAR and stream[0].text == name


def typed_as_written(node: exp.Expr) -> exp.Expr:
    """A typed literal as people write it, DATE '2024-01-01', instead of the cast that sqlglot reads it as."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return node
    kind = node.to.sql(dialect="spark")
    literal = node.this.is_string and kind in ("DATE", "TIMESTAMP")
    return exp.var(f"{kind} '{node.this.this}'") if literal else node


def _plain_cast(node: exp.Expr) -> exp.Expr:
    """CAST for what Spark's casts are read as: others have no such word, or mean another thing by it."""
    return exp.cast(node.this, node.to) if isinstance(node, exp.TryCast) else node


def _length(node: exp.Interval) -> tuple[int, str]:
    number, unit = int(node.this.name), node.args["unit"].name.lower()
    return number, unit.removesuffix("s")


def _window_key(tree: exp.Expr, function: str) -> tuple[exp.Expr, int, str] | None:
    """Column and length of ``window(column, '1 hour')``, or of another such function."""
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() != function or len(tree.expressions) != 2:
        return None
    column, size = tree.expressions
    if not size.is_string:
        return None
    number, unit = size.name.split()
    return column, int(number), unit.removesuffix("s")


def _width(tree: exp.Expr) -> tuple[int, str] | None:
    """The length of ``b BETWEEN a - INTERVAL AND a + INTERVAL``."""
    if not isinstance(tree, exp.Between) or not isinstance(tree.args["low"], exp.Sub):
        return None
    length = tree.args["low"].expression
    return _length(length) if isinstance(length, exp.Interval) else None


def _related(tree: exp.Expr) -> tuple[str, str]:
    """The relations of the two timestamps in such a condition, the one that is subtracted first."""
    return tree.args["low"].this.table, tree.this.table
