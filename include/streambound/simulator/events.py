"""Which tuple would meet which arrival: the chains of benefit events of a joining or a caching problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.min_cost_flow import Chains
from streambound.simulator.problems import References, Streams, next_references


class JoiningEvents(NamedTuple):
    """The chains of joined streams, and which tuple is behind which entrance.

    Args:
        group_of_tuple: shape (streams, steps): tuples of one number have the same stream, value and weight.
        group: of each event.
        tuples: of each entrance, as stream * steps + step.
    """

    chains: Chains
    group_of_tuple: Integers
    group: Integers
    tuples: Integers


def joining_events(streams: Streams, warmup: int) -> JoiningEvents:
    """The events at steps that count, grouped."""
    steps, window = streams.steps, streams.steps if streams.window is None else streams.window
    groups, kinds = _groups(streams)
    group, time, gain = _events(streams, kinds, warmup)
    scale = steps + 1
    event_codes = group * scale + time
    born = np.tile(np.arange(steps), streams.count)
    born_codes = np.sort(groups.ravel() * scale + born)
    # Carried to an event: who was born before the event before it, and is still in the window.
    earlier = np.r_[0, time[:-1]]
    oldest = np.maximum(time - window, 0)
    carry = np.searchsorted(born_codes, group * scale + earlier)
    carry = np.maximum(carry - np.searchsorted(born_codes, group * scale + oldest), 0)
    carry[np.r_[True, group[1:] != group[:-1]][: len(carry)]] = 0
    enters = np.searchsorted(event_codes, groups.ravel() * scale + born, side="right")
    inside = enters < len(time)
    inside[inside] = group[enters[inside]] == groups.ravel()[inside]
    inside[inside] = time[enters[inside]] - born[inside] <= window
    tuples = np.flatnonzero(inside)
    return JoiningEvents(Chains(time, gain, carry, born[tuples], enters[tuples]), groups, group, tuples)


def _groups(streams: Streams) -> tuple[Integers, Floats]:
    """The group of each tuple, and each group's stream, key and weight, ascending."""
    stream = np.repeat(np.arange(streams.count), streams.steps)
    rows = np.stack([stream, streams.arrivals.ravel(), streams.worth.ravel()], axis=1)
    kinds, group = np.unique(rows, axis=0, return_inverse=True)
    return group.reshape(streams.arrivals.shape).astype(np.int64), kinds.astype(np.float64)


def _events(streams: Streams, kinds: Floats, warmup: int) -> tuple[Integers, Integers, Floats]:
    """Group, step and gain of each event, ascending; arrivals of one step are one event."""
    keys = len(streams.values)
    sort_keys = kinds[:, 0].astype(np.int64) * keys + kinds[:, 1].astype(np.int64)
    groups, times, gains = [], [], []
    step = np.arange(streams.steps)
    for stream, partner in np.argwhere(streams.partners):
        asked = stream * keys + streams.arrivals[partner]
        low, high = np.searchsorted(sort_keys, asked), np.searchsorted(sort_keys, asked, side="right")
        many = high - low
        first = np.repeat(low, many)
        group = first + np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
        groups.append(group)
        times.append(np.repeat(step, many))
        gains.append(np.repeat(streams.worth[partner], many) * kinds[group, 2])
    group, time, gain = (np.concatenate(part) for part in (groups, times, gains))
    counts = (time >= warmup) & (gain > 0)
    code = group[counts] * (streams.steps + 1) + time[counts]
    codes_by_time, inverse = np.unique(code, return_inverse=True)
    group, time = np.divmod(codes_by_time, streams.steps + 1)
    return (
        group.astype(np.int64),
        time.astype(np.int64),
        np.bincount(inverse, gain[counts], len(codes_by_time)).astype(np.float64),
    )


def caching_events(references: References, bypass: bool, warmup: int) -> tuple[Chains, Integers]:
    """The chains of a reference stream, and the step of the reference behind each entrance.

    A key is kept from one reference to the next, which is its one event. Without bypass the last fetched key
    is cached for a step anyway: one slot is its own, and keeping begins a step later in the others.
    """
    step = np.arange(references.steps)
    following = next_references(references.requests, references.keys)
    begin = step if bypass else step + 1
    kept = np.flatnonzero((following < references.steps) & (following >= warmup) & (following > begin))
    count = len(kept)
    chains = Chains(following[kept], np.ones(count), np.zeros(count, np.int64), begin[kept], np.arange(count))
    return chains, kept
