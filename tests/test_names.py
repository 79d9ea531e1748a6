"""Names that no reader can search for, or that meant several things, are bound nowhere in deployed code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from scripts.imports import ROOT

DEPLOYED = ("include/streambound", "plugins", "dags", "spark_apps")
LEFT = {
    *(
        "book",
        "walk",
        "waves",
        "needs",
        "shares",
        "joint",
        "united",
        "segmented",
        "framed",
        "pushed",
        "codes",
    ),
    *(
        "steps",
        "known",
        "fronts",
        "wide",
        "matches",
        "rep",
        "reading",
        "readings",
        "place",
        "places",
        "choice",
    ),
    *("told", "found", "held", "one", "other", "others"),
}
# Where such a word is the field's own, by folder or file.
FIELDS_OWN = {
    # Steps of time, as in the papers on caches.
    "steps": ("include/streambound/approximate/", "include/streambound/simulator/"),
    # Of a semiring.
    "one": ("include/streambound/query/ring.py",),
}
# What a page's API says in JSON.
PUBLISHED = {("plugins/streambound_airflow/pages/following.py", "steps")}
COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that a module binds, with its line: functions, classes, arguments, fields, variables."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            named = getattr(node, "name", "")
            given = node.args
            listed = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            yield from ((a.arg, a.lineno) for a in listed if a is not None and named not in COMPARISONS)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, (ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            name = node.asname if isinstance(node, ast.alias) else node.name
            if name:
                yield name, node.lineno


def left(text: str, file: str) -> list[tuple[str, int]]:
    """The bindings of a file that have a name to leave."""
    return [
        (name, line)
        for name, line in bindings(ast.parse(text))
        if (word := name.strip("_").lower()) in LEFT
        and not file.startswith(FIELDS_OWN.get(word, ("/",)))
        and (file, name) not in PUBLISHED
    ]


@pytest.mark.parametrize("folder", DEPLOYED)
def test_no_name_to_leave_is_bound(folder: str) -> None:
    files = {path: path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).rglob("*.py"))}
    assert not [(file, *hit) for path, file in files.items() for hit in left(path.read_text("utf-8"), file)]


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def f(one): ...",
        "class Choice: ...",
        "self._steps = 1",
        "[told for told in x]",
        "lambda *held: 0",
        "import a as known",
        "for a, (places, b) in x: ...",
        "def _matches(): ...",
    ],
)
def test_a_name_to_leave_is_seen_where_it_is_bound(text: str) -> None:
    assert len(left(text, "include/streambound/query/model.py")) == 1


def test_the_field_s_own_words_stay() -> None:
    assert not left("one = 1", "include/streambound/query/ring.py")
    assert not left("def draw(steps): ...", "include/streambound/simulator/problems.py")
    assert not left("def __eq__(self, other): ...", "include/streambound/query/model.py")
