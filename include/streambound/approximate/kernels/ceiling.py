"""The most that k tuples of memory can keep of a join, knowing the future: the ceiling of ``online.play``.

The flow of ``min_cost_flow.best_flow`` over chains of benefit events, where a step is one group of tuples of
equal timestamp, of which there may be any number on either stream.
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.min_cost_flow import Chains, best_flow
from streambound.approximate.kernels.online import Arrivals


def ceiling(given: Arrivals, most: int, since: int | None = None) -> Floats:
    """Shape (most + 1): the most pairs with a cached tuple that 0, 1, ..., ``most`` cached tuples can give.

    Args:
        given: arrivals without any that were cached before.
        since: count only pairs that come about at this moment or later; None: all.
    """
    if not len(given.time):
        return np.zeros(most + 1)
    moments, group = np.unique(given.time, return_inverse=True)
    sides = [_of_side(given, group.astype(np.int64), moments, side, since) for side in (0, 1)]
    return best_flow(_together(*sides), len(moments), most).totals


def _together(first: Chains, second: Chains) -> Chains:
    return Chains(
        np.concatenate([first.time, second.time]),
        np.concatenate([first.gain, second.gain]),
        np.concatenate([first.carry, second.carry]),
        np.concatenate([first.start, second.start]),
        np.concatenate([first.enters, second.enters + len(first.time)]),
    )


def _of_side(given: Arrivals, group: Integers, moments: Integers, side: int, since: int | None) -> Chains:
    """An event where tuples of the other stream arrive that a key's tuples may join; they share it."""
    steps = len(moments)
    left, right = given.side == side, given.side == 1 - side
    if since is not None:
        right &= given.time >= since
    # A tuple of this side born at b meets those of the other from b + least to b + most.
    least, most = (given.low, given.high) if side == 0 else (-given.high, -given.low)
    least, most = max(least, 1), min(most, int(moments[-1] - moments[0]) + 1)
    code, number = np.unique(given.key[right] * steps + group[right], return_counts=True)
    event_key, event_at = np.divmod(code, steps)
    # Codes by key and moment, so that one search finds what a key's tuples see.
    born = np.sort(given.key[left] * steps + group[left])
    key, at = np.divmod(born, steps)
    after = np.searchsorted(moments, moments + least)[at]
    until = np.searchsorted(moments, moments + most, side="right")[at]
    enters = np.searchsorted(code, key * steps + after)
    inside = (after < until) & (enters < np.searchsorted(code, key * steps + until))
    # Carried to an event: who could see the event before it, and can see this one.
    before = np.r_[0, event_at[:-1]]
    newest = np.searchsorted(moments, moments - least, side="right")[before]
    oldest = np.searchsorted(moments, moments - most)[event_at]
    of_key = event_key * steps
    carry = np.searchsorted(born, of_key + newest) - np.searchsorted(born, of_key + oldest)
    carry = np.maximum(carry, 0)
    carry[np.r_[True, event_key[1:] != event_key[:-1]][: len(carry)]] = 0
    return Chains(event_at, number.astype(np.float64), carry, at[inside], enters[inside])
