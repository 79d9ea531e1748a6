"""MATCH_RECOGNIZE as a window function: whether a row ends a match depends on the rows before it.

A pattern of two rows or more needs for each key whether its first rows have come: with WITHIN the rows of
that time, without it for ever. What its conditions are is not asked: it is taken that rows can meet them.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token

from streambound.query.dialects.grammar import PATTERN, span_of
from streambound.query.differences import microseconds

NAME = "MATCH_RECOGNIZE"
_CLAUSES = (
    *("PARTITION BY", "PARTITION", "ORDER BY", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN"),
    *("WITHIN", "DEFINE", "SUBSET"),
)


def as_window(match: exp.MatchRecognize, table: exp.Expr) -> exp.Subquery | None:
    """The rows of a table with what MATCH_RECOGNIZE measures; None of a pattern that is not decided."""
    clauses = _clauses(match.meta.get(PATTERN) or [])
    keys, order = (_names(clauses.get(word, [])) for word in ("PARTITION BY", "ORDER BY"))
    if not keys or not order or _least([token.text for token in clauses.get("PATTERN", [])]) < 2:
        return None
    within = _length(clauses.get("WITHIN", []))
    if "WITHIN" in clauses and within is None:
        return None
    measures = _measured(clauses.get("MEASURES", []))
    span = span_of(match)

    def window() -> exp.Window:
        made = exp.Window(
            this=exp.Anonymous(this=NAME),
            partition_by=[exp.column(key.copy()) for key in keys],
            order=exp.Order(expressions=[exp.Ordered(this=exp.column(order[0].copy()))]),
        )
        if within is not None:
            length = exp.Interval(this=exp.Literal.string(str(within)), unit=exp.var("MICROSECOND"))
            edges = {"start": length, "start_side": "PRECEDING", "end": "CURRENT ROW"}
            made.set("spec", exp.WindowSpec(kind="RANGE", **edges))
        if span is not None:
            made.meta["span"] = made.this.meta["span"] = span
        return made

    every = "ALL" in clauses
    shown: list[exp.Expr] = [exp.Star()] if every else [exp.column(key.copy()) for key in keys]
    shown += [
        exp.Alias(this=window(), alias=name.copy()) for name in measures or [exp.to_identifier("_match")]
    ]
    inner = exp.Select(expressions=shown, from_=exp.From(this=table.copy()))
    alias = match.args.get("alias") or exp.TableAlias(this=exp.to_identifier("_matches"))
    made = exp.Subquery(this=inner, alias=alias.copy())
    if span is not None:
        inner.meta["span"] = made.meta["span"] = span
    return made


def _clauses(tokens: list[Token]) -> dict[str, list[Token]]:
    """The words of each clause, by its first word."""
    clauses: dict[str, list[Token]] = {}
    here, depth = "", 0
    for token in tokens[1:-1]:
        word = token.text.upper()
        depth += (word in "([{") - (word in ")]}") if len(word) == 1 else 0
        if not depth and word in _CLAUSES:
            here = {"PARTITION": "PARTITION BY", "ORDER": "ORDER BY"}.get(word, word)
            clauses[here] = []
        elif word != "BY":
            clauses.setdefault(here, []).append(token)
    return clauses


def _names(tokens: list[Token]) -> list[exp.Identifier]:
    """A list of plain names; none of anything else."""
    made = []
    words = [token for token in tokens if token.text.upper() not in ("ASC", "DESC")]
    for number, token in enumerate(words):
        if number % 2:
            if token.text != ",":
                return []
            continue
        name = exp.to_identifier(token.text, quoted=True)
        name.meta.update(start=token.start, end=token.end)
        made.append(name)
    return made


def _measured(tokens: list[Token]) -> list[exp.Identifier]:
    """The names that measures are given."""
    pairs = pairwise(tokens)
    return [exp.to_identifier(after.text, quoted=True) for word, after in pairs if word.text.upper() == "AS"]


def _length(tokens: list[Token]) -> int | None:
    """INTERVAL '1' HOUR in microseconds."""
    words = [token.text for token in tokens if token.text.upper() != "INTERVAL"]
    if len(words) != 2:
        return None
    return microseconds(exp.Interval(this=exp.Literal.string(words[0]), unit=exp.var(words[1].upper())))


def _least(words: list[str]) -> int:
    """How many rows a pattern has at least."""
    signs = [sign for word in words for sign in (word if not word[:1].isalnum() else [word])]
    least, _ = _branches(signs, 0)
    return least


def _branches(signs: list[str], at: int) -> tuple[int, int]:
    """The least of the alternatives from a place on, and where they end."""
    least: list[int] = []
    count = 0
    while at < len(signs) and signs[at] != ")":
        if signs[at] == "|":
            least.append(count)
            count, at = 0, at + 1
            continue
        number, at = (1, at + 1) if signs[at] != "(" else _branches(signs, at + 1)
        times, at = _times(signs, at)
        count += number * times
    return min([*least, count]), at + 1


def _times(signs: list[str], at: int) -> tuple[int, int]:
    """How often at least what stands before a place comes, and where that is said to its end."""
    if at < len(signs) and signs[at] in "*?+":
        least = int(signs[at] == "+")
        at += 1
    elif at < len(signs) and signs[at] == "{":
        end = signs.index("}", at) if "}" in signs[at:] else len(signs)
        first = signs[at + 1] if at + 1 < end else "0"
        least, at = int(first) if first.isdigit() else 0, end + 1
    else:
        return 1, at
    # A reluctant quantifier.
    return least, at + 1 if at < len(signs) and signs[at] == "?" else at
