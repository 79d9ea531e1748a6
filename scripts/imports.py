"""What the library's modules import, read from their text: the law of the rooms and their picture rest on it.

A room is a module or a package directly below ``streambound``, or a package within one, a sub-room.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "include" / "streambound"
MODULES = sorted(LIBRARY.rglob("*.py"))
# Every room may import errors, settings, and how a file is locked and put in its place.
FREE = ("errors", "settings", "durable", "locks")
# Beside the runtime: loaded only in the functions that show it.
BESIDE = ("demo", "papers", "simulator")


def room_of(parts: Iterable[str]) -> str:
    """The innermost room of a module's parts below the library: ``spark.live`` of spark, live, step."""
    names = list(parts)
    while len(names) > 1 and not LIBRARY.joinpath(*names, "__init__.py").exists():
        names.pop()
    return ".".join(names)


def home(path: Path) -> str:
    """The innermost room of a module of the library."""
    return room_of(path.relative_to(LIBRARY).with_suffix("").parts)


def dotted(path: Path) -> str:
    """The name by which a module of the library is imported."""
    parts = ("streambound", *path.relative_to(LIBRARY).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def top(room: str) -> str:
    """The room that a sub-room is in."""
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
    """Whether a dotted name is a module of the library."""
    first, *rest = name.split(".")
    path = LIBRARY.joinpath(*rest)
    return first == "streambound" and (path.is_dir() or path.with_suffix(".py").exists())


def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The modules that a file imports, wherever in it; the project has no relative imports."""
    nodes = list(ast.walk(parsed(path)))
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), f"{path}: relative"
    return tuple(name for node in nodes for name in named(node))


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
    """The innermost rooms among imported modules."""
    inside = (name.split(".")[1:] for name in names if name.startswith("streambound."))
    return {room_of(parts) for parts in inside}


def libraries(names: Iterable[str]) -> set[str]:
    """The packages among imported modules that are neither Python's own nor the project's."""
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"streambound", ""}
