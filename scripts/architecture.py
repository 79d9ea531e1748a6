"""The picture of the house and the table of its rooms, from the imports: ``python -m scripts.architecture``.

The picture puts every room into the lowest band above all that it imports. A line leads down to what a room
imports and does not reach through another room anyway (the transitive reduction). How a layered graph is
drawn: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import escape

from scripts.imports import (
    BESIDE,
    FREE,
    LIBRARY,
    MODULES,
    ROOT,
    home,
    imported_rooms,
    imports,
    libraries,
    parsed,
    top,
)

DOCUMENT = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
TABLE = re.compile(r"(?<=<!-- rooms -->\n).*?(?=<!-- /rooms -->)", re.DOTALL)
SVG = "{http://www.w3.org/2000/svg}"

# What another library brings, whose name tells enough.
BROUGHT = {"llvmlite"}
WIDTH, MARGIN = 1320, 24
BOX, LANE, APART = 204, 12, 30  # widths: of a room, of a line that passes a band, and between them
HIGH, BAND = 48, 80  # of a room, and from band to band
SWEEPS = 24
STYLE = """
svg { --paper: #fcfcfa; --ink: #1d2430; --soft: #586273; --line: #8b97a8; --room: #eaf0f8; --edge: #9fb2cc;
  --ground: #efe9dc; --earth: #cdbf9f; --bar: #4c78a8; font-family: system-ui, "DejaVu Sans", sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14181f; --ink: #e8ecf2; --soft: #a9b4c4; --line: #71809a; --room: #222c3b; --edge: #4d6485;
    --ground: #2d2a22; --earth: #6a6147; --bar: #7fb0e6 } }
.paper { fill: var(--paper) } .room { fill: var(--room); stroke: var(--edge) }
.ground { fill: var(--ground); stroke: var(--earth) } .beside { fill: none; stroke-dasharray: 5 4 }
.bar { fill: var(--bar) } .tip { fill: var(--line) }
.line { fill: none; stroke: var(--line); stroke-width: 1.5 }
text { fill: var(--ink); font-size: 12.5px } .name { font-size: 16px; font-weight: 600 }
.size, .soft { fill: var(--soft) } .size { text-anchor: end }
"""


@dataclass(frozen=True)
class Room:
    """A room with its sub-rooms: purpose, the rooms that it imports, the libraries that only it imports."""

    name: str
    purpose: str
    imports: frozenset[str]
    only_here: tuple[str, ...]
    lines: int


def rooms() -> dict[str, Room]:
    """The rooms by name, those that import least first; what ``import streambound`` names is none."""
    modules: dict[str, list[Path]] = {}
    for path in MODULES:
        modules.setdefault(top(home(path)), []).append(path)
    del modules["__init__"]
    imported = {
        name: {top(other) for path in paths for other in imported_rooms(imports(path))} - {name}
        for name, paths in modules.items()
    }
    used = {name: libraries(_all_imports(paths)) - BROUGHT for name, paths in modules.items()}
    order = TopologicalSorter(
        {name: sorted(found) for name, found in sorted(imported.items())}
    ).static_order()
    return {
        name: Room(
            name,
            _purpose(name),
            frozenset(imported[name]),
            tuple(sorted(used[name].difference(*(used[o] for o in used if o not in (name, *BESIDE))))),
            sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules[name]),
        )
        for name in order
    }


def _all_imports(paths: Iterable[Path]) -> Iterable[str]:
    return (name for path in paths for name in imports(path))


def _purpose(room: str) -> str:
    """The first sentence of a room's docstring."""
    path = LIBRARY / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(parsed(file)) or ""
    sentence = re.split(r"(?<=\.)\s", text.split("\n\n")[0].replace("\n", " "))[0]
    return sentence.replace("``", "`")


def table(house: Mapping[str, Room]) -> str:
    """The rooms from the ground up, in Markdown."""
    lines = ["| room | holds | imports |", "|---|---|---|"]
    for room in sorted(
        house.values(), key=lambda room: (room.name not in FREE, _bands(house)[room.name], room.name)
    ):
        found = ", ".join(f"`{name}`" for name in house if name in room.imports and name not in FREE)
        lines.append(f"| `{room.name}` | {room.purpose} | {found or '–'} |")
    return "\n".join(lines) + "\n"


def direct(house: Mapping[str, Room]) -> dict[str, list[str]]:
    """What each room imports and does not reach through another.

    Left out are the rooms that every room may import, and who imports what stands beside the runtime: it is
    loaded only where it is shown.
    """
    graph = {name: room.imports - {*FREE, *BESIDE} for name, room in house.items() if name not in FREE}

    @cache
    def reached(name: str) -> frozenset[str]:
        return graph[name].union(*map(reached, graph[name]))

    return {
        name: sorted(found.difference(*map(reached, found)), key=list(graph).index)
        for name, found in graph.items()
    }


def _bands(house: Mapping[str, Room]) -> dict[str, int]:
    """By room its band: the lowest above all that it imports."""
    found = dict.fromkeys(FREE, 0)
    for name, below in direct(house).items():
        found[name] = 1 + max((found[other] for other in below), default=-1)
    return found


# A room, or the lane in which a line from the first to the second room passes a band.
Node = str | tuple[str, str, int]


@dataclass
class Graph:
    """The nodes of each band from left to right, and which are linked to which in the band below."""

    bands: list[list[Node]]
    below: dict[Node, list[Node]]

    def __post_init__(self) -> None:
        self.above: dict[Node, list[Node]] = {node: [] for band in self.bands for node in band}
        for node, others in self.below.items():
            for other in others:
                self.above[other].append(node)

    def crossings(self) -> int:
        """How many pairs of lines cross."""
        position = {node: i for band in self.bands for i, node in enumerate(band)}
        found = 0
        for band in self.bands[1:]:
            ends = [(position[node], position[other]) for node in band for other in self.below[node]]
            found += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))
        return found


