"""The most that k slots can collect from chains of benefit events: min-cost flow, for every k in one run.

The paper's graph (section 3.1) has a node for every tuple and step. Here a tuple is seen only where it pays:
*time nodes* stand for "after step t", and a slot that caches nothing waits on them. From the step of its
arrival a tuple may *enter* its group's next event, which pays; from an event it is *carried* to the next one
or *leaves* to the time node of the event's step. Tuples of one stream, value and weight share their events:
of such tuples the newest are as good as any (see ``simulator.schedule``), so only their number matters.

Successive shortest paths push one slot after the other, so that the i-th total is the optimum for i slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.kernels.heap import add, pop, rise


class Chains(NamedTuple):
    """Groups of events, one after the other, and the tuples that enter them.

    Args:
        time: the step of each event, ascending within a group.
        gain: what each tuple that is cached then gets, 0 or more.
        carry: how many tuples can be carried to each event from the one before it; 0 at a group's first.
        start: the step of each entrance.
        enters: the event that each entrance leads to, at a later step.
    """

    time: Integers
    gain: Floats
    carry: Integers
    start: Integers
    enters: Integers


class Flow(NamedTuple):
    """An optimum.

    Args:
        totals: shape (slots + 1): the most that 0, 1, ... slots collect.
        entered: 1 for each entrance that is used with all slots, else 0.
        carried: how many tuples are carried to each event with all slots.
    """

    totals: Floats
    entered: Integers
    carried: Integers


class _Graph(NamedTuple):
    steps: int
    chains: Chains
    from_time: Integers
    from_time_at: Integers
    into_event: Integers
    into_event_at: Integers
    events_of: Integers
    events_at: Integers


def best_flow(chains: Chains, steps: int, slots: int) -> Flow:
    """The optimum for each number of slots.

    Args:
        steps: the number of steps; every event and entrance is before.
    """
    totals = np.zeros(slots + 1)
    entered, carried = np.zeros(len(chains.start), np.int64), np.zeros(len(chains.time), np.int64)
    if slots and len(chains.time):
        graph = _Graph(
            steps,
            chains,
            *_grouped(chains.start, steps),
            *_grouped(chains.enters, len(chains.time)),
            *_grouped(chains.time, steps),
        )
        _successive_shortest_paths(graph, totals, entered, carried)
    return Flow(totals, entered, carried)


def _grouped(values: Integers, count: int) -> tuple[Integers, Integers]:
    """The positions of each value 0 .. count - 1: all of them in order, and where each value's begin."""
    order = np.argsort(values, kind="stable")
    return order, np.searchsorted(values[order], np.arange(count + 1))


@kernel
def _successive_shortest_paths(graph: _Graph, totals: Floats, entered: Integers, carried: Integers) -> None:
    nodes = graph.steps + len(graph.chains.time)
    line = np.zeros(graph.steps, np.int64)
    left = np.zeros(len(graph.chains.time), np.int64)
    potential = np.empty(nodes)
    _first_potential(graph, potential)
    distance, came = np.empty(nodes), np.empty(nodes, np.int64)
    order, slot_of = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    last = graph.steps - 1
    for slot in range(1, len(totals)):
        _shortest(graph, line, entered, carried, left, potential, distance, came, order, slot_of)
        for node in range(nodes):
            potential[node] += min(distance[node], distance[last])
        won = -potential[last]
        if won <= 0.0:
            totals[slot:] = totals[slot - 1]
            return
        totals[slot] = totals[slot - 1] + won
        _push(graph, came, line, entered, carried, left)


@kernel
def _first_potential(graph: _Graph, potential: Floats) -> None:
    """Distances from step 0 while nothing flows: events in order of time."""
    steps, chains = graph.steps, graph.chains
    potential[0] = 0.0
    for step in range(steps):
        if step:
            potential[step] = potential[step - 1]
        for at in range(graph.events_at[step], graph.events_at[step + 1]):
            event = graph.events_of[at]
            least = np.inf
            if chains.carry[event] > 0:
                least = potential[steps + event - 1]
            for by in range(graph.into_event_at[event], graph.into_event_at[event + 1]):
                least = min(least, potential[chains.start[graph.into_event[by]]])
            potential[steps + event] = least - chains.gain[event]
            potential[step] = min(potential[step], potential[steps + event])


