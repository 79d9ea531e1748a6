"""What an Airflow task process does: the operator of the DAGs submits the application and follows it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    from streambound_airflow.spark_submit import EvaluateHistoryOperator

    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    EvaluateHistoryOperator(
        task_id="evaluate",
        conn_id="spark_default",
        application=str(ROOT / "spark_apps" / "evaluate_history.py"),
        env_vars={"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
    ).execute({})


if __name__ == "__main__":
    main()
