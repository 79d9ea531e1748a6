"""What an Airflow task process does: the operator of the DAGs submits the application and follows it."""

from __future__ import annotations

import logging
import sys


def main() -> None:
    from streambound_airflow.spark_submit import EvaluateHistoryOperator

    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    EvaluateHistoryOperator(task_id="evaluate").execute({})


if __name__ == "__main__":
    main()
