"""The four event streams and three static relations, as Arrow tables in a canonical order.

An event holds only what is known when it happens: a departure says nothing of its arrival.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa

from streambound.demo import flight_times
from streambound.demo.nycflights import Source

# One knot in the source's miles an hour: it holds whole knots times this.
MILES_PER_HOUR_OF_A_KNOT = 1.15078
# The fastest gust ever measured is 220 knots; one hour at EWR claims a mean wind of 911.
LARGEST_KNOTS = 250

_MOMENT = pa.timestamp("us", tz="UTC")
_FLIGHT = {
    "carrier": pa.string(),
    "flight": pa.int32(),
    "flight_date": pa.date32(),
    "tailnum": pa.string(),
    "origin": pa.string(),
    "dest": pa.string(),
    "distance": pa.int32(),
    "scheduled_hour": pa.int32(),
    "weekday": pa.int32(),
}
_PLANNED = {"scheduled_departure_at": _MOMENT}

SCHEMAS: dict[str, pa.Schema] = {
    "departures": pa.schema({"departed_at": _MOMENT, **_FLIGHT, **_PLANNED, "dep_delay": pa.int32()}),
    "arrivals": pa.schema(
        {
            "arrived_at": _MOMENT,
            **_FLIGHT,
            **_PLANNED,
            "scheduled_arrival_at": _MOMENT,
            "dep_delay": pa.int32(),
            "arr_delay": pa.int32(),
            "air_time": pa.int32(),
        }
    ),
    "cancellations": pa.schema({**_PLANNED, **_FLIGHT}),
    "weather": pa.schema(
        {
            "observed_at": _MOMENT,
            "origin": pa.string(),
            "local_date": pa.date32(),
            "local_hour": pa.int32(),
            "temperature_f": pa.float64(),
            "dew_point_f": pa.float64(),
            "humidity": pa.float64(),
            "wind_direction": pa.int32(),
            "wind_knots": pa.int32(),
            "gust_knots": pa.int32(),
            "precipitation_inches": pa.decimal128(4, 2),
            "pressure_millibars": pa.float64(),
            "visibility_miles": pa.decimal128(4, 2),
        }
    ),
    "planes": pa.schema(
        {
            "tailnum": pa.string(),
            "year": pa.int32(),
            "type": pa.string(),
            "manufacturer": pa.string(),
            "model": pa.string(),
            "engines": pa.int32(),
            "seats": pa.int32(),
            "speed": pa.int32(),
            "engine": pa.string(),
        }
    ),
    "airports": pa.schema(
        {
            "faa": pa.string(),
            "name": pa.string(),
            "lat": pa.float64(),
            "lon": pa.float64(),
            "alt": pa.int32(),
            "tz": pa.int32(),
            "dst": pa.string(),
            "tzone": pa.string(),
        }
    ),
    "airlines": pa.schema({"carrier": pa.string(), "name": pa.string()}),
}
STREAMS = ("departures", "arrivals", "cancellations", "weather")
_CANONICAL = ["carrier", "flight", "origin", "dest", "scheduled_departure_at"]


@dataclass(frozen=True)
class Events:
    """A stream's table, sorted by its application timestamp (the first column), and the rows behind it."""

    name: str
    table: pa.Table
    rows: pd.DataFrame

    def until(self, day: dt.date) -> int:
        """How many rows have an application timestamp before that UTC day."""
        stamps = self.rows[self.table.column_names[0]]
        return int(stamps.searchsorted(pd.Timestamp(day, tz="UTC")))

    @property
    def days(self) -> list[dt.date]:
        """The UTC days that have rows, in order."""
        stamps = self.rows[self.table.column_names[0]]
        return [stamp.date() for stamp in stamps.dt.normalize().drop_duplicates()]

    def between(self, first: dt.date | None, last: dt.date | None) -> Events:
        """The rows of the UTC days from ``first`` to ``last``, both included."""
        start = self.until(first) if first else 0
        stop = self.until(last + dt.timedelta(days=1)) if last else len(self.rows)
        return Events(self.name, self.table.slice(start, stop - start), self.rows.iloc[start:stop])


def streams(source: Source) -> list[Events]:
    """The four streams of ``source``, in the order of ``STREAMS``."""
    flights = flight_times.with_times(source.flights, flight_times.zones(source.airports))
    flights = flights.assign(
        flight_date=pd.to_datetime(flights[["year", "month", "day"]]).dt.date,
        scheduled_hour=flights.hour,
        weekday=pd.to_datetime(flights[["year", "month", "day"]]).dt.dayofweek + 1,
    )
    return [
        _events("departures", flights[flights.departed_at.notna()], _CANONICAL),
        _events("arrivals", flights[flights.arrived_at.notna()], _CANONICAL),
        _events("cancellations", flights[flights.departed_at.isna()], _CANONICAL),
        _events("weather", _weather(source.weather), ["origin"]),
    ]


def statics(source: Source) -> dict[str, pa.Table]:
    """The three static relations of ``source``, each sorted by its key."""
    tables = {"planes": source.planes, "airports": _airports(source.airports), "airlines": source.airlines}
    return {name: _table(name, frame.sort_values(frame.columns[0])) for name, frame in tables.items()}


def _events(name: str, rows: pd.DataFrame, order: list[str]) -> Events:
    rows = rows.sort_values([SCHEMAS[name].names[0], *order], ignore_index=True)
    return Events(name, _table(name, rows), rows)


def _table(name: str, frame: pd.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(frame, schema=SCHEMAS[name], preserve_index=False)
    # The metadata that pandas adds names its version: the bytes would follow the installation.
    return table.replace_schema_metadata(None)


def _weather(weather: pd.DataFrame) -> pd.DataFrame:
    wind = knots(weather.wind_speed)
    implausible = (wind > LARGEST_KNOTS).fillna(False)
    return weather.rename(
        columns={
            "hour": "local_hour",
            "temp": "temperature_f",
            "dewp": "dew_point_f",
            "humid": "humidity",
            "wind_dir": "wind_direction",
            "pressure": "pressure_millibars",
        }
    ).assign(
        observed_at=pd.to_datetime(weather.time_hour, utc=True, format="ISO8601"),
        local_date=pd.to_datetime(weather[["year", "month", "day"]]).dt.date,
        wind_knots=wind.mask(implausible),
        gust_knots=knots(weather.wind_gust),
        precipitation_inches=weather.precip.map(Decimal, na_action="ignore"),
        visibility_miles=weather.visib.map(Decimal, na_action="ignore"),
        implausible_wind=implausible,
    )


def knots(miles_per_hour: pd.Series[Any]) -> pd.Series[Any]:
    """Whole knots, as the instruments report them."""
    exact: pd.Series[Any] = miles_per_hour / MILES_PER_HOUR_OF_A_KNOT
    return exact.round().astype("Int64")


def _airports(airports: pd.DataFrame) -> pd.DataFrame:
    names = flight_times.UNLISTED_AIRPORTS
    added = pd.DataFrame({"faa": list(names), "name": list(names.values())}).assign(
        tz=-4, dst="N", tzone=flight_times.UNLISTED_ZONE
    )
    absent = added[~added.faa.isin(airports.faa)].astype({"tz": "Int64"})
    return pd.concat([airports, absent], ignore_index=True)
