"""What the readers of Spark's plans share: SELECTs over sources, as values.

A column of a source is an ``exp.Column`` whose one name is its number in ``PlanSources.columns``; every
expression above is in terms of such columns, so that a projection is put in place of its names, as in
``query.parse.inlining.inline``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import expressions as exp

STREAM, STATIC = "stream", "static"


@dataclass
class Field:
    """A column of a source; ``called`` is what the DataFrame calls it."""

    name: str
    type: str
    nullable: bool = True
    called: str | None = None


@dataclass
class Source:
    """A stream or a table as one mention of it in a plan; sources of one ``identity`` have the same rows.

    ``inner`` is the query that it is, if it is none of Spark's sources; ``made`` the call that makes its rows
    of each row of the sources before it (``outer``: one of NULLs where it makes none). ``names`` are those it
    may go by.
    """

    identity: Hashable
    kind: str
    names: list[str]
    fields: dict[Hashable, Field] = field(default_factory=dict)
    inner: Query | None = None
    made: exp.Expr | None = None
    outer: bool = False
    alias: str | None = None
    timestamp: Hashable = None
    delay: str | None = None
    origin: str | None = None

    @property
    def own(self) -> bool:
        """Whether it is one of Spark's sources."""
        return self.inner is None and self.made is None


@dataclass(frozen=True)
class Output:
    """An output column: the key that a plan knows it by, and what it is in terms of sources' columns."""

    key: Hashable
    name: str
    value: exp.Expr
    type: str
    origin: str | None = None


@dataclass(frozen=True)
class Condition:
    """A conjunct, and the line of the program that it was written in, where that is known."""

    value: exp.Expr
    origin: str | None = None


@dataclass(frozen=True)
class Joined:
    """A source in FROM; ``kind`` is empty for an inner join, whose conditions are those of the block."""

    source: Source
    kind: str = ""
    on: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Block:
    """One SELECT. ``on`` are the keys of DISTINCT ON, ``groups`` those of GROUP BY (None: there is none)."""

    sources: tuple[Joined, ...]
    outputs: tuple[Output, ...]
    conditions: tuple[Condition, ...] = ()
    distinct: bool = False
    on: tuple[exp.Expr, ...] = ()
    groups: tuple[Condition, ...] | None = None
    order: tuple[exp.Expr, ...] = ()
    limit: str | None = None
    alias: str | None = None

    @property
    def plain(self) -> bool:
        """Whether it is joins and conditions alone."""
        if self.distinct or self.on or self.order or self.groups is not None or self.limit is not None:
            return False
        made = any(joined.source.made is not None for joined in self.sources)
        return not made and not any(output.value.find(exp.Window) for output in self.outputs)


@dataclass(frozen=True)
class Union:
    """UNION ALL of queries with as many columns each."""

    parts: tuple[Query, ...]
    outputs: tuple[Output, ...]
    alias: str | None = None


@dataclass(frozen=True)
class Text:
    """A statement that the program has as SQL; the queries of ``tables`` stand in it under numbers."""

    tree: exp.Expr
    tables: Mapping[str, Query]
    outputs: tuple[Output, ...]
    alias: str | None = None


Query = Block | Union | Text


@dataclass(frozen=True)
class Missing:
    """What of a plan cannot be decided, by the name that a person knows it by."""

    construct: str
    message: str
    origin: str | None = None


def substituted(node: exp.Expr, outputs: Sequence[Output]) -> exp.Expr:
    """An expression over the outputs of a query, named by ``key_column``, as one over its sources."""
    by_name = {str(output.key): output.value for output in outputs}
    root = exp.Paren(this=node.copy())
    for column in list(root.find_all(exp.Column)):
        value = by_name[column.name].copy()
        if isinstance(value, (exp.Binary, exp.Not, exp.Between)) and not isinstance(column.parent, exp.Paren):
            value = exp.Paren(this=value)
        column.replace(value)
    made: exp.Expr = root.this
    made.pop()
    return made


def key_column(key: Hashable) -> exp.Column:
    """A column of a query before it is put in place."""
    return exp.column(exp.to_identifier(str(key), quoted=True))


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a condition asks, each by itself."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    else:
        yield node
