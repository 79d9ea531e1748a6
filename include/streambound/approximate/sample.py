"""How many results there are in all, estimated in bounded memory: the exact join of a sample of the keys.

A key is sampled if its hash lies below 2^-level, so that all tuples of a sampled key, and none of another,
are in the sample from the beginning. When the sample outgrows its budget the level rises and the keys that
no longer qualify are forgotten. The results of the sampled keys over the share that is sampled is an unbiased
estimate of all (Horvitz-Thompson), and exact at level 0.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from streambound.approximate.equijoin import Equijoin
from streambound.query.model import Attribute

# Of a tuple its moment (None: old enough for every partner to come), and the columns of ``rest``.
Entry = tuple[int | None, tuple[Any, ...]]


@dataclass(frozen=True)
class Arrival:
    """A tuple: its stream (0 left, 1 right), the text of its key, and its columns."""

    side: int
    key: str
    values: Mapping[Attribute, Any]


@dataclass
class OfKey:
    """The results of one key so far, and its tuples by stream with how many there are of each."""

    results: int = 0
    entries: tuple[Counter[Entry], Counter[Entry]] = field(default_factory=lambda: (Counter(), Counter()))

    @property
    def size(self) -> int:
        """What is stored: the key, and its different tuples."""
        return 1 + len(self.entries[0]) + len(self.entries[1])


@dataclass(frozen=True)
class Estimate:
    """Results of a whole join: the number, and its standard error (0: exact)."""

    results: float
    error: float

    def fraction(self, kept: int) -> float | None:
        """What share of all results ``kept`` are; None if there are none."""
        return min(kept / self.results, 1.0) if self.results else None


class KeySample:
    """Takes in all arrivals, group by group; stores at most ``budget`` entries and keys, ``size`` now."""

    def __init__(self, join: Equijoin, budget: int) -> None:
        self.join, self.budget = join, budget
        self.level = 0
        self.keys: dict[str, OfKey] = {}
        self.size = 0
        # A tuple of each side, born at b, meets those of the other that come from b + least to b + most.
        self.least, self.most = zip(*join.lags, strict=True)
        self.columns = tuple(
            tuple(dict.fromkeys(a for atom in join.rest for a in atom.attributes if a.occurrence == alias))
            for alias in (join.left, join.right)
        )

    def restore(self, level: int, keys: Mapping[str, OfKey]) -> None:
        """Go on from what another sample of the same join stored."""
        self.level, self.keys = level, dict(keys)
        self.size = sum(of_key.size for of_key in self.keys.values())

    def sampled(self, key: str) -> bool:
        """Whether a key belongs to the sample."""
        return self._hash(key) >> (64 - self.level) == 0 if self.level else True

    @staticmethod
    def _hash(key: str) -> int:
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")

    def take(self, moment: int, group: list[Arrival]) -> None:
        """Take in the tuples of one moment; those whose key is not sampled are passed over."""
        touched: dict[str, OfKey] = {}
        for arrival in group:
            if arrival.key in self.keys or self.sampled(arrival.key):
                of_key = touched[arrival.key] = touched.get(arrival.key) or self._taken_up(arrival.key)
                self._age(of_key, moment)
                of_key.results += self._met(of_key, arrival, moment)
                stored = tuple(arrival.values[a] for a in self.columns[arrival.side])
                of_key.entries[arrival.side][moment, stored] += 1
        for of_key in touched.values():
            self._age(of_key, moment)
            self.size += of_key.size
        if self.size > self.budget:
            self._shrink(moment)

    def _taken_up(self, key: str) -> OfKey:
        """A key that changes: what it stores is counted again once its group is taken in."""
        of_key = self.keys.get(key)
        if of_key is None:
            of_key = self.keys[key] = OfKey()
        else:
            self.size -= of_key.size
        return of_key

    def _shrink(self, moment: int) -> None:
        """Forget what can be forgotten, then keys, until the rest fits the budget."""
        for of_key in self.keys.values():
            self._age(of_key, moment)
        self.restore(self.level, self.keys)
        while self.size > self.budget:
            self.level += 1
            self.restore(self.level, {key: of_key for key, of_key in self.keys.items() if self.sampled(key)})

    def _met(self, of_key: OfKey, arrival: Arrival, moment: int) -> int:
        partner = 1 - arrival.side
        results = 0
        for (born, stored), count in of_key.entries[partner].items():
            if self._in_time(partner, born, moment) and self._fit(arrival, partner, stored):
                results += count
        return results

    def _in_time(self, side: int, born: int | None, moment: int) -> bool:
        """Whether a stored tuple of a side meets one of the other that arrives now."""
        if born is None:
            return True
        least, most = self.least[side], self.most[side]
        return (least is None or moment >= born + least) and (most is None or moment <= born + most)

    def _fit(self, arrival: Arrival, partner: int, stored: tuple[Any, ...]) -> bool:
        values = {**arrival.values, **dict(zip(self.columns[partner], stored, strict=True))}
        for atom in self.join.rest:
            left, right = values[atom.left], values[atom.right]
            if left is None or right is None:
                return False
            if not atom.op.holds(left, right + atom.offset if atom.offset else right):
                return False
        return True

    def _age(self, of_key: OfKey, moment: int) -> None:
        """Forget tuples that no later one can join, and the moments that make no difference any more."""
        for side, entries in enumerate(of_key.entries):
            least, most = self.least[side], self.most[side]
            for (born, stored), count in list(entries.items()):
                if born is None or born == moment:
                    continue
                if most is not None and born + most < moment:
                    del entries[born, stored]
                elif most is None and (least is None or born + least <= moment):
                    del entries[born, stored]
                    entries[None, stored] += count

    @property
    def estimate(self) -> Estimate | None:
        """All results so far; None if keys are sampled and none of them has results, which tells nothing."""
        results = [of_key.results for of_key in self.keys.values()]
        if self.level and not any(results):
            return None
        chance = 2.0**-self.level
        error = sqrt(sum(n * n for n in results) * (1 - chance)) / chance
        return Estimate(sum(results) / chance, error)
