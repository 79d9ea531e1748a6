"""H of a seasonal AR(1) by step of the season, last value and asked value: Theorem 5's h2, one a step.

With A the next step's transitions, H before it follows from H after it (Corollary 4 solved for the earlier
step): H(x, v) = gamma (sum over y of A(x, y) H'(y, v) + A(x, v) (1 - H'(v, v))), for joining without the last
term's H'. A smooths: H is an entire function of the last value x, and is carried by its values at Chebyshev
points, as many as keep it within 1e-13 between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.models.markov import Autoregression, rounded_normals
from streambound.approximate.tables.cells import Table, empty
from streambound.errors import DataError

CLOSE = 1e-12


@dataclass(frozen=True)
class Season:
    """The transitions of each step of a season.

    Args:
        points: the last values, or Chebyshev points among them, at which H is kept.
        low: the least state; the states are low, low + 1, ...
        between: shape (states, points): from the points to every state.
        smooth: shape (period, points, points): A by H at the points.
        reached: shape (period, points, columns): A of the asked values.
        first: the state that is the first asked value.
    """

    points: Floats
    low: int
    between: Floats
    smooth: Floats
    reached: Floats
    first: int

    @property
    def columns(self) -> slice:
        """The states that are asked for."""
        return slice(self.first, self.first + self.reached.shape[2])

    def before(self, after: Floats, phase: int, *, first: bool) -> Floats:
        """A H' (without the courses that have met v): the step into ``phase`` undone."""
        values = self.smooth[phase] @ after
        if first:
            met = np.einsum("vp,pv->v", self.between[self.columns], after)
            values -= self.reached[phase] * met
        return np.asarray(values)


