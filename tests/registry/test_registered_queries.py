"""Every registered query: it parses, says whose it is, and gets the verdict that its description claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound import settings
from streambound.boundedness.exact import exact
from streambound.compiler import decided, parsed
from streambound.query.catalog import load_catalog
from streambound.query.registry import metadata

REGISTRY = settings.project_root() / "include" / "registry"
CATALOG = load_catalog(REGISTRY / "streams.yml")

BOUNDED = [
    "cancelled_then_very_late",
    "carriers_by_origin",
    "departures_in_snow",
    "late_after_low_visibility",
    "late_departures",
    "late_in_fog",
    "late_to_the_mountains",
    "longer_than_ten_hours",
    "poor_visibility",
    "rebooking",
    "storm_flown_and_cancelled",
    "time_made_up",
    "wide_bodies",
    "cancelled_without_replacement",
    "delay_by_wind",
    "first_flight_of_the_day",
    "hourly_cancellations",
    "hourly_departures",
    "on_time_share",
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
    "flight_recovery",
    "rotation_delays",
    "stranded_destinations",
    "tail_numbers_seen",
    "weather_at_departure",
    "departures_by_plane",
    "first_flight_ever",
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
    claimed = "bounded" if name in BOUNDED else "unbounded"
    job = decided(parsed(sql_of(name), CATALOG, name))
    assert job.verdict.outcome.value == claimed
    # Of one conjunction the criterion alone says the same as the statement's decision.
    assert job.query is None or exact(job.query).outcome.value == claimed


@pytest.mark.parametrize("name", BOUNDED + UNBOUNDED)
def test_owner_and_description(name: str) -> None:
    notes = dict(metadata(sql_of(name)))
    assert notes["owner"] and notes["description"].endswith(".")
