"""The import rule: a room imports only rooms above it in the table, and of those only the ones named."""

from __future__ import annotations

import ast
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from scripts.imports import (
    BESIDE,
    FREE,
    LIBRARY,
    MODULES,
    ROOT,
    home,
    imported_rooms,
    imports,
    on_loading,
    parsed,
    top,
)

DECISION = ["query", "constraints", "boundedness"]
# What evaluates a query, whoever reads its streams.
EVALUATION = ["query", "storage", "plan", "state", "evaluation", "checkpoint"]
# A room is open with its sub-rooms to other rooms; inside it they and its own modules are told apart.
ALLOWED: dict[str, list[str]] = {
    "errors": [],
    "settings": [],
    "durable": [],
    "locks": [],
    "query.dialects": [],
    "query": ["query.dialects"],
    "query.computing": ["query", "query.dialects"],
    "query.expressions": ["query", "query.dialects", "query.computing"],
    "query.parse.text": ["query", "query.dialects", "query.expressions"],
    "query.parse.blocks": [
        "query",
        "query.dialects",
        "query.computing",
        "query.expressions",
        "query.parse.text",
    ],
    "query.parse.inlining": [
        *("query", "query.dialects", "query.expressions", "query.parse.text"),
        "query.parse.blocks",
    ],
    "query.parse": [
        *("query", "query.dialects", "query.expressions", "query.parse.text", "query.parse.blocks"),
        "query.parse.inlining",
    ],
    "storage": ["query"],
    "constraints": ["query"],
    "boundedness.criterion": ["query", "constraints"],
    "boundedness.unions": ["query", "constraints", "boundedness.criterion"],
    "boundedness.joins": ["query", "constraints", "boundedness.criterion", "boundedness.unions"],
    "boundedness.aggregation": ["query", "constraints", "boundedness.criterion"],
    "boundedness": [
        *("query", "constraints", "boundedness.criterion", "boundedness.unions", "boundedness.joins"),
        "boundedness.aggregation",
    ],
    "engines": ["query", "constraints"],
    "projects": ["query", "engines"],
    "papers": DECISION,
    "plan": DECISION,
    "plan.tables": [*DECISION, "plan"],
    "plan.trees": [*DECISION, "plan", "plan.tables"],
    "state": ["query", "plan"],
    "operators.rows": ["query", "plan"],
    "operators.grouping": ["query", "plan", "state", "operators.rows"],
    "operators.ordering": ["query", "plan", "state", "operators.rows", "operators.grouping"],
    "operators.joining": ["query", "plan", "state", "operators.rows"],
    "operators": [
        *("query", "plan", "state", "operators.rows", "operators.grouping", "operators.ordering"),
        "operators.joining",
    ],
    "evaluation": ["query", "storage", "plan", "state", "operators"],
    "certificate": [*DECISION, "evaluation"],
    "compiler": ["query", "storage", "boundedness", "plan", "certificate", "papers", "engines"],
    "rewrites": [*DECISION, "plan", "compiler"],
    "checkpoint": ["query", "storage", "plan", "state"],
    "approximate.kernels": [],
    "approximate.policies": ["approximate.kernels"],
    "approximate.models": ["query", "approximate.kernels"],
    "approximate.tables": ["approximate.kernels", "approximate.models"],
    "approximate": [
        *DECISION,
        *("plan", "state", "evaluation", "approximate.kernels", "approximate.policies"),
        *("approximate.models", "approximate.tables"),
    ],
    "approximate.nightly": ["approximate", "approximate.kernels", "approximate.policies"],
    "demo": ["storage"],
    "tasks": [*EVALUATION, "approximate"],
    "history.evaluations": ["query", "plan", "state", "evaluation", "checkpoint", "approximate", "tasks"],
    "history": [*EVALUATION, "boundedness", "compiler", "approximate", "tasks", "history.evaluations"],
    "history.inspection": [
        *("query", "storage", "evaluation", "checkpoint", "compiler", "approximate", "tasks", "history"),
    ],
    "live": ["query", "storage", "state", "evaluation", "checkpoint", "tasks", "history"],
    "results": [],
    "results.migrations": [],
    "results.migrations.versions": [],
    "backup": ["checkpoint", "results"],
    "quality": ["query", "storage", "results"],
    "report": [
        *("query", "boundedness", "plan", "evaluation", "checkpoint", "certificate", "compiler"),
        *("approximate", "results", "engines", "rewrites"),
    ],
    "report.pages": ["query", "plan", "evaluation", "compiler", "approximate", "report"],
    "spark.checking": ["query", "compiler", "report", "engines", "rewrites"],
    "spark": [
        *("query", "storage", "plan", "checkpoint", "tasks", "history"),
        *("live", "spark.checking"),
    ],
    "spark.live": ["query", "storage", "state", "tasks", "history", "live", "spark"],
    "spark.applications": [
        *("query", "projects", "checkpoint", "approximate", "tasks", "history", "spark"),
        "spark.live",
    ],
    "simulator": ["query", "approximate"],
    "simulator.policies": ["approximate", "simulator"],
    "simulator.experiments": ["approximate", "spark", "simulator", "simulator.policies"],
    "imports": ["query", "storage"],
    "notebook": ["query", "plan", "compiler", "evaluation", "tasks", "imports", "report"],
    "api": ["query", "boundedness", "evaluation", "certificate", "compiler", "simulator", "notebook"],
    "examination": ["query", "compiler", "approximate", "report", "engines"],
    "editor": [],
    "cli": [
        *(
            "query",
            "storage",
            "projects",
            "boundedness",
            "evaluation",
            "certificate",
            "compiler",
            "rewrites",
            "papers",
            "checkpoint",
            "approximate",
        ),
        *("history", "live", "spark", "report", "engines", "simulator", "examination", "editor", "imports"),
        "backup",
    ],
    "__init__": ["api"],
}
ONLY_IN = {
    "pyspark": ["spark", "simulator.experiments"],
    "great_expectations": ["quality"],
    "airflow": [],
    "pygls": ["editor"],
    "watchfiles": ["cli"],
}
# Who may load what stands beside the runtime, and only in the functions that show it.
SHOWN_BY = {
    "simulator": ["api.py", "cli/cache.py", "cli/cache_bench.py"],
    "papers": ["compiler/verdicts.py", "cli/explain.py"],
    "demo": [],
}
# Rooms of which each module has its file of tests, which names each function that it offers. Elsewhere tests
# go by what is asked of a room as a whole, and often of several at once.
MIRRORED = ["constraints"]
# Of a room's own modules, `__init__` aside. Those that are larger still are named; none may grow.
MAX_MODULES = 14
HALLS = {
    "cli": 19,
    "evaluation": 19,
    "query": 20,
    "report": 17,
    "simulator.policies": 17,
    "spark.checking": 19,
    "tasks": 21,
}


