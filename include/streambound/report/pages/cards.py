"""Cards: boxes of a few lines of text, of a known height, and the arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from streambound.report.pages.drawing import ACCENT, FILL, LINE, said, text_width, words, wrapped
from streambound.report.pages.markup import Value, element

PADDING, LEADING = 10.0, 17.0
# Between a line and what stands at its right.
SPACE = 12.0
# An arrow's head, and how far an arrow within a column reaches out of it, in pixels.
HEAD, BOW = 7.0, 34.0

Spot = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A line of a card; ``right`` is a short text at its right end."""

    content: str
    right: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Card:
    """A box of lines; ``dashed`` if what it stands for is not kept."""

    width: float
    lines: tuple[Line, ...]
    dashed: bool = False

    @property
    def height(self) -> float:
        """In pixels."""
        return 2 * PADDING + LEADING * len(self.lines) - 3

    def drawn(self, x: float, y: float) -> Markup:
        """The card with its upper left corner at a place; its whole text is its title."""
        whole = "\n".join(f"{line.content}  {line.right}".rstrip() for line in self.lines)
        frame: dict[str, Value] = {"x": x, "y": y, "width": self.width, "height": self.height, "rx": 6}
        stroke: dict[str, Value] = {
            "fill": "none" if self.dashed else FILL,
            "stroke": LINE,
            "stroke-opacity": 0.55,
            "stroke-dasharray": "4 3" if self.dashed else None,
        }
        rows = (row for number, line in enumerate(self.lines) for row in self._line(line, x, y, number))
        return element("g", None, said(whole), element("rect", {**frame, **stroke}), *rows)

    def _line(self, line: Line, x: float, y: float, number: int) -> Iterable[Markup]:
        height = y + PADDING + LEADING * number + 10
        room = self.width - 2 * PADDING
        if line.right:
            aside = min(text_width(line.right, bold=True), room * 0.6)
            room -= aside + SPACE
            end = x + self.width - PADDING
            yield words(line.right, end, height, aside, bold=True, anchor="end", colour=ACCENT, titled=False)
        bold, muted = line.bold, not line.bold
        yield words(line.content, x + PADDING, height, room, bold=bold, muted=muted, titled=False)


def lines_of(content: str, width: float, most: int, right: str = "", bold: bool = False) -> list[Line]:
    """A text wrapped for a card of a width; what follows the last of ``most`` lines is cut there."""
    aside = text_width(right, bold=True) + SPACE if right else 0.0
    room = (width - 2 * PADDING - aside) / (text_width("n", bold=bold) / text_width("n"))
    first, *rest = wrapped(content, room, most) or [""]
    return [Line(first, right, bold), *(Line(line, bold=bold) for line in rest)]


@dataclass(frozen=True)
class Placed:
    """A card at a place."""

    card: Card
    x: float
    y: float

    @property
    def entry(self) -> Spot:
        """Where arrows end: x and y."""
        return self.x, self.y + self.card.height / 2

    @property
    def exit(self) -> Spot:
        """Where arrows begin: x and y."""
        return self.x + self.card.width, self.y + self.card.height / 2

    @property
    def top(self) -> Spot:
        """The middle of its upper edge: x and y."""
        return self.x + self.card.width / 2, self.y

    @property
    def bottom(self) -> Spot:
        """The middle of its lower edge: x and y."""
        return self.x + self.card.width / 2, self.y + self.card.height

    def drawn(self) -> Markup:
        """The card."""
        return self.card.drawn(self.x, self.y)


def stacked(cards: Sequence[Card], x: float, top: float, height: float, gap: float) -> list[Placed]:
    """Cards below each other, in the middle of a height."""
    y = top + (height - stack_height(cards, gap)) / 2
    placed = []
    for card in cards:
        placed.append(Placed(card, x, y))
        y += card.height + gap
    return placed


def stack_height(cards: Sequence[Card], gap: float) -> float:
    """The height of cards below each other."""
    return sum(card.height for card in cards) + gap * max(len(cards) - 1, 0)


def arrow(start: Spot, end: Spot, dashed: bool = False) -> Markup:
    """A curve from left to right with a head at its end."""
    (x1, _), (x2, _) = start, end
    bend = (x2 - x1) * 0.5
    return _curve(start, end, (bend, -bend), HEAD, dashed)


def bow(start: Spot, end: Spot) -> Markup:
    """A curve between the right sides of two cards of one column."""
    return _curve(start, end, (BOW, BOW), -HEAD, False)


def drop(start: Spot, end: Spot) -> Markup:
    """A straight arrow from a card down to the next of its column."""
    (x, y1), (_, y2) = start, end
    tip = y2 - HEAD
    corners = f"{x - 4:.1f},{tip:.1f} {x:.1f},{y2:.1f} {x + 4:.1f},{tip:.1f}"
    return _arrow(f"M{x:.1f},{y1:.1f} L{x:.1f},{tip:.1f}", corners, dashed=False)


def _curve(start: Spot, end: Spot, bends: tuple[float, float], head: float, dashed: bool) -> Markup:
    (x1, y1), (x2, y2) = start, end
    tip = x2 - head
    first, second = x1 + bends[0], tip + bends[1]
    curve = f"M{x1:.1f},{y1:.1f} C{first:.1f},{y1:.1f} {second:.1f},{y2:.1f} {tip:.1f},{y2:.1f}"
    corners = f"{tip:.1f},{y2 - 4:.1f} {x2:.1f},{y2:.1f} {tip:.1f},{y2 + 4:.1f}"
    return _arrow(curve, corners, dashed)


def _arrow(curve: str, corners: str, dashed: bool) -> Markup:
    stroke: dict[str, Value] = {
        "fill": "none",
        "stroke": LINE,
        "stroke-opacity": 0.6,
        "stroke-width": 1.3,
        "stroke-dasharray": "4 3" if dashed else None,
    }
    point = element("polygon", {"points": corners, "fill": LINE, "fill-opacity": 0.75})
    return element("g", None, element("path", {"d": curve, **stroke}), point)
