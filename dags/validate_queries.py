"""
### Can the state of a registered query outgrow memory?

Checks every query in `include/registry/queries`, or the chosen ones, against `streams.yml`: one mapped task
a query, and of more than a hundred queries a hundred tasks of several each. The verdict, with its reasons, is
in the task's log, in its XCom and in the results database.

* An **unbounded** query is a finding: its task succeeds, unless *Fail on unbounded* is switched on.
* An **invalid** query fails its own task with one error; the others go on, their verdicts are recorded and
  the `verdicts` asset is emitted all the same. The run then ends as failed.
* The asset starts `evaluate_history` for all queries, whichever were checked. Switch *Announce* off to check
  and no more.

**Schedule**: every night at 02:00 UTC. The DAG has no start date and does not catch up: when it is unpaused
for the first time nothing runs until the next night. When it is unpaused again after a pause that
missed nights, the latest missed night runs once.

**Backfill**: refused. A verdict speaks of the registry as it is, so there is none of an earlier day.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import CronTriggerTimetable, Param, TriggerRule, dag, task

from streambound_airflow import alerts, assets, forms
from streambound_airflow.assets import VERDICTS
from streambound_airflow.operators import BoundedMemoryCheckOperator


@dag(
    dag_id="validate_queries",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 2 * * *", timezone="UTC", run_immediately=timedelta(0)),
    catchup=False,
    max_active_runs=1,
    allowed_run_types=forms.NOT_IN_BACKFILLS,
    dagrun_timeout=timedelta(hours=1),
    default_args={**forms.DEFAULTS, "execution_timeout": timedelta(minutes=5)},
    tags=["streambound", "queries"],
    params={
        "queries": forms.queries(),
        "criterion": Param(
            "exact",
            type="string",
            enum=["exact", "arasu", "schiff_ozcep"],
            title="Criterion",
            description="Exact decides every query, and evaluations go by it; the papers' criteria as "
            "printed are silent on some.",
        ),
        "fail_on_unbounded": forms.switch(
            False, "Fail on unbounded", "Whether an unbounded or undecided query fails its task."
        ),
        "announce": forms.announce("evaluate_history, for all queries"),
    },
)
def validate_queries() -> None:
    @task
    def choose(**context: Any) -> list[str]:
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.parameters import asked
        from streambound_airflow.runs import record_start
        from streambound_airflow.validation import JOB, chosen_queries, shared

        with reported():
            form = asked(context)
            names = chosen_queries(form["queries"])
            record_start(results(), context["run_id"], JOB, form)
        # Airflow maps over a task's own return value only.
        context["ti"].xcom_push(key="names", value=names)
        return shared(names)

    @task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS, **alerts.callbacks())
    def summarise(names: list[str], **context: Any) -> dict[str, int]:
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.validation import conclude

        with reported():
            strict = context["params"]["fail_on_unbounded"]
            return conclude(results(), context["run_id"], names, strict)

    @task(outlets=[VERDICTS])
    def announce(verdicts: dict[str, int], **context: Any) -> None:
        assets.announce(context, VERDICTS, verdicts)

    chosen = choose()
    checked = BoundedMemoryCheckOperator.partial(
        task_id="check",
        criterion="{{ params.criterion }}",
        fail_on_unbounded="{{ params.fail_on_unbounded }}",
        map_index_template="{{ task.title }}",
    ).expand(query=chosen)
    # A run whose queries did not all pass ends as failed, after everything has been recorded.
    verdicts = summarise(chosen["names"])
    checked >> [verdicts, EmptyOperator(task_id="all_passed")]
    announce(verdicts)


validate_queries()
