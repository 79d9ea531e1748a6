"""Blocks as text: one statement of Spark SQL, a line for each thing said, and the catalog of its sources.

Where Spark has kept the line of the program that a condition was written in, it stands behind it as a
comment, so that whatever quotes the statement quotes it as well.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel

from streambound.errors import CatalogError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.dialects.spark import SparkStreams
from streambound.query.parse.blocks.select import free_name
from streambound.spark.checking.blocks import (
    STATIC,
    Block,
    Condition,
    Field,
    Output,
    Query,
    Source,
    Text,
    Union,
)
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.sql import length, microseconds_of
from streambound.spark.checking.types import declared

_PLAIN = re.compile(r"[A-Za-z_]\w*")
_OF_COLUMNS = ("domains", "not_null", "primary_key", "cardinality", "timestamp")
# What a promise may not say: Spark says it.
SAID = ("columns", "history", "kind")


@dataclass
class _Relation:
    """A stream or a table of the catalog, with all its mentions."""

    name: str
    sources: list[Source]
    columns: dict[Hashable, str] = field(default_factory=dict)

    @property
    def first(self) -> Source:
        return self.sources[0]

    def field(self, key: Hashable) -> Field:
        return next(source.fields[key] for source in self.sources if key in source.fields)


@dataclass(frozen=True)
class Written:
    """A statement, and the catalog of its streams and tables."""

    sql: str
    catalog: Catalog


def written(query: Query, world: PlanSources, promises: Mapping[str, Mapping[str, Any]]) -> Written:
    """The statement that a query is, and what is known of its sources, with what is promised of them.

    Raises:
        CatalogError: a promise cannot be read.
    """
    world.settle(query)
    writer = _Writer(query, world)
    lines = list(writer.lines(query))
    text = "\n".join(f"{line}  -- {origin}" if origin else line for line, origin in lines)
    return Written(text, writer.catalog(promises))


class _Writer:
    def __init__(self, query: Query, world: PlanSources) -> None:
        self._world = world
        self._aliases: dict[int, str] = {}
        self._of: dict[int, _Relation] = {}
        self._used = {
            self._origin(column) for part in _expressions(query) for column in part.find_all(exp.Column)
        }
        self._inner: dict[int, dict[Hashable, str]] = {}
        self.relations: list[_Relation] = []
        taken: set[str] = set()
        for source in _sources(query):
            if not source.own:
                self._inner[id(source)] = _unique(
                    (key, field.called or field.name, True) for key, field in source.fields.items()
                )
                continue
            self._add(source)
        for relation in self.relations:
            relation.name = free_name(relation.name, taken)
            relation.columns = self._names(relation)
        taken = set()
        for source in _sources(query):
            written = self._of.get(id(source))
            self._aliases[id(source)] = free_name(
                source.alias or (written.name if written else source.names[-1]), taken
            )

    def _origin(self, column: exp.Column) -> tuple[int, Hashable]:
        source, key = self._world.columns[column.name]
        return id(source), key

    def _add(self, source: Source) -> None:
        written_keys = (
            (relation.first.identity, relation.first.timestamp, relation.first.delay)
            for relation in self.relations
        )
        mine = (source.identity, source.timestamp, source.delay)
        equal = next(
            (relation for relation, key in zip(self.relations, written_keys, strict=True) if key == mine),
            None,
        )
        if equal is None:
            # The first name that the program gives it, else that of its topic, table or format.
            equal = _Relation(source.names[min(1, len(source.names) - 1)], [])
            self.relations.append(equal)
        elif equal.name not in source.names:
            both = [name for name in equal.first.names if name in source.names]
            equal.name = both[min(1, len(both) - 1)]
        equal.sources.append(source)
        self._of[id(source)] = equal

    def _names(self, relation: _Relation) -> dict[Hashable, str]:
        keys = dict.fromkeys(key for source in relation.sources for key in source.fields)
        used = {
            key for source in relation.sources for key in source.fields if (id(source), key) in self._used
        }
        used |= {source.timestamp for source in relation.sources if source.timestamp is not None}
        called = {
            key: next(
                (s.fields[key].called for s in relation.sources if key in s.fields and s.fields[key].called),
                None,
            )
            for key in keys
        }
        ordered = sorted(keys, key=lambda key: (key not in used, called[key] is None))
        wanted = [
            (key, called[key] or self._plain_name(relation, key), key in used)
            for key in ordered
            if key in used or not isinstance(key, str)
        ]
        return _unique(wanted)

    def _plain_name(self, relation: _Relation, key: Hashable) -> str:
        name = relation.field(key).name
        if not isinstance(key, str):
            return name
        # Of a value within nested data the name of the column that it lies in.
        roots = re.findall(r"`(\d+)`", key)
        source, root = self._world.columns[roots[0]] if roots else (relation.first, key)
        return source.fields[root].called or source.fields[root].name

    # The statement

    def lines(self, query: Query, depth: int = 0) -> Iterator[tuple[str, str | None]]:
        """The lines of a query, each with where it comes from."""
        if isinstance(query, Union):
            for number, part in enumerate(query.parts):
                if number:
                    yield f"{'  ' * depth}UNION ALL", None
                yield from self.lines(part, depth)
            return
        if isinstance(query, Text):
            yield from self._statement(query, depth)
            return
        before = "  " * depth
        word = "SELECT DISTINCT" if query.distinct else "SELECT"
        if query.on:
            word += f" DISTINCT ON ({', '.join(map(self._sql_of, query.on))})"
        yield before + word, None
        names = self._output_names(query)
        outputs = [
            (self._output(output, name), output.origin)
            for output, name in zip(query.outputs, names, strict=True)
        ]
        yield from _listed(outputs, before + "  ", ",")
        yield from self._from(query, depth)
        yield from self._conditions("WHERE", query.conditions, before)
        if query.groups:
            groups = [(self._sql_of(condition.value), condition.origin) for condition in query.groups]
            yield before + "GROUP BY", None
            yield from _listed(groups, before + "  ", ",")
        if query.order:
            yield f"{before}ORDER BY {', '.join(map(self._sql_of, query.order))}", None
        if query.limit is not None:
            yield f"{before}LIMIT {query.limit}", None

    def _statement(self, query: Text, depth: int) -> Iterator[tuple[str, str | None]]:
        tree = query.tree.copy()
        for table in list(tree.find_all(exp.Table)):
            inner = query.tables.get(table.name)
            if inner is not None and (name := self._whole(inner)) is not None:
                table.set("this", _identifier(name))
                table.set("alias", None if table.alias == name else table.args["alias"])
            elif inner is not None:
                text = "\n".join(line for line, _ in self.lines(inner))
                table.replace(
                    exp.Subquery(this=parse_one(text, dialect="spark"), alias=table.args["alias"].copy())
                )
        for line in _sql(tree, pretty=True).splitlines():
            yield "  " * depth + line, None

    def _whole(self, query: Query) -> str | None:
        """The name of the stream or table that a query is all of."""
        if not isinstance(query, Block) or not query.plain or query.conditions or len(query.sources) != 1:
            return None
        relation = self._of.get(id(query.sources[0].source))
        shown = {
            self._placed(output.value).name: output.name
            for output in query.outputs
            if self._world.of(output.value)
        }
        if relation is None or len(shown) != len(query.outputs):
            return None
        same = all(name == called for name, called in shown.items())
        return relation.name if same and set(shown) == set(relation.columns.values()) else None

    def _from(self, query: Block, depth: int) -> Iterator[tuple[str, str | None]]:
        before = "  " * depth
        for number, joined in enumerate(query.sources):
            word = "FROM" if not number else f"{joined.kind} JOIN".strip()
            source = joined.source
            alias = _quoted(self._aliases[id(source)])
            if source.made is not None:
                view = f"LATERAL VIEW{' OUTER' if source.outer else ''} {self._sql_of(source.made)}"
                names = ", ".join(map(_quoted, self._inner[id(source)].values()))
                yield f"{before}{view} {alias} AS {names}", source.origin
            elif source.inner is not None:
                yield f"{before}{word} (", None
                yield from self.lines(source.inner, depth + 1)
                yield f"{before}) AS {alias}", None
            else:
                name = _quoted(self._of[id(source)].name)
                yield f"{before}{word} {name}" + (f" AS {alias}" if alias != name else ""), source.origin
            yield from self._conditions("ON", joined.on, before + "  ")

    def _conditions(
        self, word: str, conditions: Sequence[Condition], before: str
    ) -> Iterator[tuple[str, str | None]]:
        for number, condition in enumerate(conditions):
            value = (
                exp.Paren(this=condition.value) if isinstance(condition.value, exp.Or) else condition.value
            )
            yield f"{before}{'  AND' if number else word} {self._sql_of(value)}", condition.origin

    def _output_names(self, query: Block) -> list[str]:
        inner = [names for key, names in self._inner.items() if self._is_inner(key, query)]
        return list(inner[0].values()) if inner else [output.name for output in query.outputs]

    def _is_inner(self, key: int, query: Query) -> bool:
        return any(
            id(source) == key and source.inner is not None and _within(query, source.inner)
            for source, _ in self._world.columns.values()
        )

    def _output(self, output: Output, name: str) -> str:
        made = self._placed(output.value)
        if isinstance(made, exp.Column) and made.name == name:
            return _sql(made)
        return f"{_sql(made)} AS {_quoted(name)}"

    def _sql_of(self, node: exp.Expr) -> str:
        return _sql(self._placed(node))

    def _placed(self, node: exp.Expr) -> exp.Expr:
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            source, key = self._world.columns[column.name]
            names = self._inner.get(id(source)) or self._of[id(source)].columns
            column.replace(exp.column(_identifier(names[key]), table=_identifier(self._aliases[id(source)])))
        made: exp.Expr = root.this
        made.pop()
        return made

    # The catalog

    def catalog(self, promises: Mapping[str, Mapping[str, Any]]) -> Catalog:
        """The catalog of the sources; see ``written`` for the errors."""
        bodies = {relation.name: self._body(relation) for relation in self.relations}
        for name, promise in promises.items():
            if name not in bodies:
                continue
            if not isinstance(promise, Mapping):
                raise CatalogError(
                    f"the promises of {name} are {promise!r}",
                    accepted="a mapping, as an entry of streams.yml",
                )
            if said := [key for key in promise if key in SAID]:
                raise CatalogError(
                    f"the promises of {name} have {said[0]}, which Spark says", fix=f"leave {said[0]} out"
                )
            kept = bodies[name].get("not_null", [])
            promise = self._in_our_words(next(r for r in self.relations if r.name == name), promise)
            bodies[name] |= promise
            if "not_null" in promise and isinstance(promise["not_null"], list):
                bodies[name]["not_null"] = list(dict.fromkeys([*kept, *promise["not_null"]]))
        return catalog_from_mapping(bodies, "the plan")

    def _in_our_words(self, relation: _Relation, promise: Mapping[str, Any]) -> dict[str, Any]:
        """A promise about columns by the names that the source has for them, by those of the statement."""
        names = {relation.field(key).name: name for key, name in relation.columns.items()}
        names |= {name: name for name in relation.columns.values()}

        def of(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {names.get(key, key): item for key, item in value.items()}
            if isinstance(value, list):
                return [names.get(item, item) if isinstance(item, str) else item for item in value]
            return names.get(value, value) if isinstance(value, str) else value

        return {key: of(value) if key in _OF_COLUMNS else value for key, value in promise.items()}

    def _body(self, relation: _Relation) -> dict[str, Any]:
        source = relation.first
        columns = {name: relation.field(key) for key, name in relation.columns.items()}
        body: dict[str, Any] = {
            "kind": source.kind,
            "columns": {name: declared(column.type) for name, column in columns.items()},
            "not_null": [
                name
                for name, column in columns.items()
                if not column.nullable and declared(column.type) == column.type
            ],
        }
        if source.timestamp is not None and source.kind != STATIC:
            body["timestamp"] = relation.columns[source.timestamp]
            late = None if source.delay is None else microseconds_of(source.delay)
            if late is not None:
                body["allowed_lateness"] = length(late)
        return body


def _within(query: Query, inner: Query) -> bool:
    """Whether a query is one, or the first member of the union that it is."""
    return query is inner or (isinstance(inner, Union) and _within(query, inner.parts[0]))


def _sources(query: Query) -> Iterator[Source]:
    if isinstance(query, Union):
        for part in query.parts:
            yield from _sources(part)
        return
    if isinstance(query, Text):
        for part in query.tables.values():
            yield from _sources(part)
        return
    for joined in query.sources:
        if joined.source.inner is not None:
            yield from _sources(joined.source.inner)
        yield joined.source


def _expressions(query: Query) -> Iterator[exp.Expr]:
    if isinstance(query, Union):
        for part in query.parts:
            yield from _expressions(part)
        return
    if isinstance(query, Text):
        for part in query.tables.values():
            yield from _expressions(part)
        return
    yield from (output.value for output in query.outputs)
    conditions = (
        *query.conditions,
        *(query.groups or ()),
        *(c for source in query.sources for c in source.on),
    )
    yield from (condition.value for condition in conditions)
    yield from (*query.on, *query.order)
    for joined in query.sources:
        if joined.source.made is not None:
            yield joined.source.made
        if joined.source.inner is not None:
            yield from _expressions(joined.source.inner)


def _listed(
    items: Sequence[tuple[str, str | None]], before: str, end: str
) -> Iterator[tuple[str, str | None]]:
    for number, (text, origin) in enumerate(items):
        yield f"{before}{text}{end if number < len(items) - 1 else ''}", origin


def _unique(wanted: Iterable[tuple[Hashable, str, bool]]) -> dict[Hashable, str]:
    """Names that no two columns share; of those that nothing reads a second is left out."""
    taken: set[str] = set()
    names: dict[Hashable, str] = {}
    for key, name, used in wanted:
        if used or name.lower() not in taken:
            names[key] = free_name(name, taken)
    return names


def _identifier(name: str) -> exp.Identifier:
    words = SparkStreams.Tokenizer.KEYWORDS
    return exp.to_identifier(name, quoted=not _PLAIN.fullmatch(name) or name.upper() in words)


def _quoted(name: str) -> str:
    return _sql(_identifier(name))


def _sql(node: exp.Expr, pretty: bool = False) -> str:
    return node.sql(
        dialect="spark",
        pretty=pretty,
        normalize_functions=False,
        comments=False,
        unsupported_level=ErrorLevel.IGNORE,
    )
