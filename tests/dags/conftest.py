"""Airflow's own home for these tests, set before anything imports airflow."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

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
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,viewer:viewer",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(HOME / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": "the tests' own secret, which is of no use elsewhere " * 2,
    }
)


@pytest.fixture(scope="session", autouse=True)
def airflow_home() -> Iterator[Path]:
    yield HOME
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def empty_results(airflow_home: Path) -> bytes:
    """A results database with its tables: to make them takes a sixth of a second, in most tests."""
    from sqlalchemy import make_url

    from streambound.results.connection import connect, prepare

    prepare(connect(make_url(f"sqlite:///{airflow_home}/results.db")))
    return (airflow_home / "results.db").read_bytes()


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, empty_results: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a results database of the test's own, named by the Airflow connection."""
    (tmp_path / "connected.db").write_bytes(empty_results)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.delenv("STREAMBOUND_DATABASE_URL", raising=False)
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)
    connection = {"conn_type": "generic", "extra": {"url": f"sqlite:///{tmp_path}/connected.db"}}
    monkeypatch.setenv("AIRFLOW_CONN_STREAMBOUND_DB", json.dumps(connection))
    return tmp_path


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with the project's catalog and four small queries."""
    folder = small_registry(tmp_path / "registry")
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(folder))
    return folder


def small_registry(folder: Path) -> Path:
    """A new registry."""
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
    return folder


@pytest.fixture(scope="session")
def migrated(airflow_home: Path) -> Path:
    """A copy of Airflow's database as it is once its tables are there."""
    from airflow.utils.db import initdb

    initdb()
    copy = airflow_home / "migrated.db"
    with (
        closing(sqlite3.connect(airflow_home / "airflow.db")) as there,
        closing(sqlite3.connect(copy)) as new,
    ):
        there.backup(new)
    return copy


@pytest.fixture(scope="session")
def mounted(migrated: Path) -> Any:
    """An application with ours mounted as Airflow mounts it, behind Airflow's own authentication."""
    from airflow.api_fastapi.app import init_auth_manager
    from fastapi import FastAPI

    from streambound_airflow.pages.application import application
    from streambound_airflow.places import PREFIX

    root = FastAPI()
    root.mount(PREFIX, application())
    init_auth_manager(root)
    return root


@pytest.fixture(scope="session")
def whole(mounted: Any) -> Any:
    """All of Airflow's API with our plugin in it."""
    from airflow.api_fastapi.app import create_app

    return create_app(apps="core")


@pytest.fixture(scope="module")
def parsed(mounted: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Our DAGs in Airflow's database, over the small registry; another module may have left others there."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_REGISTRY", str(small_registry(tmp_path_factory.mktemp("parsed"))))
        manager = DagBundlesManager()
        manager.sync_bundles_to_db()
        (bundle,) = manager.get_all_dag_bundles()
        bundle.initialize()
        bag = BundleDagBag(bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
        sync_bag_to_db(bag, bundle.name, None)


@pytest.fixture
def airflow(whole: Any, parsed: None, clients: dict[str, Any], registry: Path) -> Iterator[dict[str, Any]]:
    """Clients of all of Airflow's API. Nothing schedules: a run stays queued, and is gone after the test."""
    from airflow.models import DagModel, DagRun
    from airflow.utils.session import create_session
    from fastapi.testclient import TestClient
    from sqlalchemy import delete, update

    with create_session() as session:
        session.execute(update(DagModel).values(is_paused=False, is_stale=False))
    yield {
        name: TestClient(whole, "http://airflow.test/", headers=one.headers) for name, one in clients.items()
    }
    with create_session() as session:
        session.execute(delete(DagRun))
        session.execute(update(DagModel).values(is_stale=True))


@pytest.fixture(scope="session")
def clients(mounted: Any) -> Iterator[dict[str, Any]]:
    """A client for each kind of user: ``anonymous``, ``viewer``, ``admin``."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    from streambound_airflow.pages.examination import EXAMINERS

    # A machine that is busy takes its time; the limit is tested with processes of the tests' own.
    EXAMINERS.seconds = 30.0
    made = {"anonymous": TestClient(mounted, "http://airflow.test/streambound/", follow_redirects=False)}
    for name in ("viewer", "admin"):
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=name.upper()))
        headers = {"Authorization": f"Bearer {token}"}
        made[name] = TestClient(
            mounted, "http://airflow.test/streambound/", headers=headers, follow_redirects=False
        )
    yield made
    EXAMINERS.end()


@pytest.fixture
def viewer(clients: dict[str, Any], registry: Path) -> Any:
    """A client of somebody who may look, and a registry to look at."""
    return clients["viewer"]
