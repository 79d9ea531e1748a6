"""How the figures of benchmarks are drawn: ratios as points beside 1, growth as lines on logarithmic axes.

Matplotlib draws in the colours that the style of all pictures has on light paper; in the SVG each colour is
then a name of that style, so that a picture is legible on dark paper too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

from benchmarks.figures import Result
from benchmarks.states import FORMS, Measured
from markupsafe import escape

from scripts.pictures import COLOURS

INK, SOFT, LINE, EDGE = "#1d2430", "#586273", "#8b97a8", "#9fb2cc"
GOOD, GOODLY, BAD, BAR = "#2f7d4f", "#e3f2e8", "#b3402e", "#4c78a8"
ORANGE, PURPLE = "#c26a1b", "#7a5aa6"
NAMES = {
    INK: "ink",
    SOFT: "soft",
    LINE: "line",
    EDGE: "edge",
    GOOD: "good",
    GOODLY: "goodly",
    BAD: "bad",
    BAR: "bar",
    ORANGE: "orange",
    PURPLE: "purple",
}
FURTHER = """
svg { --orange: #c26a1b; --purple: #7a5aa6 }
@media (prefers-color-scheme: dark) { svg { --orange: #f0a35e; --purple: #bda4e8 } }
.paper { fill: var(--paper) }
"""
POINTS = 72
ACROSS = 860 / POINTS
# Points of peers, in the order of the legend: each has its colour and its mark.
MARKS = ((BAR, "o"), (ORANGE, "s"), (PURPLE, "^"), (LINE, "D"), (BAD, "v"))
# Wide lines lie below narrow ones: what is constant lies on one line.
ENGINES: dict[str, tuple[str, Any, float]] = {
    "Spark, as written": (ORANGE, "-", 5.5),
    "Flink, as written": (PURPLE, "-", 4.0),
    "streambound live": (GOOD, "-", 2.4),
    "Spark, rewritten": (BAD, (0, (2, 2)), 1.6),
    "Flink, rewritten": (BAR, (2, (2, 2)), 1.6),
}
LIMIT = "its limit"
AIM: Any = {"marker": "|", "markersize": 15, "markeredgewidth": 2, "linestyle": "none"}
STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": 13,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.facecolor": "none",
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "grid.color": EDGE,
    "grid.linewidth": 0.5,
}


@dataclass(frozen=True)
class Curve:
    """A line of a picture of growth."""

    label: str
    sizes: Sequence[int]
    figures: Sequence[float]
    colour: str = GOOD
    mark: str = "o"


@dataclass(frozen=True)
class Panel:
    """Curves over the same sizes."""

    curves: Sequence[Curve]
    sizes: str
    figures: str
    title: str = ""
    from_zero: bool = False


@contextmanager
def _figure(height: float, title: str, done: list[str]) -> Iterator[Any]:
    """A figure of so many inches; its SVG is put into a list."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Equal figures give equal bytes.
    with rc_context({**STYLE, "svg.hashsalt": title}):
        layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.12)
        figure = Figure(figsize=(ACROSS, height), layout=layout)
        yield figure
        text = StringIO()
        figure.savefig(text, format="svg", facecolor="none", metadata={"Date": None})
    done.append(_styled(text.getvalue(), title))


def _styled(svg: str, title: str) -> str:
    """The SVG with names for its colours, paper below it, and nothing that a page does not need."""
    start = svg.index("<svg")
    head, body = svg[start:].split(">", 1)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    assert box is not None
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(
        r"#[0-9a-f]{6}\b", lambda found: f"var(--{NAMES[found[0]]})" if found[0] in NAMES else found[0], body
    )
    body = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, 'DejaVu Sans', sans-serif", body)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {box[1]} {box[2]}" role="img">\n<title>{escape(title)}</title>\n'
        f'<style>{COLOURS}{FURTHER}</style>\n<rect class="paper" width="{box[1]}" height="{box[2]}" rx="10"/>'
        + "\n".join(line.rstrip() for line in body.split("\n"))
    )


def ratios(lines: Sequence[Result], title: str, sizes: str = "") -> str:
    """Here / peer of each case, a point a peer; what has a limit and no peer is a part of its limit.

    Args:
        sizes: a panel for each size, which are of this; or a row for each size.
    """
    found = [line for line in lines if line.ratio is not None or line.aim is not None]
    panels = [*dict.fromkeys(line.size for line in found)] if sizes else [0]
    cases = {line.case: {same.size for same in found if same.case == line.case} for line in found}
    names = {
        (case, size): case if sizes or len(all_sizes) == 1 else f"{case}, {short(size)}"
        for case, all_sizes in cases.items()
        for size in sorted(all_sizes)
    }
    rows = [*dict.fromkeys(names.values())]
    peers = [*dict.fromkeys(line.peer or LIMIT for line in found)]
    done: list[str] = []
    with _figure(0.34 * len(rows) + 1.5, title, done) as figure:
        panels_axes = figure.subplots(1, len(panels), sharey=True, sharex=True, squeeze=False)[0]
        handles: dict[str, Any] = {}
        for axes, size in zip(panels_axes, panels, strict=True):
            axes.set_xscale("log")
            axes.set_title(f"{size:,} {sizes}" if sizes else "")
            for line in found:
                if not sizes or line.size == size:
                    peer = line.peer or LIMIT
                    mark = MARKS[peers.index(peer) % len(MARKS)]
                    handles[peer] = _point(axes, line, rows.index(names[line.case, line.size]), mark)
        if any(line.aim is not None and line.ratio is not None for line in found):
            (handles["its aim, at most"],) = panels_axes[0].plot([], [], color=SOFT, **AIM)
        low, high = panels_axes[0].get_xlim()
        low, high = min(low, 0.45), max(high, 2.2)
        for axes in panels_axes:
            axes.axvspan(low, 1, color=GOODLY, linewidth=0, zorder=0)
            axes.axvline(1, color=LINE, linewidth=1.5, zorder=1)
            axes.set_xlim(low, high)
            _ticked(axes.xaxis, low, high, 12 if len(panels) == 1 else 9, times)
            axes.minorticks_off()
            axes.set_yticks(range(len(rows)), rows)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(axis="y", zorder=0)
            axes.tick_params(length=0)
        figure.supxlabel("here / peer; on green it takes less here", fontsize=13, color=SOFT)
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=5)
    return done[0]


