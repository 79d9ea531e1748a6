"""ORDER BY of a whole query without LIMIT: it changes no answer, but some engines refuse it."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from streambound.engines.model import Fact, Operator, OperatorKind
from streambound.query.dialects.guess import language
from streambound.query.dialects.tokens import token_location, tokens
from streambound.query.statement import Statement

_OPEN = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def sorting(statement: Statement, sql: str, span: tuple[int, int], dialect: str) -> Operator | None:
    """The operator that sorts the answers of a query; None if there is none.

    Args:
        sql: the whole text.
        span: where the query's statement stands in it.
        dialect: that of the text.
    """
    depth, sorting_tokens = 0, list[Token]()
    for token in tokens(sql, language(dialect)):
        depth += _OPEN.get(token.token_type, 0)
        if depth == 0 and span[0] <= token.start < span[1]:
            sorting_tokens.append(token)
    kinds = [token.token_type for token in sorting_tokens]
    if TokenType.ORDER_BY not in kinds or {TokenType.LIMIT, TokenType.FETCH} & set(kinds):
        return None
    at = kinds.index(TokenType.ORDER_BY)
    by = sorting_tokens[at + 1 :]
    # A comma, or DESC, ends what is ascending.
    first = [
        item.text.lower() for item in by[: next((n for n, t in enumerate(by) if t.text == ","), len(by))]
    ]
    stamps = {
        relation.timestamp.lower() for relation in statement.scanned if relation.timestamp is not None
    } | {"window_time"}
    ascending = bool(stamps & set(first)) and "desc" not in first
    text = " ".join(token.text for token in by if token.text != ";")
    facts = frozenset({Fact.TIME_ORDER} if ascending else ())
    return Operator(OperatorKind.SORT, text, (), facts, token_location(sql, sorting_tokens[at]))
