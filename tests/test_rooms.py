"""The import rule: a room imports only rooms above it in the table, and of those only the ones named."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "include" / "streambound"
# Every room may import errors, settings, and how a file is put in its place.
FREE = ("errors", "settings", "durable")
DECISION = ["query", "constraints", "boundedness"]
BELOW_CERTIFICATE = [*DECISION, "synopsis", "evaluation"]
# A room is open with its sub-rooms to other rooms; inside it they and its own modules are told apart.
# The row of a sub-room is its own, or the name of the room whose row holds for it as well.
ALLOWED: dict[str, list[str] | str] = {
    "errors": [],
    "settings": [],
    "durable": [],
    "query.dialects": [],
    "query": ["query.dialects"],
    "constraints": ["query"],
    "boundedness": ["query", "constraints"],
    "papers": DECISION,
    "synopsis": DECISION,
    "evaluation": ["query", "synopsis"],
    "certificate": BELOW_CERTIFICATE,
    "compiler": [*BELOW_CERTIFICATE, "certificate", "papers"],
    "checkpoint": ["query", "synopsis"],
    "approximate.kernels": [],
    "approximate.models": ["query", "approximate.kernels"],
    "approximate.tables": ["approximate.kernels", "approximate.models"],
    "approximate": [*BELOW_CERTIFICATE, "approximate.kernels", "approximate.models", "approximate.tables"],
    "approximate.nightly": ["approximate", "approximate.kernels"],
    "demo": ["query"],
    "tasks": [*BELOW_CERTIFICATE, "checkpoint", "approximate"],
    "history": [*BELOW_CERTIFICATE, "certificate", "compiler", "checkpoint", "approximate", "tasks"],
    "live": ["query", "synopsis", "evaluation", "checkpoint", "tasks", "history"],
    "spark": [
        *BELOW_CERTIFICATE,
        *("certificate", "compiler", "checkpoint", "approximate", "tasks", "history", "live"),
    ],
    "spark.live": "spark",
    "results": ["query"],
    "results.migrations": "results",
    "results.migrations.versions": "results",
    "quality": ["query", "synopsis", "results"],
    "report": [*BELOW_CERTIFICATE, "certificate", "compiler", "checkpoint", "approximate", "results"],
    "report.pages": "report",
    "simulator": ["query", "approximate"],
    "simulator.policies": ["approximate", "simulator"],
    "simulator.experiments": ["approximate", "spark", "simulator", "simulator.policies"],
    "api": [*BELOW_CERTIFICATE, "certificate", "compiler", "simulator"],
    "examination": ["query", "compiler", "approximate", "report"],
    "cli": [
        *BELOW_CERTIFICATE,
        *("certificate", "compiler", "papers", "checkpoint", "approximate", "tasks", "history", "live"),
        *("spark", "results", "quality", "report", "simulator", "examination"),
    ],
    "__init__": ["api"],
}
ONLY_IN = {
    "pyspark": ["spark", "simulator.experiments"],
    "great_expectations": ["quality"],
    "airflow": [],
}
# Beside the runtime: who may load these, and only in the functions that show it.
BESIDE = {
    "simulator": ["api.py", "cli/cache.py", "cli/cache_bench.py"],
    "papers": ["compiler.py", "cli/explain.py"],
    "demo": [],
}
# Rooms without a folder of tests, and why.
UNTESTED_ALONE = {"examination": "its questions are asked through the command line and the pages"}
MODULES = sorted(LIBRARY.rglob("*.py"))
of_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(LIBRARY)))


def room_of(parts: Iterable[str]) -> str:
    """The innermost room of a module's parts below the library: ``spark.live`` of spark, live, step."""
    names = list(parts)
    while len(names) > 1 and not LIBRARY.joinpath(*names, "__init__.py").exists():
        names.pop()
    return ".".join(names)


def home(path: Path) -> str:
    return room_of(path.relative_to(LIBRARY).with_suffix("").parts)


def row(room: str) -> list[str]:
    """What a room may import, as its row says, or that of the room it follows and that room itself."""
    found = ALLOWED[room]
    return found if isinstance(found, list) else [*row(found), found]


def top(room: str) -> str:
    return room.split(".")[0]


def named(node: ast.AST) -> Iterator[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names if is_module(f"{module}.{alias.name}"))


def is_module(name: str) -> bool:
    first, *rest = name.split(".")
    place = LIBRARY.joinpath(*rest)
    return first == "streambound" and (place.is_dir() or place.with_suffix(".py").exists())


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: relative import"
        yield from named(node)


def on_loading(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules that are imported when a module is, not when a function of it is called."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield from named(node)
        yield from on_loading(ast.iter_child_nodes(node))


def imported_rooms(names: Iterable[str]) -> set[str]:
    inside = (name.split(".")[1:] for name in names if name.startswith("streambound."))
    return {room_of(parts) for parts in inside}


@of_module
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    room = home(path)
    assert room in ALLOWED, f"{room} is no room: give it a row, or move its code"
    for other in imported_rooms(imports(path)) - {room, *FREE}:
        # From outside a room is one; its sub-rooms name each other.
        asked = other if top(other) == top(room) else top(other)
        assert asked in row(room), f"{room} must not import {other}"
    for name in imports(path):
        allowed = ONLY_IN.get(name.split(".")[0], [room])
        assert room in allowed or top(room) in allowed, f"only {allowed} may import {name}"


def test_rows_name_only_rooms_above_them() -> None:
    order = list(ALLOWED)
    for room in order:
        known = order[: order.index(room)]
        assert not [other for other in row(room) if other not in known], room


def test_no_circle_exists() -> None:
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        graph.setdefault(home(path), set()).update(imported_rooms(imports(path)) - {home(path)})
    TopologicalSorter(graph).prepare()


def test_every_row_is_a_room() -> None:
    assert {home(path) for path in MODULES} == set(ALLOWED)


def test_every_room_of_several_modules_has_its_folder_of_tests() -> None:
    rooms = {top(room) for room in ALLOWED if (LIBRARY / top(room)).is_dir()}
    missing = {room for room in rooms if not list((ROOT / "tests" / room).rglob("test_*.py"))}
    assert missing == set(UNTESTED_ALONE)


@of_module
def test_what_stands_beside_the_runtime_is_loaded_only_when_it_is_shown(path: Path) -> None:
    room, name = home(path), path.relative_to(LIBRARY).as_posix()
    for beside in {top(other) for other in imported_rooms(imports(path))} & set(BESIDE) - {top(room)}:
        assert name in BESIDE[beside], f"{name} must not import {beside}"
        loaded = {top(other) for other in imported_rooms(on_loading(parsed(path).body))}
        assert beside not in loaded, f"{name} must import {beside} in the function that shows it"


@pytest.mark.parametrize("folder", ["dags", "plugins", "spark_apps"])
def test_of_what_is_deployed_only_the_ingest_makes_the_demo(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        beside = {top(room) for room in imported_rooms(imports(path))} & set(BESIDE)
        ingest = path == ROOT / "plugins" / "streambound_airflow" / "ingest.py"
        assert beside == ({"demo"} if ingest else set()), path


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
