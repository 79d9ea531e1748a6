"""The assets that the DAGs emit and wait for."""

from __future__ import annotations

from airflow.sdk import Asset

GROUP = "streambound"

FLIGHT_HISTORY = Asset("flight_history", uri="x-streambound://streams/flights", group=GROUP)
# One event a month of which a day is new or has changed, with the month as its partition key. An event a day
# would keep an SQLite database locked for longer than Airflow's other processes wait, where a year arrives.
FLIGHT_MONTHS = Asset("flight_months", uri="x-streambound://streams/flights/months", group=GROUP)
ABSTRACT_HISTORY = Asset("abstract_history", uri="x-streambound://streams/abstract", group=GROUP)
VERDICTS = Asset("verdicts", uri="x-streambound://results/verdicts", group=GROUP)
# One event a query, with its name as partition key.
SYNOPSES = Asset("synopses", uri="x-streambound://results/synopses", group=GROUP)
# The policies that a benchmark of caches chose for unbounded queries.
CACHE_CHOICES = Asset("cache_choices", uri="x-streambound://results/cache-choices", group=GROUP)
ANSWERS = Asset("answers", uri="x-streambound://results/answers", group=GROUP)
