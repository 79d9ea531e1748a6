"""The trade-off of a query's caches as a picture: results kept against memory, and the optimum above all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.approximate.nightly.accuracy import ERRORS
from streambound.approximate.nightly.advice import SharesAtSize, kept_by_size
from streambound.approximate.nightly.benchmark import Judged
from streambound.approximate.nightly.night import Night
from streambound.approximate.policies import POLICIES
from streambound.durable import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Neighbouring policies stand so much apart (as a factor), or their intervals would hide each other.
APART = 1.025
# Between neighbours on an upright axis, as a part of the whole.
ROOM = 0.23


def draw(night: Night, path: Path) -> None:
    """Write the picture of a benchmark (PNG or SVG, by the path's ending); 95% intervals over held-out days.

    Of a benchmark without results on its held-out days the picture says so.

    Raises:
        StorageError: the disk refuses.
    """
    # The object interface: no display is asked for.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    days = f"{night.held_out} held-out days to {night.days[-1]}, {night.possible:,} results"
    axes.set_title("\n".join([f"{night.query}: {days}", *_estimated(night)]), fontsize=11)
    if night.possible:
        _draw_shares(axes, night)
    else:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing to keep: there were no results", ha="center")
    # Without a date, and names of its parts by chance, the same benchmark is the same file.
    without = {"Date": None} if path.suffix == ".svg" else None
    with rc_context({"svg.hashsalt": night.query}), replaced(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150, metadata=without)


def _estimated(night: Night) -> Iterator[str]:
    """What the evaluation's own estimate of these results is, where it is off by the most."""
    seen = [of_size.estimate for of_size in night.sizes if of_size.estimate is not None]
    estimated_sizes = [
        compared for compared in seen if compared.estimated is not None and compared.off is not None
    ]
    if estimated_sizes:
        worst = max(estimated_sizes, key=lambda compared: compared.off or 0.0)
        stated = f"{worst.estimated:,.0f} ± {ERRORS * worst.error:,.0f}"
        verdict = "holds" if worst.holds else "does not hold"
        yield f"over these days alone: {worst.exact:,} results, and the estimate, {stated}, {verdict}"


def _draw_shares(axes: Axes, night: Night) -> None:
    by_size = kept_by_size(night)
    _draw_optimum(axes, by_size)
    curves = _curves(by_size)
    aside = {policy: APART ** (number - (len(curves) - 1) / 2) for number, policy in enumerate(curves)}
    for policy, curve in curves.items():
        _draw_policy(axes, policy, curve, aside[policy], night)
    _draw_chosen(axes, by_size, aside)
    _label(axes, by_size)


def _curves(by_size: Sequence[SharesAtSize]) -> Mapping[str, list[Judged]]:
    """For each policy what it kept at each size; of HEEB the best alpha."""
    curves: dict[str, list[Judged]] = {}
    for at_size in by_size:
        best: dict[str, Judged] = {}
        for judged in at_size.of.judged:
            policy = judged.contender.policy
            if policy not in best or judged.kept > best[policy].kept:
                best[policy] = judged
        for policy, judged in best.items():
            curves.setdefault(policy, []).append(judged)
    return curves


def _draw_policy(axes: Axes, policy: str, curve: list[Judged], aside: float, night: Night) -> None:
    kept = [judged.kept / night.possible for judged in curve]
    half = [judged.half * night.held_out / night.possible for judged in curve]
    # Days differ in how many results there are at all; none is kept twice.
    above = [min(more, max(1.0 - fraction, 0.0)) for fraction, more in zip(kept, half, strict=True)]
    below = [min(less, fraction) for fraction, less in zip(kept, half, strict=True)]
    axes.errorbar(
        [judged.size * aside for judged in curve],
        kept,
        (below, above),
        label=policy + (" (best alpha)" if curve[0].contender.alpha is not None else ""),
        color=POLICIES[policy].colour,
        marker=POLICIES[policy].marker,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.7,
        capsize=2,
    )


def _draw_optimum(axes: Axes, by_size: Sequence[SharesAtSize]) -> None:
    sizes, optimum = [at_size.of.size for at_size in by_size], [at_size.optimum for at_size in by_size]
    axes.plot(sizes, optimum, label="optimum", color="black", marker=".", linewidth=1.6)


def _draw_chosen(axes: Axes, by_size: Sequence[SharesAtSize], aside: Mapping[str, float]) -> None:
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.4, "zorder": 5}
    # The choice of an earlier night that stands may be of a policy that took no part in this one.
    sizes = [at_size.of.size * aside.get(at_size.of.selected_policy.policy, 1.0) for at_size in by_size]
    axes.scatter(sizes, [at_size.kept for at_size in by_size], s=120, label="chosen", **ring)


def _label(axes: Axes, by_size: Sequence[SharesAtSize]) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_xscale("log")
    _tick(axes, by_size)
    axes.margins(x=0.1)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("cached tuples (log scale)")
    axes.set_ylabel("share of all results (95% intervals of the mean day)")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)


def _tick(axes: Axes, by_size: Sequence[SharesAtSize]) -> None:
    """Below each size its units and its choice; slanted and without units where sizes are close."""
    sizes = [at_size.of.size for at_size in by_size]
    chosen = [f"{at_size.of.selected_policy.policy}, {at_size.kept:.1%}" for at_size in by_size]
    gaps = [log(more / less) for less, more in pairwise(sizes)]
    if gaps and min(gaps) < ROOM * sum(gaps):
        labels = [f"{size:,}: {policy}" for size, policy in zip(sizes, chosen, strict=True)]
        axes.set_xticks(sizes, labels, rotation=30, ha="right", rotation_mode="anchor")
    else:
        units = [f"{at_size.of.size:,}\n{at_size.of.units:,} units" for at_size in by_size]
        axes.set_xticks(sizes, [f"{u}\nchosen: {policy}" for u, policy in zip(units, chosen, strict=True)])
    axes.minorticks_off()
