"""
### The state of every bounded query, brought up to date when partitions arrive

1. **choose**: the chosen queries whose newest verdict is *bounded*; the others are named with the reason.
2. **quality**: one mapped task a stream; partitions that break a promise are **kept out** by `keep_out`.
3. **materialize**: one Spark application for all queries, since they share the scan, or with
   `STREAMBOUND_SHARDS=N` one for each of N parts of them. It reads the partitions
   that are new or have changed, and commits the state at every partition boundary. Its log tells, as it goes,
   the markers, rows and state units of each query. A retry goes on from what was committed.
4. **synopsis**: one mapped task a query reads its newest checkpoint back, and emits `synopses` with the
   query's name as partition key. A query that failed fails here, alone.
5. **publish** starts `evaluate_history`, which reads nothing again, writes the final answers, checks and
   records them. Switch *Publish* off to leave that to its schedule.
6. **all_materialized** fails naming every query whose checkpoints are not up to date.

Published answers stay as they are until `evaluate_history`. One run at a time; an evaluation of the same
query that still runs elsewhere is waited for.

**Schedule**: whenever days of flights arrive or change (asset `flight_months`, one event a month with the
month as its partition key); what arrives together of one year is one run, whose partition key is the year.
Without the demo (`STREAMBOUND_DEMO=no`) whenever what writes the streams emits the asset `history`.
Such a run is skipped as long as a query has not been checked: the verdicts start its first evaluation.
The DAG has no start date: unpausing it starts nothing.

**Backfill**: Airflow offers none for a DAG without hours. Checkpoints tell which days are new: trigger
it, with *Recompute* for days that are not.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import PartitionedAssetTimetable, StartOfYearMapper, TriggerRule, dag, task

from streambound import settings
from streambound_airflow import alerts, forms
from streambound_airflow.assets import CACHE_CHOICES, FLIGHT_MONTHS, HISTORIES, HISTORY, SYNOPSES, VERDICTS
from streambound_airflow.operators import StreamQualityOperator
from streambound_airflow.spark_submit import ANSWERS_FIRST, SCHEDULED, EvaluateHistoryOperator

READS = [VERDICTS, CACHE_CHOICES, *HISTORIES]
BY_YEAR = StartOfYearMapper(input_format="%Y-%m")


@dag(
    dag_id="materialize_synopses",
    doc_md=__doc__,
    schedule=PartitionedAssetTimetable(assets=FLIGHT_MONTHS, default_partition_mapper=BY_YEAR)
    if settings.demo()
    else [HISTORY],
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    default_args=forms.DEFAULTS,
    tags=["streambound", "queries", "spark"],
    params={
        "queries": forms.queries(),
        **forms.days(),
        "include_failed_partitions": forms.switch(
            False, "Include failed partitions", "Take in partitions that failed their quality checks."
        ),
        "recompute": forms.switch(
            False,
            "Recompute",
            "Read and evaluate everything, whatever is checkpointed, and take in what is in quarantine.",
        ),
        "publish": forms.switch(True, "Publish", "Start evaluate_history for these queries afterwards."),
    },
)
def materialize_synopses() -> None:
    @task
    def choose(**context: Any) -> list[str]:
        from airflow.sdk.exceptions import AirflowSkipException

        from streambound_airflow import synopses
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.parameters import asked
        from streambound_airflow.runs import record_start
        from streambound_airflow.selection import select_days

        by_event = context["dag_run"].run_type == "asset_triggered"
        with reported():
            params, store = asked(context), results()
            if by_event and (waiting := synopses.unchecked(store, params["queries"])):
                reason = f"not checked yet: {', '.join(waiting)}; the verdicts start the evaluation"
                context["ti"].xcom_push(key="skipped", value=reason)
                raise AirflowSkipException(reason)
            reads = select_days(store, params["queries"], params["from"], params["to"])
            record_start(store, context["run_id"], synopses.JOB, params)
        context["ti"].xcom_push(key="reads", value=reads)
        return sorted(set().union(*reads.values()))

    # Streams that could not be checked cost the queries that read them, not the others.
    @task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
    def keep_out(reads: dict[str, list[str]], checked: Any, **context: Any) -> list[list[str]]:
        from streambound_airflow import selection
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.synopses import JOB

        run_id, params = context["run_id"], context["params"]
        with reported():
            include_failed = params["include_failed_partitions"]
            chosen = selection.keep_out(results(), JOB, run_id, reads, checked, include_failed)
            arguments = selection.spark_arguments(JOB, run_id, chosen["reads"], params, checkpoints_only=True)
        context["ti"].xcom_push(key="chosen", value=chosen)
        return arguments

    # Airflow maps over a task's own return value only.
    @task
    def taken_in(chosen: dict[str, Any]) -> list[str]:
        return sorted(chosen["reads"])

    @task(inlets=READS, outlets=[SYNOPSES], map_index_template="{{ query }}")
    def synopsis(query: str, **context: Any) -> dict[str, Any]:
        from streambound_airflow import synopses
        from streambound_airflow.failures import reported

        context["query"] = query
        with reported():
            synopsis = synopses.synopsis(context["run_id"], query)
        context["outlet_events"][SYNOPSES].add_partitions(query)
        context["outlet_events"][SYNOPSES].extra = synopsis
        return synopsis

    @task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
    def publishing(**context: Any) -> dict[str, Any]:
        from airflow.sdk.exceptions import AirflowSkipException

        params = context["params"]
        if not params["publish"]:
            raise AirflowSkipException("publishing is left to the schedule of evaluate_history")
        return {name: params[name] for name in ("queries", "from", "to", "include_failed_partitions")}

    @task(trigger_rule=TriggerRule.ALL_DONE, **alerts.callbacks())
    def all_materialized(**context: Any) -> None:
        from airflow.sdk.exceptions import AirflowSkipException

        from streambound_airflow import synopses
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        if reason := context["ti"].xcom_pull(task_ids="choose", key="skipped"):
            raise AirflowSkipException(reason)
        with reported():
            chosen = context["ti"].xcom_pull(task_ids="keep_out", key="chosen")
            synopses.conclude(results(), context["run_id"], chosen)

    streams = choose()
    quality = StreamQualityOperator.partial(
        task_id="quality",
        first="{{ params['from'] or '' }}",
        last="{{ params['to'] or '' }}",
        map_index_template="{{ task.stream }}",
    ).expand(stream=streams)
    kept = keep_out(streams["reads"], quality.output)
    materialize = EvaluateHistoryOperator.partial(
        task_id="materialize",
        priority_weight=ANSWERS_FIRST,
        name="streambound-materialize-synopses",
        map_index_template="{{ task.title }}",
        **SCHEDULED,
    ).expand(application_args=kept)
    done = synopsis.expand(query=taken_in(kept["chosen"]))
    conf = publishing()
    publish = TriggerDagRunOperator(task_id="publish", trigger_dag_id="evaluate_history", conf=conf)
    materialize >> done
    done >> conf >> publish
    done >> all_materialized()


materialize_synopses()
