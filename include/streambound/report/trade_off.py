"""The trade-off of a query's caches as a picture: results kept against memory, and the optimum above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.caching.pictures import COLOURS
from streambound.kmemory.advice import Share, shares
from streambound.kmemory.benchmark import Judged
from streambound.kmemory.night import Night

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = {"fifo": "v", "lru": "^", "lfu": "s", "rand": "x", "prob": "D", "life": "P", "heeb": "o"}
# Neighbouring policies stand so much apart (as a factor), or their intervals would hide each other.
APART = 1.025
# Up to so many sizes have their units and choice written below them.
ROOM = 6


def draw(night: Night, path: Path) -> None:
    """Write the picture of a benchmark (PNG or SVG, by the path's ending); 95% intervals over held-out days.

    Raises:
        DataError: there were no results on the held-out days.
        OSError: the disk refuses.
    """
    # The object interface: no display is asked for.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = shares(night)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    _draw_optimum(axes, found)
    curves = _curves(found)
    aside = {policy: APART ** (place - (len(curves) - 1) / 2) for place, policy in enumerate(curves)}
    for policy, curve in curves.items():
        _draw_policy(axes, policy, curve, aside[policy], night)
    _draw_chosen(axes, found, aside)
    _label(axes, found, night)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date, and names of its parts by chance, the same benchmark is the same file.
    with rc_context({"svg.hashsalt": night.query}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _curves(found: Sequence[Share]) -> Mapping[str, list[Judged]]:
    """For each policy what it kept at each size; of HEEB the best alpha."""
    curves: dict[str, list[Judged]] = {}
    for share in found:
        best: dict[str, Judged] = {}
        for one in share.of.judged:
            policy = one.contender.policy
            if policy not in best or one.kept > best[policy].kept:
                best[policy] = one
        for policy, one in best.items():
            curves.setdefault(policy, []).append(one)
    return curves


def _draw_policy(axes: Axes, policy: str, curve: list[Judged], aside: float, night: Night) -> None:
    axes.errorbar(
        [one.size * aside for one in curve],
        [one.kept / night.possible for one in curve],
        [one.half * night.held_out / night.possible for one in curve],
        label=policy + (" (best alpha)" if policy == "heeb" else ""),
        color=COLOURS.get(policy),
        marker=MARKERS.get(policy, "."),
        markersize=4,
        linewidth=1.2,
        elinewidth=0.7,
        capsize=2,
    )


def _draw_optimum(axes: Axes, found: Sequence[Share]) -> None:
    sizes, optimum = [one.of.size for one in found], [one.optimum for one in found]
    axes.plot(sizes, optimum, label="optimum", color=COLOURS["opt-offline"], marker=".", linewidth=1.6)


def _draw_chosen(axes: Axes, found: Sequence[Share], aside: Mapping[str, float]) -> None:
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.4, "zorder": 5}
    # The choice of an earlier night that stands may be of a policy that took no part in this one.
    sizes = [one.of.size * aside.get(one.of.choice.policy, 1.0) for one in found]
    axes.scatter(sizes, [one.kept for one in found], s=120, label="chosen", **ring)


def _label(axes: Axes, found: Sequence[Share], night: Night) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_xscale("log")
    axes.set_xticks([one.of.size for one in found], [_tick(one, len(found) <= ROOM) for one in found])
    axes.minorticks_off()
    axes.margins(x=0.1)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("cached tuples (log scale)")
    axes.set_ylabel("share of all results, with 95% intervals")
    days = f"{night.held_out} held-out days to {night.days[-1]}, {night.possible:,} results"
    axes.set_title(f"{night.query}: {days}", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)


def _tick(share: Share, whole: bool) -> str:
    if not whole:
        return f"{share.of.size:,}"
    return f"{share.of.size:,}\n{share.of.units:,} units\nchosen: {share.of.choice.policy}, {share.kept:.1%}"
