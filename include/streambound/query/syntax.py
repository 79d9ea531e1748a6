"""What is wrong with a text that does not parse: the word that was not understood, and what it was meant as.

A parser stops where it can go no further, which is often some words after the mistake (``SELEC A FROM S``
stops at FROM). So words that are like a keyword are replaced by it, one at a time: where the parser then gets
further, that word was the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import Location, QueryError, alike
from streambound.query.catalog import Catalog
from streambound.query.dialects.grammar import NoPath
from streambound.query.dialects.languages import MAX_NESTING, SPARK, Language, statements
from streambound.query.dialects.tokens import is_text, location_at, token_location, tokens

ACCEPTED = "SELECT [DISTINCT] ... FROM ... [WHERE ...]"
_FIX = "complete or remove what stands at this place"
# What statements are made of: the words of queries, and those of clauses that are refused by name.
KEYWORDS = (
    *("ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "CROSS", "DATE", "DAY", "DAYS", "DISTINCT", "ELSE", "END"),
    *("EXCEPT", "EXISTS", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "HOUR", "HOURS", "IN", "INNER"),
    *(
        "INTERSECT",
        "INTERVAL",
        "IS",
        "JOIN",
        "LEFT",
        "LIKE",
        "LIMIT",
        "MINUTE",
        "MINUTES",
        "NOT",
        "NULL",
        "ON",
    ),
    *("OR", "ORDER", "OUTER", "RIGHT", "SECOND", "SECONDS", "SELECT", "THEN", "TIMESTAMP", "TRUE", "UNION"),
    *("USING", "WHEN", "WHERE", "WITH"),
)
OPERATORS = ("<", "<=", "=", "<>", "!=", ">=", ">")
_SIGNS = "<>=!&|^~:"
# How like a keyword a word must be to be tried in its place; the parser has the last word.
_LIKENESS = 0.5
# How many words before the place where the parser stopped are tried, and how many keywords for each.
_WORDS, _KEYWORDS = 8, 8
# How many characters are parsed again at most, and how often at least, whatever their number.
_WORK, _TRIES = 200_000, 3

_COMPARISONS = {TokenType.LT, TokenType.LTE, TokenType.EQ, TokenType.NEQ, TokenType.GTE, TokenType.GT}
# After these something must come that can begin an operand or a condition.
_WANTING = _COMPARISONS | {
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHERE, TokenType.ON, TokenType.BETWEEN),
    *(TokenType.IN, TokenType.IS, TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.DOT),
}
# These begin neither.
_ENDING = _COMPARISONS | {
    *(TokenType.AND, TokenType.OR, TokenType.WHERE, TokenType.ON, TokenType.FROM, TokenType.JOIN),
    *(
        TokenType.COMMA,
        TokenType.R_PAREN,
        TokenType.UNION,
        TokenType.SEMICOLON,
        TokenType.BETWEEN,
        TokenType.IN,
    ),
    *(TokenType.IS, TokenType.DOT),
}
# What ``,`` cannot follow, and what cannot follow ``.`` although the parser would take it for a name.
_BEFORE_ITEMS = {TokenType.SELECT, TokenType.DISTINCT, TokenType.L_PAREN, TokenType.FROM}
# What a name or a list must follow.
_NAMING = {TokenType.ALIAS, TokenType.IN}
_LITERAL = {TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE}


# There a comma may stand before FROM, and a number after a dot.
_LENIENT = ("duckdb", "timeplus")


def refuse_nesting(sql: str, stream: Sequence[Token]) -> None:
    """Refuse parentheses deeper than the parser goes.

    Raises:
        QueryError: with the place of the first that is too deep.
    """
    depth = 0
    for token in stream:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth > MAX_NESTING:
            raise QueryError(
                "the conditions are nested too deeply",
                location=location_at(sql, token.start, token.end + 1),
                accepted=f"{MAX_NESTING} parentheses within each other",
                fix="flatten them",
            )


def refuse_gaps(sql: str, stream: Sequence[Token], language: Language = SPARK) -> None:
    """Refuse what the parser passes over in silence: nothing beside a comma, or after a dot.

    Raises:
        QueryError: naming what stands on both sides.
    """
    if language.name in _LENIENT or (stream and stream[0].text.upper() == "CREATE"):
        return
    for before, token, after in _windows(stream):
        if token.token_type is TokenType.COMMA:
            if after is None or after.token_type in _ENDING:
                raise _gap(sql, token, after, "the comma")
            if before is not None and before.token_type in _BEFORE_ITEMS:
                raise QueryError(
                    f"syntax error: nothing stands between {_word(sql, before)} and the comma",
                    location=token_location(sql, token),
                    fix=_FIX,
                )
        if token.token_type is TokenType.DOT and (after is None or after.token_type in _ENDING | _LITERAL):
            raise _gap(sql, token, after, "the dot")
        if token.token_type in _NAMING and (after is None or after.token_type in _ENDING):
            raise _gap(sql, token, after, _word(sql, token))


def _gap(sql: str, token: Token, after: Token | None, what: str) -> QueryError:
    there = "the end" if after is None else _word(sql, after)
    return QueryError(
        f"syntax error: nothing stands between {what} and {there}",
        location=token_location(sql, token),
        fix=_FIX,
    )


def _windows(stream: Sequence[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    return zip((None, *stream), stream, (*stream[1:], None), strict=False)


def syntax_error(
    sql: str, stream: Sequence[Token], error: ParseError, catalog: Catalog, language: Language = SPARK
) -> QueryError:
    """The error of a text with these tokens, which the parser refused."""
    at = _stopped(stream, error)
    if isinstance(error, NoPath):
        return QueryError(
            f"'{error.text}' is no path in a JSON text, and get_json_object gives NULL for it",
            location=token_location(sql, stream[at]),
            accepted="paths such as $.a.b[0]",
            fix=None if error.text.startswith(("$", ".")) or not error.text else f"write '$.{error.text}'",
        )
    return (
        _misspelt(sql, stream, at, catalog, language)
        or _incomplete(sql, stream, at, language)
        or QueryError(
            f"syntax error: {_word(sql, stream[at])} is not understood here",
            location=token_location(sql, stream[at]),
            accepted=ACCEPTED,
            fix=_FIX,
        )
    )


def _stopped(stream: Sequence[Token], error: ParseError) -> int:
    """The token where the parser stopped; the last one if it told none."""
    report = (error.errors or [{}])[0]
    where = report.get("line"), report.get("col")
    return next((i for i, token in enumerate(stream) if (token.line, token.col) == where), len(stream) - 1)


def _misspelt(
    sql: str, stream: Sequence[Token], at: int, catalog: Catalog, language: Language
) -> QueryError | None:
    """The error of the word without which the parser gets furthest, if there is one."""
    # Counted from the end, for a word in place of another may be longer.
    best, furthest = None, len(sql) - stream[at].start
    tries = max(_TRIES, _WORK // len(sql))
    for first, last, instead in islice(_suspects(sql, stream, at, catalog), tries):
        left = _left(sql[: first.start] + instead + sql[last.end + 1 :], language)
        if left < furthest:
            best, furthest = (first, last, instead), left
    if best is None:
        return None
    first, last, instead = best
    return not_understood(sql[first.start : last.end + 1], token_location(sql, first, last), instead)


def not_understood(word: str, location: Location, instead: str) -> QueryError:
    """The error of a word that is no keyword, but like one."""
    return QueryError(
        f"syntax error: {word} is not understood here",
        location=location,
        accepted=ACCEPTED,
        fix=f"did you mean {instead}?",
    )


def _suspects(
    sql: str, stream: Sequence[Token], at: int, catalog: Catalog
) -> Iterator[tuple[Token, Token, str]]:
    """Words and signs near where the parser stopped that are none but like one, with that; nearest first."""
    names = {name.casefold() for r in catalog.relations for name in (r.name, *(c.name for c in r.columns))}
    words = [
        token
        for token in stream[: at + 2]
        if len(token.text) > 1 and token.text.isalpha() and not is_text(sql, token)
        if token.text.upper() not in KEYWORDS and token.text.casefold() not in names
        if sql[token.start] != "`"
    ]
    # A text seldom begins with anything but SELECT, however far from where the parser stopped.
    for token in [*reversed(words[-_WORDS:]), *words[:1]]:
        like = alike(token.text, KEYWORDS, _LIKENESS, most=_KEYWORDS)
        # A word that a keyword begins with is cut short; else the keyword of its length is meant.
        cut = token.text.upper()
        for keyword in sorted(like, key=lambda word: (not word.startswith(cut), abs(len(word) - len(cut)))):
            yield token, token, keyword
    # The parser takes one sign of two that are exchanged, and stops at what comes after.
    for i in range(at, max(-1, at - 3), -1):
        first = last = i
        while first > 0 and _touch(sql, stream, first - 1):
            first -= 1
        while last + 1 < len(stream) and _touch(sql, stream, last):
            last += 1
        signs = sql[stream[first].start : stream[last].end + 1]
        if set(signs) <= set(_SIGNS) and signs not in OPERATORS:
            exchanged = [operator for operator in OPERATORS if sorted(operator) == sorted(signs)]
            for operator in exchanged or alike(signs, OPERATORS, _LIKENESS):
                yield stream[first], stream[last], operator


def _touch(sql: str, stream: Sequence[Token], at: int) -> bool:
    """Whether a token and the next one are signs without a blank between."""
    left, right = stream[at], stream[at + 1]
    both = sql[left.start : right.end + 1]
    return left.end + 1 == right.start and set(both) <= set(_SIGNS)


def _left(sql: str, language: Language) -> int:
    """How many characters are left where the parser stops; -1 if it reads all."""
    try:
        stream = tokens(sql, language)
    except QueryError:
        return len(sql)
    refused = (
        parse_error
        for parse_error in statements(stream, sql, language)
        if isinstance(parse_error, ParseError)
    )
    error = next(refused, None)
    return -1 if error is None else len(sql) - stream[_stopped(stream, error)].start


def _incomplete(sql: str, stream: Sequence[Token], at: int, language: Language) -> QueryError | None:
    """The error of a text in which something is missing."""
    opened: list[Token] = []
    for token in stream:
        if token.token_type is TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type is TokenType.R_PAREN:
            if not opened:
                return QueryError(
                    "syntax error: this ) closes nothing",
                    location=token_location(sql, token),
                    fix="remove it, or open it with (",
                )
            opened.pop()
    for _, token, after in _windows(stream):
        unary = token.token_type in (TokenType.IN, TokenType.IS)
        if token.token_type in _WANTING and (
            after is None
            or (after.token_type in _ENDING and not (unary and after.token_type is TokenType.IN))
        ):
            there = "the end" if after is None else _word(sql, after)
            kind = {TokenType.FROM: "a stream", TokenType.JOIN: "a stream"}.get(
                token.token_type, "an operand or a condition"
            )
            return QueryError(
                f"syntax error: {kind} is missing between {_word(sql, token)} and {there}",
                location=token_location(sql, token),
                accepted=ACCEPTED,
                fix=_FIX,
            )
    if opened:
        return QueryError(
            "syntax error: the parenthesis that opens here is not closed",
            location=token_location(sql, opened[-1]),
            fix="close it with )",
        )
    if at == len(stream) - 1 and _left(f"{sql} {_MARK}", language) <= len(_MARK):
        return QueryError(
            f"syntax error: the statement ends too early, after {_word(sql, stream[at])}",
            location=token_location(sql, stream[at]),
            accepted=ACCEPTED,
            fix="complete it",
        )
    return None


# A name that is put after a text: a parser that stops there, or nowhere, wanted more than there was.
_MARK = "streambound"


def _word(sql: str, token: Token) -> str:
    word = sql[token.start : token.end + 1]
    return word if len(word) <= 40 else f"{word[:37]}..."
