"""The assets that the DAGs emit and wait for: one producer each, and somebody who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset

from streambound import settings

GROUP = "streambound"


def _asset(name: str, path: str, about: str) -> Asset:
    return Asset(name, uri=f"x-streambound://{path}", group=GROUP, extra={"about": about})


FLIGHT_HISTORY = _asset(
    "flight_history", "streams/flights", "The flights of all ingested days as partitioned streams."
)
# One event a month of which a day is new or has changed, with the month as its partition key. An event a day
# would keep an SQLite database locked for longer than Airflow's other processes wait, where a year arrives.
FLIGHT_MONTHS = _asset(
    "flight_months", "streams/flights/months", "Months of which a day is new, has changed or is gone."
)
ABSTRACT_HISTORY = _asset("abstract_history", "streams/abstract", "The papers' streams S and T.")
# Of streams that are not the demo's: what writes them emits it, and knows it by its name and address.
HISTORY = _asset("history", "streams", "Partitions of streams that are new or have changed.")
# What is emitted when histories have grown, the first whenever they have.
HISTORIES = [FLIGHT_HISTORY, FLIGHT_MONTHS, ABSTRACT_HISTORY] if settings.demo() else [HISTORY]
VERDICTS = _asset("verdicts", "results/verdicts", "Which registered queries run in bounded memory, and why.")
# One event a query, with its name as partition key.
SYNOPSES = _asset("synopses", "results/synopses", "The newest checkpoint of each query's state.")
CACHE_CHOICES = _asset(
    "cache_choices", "results/cache-choices", "The policies that a benchmark chose for unbounded queries."
)
ANSWERS = _asset("answers", "results/answers", "What the queries answer over the history, and its quality.")


def announce(context: Mapping[str, Any], asset: Asset, extra: Any) -> None:
    """Lets a task emit an asset with its extra, unless the run's form says that it starts nothing.

    Raises:
        AirflowSkipException: it says so.
    """
    from airflow.sdk.exceptions import AirflowSkipException

    if not context["params"]["announce"]:
        raise AirflowSkipException(f"{asset.name} is not announced: the form says so")
    context["outlet_events"][asset].extra = extra
