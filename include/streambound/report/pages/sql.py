"""A query's SQL with its reasons marked where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from markupsafe import Markup

from streambound.errors import Location
from streambound.report.pages.markup import element, joined, text


class Finding(Protocol):
    """What points into a text: a reason of a verdict, or an error."""

    @property
    def code(self) -> str:
        """What kind of finding it is."""

    @property
    def message(self) -> str:
        """What was found."""

    @property
    def location(self) -> Location | None:
        """Where; None if it is about the whole text."""


# A reason as ``check --format json`` prints it and the results database holds it.
Recorded = Mapping[str, Any]

_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string>  '(?:[^'\\]|\\.|'')*+(?:'|\\?\Z) | "(?:[^"\\]|\\.|"")*+(?:"|\\?\Z) )
    | (?P<quoted>  `[^`]*+(?:`|\Z) )
    | (?P<word>    [^\W\d]\w*+ )
    """,
    re.DOTALL | re.VERBOSE,
)
_KEYWORDS = frozenset(
    {"ALL", "AND", "AS", "BETWEEN", "CROSS", "DISTINCT", "FALSE", "FROM", "IN", "INNER", "INTERVAL", "IS"}
    | {"JOIN", "NOT", "NULL", "ON", "OR", "SELECT", "TRUE", "UNION", "WHERE"}
    | {"GROUP", "BY", "HAVING", "ORDER", "LIMIT", "QUALIFY", "OVER", "PARTITION", "ROWS", "RANGE", "EXISTS"}
    | {
        "LEFT",
        "RIGHT",
        "FULL",
        "OUTER",
        "SEMI",
        "ANTI",
        "ASOF",
        "EXCEPT",
        "INTERSECT",
        "USING",
        "LIKE",
        "WITH",
    }
    | {"CASE", "WHEN", "THEN", "ELSE", "END", "DESC", "ASC", "INSERT", "INTO", "CREATE", "VIEW", "TABLE"}
)
# Keywords in front of a literal, else names that a column may have.
_TYPES = re.compile(r"(?:DATE|TIMESTAMP)(?=\s*['\"])", re.IGNORECASE)
_NAME = r"(?:\w++|`[^`]*+`)(?:\.(?:\w++|`[^`]*+`))?+"
# What a recorded place, which has no length, points to: a name, and a comparison that starts with it.
_POINTED = re.compile(rf"{_NAME}(?:\s*+(?:[<>=!]=?|<>)\s*+(?:{_NAME}|'[^']*+'))?+")


@dataclass(frozen=True)
class _Mark:
    """Some characters of a text, [start, end), and what is said of them."""

    start: int
    end: int
    code: str
    message: str


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    kind: str


def sql_markup(sql: str, reasons: Iterable[Finding | Recorded]) -> str:
    """The text of a query as ``<pre class="sql">``, each reason's place in ``<mark class="reason">``.

    The title of a mark is the message of its reason, or of all reasons where places overlap; its
    ``data-code`` their codes. A place that is not in the text marks nothing.

    Args:
        reasons: of a verdict, as objects or as JSON; an error with a place is marked like one.
    """
    tokens = list(_tokens(sql))
    pieces = [_piece(sql, tokens, *group) for group in _groups(len(sql), list(_marks(sql, reasons)))]
    return element("pre", {"class": "sql"}, element("code", None, joined(pieces)))


def _marks(sql: str, reasons: Iterable[Finding | Recorded]) -> Iterator[_Mark]:
    starts = [0, *(match.end() for match in re.finditer("\n", sql))]
    for reason in reasons:
        code, message, line, column, length = _reason_parts(reason)
        if not 1 <= line <= len(starts):
            continue
        start = starts[line - 1] + column - 1
        # A place that is past the end of its line is on no line.
        if column < 1 or start >= (starts[line] - 1 if line < len(starts) else len(sql)):
            continue
        if length is None:
            pointed = _POINTED.match(sql, start)
            length = len(pointed[0]) if pointed else 1
        yield _Mark(start, min(start + max(1, length), len(sql)), code, message)


def _reason_parts(reason: Finding | Recorded) -> tuple[str, str, int, int, int | None]:
    """Code, message, line, column, and the length where it is known; line 0 if there is no place."""
    if not isinstance(reason, Mapping):
        location = reason.location
        at = (0, 0, None) if location is None else (location.line, location.column, location.length)
        return reason.code, reason.message, *at
    where = reason.get("where")
    numbers = where if isinstance(where, Mapping) else {}
    line, column, length = (_number(numbers.get(key)) for key in ("line", "column", "length"))
    return str(reason.get("code", "")), str(reason.get("message", "")), line or 0, column or 0, length


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _groups(length: int, marks: list[_Mark]) -> Iterator[tuple[int, int, list[_Mark]]]:
    """The text cut where marks begin and end, with the marks that cover each piece."""
    cuts = sorted({0, length, *(m.start for m in marks), *(m.end for m in marks)})
    for start, end in pairwise(cuts):
        yield start, end, [m for m in marks if m.start <= start and end <= m.end]


def _piece(sql: str, tokens: list[_Token], start: int, end: int, marks: list[_Mark]) -> Markup:
    inner = _coloured(sql, tokens, start, end)
    if not marks:
        return inner
    said, reason_codes = (
        list(dict.fromkeys(of)) for of in ([m.message for m in marks], [m.code for m in marks])
    )
    return element(
        "mark", {"class": "reason", "title": "; ".join(said), "data-code": " ".join(reason_codes)}, inner
    )


def _coloured(sql: str, tokens: list[_Token], start: int, end: int) -> Markup:
    pieces, position = list[Markup](), start
    for token in tokens:
        low, high = max(token.start, start), min(token.end, end)
        if low < high:
            pieces += [
                _escaped_part(sql, position, low),
                element("span", {"class": f"sql-{token.kind}"}, _escaped_part(sql, low, high)),
            ]
            position = high
    return joined([*pieces, _escaped_part(sql, position, end)])


def _escaped_part(sql: str, start: int, end: int) -> Markup:
    """A piece of the text; a line end of two characters is one, wherever the piece ends."""
    if sql[end - 1 : end + 1] == "\r\n":
        end -= 1
    return text(sql[start:end].replace("\r\n", "\n"))


def _tokens(sql: str) -> Iterator[_Token]:
    """Keywords, strings and comments."""
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or ""
        if kind in ("comment", "string"):
            yield _Token(match.start(), match.end(), kind)
        elif kind == "word" and (match[0].upper() in _KEYWORDS or _TYPES.match(sql, match.start())):
            yield _Token(match.start(), match.end(), "keyword")
