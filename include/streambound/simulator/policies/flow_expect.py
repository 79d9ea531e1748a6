"""FlowExpect (section 3): at every step the best predetermined sequence of decisions for the steps ahead.

The min-cost flow of section 3.1 in the form of ``min_cost_flow.py``: a candidate is a chain with one event a
step, whose gain is its expected benefit; so is a tuple still to come. Streams are independent of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.min_cost_flow import Chains, best_flow
from streambound.approximate.models.model import Model
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.joining import played
from streambound.simulator.policies.heeb import models_of, whole
from streambound.simulator.problems import Streams
from streambound.simulator.schedule import follow


def flow_expect(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams, looking ``memory.look_ahead`` steps ahead.

    Raises:
        DataError: there is no model a stream, or the values are no whole numbers.
    """
    models = models_of(memory, streams.count)
    values = whole(streams.values)[streams.arrivals]
    plan = np.full(values.shape, streams.steps, np.int64)
    cached: list[tuple[int, int]] = []
    for step in range(streams.steps):
        candidates = [*cached, *((stream, step) for stream in range(streams.count))]
        if len(candidates) > memory.size:
            likely = _likely(models, values, step, memory.look_ahead)
            gains = _determined_gains(streams, values, likely, candidates, step)
            chosen = choose(gains, _future_gains(streams, likely), memory.size)
            for at, each in enumerate(candidates):
                if at not in chosen:
                    plan[each] = step
            candidates = [candidates[at] for at in sorted(chosen)]
        cached = candidates
    return played(streams, memory, follow, plan)


def choose(gains: Floats, future: Sequence[Floats], size: int) -> set[int]:
    """Which candidates the best sequence keeps now.

    Args:
        gains: shape (candidates, look-ahead): expected benefits at the next steps.
        future: of each tuple to come, its expected benefits at the last of these steps, as many as it lives.
    """
    chains = chains_of(gains, future)
    entered = best_flow(chains, gains.shape[1] + 1, size).entered
    chosen = {at for at in range(len(gains)) if entered[at]}
    # Places that the flow has no use for go to the most promising of the rest, of equals to the newest.
    rest = sorted(set(range(len(gains))) - chosen, key=lambda at: (-gains[at].sum(), -at))
    return chosen | set(rest[: size - len(chosen)])


def chains_of(gains: Floats, future: Sequence[Floats]) -> Chains:
    """The graph of section 3.1; the candidates' entrances come first."""
    ahead = gains.shape[1]
    every = [*gains, *future]
    lengths = np.array([len(each) for each in every], np.int64)
    begins = np.cumsum(lengths) - lengths
    time = np.concatenate([np.arange(ahead - len(each) + 1, ahead + 1) for each in every])
    carry = np.ones(len(time), np.int64)
    carry[begins] = 0
    return Chains(time, np.concatenate(every), carry, ahead - lengths, begins)


class _Likely(NamedTuple):
    """Pr{X = low + column} by stream, step ahead and column."""

    low: int
    chance: Floats


def _likely(models: Sequence[Model], values: Integers, step: int, steps: int) -> _Likely:
    ahead = [
        list(islice(model.ahead(row[: step + 1]), steps)) for model, row in zip(models, values, strict=True)
    ]
    low = min(each.low for row in ahead for each in row)
    high = max(each.high for row in ahead for each in row)
    chance = np.zeros((len(ahead), steps, high - low + 1))
    for at, row in enumerate(ahead):
        for number, each in enumerate(row):
            chance[at, number, each.low - low : each.high - low + 1] = each.probability
    return _Likely(low, chance)


def _determined_gains(
    streams: Streams, values: Integers, likely: _Likely, candidates: Sequence[tuple[int, int]], step: int
) -> Floats:
    """Of determined nodes: Pr{X = v} on the partner streams, while they are in their window."""
    steps, width = likely.chance.shape[1:]
    gains = np.zeros((len(candidates), steps))
    for at, (stream, born) in enumerate(candidates):
        column = int(values[stream, born]) - likely.low
        if 0 <= column < width:
            left = steps if streams.window is None else max(min(born + streams.window - step, steps), 0)
            met = streams.partners[stream] @ likely.chance[:, :left, column]
            gains[at, :left] = met if streams.weights is None else met * streams.weights[stream, born]
    return gains


def _future_gains(streams: Streams, likely: _Likely) -> list[Floats]:
    """Of undetermined nodes: the sum over v of Pr{X_t' = v} Pr{Y_t'' = v}."""
    steps = likely.chance.shape[1]
    partners = np.tensordot(streams.partners.astype(np.float64), likely.chance, 1)
    future = []
    for left, right in zip(likely.chance, partners, strict=True):
        equal = left @ right.T
        for born in range(steps - 1):
            gains = equal[born, born + 1 :].copy()
            if streams.window is not None:
                gains[streams.window :] = 0.0
            future.append(gains)
    return future
