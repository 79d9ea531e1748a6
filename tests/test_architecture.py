"""docs/architecture.md: picture and table are those of the imports, and what the walk names is there."""

from __future__ import annotations

import ast
import doctest
import re
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

import pytest

from scripts import architecture
from scripts.imports import FREE, LIBRARY, MODULES, home, parsed, top
from tests.test_rooms import ALLOWED

PICTURE = architecture.PICTURE.read_text(encoding="utf-8")
TEXT = architecture.DOCUMENT.read_text(encoding="utf-8")
AGAIN = "make it again: python -m scripts.architecture"
ROOMS = sorted({top(home(path)) for path in MODULES} - {"__init__"})
NAMED = sorted(set(re.findall(r"`(\w+(?:\.\w+)+)`", architecture.TABLE.sub("", TEXT))))


@cache
def house() -> dict[str, architecture.Room]:
    """Read when the first test asks: every process collects this file, and one runs it."""
    return architecture.rooms()


def test_the_picture_is_that_of_the_imports() -> None:
    """Drawn with the sizes that it shows, which the next test judges: not every line is another picture."""
    sizes = architecture.drawn_sizes(PICTURE)
    assert sizes.keys() == house().keys(), AGAIN
    assert architecture.picture(house(), sizes) == PICTURE, AGAIN


def test_the_sizes_that_it_shows_are_near() -> None:
    sizes = architecture.drawn_sizes(PICTURE)
    far = {
        name: (sizes[name], room.lines)
        for name, room in house().items()
        if abs(sizes[name] - room.lines) > max(150, room.lines / 4)
    }
    assert not far, AGAIN


def paper() -> float:
    """The width of the picture."""
    return float(ElementTree.fromstring(PICTURE).attrib["viewBox"].split()[2])


def test_no_room_covers_another_and_no_text_leaves_its_room() -> None:
    boxes = []
    for group in ElementTree.fromstring(PICTURE).iter(f"{architecture.SVG}g"):
        (box, _), texts = group.findall(f"{architecture.SVG}rect"), group.findall(f"{architecture.SVG}text")
        left, high, wide = (float(box.attrib[name]) for name in ("x", "y", "width"))
        boxes.append((left, high, left + wide, high + architecture.HIGH))
        # A letter of that size is 7 pixels wide at most on average, in bold 10.
        name, size, only_here = (len(text.text or "") for text in texts)
        assert 10 * name + 7 * size < wide - 24 and 7 * only_here < wide - 12, group.attrib["id"]
    assert all(0 < left < right < paper() for left, _, right, _ in boxes)
    for one, other in combinations(boxes, 2):
        apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
        assert apart, (one, other)


def test_no_line_leaves_the_paper() -> None:
    width = paper()
    positions = [
        float(x) for path in re.findall(r' d="([^"]*)"', PICTURE) for x in re.findall(r"M([-\d.]+)", path)
    ]
    assert positions and min(positions) > 0 and max(positions) < width


def test_the_table_is_that_of_the_imports() -> None:
    assert architecture.document(TEXT, house()) == TEXT, AGAIN


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_may_import_what_it_does_and_no_more(room: str) -> None:
    """What the law allows in vain would be imported one day, and nobody would have decided it."""
    mine = [name for name in ALLOWED if top(name) == room]
    allowed = {top(other) for name in mine for other in ALLOWED[name]} - {room}
    assert allowed == house()[room].imports - set(FREE)


def is_defined(name: str) -> bool:
    """Whether a dotted name below the library is a module, or a function, class or method of one."""
    parts, path = name.split("."), LIBRARY
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if not parts:
        return True
    file = path / f"{parts[0]}.py"
    if file.exists():
        parts.pop(0)
    else:
        file = path / "__init__.py"
    nodes: list[ast.stmt] = parsed(file).body
    for part in parts:
        found = [node for node in nodes if part in _bound(node)]
        if not found:
            return False
        nodes = found[0].body if isinstance(found[0], ast.ClassDef) else []
    return True


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_the_walk_names_every_step() -> None:
    assert len(NAMED) > 30


@pytest.mark.parametrize("name", NAMED)
def test_what_the_walk_names_is_there(name: str) -> None:
    assert is_defined(name)


@pytest.mark.parametrize(
    "name", ["query.parse.none", "query.none", "query.scope.Scope.none", "compiler.check.x"]
)
def test_what_is_not_there_is_seen(name: str) -> None:
    assert not is_defined(name)


def test_the_walk_goes_through_the_rooms_that_decide_and_keep() -> None:
    walked = {top(name) for name in NAMED} | set(re.findall(r"\*\*(\w+)\*\*", TEXT))
    beside = {*architecture.BESIDE, "errors", "settings", "locks", "api"}
    assert walked == house().keys() - beside


def test_its_examples_hold() -> None:
    found = doctest.testfile(str(architecture.DOCUMENT), module_relative=False)
    assert found.attempted > 5 and not found.failed
