"""The page *Try a query*: what it begins with, the verdict on a text, and where to save one that is good."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from streambound import settings
from streambound.query.dialects.languages import LANGUAGES
from streambound.query.registry import metadata
from streambound_airflow.pages import detail, overview
from streambound_airflow.pages.access import OWN_PAGES, READS
from streambound_airflow.pages.catalog import RelationWords, relations
from streambound_airflow.pages.examination import EXAMINERS, SECONDS
from streambound_airflow.pages.guard import SQL_BYTES
from streambound_airflow.pages.rendering import render
from streambound_airflow.pages.schemas import CheckBody, CheckRequest, Dialect, Engine, QueryRow
from streambound_airflow.pages.sources import dialect_of, registered, stamps

router = APIRouter(dependencies=[READS, OWN_PAGES], include_in_schema=False)
EXAMPLE = "SELECT DISTINCT d.carrier, d.origin\nFROM departures d\nWHERE d.dep_delay > 60"
# Registered queries that are offered as examples, of each verdict.
EXAMPLES = 3
# The products that say their own name otherwise than the dialects do.
ENGINES = {
    engine: LANGUAGES["ksql" if engine == "ksqldb" else engine].title.removesuffix(" SQL")
    for engine in get_args(Engine)
}
DIALECTS = {dialect: LANGUAGES[dialect].title for dialect in get_args(Dialect)}


class TryRequest(CheckRequest):
    """A text of the page."""

    query: str = Field(default="", max_length=200, description="The registered query that it began with.")


@router.get("/try")
def try_page(request: Request, query: Annotated[str, Query(max_length=200)] = "") -> HTMLResponse:
    """Write a query, or open a registered one, and see the verdict."""
    streams, fault = relations()
    sql = detail.detail(query).sql if query else _first(streams)
    return render(
        request,
        "try.html",
        query=query,
        sql=sql,
        dialect=(dialect_of(query, sql) if query else None) or "",
        dialects=DIALECTS,
        engines=ENGINES,
        examples=_examples(),
        limit=SQL_BYTES,
        seconds=SECONDS,
        streams=streams,
        schema=json.dumps(_completions(streams)),
        fault=fault,
    )


@router.post("/try")
def try_query(request: Request, asked: TryRequest) -> HTMLResponse:
    """The verdict on a text, as a part of the page."""
    how = {"criterion": asked.criterion, "engine": asked.engine, "dialect": asked.dialect}
    body = CheckBody.model_validate(EXAMINERS.examine(asked.sql, asked.query or "query", **how))
    return render(
        request,
        "verdict.html",
        body=body,
        shown=body.shown,
        engine=body.engine,
        marks=json.dumps([_mark(body, mark.message, mark.span) for mark in body.shown.marks]),
        file=f"queries/{asked.query or 'my_query'}.sql",
        folder=str(settings.registry()),
        saved=_saved(asked.sql, body.dialect),
    )


def _mark(body: CheckBody, message: str, span: tuple[int, int]) -> dict[str, Any]:
    severity = "warning" if body.verdict == "unknown" else "error"
    return {"start": span[0], "end": span[1], "severity": severity, "message": message}


def _first(streams: Sequence[RelationWords]) -> str:
    """What is in the editor at first: of another catalog than the flights' the simplest that can be asked."""
    if not streams or any(stream.name == "departures" for stream in streams):
        return EXAMPLE
    return f"SELECT DISTINCT {streams[0].columns[0].name}\nFROM {streams[0].name}"


def _examples() -> list[QueryRow]:
    """Some registered queries of each verdict, the shortest texts first."""
    files = registered(stamps())
    by_size = sorted(files.values(), key=lambda file: (len(file.sql), file.name))
    rows = [overview.rows()[file.name] for file in by_size if file.sql]
    examples = (
        islice((row for row in rows if row.verdict == which), EXAMPLES) for which in overview.VERDICTS
    )
    return [row for some in examples for row in some]


def _completions(streams: Iterable[RelationWords]) -> dict[str, Any]:
    """What the editor offers, as its SQL mode takes it: relations with their columns, and queries."""
    queries = {name: _completion(name, "query", ()) for name in registered(stamps()) if name.isidentifier()}
    return queries | {
        stream.name: _completion(stream.name, stream.kind, [(c.name, c.type) for c in stream.columns])
        for stream in streams
    }


def _completion(name: str, kind: str, columns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    children = [{"label": column, "type": "property", "detail": of} for column, of in columns]
    return {"self": {"label": name, "type": "type", "detail": kind}, "children": children}


def _saved(sql: str, dialect: str | None) -> str:
    """The text as a file of the registry, with the lines that lead one."""
    declared = dict(metadata(sql))
    lines = {"owner": "YOUR TEAM", "description": "What it answers, in a sentence.", "dialect": dialect or ""}
    head = [f"-- {key}: {value}\n" for key, value in lines.items() if value and key not in declared]
    return "".join(head) + ("\n" if head and not declared else "") + sql.strip() + "\n"
