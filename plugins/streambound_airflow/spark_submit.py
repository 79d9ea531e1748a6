"""spark-submit of the applications over registered queries."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from streambound import settings
from streambound_airflow.links import ResultsLink

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

# What the application exits with when a query or its input is at fault; the others are evaluated.
SOME_FAILED = "Error code is: 2."
# In the pool, answers do not wait for benchmarks (Airflow adds the weights of all tasks that follow).
ANSWERS_FIRST = 20
# By what a task is scheduled: of one that is mapped Airflow knows only what ``partial`` is given.
SCHEDULED: dict[str, Any] = {"pool": "spark", "execution_timeout": timedelta(hours=2)}


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
            "name": f"streambound-{self.script.replace('_', '-')}",
            # The driver and its workers must be the Python that has streambound installed.
            "env_vars": {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
            **SCHEDULED,
        }
        super().__init__(**{**in_common, **given})

    @property
    def title(self) -> str:
        """Which part of the queries it evaluates."""
        given = (argument.partition("--shard=")[2] for argument in self.application_args or ())
        return next((f"shard {shard}" for shard in given if shard), "all queries")

    def execute(self, context: Context) -> None:
        """Submit the application and follow it."""
        # Not where DAGs are parsed, which is often.
        from streambound.spark.session import JAVA_OPTIONS, java_options

        options = os.environ.get(JAVA_OPTIONS, java_options())
        self.env_vars = {JAVA_OPTIONS: options, **(self.env_vars or {})}
        try:
            super().execute(context)
        except AirflowException as error:
            if SOME_FAILED not in str(error):
                raise
            self.log.warning("some queries could not be evaluated; the task that records names them")

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:
        """Histories, answers and checkpoints; called by Airflow's OpenLineage provider alone."""
        from streambound.projects.registry import registry_of
        from streambound_airflow.lineage import of_evaluation
        from streambound_airflow.recording import summary_of

        catalog = registry_of(settings.registry()).catalog
        return of_evaluation(summary_of(task_instance.dag_id, task_instance.run_id).values(), catalog)


class BenchmarkCachesOperator(EvaluateHistoryOperator):
    """Submits ``spark_apps/benchmark_caches.py`` in the same way: a query that failed keeps its choice."""

    script: ClassVar[str] = "benchmark_caches"

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:
        """Histories and choices; called by Airflow's OpenLineage provider alone."""
        from streambound.projects.registry import registry_of
        from streambound_airflow.caches import summary_of
        from streambound_airflow.lineage import of_benchmark

        nights = summary_of(task_instance.run_id)["nights"]
        return of_benchmark(nights, registry_of(settings.registry()))
