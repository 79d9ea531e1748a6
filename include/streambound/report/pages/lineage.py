"""What is made of what: streams, the queries over them, the queries over those, and their answers.

A column for each step. A query stands one column right of the last that it reads, in a row of its own, with
its answer right beside it; a stream stands at the height of the queries that read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from streambound.report.pages.drawing import LINE
from streambound.report.pages.markup import Value, element, joined, text

COLUMN, ROW, WIDTH, HEIGHT = 268.0, 34.0, 220.0, 26.0
TOP, LEFT = 30.0, 4.0
_HTML = "http://www.w3.org/1999/xhtml"


@dataclass(frozen=True)
class Node:
    """A stream, a query or an answer.

    ``state`` is a class of the page's, such as a verdict; ``note`` says it in words beside the name.
    """

    key: str
    kind: str
    name: str
    href: str
    note: str = ""
    state: str = ""


def lineage_picture(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> str:
    """An inline SVG in which each node is a link; nodes and edges by their keys.

    Edges that close a circle are not followed.
    """
    by_key = {node.key: node for node in nodes}
    into: dict[str, list[str]] = {key: [] for key in by_key}
    for source, target in edges:
        if source in by_key and target in by_key:
            into[target].append(source)
    depth = _depths(nodes, into)
    rows = _rows(nodes, into, depth)
    corners = {key: (LEFT + COLUMN * depth[key], TOP + ROW * row) for key, row in rows.items()}
    last = max(depth.values(), default=0)
    height = TOP + ROW * (max(rows.values(), default=0.0) + 1) + 6
    width = LEFT * 2 + COLUMN * last + WIDTH
    # Not an image: what is in it can be clicked, and is read one by one.
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "width": round(width),
            "height": round(height),
            "role": "group",
            "aria-label": "Lineage: streams, queries and answers",
            "class": "streambound-picture lineage",
        },
        *(_edge(corners[source], corners[target]) for target in into for source in into[target]),
        *_headings(last, any(node.kind == "answer" for node in nodes)),
        *(_node(by_key[key], *corners[key]) for key in sorted(corners, key=lambda name: corners[name])),
    )


def _depths(nodes: Sequence[Node], into: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many steps each node is from what it is made of; a circle counts as none."""
    depths: dict[str, int] = {}
    kinds = {node.key: node.kind for node in nodes}

    def depth(key: str) -> int:
        if key not in depths:
            depths[key] = 0
            if kinds[key] != "stream":
                depths[key] = 1 + max(map(depth, into[key]), default=0)
        return depths[key]

    for key in kinds:
        depth(key)
    return depths


def _rows(
    nodes: Sequence[Node], into: Mapping[str, Sequence[str]], depth: Mapping[str, int]
) -> dict[str, float]:
    """The row of each node: queries that read the same stand together, what reads one right below it."""
    streams = {node.key: number for number, node in enumerate(n for n in nodes if n.kind == "stream")}
    queries = [node.key for node in nodes if node.kind == "query"]

    def rank(key: str) -> tuple[tuple[int, ...], int, str]:
        below, waiting = set[str](), [key]
        while waiting:
            for source in into[waiting.pop()]:
                if source not in below:
                    below.add(source)
                    waiting.append(source)
        return tuple(sorted(streams[item] for item in below if item in streams)), depth[key], key

    rows = {key: float(row) for row, key in enumerate(sorted(queries, key=rank))}
    for node in nodes:
        if node.kind == "answer":
            rows[node.key] = next((rows[key] for key in into[node.key] if key in rows), 0.0)
    readers: dict[str, list[float]] = {key: [] for key in streams}
    for key in queries:
        for source in into[key]:
            if source in readers:
                readers[source].append(rows[key])
    least = 0.0
    for key in sorted(streams, key=lambda name: (_mean(readers[name], len(queries)), streams[name])):
        rows[key] = max(_mean(readers[key], len(queries)), least)
        least = rows[key] + 1
    return rows


def _mean(rows: Sequence[float], otherwise: float) -> float:
    return sum(rows) / len(rows) if rows else otherwise


def _headings(last: int, answered: bool) -> Iterator[Markup]:
    derived = "Answers; queries over queries" if answered else "Queries over queries"
    only = "Answers" if answered and last == 2 else derived
    for number, name in enumerate(["Streams and tables", "Queries", only, *["And so on"] * last][: last + 1]):
        heading = element("div", {"xmlns": _HTML, "class": "step"}, text(name))
        yield _node_svg(LEFT + COLUMN * number, 0.0, heading)


def _edge(source: tuple[float, float], target: tuple[float, float]) -> Markup:
    x, y = source[0] + WIDTH, source[1] + HEIGHT / 2
    to, down = target[0], target[1] + HEIGHT / 2
    bend = max((to - x) / 2, 12.0)
    path = f"M{x:.1f},{y:.1f} C{x + bend:.1f},{y:.1f} {to - bend:.1f},{down:.1f} {to:.1f},{down:.1f}"
    shape: dict[str, Value] = {"d": path, "fill": "none", "stroke": LINE, "stroke-opacity": 0.35}
    return element("path", shape)


def _node(node: Node, x: float, y: float) -> Markup:
    parts = [element("span", {"class": "name"}, text(node.name))]
    if node.note:
        parts.append(element("span", {"class": "note"}, text(node.note)))
    attributes: dict[str, Value] = {
        "xmlns": _HTML,
        "href": node.href,
        "class": f"node {node.kind} {node.state}".strip(),
        "title": f"{node.kind} {node.name}",
    }
    return _node_svg(x, y, element("a", attributes, joined(parts, " ")))


def _node_svg(x: float, y: float, content: Markup) -> Markup:
    """HTML at a place in the drawing: it wraps, is cut and has its colours by the page's styles."""
    box: dict[str, Value] = {"x": x, "y": y, "width": WIDTH, "height": HEIGHT}
    return element("foreignObject", box, content)
