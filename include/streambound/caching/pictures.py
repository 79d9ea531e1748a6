"""Pictures of the experiments: results against the size of the cache, 95% intervals (Figures 9-12)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streambound.caching.experiments import Cell

# From matplotlib's colour-blind safe "tab10" order, the same for a policy in every picture.
COLOURS = {
    "opt-offline": "black",
    "heeb": "tab:blue",
    "life": "tab:orange",
    "prob": "tab:green",
    "rand": "tab:red",
    "lru": "tab:purple",
    "lfu": "tab:brown",
    "fifo": "tab:pink",
}


def picture(cells: Sequence[Cell], path: Path) -> None:
    """Write one configuration's picture (PNG or SVG, by the path's ending)."""
    # The object interface: no global state, and no display is asked for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for policy in dict.fromkeys(cell.policy for cell in cells):
        mine = [cell for cell in cells if cell.policy == policy]
        axes.errorbar(
            [cell.size for cell in mine],
            [cell.mean for cell in mine],
            [cell.interval for cell in mine],
            label=policy,
            color=COLOURS.get(policy),
            linewidth=1.4,
            elinewidth=0.7,
            capsize=1.5,
        )
    axes.set_xlabel("cached tuples")
    axes.set_ylabel("results after the warm-up")
    axes.set_title(f"{cells[0].config.upper()}: mean of {cells[0].runs} runs, 95% intervals")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
