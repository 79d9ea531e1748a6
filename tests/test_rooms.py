"""The rooms' import rule: a room imports only rooms below it, and of those only the ones named."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "include" / "streambound"
BELOW_CERTIFICATE = ["query", "constraints", "boundedness", "synopsis", "evaluation"]
ALL = [
    *BELOW_CERTIFICATE,
    "certificate",
    "compiler",
    "checkpoint",
    "approximate",
    "demo",
    "spark",
    "results",
    "quality",
    "report",
]
# Every room may import errors, settings, and how a file is put in its place.
ALLOWED: dict[str, list[str]] = {
    "errors": [],
    "settings": [],
    "durable": [],
    "query": [],
    "constraints": ["query"],
    "boundedness": ["query", "constraints"],
    "synopsis": ["query", "constraints", "boundedness"],
    "evaluation": ["query", "synopsis"],
    "certificate": BELOW_CERTIFICATE,
    "compiler": [*BELOW_CERTIFICATE, "certificate"],
    "checkpoint": ["query", "synopsis"],
    "approximate": ["query", "constraints", "boundedness", "synopsis", "evaluation"],
    "demo": ["query"],
    "spark": [*BELOW_CERTIFICATE, "certificate", "compiler", "checkpoint", "approximate"],
    "results": ["query"],
    "quality": ["query", "synopsis", "results"],
    "report": [room for room in ALL if room not in ("spark", "quality", "report")],
    "api": [*BELOW_CERTIFICATE, "certificate", "compiler", "simulator"],
    "examination": ["query", "compiler", "approximate", "report"],
    "simulator": ["query", "approximate", "spark"],
    "cli": [*ALL, "simulator", "examination"],
    "__init__": ["api"],
}
ONLY_IN = {
    "pyspark": ["spark", "simulator"],
    "great_expectations": ["quality"],
    "airflow": [],
}


def room_of(path: Path) -> str:
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module
            if module == "streambound":
                yield from (f"streambound.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.py")), ids=lambda p: str(p.relative_to(LIBRARY)))
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    room = room_of(path)
    assert room in ALLOWED, f"{room} is no room: give it a line in house style, or move its code"
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "streambound" and rest and rest[0] not in (room, "errors", "settings", "durable"):
            assert rest[0] in ALLOWED[room], f"{room} must not import {name}"
        assert room in ONLY_IN.get(top, [room]), f"only {ONLY_IN.get(top)} may import {top}"


@pytest.mark.parametrize("folder", ["dags", "spark_apps"])
def test_thin_files_stay_thin(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        allowed = {"dags": ("airflow", "streambound_airflow", "streambound"), "spark_apps": ("streambound",)}[
            folder
        ]
        outside = {n.split(".")[0] for n in imports(path)} & {"airflow", "pyspark", "great_expectations"}
        assert outside <= set(allowed), f"{path} imports {outside}"


def test_there_are_no_junk_drawers() -> None:
    names = {path.stem for path in LIBRARY.rglob("*")}
    assert not names & {"utils", "util", "common", "helpers", "helper", "misc"}
