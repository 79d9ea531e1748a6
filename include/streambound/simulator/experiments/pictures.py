"""Pictures of what was counted, with 95% intervals: Figures 8 to 14 and 19."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streambound.approximate.policies import POLICIES
from streambound.simulator.experiments.allocation import SHARE, VARIED
from streambound.simulator.experiments.cells import Cell, Counted, cells, relative_results
from streambound.simulator.experiments.look_ahead import COMPARED_SIZE

COLOURS = {
    **{policy.name: policy.colour for policy in POLICIES.values()},
    "opt-offline": "black",
    "lfd": "black",
    "flow-expect": "tab:gray",
    "heeb-25-points": "tab:blue",
    "heeb-adaptive": "tab:cyan",
    "heeb-seasonal": "tab:olive",
    "experts": "tab:brown",
    "lfu-perfect": "tab:green",
}
# What often has the same results as another policy, whose line must be seen through its own.
DASHES = {"heeb-adaptive": "--", "heeb-25-points": "--", "prob": "--", "rand": ":"}
JOINED = ("opt-offline", "heeb", "heeb-adaptive", "life", "prob", "rand")
REAL = ("lfd", "heeb-seasonal", "experts", "heeb", "heeb-25-points", "lfu-perfect", "lru", "rand")
FIGURES = {"tower": 9, "roof": 10, "floor": 11, "walk": 12}
RESULTS, CACHED = "results after the warm-up", "cached tuples"


def pictures(counted: Sequence[Counted], folder: Path) -> None:
    """A PNG file for each figure that there are numbers for."""
    for config, number in FIGURES.items():
        if mine := _of(counted, config, JOINED):
            title = f"Figure {number}, {config.upper()}: {_runs(mine)}, 95% intervals"
            _with_shares(mine, "opt-offline", folder / f"figure-{number:02}-{config}.png", title, RESULTS)
    if mine := _of(counted, "real", REAL):
        title = "Figure 13, REAL: hits of 3,650 (RAND: mean and 95% interval)"
        _with_shares(mine, "lfd", folder / "figure-13-real.png", title, "hits")
    if compared := same_runs([each for each in counted if each.config in FIGURES]):
        bars(compared, folder / "figure-08-compared.png")
    if mine := [each for each in counted if each.policy == SHARE]:
        _allocation(mine, folder / "figure-14-allocation.png")
    if mine := [each for each in counted if each.config == "look-ahead"]:
        _looking_ahead(mine, folder / "figure-19-look-ahead.png")


def same_runs(counted: Sequence[Counted]) -> list[Counted]:
    """What Figure 8 compares: at its size, the runs that FlowExpect has too, if it has any."""
    mine = [each for each in counted if each.size == COMPARED_SIZE]
    runs = {each.run for each in mine if each.policy == "flow-expect"}
    return [each for each in mine if not runs or each.run in runs]


def _of(counted: Sequence[Counted], config: str, policies: Sequence[str]) -> list[Counted]:
    return [each for name in policies for each in counted if (each.config, each.policy) == (config, name)]


def _runs(counted: Sequence[Counted]) -> str:
    runs = len({each.run for each in counted})
    return f"{runs} run" if runs == 1 else f"{runs} runs"


def _with_shares(counted: Sequence[Counted], whole: str, path: Path, title: str, what: str) -> None:
    """Means by size, and beside them the means of each run's shares of the optimum in the same run.

    Runs differ more from each other than policies do (WALK): only the shares tell which is ahead.
    """
    figure = _figure(11.0)
    means, parts = figure.subplots(1, 2)
    draw(means, cells(counted))
    draw(parts, cells(each for each in relative_results(counted, whole) if each.policy != whole))
    _labelled(means, CACHED, what)
    _labelled(parts, CACHED, f"share of {whole.upper()}'s in the same run")
    # Outside: no corner is free of lines at every size.
    figure.legend(*means.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)


def _labelled(axes: Any, across: str, upwards: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def draw(axes: Any, cells: Sequence[Cell]) -> None:
    """A line a policy by size, in a band that is its interval."""
    for policy in dict.fromkeys(cell.policy for cell in cells):
        mine = [cell for cell in cells if cell.policy == policy]
        banded(axes, mine, policy, color=COLOURS.get(policy), linestyle=DASHES.get(policy, "-"))


def banded(axes: Any, cells: Sequence[Cell], label: str, **style: Any) -> None:
    """One line by size, in a band that is its interval."""
    sizes = [cell.size for cell in cells]
    (line,) = axes.plot(sizes, [cell.mean for cell in cells], label=label, linewidth=1.6, **style)
    lows, highs = [cell.low for cell in cells], [cell.high for cell in cells]
    axes.fill_between(sizes, lows, highs, color=line.get_color(), alpha=0.15, linewidth=0)


def bars(counted: Sequence[Counted], path: Path) -> None:
    """Figure 8: all policies beside each other, by configuration."""
    averaged = cells(counted)
    configs = list(dict.fromkeys(cell.config for cell in averaged))
    policies = [name for name in ("opt-offline", "flow-expect", *JOINED[1:]) if _has(averaged, name)]
    figure = _figure(9.0)
    axes = figure.add_subplot()
    width = 0.8 / len(policies)
    for at, policy in enumerate(policies):
        mine = [cell for cell in averaged if cell.policy == policy]
        axes.bar(
            [configs.index(cell.config) + (at - (len(policies) - 1) / 2) * width for cell in mine],
            [cell.mean for cell in mine],
            width,
            yerr=[cell.interval or 0.0 for cell in mine],
            label=f"{policy} (not for WALK)" if policy == "life" and "walk" in configs else policy,
            color=COLOURS[policy],
            error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": "gray"},
        )
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(configs)), [config.upper() for config in configs])
    axes.set_ylabel(RESULTS)
    axes.set_title(f"Figure 8: {COMPARED_SIZE} cached tuples, {_runs(counted)}, 95% intervals", fontsize=11)
    axes.grid(alpha=0.3, axis="y")
    figure.legend(loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=150)


def _has(averaged: Sequence[Cell], policy: str) -> bool:
    return any(cell.policy == policy for cell in averaged)


def _allocation(counted: Sequence[Counted], path: Path) -> None:
    """Figure 14: the share of R in HEEB's cache."""
    averaged = cells(counted)
    figure = _figure(7.0)
    axes = figure.add_subplot()
    for name in VARIED:
        banded(axes, [cell for cell in averaged if cell.config == name], name)
    _labelled(axes, CACHED, "share of R's tuples in the cache")
    axes.set_ylim(0, 1)
    axes.set_title(f"Figure 14: HEEB's memory, TOWER, {_runs(counted)}, 95% intervals", fontsize=11)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _looking_ahead(counted: Sequence[Counted], path: Path) -> None:
    """Figure 19, as shares of the optimum in the same run; the others do not look ahead."""
    averaged = cells(
        each for each in relative_results(counted, "opt-offline") if each.policy != "opt-offline"
    )
    figure = _figure(7.0)
    axes = figure.add_subplot()
    draw(axes, averaged)
    _labelled(axes, "look-ahead of FlowExpect (steps)", "share of OPT-OFFLINE's in the same run")
    lowest = min(cell.low for cell in averaged)
    axes.set_ylim(float(np.floor(10 * lowest) / 10), 1)
    axes.set_title(f"Figure 19: FLOOR, 500 steps, size 20, {_runs(counted)}, 95% intervals", fontsize=11)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _figure(width: float) -> Any:
    # The object interface: no global state, and no display is asked for.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, 4.5), layout="constrained")
