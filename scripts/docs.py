"""The documentation as a site that is searched offline: ``python -m scripts.docs [FOLDER]``.

The pages in ``docs`` and those of ``benchmarks`` are laid side by side, links between them are kept, and a
link to anything else of the project becomes its path. Zensical makes pages of them, without a network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from scripts.imports import ROOT
from streambound import settings
from streambound.errors import DataError, PlatformError

# Where a folder of the project lies in the site.
FOLDERS = {ROOT / "docs": Path(), ROOT / "benchmarks": Path("benchmarks")}
COPIED = {".md", ".svg", ".png", ".json"}
FENCE = re.compile(r"^\s*(```|~~~)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def pages() -> list[Path]:
    """Every page of the site, as it lies in the project."""
    return sorted(path for folder in FOLDERS for path in folder.rglob("*.md"))


def links(text: str) -> list[tuple[str, str]]:
    """The links of a page outside its code: target and anchor, either of which may be empty."""
    prose = "\n".join(line for line, is_code in _lines(text) if not is_code)
    return [(target, (anchor or "")[1:]) for _, _, target, anchor in LINK.findall(prose)]


def _lines(text: str) -> list[tuple[str, bool]]:
    """The lines of a page, and whether each is code."""
    found, inside = list[tuple[str, bool]](), False
    for line in text.split("\n"):
        fence = bool(FENCE.match(line))
        found.append((line, inside or fence))
        inside ^= fence
    return found


def site_path(path: Path) -> Path | None:
    """Where a file of the project lies in the site; None if it is not in it."""
    for folder, below in FOLDERS.items():
        if path.is_relative_to(folder) and path.suffix in COPIED:
            return below / path.relative_to(folder)
    return None


def linked(text: str, path: Path) -> str:
    """The text of a page with its links as the site needs them."""
    here = site_path(path)
    assert here is not None

    def moved(link: re.Match[str]) -> str:
        picture, said, target, anchor = link.groups()
        if not target or ":" in target:
            return link[0]
        aim = (path.parent / target).resolve()
        there = site_path(aim)
        if there is None:
            return f"{said} (`{aim.relative_to(ROOT)}`)"
        return f"{picture}[{said}]({os.path.relpath(there, here.parent)}{anchor or ''})"

    found = list[str]()
    # In runs, since a link may be broken over two lines.
    for is_code, lines in groupby(_lines(text), key=lambda line: line[1]):
        run = "\n".join(line for line, _ in lines)
        found.append(run if is_code else LINK.sub(moved, run))
    return "\n".join(found)


def build(target: Path) -> None:
    """Write the site into a folder, in the place of what was there.

    Raises:
        PlatformError: Zensical is not installed.
        DataError: it found fault with a page.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".docs-") as name:
        stage = Path(name)
        for folder in FOLDERS:
            for path in folder.rglob("*"):
                if path.is_file() and (below := site_path(path)) is not None:
                    there = stage / "docs" / below
                    there.parent.mkdir(parents=True, exist_ok=True)
                    if path.suffix == ".md":
                        there.write_text(linked(path.read_text(encoding="utf-8"), path), encoding="utf-8")
                    else:
                        shutil.copyfile(path, there)
        shutil.copyfile(
            ROOT / "plugins/streambound_airflow/pages/static/icon.svg", stage / "docs/images/icon.svg"
        )
        shutil.copyfile(ROOT / "mkdocs.yml", stage / "mkdocs.yml")
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict"],
            cwd=stage,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if "No module named zensical" in said:
            raise PlatformError("the package zensical is not installed", fix="sh scripts/setup")
        if done.returncode:
            raise DataError(f"the documentation cannot be built: {COLOUR.sub('', said).strip()}")
        shutil.rmtree(target, ignore_errors=True)
        (stage / "site").rename(target)


def main() -> None:
    """Build, and say where."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else settings.site_root()
    build(target)
    print(target / "index.html")


if __name__ == "__main__":
    main()