def asked(path: Path) -> set[str]:
    """The rooms that a module imports: from outside a room is one; its sub-rooms name each other."""
    room = home(path)
    others = imported_rooms(imports(path)) - {room, *FREE}
    return {other if top(other) == top(room) else top(other) for other in others}


def test_a_room_imports_only_what_it_may() -> None:
    for path in MODULES:
        room = home(path)
        assert room in ALLOWED, f"{path}: {room} is no room: give it a row, or move its code"
        for other in asked(path):
            assert other in ALLOWED[room], f"{path}: {room} must not import {other}"
        for name in imports(path):
            allowed = ONLY_IN.get(name.split(".")[0], [room])
            assert room in allowed or top(room) in allowed, f"{path}: only {allowed} may import {name}"


def test_rows_name_only_rooms_above_them() -> None:
    order = list(ALLOWED)
    for room in order:
        known = order[: order.index(room)]
        assert not [other for other in ALLOWED[room] if other not in known], room


def test_rows_name_only_rooms_that_are_imported() -> None:
    imported: dict[str, set[str]] = {}
    for path in MODULES:
        imported.setdefault(home(path), set()).update(asked(path))
    assert not {
        room: sorted(set(row) - imported[room]) for room, row in ALLOWED.items() if set(row) - imported[room]
    }


def test_no_circle_exists() -> None:
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        graph.setdefault(home(path), set()).update(imported_rooms(imports(path)) - {home(path)})
    TopologicalSorter(graph).prepare()


def test_no_room_is_a_hall() -> None:
    sizes = Counter(home(path) for path in MODULES if path.stem != "__init__")
    assert not {room: size for room, size in sizes.items() if size > HALLS.get(room, MAX_MODULES)}


def test_a_room_says_what_it_holds() -> None:
    assert not [path for path in MODULES if path.stem == "__init__" and not ast.get_docstring(parsed(path))]


def test_every_row_is_a_room() -> None:
    assert {home(path) for path in MODULES} == set(ALLOWED)


def test_every_room_of_several_modules_has_its_folder_of_tests() -> None:
    rooms = {top(room) for room in ALLOWED if (LIBRARY / top(room)).is_dir()}
    assert not {room for room in rooms if not list((ROOT / "tests" / room).rglob("test_*.py"))}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if home(p) in MIRRORED and p.stem != "__init__"], ids=lambda p: p.stem
)
def test_each_module_of_a_mirrored_room_has_its_tests(path: Path) -> None:
    tests = ROOT / "tests" / home(path) / f"test_{path.stem}.py"
    public = {
        node.name
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    named = {node.id for node in ast.walk(parsed(tests)) if isinstance(node, ast.Name)}
    assert public <= named


def test_the_definition_shares_nothing_with_what_evaluates_plans() -> None:
    """Beside itself it has errors, the model, and events; expressions it computes by its own rules."""
    shared = {"events", "promises"}
    waiting, seen = [LIBRARY / "evaluation" / f"{name}.py" for name in ("reference", "finality")], set[Path]()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        for name in imports(path):
            if not name.startswith("streambound."):
                assert name.split(".")[0] != "duckdb", path
                continue
            room, *rest = name.removeprefix("streambound.").split(".")
            assert room in ("errors", "query", "evaluation"), f"{path.name} must not import {name}"
            assert room != "query" or not {"computing", "expressions", "parse"} & set(rest), path
            if room == "evaluation" and rest:
                assert rest[0] in {*shared, "reference", "finality"} or rest[0].startswith("definition"), path
                waiting += {LIBRARY / "evaluation" / f"{rest[0]}.py"} - seen
    assert {path.stem for path in seen} >= {*shared, "definition_values", "definition_functions"}


def test_what_stands_beside_the_runtime_is_loaded_only_when_it_is_shown() -> None:
    for path in MODULES:
        room, name = home(path), path.relative_to(LIBRARY).as_posix()
        for beside in {top(other) for other in imported_rooms(imports(path))} & set(BESIDE) - {top(room)}:
            assert name in SHOWN_BY[beside], f"{name} must not import {beside}"
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
