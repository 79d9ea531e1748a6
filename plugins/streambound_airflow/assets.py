"""The assets that the DAGs emit and wait for."""

from __future__ import annotations

from airflow.sdk import Asset

GROUP = "streambound"

FLIGHT_HISTORY = Asset("flight_history", uri="x-streambound://streams/flights", group=GROUP)
# One event a day that is new or has changed, with the day as its partition key.
FLIGHT_DAYS = Asset("flight_days", uri="x-streambound://streams/flights/days", group=GROUP)
ABSTRACT_HISTORY = Asset("abstract_history", uri="x-streambound://streams/abstract", group=GROUP)
VERDICTS = Asset("verdicts", uri="x-streambound://results/verdicts", group=GROUP)
# One event a query, with its name as partition key.
SYNOPSES = Asset("synopses", uri="x-streambound://results/synopses", group=GROUP)
ANSWERS = Asset("answers", uri="x-streambound://results/answers", group=GROUP)
