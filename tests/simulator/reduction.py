"""A reference stream as the joining problem that it is, and a reasonable policy's decisions carried over."""

from __future__ import annotations

import numpy as np

from streambound.simulator.decisions import CachingDecisions, JoiningDecisions
from streambound.simulator.problems import References, Streams, occurrences, streams


def reduced_to_joining(references: References) -> Streams:
    """The joining problem that a caching problem is (section 2; Theorem 1).

    The i-th reference to v becomes (v, i-1), and a second stream supplies (v, i): the tuple that the next
    reference to v will join. Stream 0 is the reference stream, stream 1 the supply.
    """
    before = occurrences(references.requests)
    # A pair (v, i) is coded as v * (steps + 1) + i.
    base = references.requests * (references.steps + 1)
    return streams(base + before, base + before + 1)


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
