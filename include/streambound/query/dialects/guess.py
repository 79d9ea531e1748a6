"""The dialect of a text: given, named in its first comments, or guessed by what only one processor writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import QueryError, meant
from streambound.query.dialects.languages import LANGUAGES, SPARK, Language

# What a word or some in a row say; the first that is found counts.
_SIGNS: tuple[tuple[str, str], ...] = (
    ("ksql", "EMIT CHANGES"),
    ("ksql", "KAFKA_TOPIC ="),
    ("ksql", "WINDOW TUMBLING ("),
    ("ksql", "WINDOW HOPPING ("),
    ("azure", "TIMESTAMP BY"),
    ("azure", "TUMBLINGWINDOW ("),
    ("azure", "HOPPINGWINDOW ("),
    ("azure", "SLIDINGWINDOW ("),
    ("azure", "SYSTEM . TIMESTAMP"),
    ("materialize", "MZ_NOW ("),
    ("materialize", "MZ_LOGICAL_TIMESTAMP ("),
    ("materialize", "ENVELOPE NONE"),
    ("materialize", "ENVELOPE UPSERT"),
    ("materialize", "ENVELOPE DEBEZIUM"),
    ("materialize", "FROM KAFKA CONNECTION"),
    ("risingwave", "EMIT ON WINDOW CLOSE"),
    ("risingwave", "CREATE SOURCE"),
    ("risingwave", "CREATE SINK"),
    ("feldera", "LATENESS INTERVAL"),
    ("feldera", "CREATE LOCAL VIEW"),
    *(("arroyo", f"{window} ( INTERVAL") for window in ("TUMBLE", "HOP", "SESSION")),
    ("arroyo", "EVENT_TIME_FIELD ="),
    ("timeplus", "DATE_DIFF_WITHIN ("),
    ("timeplus", "_TP_TIME"),
    *(("timeplus", f"CREATE {kind} STREAM") for kind in ("RANDOM", "MUTABLE", "CHANGELOG", "VERSIONED")),
    *(("timeplus", f"EMIT {when}") for when in ("PERIODIC", "AFTER WATERMARK", "ON UPDATE", "PER EVENT")),
    ("timeplus", "CREATE EXTERNAL STREAM"),
    ("timeplus", "EVENT_TIME_COLUMN ="),
    ("flink", "DESCRIPTOR ("),
    ("flink", "STATEMENT SET"),
    ("flink", "WATERMARK FOR"),
    ("flink", "TUMBLE_ROWTIME ("),
    ("flink", "WITH ( 'CONNECTOR ="),
)
# A length of time as a number with a letter, which is Timeplus'.
_SHORT_LENGTH = re.compile(r"\b(?:TUMBLE|HOP|SESSION)\s*\([^()']*,\s*\d+(?:US|MS|S|M|H|D|W)\b")
# A text without any of these has none of the signs.
_HINTS = (
    *(
        "EMIT",
        "KAFKA",
        "WINDOW",
        "TIMESTAMP",
        "MZ_",
        "ENVELOPE",
        "SOURCE",
        "SINK",
        "LATENESS",
        "LOCAL",
        "DATE_DIFF",
        "EVENT_TIME",
    ),
    *("HOP", "SESSION", "_TP_TIME", "STREAM"),
    *("EXTERNAL", "DESCRIPTOR", "STATEMENT", "WATERMARK", "TUMBLE", "CONNECTOR", ":="),
)


def language(dialect: str) -> Language:
    """The dialect of that name.

    Raises:
        QueryError: there is none.
    """
    named = LANGUAGES.get(str(dialect).strip().lower())
    if named is None:
        raise QueryError(
            f"the dialect is {dialect}", accepted=", ".join(LANGUAGES), fix=meant(str(dialect), LANGUAGES)
        )
    return named


def language_of(
    sql: str, dialect: str | None, metadata: Sequence[tuple[str, str]]
) -> tuple[Language, str | None]:
    """The dialect of a text, and the sign by which it was guessed: None where it is given, or there is none.

    Raises:
        QueryError: it is given, and is none.
    """
    given = dialect or dict(metadata).get("dialect")
    if given is not None:
        return language(given), None
    upper = sql.upper()
    if not any(hint in upper for hint in _HINTS):
        return SPARK, None
    words = _words(sql)
    for name, sign in _SIGNS:
        if _stands(sign.upper().split(), words):
            return _narrowed(name, words), sign
    if (short := _SHORT_LENGTH.search(upper)) is not None:
        return LANGUAGES["timeplus"], short[0].split(",")[-1].strip().lower()
    if any(word == ":=" for word in words):
        return LANGUAGES["sqrl"], ":="
    return SPARK, None


def _narrowed(name: str, words: list[str]) -> Language:
    """Of those that share WATERMARK FOR, the one that has what else the text says."""
    ours = (["APPEND", "ONLY"], ["CREATE", "MATERIALIZED", "VIEW"])
    if name == "flink" and any(_stands(sign, words) for sign in ours):
        name = "risingwave"
    if name == "flink" and ":=" in words:
        name = "sqrl"
    return LANGUAGES[name]


def _words(sql: str) -> list[str]:
    try:
        stream: list[Token] = SPARK.dialect.tokenize(sql)
    except TokenError:
        return []
    return list(_upper(stream))


def _upper(stream: Sequence[Token]) -> Iterator[str]:
    """The words of a text, of two in one token each; a text in quotes has one before it."""
    for token in stream:
        if token.token_type is TokenType.STRING:
            yield f"'{token.text.upper()}"
        else:
            yield from token.text.upper().split() or [""]


def _stands(sign: list[str], words: list[str]) -> bool:
    first, size = sign[0], len(sign)
    return any(word == first and words[i : i + size] == sign for i, word in enumerate(words))
