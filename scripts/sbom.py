"""What an installation consists of, as CycloneDX 1.6 in JSON: ``make sbom``.

The packages are those that the lock pins for this Python, with their digests; licences are what they say.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_ENTRY = re.compile(r"^(\S+==.*) \\\n((?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE)


def locked() -> dict[str, tuple[str, list[str]]]:
    """Of each package that is locked for this Python its version and the SHA-256 digests of its files."""
    found = {}
    for text, digests in _ENTRY.findall((ROOT / "requirements.lock").read_text(encoding="utf-8")):
        pin = Requirement(text)
        if pin.marker is None or pin.marker.evaluate():
            (part,) = pin.specifier
            found[pin.name] = (part.version, re.findall(r"sha256:([0-9a-f]{64})", digests))
    return found


def packages(*extras: str) -> dict[str, set[str]]:
    """All packages that streambound with these extras needs here, each with those that it needs itself."""
    found: dict[str, set[str]] = {}
    asked = [("streambound", frozenset(extras))]
    seen = set(asked)
    while asked:
        name, wanted = asked.pop()
        needed = found.setdefault(name, set())
        for requirement in _needed(name, wanted):
            other = canonicalize_name(requirement.name)
            # The lock leaves out a package on purpose.
            if not _installed(other):
                continue
            if other != name:
                needed.add(other)
            if (ask := (other, frozenset(requirement.extras))) not in seen:
                seen.add(ask)
                asked.append(ask)
    return found


def _needed(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    if name == "streambound":
        optional = PROJECT["optional-dependencies"]
        texts = [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
    else:
        texts = metadata.requires(name) or []
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield requirement


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def licences(name: str) -> set[str]:
    """What an installed package says of its licence, in short."""
    about = metadata.metadata(name)
    classifiers = [text for text in about.get_all("Classifier") or () if text.startswith("License ::")]
    expressions = about.get_all("License-Expression") or ()
    said = {*expressions, *(text.rpartition(" :: ")[2] for text in classifiers)}
    return said or set((about["License"] or "").splitlines()[:1])


def bill(*extras: str) -> dict[str, Any]:
    """The bill of materials of streambound with some extras; the same for the same locks."""
    found = packages(*extras)
    pins = locked()
    own = f"pkg:pypi/streambound@{PROJECT['version']}"
    addresses = {name: f"pkg:pypi/{name}@{pins[name][0]}" for name in found if name in pins}
    addresses["streambound"] = own
    components = [
        {
            "type": "library",
            "bom-ref": addresses[name],
            "name": name,
            "version": pins[name][0],
            "purl": addresses[name],
            "licenses": [{"license": {"name": licence}} for licence in sorted(licences(name))],
            # One of these was installed: which one depends on the machine.
            "properties": [
                {"name": "streambound:locked-sha256", "value": digest} for digest in pins[name][1]
            ],
        }
        for name in sorted(found)
        if name != "streambound"
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "streambound",
                "version": PROJECT["version"],
                "purl": own,
                "licenses": [{"license": {"id": PROJECT["license"]}}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": addresses[name], "dependsOn": sorted(addresses[other] for other in found[name])}
            for name in sorted(found)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(bill(*(sys.argv[1:] or ["all"])), indent=2))
