"""Who may do what: Airflow's own permissions. Without these a plugin's pages are open to all."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_access_view
from airflow.api_fastapi.logging.decorators import action_logging
from airflow.configuration import conf
from fastapi import Depends, HTTPException, Request

# Whoever may see Airflow's UI may read; anonymous requests are answered with 401.
READS = Depends(requires_access_view(AccessView.WEBSITE))
# Whoever may trigger the DAG of the path's ``dag_id``; others are answered with 403.
TRIGGERS = Depends(requires_access_dag("POST", DagAccessEntity.RUN))
User = GetUserDep

# A page can make a browser send these by itself: they change nothing here.
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
PORTS = {"http": 80, "https": 443}


def _from_here(request: Request) -> None:
    """Refuses what a page of another origin sends with a person's cookie.

    Browsers tell in ``Sec-Fetch-Site``; over plain HTTP, where they leave it out, by the page's origin or
    address. Who tells nothing has to bring a token: a page can add one to no request of another origin.

    Raises:
        HTTPException: 403.
    """
    if request.method in SAFE:
        return
    headers = request.headers
    site, page = headers.get("sec-fetch-site"), headers.get("origin") or headers.get("referer")
    if site is not None:
        own = site in ("same-origin", "none")
    elif page is not None:
        # A proxy may change the host; the address that people know is in Airflow's configuration.
        ours = {_origin(str(request.url)), _origin(conf.get("api", "base_url", fallback=""))}
        own = _origin(page) in ours - {None}
    else:
        own = "authorization" in headers
    if not own:
        raise HTTPException(403, "the request comes from a page of another origin")


def _origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address (RFC 6454, section 4); None if it is none of a page's."""
    try:
        parts = urlsplit(address)
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None


# For every method that may change or cost something.
OWN_PAGES = Depends(_from_here)
# Airflow's audit log.
LOGGED = Depends(action_logging("trigger_dag_run"))


def may_trigger(user: Any, dag_id: str) -> bool:
    """Whether a user may start runs of a DAG: what is not permitted is not offered either."""
    from airflow.api_fastapi.app import get_auth_manager

    return get_auth_manager().is_authorized_dag(
        method="POST", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
    )


def may_read_logs(user: Any, dag_id: str) -> bool:
    """Whether a user may read the logs of a DAG's tasks."""
    from airflow.api_fastapi.app import get_auth_manager

    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.TASK_LOGS, details=DagDetails(id=dag_id), user=user
    )
