"""The real data, ingested once a session, and a small source folder to put odd flights into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from streambound.demo.flights import IngestReport, ingest

# Newark to Houston on New Year's morning: 05:15 in New York is 10:15 in UTC, 08:19 in Houston is 14:19.
PLAIN: dict[str, Any] = {
    **{"year": 2013, "month": 1, "day": 1, "hour": 5, "minute": 15, "time_hour": "2013-01-01T10:00:00Z"},
    **{"dep_time": 517, "sched_dep_time": 515, "dep_delay": 2},
    **{"arr_time": 830, "sched_arr_time": 819, "arr_delay": 11, "air_time": 227},
    **{
        "carrier": "UA",
        "flight": 1545,
        "tailnum": "N14228",
        "origin": "EWR",
        "dest": "IAH",
        "distance": 1400,
    },
}
HOUR: dict[str, Any] = {
    **{"origin": "EWR", "year": 2013, "month": 1, "day": 1, "hour": 1, "time_hour": "2013-01-01T06:00:00Z"},
    **{"temp": 39.02, "dewp": 26.06, "humid": 59.37, "wind_dir": 270, "wind_speed": 10.35702},
    **{"wind_gust": None, "precip": "0.01", "pressure": 1012.0, "visib": "0.25"},
}
PLANE = {
    **{"tailnum": "N14228", "year": 1999, "type": "Fixed wing multi engine", "manufacturer": "BOEING"},
    **{"model": "737-824", "engines": 2, "seats": 149, "speed": None, "engine": "Turbo-fan"},
}
AIRPORTS = [
    {
        "faa": "IAH",
        "name": "Houston",
        "lat": 29.98,
        "lon": -95.34,
        "alt": 97,
        "tz": -6,
        "tzone": "America/Chicago",
    },
    {
        "faa": "MIA",
        "name": "Miami",
        "lat": 25.79,
        "lon": -80.29,
        "alt": 8,
        "tz": -5,
        "tzone": "America/New_York",
    },
    {"faa": "XXX", "name": "Nowhere", "lat": 0.0, "lon": 0.0, "alt": 0, "tz": 0, "tzone": None},
]

MakeSource = Callable[..., Path]


@pytest.fixture
def make_source(tmp_path: Path) -> MakeSource:
    """A function that writes a source folder: each flight is ``PLAIN`` but for what is given."""

    def make(*flights: dict[str, Any], weather: tuple[dict[str, Any], ...] = ({},)) -> Path:
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        tables = {
            "flights": [{**PLAIN, **flight} for flight in flights],
            "weather": [{**HOUR, **hour} for hour in weather],
            "planes": [PLANE],
            "airports": [{**airport, "dst": "A"} for airport in AIRPORTS],
            "airlines": [{"carrier": "UA", "name": "StatementEvaluation Air Lines Inc."}],
        }
        for name, rows in tables.items():
            pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False, na_rep="NA")
        return folder

    return make


@pytest.fixture(scope="session")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the ingest of the real data has filled."""
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="session")
def report(streams: Path) -> IngestReport:
    """What the ingest of the real data reported."""
    return ingest(streams)