def _graph(house: Mapping[str, Room]) -> Graph:
    edges, band_of = direct(house), _bands(house)
    bands: list[list[Node]] = [[] for _ in range(1 + max(band_of[name] for name in edges))]
    below: dict[Node, list[Node]] = {}
    for name in edges:
        bands[band_of[name]].append(name)
        below[name] = []
    for name, others in edges.items():
        for other in others:
            node: Node = name
            for band in range(band_of[name] - 1, band_of[other], -1):
                lane = (name, other, band)
                bands[band].append(lane)
                below[node].append(lane)
                below[lane] = []
                node = lane
            below[node].append(other)
    return Graph(bands, below)


def _untangled(graph: Graph) -> Graph:
    """The bands in an order with few crossings: each node near the middle of those it is linked to."""
    best, fewest = [list(band) for band in graph.bands], graph.crossings()
    for sweep in range(SWEEPS):
        links = graph.above if sweep % 2 else graph.below
        for band in reversed(graph.bands) if sweep % 2 else graph.bands:
            position = {node: i / len(other) for other in graph.bands for i, node in enumerate(other)}
            middle = {
                node: sum(position[o] for o in links[node]) / len(links[node])
                if links[node]
                else position[node]
                for node in band
            }
            # What stands beside the runtime stands at the side.
            band.sort(key=lambda node: (node in BESIDE, middle[node]))
        if (crossings := graph.crossings()) < fewest:
            best, fewest = [list(band) for band in graph.bands], crossings
    return Graph(best, graph.below)


def _width(node: Node) -> int:
    return BOX if isinstance(node, str) else LANE


def _offsets(band: Sequence[Node]) -> list[float]:
    """How far the middles of a band's nodes are at least from the first one's."""
    offsets = [0.0]
    for left, right in pairwise(band):
        offsets.append(offsets[-1] + (_width(left) + _width(right)) / 2 + APART)
    return offsets


def _paper(graph: Graph) -> int:
    """The width of the paper: that of the house, or of its widest band where that is wider."""
    bands = (_offsets(band)[-1] + (_width(band[0]) + _width(band[-1])) / 2 for band in graph.bands)
    return max(WIDTH, math.ceil(max(bands)) + 2 * MARGIN)


def _middles(graph: Graph, paper: int) -> dict[Node, float]:
    """The nodes' middles, each as near to those of its neighbours as the order and the widths permit."""
    x: dict[Node, float] = {node: paper / 2 for band in graph.bands for node in band}
    for sweep in range(8 * SWEEPS):
        for band in graph.bands if sweep % 2 else reversed(graph.bands):
            wished = []
            for node in band:
                near = [*graph.above[node], *graph.below[node]]
                # A line that passes several bands is to be straight.
                weights = [1 if isinstance(node, str) or isinstance(other, str) else 6 for other in near]
                wish = sum(x[o] * w for o, w in zip(near, weights, strict=True)) / (sum(weights) or 1)
                wished.append(paper if node in BESIDE else wish)
            x.update(zip(band, _apart(band, wished, paper), strict=True))
    return x


def _apart(band: Sequence[Node], wished: Sequence[float], paper: int) -> list[float]:
    """The places on the paper nearest to those wished, the nodes apart (pool adjacent violators)."""
    offsets = _offsets(band)
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wished, offsets, strict=True):
        mean, size = wish - offset, 1
        while pools and pools[-1][0] > mean:
            before, many = pools.pop()
            mean, size = (mean * size + before * many) / (size + many), size + many
        pools.append((mean, size))
    least = MARGIN + _width(band[0]) / 2
    most = paper - MARGIN - _width(band[-1]) / 2 - offsets[-1]
    positions = [min(max(mean, least), most) for mean, size in pools for _ in range(size)]
    return [position + offset for position, offset in zip(positions, offsets, strict=True)]