def seasonal(
    model: Autoregression,
    observed: Integers,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    """The table: a row for each pair of season's step and last value that was observed.

    Raises:
        DataError: L has no end that can be reached, or the table would be too large.
    """
    season = season_of(model, observed, values)
    period = len(model.means)
    phases = np.arange(len(observed)) % period
    seen, row = np.unique(np.stack([phases, observed - season.low]), axis=1, return_inverse=True)
    lives = 1 if window is None else max(window, 1)
    cells = empty(lives, seen.shape[1], season.reached.shape[2])
    if lifetime.kind == "exp" and window is None:
        totals: Iterable[Floats] = [_endless(season, lifetime, first)]
    else:
        totals = _summed(season, lifetime, window, first)
    for life, total in enumerate(totals):
        for phase in np.unique(seen[0]):
            mine = seen[0] == phase
            cells[life, mine] = np.maximum(season.between[seen[1, mine]] @ total[phase], 0.0)
    return Table(cells, row.reshape(-1).astype(np.int64), np.full(len(observed), values[0], np.int64))


def season_of(model: Autoregression, observed: Integers, values: tuple[int, int]) -> Season:
    """The transitions between all values that come but for a chance of 1e-16, that did, or are asked for."""
    far = 8.3 * model.deviation / np.sqrt(1 - model.phi**2) + 1
    low = int(min(np.floor(model.means.min() - far), values[0], observed.min(initial=values[0])))
    high = int(max(np.ceil(model.means.max() + far), values[1], observed.max(initial=values[1])))
    return _season(model.phi, model.deviation, tuple(model.means.tolist()), low, high, values)


# A policy that changes its alpha asks for one table an alpha, all of one season.
@lru_cache(maxsize=2)
def _season(
    phi: float, deviation: float, means: tuple[float, ...], low: int, high: int, values: tuple[int, int]
) -> Season:
    model = Autoregression(phi, deviation, np.array(means))
    states = np.arange(low, high + 1)
    points = _points(low, high, deviation / max(abs(phi), 1e-9))
    between = _between(points, states)
    size = len(means), len(points)
    smooth, reached = empty(*size, len(points)), empty(*size, values[1] - values[0] + 1)
    for phase in range(len(means)):
        chance = rounded_normals(model.expected(points, phase), deviation, low, high)
        smooth[phase] = chance @ between
        reached[phase] = chance[:, values[0] - low : values[1] - low + 1]
    return Season(points, low, between, smooth, reached, values[0] - low)


def _points(low: int, high: int, scale: float) -> Floats:
    """All states, or so many Chebyshev points that a normal curve of this scale is exact between them.

    In the ellipse whose half axis is b times half the range, such a curve is at most e^(f^2 b^2 / 2), f being
    half the range in its scale: what n points miss is that over (b + sqrt(1 + b^2))^n, for each b.
    """
    half, b = (high - low) / 2, np.linspace(0.01, 3, 300)
    missed = np.log(1e-15)
    counts = ((half / scale * b) ** 2 / 2 - missed) / np.arcsinh(b)
    count = int(np.ceil(counts.min())) + 1
    if count >= high - low + 1:
        return np.arange(low, high + 1, dtype=np.float64)
    angles = np.pi * (np.arange(count) + 0.5) / count
    return np.asarray((low + high) / 2 - half * np.cos(angles), np.float64)


def _between(points: Floats, states: Integers) -> Floats:
    """Barycentric interpolation from the points to the states; shape (states, points)."""
    if len(points) == len(states):
        return np.eye(len(states))
    angles = np.pi * (np.arange(len(points)) + 0.5) / len(points)
    weights = np.where(np.arange(len(points)) % 2, -1.0, 1.0) * np.sin(angles)
    gaps = states[:, None] - points[None, :]
    hit = np.abs(gaps) < 1e-12 * max(abs(points[-1] - points[0]), 1.0)
    terms = weights / np.where(hit, 1.0, gaps)
    value = terms / terms.sum(axis=1, keepdims=True)
    return np.asarray(np.where(hit.any(axis=1, keepdims=True), hit.astype(np.float64), value), np.float64)


def _endless(season: Season, lifetime: Lifetime, first: bool) -> Floats:
    """L^exp: from the end of a season to its begin, again and again until nothing changes."""
    period = len(season.smooth)
    gamma = float(np.exp(-1 / lifetime.parameter))
    shrinks, most = gamma**period, (lifetime.horizon or 1) // period + 2
    total = np.zeros_like(season.reached)
    now = last = np.zeros_like(total[0])
    for _ in range(most):
        start = now
        for phase in range(period - 1, -1, -1):
            into = (phase + 1) % period
            now = gamma * (season.reached[into] + season.before(now, into, first=first))
            total[phase] = now
        moved = now - start
        if np.abs(moved).max() * shrinks <= CLOSE * (1 - shrinks):
            break
        now, last = _hastened(now, moved, last, shrinks)
    return total


def _hastened(now: Floats, moved: Floats, last: Floats, shrinks: float) -> tuple[Floats, Floats]:
    """Where a geometric series of moves will end, if they are one; and the move to compare the next with.

    Where a season forgets what came before it, they are from the second on, by the asked value.
    """
    size = (last**2).sum(axis=0)
    ratio = np.clip((moved * last).sum(axis=0) / np.where(size > 0, size, 1.0), 0.0, shrinks)
    if np.abs(moved - ratio * last).max() > 1e-3 * np.abs(moved).max():
        return now, moved
    return now + moved * ratio / (1 - ratio), np.zeros_like(last)


def _summed(season: Season, lifetime: Lifetime, window: int | None, first: bool) -> Iterator[Floats]:
    """Any L until its end or the window's, for each number of steps left if there is a window."""
    limit = lifetime.horizon if window is None else max(window, 1)
    if limit is None:
        raise DataError(f"L^{lifetime.kind} has no end with a seasonal model", accepted="exp, fixed")
    period = len(season.smooth)
    chance, total = np.roll(season.reached, -1, axis=0), np.zeros_like(season.reached)
    for ahead, weight in enumerate(lifetime.weights(limit), 1):
        total += weight * chance
        if window is not None or ahead == limit:
            yield total
        after = [(phase + 1) % period for phase in range(period)]
        chance = np.stack([season.before(chance[into], into, first=first) for into in after])
