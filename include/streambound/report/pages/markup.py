"""Markup that is well-formed as HTML and as XML, whatever text goes into it.

Only this module makes ``Markup``, so that the type checker tells text from markup: text becomes markup by
``text`` or as an attribute of ``element``, and is escaped by both. Templates take it as it is. What is made
loads nothing from elsewhere and has no scripts and no style attributes, so a strict content security policy
lets it pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup, escape

# What an attribute is set to; an attribute that is None is left out.
Value = str | int | float | None

# What XML cannot hold, and the signs that reorder the text around them (U+202A-202E, U+2066-2069).
_UNFIT = re.compile(
    "[^\t\n\r\u0020-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x84\x86-\x9f]"
)
_REPLACEMENT = "\ufffd"


def text(value: str) -> Markup:
    """Text as markup; a character that XML cannot hold is shown as U+FFFD."""
    return escape(_UNFIT.sub(_REPLACEMENT, value))


def element(name: str, attributes: Mapping[str, Value] | None = None, *children: Markup) -> Markup:
    """An element with its attributes and content; numbers have at most two decimals."""
    given = {key: value for key, value in (attributes or {}).items() if value is not None}
    head = "".join([name, *(f' {key}="{_attribute(value)}"' for key, value in given.items())])
    if not children and name in _EMPTY:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(children)}</{name}>")


# Elements without content.
_EMPTY = frozenset({"br", "circle", "line", "path", "polygon", "polyline", "rect", "use"})


def _attribute(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    # A line break in an attribute reads as a space in XML, but not in HTML.
    return str(text(str(value))).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    """Pieces of markup in a row, with text between them."""
    return text(between).join(parts)


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Markup]],
    classes: str,
    marked: Mapping[int, str] | None = None,
    *,
    headed: bool = True,
) -> Markup:
    """A table with a caption.

    Args:
        classes: of the table.
        marked: the class of some rows, by their number from 0.
        headed: whether the first cell of several in a row is its heading.
    """
    head = element("tr", None, *(element("th", {"scope": "col"}, text(name)) for name in headings))
    body = [
        element(
            "tr",
            {"class": (marked or {}).get(number)},
            *(
                element("td", None, cell)
                if position or len(row) == 1 or not headed
                else element("th", {"scope": "row"}, cell)
                for position, cell in enumerate(row)
            ),
        )
        for number, row in enumerate(rows)
    ]
    return element(
        "table",
        {"class": classes},
        element("caption", None, text(caption)),
        element("thead", None, head),
        element("tbody", None, *body),
    )
