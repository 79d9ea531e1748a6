"""The application that Airflow's API server mounts under ``/streambound``.

No route is without Airflow's authentication: FastAPI's own pages are off, files go through routes instead
of a mount, and what is no route is refused after the same check, so that an anonymous request learns nothing.
"""

from __future__ import annotations

import logging

from airflow.sdk.exceptions import AirflowException
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match

from streambound.errors import StreamboundError
from streambound_airflow.pages import api, stream_api, stream_views, trying, views
from streambound_airflow.pages.access import READS
from streambound_airflow.pages.guard import Guard
from streambound_airflow.pages.problems import ProblemBody, Refused, problem_of
from streambound_airflow.pages.rendering import render
from streambound_airflow.places import PREFIX

log = logging.getLogger(__name__)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def application() -> FastAPI:
    """The pages and their API."""
    app = FastAPI(
        title="streambound",
        version="1",
        description="Which registered queries run in bounded memory, and what came of running them.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Relative to the document's own address.
        servers=[{"url": "../.."}],
        generate_unique_id_function=_operation,
        exception_handlers={
            HTTPException: _refuse,
            RequestValidationError: _refuse,
            StreamboundError: _refuse,
            AirflowException: _refuse,
            Exception: _refuse,
        },
    )
    app.include_router(api.router)
    app.include_router(stream_api.router)
    app.include_router(views.router)
    app.include_router(stream_views.router)
    app.include_router(trying.router)
    app.add_api_route(
        "/{rest:path}", _no_route, methods=METHODS, dependencies=[READS], include_in_schema=False
    )
    app.add_middleware(Guard)
    return app


def _operation(route: APIRoute) -> str:
    return route.name


def _no_route(request: Request) -> Response:
    """What is no route of ours: 405 if only the method is wrong."""
    allowed: set[str] = set()
    for route in request.app.routes:
        if route.name != "_no_route" and route.matches(request.scope)[0] is Match.PARTIAL:
            allowed |= route.methods
    if allowed:
        accepted = ", ".join(sorted(allowed))
        refused = Refused(405, f"{request.method} is not served here", accepted=accepted)
        refused.headers = {"Allow": accepted}
        raise refused
    raise Refused(
        404, "there is no such page", accepted="queries, streams, try, quality, api/v1/openapi.json"
    )


async def _refuse(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, problem.message, exc_info=error)
    headers = dict(getattr(error, "headers", None) or {})
    # A path that ends in a line break is not cut where Starlette mounts an application.
    if f"{PREFIX}/api/" in request.scope["path"]:
        body = ProblemBody(error=problem)
        return JSONResponse(body.model_dump(), problem.status, headers)
    page = render(request, "problem.html", problem.status, problem=problem)
    page.headers.update(headers)
    return page
