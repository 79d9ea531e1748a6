"""Runs DAGs one after the other and prints how each ended, as JSON; arguments: DAG, its conf, and so on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

DAGS = Path(__file__).resolve().parents[2] / "dags"


def main(arguments: list[str]) -> None:
    from airflow.dag_processing.dagbag import DagBag

    found = []
    for dag_id, conf in zip(arguments[::2], arguments[1::2], strict=True):
        dag = DagBag(str(DAGS / f"{dag_id}.py")).dags[dag_id]
        run = dag.test(run_conf=json.loads(conf))
        tasks = {task.task_id: str(task.state) for task in run.get_task_instances()}
        found.append({"run_id": run.run_id, "state": str(run.state), "tasks": tasks})
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
