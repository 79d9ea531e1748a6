"""All sources of a plan, and what each operation on a query makes of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from sqlglot import expressions as exp

from streambound.query.type_names import canonical
from streambound.spark.checking.blocks import (
    STREAM,
    Block,
    Condition,
    Field,
    Joined,
    Missing,
    Output,
    Query,
    Source,
    Text,
    Union,
)


class PlanSources:
    """All sources of a plan, their columns by number, and what in it cannot be decided."""

    def __init__(self) -> None:
        self.columns: dict[str, tuple[Source, Hashable]] = {}
        self.missing: list[Missing] = []
        # Whether something of it drops duplicates, which is no DISTINCT of SQL to Spark.
        self.deduplicates = False
        self._numbers: dict[tuple[int, Hashable], str] = {}
        self._next = count()

    def refuse(self, construct: str, message: str | None = None, origin: str | None = None) -> None:
        """Note what cannot be decided."""
        self.missing.append(Missing(construct, message or f"{construct} is not supported yet", origin))

    @contextmanager
    def written_at(self, origin: Callable[[], str | None]) -> Iterator[None]:
        """What is refused within was written there."""
        before = len(self.missing)
        yield
        if len(self.missing) > before:
            line = origin()
            self.missing[before:] = [
                missing if missing.origin else replace(missing, origin=line)
                for missing in self.missing[before:]
            ]

    def fresh(self) -> Hashable:
        """A key that no other column has."""
        return ("fresh", next(self._next))

    def source(self, source: Source, columns: Iterable[tuple[Hashable, Field]]) -> Block:
        """A query that is all of a source."""
        outputs = []
        for position, (key, field) in enumerate(columns):
            source.fields[position] = field
            outputs.append(Output(key, field.name, self.column(source, position), field.type))
        return Block((Joined(source),), tuple(outputs))

    def column(self, source: Source, key: Hashable) -> exp.Column:
        """The column of a source as an expression."""
        number = self._numbers.setdefault((id(source), key), str(len(self._numbers)))
        self.columns[number] = (source, key)
        return exp.column(exp.to_identifier(number, quoted=True))

    def of(self, node: exp.Expr) -> tuple[Source, Hashable] | None:
        """The source and key of an expression that is a column."""
        return self.columns.get(node.name) if isinstance(node, exp.Column) else None

    def sources_of(self, node: exp.Expr) -> list[Source]:
        """The sources whose columns an expression is over."""
        sources: list[Source] = []
        for column in node.find_all(exp.Column):
            source, _ = self.columns[column.name]
            if not any(source is item for item in sources):
                sources.append(source)
        return sources

    def parsed(self, node: exp.Expr, kind: str, called: str | None = None) -> exp.Expr:
        """A value that lies within nested data of one source: a column of that source by itself."""
        sources = self.sources_of(node)
        if len(sources) != 1 or not sources[0].own:
            return node
        key = node.sql(dialect="spark")
        if key not in sources[0].fields:
            sources[0].fields[key] = Field(called or key, kind, True, called)
        return self.column(sources[0], key)

    # What each operation makes

    def plain(self, query: Query) -> Block:
        """A query that conditions and joins can be added to: itself, or a SELECT from it."""
        if isinstance(query, Block) and query.plain:
            return query
        return self.wrapped(query)

    def wrapped(self, query: Query) -> Block:
        """A SELECT of all that a query has, which stands in FROM."""
        self.settle(query)
        source = Source(object(), STREAM, [query.alias or "t"], inner=query)
        columns = [(o.key, Field(o.name, o.type)) for o in query.outputs]
        return replace(self.source(source, columns), alias=query.alias)

    def settle(self, query: Query) -> None:
        """Columns of one source are called what the DataFrame calls them last before it is joined."""
        if isinstance(query, Union):
            for part in query.parts:
                self.settle(part)
            return
        if isinstance(query, Text):
            for part in query.tables.values():
                self.settle(part)
            return
        if len(query.sources) != 1:
            return
        for output in query.outputs:
            source = self.of(output.value)
            if source is not None and source[0].inner is None:
                source[0].fields[source[1]].called = output.name

    def projected(self, query: Query, outputs: Callable[[Block], Sequence[Output]]) -> Block:
        """SELECT expressions over the columns of a query."""
        if isinstance(query, Block) and query.distinct and query.groups is None and not query.limit:
            made = outputs(query)
            shown = {output.key for output in query.outputs}
            values = [output.value for output in query.outputs]
            if shown and len(made) == len(values) and all(item.value in values for item in made):
                return replace(query, outputs=tuple(made))
        if isinstance(query, Block) and query.on and not query.limit and not query.order:
            made = outputs(query)
            if made and all(_over(item.value, query.on) for item in made) and _covers(made, query.on):
                # Of each group only what makes it one is shown: it does not matter which row was kept.
                return replace(query, outputs=tuple(made), on=(), distinct=True)
        if isinstance(query, Block) and not (query.plain or query.distinct or query.on or query.limit):
            made, values = outputs(query), [output.value for output in query.outputs]
            if query.groups is None and all(item.value in values for item in made):
                # Window functions beside fewer columns: what is not shown above need not be kept.
                return replace(query, outputs=tuple(made))
        block = self.plain(query)
        made_of = replace(block, outputs=tuple(outputs(block)))
        self.settle(made_of)
        return made_of

    def filtered(self, query: Query, conditions: Callable[[Block], Sequence[Condition]]) -> Block:
        """WHERE."""
        whole = isinstance(query, Block) and query.distinct and query.groups is None and not query.limit
        block = query if whole and isinstance(query, Block) else self.plain(query)
        return replace(block, conditions=(*block.conditions, *conditions(block)))

    def joined(
        self,
        left: Query,
        right: Query,
        kind: str,
        conditions: Callable[[tuple[Output, ...]], Sequence[Condition]],
    ) -> Block:
        """A join; ``kind`` is empty for an inner one, else as SQL writes it."""
        self.settle(left)
        self.settle(right)
        block, right_block = self.plain(left), self.plain(right)
        if kind and (block.conditions or len(block.sources) > 1) and not _outer(block):
            block = self.wrapped(block)
        if _outer(right_block) or (kind and (right_block.conditions or len(right_block.sources) > 1)):
            right_block = self.wrapped(right_block)
        outputs = (
            block.outputs if kind in ("LEFT SEMI", "LEFT ANTI") else (*block.outputs, *right_block.outputs)
        )
        joins = tuple(conditions((*block.outputs, *right_block.outputs)))
        if not kind:
            return Block(
                (*block.sources, *right_block.sources),
                outputs,
                (*block.conditions, *right_block.conditions, *joins),
            )
        (source,) = right_block.sources
        if _outer(block) and block.conditions:
            block = self.wrapped(block)
        return Block((*block.sources, Joined(source.source, kind, joins)), outputs, block.conditions)

    def distinct(self, query: Query, keys: Sequence[Hashable] | None) -> Block:
        """DISTINCT, or one row for each combination of some columns."""
        if keys is None or {o.key for o in query.outputs} <= set(keys):
            return replace(self.plain(query), distinct=True)
        block = self.plain(query)
        return replace(block, on=tuple(o.value for o in block.outputs if o.key in keys))

    def distinct_within(
        self, query: Query, keys: Sequence[Hashable] | None, window: Callable[[exp.Expr, str], exp.Expr]
    ) -> Block | None:
        """One row for each combination of some columns within the delay of the watermark; None without one.

        Args:
            window: the window of time of a length, as Spark says it, that a moment lies in.
        """
        block = self.plain(query)
        for output in block.outputs:
            source, key = self.of(output.value) or (None, None)
            if source is not None and source.timestamp == key and source.delay is not None:
                if keys is None:
                    # Its time is one of all columns.
                    return self.distinct(block, None)
                shown = [o.value for o in block.outputs if o.key in keys]
                on = [*shown, *([] if output.value in shown else [window(output.value, source.delay)])]
                return replace(block, on=tuple(on))
        return None

    def generated(
        self,
        query: Query,
        made: Callable[[Block], exp.Expr],
        columns: Iterable[tuple[Hashable, Field]],
        outer: bool,
    ) -> Block:
        """LATERAL VIEW: of each row as many as a call makes of it."""
        block = self.plain(query)
        source = Source(object(), STREAM, ["made"], made=made(block), outer=outer)
        rows = self.source(source, columns)
        return replace(
            block, sources=(*block.sources, *rows.sources), outputs=(*block.outputs, *rows.outputs)
        )

    def grouped(
        self,
        query: Query,
        groups: Callable[[Block], Sequence[Condition]],
        outputs: Callable[..., Sequence[Output]],
    ) -> Block:
        """GROUP BY and aggregates."""
        self.settle(query)
        block = self.plain(query)
        return replace(block, groups=tuple(groups(block)), outputs=tuple(outputs(block)))

    def ordered(self, query: Query, order: Callable[[Block], Sequence[exp.Expr]]) -> Block:
        """ORDER BY."""
        block = self._unlimited(query)
        return replace(block, order=tuple(order(block)))

    def limited(self, query: Query, number: str) -> Block:
        """LIMIT."""
        return replace(self._unlimited(query), limit=number)

    def _unlimited(self, query: Query) -> Block:
        return query if isinstance(query, Block) and query.limit is None else self.wrapped(query)

    def union_all(self, queries: Sequence[Query], outputs: Sequence[Output]) -> Union:
        """UNION ALL, whose columns are called as those of the first query."""
        for query in queries:
            self.settle(query)
        return Union(tuple(queries), tuple(outputs))

    def named(self, query: Query, name: str) -> Query:
        """A query under a name."""
        if isinstance(query, Block) and query.plain and len(query.sources) == 1:
            self.settle(query)
            source = query.sources[0].source
            if source.inner is None:
                source.names.append(name)
            source.alias = name
        return replace(query, alias=name)

    def watermarked(self, query: Query, key: Hashable, delay: str | None) -> Query:
        """A query of which a column is the application timestamp of the source that it comes from."""
        if isinstance(query, Union):
            at = [o.key for o in query.outputs].index(key)
            parts = [self.watermarked(part, part.outputs[at].key, delay) for part in query.parts]
            return replace(query, parts=tuple(parts))
        if isinstance(query, Text):
            self.refuse("a watermark of what a statement answers")
            return query
        outputs = []
        for output in query.outputs:
            if output.key == key:
                column = self.of(output.value)
                if column is None and query.groups is None:
                    made = self.parsed(output.value, output.type, output.name)
                    output, column = replace(output, value=made), self.of(made)
                if column is not None and column[0].own and canonical(output.type) == "timestamp":
                    source, hashable = column
                    source.timestamp = hashable
                    source.delay = delay
            outputs.append(output)
        return replace(query, outputs=tuple(outputs))


def _outer(block: Block) -> bool:
    return any(joined.kind for joined in block.sources)


def _over(value: exp.Expr, keys: tuple[exp.Expr, ...]) -> bool:
    return value in keys


def _covers(outputs: Sequence[Output], keys: tuple[exp.Expr, ...]) -> bool:
    return all(any(output.value == key for output in outputs) for key in keys)
