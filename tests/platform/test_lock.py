"""The lock is complete, names packages, versions and digests only; no licence binds who uses them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts.sbom import PROJECT, licences, packages

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PRODUCTION = (ROOT / "requirements-production.lock").read_text()


# Weak copyleft: it binds changes of these packages themselves, which are installed as they were published.
WEAK = {
    "certifi": "Mozilla Public License 2.0 (MPL 2.0)",
    "pathspec": "Mozilla Public License 2.0 (MPL 2.0)",
    "psycopg2-binary": "GNU Library or Lesser General Public License (LGPL)",
    "tqdm": "MPL-2.0 AND MIT",
}
# Offered under either of two licences, of which this is taken.
TAKEN = {"text-unidecode": "Artistic License"}
COPYLEFT = re.compile(
    r"GPL|GNU|MPL|Mozilla|EPL|Eclipse|EUPL|European Union|CDDL|Common Development|SSPL|Server Side"
    r"|OSL|CECILL|CeCILL|BY-SA|Sleepycat|QPL|RPL|BUSL|Elastic",
)


def pins(lock: str) -> list[Requirement]:
    return [Requirement(line.rstrip(" \\")) for line in lock.splitlines() if line and line[0] not in "# "]


def locked() -> list[Requirement]:
    return pins(LOCK)


def asked_for() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    asked = map(Requirement, (*PROJECT["dependencies"], *(text for extra in extras for text in extra)))
    # An extra may take in others.
    return [requirement for requirement in asked if requirement.name != "streambound"]


def test_no_address_is_in_the_lock() -> None:
    assert "://" not in LOCK
    assert "--" not in "".join(re.findall(r"^-.*$", LOCK, re.MULTILINE))
    assert all(requirement.url is None for requirement in locked())


def test_every_locked_package_is_pinned() -> None:
    for requirement in locked():
        assert [part.operator for part in requirement.specifier] == ["=="], str(requirement)


@pytest.mark.parametrize("lock", [LOCK, PRODUCTION], ids=["all", "production"])
def test_every_locked_package_has_its_digests(lock: str) -> None:
    entries = [part.split() for part in lock.replace("\\\n", "").splitlines() if part[0] != "#"]
    assert len(entries) == len(pins(lock)) > 100
    for name, *words in entries:
        digests = [word for word in words if word.startswith("--hash=")]
        assert digests, name
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest) for digest in digests), name
    assert len(lock) < 1_000_000


def test_no_licence_of_production_binds_who_uses_it() -> None:
    installed = [pin.name for pin in pins(PRODUCTION) if pin.marker is None or pin.marker.evaluate()]
    found = {name: licences(name) for name in installed}
    assert [name for name, said in found.items() if not said] == []
    binding = {name: said for name, said in found.items() if COPYLEFT.search("; ".join(said))}
    for name, licence in TAKEN.items():
        assert licence in binding.pop(name)
    assert binding == {name: {licence} for name, licence in WEAK.items()}


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
    assert {*packages("all")} - {"streambound"} <= names
    assert not names & {"pytest", "hypothesis", "mypy", "ruff", "playwright", "schemathesis", "moto", "uv"}


def test_pyspark_client_is_kept_out() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("pyspark-client")


def test_no_locked_package_is_one_of_which_an_advisory_warns() -> None:
    """What was known when it was written; ``make audit`` asks the databases of today."""
    advisories = json.loads((ROOT / "tests" / "platform" / "advisories.json").read_text())
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in locked()}
    warned = [
        one for one in advisories if Version(pinned.get(one["package"], one["fixed"])) < Version(one["fixed"])
    ]
    assert warned == []
    assert {"pyarrow", "pyyaml"} <= {one["package"] for one in advisories} & set(pinned)


@pytest.mark.parametrize("name", ["pyyaml", "sqlglot"])
def test_what_the_lint_loads_is_what_its_package_was_published_with(name: str) -> None:
    files = [file for file in metadata.files(name) or () if file.hash is not None and file.suffix == ".py"]
    assert files
    for file in files:
        assert file.hash is not None and file.hash.mode == "sha256"
        found = hashlib.sha256(Path(str(file.locate())).read_bytes()).digest()
        assert base64.urlsafe_b64encode(found).decode().rstrip("=") == file.hash.value, file