@kernel
def _reach(
    node: int,
    source: int,
    cost: float,
    potential: Floats,
    distance: Floats,
    came: Integers,
    order: Integers,
    slot: Integers,
    size: int,
) -> int:
    """Relax one arc; the size of the heap after it."""
    # Rounding must not make an arc of a shortest path negative.
    through = distance[source] + max(cost + potential[source] - potential[node], 0.0)
    if through < distance[node]:
        distance[node] = through
        came[node] = source
        if slot[node] < 0:
            return add(order, slot, distance, size, node)
        rise(order, slot, distance, slot[node])
    return size


@kernel
def _shortest(
    graph: _Graph,
    line: Integers,
    entered: Integers,
    carried: Integers,
    left: Integers,
    potential: Floats,
    distance: Floats,
    came: Integers,
    order: Integers,
    slot: Integers,
) -> None:
    """Dijkstra on what is left of the graph, from step 0 until the last step is reached."""
    steps, chains = graph.steps, graph.chains
    distance[:] = np.inf
    slot[:] = -1
    distance[0] = 0.0
    size = add(order, slot, distance, 0, 0)
    while size:
        node = pop(order, slot, distance, size)
        size -= 1
        if node == steps - 1:
            return
        if node < steps:
            size = _reach(node + 1, node, 0.0, potential, distance, came, order, slot, size)
            if node and line[node - 1] > 0:
                size = _reach(node - 1, node, 0.0, potential, distance, came, order, slot, size)
            for at in range(graph.from_time_at[node], graph.from_time_at[node + 1]):
                entrance = graph.from_time[at]
                if entered[entrance] == 0:
                    event = chains.enters[entrance]
                    cost = -chains.gain[event]
                    size = _reach(steps + event, node, cost, potential, distance, came, order, slot, size)
            for at in range(graph.events_at[node], graph.events_at[node + 1]):
                event = graph.events_of[at]
                if left[event] > 0:
                    size = _reach(steps + event, node, 0.0, potential, distance, came, order, slot, size)
            continue
        event = node - steps
        size = _reach(chains.time[event], node, 0.0, potential, distance, came, order, slot, size)
        if event + 1 < len(chains.time) and carried[event + 1] < chains.carry[event + 1]:
            cost = -chains.gain[event + 1]
            size = _reach(node + 1, node, cost, potential, distance, came, order, slot, size)
        if carried[event] > 0:
            cost = chains.gain[event]
            size = _reach(node - 1, node, cost, potential, distance, came, order, slot, size)
        for at in range(graph.into_event_at[event], graph.into_event_at[event + 1]):
            entrance = graph.into_event[at]
            if entered[entrance] == 1:
                begin, cost = chains.start[entrance], chains.gain[event]
                size = _reach(begin, node, cost, potential, distance, came, order, slot, size)


@kernel
def _push(
    graph: _Graph, came: Integers, line: Integers, entered: Integers, carried: Integers, left: Integers
) -> None:
    """Send one slot along the path that was found."""
    steps = graph.steps
    node = steps - 1
    while node != 0:
        source = came[node]
        if source < steps and node < steps:
            if node > source:
                line[source] += 1
            else:
                line[node] -= 1
        elif source >= steps and node >= steps:
            if node > source:
                carried[node - steps] += 1
            else:
                carried[source - steps] -= 1
        elif source >= steps:
            event = source - steps
            if graph.chains.time[event] == node:
                left[event] += 1
            else:
                entered[_entrance(graph, node, event, entered, 1)] = 0
        else:
            event = node - steps
            if graph.chains.time[event] == source:
                left[event] -= 1
            else:
                entered[_entrance(graph, source, event, entered, 0)] = 1
        node = source


@kernel
def _entrance(graph: _Graph, step: int, event: int, entered: Integers, used: int) -> int:
    """An entrance from a step to an event that is used, or is not."""
    for at in range(graph.into_event_at[event], graph.into_event_at[event + 1]):
        entrance = graph.into_event[at]
        if graph.chains.start[entrance] == step and entered[entrance] == used:
            return int(entrance)
    return -1
