"""Markup read back: as XML and as HTML, which must agree about its text."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from hypothesis import strategies as st

# Text with everything that markup, XML and the two directions of writing make special.
NASTY = [
    "<",
    ">",
    "&",
    '"',
    "'",
    "&lt;",
    "]]>",
    "<script>alert(1)</script>",
    "</title>",
    "</svg>",
    "<!--",
    "-->",
    "\x00",
    "\x0b",
    "\ud800",
    "\u202e",
    "\n",
    "\r\n",
    "\t",
    "世",
    "é",
    " ",
    "a",
]
hostile = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(NASTY), max_size=8).map("".join))


class Reader(HTMLParser):
    """The elements and the text that a browser would find."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> ElementTree.Element:
    """The tree of some markup, which is one element; it is checked to be the same as HTML.

    Namespaces are left out of the names.
    """
    markup.encode("utf-8")
    root = ElementTree.fromstring(markup)
    for found in root.iter():
        found.tag = found.tag.rpartition("}")[2]
    reader = Reader()
    # As plain text: a parser that cuts and joins ``Markup`` would escape it.
    reader.feed(str(markup))
    reader.close()
    assert reader.names == [found.tag.lower() for found in root.iter()]
    assert "".join(reader.text.split()) == "".join("".join(root.itertext()).split())
    return root


def names(root: ElementTree.Element) -> set[str]:
    """The names of all elements."""
    return {found.tag for found in root.iter()}
