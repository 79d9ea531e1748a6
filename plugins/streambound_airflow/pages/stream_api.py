"""The JSON API on streams, what is made of them, and the quality of each subject."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from streambound_airflow.pages import made_of, streams, subjects
from streambound_airflow.pages.api import Limit, Offset
from streambound_airflow.pages.api import router as api
from streambound_airflow.pages.problems import responses
from streambound_airflow.pages.stream_schemas import (
    CheckedPage,
    LineageBody,
    PartitionPage,
    StreamDetail,
    StreamPage,
    Subject,
    SubjectBody,
)

# Under the same address, authentication and refusals as the rest of the API.
router = APIRouter(prefix=api.prefix, tags=api.tags, dependencies=api.dependencies, responses=api.responses)
# Without NUL, which PostgreSQL takes in no text.
StreamName = Annotated[
    str,
    Path(description="The name of a stream or table.", min_length=1, max_length=200, pattern=r"^[^\x00]+$"),
]
SubjectName = Annotated[
    str, Path(description="A stream, or a query.", min_length=1, max_length=250, pattern=r"^[^\x00]+$")
]
Failed = Annotated[bool, Query(description="Only those that failed.")]
Named = Annotated[str | None, Query(min_length=1, max_length=200)]


@router.get("/streams")
def list_streams(limit: Limit = 100, offset: Offset = 0) -> StreamPage:
    """The streams and tables of the catalog; those that failed their newest check come first."""
    return streams.page(limit, offset)


@router.get("/streams/{name}", responses=responses(404))
def get_stream(name: StreamName) -> StreamDetail:
    """What is declared of a stream beside what checks observed, and who reads it."""
    return streams.detail(name)


@router.get("/streams/{name}/partitions", responses=responses(404))
def list_partitions(
    name: StreamName, failed: Failed = False, limit: Limit = 100, offset: Offset = 0
) -> PartitionPage:
    """Partitions of a stream as their newest checks found them, the newest first."""
    return streams.partitions(name, failed, limit, offset)


@router.get("/lineage", responses=responses(404))
def get_lineage(stream: Named = None, query: Named = None) -> LineageBody:
    """Streams, queries and answers, and what reads what: all, or what one has to do with."""
    return made_of.lineage(stream, query)


@router.get("/quality/{kind}/{subject}", responses=responses(404))
def get_subject(kind: Subject, subject: SubjectName, limit: Limit = 100, offset: Offset = 0) -> SubjectBody:
    """What the newest check expects and found of a subject; ``limit`` and ``offset`` are of its failures."""
    return subjects.subject(kind, subject, limit, offset)


@router.get("/quality/{kind}/{subject}/checks", responses=responses(404))
def list_checks(kind: Subject, subject: SubjectName, limit: Limit = 50, offset: Offset = 0) -> CheckedPage:
    """The checks of a subject, the newest first."""
    return subjects.checks(kind, subject, limit, offset)