def _ticked(axis: Any, low: float, high: float, most: int, label: Callable[[float], str]) -> None:
    """Ticks at 1, 2 and 5 of each decade, or at decades where these are too many."""
    for steps in ((1, 2, 5), (1,)):
        ticks = [step * 10.0**n for n in range(-5, 10) for step in steps if low <= step * 10.0**n <= high]
        if len(ticks) <= most:
            break
    axis.set_ticks(ticks, [label(tick) for tick in ticks])


def times(ratio: float) -> str:
    """A ratio as a whole number or as a fraction."""
    return f"1/{1 / ratio:.0f}" if ratio < 1 else f"{ratio:.0f}"


def _labels(sizes: Sequence[int], gap: float) -> list[str]:
    """What ticks at these sizes are called; nothing where one is closer than a part of the axis."""
    least, found = gap * math.log(sizes[-1] / sizes[0]), list[str]()
    last = -math.inf
    for size in sizes:
        far = math.log(size) - last >= least
        found.append(short(size) if far else "")
        last = math.log(size) if far else last
    return found


def short(size: int) -> str:
    """A size in thousands or millions."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            return f"{size / unit:g}{name}"
    return str(size)


def _point(axes: Any, line: Result, row: int, mark: tuple[str, str]) -> Any:
    """Draw a ratio with its rounds and its aim."""
    colour, shape = mark
    ratio = line.ratio
    if ratio is None:
        assert line.aim is not None
        ratio = line.figure / line.aim
    elif line.aim is not None:
        axes.plot([line.aim], [row], color=colour, zorder=2, **AIM)
    if line.ratios:
        axes.plot(line.ratios, [row, row], color=colour, linewidth=2, zorder=3)
    (point,) = axes.plot([ratio], [row], color=colour, marker=shape, markersize=8, linestyle="none", zorder=4)
    return point


def growth(panels: Sequence[Panel], title: str, height: float = 4.2) -> str:
    """Figures against sizes, on logarithmic axes."""
    done: list[str] = []
    with _figure(height, title, done) as figure:
        handles: dict[str, Any] = {}
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for one in panel.curves:
                look = {"color": one.colour, "marker": one.mark, "linewidth": 2.2, "markersize": 7}
                (handles[one.label],) = axes.plot(one.sizes, one.figures, **look)
            axes.set_title(panel.title)
            axes.set(xscale="log", xlabel=panel.sizes, ylabel=panel.figures)
            if panel.from_zero:
                axes.set_ylim(0, axes.get_ylim()[1] * 1.1)
            else:
                every = [figure for one in panel.curves for figure in one.figures]
                # A decade at least, so that what is flat does not look steep.
                low, high = min(*every, max(every) / 10) * 0.8, max(every) * 1.3
                axes.set_yscale("log")
                axes.set_ylim(low, high)
                _ticked(axes.yaxis, low, high, 7, lambda tick: f"{tick:,.6g}")
            sizes = sorted({size for one in panel.curves for size in one.sizes})
            axes.set_xticks(sizes, _labels(sizes, 0.03 * len(panels)))
            axes.minorticks_off()
            axes.grid(axis="y")
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3)
    return done[0]


def engines(found: Sequence[Measured], steps: Sequence[int], title: str) -> str:
    """State of each query against rows, a panel a query: as written, rewritten, ours."""
    names = [*dict.fromkeys(one.query for one in found)]
    across = 5
    down = -(-len(names) // across)
    most = steps[-1] / steps[0]
    ticks = [4**n for n in range(8) if 4**n <= 1.2 * most]
    done: list[str] = []
    with _figure(1.9 * down + 1.0, title, done) as figure:
        panels_axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        handles: dict[str, Any] = {}
        for axes, name in zip(panels_axes.flat, names, strict=False):
            for form in ENGINES:
                for one in _states(found, name, form):
                    colour, style, width = ENGINES[form]
                    ratio = [state / max(1, one.states[0]) for state in one.states]
                    (handles[form],) = axes.plot(
                        steps[: len(ratio)], ratio, color=colour, linestyle=style, linewidth=width
                    )
            axes.set_title(name, fontsize=11)
            axes.set(xscale="log", yscale="log")
            axes.set_ylim(0.6, 1.3 * most)
            axes.set_xticks(steps, _labels(steps, 0.2))
            axes.set_yticks(ticks, [f"x{n}" for n in ticks])
            axes.minorticks_off()
            axes.tick_params(labelsize=10)
        for number, axes in enumerate(panels_axes.flat):
            axes.tick_params(labelbottom=len(names) - across <= number < len(names))
            if number >= len(names):
                axes.set_axis_off()
        figure.supxlabel("rows of each stream", fontsize=13, color=SOFT)
        figure.supylabel("state, in times of that after the first step", fontsize=13, color=SOFT)
        shown = [form for form in FORMS if form in handles]
        figure.legend(
            [handles[form] for form in shown], shown, loc="outside upper center", ncols=5, fontsize=12
        )
    return done[0]


def _states(found: Iterable[Measured], query: str, form: str) -> Iterator[Measured]:
    """The statements of a query in a form that have more than one state."""
    return (one for one in found if (one.query, one.form) == (query, form) and len(one.states) > 1)
