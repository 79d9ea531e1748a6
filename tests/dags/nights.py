"""Runs DAGs one after the other and prints how each ended, as JSON; arguments: DAG, its conf, and so on.

Applications are called with the arguments that spark-submit would hand over, in this process, so that all
share a Java process; with ``--submit`` first they are submitted.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

DAGS = Path(__file__).resolve().parents[2] / "dags"


def call_applications() -> None:
    """Let the operator call an application instead of submitting it."""
    from airflow.sdk.exceptions import AirflowException

    from streambound_airflow.spark_submit import EvaluateHistoryOperator

    def execute(self: Any, context: Any) -> None:
        spec = importlib.util.spec_from_file_location("application", self.application)
        assert spec is not None and spec.loader is not None
        application = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(application)
        code = application.main(self.application_args)
        if code:
            raise AirflowException(f"{self.application} ended with {code}")

    os.environ["STREAMBOUND_SPARK_MASTER"] = "local[2]"
    EvaluateHistoryOperator.execute = execute  # type: ignore[method-assign]


def main(arguments: list[str]) -> None:
    from airflow.dag_processing.dagbag import DagBag

    if arguments[0] == "--submit":
        arguments = arguments[1:]
    else:
        call_applications()
    found = []
    for dag_id, conf in zip(arguments[::2], arguments[1::2], strict=True):
        dag = DagBag(str(DAGS / f"{dag_id}.py")).dags[dag_id]
        run = dag.test(run_conf=json.loads(conf))
        tasks = {task.task_id: str(task.state) for task in run.get_task_instances()}
        found.append({"run_id": run.run_id, "state": str(run.state), "tasks": tasks})
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
