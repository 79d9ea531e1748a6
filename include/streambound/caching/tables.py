"""HEEB precomputed: H of every value a policy may ask for, as a table that a kernel looks up.

H depends on the model's *row* (for a chain: the last value; Theorem 5's h2) and on the *offset* of the value
from the model's centre (a trend's f(t), a walk's position; Corollary 5 and Theorem 5's h1). With a sliding
window it depends on the steps that are left as well. Every table equals ``heeb`` within 1e-9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambound.caching.lifetimes import Lifetime
from streambound.caching.models.distribution import Distribution
from streambound.caching.models.independent import Known, Stationary, Trend
from streambound.caching.models.markov import Autoregression, Chain, Walk, rounded_normals
from streambound.caching.models.model import Model
from streambound.caching.problems import Floats, Integers
from streambound.errors import DataError

MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Table:
    """H by steps left, row and column.

    Args:
        cells: shape (lives, rows, columns); life l - 1 is for l steps left, the last one for more.
        row: of each step t: the row to look in after step t.
        shift: of each step t: the value of column 0 after step t.
    """

    cells: Floats
    row: Integers
    shift: Integers

    def at(self, step: int, value: int, left: int | None = None) -> float:
        """H after a step of a tuple with a value; 0 outside the table."""
        column = value - int(self.shift[step])
        if (left is not None and left <= 0) or not 0 <= column < self.cells.shape[2]:
            return 0.0
        life = self.cells.shape[0] if left is None else min(left, self.cells.shape[0])
        return float(self.cells[life - 1, self.row[step], column])


def table(
    model: Model,
    observed: Integers,
    lifetime: Lifetime,
    values: tuple[int, int],
    *,
    first: bool,
    window: int | None = None,
) -> Table:
    """The table of a model.

    Args:
        observed: the stream itself: after step t it is known up to t.
        values: the least and the largest value that will be asked for.
        first: whether only the first meeting counts (caching).
        window: section 7's; None if there is none.

    Raises:
        DataError: L does not converge, or the table would be too large.
    """
    match model:
        case Trend():
            return _trend(model, len(observed), lifetime, values, first, window)
        case Stationary():
            still = Trend(0, 0, model.distribution)
            return _trend(still, len(observed), lifetime, values, first, window)
        case Walk():
            return _walk(model, observed, lifetime, first, window)
        case Chain():
            return _chain(model, observed, lifetime, first, window)
        case Autoregression() if len(model.means) == 1:
            return _chain(as_chain(model, observed, values), observed, lifetime, first, window)
        case Known():
            return _known(model, len(observed), lifetime, values, first, window)
    raise DataError(
        f"HEEB has no table for {type(model).__name__} with {len(getattr(model, 'means', []))} means",
        accepted="known, stationary, trend, walk, AR(1), chain",
    )


def _limit(lifetime: Lifetime, window: int | None, first: bool, last_gain: int | None) -> int:
    """How many steps to sum: until L, the window or the gains end.

    Raises:
        DataError: none of them does.
    """
    ends = [end for end in (lifetime.horizon, window, last_gain) if end is not None]
    if ends:
        return max(min(ends), 1)
    if first:
        # Whatever is ever met is met by then, but for a tail that a double cannot hold.
        return 20_000
    raise DataError(f"L^{lifetime.kind} does not converge for joining with this model", accepted="exp, fixed")


def _checked(*shape: int) -> Floats:
    if np.prod(shape, dtype=np.float64) > MOST_CELLS:
        raise DataError(
            f"the table of HEEB would have {' x '.join(map(str, shape))} cells",
            accepted=f"at most {MOST_CELLS:,}",
            fix="a smaller window, a smaller alpha, or a coarser scale of the values",
        )
    return np.zeros(shape)


def _trend(
    model: Trend,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    time = np.arange(steps)
    center = model.center(time)
    # Once every value that can be asked for is out of the noise's reach for ever, nothing is gained.
    reach = values[1] - values[0] + len(model.noise.probability)
    passed = int(np.ceil((reach + 2) / abs(model.slope))) if model.slope else None
    limit = _limit(lifetime, window, first, passed)
    moves = _moves(model, center, limit)
    kinds, row = (moves[:1], np.zeros(steps, np.int64)) if len(moves) == 1 else _distinct(moves)
    noise = model.noise
    low = int(max(noise.low + min(moves.min(initial=0), 0), values[0] - center.max(initial=0)))
    high = int(min(noise.high + max(moves.max(initial=0), 0), values[1] - center.min(initial=0)))
    cells = _checked(limit if window is not None else 1, len(kinds), max(high - low + 1, 1))
    weights = lifetime.weights(limit)
    for number, kind in enumerate(kinds):
        total, unmet = np.zeros(cells.shape[2]), np.ones(cells.shape[2])
        for ahead, begin in enumerate((kind + noise.low - low).tolist()):
            # The columns that the noise reaches then, and the part of the noise that lies in the table.
            first_column, end = max(begin, 0), min(begin + len(noise.probability), len(total))
            if first_column < end:
                chance = noise.probability[first_column - begin : end - begin]
                total[first_column:end] += weights[ahead] * chance * unmet[first_column:end]
                if first:
                    unmet[first_column:end] *= 1 - chance
            if window is not None:
                cells[ahead, number] = total
        cells[-1, number] = total
    return Table(cells, row, center + low)


def _moves(model: Trend, center: Integers, limit: int) -> Integers:
    """Shape (steps or 1, limit): how far the centre moves in 1 .. limit steps from each step."""
    ahead = np.arange(1, limit + 1)
    if float(model.slope).is_integer():
        return (int(model.slope) * ahead)[None, :]
    time = np.arange(len(center))
    return model.center(time[:, None] + ahead[None, :]) - center[:, None]


def _distinct(moves: Integers) -> tuple[Integers, Integers]:
    kinds, row = np.unique(moves, axis=0, return_inverse=True)
    return kinds, row.astype(np.int64)


def _walk(model: Walk, observed: Integers, lifetime: Lifetime, first: bool, window: int | None) -> Table:
    limit = _limit(lifetime, window, first, None)
    if first and window is None and lifetime.kind != "exp":
        limit = min(limit, 2_000)
    if lifetime.kind == "exp" and window is None:
        curve = _walk_exp(model, lifetime.parameter, first)
        return Table(
            curve.probability[None, None, :], np.zeros(len(observed), np.int64), observed + curve.low
        )
    ahead = Walk(model.drift, model.noise).ahead(np.array([], np.int64))
    powers = [next(ahead) for _ in range(limit)]
    low, high = min(p.low for p in powers), max(p.high for p in powers)
    cells = _checked(limit if window is not None else 1, 1, high - low + 1)
    chances = np.zeros((limit, high - low + 1))
    for at, power in enumerate(powers):
        chances[at, power.low - low : power.high - low + 1] = power.probability
    if first:
        chances = _first_passage(chances, chances[:, -low] if low <= 0 <= high else np.zeros(limit))
    sums = np.cumsum(chances * lifetime.weights(limit)[:, None], axis=0)
    cells[:, 0, :] = sums if window is not None else sums[-1:]
    return Table(cells, np.zeros(len(observed), np.int64), observed + low)


def _first_passage(chances: Floats, returns: Floats) -> Floats:
    """Pr{first met at d} from Pr{met at d} and the chance to be back where one is after d steps."""
    found = np.zeros_like(chances)
    for at in range(len(chances)):
        found[at] = chances[at] - returns[:at][::-1] @ found[:at]
    return np.maximum(found, 0.0)


def _walk_exp(model: Walk, alpha: float, first: bool) -> Distribution:
    """Sum of (gamma step)^d, by Fourier transform: a geometric series at each frequency.

    With ``first``, by renewal: U(o) = F(o) (1 + U(0)).
    """
    gamma = np.exp(-1 / alpha)
    step = model.noise.moved(model.drift)
    spread = max(abs(step.low), abs(step.high))
    steps = int(np.ceil(40 * alpha))
    deviation = np.sqrt(step.probability @ (np.arange(step.low, step.high + 1) - step.mean) ** 2)
    reach = int(np.ceil(abs(step.mean) * steps + 12 * deviation * np.sqrt(steps))) + 2 * spread + 1
    ring = 1 << (2 * reach + 1).bit_length()
    circle = np.zeros(ring)
    np.add.at(circle, np.arange(step.low, step.high + 1) % ring, step.probability)
    wave = gamma * np.fft.rfft(circle)
    sums = np.fft.irfft(wave / (1 - wave), ring)
    found = np.maximum(np.r_[sums[-reach:], sums[: reach + 1]], 0.0)
    if first:
        found /= 1 + found[reach]
    return Distribution(-reach, found)


def as_chain(model: Autoregression, observed: Integers, values: tuple[int, int]) -> Chain:
    """An AR(1) on the values that it can take but for a chance of 1e-16, and on those that it did take."""
    mean = model.mean(0)
    far = 8.3 * model.deviation / np.sqrt(1 - model.phi**2) + 1
    low = int(min(np.floor(mean - far), *values, observed.min(initial=values[0])))
    high = int(max(np.ceil(mean + far), *values, observed.max(initial=values[1])))
    means = model.expected(np.arange(low, high + 1), 1)
    return Chain(low, rounded_normals(means, model.deviation, low, high), model.origin)


def _chain(model: Chain, observed: Integers, lifetime: Lifetime, first: bool, window: int | None) -> Table:
    inside = np.clip(observed - model.low, 0, len(model.matrix) - 1)
    shift = np.full(len(observed), model.low, np.int64)
    size = len(model.matrix)
    if lifetime.kind == "exp" and window is None:
        gamma = np.exp(-1 / lifetime.parameter)
        total = np.linalg.solve(np.eye(size) - gamma * model.matrix, gamma * model.matrix)
        if first:
            # Renewal: met at all after d = first met, then met again from there.
            total /= 1 + np.diag(total)[None, :]
        return Table(total[None], inside, shift)
    limit = _limit(lifetime, window, first, None)
    cells = _checked(limit if window is not None else 1, size, size)
    weights = lifetime.weights(limit)
    chance, total = model.matrix, np.zeros((size, size))
    for ahead in range(limit):
        total = total + weights[ahead] * chance
        cells[ahead if window is not None else 0] = total
        if first:
            # P(x, y) times Pr{first met v from y}, without the courses that stay at v.
            chance = model.matrix @ chance - model.matrix * np.diag(chance)[None, :]
        else:
            chance = model.matrix @ chance
        if chance.max() * max(limit - ahead, 1) < 1e-15:
            cells[ahead if window is not None else 0 :] = total
            break
    return Table(cells, inside, shift)


def _known(
    model: Known,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    """A row a step: each occurrence in the future, or the first one only."""
    if window is not None:
        raise DataError("HEEB has no table for a known sequence with a window", fix="opt-offline is optimal")
    cells = _checked(1, steps, values[1] - values[0] + 1)
    weights = lifetime.weights(len(model.values))
    for value in range(values[0], values[1] + 1):
        times = np.flatnonzero(model.values == value)
        for step in range(steps):
            later = times[np.searchsorted(times, step, side="right") :] - step - 1
            cells[0, step, value - values[0]] = weights[later[:1] if first else later].sum()
    return Table(cells, np.arange(steps), np.full(steps, values[0], np.int64))


def interpolated(exact: Table, points: int = 5) -> Table:
    """Section 6.5: h2 as a bicubic surface through points x points control points, equally spaced."""
    from scipy.interpolate import RectBivariateSpline

    rows, columns = exact.cells.shape[1:]
    at_rows = np.round(np.linspace(0, rows - 1, points)).astype(np.int64)
    at_columns = np.round(np.linspace(0, columns - 1, points)).astype(np.int64)
    surface = RectBivariateSpline(at_rows, at_columns, exact.cells[-1][np.ix_(at_rows, at_columns)])
    return Table(surface(np.arange(rows), np.arange(columns))[None], exact.row, exact.shift)
