"""Parses every DAG as the DAG processor would and prints what it found, as JSON.

Arguments: the folder of DAGs, and perhaps variables of the environment, as JSON: for each the DAGs are parsed
in a process of its own, and a line is printed. Airflow, which takes long to load, is loaded once.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import time
import warnings
from typing import Any

HEAVY = (
    "duckdb",
    "great_expectations",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "sqlglot",
    "streambound.live",
    "streambound.quality",
    "streambound.results",
    "streambound.history",
    "streambound.spark",
    "streambound.tasks",
)


def described(dag: Any) -> dict[str, Any]:
    return {
        "doc_md": dag.doc_md,
        "owner": dag.owner,
        "tags": sorted(dag.tags),
        "catchup": dag.catchup,
        "start_date": dag.start_date and dag.start_date.isoformat(),
        "max_active_runs": dag.max_active_runs,
        "params": {name: parameter(dag.params.get_param(name)) for name in dag.params},
        "timetable": type(dag.timetable).__name__,
        "next_run": next_run(dag),
        "backfill": backfill(dag),
        "waits_for": str(getattr(dag.timetable, "asset_condition", "")),
        "tasks": {
            task.task_id: {
                "owner": task.owner,
                "retries": task.retries,
                "backoff": task.retry_exponential_backoff,
                "timeout": task.execution_timeout and task.execution_timeout.total_seconds(),
                "pool": task.pool,
                "weight": task.priority_weight,
                "rule": str(task.trigger_rule),
                "outlets": [asset.name for asset in task.outlets],
                "inlets": [asset.name for asset in task.inlets],
                "application": getattr(unmapped(task), "application", None),
                "submitted_as": getattr(unmapped(task), "name", None),
                "map_name": getattr(task, "map_index_template", None),
            }
            for task in dag.tasks
        },
    }


def unmapped(task: Any) -> Any:
    """A task as each of those that it is mapped to."""
    return task.unmap({"application_args": []}) if "application_args" in mapped_over(task) else task


def mapped_over(task: Any) -> Any:
    """The arguments that a task is mapped over."""
    return getattr(getattr(task, "expand_input", None), "value", ())


def parameter(param: Any) -> dict[str, Any]:
    return {**param.schema, "description": param.description}


def assets(bag: Any) -> list[Any]:
    tasks = [task for dag in bag.dags.values() for task in dag.tasks]
    return [asset for task in tasks for asset in (*task.outlets, *task.inlets)]


def next_run(dag: Any) -> str | None:
    """When the scheduler would first run a DAG that is unpaused now."""
    from airflow.serialization.serialized_objects import DagSerialization

    scheduled = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    info = scheduled.next_dagrun_info(last_automated_run_info=None)
    return info and info.run_after.isoformat()


def backfill(dag: Any) -> list[str] | None:
    """The logical dates of a backfill from the second to the fourth; None where Airflow refuses one."""
    from airflow.serialization.serialized_objects import DagSerialization

    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    kinds = stored.allowed_run_types
    if not stored.timetable.periodic or (kinds is not None and "backfill" not in map(str, kinds)):
        return None
    first, last = (dt.datetime(2013, 1, day, tzinfo=dt.UTC) for day in (2, 5))
    return [str(info.logical_date) for info in stored.iter_dagrun_infos_between(first, last)]


def main() -> None:
    from airflow.dag_processing.dagbag import DagBag

    for variables in map(json.loads, sys.argv[2:] or ["{}"]):
        child = os.fork()
        if not child:
            os.environ.update(variables)
            print("\n" + json.dumps(probed(DagBag)), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit("a process that parses the DAGs failed")


def probed(dag_bag: Any) -> dict[str, Any]:
    imported = set(sys.modules)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked, began = dt.datetime.now(dt.UTC), time.process_time()
        bag = dag_bag(sys.argv[1])
        seconds = time.process_time() - began
    new = set(sys.modules) - imported
    return {
        "errors": bag.import_errors,
        "warnings": [str(w.message) for w in caught]
        + [str(w) for captured in bag.captured_warnings.values() for w in captured],
        "asked": asked.isoformat(),
        "seconds": seconds,
        "heavy": sorted(name for name in HEAVY if name in new),
        "dags": {dag_id: described(dag) for dag_id, dag in bag.dags.items()},
        "assets": {asset.name: [asset.uri, asset.group, asset.extra] for asset in assets(bag)},
    }


if __name__ == "__main__":
    main()
