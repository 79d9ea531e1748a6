"""spark-submit of the applications over registered queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

if TYPE_CHECKING:
    from airflow.sdk import Context

# What the application exits with when a query or its input is at fault; the others are evaluated.
SOME_FAILED = "Error code is: 2."


class EvaluateHistoryOperator(SparkSubmitOperator):
    """Submits ``spark_apps/evaluate_history.py``; queries that failed are left to the task that records.

    Trying again cannot help a query whose input is bad, and would evaluate all the others again.
    """

    def execute(self, context: Context) -> None:
        """Submit the application and follow it."""
        try:
            super().execute(context)
        except AirflowException as error:
            if SOME_FAILED not in str(error):
                raise
            self.log.warning("some queries could not be evaluated; the task that records names them")


class BenchmarkCachesOperator(EvaluateHistoryOperator):
    """Submits ``spark_apps/benchmark_caches.py`` in the same way: a query that failed keeps its choice."""
