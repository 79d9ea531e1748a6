"""Several drivers for many queries: each evaluates a part of them, with checkpoints and answers of their own.

A driver takes in what tasks made of the partitions of all its queries, one after the other: that is what
bounds an evaluation of thousands of queries (``docs/scale.md``). Queries share nothing but what is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from streambound.compiler import parsed
from streambound.errors import QueryError, StreamboundError
from streambound.history.prepare import Registered, beside
from streambound.query.catalog import Catalog

Q = TypeVar("Q", bound=Registered)
_SHARD = re.compile(r"([0-9]+)/([0-9]+)")


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``shards`` parts of the queries, from 1."""

    number: int
    shards: int

    def chosen(self, queries: Sequence[Q], catalog: Catalog) -> tuple[Q, ...]:
        """Its queries, as many as those of any other shard, or one more or less.

        They are neighbours in the order of the streams that they read: nearly every stream is read by one
        shard alone.
        """
        ordered = sorted(queries, key=lambda query: (_streams(query, catalog), query.name))
        first, last = (number * len(ordered) // self.shards for number in (self.number - 1, self.number))
        return tuple(ordered[first:last])


def shard_of(text: str) -> Shard:
    """The shard that a text names.

    Raises:
        QueryError: it names none.

    >>> shard_of("2/10")
    Shard(number=2, shards=10)
    """
    numbers = _SHARD.fullmatch(text)
    if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise QueryError(f"{text!r} is no shard", accepted="K/N with K from 1 to N, such as 2/10")
    return Shard(int(numbers[1]), int(numbers[2]))


def _streams(query: Registered, catalog: Catalog) -> list[str]:
    """The streams that a query reads; none of one that is told to be wrong when it is evaluated."""
    dialect, chosen = beside(query)
    with suppress(StreamboundError):
        statement = parsed(query.sql, catalog, query.name, dialect, chosen).statement
        return sorted({relation.name for relation in statement.scanned})
    return []
