"""The drawing of what is made of what: every node a link, no two in one place, whatever reads what."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read

from streambound.report.pages import Node, lineage_picture

NODES = [
    Node("s:T", "stream", "T", "streams/T", "failed", "failed"),
    Node("s:S", "stream", "S", "streams/S"),
    Node("q:a", "query", "a", "queries/a", "bounded", "bounded"),
    Node("q:b", "query", "b", "queries/b"),
    Node("a:b", "answer", "b", "queries/b#answers", "3 rows"),
]
EDGES = [("s:S", "q:a"), ("s:T", "q:a"), ("q:a", "q:b"), ("q:b", "a:b")]


def places(root: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Of each node, by its address, where it stands."""
    return {
        link.attrib["href"]: (float(box.attrib["x"]), float(box.attrib["y"]))
        for box in root.iter("foreignObject")
        for link in box.iter("a")
    }


def test_each_step_is_a_column_and_an_answer_is_beside_its_query() -> None:
    root = read(lineage_picture(NODES, EDGES))
    found = places(root)
    across = {address: x for address, (x, _) in found.items()}
    assert across["streams/S"] == across["streams/T"] < across["queries/a"] < across["queries/b"]
    assert across["queries/b"] < across["queries/b#answers"]
    assert found["queries/b"][1] == found["queries/b#answers"][1]
    assert len(list(root.iter("path"))) == len(EDGES)
    # It is no image: its links are reached one by one.
    assert root.attrib["role"] == "group"


def test_a_circle_is_drawn_all_the_same() -> None:
    root = read(lineage_picture(NODES[2:4], [("q:a", "q:b"), ("q:b", "q:a"), ("q:a", "nowhere")]))
    assert len(places(root)) == 2 and len(list(root.iter("path"))) == 2


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_two_nodes_stand_in_one_place(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(["stream", "query"]), max_size=9))
    nodes = [Node(f"k{n}", kind, data.draw(hostile), f"x/{n}") for n, kind in enumerate(kinds)]
    keys = st.sampled_from([node.key for node in nodes] or ["none"])
    edges = data.draw(st.lists(st.tuples(keys, keys), max_size=12, unique=True))
    answers = [
        Node(f"a{n.key}", "answer", n.name, f"{n.href}#a")
        for n in nodes
        if n.kind == "query" and n.key < "k5"
    ]
    root = read(lineage_picture([*nodes, *answers], [*edges, *((a.key[1:], a.key) for a in answers)]))
    found = places(root)
    assert len(found) == len(nodes) + len(answers) == len(set(found.values()))
    assert names(root) <= {"svg", "path", "foreignObject", "div", "a", "span"}
    assert all(0 <= y < float(root.attrib["height"]) for _, y in found.values())