def picture(house: Mapping[str, Room], sizes: Mapping[str, int]) -> str:
    """The house as an SVG, the ground at the bottom, legible on light and on dark.

    Args:
        sizes: by room its lines.
    """
    graph = _untangled(_graph(house))
    paper = _paper(graph)
    x, height = _middles(graph, paper), (len(graph.bands) + 1) * BAND + 2 * MARGIN
    y = {
        node: MARGIN + (len(graph.bands) - 1 - i) * BAND
        for i, band in enumerate(graph.bands)
        for node in band
    }
    most = max(sizes.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {paper} {height}" role="img">',
        "<title>The rooms of streambound: a line leads down to what a room imports</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{paper}" height="{height}" rx="10"/>',
    ]
    for band in reversed(graph.bands):
        parts += [_line(graph, node, other, x, y) for node in band for other in graph.below[node]]
        parts += [
            f'<path class="line" d="M{x[node]:.1f} {y[node]}v{HIGH}"/>'
            for node in band
            if not isinstance(node, str)
        ]
    for name in direct(house):
        parts.append(_box(house[name], x[name], y[name], BOX, sizes[name], most))
    ground, wide = (
        MARGIN + len(graph.bands) * BAND,
        (paper - 2 * MARGIN - APART * (len(FREE) - 1)) / len(FREE),
    )
    for i, name in enumerate(FREE):
        middle = MARGIN + wide / 2 + i * (wide + APART)
        parts.append(_box(house[name], middle, ground, wide, sizes[name], most))
    said = (
        "A line leads down to what a room imports and does not reach through another room;"
        f" every room may import {', '.join(FREE[:-1])} and {FREE[-1]}.",
        "Dashed: beside the runtime, loaded only where it is shown. A bar is a room's size in lines;"
        " under it the libraries that no other room imports.",
    )
    parts += [
        f'<text class="soft" x="{MARGIN}" y="{ground + HIGH + 26 + 18 * i}">{escape(line)}</text>'
        for i, line in enumerate(said)
    ]
    return "\n".join([*parts, "</svg>", ""])


def _port(node: Node, other: Node, others: Iterable[Node], x: Mapping[Node, float]) -> float:
    """Where on a room's edge the line to one of its neighbours is."""
    order = sorted(others, key=lambda one: x[one])
    apart = min(36.0, (BOX - 40) / len(order))
    return x[node] + (apart * (order.index(other) - (len(order) - 1) / 2) if isinstance(node, str) else 0)


def _line(graph: Graph, node: Node, other: Node, x: Mapping[Node, float], y: Mapping[Node, int]) -> str:
    start, end = _port(node, other, graph.below[node], x), _port(other, node, graph.above[other], x)
    high, low = y[node] + HIGH, y[other] - (5 if isinstance(other, str) else 0)
    bend = (high + low) / 2
    path = f'<path class="line" d="M{start:.1f} {high}C{start:.1f} {bend} {end:.1f} {bend} {end:.1f} {low}"/>'
    tip = f'<path class="tip" d="M{end:.1f} {y[other]}l-4 -8h8z"/>'
    return path + tip if isinstance(other, str) else path


def _box(room: Room, middle: float, y: float, wide: float, lines: int, most: int) -> str:
    left, kind = middle - wide / 2, "ground" if room.name in FREE else "room"
    beside = " beside" if room.name in BESIDE else ""
    bar = max(2.0, (BOX - 24) * lines / most)
    return (
        f'<g id="{room.name}"><title>{escape(room.purpose)}</title>'
        f'<rect class="{kind}{beside}" x="{left:.1f}" y="{y}" width="{wide:.1f}" height="{HIGH}" rx="6"/>'
        f'<text class="name" x="{left + 12:.1f}" y="{y + 20}">{room.name}</text>'
        f'<text class="size" x="{left + wide - 12:.1f}" y="{y + 20}">{lines:,}</text>'
        f'<rect class="bar" x="{left + 12:.1f}" y="{y + 26}" width="{bar:.1f}" height="2.5"/>'
        f'<text class="soft" x="{left + 12:.1f}" y="{y + 42}">{escape(", ".join(room.only_here))}</text></g>'
    )


def rounded(house: Mapping[str, Room]) -> dict[str, int]:
    """The sizes in lines, to the next hundred: a line more is no other picture."""
    return {name: max(100, round(room.lines, -2)) for name, room in house.items()}


def drawn_sizes(svg: str) -> dict[str, int]:
    """The sizes that a picture shows."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {
        group.attrib["id"]: int(text.replace(",", ""))
        for group in groups
        for text in [group.findtext(f"{SVG}text[@class='size']", "")]
    }


def document(text: str, house: Mapping[str, Room]) -> str:
    """The text of docs/architecture.md with the table as it is now."""
    return TABLE.sub(lambda _: table(house), text)


def main() -> None:
    """Write both anew."""
    house = rooms()
    PICTURE.write_text(picture(house, rounded(house)), encoding="utf-8")
    DOCUMENT.write_text(document(DOCUMENT.read_text(encoding="utf-8"), house), encoding="utf-8")


if __name__ == "__main__":
    main()
