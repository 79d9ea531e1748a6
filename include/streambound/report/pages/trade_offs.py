"""What a query's caches keep against their memory: the last benchmark's trade-off, drawn for a page.

Lines are told apart by colour, dashes, and their names at the right; policies that keep the same at every
size share one line. The chosen policies have a ring, and the 95% interval of what they keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log

from markupsafe import Markup

from streambound.approximate.nightly.advice import SharesAtSize, kept_by_size
from streambound.approximate.nightly.night import Night
from streambound.approximate.policies import POLICIES
from streambound.report.pages.drawing import LINE, picture, said, words
from streambound.report.pages.markup import Value, element

WIDTH, HEIGHT = 720, 330
LEFT, RIGHT, UPPER, LOWER = 62.0, 540.0, 20.0, 270.0
# Between the names at the right.
APART = 15.0
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
# Of the policies, in their order; a page gives each a colour for light and dark.
DASHES = ("16 4", "7 3", "2 3", "9 3 2 3", "5 2", "12 4", "3 2 1 2")


@dataclass(frozen=True)
class _Line:
    """What some policies keep at each size, as shares."""

    name: str
    number: int
    points: tuple[tuple[int, float], ...]


def trade_off_chart(night: Night) -> str:
    """An inline SVG of what each policy keeps of all results at each size that was tried, and the optimum.

    Raises:
        DataError: there were no results on the held-out days.
    """
    by_size = kept_by_size(night)
    lines = _lines(by_size, night.possible)
    most = max(y for line in lines for _, y in line.points)
    step = next((number for number in TICKS if most <= 5 * number), 0.25)
    top = min(step * -int(-most // step), 1.0) or step
    frame = _Frame(by_size[0].of.size, by_size[-1].of.size, top)
    parts = [*_axes(by_size, frame, step), *_curves(lines, frame), *_chosen(by_size, frame)]
    parts += _names(lines, frame)
    best = "; ".join(
        f"{at_size.of.size:,} tuples: {at_size.of.selected_policy.policy} {at_size.kept:.1%}"
        for at_size in by_size
    )
    described = f"Chosen of the policies: {best}. The optimum: " + ", ".join(
        f"{at_size.optimum:.1%}" for at_size in by_size
    )
    return picture(WIDTH, HEIGHT, f"What caches of {night.query} keep", described, parts)


@dataclass(frozen=True)
class _Frame:
    least: int
    most: int
    top: float

    def x(self, size: int) -> float:
        """Sizes are on a logarithmic scale."""
        if self.least == self.most:
            return (LEFT + RIGHT) / 2
        return LEFT + 24 + (RIGHT - LEFT - 34) * log(size / self.least) / log(self.most / self.least)

    def y(self, fraction: float) -> float:
        return LOWER - (LOWER - UPPER) * fraction / self.top


def _lines(by_size: Sequence[SharesAtSize], possible: int) -> list[_Line]:
    """The optimum, then the policies; of HEEB the best alpha."""
    kept: dict[str, dict[int, float]] = {}
    for at_size in by_size:
        for judged in at_size.of.judged:
            at = kept.setdefault(judged.contender.policy, {})
            at[at_size.of.size] = max(at.get(at_size.of.size, 0.0), judged.kept / possible)
    order = {policy: number for number, policy in enumerate(POLICIES)}
    points = {policy: tuple(sorted(at.items())) for policy, at in kept.items()}
    by_points = sorted(points, key=lambda policy: (points[policy], order[policy]))
    optimum = _Line("optimum", -1, tuple((item.of.size, item.optimum) for item in by_size))
    groups = [(same, list(names)) for same, names in groupby(by_points, key=points.__getitem__)]
    return [optimum, *(_Line(", ".join(names), order[names[0]], same) for same, names in groups)]


def _axes(by_size: Sequence[SharesAtSize], frame: _Frame, step: float) -> Iterator[Markup]:
    faint: dict[str, Value] = {"stroke": LINE, "stroke-opacity": 0.18}
    for number in range(round(frame.top / step) + 1):
        y = frame.y(number * step)
        yield element("line", {"x1": LEFT, "y1": y, "x2": RIGHT, "y2": y, **faint})
        yield words(f"{number * step:.0%}", LEFT - 8, y + 4, 50, size=11, anchor="end")
    for at_size in by_size:
        x = frame.x(at_size.of.size)
        yield element(
            "line", {"x1": x, "y1": LOWER, "x2": x, "y2": LOWER + 5, "stroke": LINE, "stroke-opacity": 0.5}
        )
        yield words(f"{at_size.of.size:,}", x, LOWER + 19, 80, size=11, anchor="middle")
    yield words("tuples (a logarithmic scale)", (LEFT + RIGHT) / 2, LOWER + 42, 300, size=11, anchor="middle")


def _colour(line: _Line) -> str:
    return LINE if line.number < 0 else f"var(--sb-line-{line.number % len(DASHES) + 1}, {LINE})"


def _style(line: _Line) -> dict[str, Value]:
    dashes = DASHES[line.number % len(DASHES)] if line.number >= 0 else None
    width = 2.4 if line.number < 0 else 1.8
    return {"stroke": _colour(line), "stroke-dasharray": dashes, "stroke-width": width}


def _curves(lines: Sequence[_Line], frame: _Frame) -> Iterator[Markup]:
    for line in lines:
        corners = " L".join(f"{frame.x(size):.1f},{frame.y(fraction):.1f}" for size, fraction in line.points)
        if len(line.points) > 1:
            yield element("path", {"d": f"M{corners}", "fill": "none", **_style(line)}, said(line.name))
        for size, fraction in line.points:
            markup = said(f"{line.name}: {fraction:.1%} in {size:,} tuples")
            dot: dict[str, Value] = {
                "cx": frame.x(size),
                "cy": frame.y(fraction),
                "r": 3,
                "fill": _colour(line),
            }
            yield element("circle", dot, markup)


def _chosen(by_size: Sequence[SharesAtSize], frame: _Frame) -> Iterator[Markup]:
    for at_size in by_size:
        x, y = frame.x(at_size.of.size), frame.y(at_size.kept)
        if at_size.of.half:
            above, below = (
                min(at_size.kept + at_size.of.half, frame.top),
                max(at_size.kept - at_size.of.half, 0.0),
            )
            ends = {"x1": x, "x2": x, "y1": frame.y(above), "y2": frame.y(below)}
            yield element("line", {**ends, "stroke": LINE, "stroke-opacity": 0.7, "stroke-width": 1.2})
        ring: dict[str, Value] = {
            "cx": x,
            "cy": y,
            "r": 7,
            "fill": "none",
            "stroke": LINE,
            "stroke-width": 1.4,
        }
        yield element(
            "circle", ring, said(f"chosen: {at_size.of.selected_policy.policy}, {at_size.kept:.1%}")
        )


def _names(lines: Sequence[_Line], frame: _Frame) -> Iterator[Markup]:
    """Each line's name beside its end, apart from the others."""
    ends = sorted((frame.y(line.points[-1][1]), number) for number, line in enumerate(lines))
    below = UPPER - APART
    for room, (y, number) in zip(range(len(ends), 0, -1), ends, strict=True):
        line = lines[number]
        at = min(max(y, below + APART), LOWER - APART * (room - 1))
        below = at
        x = frame.x(line.points[-1][0])
        lead: dict[str, Value] = {"x1": x + 8, "y1": y, "x2": RIGHT + 12, "y2": at, "stroke": LINE}
        yield element("line", {**lead, "stroke-opacity": 0.35})
        sample: dict[str, Value] = {"x1": RIGHT + 12, "y1": at, "x2": RIGHT + 44, "y2": at}
        yield element("line", {**sample, **_style(line)})
        yield words(line.name, RIGHT + 50, at + 4, WIDTH - RIGHT - 50, size=12, bold=line.number < 0)
