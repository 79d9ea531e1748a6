"""What the numbers say, in sentences: where HEEB wins and where not, beside what the paper says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.simulator.experiments.cells import Cell, Counted, by_cell, cells, half_interval
from streambound.simulator.experiments.real import FIXED_ALPHA, SHOCKS

RIVALS = ("rand", "prob", "life")
LEAST_SIZE = 5
# A policy this near to the optimum leaves nothing to win that intervals of 50 runs could show.
NEAR = 0.99
Cells = dict[tuple[str, str, int], Cell]
# Of REAL, in the order of the sentences.
JUDGED = (
    "heeb",
    "heeb-25-points",
    "heeb-adaptive",
    *FIXED_ALPHA,
    "experts",
    "heeb-seasonal",
    "heeb-seasonal-adaptive",
)


def report(counted: Sequence[Counted]) -> list[str]:
    """The report's lines, in Markdown."""
    all_cells = {(cell.config, cell.policy, cell.size): cell for cell in cells(counted)}
    runs = by_cell(counted)
    lines: list[str] = []
    for config in dict.fromkeys(config for config, policy, _ in all_cells if policy in RIVALS):
        if config in ("tower", "roof", "floor", "walk"):
            lines += [f"## {config.upper()}", "", *_joined(config, all_cells, runs), ""]
    if ("real", "lru", 10) in all_cells:
        lines += ["## REAL", "", *_real(all_cells), ""]
    return lines


def ranges(sizes: Iterable[int], of: Sequence[int]) -> str:
    """Sizes as ranges of the sizes that there are.

    >>> ranges([1, 2, 3, 7], [1, 2, 3, 5, 7])
    '1-3, 7'
    """
    wanted, spans, run = set(sizes), [], list[int]()
    for size in [*of, None]:
        if size is not None and size in wanted:
            run.append(size)
        elif run:
            spans.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
    return ", ".join(spans) or "none"


def _joined(config: str, by_cell: Cells, runs: dict[tuple[str, str, int], Floats]) -> Iterator[str]:
    every = sorted({size for name, policy, size in by_cell if (name, policy) == (config, "heeb")})
    sizes = [size for size in every if size >= LEAST_SIZE] or every
    for rival in RIVALS:
        if (config, rival, sizes[0]) not in by_cell:
            continue
        ours = {size: by_cell[config, "heeb", size] for size in sizes}
        theirs = {size: by_cell[config, rival, size] for size in sizes}
        apart = [size for size in sizes if ours[size].low > theirs[size].high]
        yield f"- HEEB over {rival.upper()}, intervals apart: sizes {ranges(apart, sizes)}."
        if rest := [size for size in sizes if size not in apart]:
            yield f"  {_why(config, rival, rest, sizes, by_cell, runs)}"
    best = {size: by_cell[config, "opt-offline", size].mean for size in sizes}
    near = [size for size in sizes if by_cell[config, "heeb", size].mean >= NEAR * best[size]]
    yield f"- HEEB within {1 - NEAR:.0%} of OPT-offline: sizes {ranges(near, sizes)}."
    if (config, "heeb-adaptive", sizes[0]) in by_cell:
        yield f"- {_adaptive(config, every, runs)}"


def _why(
    config: str,
    rival: str,
    rest: Sequence[int],
    sizes: Sequence[int],
    by_cell: Cells,
    runs: dict[tuple[str, str, int], Floats],
) -> str:
    """What there was to win where intervals overlap, and what the same runs say pair by pair."""
    parts = {
        name: [by_cell[config, name, size].mean / by_cell[config, "opt-offline", size].mean for size in rest]
        for name in ("heeb", rival)
    }
    ahead = [
        size for size in rest if _surely_positive(runs[config, "heeb", size] - runs[config, rival, size])
    ]
    equal = [size for size in rest if (runs[config, "heeb", size] == runs[config, rival, size]).all()]
    sentence = (
        f"They overlap at {ranges(rest, sizes)}: there HEEB has {min(parts['heeb']):.1%} to "
        f"{max(parts['heeb']):.1%} of OPT-offline's results and {rival.upper()} {min(parts[rival]):.1%} to "
        f"{max(parts[rival]):.1%}. By pairs of runs HEEB is ahead (95%) at {ranges(ahead, sizes)}"
    )
    return sentence + (f", and both are equal in every run at {ranges(equal, sizes)}." if equal else ".")


