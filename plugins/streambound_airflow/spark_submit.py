"""spark-submit of the applications over registered queries."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from streambound import settings
from streambound_airflow.links import ResultsLink

if TYPE_CHECKING:
    from airflow.sdk import Context

# What the application exits with when a query or its input is at fault; the others are evaluated.
SOME_FAILED = "Error code is: 2."


class EvaluateHistoryOperator(SparkSubmitOperator):
    """Submits ``spark_apps/evaluate_history.py``; queries that failed are left to the task that records.

    Trying again cannot help a query whose input is bad, and would evaluate all the others again.

    Args:
        given: as ``SparkSubmitOperator`` takes it, in place of what all submissions have in common.
    """

    script: ClassVar[str] = "evaluate_history"
    operator_extra_links = (ResultsLink(),)

    def __init__(self, **given: Any) -> None:
        in_common: dict[str, Any] = {
            "application": str(settings.project_root() / "spark_apps" / f"{self.script}.py"),
            "conn_id": "spark_default",
            "pool": "spark",
            "name": f"streambound-{self.script.replace('_', '-')}",
            # The driver and its workers must be the Python that has streambound installed.
            "env_vars": {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
            "execution_timeout": timedelta(hours=2),
        }
        super().__init__(**{**in_common, **given})

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

    script: ClassVar[str] = "benchmark_caches"
