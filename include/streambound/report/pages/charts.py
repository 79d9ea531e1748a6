"""The size of a query's state over the partitions of its history, against its bound.

State is counted in units: stored values and counts. A bound far above all that is stored would flatten
the curve: it then stands above a break of the axis, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from streambound.report.pages.drawing import ACCENT, FILL, LINE, picture, said, text_width, words
from streambound.report.pages.markup import Value, element, joined
from streambound.report.sizes import units_text

# A bound more often than this above the largest state stands above a break of the axis.
FAR = 5.0
# What of the height is left below a break.
BELOW_BREAK = 0.72
# Points of a line that are told apart: two a pixel would be more than a screen shows.
DRAWN = 400
# With so many at most each is a dot with its number.
DOTTED = 62
# Labels of the axis of partitions, and their characters.
LABELS, LABEL_WIDTH = 5, 84.0
# Pixels of a line in a row of a table, as the page's style has it.
SPARK_WIDTH, SPARK_HEIGHT = 60, 16

Point = tuple[str, int]


@dataclass(frozen=True)
class _Frame:
    """Where the points are drawn, in user units of the picture; ``top`` is the number at its upper edge.

    ``broken`` tells that the bound stands above a break, at the upper edge.
    """

    left: float
    right: float
    upper: float
    lower: float
    number: int
    top: int
    broken: bool

    def x(self, index: int) -> float:
        if self.number == 1:
            return (self.left + self.right) / 2
        return self.left + (self.right - self.left) * index / (self.number - 1)

    def y(self, units: int) -> float:
        height = (self.lower - self.upper) * (BELOW_BREAK if self.broken else 1.0)
        return self.lower - height * units / max(self.top, 1)

    def bound_y(self, bound: int) -> float:
        return self.upper if self.broken else self.y(bound)


def state_chart(
    points: Sequence[Point], bound: int | None, *, name: str = "", noun: str = "partition"
) -> str:
    """An inline SVG of the units that were stored after each partition.

    Args:
        points: (partition, units), in the order of time.
        bound: the units of the plan; None where it is not known.
        name: the query, for the picture's title.
        noun: what a point stands after.
    """
    width, height = 720, 260
    of = f" of {name}" if name else ""
    title, description = f"State{of} over time", _described(points, bound, noun)
    if not points:
        parts = [
            words("no state recorded yet", width / 2, height / 2 + 4, width, muted=True, anchor="middle")
        ]
        return picture(width, height, title, description, parts)
    frame = _frame(points, bound)
    parts = [*_axes(points, frame, noun), *_curve(points, frame)]
    if bound is not None:
        parts += _bound(bound, frame)
    return picture(width, height, title, description, parts)


def sparkline(peaks: Sequence[int], bound: int | None) -> str:
    """An inline SVG of one line without axes, for a row of a table of thousands: the largest states of
    evaluations in the order of time. A bound that is known is the upper edge, which the page's style draws
    for the class ``bound``; one that is far above all peaks is not to scale, and of the class ``far``.
    """
    most = max(peaks, default=0)
    far = bound is not None and bound > FAR * max(most, 1)
    top = max(most if far else max(most, bound or 0), 1)
    room = SPARK_HEIGHT * (BELOW_BREAK if far else 1.0)
    step = SPARK_WIDTH / max(len(peaks) - 1, 1)
    heights = [
        round(SPARK_HEIGHT - room * units / top) for units in (peaks if len(peaks) > 1 else [*peaks] * 2)
    ]
    corners = " ".join(f"{round(step * index)} {height}" for index, height in enumerate(heights))
    label = f"{min(peaks, default=0):,} to {units_text(most)}"
    return element(
        "svg",
        {
            "class": "spark" if bound is None else "spark far" if far else "spark bound",
            "role": "img",
            "aria-label": label,
        },
        *([element("path", {"d": f"M{corners}"})] if peaks else []),
    )


def _described(points: Sequence[Point], bound: int | None, noun: str) -> str:
    limit = "no bound is known" if bound is None else f"the bound is {units_text(bound)}"
    if not points:
        return f"No state was recorded; {limit}."
    sizes = [units for _, units in points]
    spread = units_text(sizes[0]) if len(set(sizes)) == 1 else f"{min(sizes):,} to {units_text(max(sizes))}"
    first, last = points[0][0], points[-1][0]
    when = first if len(points) == 1 else f"{first} to {last}, {len(points):,} {noun}s"
    return f"{spread} ({when}), at last {sizes[-1]:,}; {limit}."


def _frame(points: Sequence[Point], bound: int | None) -> _Frame:
    most = max(units for _, units in points)
    broken = bound is not None and bound > FAR * max(most, 1)
    top = most if broken else max(most, bound or 0)
    return _Frame(70.0, 672.0, 34.0, 212.0, len(points), _rounded(top), broken)


def _rounded(top: int) -> int:
    """The axis ends at a tick."""
    step = _step(top)
    return -(-top // step) * step


def _step(top: int) -> int:
    """A distance of ticks, one of 1, 2 or 5 times a power of ten, of which at most five fit."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if top <= 5 * factor * power:
                return factor * power
        power *= 10


