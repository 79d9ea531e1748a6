"""A DAG's run in the results database: when it started, over which days, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.results import Results


def record_start(store: Results, run_id: str, job: str, parameters: Mapping[str, Any]) -> None:
    """Records that a run of a job has started."""
    from streambound.results import Run
    from streambound.results.records import now

    days = {"first_partition": parameters.get("from"), "last_partition": parameters.get("to")}
    store.record_run(Run(run_id, job, "running", started_at=now(), parameters=dict(parameters), **days))


def record_end(store: Results, run_id: str, job: str, succeeded: bool, engine: str | None = None) -> None:
    """Records that a run of a job has ended."""
    from streambound.results import Run
    from streambound.results.records import now

    store.record_run(Run(run_id, job, "success" if succeeded else "failed", ended_at=now(), engine=engine))
