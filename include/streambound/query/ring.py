"""The ring of a block: what weight each match of it carries, and how weights combine.

Rows are annotated with elements of a commutative semiring (Green, Karvounarakis & Tannen, "Provenance
semirings", PODS 2007): a join multiplies weights, and what gives the same row adds them. Whether a plan may
forget how often something occurred is asked of the ring, not of a keyword of SQL: where it is idempotent
Theorem B of docs/theory.md decides, otherwise Theorem A.

>>> INTEGERS.total([("a", 2), ("b", 1), ("a", 3)])
{'a': 5, 'b': 1}
>>> BOOLEANS.total([("a", 1), ("b", 1), ("a", 1)])
{'a': 1, 'b': 1}
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

Key = TypeVar("Key")
# The truth values are 0 and 1: an answer shows its weight as the number of times that it holds.
Weight: TypeAlias = int


@dataclass(frozen=True)
class Ring:
    """A commutative semiring.

    Laws: ``add`` and ``multiply`` are associative and commutative, with the neutral elements ``zero`` and
    ``one``; ``multiply`` distributes over ``add``; times ``zero`` is ``zero``.
    """

    name: str
    zero: Weight
    one: Weight
    add: Callable[[Weight, Weight], Weight]
    multiply: Callable[[Weight, Weight], Weight]
    # Whether a weight is shown as a whole, as the number of a group is: adding to it takes the old one back.
    keyed: bool = False

    @cached_property
    def idempotent(self) -> bool:
        """Whether what holds twice is what holds once: then ``a + a = a (1 + 1) = a`` for every weight."""
        return self.add(self.one, self.one) == self.one

    @property
    def remembers(self) -> bool:
        """Whether a row that was put out matters when it comes again."""
        return self.keyed or self.idempotent

    def put(self, weights: MutableMapping[Key, Weight], key: Key, weight: Weight) -> None:
        """Add a weight to that of a key."""
        before = weights.get(key)
        weights[key] = weight if before is None else self.add(before, weight)

    def total(self, weighted: Iterable[tuple[Key, Weight]]) -> dict[Key, Weight]:
        """The weight of each key: all that is given for it, added up."""
        weights: dict[Key, Weight] = {}
        for key, weight in weighted:
            self.put(weights, key, weight)
        return weights


def _either(left: Weight, right: Weight) -> Weight:
    return 1 if left or right else 0


def _both(left: Weight, right: Weight) -> Weight:
    return 1 if left and right else 0


# A row holds as often as it has matches (SELECT), or it holds at all (DISTINCT, UNION), where not 0 is true.
INTEGERS = Ring("integers", 0, 1, operator.add, operator.mul)
GROUPS_SEEN = Ring("existence of groups", 0, 1, _either, _both, keyed=True)
GROUPS = Ring("numbers of groups", 0, 1, operator.add, operator.mul, keyed=True)
BOOLEANS = Ring("Booleans", 0, 1, _either, _both)