def _curve(points: Sequence[Point], frame: _Frame) -> Iterator[Markup]:
    drawn = list(_peaks(points))
    corners = [(frame.x(index), frame.y(units)) for index, units in drawn]
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    if len(corners) > 1:
        ends = f"M{corners[0][0]:.1f},{frame.lower:.1f} L{path} L{corners[-1][0]:.1f},{frame.lower:.1f} Z"
        yield element("path", {"d": ends, "fill": FILL, "stroke": "none"})
        line: dict[str, Value] = {"fill": "none", "stroke": ACCENT, "stroke-width": 1.8}
        yield element("path", {"d": f"M{path}", **line, "stroke-linejoin": "round"})
    if len(points) <= DOTTED:
        radius = 3.0 if len(points) == 1 else 2.4
        for (index, units), (x, y) in zip(drawn, corners, strict=True):
            markup = said(f"{points[index][0]}: {units_text(units)}")
            yield element("circle", {"cx": x, "cy": y, "r": radius, "fill": ACCENT}, markup)


def _peaks(points: Sequence[Point]) -> Iterator[tuple[int, int]]:
    """(place, units) of the points; of very many the largest of each stretch, the first and the last."""
    if len(points) <= DRAWN:
        yield from ((index, units) for index, (_, units) in enumerate(points))
        return
    yield 0, points[0][1]
    ends = [1 + (len(points) - 2) * part // DRAWN for part in range(DRAWN + 1)]
    for start, end in pairwise(ends):
        index = max(range(start, end), key=lambda i: points[i][1])
        yield index, points[index][1]
    yield len(points) - 1, points[-1][1]


def _bound(bound: int, frame: _Frame) -> Iterator[Markup]:
    y = frame.bound_y(bound)
    dashed: dict[str, Value] = {"stroke": LINE, "stroke-width": 1.4, "stroke-dasharray": "5 3"}
    yield element("line", {"x1": frame.left, "y1": y, "x2": frame.right, "y2": y, **dashed})
    if frame.broken:
        yield _break(frame)
    scale = " (far above: not to scale)" if frame.broken else ""
    label = f"bound: {units_text(bound)}{scale}"
    x, height = frame.right - text_width(label) - 34, frame.upper - 16
    yield element("line", {"x1": x, "y1": height, "x2": x + 28, "y2": height, **dashed})
    yield words(label, x + 34, height + 4, frame.right - frame.left)


def _short(number: int) -> str:
    """A number in few characters."""
    for power, sign in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= max(power, 10_000):
            digits = ".3g" if number < 100 * power else ",.0f"
            return f"{number / power:{digits}}{sign}" if number <= 1000 * power else f"{number:.1e}"
    return f"{number:,}"


def _break(frame: _Frame) -> Markup:
    """Two slanted strokes over the left edge, where the axis leaves out numbers."""
    y = frame.y(frame.top) - (frame.y(frame.top) - frame.upper) * 0.5
    x = frame.left
    strokes = (
        element("path", {"d": f"M{x - 4:.1f},{y + d + 3:.1f} L{x + 4:.1f},{y + d - 3:.1f}", "stroke": LINE})
        for d in (-2.0, 2.0)
    )
    return joined(strokes)


def _axes(points: Sequence[Point], frame: _Frame, noun: str) -> Iterator[Markup]:
    faint: dict[str, Value] = {"stroke": LINE, "stroke-opacity": 0.18}
    step = _step(frame.top)
    for units in range(0, frame.top + 1, step):
        y = frame.y(units)
        yield element("line", {"x1": frame.left, "y1": y, "x2": frame.right, "y2": y, **faint})
        label = f"{units:,}" if units < 10**7 else _short(units)
        yield words(label, frame.left - 8, y + 4, 60, size=11, muted=True, anchor="end")
    edge: dict[str, Value] = {"x1": frame.left, "x2": frame.left, "y1": frame.upper, "y2": frame.lower}
    yield element("line", {**edge, "stroke": LINE, "stroke-opacity": 0.5})
    yield words("units", frame.left - 8, frame.upper - 18, 60, size=11, muted=True, anchor="end")
    for index in _labelled(len(points)):
        yield words(points[index][0], frame.x(index), 232, LABEL_WIDTH, size=11, muted=True, anchor="middle")
    yield words(noun, (frame.left + frame.right) / 2, 252, 200, size=11, muted=True, anchor="middle")


def _labelled(number: int) -> list[int]:
    """The places of points that are named on the axis: the first, the last and some between."""
    shown = min(number, LABELS)
    return sorted({round(part * (number - 1) / max(shown - 1, 1)) for part in range(shown)})
