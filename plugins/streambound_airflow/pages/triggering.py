"""Starting a run of one of our DAGs for one query, in the name of who asked."""

from __future__ import annotations

from typing import Any, Literal, get_args

from airflow.api.common.trigger_dag import trigger_dag
from airflow.exceptions import DagNotFound, DagRunAlreadyExists, ParamValidationError
from airflow.models.dag import DagModel
from airflow.utils.types import DagRunTriggeredByType

from streambound_airflow.pages.access import may_trigger
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.schemas import QueryRow, StartedRun

DagId = Literal["validate_queries", "evaluate_history", "materialize_synopses", "benchmark_caches"]
DAGS: tuple[str, ...] = get_args(DagId)


def start(dag_id: str, row: QueryRow, user: Any) -> StartedRun:
    """Start a run with this query in its form; everything else there keeps its default.

    Raises:
        Refused: the query is not registered any more, or Airflow does not know the DAG or refuses the run.
    """
    if not row.registered:
        raise Refused(422, f"{row.name} is not registered any more", fix="add its file to the registry again")
    model = DagModel.get_current(dag_id)
    if model is not None and model.has_import_errors:
        raise Refused(
            422, f"the file of the DAG {dag_id} cannot be imported", fix="look at its import errors"
        )
    if model is not None and model.is_paused:
        raise Refused(422, f"the DAG {dag_id} is paused, its runs would wait", fix="switch it on in Airflow")
    try:
        run = trigger_dag(
            dag_id,
            triggered_by=DagRunTriggeredByType.REST_API,
            triggering_user_name=user.get_name(),
            conf={"queries": [row.name]},
        )
    except DagNotFound:
        raise Refused(404, f"Airflow has no DAG {dag_id}", fix="look at its import errors") from None
    except (ParamValidationError, ValueError) as error:
        raise Refused(422, f"Airflow refuses the run: {error}") from None
    except DagRunAlreadyExists:
        raise Refused(422, "a run was started at this very moment", fix="try again") from None
    if run is None:
        raise Refused(503, f"Airflow started no run of {dag_id}", fix="look at the API server's log")
    return StartedRun(dag_id=dag_id, run_id=run.run_id, state=str(run.state))


def offered(row: QueryRow, user: Any) -> list[str]:
    """The DAGs that may be started for a query: those of use for it, where the user has the right."""
    useful = {
        "validate_queries": row.registered,
        "evaluate_history": row.registered and (row.verdict == "bounded" or row.cache_size is not None),
        "benchmark_caches": row.registered and row.verdict == "unbounded",
    }
    return [dag_id for dag_id, wanted in useful.items() if wanted and may_trigger(user, dag_id)]
