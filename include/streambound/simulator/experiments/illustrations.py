"""Pictures of what is computed, not counted: ECBs (Figures 4, 5), h1 (6), noises (7), h2 (15, 16), 17 and 18.

Of Figures 17 and 18 the paper prints no more than "streams with different variance" and "with different
lags": ours are section 6.6's distributions, and what HEEB and OPT-offline make of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.approximate.models.distribution import normal, uniform
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.lifetimes import exp
from streambound.approximate.models.markov import RandomWalk
from streambound.approximate.tables import control_points, interpolated, table
from streambound.simulator.configurations import CONFIGURATIONS, R_BOUND, S_BOUND
from streambound.simulator.ecb import caching_ecb, joining_ecb
from streambound.simulator.experiments import real
from streambound.simulator.experiments.allocation import VARIED, models_of
from streambound.simulator.experiments.cells import Cell
from streambound.simulator.experiments.pictures import draw

STEPS = 35
# Lines often share a part: the first are wide enough to be seen below the later ones.
WIDTHS = (4.8, 3.9, 3.0, 2.1, 1.2)
START = np.zeros(1, np.int64)


def illustrations(folder: Path) -> None:
    """Figures 4 to 7."""
    _lines(
        folder / "figure-04-caching-ecbs.png",
        "Figure 4: caching, uniform noise on [-10, 10] around t, t0 = 0",
        [(f"v = {value}", _caching(value)) for value in (-11, -5, 0, 5, 10)],
        ("steps ahead", "expected cumulative benefit"),
    )
    _lines(
        folder / "figure-05-joining-ecbs.png",
        "Figure 5: joining, uniform noise, R on [-10, 10], S on [-15, 15], t0 = 0",
        [
            ("R1: v = -15", _joining(S_BOUND, -15)),
            ("R2: v = 2", _joining(S_BOUND, 2)),
            ("S1: v = -10", _joining(R_BOUND, -10)),
            ("S2: v = 2", _joining(R_BOUND, 2)),
            ("S3: v = 15", _joining(R_BOUND, 15)),
        ],
        ("steps ahead", "expected cumulative benefit"),
    )
    offsets = np.arange(-20, 61)
    _lines(
        folder / "figure-06-h1.png",
        "Figure 6: h of a random walk, steps of variance 1, alpha = 10",
        [(f"drift {drift}", _h1(drift, offsets)) for drift in (0, 2, 4)],
        ("value less the walk's position", "H"),
        offsets,
    )
    noise = np.arange(-S_BOUND, S_BOUND + 1)
    _lines(
        folder / "figure-07-noises.png",
        "Figure 7: the noise of S",
        [(name.upper(), _noise(name, noise)) for name in ("tower", "roof", "floor")],
        ("noise", "probability"),
        noise,
    )


def _caching(value: int) -> Floats:
    return caching_ecb(Trend(1, 0, uniform(R_BOUND)), value, START, STEPS)


def _joining(partner_bound: int, value: int) -> Floats:
    return joining_ecb([Trend(1, 0, uniform(partner_bound))], value, [START], STEPS)


def _h1(drift: int, offsets: Any) -> Floats:
    span = int(offsets[0]), int(offsets[-1])
    made = table(RandomWalk(drift, normal(1.0)), START, exp(10), span, first=True)
    return np.array([made.at(0, int(value)) for value in offsets])


def _noise(name: str, values: Any) -> Floats:
    model = CONFIGURATIONS[name]()[1]
    assert isinstance(model, Trend)
    return np.array([model.noise.of(int(value)) for value in values])


def _lines(
    path: Path,
    title: str,
    lines: Sequence[tuple[str, Floats]],
    axes_titles: tuple[str, str],
    at: Any = None,
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for width, (name, values) in zip(WIDTHS, lines, strict=False):
        axes.plot(np.arange(1, len(values) + 1) if at is None else at, values, label=name, linewidth=width)
    axes.set_xlabel(axes_titles[0])
    axes.set_ylabel(axes_titles[1])
    axes.set_title(title, fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def surfaces(folder: Path, size: int = 50) -> None:
    """Figures 15 and 16: h2 of REAL, exactly and by 25 control points.

    Raises:
        PlatformError: the temperatures are not there.
    """
    from matplotlib.figure import Figure

    values = real.domain(real.temperatures())
    exact = real.benefits(real.CONFIG, "ar1", float(size))
    low = int(exact.shift[0])
    inside = slice(values[0] - low, values[1] - low + 1)
    smooth = interpolated(exact, values)
    celsius = np.arange(values[0], values[1] + 1) / 10
    last, asked = np.meshgrid(celsius, celsius, indexing="ij")
    for number, name, made in ((15, "exact", exact), (16, "25 control points", smooth)):
        figure = Figure(figsize=(7, 5.5), layout="constrained")
        axes = figure.add_subplot(projection="3d", computed_zorder=False)
        cells = made.cells[0][inside, inside]
        axes.plot_surface(asked, last, cells, cmap="viridis", rcount=120, ccount=120, linewidth=0)
        if made is smooth:
            at = control_points(values)
            points_last, points_asked = np.meshgrid(at / 10, at / 10, indexing="ij")
            axes.scatter(
                points_asked, points_last, cells[np.ix_(at - at[0], at - at[0])], color="black", s=12
            )
        axes.set_xlabel("asked value (°C)")
        axes.set_ylabel("last value (°C)")
        axes.set_zlabel("H", labelpad=8)
        # The same for both, or they could not be compared.
        axes.set_zlim(min(0.0, smooth.cells[0][inside, inside].min()), exact.cells[0][inside, inside].max())
        axes.set_title(f"Figure {number}: h2 of REAL, {name}, alpha = {size}", fontsize=11)
        axes.view_init(30, -60)
        figure.savefig(folder / f"figure-{number}-h2-{name.split()[0]}.png", dpi=150)


def varied(cells: Sequence[Cell], folder: Path) -> None:
    """Figures 17 and 18: streams of different variance and with different lags."""
    for number, name, which in ((17, "variance", "S varies"), (18, "lags", "R lags")):
        _varied(
            cells, number, ["identical", *(each for each in VARIED if each.startswith(which))], name, folder
        )


def _varied(cells: Sequence[Cell], number: int, names: Sequence[str], title: str, folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    every = figure.subplots(2, len(names), sharey="row")
    offsets = np.arange(-S_BOUND - 4, S_BOUND + 1)
    for (above, below), name in zip(every.T, names, strict=True):
        for stream, model, width in zip("RS", models_of(name), (4.0, 1.4), strict=True):
            now = model.at(0)  # type: ignore[attr-defined]
            above.plot(offsets, [now.of(int(value)) for value in offsets], label=stream, linewidth=width)
        above.set_title(name, fontsize=10)
        above.set_xlabel("value less S's trend")
        above.legend(fontsize=8)
        mine = [
            cell for cell in cells if cell.config == name and cell.policy in ("opt-offline", "heeb", "rand")
        ]
        draw(below, mine)
        below.set_xlabel("cached tuples")
        below.grid(alpha=0.3)
    # After all are drawn: they share this axis.
    every[1][0].set_ylim(bottom=0)
    every[0][0].set_ylabel("probability")
    every[1][0].set_ylabel("results after the warm-up")
    every[1][0].legend(fontsize=8)
    figure.suptitle(f"Figure {number}: streams with different {title}, 95% intervals", fontsize=11)
    figure.savefig(folder / f"figure-{number}-{title}.png", dpi=150)
