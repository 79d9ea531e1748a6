"""The lock is complete, and names packages and versions only."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PRODUCTION = (ROOT / "requirements-production.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(lock: str) -> list[Requirement]:
    return [Requirement(line) for line in lock.splitlines() if line and not line.lstrip().startswith("#")]


def locked() -> list[Requirement]:
    return pins(LOCK)


def asked_for() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(text) for text in (*PROJECT["dependencies"], *(r for extra in extras for r in extra))]


def test_no_address_is_in_the_lock() -> None:
    assert "://" not in LOCK
    assert "--" not in "".join(re.findall(r"^-.*$", LOCK, re.MULTILINE))
    assert all(requirement.url is None for requirement in locked())


def test_every_locked_package_is_pinned() -> None:
    for requirement in locked():
        assert [part.operator for part in requirement.specifier] == ["=="], str(requirement)


@pytest.mark.parametrize("asked", asked_for(), ids=lambda requirement: requirement.name)
def test_every_dependency_is_locked(asked: Requirement) -> None:
    found = [pin for pin in locked() if canonicalize_name(pin.name) == canonicalize_name(asked.name)]
    assert found, f"{asked.name} is not in the lock; run make lock"
    for pin in found:
        (version,) = (part.version for part in pin.specifier)
        assert asked.specifier.contains(version), f"{asked} does not allow {version}; run make lock"


def test_what_is_installed_is_what_is_locked() -> None:
    for pin in locked():
        if pin.marker is None or pin.marker.evaluate():
            (version,) = (part.version for part in pin.specifier)
            assert metadata.version(pin.name) == version, pin.name


def test_production_has_the_same_versions_and_no_test_tools() -> None:
    production = pins(PRODUCTION)
    assert set(map(str, production)) < set(map(str, locked())), "run make lock"
    names = {canonicalize_name(pin.name) for pin in production}
    optional = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *optional["platform"], *optional["postgres"]]
    assert {canonicalize_name(Requirement(text).name) for text in wanted} <= names
    assert not names & {"pytest", "hypothesis", "mypy", "ruff", "playwright", "schemathesis", "moto", "uv"}


def test_pyspark_client_is_kept_out() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("pyspark-client")
