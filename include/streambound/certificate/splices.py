"""Edits written into the user's own text, so that its layout and comments stay as they are.

Places are found by the tokens of the text's dialect, never by searching the text. Of Spark SQL ``drafts``
compares the tree of the result with the edited tree, and prints the tree where they differ.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from sqlglot.tokenizer_core import Token, TokenType

from streambound.query.dialects.languages import SPARK, Language
from streambound.query.dialects.tokens import tokens

_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
_AFTER_GROUP = (
    TokenType.HAVING,
    TokenType.QUALIFY,
    TokenType.WINDOW,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.FETCH,
)
_KEEPING = {TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.SEMI, TokenType.ANTI}
_BEFORE_JOIN = {*_KEEPING, TokenType.OUTER, TokenType.INNER, TokenType.CROSS}
_AFTER_ON = {
    *_BEFORE_JOIN,
    TokenType.JOIN,
    TokenType.COMMA,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    *_AFTER_GROUP,
}
_BETWEEN_MEMBERS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)


@dataclass(frozen=True)
class Member:
    """The top-level tokens of one SELECT of a statement, in order; those in parentheses are left out."""

    text: str
    tokens: tuple[Token, ...]
    # The SELECT in parentheses that FROM begins with, if it does.
    source: Member | None = None

    def after(self, *kinds: TokenType) -> Token | None:
        """The first token of some kinds."""
        return next((token for token in self.tokens if token.token_type in kinds), None)

    def _end(self, *kinds: TokenType) -> int:
        """Where the text ends that stands before the first token of some kinds."""
        position = next((n for n, token in enumerate(self.tokens) if token.token_type in kinds), None)
        return self.tokens[-1 if position is None else position - 1].end + 1

    def key(self, added: str) -> list[Splice]:
        """Splices that add a key to GROUP BY."""
        end = self._end(*_AFTER_GROUP)
        first = self.after(TokenType.GROUP_BY) is None
        return [Splice(end, end, f" GROUP BY {added}" if first else f", {added}")]

    def clause(self, added: str, *before: TokenType) -> list[Splice]:
        """Splices that add a clause before the first token of some kinds."""
        end = self._end(*before)
        return [Splice(end, end, f" {added}")]

    def condition(self, added: str, clause: TokenType = TokenType.WHERE) -> list[Splice]:
        """Splices that add a condition to WHERE or ON; what is there is put into parentheses if it has OR."""
        where = self.after(clause)
        behind = (TokenType.GROUP_BY, *_AFTER_GROUP)
        end = self._end(*(behind if clause is TokenType.WHERE else (TokenType.WHERE, *behind)))
        wrapped = where is not None and any(
            token.token_type is TokenType.OR and where.start < token.start < end for token in self.tokens
        )
        line = self.text[: self.tokens[0].start].rsplit("\n", 1)[-1]
        indent = line if not line.strip() else ""
        several = "\n" in self.text[self.tokens[0].start : end]
        if where is None and clause is not TokenType.WHERE:
            return []
        if where is None:
            return [Splice(end, end, f"\n{indent}WHERE {added}" if several else f" WHERE {added}")]
        joined = f"\n{indent}  AND {added}" if several else f" AND {added}"
        if not wrapped:
            return [Splice(end, end, joined)]
        stated = self.text[where.end + 1 : end]
        start = end - len(stated.lstrip())
        return [Splice(start, start, "("), Splice(end, end, f"){joined}")]

    def joined(self, names: Container[str]) -> Member | None:
        """From ON the last join of one of these tables that keeps rows without a partner."""
        kinds = [token.token_type for token in self.tokens]
        made = None
        for start in (n for n, kind in enumerate(kinds) if kind is TokenType.JOIN):
            sides = takewhile(lambda kind: kind in _BEFORE_JOIN, reversed(kinds[:start]))
            end = next((n for n in range(start + 1, len(kinds)) if kinds[n] in _AFTER_ON), len(kinds))
            on = next((n for n in range(start, end) if kinds[n] is TokenType.ON), None)
            if on is None or not _KEEPING.intersection(sides):
                continue
            if any(token.text.lower() in names for token in self.tokens[start:on]):
                made = Member(self.text, self.tokens[on:end])
        return made

    def distinct(self, wanted: bool) -> list[Splice]:
        """Splices that add or remove DISTINCT."""
        select, there = self.after(TokenType.SELECT), self.after(TokenType.DISTINCT)
        if select is None:
            return []
        if wanted:
            return [Splice(select.end + 1, select.end + 1, " DISTINCT")]
        return [] if there is None else [Splice(select.end + 1, there.end + 1, "")]

    def extend(self, output: str) -> list[Splice]:
        """Splices that add an output after the others."""
        last = self.after(TokenType.FROM)
        before = [] if last is None else [t for t in self.tokens if t.end < last.start]
        return [Splice(before[-1].end + 1, before[-1].end + 1, f", {output}")] if before else []

    def drop(self, position: int) -> list[Splice]:
        """Splices that remove an output, or put the constant 1 for the only one."""
        first, last = self.after(TokenType.DISTINCT, TokenType.SELECT), self.after(TokenType.FROM)
        head = self.after(TokenType.DISTINCT) or first
        if head is None or last is None:
            return []
        commas = [t for t in self.tokens if t.token_type is TokenType.COMMA and t.end < last.start]
        before = [t for t in self.tokens if t.end < last.start]
        if not commas:
            return [Splice(head.end + 1, before[-1].end + 1, " 1")]
        if position == 0:
            return [Splice(head.end + 1, commas[0].end + 1, "")]
        end = commas[position].start if position < len(commas) else before[-1].end + 1
        return [Splice(commas[position - 1].start, end, "")]


@dataclass(frozen=True)
class Splice:
    """Characters ``start`` to ``end`` of a text are replaced by ``new``."""

    start: int
    end: int
    new: str


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with disjoint splices made."""
    for splice in sorted(splices, key=lambda s: s.start, reverse=True):
        text = text[: splice.start] + splice.new + text[splice.end :]
    return text


