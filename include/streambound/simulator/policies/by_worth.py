"""The policies of queries in k tuples (``approximate.policies``) on joined streams: the least worth leaves.

PROB's probability of a value is the share that it had of the arrivals so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.candidate import Candidate, Compiled, compiled, worth_of
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.policies import Policy
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.joining import Setup, insert, joined, keep_best, played
from streambound.simulator.policies.heeb import NO_BENEFITS, Lookup, benefits, score_candidates
from streambound.simulator.problems import Streams


class _Knowledge(NamedTuple):
    """A policy and the facts that it asks for: H by tables, and lots of shape (steps, candidates)."""

    policy: Compiled
    benefits: Lookup
    lots: Floats


def by_worth(policy: Policy, streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: tuples that can join nothing any more leave first.

    Raises:
        DataError: nothing says what the policy asks for, lifetimes or models.
    """
    facts = policy.facts
    if facts.left and streams.window is None and memory.expires is None:
        raise DataError(
            f"{policy.name} needs the lifetime of a tuple: there is neither a window nor a model of bounded "
            "values",
            fix="give a window, or a model such as tower, roof or floor",
        )
    lots = np.zeros((0, 0))
    if facts.lot:
        lots = np.random.default_rng(memory.seed).random((streams.steps, memory.size + streams.count))
    knowledge = _Knowledge(
        compiled(policy.worth), benefits(streams, memory) if facts.benefit else NO_BENEFITS, lots
    )
    return played(streams, memory, _keep, knowledge)


@kernel
def _keep(setup: Setup, knowledge: _Knowledge, results: Floats, kept_until: Integers) -> None:
    slots, score = setup.slots, setup.score
    address, facts = knowledge.policy
    last, uses = np.zeros(setup.arrivals.shape), np.zeros(setup.arrivals.shape)
    seen = np.zeros((setup.arrivals.shape[0], setup.keys))
    used = 0
    for step in range(setup.arrivals.shape[1]):
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            made = joined(setup, stream, born, step)
            results[step] += made
            uses[stream, born] += made
            if made > 0:
                last[stream, born] = step
        for stream in range(setup.arrivals.shape[0]):
            last[stream, step] = step
            seen[stream, setup.arrivals[stream, step]] += setup.worth[stream, step]
        used = insert(setup, slots, used, step)
        if facts.benefit:
            score_candidates(setup, knowledge.benefits, 0, used, step)
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            left = setup.expires[stream, born] - step
            if left <= 0:
                score[at] = -1.0
                continue
            score[at] = worth_of(
                address,
                Candidate(
                    float(born),
                    last[stream, born],
                    uses[stream, born],
                    _partner_count(setup, seen, stream, born) if facts.chance else 0.0,
                    float(left),
                    score[at] if facts.benefit else 0.0,
                    knowledge.lots[step, at] if facts.lot else 0.0,
                ),
            )
        used = keep_best(setup, slots, score, used, step, kept_until)


@kernel
def _partner_count(setup: Setup, seen: Floats, stream: int, born: int) -> float:
    """How often a tuple's value arrived on its partner streams so far, times its weight."""
    total = 0.0
    for partner in range(setup.arrivals.shape[0]):
        if setup.partners[stream, partner]:
            total += seen[partner, setup.arrivals[stream, born]]
    return float(total * setup.worth[stream, born])
