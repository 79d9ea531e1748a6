"""Ingest of the 2013 New York departures: published files in, time-partitioned Parquet streams out.

Departures, arrivals and cancellations of flights, hourly weather, each in folders ``date=YYYY-MM-DD`` by UTC
day of the application timestamp; planes, airports and airlines as single files. The same
input gives the same bytes; a partition appears whole or not at all. docs/data.md states the choices.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from streambound.demo import flight_times, nycflights
from streambound.demo.flight_streams import STREAMS, Events, statics, streams
from streambound.demo.nycflights import Source
from streambound.errors import DataError
from streambound.storage.parquet import FILE_NAME, drop_stale, write_table


@dataclass(frozen=True)
class Written:
    """What was written of one relation: rows, and partitions (1 for a static relation)."""

    relation: str
    rows: int
    partitions: int


@dataclass(frozen=True)
class IngestReport:
    """What an ingest wrote, and everything that it could not use as published.

    All counts are of the days ingested. ``diverted``: departures whose arrival at the destination is not
    known. ``arrivals_withheld``: arrivals whose published times contradict each other or whose destination
    has no time zone. ``clock_disagreements``: flights whose published local clock differs from the
    moment that schedule and delay give. ``implausible_winds``: readings replaced by NULL.
    """

    written: tuple[Written, ...]
    diverted: int
    arrivals_withheld: int
    clock_disagreements: int
    implausible_winds: int
    tailnums_missing: int
    tailnums_without_plane: int
    destinations_without_airport: int

    def rows(self, relation: str) -> int:
        """Rows written of that relation; 0 for an unknown one."""
        return sum(w.rows for w in self.written if w.relation == relation)

    @property
    def flights(self) -> int:
        """Flights that left or were cancelled: each is in exactly one of the two streams."""
        return self.rows("departures") + self.rows("cancellations")

    @property
    def cancelled(self) -> int:
        """Flights that never left."""
        return self.rows("cancellations")


def _silent(message: str) -> None:
    return None


def ingest(
    target: Path,
    first: dt.date | None = None,
    last: dt.date | None = None,
    progress: Callable[[str], None] = _silent,
    source: Path | None = None,
) -> IngestReport:
    """Write the streams below ``target`` and say what was written.

    Args:
        target: folder of the streams; one folder a relation is made in it.
        first: first UTC day whose partitions are written; None for all before ``last``.
        last: last UTC day, included. Partitions outside the range stay as they are.
        progress: told, in a sentence, what has been done.
        source: folder of the published files; by default the installed package's.

    Raises:
        DataError: a file is missing or unreadable, contradicts itself, or the range is reversed or
            holds nothing.
        StorageError: the disk refuses.
    """
    if first and last and last < first:
        raise DataError(f"the range ends on {last} but starts on {first}", fix="exchange the two dates")
    published = nycflights.read(source)
    verify(published)
    progress(f"read {len(published.flights):,} flights")
    events_of_all = streams(published)
    chosen = [events.between(first, last) for events in events_of_all]
    here = any(_present(target / name, first, last) for name in STREAMS)
    if not here and not any(len(events.rows) for events in chosen):
        raise _nothing_published(first, last, events_of_all)
    written = [_write_stream(target, events, first, last, progress) for events in chosen]
    written += _write_statics(target, published, progress)
    return _report(tuple(written), dict(zip(STREAMS, chosen, strict=True)), published)


def _nothing_published(first: dt.date | None, last: dt.date | None, published: Iterable[Events]) -> DataError:
    days = [day for events in published for day in events.days]
    return DataError(
        f"nothing was published of the days from {first or 'the first'} to {last or 'the last'}",
        accepted=f"days from {min(days)} to {max(days)}" if days else None,
        fix="choose other days",
    )


def verify(source: Source) -> None:
    """Check that the local date, hour and minute agree with the UTC hour, and the schedule with both.

    Raises:
        DataError: naming the file, how many rows disagree, and the first.
    """
    flights = source.flights
    _agree("flights.csv", _hour_disagrees(flights), "year, month, day, hour and time_hour")
    scheduled = flights.hour * 100 + flights.minute
    _agree("flights.csv", scheduled != flights.sched_dep_time, "hour, minute and sched_dep_time")
    _agree("weather.csv", _hour_disagrees(source.weather), "year, month, day, hour and time_hour")


def _hour_disagrees(frame: pd.DataFrame) -> pd.Series[bool]:
    try:
        hours = pd.to_datetime(frame.time_hour, utc=True, format="ISO8601")
    except ValueError as error:
        raise DataError(f"time_hour cannot be read: {error}", fix=nycflights.CURE) from None
    local = hours.dt.tz_convert(flight_times.NEW_YORK).dt
    parts = {"year": local.year, "month": local.month, "day": local.day, "hour": local.hour}
    wrong = [(frame[name] != part).fillna(True).astype(bool) for name, part in parts.items()]
    return pd.concat(wrong, axis=1).any(axis=1)


def _agree(file: str, disagrees: pd.Series[bool], columns: str) -> None:
    wrong = disagrees.fillna(True).to_numpy(dtype=bool)
    if wrong.any():
        raise DataError(
            f"{columns} disagree in {wrong.sum():,} rows, first in data row {wrong.argmax() + 1:,}",
            subject=file,
            fix=nycflights.CURE,
        )


def _write_stream(
    target: Path, events: Events, first: dt.date | None, last: dt.date | None, progress: Callable[[str], None]
) -> Written:
    folder, days = target / events.name, events.days
    for day in days:
        write_table(events.between(day, day).table, folder / _partition(day) / FILE_NAME)
    drop_stale(folder, _present(folder, first, last), {_partition(day) for day in days})
    progress(f"{events.name}: {len(events.rows):,} rows in {len(days)} daily partitions")
    return Written(events.name, len(events.rows), len(days))


def _partition(day: dt.date) -> str:
    return f"date={day.isoformat()}"


def _present(folder: Path, first: dt.date | None, last: dt.date | None) -> list[str]:
    low, high = _partition(first or dt.date.min), _partition(last or dt.date.max)
    return [path.name for path in folder.glob("date=*") if low <= path.name <= high]


def _write_statics(target: Path, source: Source, progress: Callable[[str], None]) -> list[Written]:
    written = []
    for name, table in statics(source).items():
        write_table(table, target / name / FILE_NAME)
        written.append(Written(name, table.num_rows, 1))
        progress(f"{name}: {table.num_rows:,} rows")
    return written


def _report(written: tuple[Written, ...], events: dict[str, Events], source: Source) -> IngestReport:
    left, landed = events["departures"].rows, events["arrivals"].rows
    flights = pd.concat([left, events["cancellations"].rows])
    tails = flights.tailnum.dropna()
    return IngestReport(
        written=written,
        diverted=int(left.arr_delay.isna().sum()),
        arrivals_withheld=int(left.arrival_withheld.sum()),
        clock_disagreements=int(left.departure_clock_disagrees.sum() + landed.arrival_clock_disagrees.sum()),
        implausible_winds=int(events["weather"].rows.implausible_wind.sum()),
        tailnums_missing=int(flights.tailnum.isna().sum()),
        tailnums_without_plane=int((~tails.isin(source.planes.tailnum)).sum()),
        destinations_without_airport=int((~flights.dest.isin(source.airports.faa)).sum()),
    )
