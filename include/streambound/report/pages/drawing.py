"""What the pictures share: their colours, text of a known width, and the frame of an inline SVG.

Pictures take their colours from the page, so that they follow its light and dark mode: ``--sb-line`` (lines
and text; by default the text's colour), ``--sb-accent`` (what matters) and ``--sb-fill`` (areas). An SVG
does not wrap or cut text, and nobody measures it here: widths are estimates on the wide side, and what
does not fit is cut and has its full text as a title.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from markupsafe import Markup

from streambound.report.pages.markup import element, joined, text

LINE = "var(--sb-line, currentColor)"
ACCENT = "var(--sb-accent, #3b82f6)"
FILL = "var(--sb-fill, rgba(127, 127, 127, 0.14))"
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
MORE = "…"

# Between the sides of a comparison stands a space at which no line ends.
_SIGNS, _KEPT_TOGETHER = re.compile(r" (<=|>=|<>|=|<|>|[+]) "), "\u00a0\\1\u00a0"
_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMWGOQ@%&—…")


def picture(width: int, height: int, title: str, description: str, parts: Iterable[Markup]) -> Markup:
    """An inline SVG of a size in pixels, to be read aloud by title and description, and not part by part.

    Its parts are defined, then used: what checks a page's text for contrast cannot tell what is behind words
    in a picture, and leaves alone what is only defined. The words' contrast is tested by itself.
    """
    drawn = joined(parts)
    name = f"picture-{sha256(drawn.encode()).hexdigest()[:12]}"
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "role": "img",
            "font-family": FONT,
            "class": "streambound-picture",
        },
        said(title),
        element("desc", None, text(description)),
        element("defs", None, element("g", {"id": name}, drawn)),
        element("use", {"href": f"#{name}"}),
    )


def said(title: str) -> Markup:
    """The title of a part of a picture: shown under the pointer, and read aloud."""
    return element("title", None, text(title))


def words(
    content: str,
    x: float,
    y: float,
    width: float,
    *,
    size: int = 12,
    bold: bool = False,
    muted: bool = False,
    anchor: str | None = None,
    colour: str = LINE,
    titled: bool = True,
) -> Markup:
    """A line of text at a baseline, cut to a width in pixels.

    Args:
        anchor: the side of the text that is at ``x``: ``middle`` or ``end``, else its start.
        titled: the full text is a title of what was cut.
    """
    shown = cut(content, width, size, bold)
    return element(
        "text",
        {
            "x": x,
            "y": y,
            "font-size": size,
            "font-weight": 600 if bold else None,
            "fill": colour,
            "fill-opacity": 0.75 if muted else None,
            "text-anchor": anchor,
        },
        *([said(content)] if titled and shown != content else []),
        text(shown),
    )


def cut(content: str, width: float, size: int = 12, bold: bool = False) -> str:
    """The text on one line, if need be the part of it that fits a width, and an ellipsis."""
    content = " ".join(content.split())
    if text_width(content, size, bold) <= width:
        return content
    room, kept = width - text_width(MORE, size, bold), 0
    for sign in content:
        room -= text_width(sign, size, bold)
        if room < 0:
            break
        kept += 1
    return content[:kept].rstrip() + MORE


def wrapped(content: str, width: float, lines: int, size: int = 12) -> list[str]:
    """The text on so many lines at most, comparisons whole; the last holds the rest, which may not fit."""
    wrapped_lines, line = list[str](), ""
    pending = deque(_SIGNS.sub(_KEPT_TOGETHER, " ".join(content.split())).split(" "))
    while pending and len(wrapped_lines) < lines - 1:
        if "\u00a0" in pending[0] and text_width(pending[0], size) > width:
            # A comparison that is too long for a line.
            pending.extendleft(reversed(pending.popleft().split("\u00a0")))
        longer = f"{line} {pending[0]}".strip()
        if line and text_width(longer, size) > width:
            wrapped_lines.append(line)
            line = ""
        else:
            line = longer
            pending.popleft()
    rest = " ".join((line, *pending)).strip()
    return [*wrapped_lines, rest] if rest else wrapped_lines


def text_width(content: str, size: int = 12, bold: bool = False) -> float:
    """About how many pixels wide a line of text is."""
    return sum(map(_width, content)) * size * (1.06 if bold else 1.0)


@lru_cache(maxsize=4096)
def _width(sign: str) -> float:
    """The width of a character in parts of the font's size, for the widest of common fonts."""
    if unicodedata.combining(sign):
        return 0.0
    if ord(sign) >= 0x2E80 or unicodedata.east_asian_width(sign) in "WF":
        return 1.2
    if sign in _NARROW:
        return 0.38
    if sign in _BROAD:
        return 0.95
    return 0.74 if sign.isupper() or not sign.isascii() else 0.61
