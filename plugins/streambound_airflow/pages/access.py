"""Who may do what: Airflow's own permissions. Without these a plugin's pages are open to all."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_access_view
from airflow.api_fastapi.logging.decorators import action_logging
from fastapi import Depends, HTTPException, Request

# Whoever may see Airflow's UI may read; anonymous requests are answered with 401.
READS = Depends(requires_access_view(AccessView.WEBSITE))
# Whoever may trigger the DAG of the path's ``dag_id``; others are answered with 403.
TRIGGERS = Depends(requires_access_dag("POST", DagAccessEntity.RUN))
User = GetUserDep


def _from_here(request: Request) -> None:
    """Refuses what a page of another origin sends with a person's cookie; tools send no such header."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "the request comes from a page of another origin")


OWN_PAGES = Depends(_from_here)
# Airflow's audit log.
LOGGED = Depends(action_logging("trigger_dag_run"))


def may_trigger(user: Any, dag_id: str) -> bool:
    """Whether a user may start runs of a DAG: what is not permitted is not offered either."""
    from airflow.api_fastapi.app import get_auth_manager

    return get_auth_manager().is_authorized_dag(
        method="POST", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
    )
