"""What is made of what: the streams and queries that each registered query names, and its answer.

Texts are read for the names in them, not decided; one is read again when it, the catalog or the list of
queries has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from streambound import settings
from streambound.errors import StreamboundError
from streambound.projects.registry import registry_of
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.parse import names_read
from streambound_airflow.pages import overview
from streambound_airflow.pages.catalog import declared, stamp
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.schemas import QueryRow
from streambound_airflow.pages.sources import Stamp, registered, stamps, store
from streambound_airflow.pages.stream_schemas import EdgeBody, LineageBody, NodeBody


def read_by() -> dict[str, tuple[str, ...]]:
    """The relations and queries that each registered query names; none of what cannot be read.

    Raises:
        CatalogError, QueryError: the catalog or the registry cannot be read.
    """
    files, catalog = registered(stamps()), stamp()
    registry, names = registry_of(settings.registry()), tuple(files)
    return {
        name: _names(catalog, names, name, file.sql, registry.of_text(name, file.sql).dialect)
        for name, file in files.items()
    }


@lru_cache(maxsize=4096)
def _names(
    catalog: Stamp, queries: tuple[str, ...], name: str, sql: str, dialect: str | None
) -> tuple[str, ...]:
    try:
        return tuple(
            named
            for named in names_read(sql, _with_queries(catalog, queries), name, dialect)
            if named != name
        )
    except StreamboundError:
        return ()


@lru_cache(maxsize=4)
def _with_queries(catalog: Stamp, queries: tuple[str, ...]) -> Catalog:
    return replace(declared(), queries=tuple(NamedQuery(name, "") for name in queries))


def readers(name: str, reads: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The queries that read a stream, each with the queries between; those that name it first.

    Args:
        reads: what ``read_by`` found.
    """
    relations = _relations()
    paths: dict[str, tuple[str, ...]] = {
        query: () for query, read in reads.items() if name in read and name in relations
    }
    waiting = list(paths)
    for query in waiting:
        for reader, read in reads.items():
            if query in read and query not in relations and reader not in paths:
                paths[reader] = (*paths[query], query)
                waiting.append(reader)
    return paths


def _relations() -> frozenset[str]:
    return frozenset(relation.name for relation in declared().relations)


def lineage(stream: str | None = None, query: str | None = None) -> LineageBody:
    """Streams, queries and answers, and what reads what: all, or what a stream or a query has to do with.

    Raises:
        Refused: there is no such stream or query.
        CatalogError, QueryError: the catalog or the registry cannot be read.
    """
    reads, relations = read_by(), _relations()
    if stream is not None and stream not in relations:
        raise Refused(404, "the catalog has no such stream", accepted="a name of api/v1/streams")
    if query is not None and query not in reads:
        raise Refused(404, "no such query is registered", accepted="a name of api/v1/queries")
    edges = [
        (f"stream:{source}" if source in relations else f"query:{source}", f"query:{name}")
        for name, read in reads.items()
        for source in read
    ]
    keys = {f"stream:{name}" for name in relations} | {f"query:{name}" for name in reads}
    if stream is not None:
        keys = _beyond({f"stream:{stream}"}, edges)
    if query is not None:
        start = {f"query:{query}"}
        keys = _beyond(start, edges) | _beyond(start, [(target, source) for source, target in edges])
    if stream is not None or query is not None:
        # Of what is shown all that it reads is shown too.
        keys |= {source for source, target in edges if target in keys}
    return _body(keys, edges)


def _beyond(start: Iterable[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """What is reached from some nodes, these among it."""
    after: dict[str, list[str]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    reached, waiting = set(start), list(start)
    while waiting:
        for target in after.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _body(keys: set[str], edges: Iterable[tuple[str, str]]) -> LineageBody:
    rows = overview.rows()
    quality = {
        outcome.subject: outcome.success for outcome in store().latest_quality() if outcome.kind == "stream"
    }
    nodes, made = [], []
    for key in sorted(keys):
        kind, name = key.split(":", 1)
        if kind == "stream":
            success = quality.get(name)
            state = "unchecked" if success is None else "ok" if success else "failed"
            nodes.append(NodeBody(key=key, kind="stream", name=name, quality=state))
            continue
        row = rows.get(name)
        nodes.append(NodeBody(key=key, kind="query", name=name, verdict=row.verdict if row else "unchecked"))
        if row is not None and row.answer_rows is not None:
            nodes.append(_answer(row))
            made.append(EdgeBody(source=key, target=f"answer:{name}"))
    shown = [EdgeBody(source=a, target=b) for a, b in sorted(edges) if a in keys and b in keys]
    return LineageBody(nodes=nodes, edges=shown + made)


def _answer(row: QueryRow) -> NodeBody:
    return NodeBody(
        key=f"answer:{row.name}", kind="answer", name=row.name, quality=row.quality, rows=row.answer_rows
    )


def in_words(body: LineageBody) -> list[tuple[NodeBody, list[NodeBody], NodeBody | None]]:
    """The same as a list: each query with what it reads, and its answer."""
    by_key: Mapping[str, NodeBody] = {node.key: node for node in body.nodes}
    return [
        (
            node,
            [by_key[edge.source] for edge in body.edges if edge.target == node.key],
            by_key.get(f"answer:{node.name}"),
        )
        for node in body.nodes
        if node.kind == "query"
    ]
