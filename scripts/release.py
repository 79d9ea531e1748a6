"""A version by one command: ``make release VERSION=0.2.0``.

Writes the version into pyproject.toml, into what is deployed, into the pages that name a tag, and over what
the changelog says is unreleased. It commits and tags nothing: what it changed can be looked at first.
"""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r'^version = "(.+)"$', re.MULTILINE)
_UNRELEASED = "## Unreleased\n"
# Files that name the image, and nothing else of that version.
_DEPLOYED = (
    "docker-compose.yml",
    "deploy/helm/streambound/Chart.yaml",
    "deploy/helm/streambound/values.yaml",
)


def release(version: str, day: date, root: Path = ROOT) -> list[Path]:
    """Set the version in all files that name it, and return these.

    Raises:
        ValueError: it is no version, none that comes next, or the changelog has nothing to release.
    """
    project = root / "pyproject.toml"
    (found,) = _VERSION.findall(project.read_text(encoding="utf-8"))
    if _numbers(version) <= _numbers(found):
        raise ValueError(f"{version} does not come after {found}")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    before, _, after = changelog.partition(_UNRELEASED)
    if not after.partition("\n## ")[0].strip():
        raise ValueError("CHANGELOG.md: nothing stands below Unreleased")
    changed = {
        project: _VERSION.sub(f'version = "{version}"', project.read_text(encoding="utf-8")),
        root / "CHANGELOG.md": f"{before}{_UNRELEASED}\n## {version} ({day})\n{after}",
    }
    for page in sorted((root / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (tagged := re.sub(rf"\bv{re.escape(found)}\b", f"v{version}", text)) != text:
            changed[page] = tagged
    for path in map(root.joinpath, _DEPLOYED):
        text = path.read_text(encoding="utf-8")
        changed[path] = re.sub(rf"(?<![\d.]){re.escape(found)}(?![\d.])", version, text)
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    return list(changed)


def _numbers(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise ValueError(f"{version} is no version: three numbers with dots between are, such as 0.2.0")
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    try:
        (wanted,) = sys.argv[1:] or [""]
        for written in release(wanted, date.today()):
            print(written.relative_to(ROOT))
        print(f"now: make lock && ./check && git commit -am 'Version {wanted}' && git tag v{wanted}")
    except ValueError as problem:
        sys.exit(f"release: {problem}")
