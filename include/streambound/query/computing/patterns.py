"""Regular expressions, as far as they mean the same to all engines."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from streambound.query.computing.typed import (
    BOOLEAN,
    STRING,
    Columns,
    Rules,
    Translation,
    Typed,
    call,
    case_when,
    is_count,
    numeral,
)

# Patterns that mean the same to all engines: no end of a line, no class within a class, no look around, no
# reference, and no repetition that gives nothing back.
_CLASS = r"\[\^?(?:(?!&&)[^\]\[\\^]|\\[.^$|?*+()\[\]{}/\\-])+\]"

_PIECE = re.compile(rf"{_CLASS}|\\.|.", re.DOTALL)

_REPEATED = r"(?:[*+?]\??|\{[0-9]{1,2}(?:,[0-9]{0,2})?\}\??)?(?![*+?])"

_ALIKE = re.compile(
    rf"(?:(?:{_CLASS}|\\[dw.^$|?*+()\[\]{{}}/\\-]|[^\\\[\]{{}}()|*+?$^]){_REPEATED}"
    r"|\((?:\?:)?(?![?*+{])|\)\??(?![*+?{])|\||\^)*"
)

_NO_LINE_END = r"[^\n\r\x{85}\x{2028}\x{2029}]"


def _pattern(text: str) -> str | None:
    """A regular expression that all engines read alike, any character not being the end of a line.

    >>> _pattern("^([a-z]+)/[0-9]{2}")
    '^([a-z]+)/[0-9]{2}'
    >>> _pattern("a$") is None
    True
    """
    if not _ALIKE.fullmatch(text):
        return None
    try:
        re.compile(text)
    except re.error:
        return None
    parts = _PIECE.findall(text)
    return "".join(_NO_LINE_END if part == "." else part for part in parts)


def always_matched(text: str, group: int) -> bool:
    """Whether a group of a pattern (see ``_pattern``) has a match of its own wherever the pattern has one.

    >>> always_matched("(&|^)c=([^&]*)", 2), always_matched("(a)|b", 1), always_matched("((a)b)?c", 2)
    (True, False, False)
    """
    pieces = _PIECE.findall(text)
    # Of each parenthesis that is open: its groups so far, those of other branches, and its own number.
    open_groups: list[tuple[int, set[int]]] = [(0, set())]
    missing, number, branches = set[int](), 0, {0: False}
    for position, piece in enumerate(pieces):
        if piece == "(":
            captures = "".join(pieces[position + 1 : position + 3]) != "?:"
            number += captures
            open_groups.append((number if captures else -position - 1, set()))
            branches[open_groups[-1][0]] = False
        elif piece == "|":
            branches[open_groups[-1][0]] = True
        elif piece == ")":
            own, inner = open_groups.pop()
            if branches[own]:
                missing |= inner
            outer = open_groups[-1][1]
            outer |= inner | ({own} if own > 0 else set())
            if pieces[position + 1 : position + 2] == ["?"]:
                missing |= inner | {own}
    if branches[0]:
        missing |= open_groups[0][1]
    return group not in missing


def _given_pattern(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Literal) or not node.is_string:
        return None
    pattern = _pattern(node.name)
    return None if pattern is None else exp.Literal.string(pattern)


def _extracted(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """A group of the first match of a pattern, or an empty string."""
    value, given, group = of(node.this), node.expression, node.args.get("group")
    if any(node.args.get(part) for part in ("position", "occurrence", "parameters")) or value.type != STRING:
        return None
    if group is None or not is_count(group) or not (isinstance(given, exp.Literal) and given.is_string):
        return None
    pattern = _pattern(given.name)
    if pattern is None or int(group.name) > min(pattern.count("("), 9):
        return None
    return Typed(call("REGEXP_EXTRACT", value.node, exp.Literal.string(pattern), numeral(group.name)), STRING)


def _matched(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """Whether a pattern is found anywhere."""
    value, pattern = of(node.this), _given_pattern(node.expression)
    if value.type != STRING or pattern is None or node.args.get("flag") or node.args.get("full_match"):
        return None
    return Typed(call("REGEXP_MATCHES", value.node, pattern), BOOLEAN)


def _replaced_matches(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """All matches of a pattern in place of which a text stands."""
    value, pattern, by = of(node.this), _given_pattern(node.expression), node.args.get("replacement")
    if any(node.args.get(part) for part in ("position", "occurrence", "modifiers")) or value.type != STRING:
        return None
    if pattern is None or not (isinstance(by, exp.Literal) and by.is_string):
        return None
    # Engines differ in matches of nothing, and in what stands for a group.
    if re.search(node.expression.name, "") or any(sign in by.name for sign in "\\$"):
        return None
    text = exp.Literal.string(by.name)
    return Typed(call("REGEXP_REPLACE", value.node, pattern, text, exp.Literal.string("g")), STRING)


# Letters that are one character of some engines and two of others.
_BEYOND_16_BITS = "[\\x{10000}-\\x{10FFFF}]"
# Every character by its kind, what is neither letter nor digit first: a sign that is put in is of one again.
_KINDS = (3, "[^\\p{Lu}\\p{Ll}\\p{Nd}]"), (1, "\\p{Ll}"), (0, "\\p{Lu}"), (2, "\\p{Nd}")
_MASKS = ("X", "x", "n", "-")


def masked(node: exp.Expr, of: Translation) -> Typed | None:
    """``MASK(text, 'X', 'x', 'n', '-')``: capitals, small letters, digits and others, each as one sign."""
    value, *signs = node.expressions
    inner = of(value)
    if inner.type != STRING or tuple(sign.name for sign in signs) != _MASKS:
        return None
    made = inner.node
    for number, kind in _KINDS:
        made = call("REGEXP_REPLACE", made, *map(exp.Literal.string, (kind, _MASKS[number], "g")))
    beyond = call("REGEXP_MATCHES", inner.node, exp.Literal.string(_BEYOND_16_BITS))
    refused = call("ERROR", exp.Literal.string("a character beyond U+FFFF is masked in two ways"))
    return Typed(case_when(beyond, refused, made), STRING)


RULES: Rules = (
    (exp.RegexpExtract, _extracted),
    (exp.RegexpLike, _matched),
    (exp.RegexpReplace, _replaced_matches),
)
