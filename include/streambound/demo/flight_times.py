"""When a flight left and arrived, in UTC, from local clocks and delays.

The source gives the scheduled departure's UTC hour, its minute, and two delays in minutes; the scheduled
arrival is a bare clock (``hhmm``) in the destination's zone, without a date. The date follows from the
order of things: the arrival is the first instant that shows that clock and leaves the flight the
time to cover its distance. One rule handles midnight, the date line, and the hour that autumn repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

NEW_YORK = "America/New_York"
# No airliner's schedule is faster over the ground (660 mph); the fastest of 2013 is 475 mph.
FASTEST_MILES_PER_MINUTE = 11.0
# From gate to gate less the time in the air: taxiing out, queueing, de-icing, taxiing in.
LONGEST_GROUND_MINUTES = 300

# The four destinations that the airports table lacks: code, name. All keep Atlantic time, without
# daylight saving.
UNLISTED_AIRPORTS = {
    "BQN": "Rafael Hernandez Airport",
    "PSE": "Mercedita Airport",
    "SJU": "Luis Munoz Marin International Airport",
    "STT": "Cyril E. King Airport",
}
UNLISTED_ZONE = "America/Puerto_Rico"


def zones(airports: pd.DataFrame) -> dict[str, str]:
    """The IANA zone of each airport that has one, by its code."""
    listed = airports.dropna(subset=["tzone"])
    return dict.fromkeys(UNLISTED_AIRPORTS, UNLISTED_ZONE) | dict(zip(listed.faa, listed.tzone, strict=True))


def minutes(values: pd.Series[Any]) -> pd.Series[Any]:
    """Whole minutes as time spans; a missing number stays missing."""
    return pd.to_timedelta(values.astype("Float64"), unit="m")


def minute_of_day(clock: pd.Series[Any]) -> pd.Series[Any]:
    """Minutes after midnight of a clock ``hhmm``; 2400 is midnight, what is no clock is missing."""
    valid = (clock.between(0, 2400) & (clock % 100 < 60)).fillna(False)
    since_midnight: pd.Series[Any] = ((clock // 100 * 60 + clock % 100) % 1440).where(valid)
    return since_midnight


def local_clock(moments: pd.Series[Any], zone: str) -> pd.Series[Any]:
    """Minutes after midnight that clocks in ``zone`` show at UTC ``moments``."""
    local = moments.dt.tz_convert(zone).dt
    clock: pd.Series[Any] = (local.hour * 60 + local.minute).astype("Int64")
    return clock


def first_instant(
    after: pd.Series[Any], clock: pd.Series[Any], zone: str, at_least: pd.Series[Any]
) -> pd.Series[Any]:
    """The first UTC instant, ``at_least`` after ``after``, at which clocks in ``zone`` show ``clock``.

    A clock that spring skips is read with the offset before the change, as PEP 495 does: 02:30 is what
    clocks then show as 03:30.

    Args:
        after: UTC moments.
        clock: ``hhmm``.
        zone: IANA name.
        at_least: time spans below one day.
    """
    midnight = after.dt.tz_convert(zone).dt.tz_localize(None).dt.normalize()
    wall = midnight + minutes(minute_of_day(clock))
    day = pd.Timedelta(days=1)
    candidates = [_instants(w, zone, dst) for w in (wall, wall + day) for dst in (True, False)]
    late_enough = pd.concat([c.where(c >= after + at_least) for c in candidates], axis=1)
    first: pd.Series[Any] = late_enough.min(axis=1)
    return first


def _instants(wall: pd.Series[Any], zone: str, dst: bool) -> pd.Series[Any]:
    repeated = np.full(len(wall), dst)
    local = wall.dt.tz_localize(zone, ambiguous=repeated, nonexistent=pd.Timedelta(hours=1))
    instants: pd.Series[Any] = local.dt.tz_convert("UTC")
    return instants


def with_times(flights: pd.DataFrame, zone_of: dict[str, str]) -> pd.DataFrame:
    """``flights`` with its four moments in UTC and what speaks against them.

    Adds ``scheduled_departure_at``, ``departed_at`` (missing: cancelled), ``scheduled_arrival_at``,
    ``arrived_at`` (missing: not known, or withheld), and the flags ``arrival_withheld``,
    ``departure_clock_disagrees`` and ``arrival_clock_disagrees`` (published clock against moment).
    """
    hour = pd.to_datetime(flights.time_hour, utc=True, format="ISO8601")
    scheduled = hour + minutes(flights.minute)
    departed = scheduled + minutes(flights.dep_delay)
    zone = flights.dest.map(zone_of)
    shortest = minutes(flights.distance / FASTEST_MILES_PER_MINUTE)
    due = _by_zone(
        zone,
        lambda name, rows: first_instant(
            scheduled.loc[rows], flights.sched_arr_time.loc[rows], name, shortest.loc[rows]
        ),
        like=scheduled,
    )
    arrived = due + minutes(flights.arr_delay)
    withheld = flights.arr_delay.notna() & ~_possible(departed, arrived, flights.air_time)
    arrived = arrived.mask(withheld)
    shown = _by_zone(zone, lambda name, rows: local_clock(arrived.loc[rows], name), like=flights.arr_time)
    return flights.assign(
        scheduled_departure_at=scheduled,
        departed_at=departed,
        scheduled_arrival_at=due,
        arrived_at=arrived,
        arrival_withheld=withheld,
        departure_clock_disagrees=_differ(local_clock(departed, NEW_YORK), flights.dep_time),
        arrival_clock_disagrees=_differ(shown, flights.arr_time),
    )


def _differ(shown: pd.Series[Any], published: pd.Series[Any]) -> pd.Series[Any]:
    differs: pd.Series[Any] = shown != minute_of_day(published)
    return differs.fillna(False)


def _possible(departed: pd.Series[Any], arrived: pd.Series[Any], air_time: pd.Series[Any]) -> pd.Series[Any]:
    """Whether the time between gates leaves a plausible time on the ground; false where unknown."""
    on_ground = arrived - departed - minutes(air_time)
    return on_ground.between(pd.Timedelta(0), pd.Timedelta(minutes=LONGEST_GROUND_MINUTES))


def _by_zone(
    zone: pd.Series[Any], compute: Callable[[str, Any], pd.Series[Any]], like: pd.Series[Any]
) -> pd.Series[Any]:
    """``compute(name, rows)`` for the rows of each zone, put together in the rows' own order.

    Rows without a zone get a missing value of the type of ``like``.
    """
    parts = [compute(str(name), rows) for name, rows in zone.groupby(zone).groups.items()]
    whole: pd.Series[Any] = pd.concat(parts or [like.iloc[:0]]).reindex(zone.index)
    return whole
