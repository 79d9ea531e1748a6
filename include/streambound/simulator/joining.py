"""The joining problem in a kernel: a step is meet, place, score, keep the best.

A joining policy is one kernel of these four lines, in which only the score is its own. Slots are rows
(stream, step of arrival); the cached tuples are the first ``used`` of them, oldest first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.problems import Streams


class Setup(NamedTuple):
    """What a joining kernel works on.

    Args:
        arrivals: shape (streams, steps): keys.
        partners: which streams are joined with each other.
        worth: shape (streams, steps): the weights.
        window: steps during which a tuple meets arrivals after its own.
        expires: shape (streams, steps): the last step at which each tuple can join, as the policy knows.
        size: the memory, in tuples.
        keys: the number of keys.
        slots: shape (size + streams, 2): room for stream and step of the candidates.
        score: room for a number a slot.
    """

    arrivals: Integers
    partners: NDArray[np.bool_]
    worth: Floats
    window: int
    expires: Integers
    size: int
    keys: int
    slots: Integers
    score: Floats


def played(streams: Streams, memory: Memory, fill: Callable[..., None], *more: Any) -> JoiningDecisions:
    """What a kernel decides on joined streams.

    Args:
        fill: called with the setup, ``more``, and the arrays to fill: results, and kept_until.
    """
    results = np.zeros(streams.steps)
    kept_until = np.full(streams.arrivals.shape, streams.steps, np.int64)
    fill(setup_of(streams, memory), *more, results, kept_until)
    return JoiningDecisions(results, kept_until)


def setup_of(streams: Streams, memory: Memory) -> Setup:
    """The arrays of a kernel."""
    expires = streams.last_meeting
    if memory.expires is not None:
        expires = np.minimum(expires, memory.expires)
    candidates = memory.size + streams.count
    return Setup(
        streams.arrivals,
        streams.partners,
        streams.worth,
        streams.steps if streams.window is None else streams.window,
        expires,
        memory.size,
        len(streams.values),
        np.empty((candidates, 2), np.int64),
        np.empty(candidates),
    )


@kernel
def meet(setup: Setup, slots: Integers, used: int, step: int) -> float:
    """The worth of what the arrivals of a step produce from the cache."""
    total = 0.0
    for at in range(used):
        total += joined(setup, slots[at, 0], slots[at, 1], step)
    return total


@kernel
def joined(setup: Setup, stream: int, born: int, step: int) -> float:
    """The worth of what the arrivals of a step produce with one cached tuple."""
    total = 0.0
    if step - born <= setup.window:
        for partner in range(setup.arrivals.shape[0]):
            if (
                setup.partners[stream, partner]
                and setup.arrivals[partner, step] == setup.arrivals[stream, born]
            ):
                total += setup.worth[stream, born] * setup.worth[partner, step]
    return total


@kernel
def insert(setup: Setup, slots: Integers, used: int, step: int) -> int:
    """Put the arrivals of a step into slots; the number of candidates."""
    for stream in range(setup.arrivals.shape[0]):
        slots[used, 0] = stream
        slots[used, 1] = step
        used += 1
    return used


@kernel
def keep_best(
    setup: Setup, slots: Integers, score: Floats, used: int, step: int, kept_until: Integers
) -> int:
    """Drop candidates of the lowest score, of equals the oldest, until they fit; how many are left."""
    while used > setup.size:
        worst = 0
        for at in range(1, used):
            if score[at] < score[worst]:
                worst = at
        kept_until[slots[worst, 0], slots[worst, 1]] = step
        used -= 1
        for at in range(worst, used):
            slots[at, 0] = slots[at + 1, 0]
            slots[at, 1] = slots[at + 1, 1]
            score[at] = score[at + 1]
    return used