@lru_cache(maxsize=8)
def members(text: str, spoken: Language = SPARK) -> tuple[Member, ...]:
    """The SELECTs of a statement in order, one unless it is a union."""
    stream = tokens(text, spoken)
    if spoken is not SPARK:
        # EMIT CHANGES, EMIT ON WINDOW CLOSE: no clause of a SELECT.
        stream = list(takewhile(lambda token: token.text.upper() != "EMIT", stream))
    return _members(text, stream)


def _members(text: str, given: list[Token]) -> tuple[Member, ...]:
    lists: list[list[Token]] = [[]]
    sources: list[Member | None] = [None]
    depth = 0
    for number, token in enumerate(given):
        depth -= token.token_type is _CLOSE
        if depth < 0:
            break
        if token.token_type in _BETWEEN_MEMBERS and depth == 0:
            lists.append([])
            sources.append(None)
        elif (depth == 0 and token.token_type is not _OPEN) and token.token_type is not TokenType.SEMICOLON:
            lists[-1].append(token)
        if depth == 0 and token.token_type is _OPEN:
            before, after = given[number - 1 : number], given[number + 1 :]
            kinds = [item.token_type for item in (*before, *after[:1])]
            if kinds == [TokenType.FROM, TokenType.SELECT]:
                sources[-1] = _members(text, after)[0]
        depth += token.token_type is _OPEN
    if len(lists) > 1:
        # UNION ALL and UNION DISTINCT: the word belongs to the union.
        words = (TokenType.ALL, TokenType.DISTINCT)
        lists = [part[1:] if part and part[0].token_type in words else part for part in lists]
    return tuple(
        Member(text, tuple(part), source) for part, source in zip(lists, sources, strict=True) if part
    )


def within(text: str, name: str, spoken: Language = SPARK) -> Member | None:
    """The SELECT in parentheses, the last of several, that reads a relation of a name."""
    stream = tokens(text, spoken)
    made = None
    for number, (token, after) in enumerate(pairwise(stream)):
        if token.token_type is _OPEN and after.token_type is TokenType.SELECT:
            select = _members(text, stream[number + 1 :])[0]
            ends = (TokenType.WHERE, TokenType.GROUP_BY, *_AFTER_GROUP)
            start = select.after(TokenType.FROM)
            end = select.after(*ends)
            if start is not None and any(
                item.text.lower() == name
                and start.start < item.start
                and (end is None or item.start < end.start)
                for item in select.tokens
            ):
                made = select
    return made


def partition(text: str, added: str, spoken: Language = SPARK) -> list[Splice]:
    """Splices that add a key to the only PARTITION BY of a text."""
    stream = tokens(text, spoken)
    starts = [n for n, token in enumerate(stream) if token.token_type is TokenType.PARTITION_BY]
    if len(starts) != 1:
        return []
    depth = 0
    for last, token in pairwise(stream[starts[0] :]):
        ends = token.token_type in (_CLOSE, TokenType.ORDER_BY)
        if ends and depth == 0:
            return [Splice(last.end + 1, last.end + 1, f", {added}")]
        depth += (token.token_type is _OPEN) - (token.token_type is _CLOSE)
    return []
