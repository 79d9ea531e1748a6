"""Every registered query: it parses, says whose it is, and gets the verdict that its description claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound import settings
from streambound.compiler.report import check
from streambound.query.catalog import load_catalog
from streambound.query.registry import metadata

REGISTRY = settings.project_root() / "include" / "registry"
CATALOG = load_catalog(REGISTRY / "streams.yml")

BOUNDED = [
    "cancelled_then_very_late",
    "cancelled_without_replacement",
    "carriers_by_origin",
    "delay_by_wind",
    "departures_in_snow",
    "first_flight_of_the_day",
    "hourly_cancellations",
    "hourly_departures",
    "late_after_low_visibility",
    "late_departures",
    "late_in_fog",
    "late_to_the_mountains",
    "later_flights_there",
    "longer_than_ten_hours",
    "on_time_share",
    "poor_visibility",
    "rebooking",
    "storm_flown_and_cancelled",
    "time_made_up",
    "wide_bodies",
    "worst_routes",
    "q1_all",
    "q3",
    "q4_distinct",
    "q5",
    "q6_distinct",
    "q7_distinct",
    "q9_distinct",
]
UNBOUNDED = [
    "aircraft_rotation",
    "delay_pairs",
    "departures_by_plane",
    "first_flight_ever",
    "flight_recovery",
    "rotation_delays",
    "stranded_destinations",
    "tail_numbers_seen",
    "weather_at_departure",
    "q1_distinct",
    "q2",
    "q4_all",
    "q6_all",
    "q7_all",
    "q8",
    "q9_all",
]


def sql_of(name: str) -> str:
    return (REGISTRY / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def test_every_file_is_expected_here() -> None:
    files: list[Path] = sorted((REGISTRY / "queries").glob("*.sql"))
    assert [file.stem for file in files] == sorted(BOUNDED + UNBOUNDED)


@pytest.mark.parametrize("name", BOUNDED + UNBOUNDED)
def test_verdict(name: str) -> None:
    verdict = check(sql_of(name), CATALOG, name=name, suggest=False).verdict
    assert verdict == ("bounded" if name in BOUNDED else "unbounded")


@pytest.mark.parametrize("name", BOUNDED + UNBOUNDED)
def test_owner_and_description(name: str) -> None:
    notes = dict(metadata(sql_of(name)))
    assert notes["owner"] and notes["description"].endswith(".")
