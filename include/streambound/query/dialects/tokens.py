"""SQL text to tokens and trees: of Spark 4, and tokens of every other dialect.

Strings are in single quotes. Two that touch are one, with the quote that was doubled (``'it''s'``); others in
a row are one as well (``'a' 'b'`` is ``'ab'``). Double quotes are a string in Spark, and a name in the
standard and most other engines: they are refused, for whichever was meant, the answer to the other would look
right.
"""

from __future__ import annotations

import re
import sys

from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import Location, QueryError, UnsupportedError
from streambound.query.dialects.languages import FRAMES, SPARK, Language, quiet

_SPARK = Dialect.get_or_raise("spark")
_MISSING = re.compile(r"Missing (.) from \d+:(\d+)")
_DIGITS = re.compile(r"Numeric string contains invalid characters from \d+:(\d+)")
# What a literal in quotes begins with: r'...' and the like have a letter.
_QUOTED = re.compile(r"""[A-Za-z]{0,2}['"]""")
_OPEN_COMMENT = "/*"


def tokens(sql: str, language: Language = SPARK) -> list[Token]:
    """The tokens of a text.

    Raises:
        QueryError: a string, a quoted name or a comment has no end.
        UnsupportedError: a text in double quotes.
    """
    try:
        stream = language.dialect.tokenize(sql)
    except TokenError as error:
        raise _endless(sql, error) from None
    _name_windows(stream)
    if language.name == "ksql":
        # At the end of a line its prompt reads on.
        stream = [
            token for token in stream if token.text != "\\" or sql[token.end + 1 :].strip(" ")[:1] != "\n"
        ]
    if language is not SPARK:
        for token in stream:
            if token.token_type is TokenType.STRING and sql[token.end] == '"':
                raise _double_quoted(sql, token)
        return stream
    joined: list[Token] = []
    for token in stream:
        if is_text(sql, token) and sql[token.end] == '"':
            raise _double_quoted(sql, token)
        last = joined[-1] if joined else None
        if last is not None and last.token_type is token.token_type is TokenType.STRING:
            quote = "'" if last.end + 1 == token.start else ""
            text = f"{last.text}{quote}{token.text}"
            joined[-1] = Token(TokenType.STRING, text, token.line, token.col, last.start, token.end)
        else:
            joined.append(token)
    return joined


def _name_windows(stream: list[Token]) -> None:
    """The word WINDOW as a name where no clause of that name begins: Arroyo's windows are called so."""
    for number, token in enumerate(stream):
        if token.token_type is not TokenType.WINDOW:
            continue
        after = [following.text.upper() for following in stream[number + 1 : number + 3]]
        clause = after[:1] in (["TUMBLING"], ["HOPPING"], ["SESSION"]) or after[1:] == ["AS"]
        if not clause and after[:1] != ["("]:
            token.token_type = TokenType.VAR


def trees(sql: str) -> list[exp.Expr]:
    """The statements of a text, nested to the limit.

    Raises:
        QueryError: as ``tokens``.
        sqlglot.errors.ParseError: the syntax is bad.
    """
    # Never lowered again: another thread may be within a text.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
    with quiet():
        parsed = _SPARK.parser().parse(tokens(sql), sql)
    return [tree for tree in parsed if tree is not None]


def is_text(sql: str, token: Token) -> bool:
    """Whether a token is a literal in quotes."""
    if token.token_type is TokenType.IDENTIFIER:
        return False
    return sql[token.end] in "'\"" and _QUOTED.match(sql, token.start) is not None


def token_location(sql: str, first: Token, last: Token | None = None) -> Location:
    """Where a token stands, or some in a row; of those on several lines the first line."""
    return location_at(sql, first.start, (last or first).end + 1)


def location_at(sql: str, start: int, end: int) -> Location:
    """Where the characters from ``start`` to ``end`` stand."""
    line_end = sql.find("\n", start)
    end = min(end, line_end if line_end >= 0 else len(sql))
    return Location(sql.count("\n", 0, start) + 1, start - sql.rfind("\n", 0, start), max(1, end - start))


def first_location(sql: str) -> Location | None:
    """Where a text begins but for comments; None if there is nothing, or it is in another dialect."""
    try:
        stream = tokens(sql)
    except QueryError:
        return None
    return token_location(sql, stream[0]) if stream else None


def code(sql: str) -> str:
    """The text with blanks for comments, literals and quoted names: a keyword in them is not one."""
    kept = [" "] * len(sql)
    try:
        stream = tokens(sql)
    except QueryError:
        # Another dialect: what is looked for is looked for in all of it.
        return sql
    for token in stream:
        if not is_text(sql, token) and token.token_type is not TokenType.IDENTIFIER:
            kept[token.start : token.end + 1] = sql[token.start : token.end + 1]
    return "".join(kept)


def _endless(sql: str, error: TokenError) -> QueryError:
    """What the tokenizer says of a text is the surroundings; where it began is in its cause."""
    cause = str(error.__cause__)
    if digits := _DIGITS.match(cause):
        start = int(digits[1])
        return QueryError(
            "syntax error: these are no hexadecimal digits",
            location=location_at(sql, start, sql.find("'", start + 2) + 1),
            accepted="0 to 9 and A to F",
        )
    match = _MISSING.match(cause)
    if match is None:
        start = max(sql.rfind(_OPEN_COMMENT), 0)
        if sql.startswith(_OPEN_COMMENT, start):
            return QueryError(
                "syntax error: the comment that begins here has no end",
                location=location_at(sql, start, start + len(_OPEN_COMMENT)),
                fix="close it with */",
            )
        return QueryError("syntax error: the text has a literal that cannot be read", location=Location(1, 1))
    quote = match[1]
    # A backslash as the last character is told by its own position, not by that of the quote.
    start = min(int(match[2]), len(sql) - 1)
    start = start if sql[start] == quote else max(sql.rfind(quote, 0, start), 0)
    what = "name" if quote == "`" else "string"
    return QueryError(
        f"syntax error: the {what} that begins here has no end",
        location=location_at(sql, start, len(sql)),
        fix=f"close it with {quote}, or remove the quote",
    )


def _double_quoted(sql: str, token: Token) -> UnsupportedError:
    written = sql[token.start : token.end + 1]
    # As it is written, but for what the other quotes need; escapes stay.
    inner = written[written.index('"') + 1 : -1].replace('\\"', '"')
    name, text = inner.replace("`", "``"), inner.replace("'", "''")
    return UnsupportedError(
        f"{written} is in double quotes, which Spark SQL reads as a string and other engines as a name",
        location=token_location(sql, token),
        accepted="names plain or in backticks, strings in single quotes",
        fix=f"write `{name}` for the name, or '{text}' for the string",
    )
