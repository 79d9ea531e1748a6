"""From an optimal flow to the tuples that are kept: which of equal tuples, and until when."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.kernels.min_cost_flow import Flow
from streambound.simulator.events import JoiningEvents
from streambound.simulator.joining import Setup, insert, meet
from streambound.simulator.problems import Streams


def schedule(streams: Streams, events: JoiningEvents, flow: Flow) -> Integers:
    """Shape (streams, steps): the step after whose meeting each tuple is dropped.

    A group holds so many tuples at each step, and holds its newest: when one arrives that does not enter,
    it takes the place of the oldest held, which it is equal to but for its longer window.
    """
    steps = streams.steps
    entered = np.zeros(streams.arrivals.size, np.bool_)
    entered[events.tuples] = flow.entered > 0
    born = np.tile(np.arange(steps), streams.count)
    carried_on = np.r_[flow.carried[1:], 0] * np.r_[np.diff(events.group) == 0, False][: len(events.group)]
    # Per group and step: the event (0) before the arrival (1).
    group = np.r_[events.group, events.group_of_tuple.ravel()]
    time = np.r_[events.chains.time, born]
    arrival = np.r_[np.zeros(len(events.group), np.int64), np.ones(len(born), np.int64)]
    which = np.r_[np.arange(len(events.group)), np.arange(len(born))]
    order = np.lexsort((arrival, time, group))
    kept = np.tile(np.arange(steps), (streams.count, 1)).ravel()
    _assign(group[order], time[order], arrival[order], which[order], entered, carried_on, kept)
    return kept.reshape(streams.arrivals.shape)


@kernel
def _assign(
    group: Integers,
    time: Integers,
    arrival: Integers,
    which: Integers,
    entered: NDArray[np.bool_],
    carried_on: Integers,
    kept: Integers,
) -> None:
    cached = np.empty(len(kept), np.int64)
    first, last = 0, 0
    for at in range(len(group)):
        if at and group[at] != group[at - 1]:
            first, last = 0, 0
        if arrival[at] == 0:
            while last - first > carried_on[which[at]]:
                kept[cached[first]] = time[at]
                first += 1
        elif entered[which[at]] or last > first:
            if not entered[which[at]]:
                kept[cached[first]] = time[at]
                first += 1
            cached[last] = which[at]
            last += 1


@kernel
def follow(setup: Setup, plan: Integers, results: Floats, kept_until: Integers) -> None:
    """Replay a schedule: the results of keeping each tuple as planned."""
    slots = setup.slots
    used = 0
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        used = insert(setup, slots, used, step)
        left = 0
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            if plan[stream, born] > step:
                slots[left, 0] = stream
                slots[left, 1] = born
                left += 1
        used = left
    kept_until[:] = plan
