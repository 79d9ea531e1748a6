"""A join in k tuples of memory, one arriving tuple a step: what a nightly evaluation runs.

Here streams need not bring one tuple a step each as in section 2: a step is one tuple of either of two
streams. The tuples of one timestamp form a group that meets the cache, and itself, before anything leaves.
A tuple that no later one can join is never cached. The cache holds k tuples over both streams together.

Rows are tuples in order of time; the first ``kept`` of them are those that were cached before.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.candidate import Candidate, Compiled, Worth, compiled, worth_of
from streambound.approximate.kernels.compiled import kernel

# Beyond every moment that can be.
FOR_EVER = np.int64(1) << 62
# Before every moment that can be.
NEVER = -FOR_EVER


class Arrivals(NamedTuple):
    """Tuples of two streams, one a row.

    Args:
        side: 0 or 1: the stream.
        key: what has to be equal, as dense numbers.
        time: the moment of each, not decreasing from row ``kept`` on.
        until: the last moment at which a tuple of the other stream may join it; FOR_EVER if there is none.
        born: the step at which it arrived; rows from ``kept`` on are numbered here.
        used: the step at which it last joined (or arrived).
        uses: how often it joined.
        kept: how many rows were cached before.
        low, high: a pair joins if low <= time of side 1 - time of side 0 <= high.
    """

    side: Integers
    key: Integers
    time: Integers
    until: Integers
    born: Integers
    used: Integers
    uses: Integers
    kept: int
    low: int
    high: int


class Expected(NamedTuple):
    """What a policy knows of what will arrive.

    Args:
        chance: shape (2, keys): the probability that a step brings this key on this stream.
        value: the whole number that each key is; used where ``moving``.
        moving: of each stream, whether its keys follow a centre (a trend, a walk).
        centre: shape (2): where it is; changed in place.
        drift: shape (2): what it moves with each tuple of its stream.
        gain: shape (2): how much of the distance to a tuple's key it moves then.
        cells: benefit by distance from the centre, of both streams one after the other.
        begin, low: shape (2): where a stream's cells begin, and the distance of the first.
        pace: moments a step, for policies that count in steps how long a tuple can still join.
        alpha: of the weights L^exp in a tuple's benefit.
        weights: the sum of e^(-i / alpha) over i = 1, 2, ...
        seed: of lots.
    """

    chance: Floats
    value: Integers
    moving: NDArray[np.bool_]
    centre: Floats
    drift: Floats
    gain: Floats
    cells: Floats
    begin: Integers
    low: Integers
    pace: float
    alpha: float
    weights: float
    seed: int


class Played(NamedTuple):
    """What came of it.

    Args:
        cached: the rows that are cached at the end, oldest first.
        earlier, later: the rows of each joined pair; ``later`` arrived later, or in the same group.
        met: whether ``earlier`` came from the cache.
        peak: the most rows that were cached between two groups.
    """

    cached: Integers
    earlier: Integers
    later: Integers
    met: NDArray[np.bool_]
    peak: int


class _Lists(NamedTuple):
    """Cached rows by stream and key, doubly linked."""

    head: Integers
    after: Integers
    before: Integers


class _Pairs(NamedTuple):
    earlier: Integers
    later: Integers
    met: NDArray[np.bool_]


def play(given: Arrivals, worth: Worth, size: int, expected: Expected, step: int = 0) -> Played:
    """Run a policy over arrivals; ``born``, ``used``, ``uses`` and ``expected.centre`` are changed in place.

    Args:
        worth: what a policy says of a tuple (see ``candidate``).
        size: k.
        step: the number of the first arriving tuple.
    """
    cached = np.empty(max(size, given.kept) + len(given.side), np.int64)
    score = np.empty(len(cached))
    rows, keys = len(given.side), expected.chance.shape[1]
    lists = _Lists(np.full((2, keys), -1, np.int64), np.full(rows, -1, np.int64), np.full(rows, -1, np.int64))
    room = 2 * rows + 16
    pairs = _Pairs(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.bool_))
    policy = compiled(worth)
    pairs, count, used, peak = _play(given, policy, size, expected, step, cached, score, lists, pairs)
    return Played(cached[:used].copy(), pairs.earlier[:count], pairs.later[:count], pairs.met[:count], peak)


@kernel
def _play(
    given: Arrivals,
    policy: Compiled,
    size: int,
    expected: Expected,
    step: int,
    cached: Integers,
    score: Floats,
    lists: _Lists,
    pairs: _Pairs,
) -> tuple[_Pairs, int, int, int]:
    used, results, peak = 0, 0, 0
    # What a tuple is worth changes only where it joins: then the least one is on top of a heap, among entries
    # that no longer hold, and those that left stay in ``cached`` for a while.
    lasting = not (policy.facts.left or policy.facts.benefit or policy.facts.lot)
    heap = [(0.0, np.int64(0)) for _ in range(0)]
    total, soonest = 0, FOR_EVER
    for row in range(given.kept):
        cached[used] = row
        used += 1
        _link(lists, given.side[row], given.key[row], row)
        if lasting:
            soonest = min(soonest, given.until[row])
            heappush(heap, (_valued(given, policy, expected, row, score), np.int64(row)))
    total = used
    first = given.kept
    while first < len(given.side):
        last = first
        now = given.time[first]
        while last < len(given.side) and given.time[last] == now:
            last += 1
        for row in range(first, last):
            given.born[row] = step
            given.used[row] = step
            before = results
            pairs, results = _meet(given, row, first, lists, pairs, results, step)
            if lasting:
                for at in range(before, results):
                    if pairs.met[at]:
                        partner = pairs.earlier[at]
                        heappush(heap, (_valued(given, policy, expected, partner, score), partner))
            _follow(given, expected, row)
            # Later rows of the group find it here; it leaves again below if it is never joined later.
            _link(lists, given.side[row], given.key[row], row)
            step += 1
        for row in range(first, last):
            if given.until[row] > now:
                cached[total] = row
                total += 1
                used += 1
                if lasting:
                    soonest = min(soonest, given.until[row])
                    heappush(heap, (_valued(given, policy, expected, row, score), np.int64(row)))
            else:
                _unlink(lists, given.side[row], given.key[row], row)
        if used > size and not lasting:
            total = used = _drop(given, policy, size, expected, now, step, cached, score, lists, used)
        if used > size and soonest <= now:
            total = used = _stay(given, now, cached, score, lists, total)
            soonest = FOR_EVER
            for at in range(used):
                soonest = min(soonest, given.until[cached[at]])
        while used > size:
            worth, partner = heappop(heap)
            if score[partner] == worth:
                _unlink(lists, given.side[partner], given.key[partner], partner)
                score[partner] = np.nan
                used -= 1
        peak = max(peak, used)
        first = last
    if lasting:
        used = _stay(given, NEVER, cached, score, lists, total)
    return pairs, results, used, peak


@kernel
def _valued(given: Arrivals, policy: Compiled, expected: Expected, row: int, score: Floats) -> float:
    """What a row is worth to a policy that asks for nothing that time changes; noted as its score."""
    worth: float
    chance = expected.chance[1 - given.side[row], given.key[row]] if policy.facts.chance else 0.0
    past = float(given.born[row]), float(given.used[row]), float(given.uses[row])
    worth = worth_of(policy.address, Candidate(past[0], past[1], past[2], chance, np.inf, 0.0, 0.0))
    score[row] = worth
    return worth


@kernel
def _stay(
    given: Arrivals, now: int | np.int64, cached: Integers, score: Floats, lists: _Lists, total: int
) -> int:
    """Put the rows together that have not left (no score) and that something can join after ``now``."""
    left = 0
    for at in range(total):
        row = cached[at]
        if np.isnan(score[row]):
            continue
        if given.until[row] > now:
            cached[left] = row
            left += 1
        else:
            _unlink(lists, given.side[row], given.key[row], row)
            score[row] = np.nan
    return left


@kernel
def _link(lists: _Lists, side: int, key: int, row: int) -> None:
    after = lists.head[side, key]
    lists.after[row] = after
    lists.before[row] = -1
    if after >= 0:
        lists.before[after] = row
    lists.head[side, key] = row


@kernel
def _unlink(lists: _Lists, side: int, key: int, row: int | np.int64) -> None:
    before, after = lists.before[row], lists.after[row]
    if before >= 0:
        lists.after[before] = after
    else:
        lists.head[side, key] = after
    if after >= 0:
        lists.before[after] = before


@kernel
def _meet(
    given: Arrivals, row: int, first: int, lists: _Lists, pairs: _Pairs, results: int, step: int
) -> tuple[_Pairs, int]:
    """Note the pairs of an arriving tuple with what is cached and with its group before it."""
    side = given.side[row]
    at = lists.head[1 - side, given.key[row]]
    while at >= 0:
        apart = given.time[row] - given.time[at]
        if side == 0:
            apart = -apart
        if given.low <= apart <= given.high:
            if results == len(pairs.earlier):
                pairs = _Pairs(_doubled(pairs.earlier), _doubled(pairs.later), _flags(pairs.met))
            pairs.earlier[results] = at
            pairs.later[results] = row
            pairs.met[results] = at < first
            results += 1
            if at < first:
                given.used[at] = step
                given.uses[at] += 1
        at = lists.after[at]
    return pairs, results


@kernel
def _doubled(values: Integers) -> Integers:
    more = np.empty(2 * len(values), np.int64)
    more[: len(values)] = values
    return more


@kernel
def _flags(values: NDArray[np.bool_]) -> NDArray[np.bool_]:
    more = np.empty(2 * len(values), np.bool_)
    more[: len(values)] = values
    return more


@kernel
def _follow(given: Arrivals, expected: Expected, row: int) -> None:
    """Move the centre of a stream with a tuple of it."""
    side = given.side[row]
    if expected.moving[side]:
        centre = expected.centre[side] + expected.drift[side]
        expected.centre[side] = centre + expected.gain[side] * (expected.value[given.key[row]] - centre)


@kernel
def _worth(
    given: Arrivals,
    policy: Compiled,
    expected: Expected,
    cached: Integers,
    used: int,
    now: int,
    step: int,
    score: Floats,
) -> None:
    """How much each cached tuple is worth keeping."""
    address, facts = policy.address, policy.facts
    # By name: to pass the tuples of arrays for each row costs ten times more.
    side, key, until, chance, pace = given.side, given.key, given.until, expected.chance, expected.pace
    born, last, uses, seed = given.born, given.used, given.uses, expected.seed
    if facts.benefit:
        _benefits(given, expected, cached, used, now, score)
    for at in range(used):
        row = cached[at]
        score[at] = worth_of(
            address,
            Candidate(
                float(born[row]),
                float(last[row]),
                float(uses[row]),
                chance[1 - side[row], key[row]] if facts.chance else 0.0,
                (until[row] - now) / pace if facts.left and until[row] < FOR_EVER else np.inf,
                score[at] if facts.benefit else 0.0,
                _draw(seed, step, born[row]) if facts.lot else 0.0,
            ),
        )


@kernel
def _benefits(
    given: Arrivals, expected: Expected, cached: Integers, used: int, now: int, score: Floats
) -> None:
    """H with L^exp: what the other stream is expected to bring while a tuple is kept (section 4.3)."""
    side, key, until = given.side, given.key, given.until
    chance, pace, alpha, weights = expected.chance, expected.pace, expected.alpha, expected.weights
    moving, value, centre = expected.moving, expected.value, expected.centre
    cells, begin, low = expected.cells, expected.begin, expected.low
    for at in range(used):
        row = cached[at]
        partner = 1 - side[row]
        if moving[partner]:
            index = int(np.rint(value[key[row]] - centre[partner])) - low[partner]
            end = begin[1] if partner == 0 else len(cells)
            inside = 0 <= index < end - begin[partner]
            score[at] = cells[begin[partner] + index] if inside else 0.0
            continue
        # The sum of e^(-i / alpha) over the steps that are left.
        score[at] = chance[partner, key[row]] * weights
        if until[row] < FOR_EVER:
            score[at] *= -np.expm1(-(until[row] - now) / pace / alpha)


@kernel
def _draw(seed: int, step: int, born: int) -> float:
    """A number in [0, 1) that only its arguments decide (splitmix64)."""
    mixed = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(step) * np.uint64(0xBF58476D1CE4E5B9)
    mixed += np.uint64(born) * np.uint64(0x94D049BB133111EB)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return float(mixed >> np.uint64(11)) / 9007199254740992.0


@kernel
def _drop(
    given: Arrivals,
    policy: Compiled,
    size: int,
    expected: Expected,
    now: int,
    step: int,
    cached: Integers,
    score: Floats,
    lists: _Lists,
    used: int,
) -> int:
    """Drop rows that nothing can join any more, then those of the lowest score, of equals the oldest."""
    until = given.until
    left = 0
    for at in range(used):
        row = cached[at]
        if until[row] > now:
            cached[left] = row
            left += 1
        else:
            _unlink(lists, given.side[row], given.key[row], row)
    used = left
    if used <= size:
        return used
    _worth(given, policy, expected, cached, used, now, step, score)
    worst = _lowest(score, used, used - size)
    for at in worst:
        row = cached[at]
        _unlink(lists, given.side[row], given.key[row], row)
        cached[at] = -1
    left = 0
    for at in range(used):
        if cached[at] >= 0:
            cached[left] = cached[at]
            left += 1
    return left


@kernel
def _lowest(score: Floats, used: int, count: int) -> Integers:
    """The places of the lowest scores, of equals the first."""
    lowest = np.empty(count, np.int64)
    size = 0
    for at in range(used):
        if size == count and score[at] >= score[lowest[count - 1]]:
            continue
        if size < count:
            size += 1
        index = size - 1
        while index > 0 and score[lowest[index - 1]] > score[at]:
            lowest[index] = lowest[index - 1]
            index -= 1
        lowest[index] = at
    return lowest
