"""LFD (Belady): the key whose next reference is farthest away leaves (section 5.1).

Optimal offline: of all that must admit what they fetch, and with bypass of all.
"""

from __future__ import annotations

from streambound.caching.contract import Memory
from streambound.caching.decisions import CachingDecisions
from streambound.caching.policies.ranked import ranked
from streambound.caching.problems import References, next_references


def lfd(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream."""
    following = next_references(references.requests, references.keys)
    return ranked(references, references.steps - following, memory.size, memory.bypass)
