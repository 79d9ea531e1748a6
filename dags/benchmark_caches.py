"""
### Which tuples are worth keeping, for queries that no finite memory answers in full

1. **choose**: the chosen queries that are equijoins and need a cache; others are named, with why. A form
   that contradicts itself (more days held out than there are) is refused here, before anything runs.
2. **benchmark**: one Spark application. It reads the last *Days* of the streams, learns from all but the
   *held out* ones, and replays these under every policy at every size; the optimum is the ceiling. For each
   query and size it chooses the policy that keeps the most, the simpler one if they cannot be told apart.
3. **record**: what each policy kept, which is chosen and why, what an evaluation's own estimate is worth, and
   which streams have left their models; then **announce** emits `cache_choices`, which starts
   `evaluate_history` for all queries, unless *Announce* is switched off.
4. **check**: no policy beats the optimum, shares lie from 0 to 1, no cell is missing, one choice a size, and
   estimates hold. Data Docs are built.
5. **all_chosen** fails naming every query that has no new choice.

The choices are in `caches/QUERY.json`, below the working folder; `evaluate_history` uses them for queries
whose file has the line `-- cache size: N`. **A benchmark that fails leaves the earlier choice standing.**

**Schedule**: whenever flights have been ingested and answers have been published since the last benchmark
that these assets started (`flight_history`, which is `history` without the demo, and `answers`), and every
night at 03:00 UTC. The DAG has no start date and does not catch up: when it is unpaused for the first time
nothing runs until then. When it is unpaused again after a pause that missed nights, the latest missed night
runs once.

**Backfill**: each run looks at the history up to its own day, in order; the choices of the last run stand
until the next night.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, TriggerRule, dag, task

from streambound.approximate.nightly import defaults
from streambound.approximate.policies import POLICIES
from streambound_airflow import alerts, assets, forms
from streambound_airflow.assets import ANSWERS, CACHE_CHOICES, HISTORIES
from streambound_airflow.spark_submit import BenchmarkCachesOperator

NIGHTLY = CronTriggerTimetable("0 3 * * *", timezone="UTC", run_immediately=timedelta(0))


@dag(
    dag_id="benchmark_caches",
    doc_md=__doc__,
    # Both: its choices start an evaluation, whose answers alone must not start the next benchmark.
    schedule=AssetOrTimeSchedule(timetable=NIGHTLY, assets=HISTORIES[0] & ANSWERS),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    default_args=forms.DEFAULTS,
    tags=["streambound", "queries", "spark"],
    params={
        "queries": forms.queries("Unbounded equijoins; all of them if none is chosen."),
        "streams": forms.several(
            forms.stream_names(), "Streams", "Only queries that read one of these; any if none is chosen."
        ),
        "sizes": forms.sizes(list(defaults.SIZES)),
        "policies": forms.several(
            list(POLICIES), "Policies", "Policies that take part; all of them if none is chosen."
        ),
        "days": forms.whole(
            defaults.DAYS, "Days", "How many of the newest days of history are looked at.", (2, 3_660)
        ),
        "held_out": forms.whole(
            defaults.HELD_OUT,
            "Held out",
            "How many of these, the last, policies are judged by; fewer than Days.",
            (1, 3_659),
        ),
        "runs": forms.whole(defaults.RUNS, "Runs", "How often a policy runs that draws lots.", (1, 1_000)),
        "to": forms.day("To", "Last UTC day that is looked at; empty for the history's last."),
        "announce": forms.announce("evaluate_history, for all queries"),
    },
)
def benchmark_caches() -> None:
    @task
    def choose(**context: Any) -> list[str]:
        from airflow.sdk.exceptions import AirflowSkipException

        from streambound_airflow import caches
        from streambound_airflow.backfill import form_of
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.runs import record_start

        run_id = context["run_id"]
        with reported():
            form = form_of(context)
            names = caches.choose(form)
            if not names:
                reason = "no registered query is an equijoin over these streams that needs a cache"
                context["ti"].xcom_push(key="skipped", value=reason)
                raise AirflowSkipException(reason)
            record_start(results(), run_id, caches.JOB, form)
        context["ti"].xcom_push(key="arguments", value=caches.spark_arguments(run_id, names, form))
        return names

    @task
    def record(names: list[str], **context: Any) -> dict[str, Any]:
        from streambound_airflow import caches
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        with reported():
            return caches.record(results(), context["run_id"], names)

    @task(inlets=[HISTORIES[0]], outlets=[CACHE_CHOICES])
    def announce(summary: dict[str, Any], **context: Any) -> None:
        assets.announce(context, CACHE_CHOICES, summary)

    @task
    def check(**context: Any) -> dict[str, str]:
        from streambound_airflow import caches
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        with reported():
            return caches.check(results(), context["run_id"], context["params"])

    @task(trigger_rule=TriggerRule.ALL_DONE, **alerts.callbacks())
    def all_chosen(**context: Any) -> None:
        from airflow.sdk.exceptions import AirflowSkipException

        from streambound_airflow import caches
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported

        if reason := context["ti"].xcom_pull(task_ids="choose", key="skipped"):
            raise AirflowSkipException(reason)
        recorded, broken = (context["ti"].xcom_pull(task_ids=name) for name in ("record", "check"))
        with reported():
            caches.conclude(results(), context["run_id"], recorded, broken)

    names = choose()
    benchmark = BenchmarkCachesOperator(task_id="benchmark", application_args=names["arguments"])
    recorded = record(names)
    checked = check()
    benchmark >> recorded >> checked >> all_chosen()
    announce(recorded)


benchmark_caches()