def _surely_positive(differences: Floats) -> bool:
    half = half_interval(differences)
    return half is not None and bool(differences.mean() > half)


def _adaptive(config: str, sizes: Sequence[int], runs: dict[tuple[str, str, int], Floats]) -> str:
    gains = {size: runs[config, "heeb-adaptive", size] - runs[config, "heeb", size] for size in sizes}
    ahead = [size for size in sizes if _surely_positive(gains[size])]
    behind = [size for size in sizes if _surely_positive(-gains[size])]
    return (
        f"Alpha by observed lifetimes against section 5's, by pairs of runs (95%): ahead at "
        f"{ranges(ahead, sizes)}, behind at {ranges(behind, sizes)}."
    )


def _real(by_cell: Cells) -> Iterator[str]:
    shown = (
        "lru",
        "lfu-perfect",
        "heeb",
        "heeb-25-points",
        "heeb-adaptive",
        "experts",
        "heeb-seasonal",
        "lfd",
    )
    sizes = sorted({size for config, policy, size in by_cell if (config, policy) == ("real", "lru")})
    yield f"| hits, size | {' | '.join(shown)} | best fixed alpha of AR(1) |"
    yield "|" + "---|" * (len(shown) + 2)
    for size in sizes:
        hits = " | ".join(f"{by_cell['real', name, size].mean:.0f}" for name in shown)
        name = max(FIXED_ALPHA, key=lambda name: by_cell["real", name, size].mean)
        yield f"| {size} | {hits} | {by_cell['real', name, size].mean:.0f} (alpha {FIXED_ALPHA[name]}) |"
    yield ""
    for name in JUDGED:
        yield f"- {_against_classics('real', name, sizes, by_cell)}"
    yield f"- {_bicubic(sizes, by_cell)}"
    yield ""
    yield (
        "The paper has HEEB lead with alpha = k (the size) and an AR(1). Why it need not: courses of "
        "the same length that the fitted models draw: without a season, with one, and with one in which "
        "days vary as much as they do in that month."
    )
    yield ""
    for config, title in (
        ("real-drawn-ar1", "Drawn from the AR(1)"),
        ("real-drawn-seasonal", "Drawn from the seasonal AR(1)"),
        (SHOCKS, "Drawn from it with the real shocks of the same month"),
    ):
        for name in ("heeb", "heeb-seasonal"):
            yield f"- {title}: {_against_classics(config, name, sizes, by_cell)}"


def _bicubic(sizes: Sequence[int], by_cell: Cells) -> str:
    """What 25 control points cost, or gain, in hits."""
    gains = {
        size: by_cell["real", "heeb-25-points", size].mean - by_cell["real", "heeb", size].mean
        for size in sizes
    }
    return (
        f"25 control points instead of all values: {max(gains.values()):+.0f} hits at best (size "
        f"{max(gains, key=lambda size: gains[size])}), {min(gains.values()):+.0f} at worst (size "
        f"{min(gains, key=lambda size: gains[size])})."
    )


def _against_classics(config: str, name: str, sizes: Sequence[int], by_cell: Cells) -> str:
    """Where a policy has more hits than LRU and LFU, or as many as the optimum has."""
    classics = [policy for policy in ("lru", "lfu", "lfu-perfect") if (config, policy, sizes[0]) in by_cell]

    def wins(size: int) -> bool:
        mine = by_cell[config, name, size].mean
        best = max(by_cell[config, policy, size].mean for policy in classics)
        return mine > best or mine == by_cell[config, "lfd", size].mean

    behind = [size for size in sizes if not wins(size)]
    if not behind:
        return f"{name} has more hits than {', '.join(classics)} at every size."
    worst = min(
        by_cell[config, name, size].mean / max(by_cell[config, policy, size].mean for policy in classics)
        for size in behind
    )
    return (
        f"{name} has no more hits than the best of {', '.join(classics)} at sizes {ranges(behind, sizes)} "
        f"(at worst {np.round(1 - worst, 3):.1%} less)."
    )
