"""The pages on streams and on quality. Each gathers its values and renders one template."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from streambound.report.pages import Bar, Node, lineage_picture, rows_chart
from streambound_airflow.pages import decided, made_of, streams, subjects
from streambound_airflow.pages.access import OWN_PAGES, READS
from streambound_airflow.pages.api import Offset
from streambound_airflow.pages.rendering import render, root_of
from streambound_airflow.pages.stream_api import Failed, Named, StreamName, SubjectName
from streambound_airflow.pages.stream_schemas import DayBody, LineageBody, NodeBody, Subject

router = APIRouter(dependencies=[READS, OWN_PAGES], include_in_schema=False)
# Partitions, failures and checks that a page shows; the API has the others.
PARTITIONS, FAILURES, CHECKS = 31, 20, 30
# Partitions of the large chart.
CHARTED = 1_000
# Queries of a drawing of lineage; of more there is the list in words.
DRAWN = 150


@router.get("/streams")
def streams_page(request: Request, query: Named = None) -> HTMLResponse:
    """Every stream and table, those that failed first, and what is made of them, or what a query has to do
    with."""
    overview = streams.page()
    return render(
        request,
        "streams.html",
        page=overview,
        charts={row.name: _drawn(row.days, row.name, large=False) for row in overview.streams},
        query=query,
        **_lineage(request, made_of.lineage(query=query)),
    )


@router.get("/streams/{name}")
def stream_page(
    request: Request, name: StreamName, failed: Failed = False, offset: Offset = 0
) -> HTMLResponse:
    """A stream: declared beside observed, its partitions, and who reads it."""
    detail = streams.detail(name)
    days = streams.checked(name, CHARTED)
    return render(
        request,
        "stream.html",
        found=detail,
        row=detail.summary,
        chart=_drawn(days, name),
        parts_page=streams.partitions(name, failed, PARTITIONS, offset),
        failed=failed,
        offset=offset,
        limit=PARTITIONS,
        query=None,
        **_lineage(request, made_of.lineage(stream=name)),
    )


@router.get("/quality")
def quality_page(request: Request) -> HTMLResponse:
    """The quality of the latest runs, what failed first."""
    outcomes = decided.quality().outcomes
    return render(request, "quality.html", outcomes=sorted(outcomes, key=lambda outcome: outcome.success))


@router.get("/quality/{kind}/{subject}")
def subject_page(request: Request, kind: Subject, subject: SubjectName, offset: Offset = 0) -> HTMLResponse:
    """What is expected of one subject, what failed, and how that went before."""
    body = subjects.subject(kind, subject, FAILURES, offset)
    days = streams.checked(subject, CHARTED) if kind == "stream" else []
    return render(
        request,
        "subject.html",
        found=body,
        chart=_drawn(days, subject),
        checks=subjects.checks(kind, subject, CHECKS).checks,
        offset=offset,
        limit=FAILURES,
    )


def _drawn(days: list[DayBody], name: str, *, large: bool = True) -> str | None:
    bars = [Bar(day.partition, day.rows, day.failed) for day in days]
    return rows_chart(bars, large=large, name=name) if bars else None


def _lineage(request: Request, body: LineageBody) -> dict[str, Any]:
    """The graph drawn, and the same in words."""
    root = root_of(request)
    nodes = [_node(root, node) for node in body.nodes]
    words = made_of.in_words(body)
    if not 0 < len(words) <= DRAWN:
        return {"graph": None, "told": words}
    return {
        "graph": lineage_picture(nodes, [(edge.source, edge.target) for edge in body.edges]),
        "told": words,
    }


def _node(root: str, node: NodeBody) -> Node:
    name = quote(node.name, safe="")
    if node.kind == "stream":
        note = {"failed": "failed", "ok": "ok"}.get(node.quality or "", "")
        return Node(node.key, "stream", node.name, f"{root}streams/{name}", note, note)
    if node.kind == "query":
        state = node.verdict or ""
        return Node(node.key, "query", node.name, f"{root}queries/{name}", state, state)
    rows = f"{node.rows:,} {'row' if node.rows == 1 else 'rows'}"
    return Node(node.key, "answer", node.name, f"{root}queries/{name}#answers", rows)
