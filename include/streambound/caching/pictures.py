"""Pictures of what was counted, with 95% intervals: Figures 8 to 14 and 19, and the results of 17 and 18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streambound.caching.experiments.allocation import SHARE, VARIED
from streambound.caching.experiments.cells import Cell
from streambound.caching.experiments.look_ahead import COMPARED_SIZE

# From matplotlib's colour-blind safe "tab10" order, the same for a policy in every picture.
COLOURS = {
    "opt-offline": "black",
    "lfd": "black",
    "flow-expect": "tab:gray",
    "heeb": "tab:blue",
    "heeb-adaptive": "tab:cyan",
    "heeb-seasonal": "tab:olive",
    "life": "tab:orange",
    "lfu-perfect": "tab:green",
    "prob": "tab:green",
    "rand": "tab:red",
    "lru": "tab:purple",
    "lfu": "tab:brown",
    "fifo": "tab:pink",
}
DASHED = {"heeb-adaptive", "heeb-25-points"}
JOINED = ("opt-offline", "heeb", "heeb-adaptive", "life", "prob", "rand")
REAL = ("lfd", "heeb-seasonal", "heeb", "heeb-25-points", "lfu-perfect", "lru", "rand")
FIGURES = {"tower": 9, "roof": 10, "floor": 11, "walk": 12}


def pictures(cells: Sequence[Cell], folder: Path) -> None:
    """A PNG file for each figure that there are numbers for."""
    for config, number in FIGURES.items():
        if mine := _of(cells, config, JOINED):
            title = f"Figure {number}, {config.upper()}: means of {mine[0].runs} runs, 95% intervals"
            curves(mine, folder / f"figure-{number:02}-{config}.png", title)
    if mine := _of(cells, "real", REAL):
        title = "Figure 13, REAL: hits of 3,650 (RAND: mean and 95% interval)"
        curves(mine, folder / "figure-13-real.png", title, what="hits", relative_to="lfd")
    compared = [cell for cell in cells if cell.config in FIGURES and cell.size == COMPARED_SIZE]
    if compared:
        bars(compared, folder / "figure-08-compared.png")
    if shares := [cell for cell in cells if cell.policy == SHARE]:
        _allocation(shares, folder / "figure-14-allocation.png")
    if ahead := [cell for cell in cells if cell.config == "look-ahead"]:
        title = f"Figure 19: look-ahead of FlowExpect, FLOOR, 500 steps, size 20, {ahead[0].runs} runs"
        curves(ahead, folder / "figure-19-look-ahead.png", title, axis="look-ahead (steps)")


def _of(cells: Sequence[Cell], config: str, policies: Sequence[str]) -> list[Cell]:
    return [cell for name in policies for cell in cells if (cell.config, cell.policy) == (config, name)]


def curves(
    cells: Sequence[Cell],
    path: Path,
    title: str,
    *,
    axis: str = "cached tuples",
    what: str = "results after the warm-up",
    relative_to: str | None = None,
) -> None:
    """Means by size, one line a policy (PNG or SVG, by the path's ending).

    Args:
        relative_to: a second panel shows the shares of this policy's results.
    """
    figure = _figure(7.0 if relative_to is None else 11.0)
    every = figure.subplots(1, 1 if relative_to is None else 2, squeeze=False)[0]
    draw(every[0], cells)
    every[0].set_ylabel(what)
    if relative_to is not None:
        whole = {cell.size: cell.mean for cell in cells if cell.policy == relative_to}
        draw(every[1], [cell for cell in cells if cell.policy != relative_to], whole)
        every[1].set_ylabel(f"share of {relative_to.upper()}'s")
    for axes in every:
        axes.set_xlabel(axis)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    every[0].legend(fontsize=8)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)


def draw(axes: Any, cells: Sequence[Cell], whole: Mapping[int, float] | None = None) -> None:
    """A line a policy, by size; as shares of ``whole`` if it is given."""
    for policy in dict.fromkeys(cell.policy for cell in cells):
        mine = [cell for cell in cells if cell.policy == policy]
        scale = [1.0 if whole is None else whole[cell.size] for cell in mine]
        axes.errorbar(
            [cell.size for cell in mine],
            [cell.mean / by for cell, by in zip(mine, scale, strict=True)],
            [(cell.interval or 0.0) / by for cell, by in zip(mine, scale, strict=True)],
            label=policy,
            color=COLOURS.get(policy),
            linestyle="--" if policy in DASHED else "-",
            linewidth=1.4,
            elinewidth=0.7,
            capsize=1.5,
        )


def bars(cells: Sequence[Cell], path: Path) -> None:
    """Figure 8: all policies beside each other, by configuration."""
    configs = list(dict.fromkeys(cell.config for cell in cells))
    policies = [
        name
        for name in ("opt-offline", "flow-expect", *JOINED[1:])
        if any(cell.policy == name for cell in cells)
    ]
    figure = _figure(9.0)
    axes = figure.add_subplot()
    width = 0.8 / len(policies)
    for at, policy in enumerate(policies):
        mine = [cell for cell in cells if cell.policy == policy]
        axes.bar(
            [configs.index(cell.config) + (at - (len(policies) - 1) / 2) * width for cell in mine],
            [cell.mean for cell in mine],
            width,
            yerr=[cell.interval or 0.0 for cell in mine],
            label=f"{policy} ({mine[0].runs} runs)" if policy == "flow-expect" else policy,
            color=COLOURS[policy],
            error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": "gray"},
        )
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(configs)), [config.upper() for config in configs])
    axes.set_ylabel("results after the warm-up")
    axes.set_title(f"Figure 8: {COMPARED_SIZE} cached tuples, 95% intervals", fontsize=11)
    axes.grid(alpha=0.3, axis="y")
    axes.legend(fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)


def _allocation(shares: Sequence[Cell], path: Path) -> None:
    """Figure 14: the share of R in HEEB's cache."""
    figure = _figure(7.0)
    axes = figure.add_subplot()
    for name in VARIED:
        mine = [cell for cell in shares if cell.config == name]
        half = [cell.interval or 0.0 for cell in mine]
        axes.errorbar(
            [c.size for c in mine], [c.mean for c in mine], half, label=name, linewidth=1.4, capsize=1.5
        )
    axes.set_xlabel("cached tuples")
    axes.set_ylabel("share of R's tuples in the cache")
    axes.set_ylim(0, 1)
    axes.set_title(f"Figure 14: HEEB's memory, TOWER, {shares[0].runs} runs, 95% intervals", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _figure(width: float) -> Any:
    # The object interface: no global state, and no display is asked for.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, 4.5), layout="constrained")
