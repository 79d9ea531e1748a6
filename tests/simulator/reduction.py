"""A reasonable policy's decisions on a reference stream, carried over to the transformed streams."""

from __future__ import annotations

import numpy as np

from streambound.simulator.decisions import CachingDecisions, JoiningDecisions
from streambound.simulator.problems import References


def supplied(trace: References, decided: CachingDecisions) -> JoiningDecisions:
    """What the same cache holds of the supply stream (the reference stream's tuples are never cached).

    Whenever a key is referenced, its newest supply takes the place of the older one; when a key leaves, so
    does its supply. The results are counted from the pairs, not taken from the hits.
    """
    kept = np.full((2, trace.steps), trace.steps)
    kept[0] = np.arange(trace.steps)
    holds: dict[int, int] = {}
    results = np.zeros(trace.steps)
    for step, key in enumerate(trace.requests.tolist()):
        if key in holds:
            results[step] = 1
            kept[1, holds[key]] = step
        gone = int(decided.evicted[step])
        if gone == key:
            kept[1, step] = step
            continue
        if gone != -1:
            kept[1, holds.pop(gone)] = step
        holds[key] = step
    return JoiningDecisions(results, kept)
