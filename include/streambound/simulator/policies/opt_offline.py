"""OPT-offline (Das, Gehrke, Riedewald): the most that any policy could produce, knowing the streams.

It maximises exactly what is counted: results at steps of the warm-up are worth nothing to it.
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.approximate.kernels.min_cost_flow import best_flow
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions
from streambound.simulator.events import caching_events, joining_events
from streambound.simulator.joining import played
from streambound.simulator.policies.lfd import lfd
from streambound.simulator.policies.ranked import ranked
from streambound.simulator.problems import References, Streams
from streambound.simulator.schedule import follow, schedule


def opt_offline(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Optimal decisions on joined streams."""
    events = joining_events(streams, memory.warmup)
    flow = best_flow(events.chains, streams.steps, memory.size)
    return played(streams, memory, follow, schedule(streams, events, flow))


def caching_opt_offline(references: References, memory: Memory) -> CachingDecisions:
    """Optimal decisions on a reference stream: LFD, unless there is a warm-up that does not count."""
    if memory.warmup == 0 or memory.size == 0:
        return lfd(references, memory)
    chains, kept = caching_events(references, memory.bypass, memory.warmup)
    flow = best_flow(chains, references.steps, memory.size if memory.bypass else memory.size - 1)
    wanted = np.zeros(references.steps, np.int64)
    wanted[kept[flow.entered > 0]] = 1
    # What is kept for its next reference ranks above what is not; never more of it than fits.
    return ranked(references, wanted, memory.size, memory.bypass)


def optima(given: References | Streams, most: int, bypass: bool = False, warmup: int = 0) -> Floats:
    """Shape (most + 1): the most results that 0, 1, ..., ``most`` cached tuples can produce."""
    if isinstance(given, Streams):
        return best_flow(joining_events(given, warmup).chains, given.steps, most).totals
    chains, _ = caching_events(given, bypass, warmup)
    if bypass:
        return best_flow(chains, given.steps, most).totals
    # A key that is referenced twice in a row is a hit in the slot that is its own.
    again = np.count_nonzero((given.requests[1:] == given.requests[:-1])[max(warmup - 1, 0) :])
    totals = best_flow(chains, given.steps, max(most - 1, 0)).totals
    return np.concatenate([[0.0], totals + again])[: most + 1]
