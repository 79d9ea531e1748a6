"""Airflow's own home for these tests, set before anything imports airflow."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="streambound-airflow-"))
os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    }
)


@pytest.fixture(scope="session", autouse=True)
def airflow_home() -> Iterator[Path]:
    yield HOME
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a results database of the test's own, named by the Airflow connection."""
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.delenv("STREAMBOUND_DATABASE_URL", raising=False)
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)
    connection = {"conn_type": "generic", "extra": {"url": f"sqlite:///{tmp_path}/connected.db"}}
    monkeypatch.setenv("AIRFLOW_CONN_STREAMBOUND_DB", json.dumps(connection))
    return tmp_path


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with the project's catalog and four small queries."""
    folder = tmp_path / "registry"
    (folder / "queries").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "registry" / "streams.yml", folder)
    queries = {
        "bounded": "SELECT DISTINCT origin FROM departures",
        "unbounded": "-- owner: tests\nSELECT DISTINCT tailnum\nFROM departures",
        "typo": "SELECT DISTINCT orgin FROM departures",
        "windy": "SELECT d.carrier\nFROM departures d, weather w\nWHERE d.origin = w.origin",
    }
    for name, sql in queries.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(folder))
    return folder
