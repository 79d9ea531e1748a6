"""Parameters that one of our DAGs does not know are refused by Airflow's API, before there is a run.

Airflow checks the values of the parameters that a DAG has, and takes any other: a misspelt ``from`` would
run everything. Its form sends what is filled in to the same API.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.models.dagbag import DBDagBag
from airflow.utils.session import create_session
from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streambound.errors import StreamboundError
from streambound_airflow.pages.access import may_trigger
from streambound_airflow.parameters import refuse_unknown
from streambound_airflow.places import DAGS

# What starts runs: of a DAG, by its form too; and a backfill.
STARTS = re.compile(r"/api/v2/(?:dags/(?P<dag_id>[^/]+)/dagRuns|backfills(?:/dry_run)?)")


class KnownParameters:
    """Answers 400 to whoever asks a DAG of ours for what it does not know; all else is Airflow's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        asked = (
            STARTS.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        )
        if asked is None or asked.end() != len(scope["path"]):
            await self.app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        dag_id, given = _asked(asked["dag_id"], body)
        if dag_id in DAGS and await _may_start(Request(scope), dag_id):
            try:
                await run_in_threadpool(_refuse, dag_id, given)
            except StreamboundError as error:
                # As Airflow tells what it refuses itself.
                await JSONResponse({"detail": error.one_line()}, 400)(scope, receive, send)
                return

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        await self.app(scope, again, send)


def _asked(dag_id: str | None, body: bytes) -> tuple[str, Mapping[str, Any]]:
    """The DAG and the parameters of a request; none of one that is not what Airflow accepts either."""
    try:
        request = json.loads(body)
        conf = request.get("conf") if dag_id else request.get("dag_run_conf")
        return str(dag_id or request.get("dag_id")), conf if isinstance(conf, dict) else {}
    except (ValueError, RecursionError, AttributeError):
        return "", {}


async def _may_start(request: Request, dag_id: str) -> bool:
    """Whether the user may; who may not is refused by Airflow, without a word on parameters."""
    try:
        user = await get_user(request, None, await bearer_scheme(request))
    except HTTPException:
        return False
    return may_trigger(user, dag_id)


def _refuse(dag_id: str, given: Mapping[str, Any]) -> None:
    """Refuses parameters that a DAG, as Airflow has it now, does not know.

    Raises:
        DataError: naming the nearest that it knows.
    """
    with create_session() as session:
        dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
        if dag is not None:
            refuse_unknown(given, dag.params)
