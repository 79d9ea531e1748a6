"""The rows of each partition of a stream, as bars; what failed is marked by more than a colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from streambound.report.pages.drawing import ACCENT, LINE, picture, said
from streambound.report.pages.markup import Value, element, text

WRONG = "var(--wrong, #b91c1c)"
# Bars of a large and of a small chart; of more partitions several share one, which shows their largest.
LARGE, SMALL = 366, 60


@dataclass(frozen=True)
class Bar:
    """A partition: its rows (None where it could not be read), and whether it failed."""

    name: str
    rows: int | None
    failed: bool = False


def rows_chart(bars: Sequence[Bar], *, large: bool = False, name: str = "") -> str:
    """The rows of partitions, drawn without text, and of a large chart its scales around it.

    Args:
        bars: the partitions, in the order of time.
        large: with scales; else a small one for a row of a table, of the last partitions alone.
        name: the stream, for the picture's title.
    """
    width, height = (720, 160) if large else (132, 40)
    shown = _fewer(bars) if large else list(bars[-SMALL:])
    box = (2.0, width - 2.0, 10.0, height - 4.0)
    drawn = picture(width, height, f"Rows by partition of {name}", described(bars), _bars(shown, *box))
    if not large or not bars:
        return drawn
    most = max((bar.rows or 0 for bar in bars), default=0)
    ends = dict.fromkeys([bars[0].name, bars[len(bars) // 2].name, bars[-1].name])
    spans = (element("span", None, text(end)) for end in ends)
    top = element("figcaption", None, text(f"Rows by partition, at most {most:,}"))
    scale = element("div", {"class": "scale", "aria-hidden": "true"}, *spans)
    return element("figure", {"class": "rows-chart"}, top, drawn, scale)


def described(bars: Sequence[Bar]) -> str:
    """The chart in words."""
    counted = [bar.rows for bar in bars if bar.rows is not None]
    if not counted:
        return "No rows were counted."
    failed = [bar.name for bar in bars if bar.failed]
    wrong = f"; {len(failed):,} failed: {', '.join(failed[-5:])}" if failed else "; none failed"
    if len(failed) > 5:
        wrong = wrong.replace(": ", ", the last of them ", 1)
    spread = f"{min(counted):,} to {max(counted):,} rows a partition"
    return f"{spread} in {len(bars):,} partitions, {bars[0].name} to {bars[-1].name}{wrong}."


def _fewer(bars: Sequence[Bar]) -> list[Bar]:
    stretch = -(-len(bars) // LARGE)
    if stretch <= 1:
        return list(bars)
    parts = [bars[at : at + stretch] for at in range(0, len(bars), stretch)]
    return [
        Bar(
            f"{part[0].name} to {part[-1].name}",
            max((bar.rows for bar in part if bar.rows is not None), default=None),
            any(bar.failed for bar in part),
        )
        for part in parts
    ]


def _bars(bars: Sequence[Bar], left: float, right: float, upper: float, lower: float) -> Iterator[Markup]:
    top = max((bar.rows or 0 for bar in bars), default=0) or 1
    step = (right - left) / max(len(bars), 1)
    width = min(max(step * 0.8, 0.6), 18.0)
    yield element("line", {"x1": left, "y1": lower, "x2": right, "y2": lower, "stroke": LINE, "opacity": 0.4})
    for position, bar in enumerate(bars):
        x = left + step * (position + 0.5)
        unread = bar.rows is None
        height = (lower - upper) * (1.0 if unread else (bar.rows or 0) / top)
        size: dict[str, Value] = {
            "x": x - width / 2,
            "y": lower - height,
            "width": width,
            "height": height,
            "fill": WRONG if bar.failed or unread else ACCENT,
            "fill-opacity": 0.25 if unread else None,
        }
        counted = "not readable" if bar.rows is None else f"{bar.rows:,} rows"
        label = f"{bar.name}: {counted}{', failed' if bar.failed else ''}"
        yield element("rect", size, said(label))
        if bar.failed:
            yield _cross(x, max(lower - height - 4, upper - 1), min(max(width / 2, 2.0), 4.0), label)


def _cross(x: float, y: float, size: float, label: str) -> Markup:
    far = f"{2 * size:.1f}"
    lines = f"M{x - size:.1f},{y - size:.1f} l{far},{far} m0,-{far} l-{far},{far}"
    return element("path", {"d": lines, "stroke": WRONG, "stroke-width": 1.6, "fill": "none"}, said(label))
