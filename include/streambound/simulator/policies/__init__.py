"""The policies by name: those of queries in k tuples, and those of the paper's problems alone.

A new one of the first kind is found here by itself (see ``approximate.policies``); of the others each is a
module beside these and a line here.
"""

from __future__ import annotations

from functools import partial

from streambound.approximate.policies import POLICIES
from streambound.errors import DataError, meant
from streambound.simulator.contract import Policy
from streambound.simulator.policies.a0 import a0
from streambound.simulator.policies.arc import arc
from streambound.simulator.policies.by_worth import by_worth
from streambound.simulator.policies.experts import experts, joining_experts
from streambound.simulator.policies.fifo import fifo
from streambound.simulator.policies.flow_expect import flow_expect
from streambound.simulator.policies.heeb import caching_heeb
from streambound.simulator.policies.heeb_adaptive import adaptive_caching_heeb, adaptive_heeb
from streambound.simulator.policies.lfd import lfd
from streambound.simulator.policies.lfu import lfu, perfect_lfu
from streambound.simulator.policies.lru import lru
from streambound.simulator.policies.lru_k import lru_k
from streambound.simulator.policies.opt_offline import caching_opt_offline, opt_offline
from streambound.simulator.policies.rand import rand
from streambound.simulator.policies.s3_fifo import s3_fifo
from streambound.simulator.policies.sieve import sieve

# What policies of queries in k tuples are on a reference stream.
CACHING = {
    "fifo": fifo,
    "lru": lru,
    "lfu": lfu,
    "rand": rand,
    "prob": perfect_lfu,
    "heeb": caching_heeb,
}
ALL = (
    *(
        Policy(each.name, each.leaves, CACHING.get(each.name), partial(by_worth, each), each.facts.benefit)
        for each in POLICIES.values()
    ),
    Policy("lru-k", "the one whose k-th last use is longest ago", lru_k),
    Policy("lfu-perfect", "the least often used ever", perfect_lfu),
    Policy("a0", "the one least likely to be asked for next", a0),
    Policy("lfd", "the one asked for again last (knows the future)", lfd),
    Policy(
        "heeb-adaptive", "as heeb, alpha by observed lifetimes", adaptive_caching_heeb, adaptive_heeb, True
    ),
    Policy("experts", "what the better of several policies would drop", experts, joining_experts),
    Policy("flow-expect", "what the best plan for the steps ahead drops", None, flow_expect, True),
    Policy("opt-offline", "what no optimum keeps (knows the future)", caching_opt_offline, opt_offline),
    Policy("arc", "adaptive replacement", arc),
    Policy("s3-fifo", "three queues", s3_fifo),
    Policy("sieve", "a queue and a hand", sieve),
)
NAMED = {policy.name: policy for policy in ALL}


def policy(name: str, problem: str) -> Policy:
    """A policy for a problem, ``caching`` or ``joining``.

    Raises:
        DataError: it is unknown, or has no meaning there.
    """
    fitting = [each.name for each in ALL if getattr(each, problem) is not None]
    if name not in NAMED:
        raise DataError(
            f"the policy {name!r} is unknown", accepted=", ".join(fitting), fix=meant(name, fitting)
        )
    if name not in fitting:
        raise DataError(f"the policy {name} is not one for {problem}", accepted=", ".join(fitting))
    return NAMED[name]
