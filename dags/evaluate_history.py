"""
### The bounded queries over the history, on Spark

1. **choose**: the chosen queries whose newest verdict is *bounded*, and equijoins whose file has
   the line `-- cache size: N`: these are evaluated in N tuples of memory, under the policy that
   `benchmark_caches` chose last, and recorded with the share of their results that is kept. The others are
   named with the reason.
2. **quality**: one mapped task a stream that these queries read. A partition that breaks a promise of
   the catalog is named and **kept out**, unless *Include failed partitions* is switched on.
3. **evaluate**: one Spark application for all queries; a partition that several queries read is read once.
   With `STREAMBOUND_SHARDS=N` it is mapped over N applications, each with its part of the queries.
   Only partitions that are new or have changed are read, and the evaluation takes up the last checkpoint
   before them; the log says which. *Recompute* reads everything.
4. **record**: the answers are checked and recorded with the partitions that are missing; Data Docs are built.
   Then **announce** emits `answers`, unless *Announce* is switched off.
5. **all_answered** fails naming every query that could not be evaluated or whose answers are wrong. The
   others are recorded by then.

Answers are in `answers/QUERY`, checkpoints in `checkpoints/QUERY` (`streambound state QUERY`), quality
pages in `quality/docs/index.html`, below the working folder.

**Schedule**: whenever `validate_queries` has emitted `verdicts` or `benchmark_caches` has emitted
`cache_choices`, and every night at 04:00 UTC. The DAG has no
start date and does not catch up: when it is unpaused for the first time nothing runs until the next night or
the next verdicts. When it is unpaused again after a pause that missed nights, the latest missed night runs
once.

**Backfill**: each run evaluates the history up to its own day, in order. Answers of later days that are
published already are not taken back.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, TriggerRule, dag, task

from streambound_airflow import alerts, assets, forms
from streambound_airflow.assets import ANSWERS, CACHE_CHOICES, HISTORIES, SYNOPSES, VERDICTS
from streambound_airflow.operators import StreamQualityOperator
from streambound_airflow.spark_submit import ANSWERS_FIRST, SCHEDULED, EvaluateHistoryOperator

READS = [VERDICTS, CACHE_CHOICES, SYNOPSES, *HISTORIES]
NIGHTLY = CronTriggerTimetable("0 4 * * *", timezone="UTC", run_immediately=timedelta(0))


@dag(
    dag_id="evaluate_history",
    doc_md=__doc__,
    schedule=AssetOrTimeSchedule(timetable=NIGHTLY, assets=VERDICTS | CACHE_CHOICES),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    default_args=forms.DEFAULTS,
    tags=["streambound", "queries", "spark"],
    params={
        "queries": forms.queries(),
        **forms.days(),
        "include_failed_partitions": forms.switch(
            False,
            "Include failed partitions",
            "Evaluate partitions that failed their quality checks all the same. One that cannot be read "
            "fails the queries that need it.",
        ),
        "recompute": forms.switch(
            False,
            "Recompute",
            "Read and evaluate everything, whatever is checkpointed, and take in what is in quarantine.",
        ),
        "announce": forms.announce("benchmark_caches, for all queries, if histories have arrived since"),
    },
)
def evaluate_history() -> None:
    @task
    def choose(**context: Any) -> list[str]:
        from streambound_airflow.backfill import form_of, never_back
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.recording import JOB
        from streambound_airflow.runs import record_start
        from streambound_airflow.selection import select_days

        with reported():
            form, store = form_of(context), results()
            reads = select_days(store, form["queries"], form["from"], form["to"])
            form = never_back(form, context["params"]["to"], reads)
            record_start(store, context["run_id"], JOB, form)
        # Airflow maps over a task's own return value only.
        context["ti"].xcom_push(key="reads", value=reads)
        context["ti"].xcom_push(key="form", value=form)
        return sorted(set().union(*reads.values()))

    # Streams that could not be checked cost the queries that read them, not the others.
    @task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
    def keep_out(
        reads: dict[str, list[str]], checked: Any, form: dict[str, Any], **context: Any
    ) -> list[list[str]]:
        from streambound_airflow import selection
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.recording import JOB

        run_id, include_failed = context["run_id"], form["include_failed_partitions"]
        with reported():
            chosen = selection.keep_out(results(), JOB, run_id, reads, checked, include_failed)
            arguments = selection.spark_arguments(JOB, run_id, chosen["reads"], form)
        context["ti"].xcom_push(key="chosen", value=chosen)
        return arguments

    @task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
    def record(chosen: dict[str, Any], **context: Any) -> dict[str, Any]:
        from streambound_airflow import recording
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        with reported():
            return recording.record(results(), context["run_id"], chosen)

    @task(inlets=READS, outlets=[ANSWERS])
    def announce(summary: dict[str, Any], **context: Any) -> None:
        assets.announce(context, ANSWERS, summary)

    @task(trigger_rule=TriggerRule.ALL_DONE, **alerts.callbacks())
    def all_answered(summary: dict[str, Any] | None, **context: Any) -> None:
        from streambound_airflow import recording
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        with reported():
            recording.conclude(results(), context["run_id"], summary)

    streams = choose()
    quality = StreamQualityOperator.partial(
        task_id="quality",
        first="{{ ti.xcom_pull(task_ids='choose', key='form')['from'] or '' }}",
        last="{{ ti.xcom_pull(task_ids='choose', key='form')['to'] or '' }}",
        map_index_template="{{ task.stream }}",
    ).expand(stream=streams)
    kept = keep_out(streams["reads"], quality.output, streams["form"])
    evaluate = EvaluateHistoryOperator.partial(
        task_id="evaluate",
        priority_weight=ANSWERS_FIRST,
        map_index_template="{{ task.title }}",
        **SCHEDULED,
    ).expand(application_args=kept)
    recorded = record(kept["chosen"])
    evaluate >> recorded
    announce(recorded)
    all_answered(recorded)


evaluate_history()
