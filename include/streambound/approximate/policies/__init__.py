"""The policies of queries in k tuples; a new one is a module beside these and a line here.

The simulator of the paper plays the same functions on joined streams. Names are light, for forms to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streambound.approximate.kernels.candidate import Facts, Worth


@dataclass(frozen=True)
class Policy:
    """A policy, whose module of the same name has its function ``worth``.

    Args:
        name: as users spell it.
        leaves: which tuple leaves first, for lists.
        colour: in every picture, of matplotlib's colour-blind safe "tab10".
        marker: in pictures of a query's trade-off.
    """

    name: str
    leaves: str
    colour: str
    marker: str

    @property
    def worth(self) -> Worth:
        """What a tuple is worth to keep."""
        worth: Worth = import_module(f"{__name__}.{self.name}").worth
        return worth

    @property
    def facts(self) -> Facts:
        """What it asks of a tuple beside its past."""
        from streambound.approximate.kernels.candidate import facts_of

        return facts_of(self.worth)

    @property
    def learned(self) -> bool:
        """Whether it has to know what the streams will bring."""
        return self.facts.chance or self.facts.benefit


# Of policies that are as good the first is chosen.
POLICIES = {
    policy.name: policy
    for policy in (
        Policy("fifo", "the first that came", "tab:pink", "v"),
        Policy("lru", "the least recently used", "tab:purple", "^"),
        Policy("lfu", "the least often used since it came", "tab:brown", "s"),
        Policy("rand", "any", "tab:red", "x"),
        Policy("prob", "the one least often asked for so far", "tab:green", "D"),
        Policy("life", "prob times the time left", "tab:orange", "P"),
        Policy("heeb", "the one of the least estimated expected benefit", "tab:blue", "o"),
    )
}
