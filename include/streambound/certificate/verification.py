"""Replaying a witness: every prefix, then every suffix, on an evaluator that is not its maker's.

Two prefixes are told apart if after some suffix the new answers differ, marker by marker. If all 2^N
are, no algorithm with fewer than 2^N states can answer correctly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from streambound.certificate.slots import Event, Slot
from streambound.errors import WitnessError
from streambound.evaluation.events import Answer, Batch, batches, encode_static, in_time
from streambound.evaluation.reference import reference
from streambound.query.model import RelationKind
from streambound.query.statement import Statement

# Slots that are replayed: 2^10 prefixes, each with ten suffixes.
REPLAY_LIMIT = 10

Encoded = Mapping[str, list[dict[str, Any]]]
# The new answers at the last n of some batches, with the encoded rows of the static relations.
Evaluator = Callable[[Sequence[Batch], Encoded, int], Sequence[Sequence[Answer]]]


@dataclass(frozen=True)
class Witness:
    """The slots of a witness, and the rows of static relations that it needs."""

    query: str
    slots: tuple[Slot, ...]
    static: Mapping[str, list[Event]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """N, the number of slots; there are 2^N prefixes."""
        return len(self.slots)

    def events(
        self, query: Statement, chosen: Iterable[int], suffix: int | None = None
    ) -> list[Mapping[str, Any]]:
        """The prefix with the optional parts of the chosen slots (from 0) in time order, then a suffix."""
        optional = set(chosen)
        prefix = [
            event
            for k, slot in enumerate(self.slots)
            for event in (*slot.fixed, *(slot.optional if k in optional else ()))
        ]
        return [*in_time(query, prefix), *(() if suffix is None else self.slots[suffix].suffix)]

    def to_json(self) -> list[dict[str, Any]]:
        """One object a slot, counted from 1; each carries the static rows where there are some."""
        further = {"static": dict(self.static)} if self.static else {}
        return [
            {
                "query": self.query,
                "slot": k,
                "fixed": list(slot.fixed),
                "optional": list(slot.optional),
                "suffix": list(slot.suffix),
                **further,
            }
            for k, slot in enumerate(self.slots, start=1)
        ]


@dataclass(frozen=True)
class Verification:
    """How many of a witness's 2^size prefixes were told apart."""

    query: str
    size: int
    told_apart: int

    @property
    def states(self) -> int:
        """The number of prefixes."""
        return 1 << self.size

    @property
    def holds(self) -> bool:
        """Whether every prefix asks for a state of its own."""
        return self.told_apart == self.states

    def to_json(self) -> dict[str, Any]:
        """The object that ``streambound witness --verify`` prints."""
        body = {"query": self.query, "size": self.size}
        return {**body, "states": self.states, "told_apart": self.told_apart}


def verify(query: Statement, witness: Witness) -> Verification:
    """Replay all prefixes with all suffixes by the definition of the query.

    Raises:
        WitnessError: more than REPLAY_LIMIT slots.
        DataError: the events do not fit the catalog, or time goes back.
    """
    return Verification(witness.query, witness.size, len(set(_states(query, witness, definition(query)))))


def holds(query: Statement, witness: Witness, evaluator: Evaluator | None = None) -> bool:
    """Whether all prefixes are told apart; the replay ends at the first two that are not.

    Raises:
        WitnessError, DataError: as ``verify``.
    """
    seen = set()
    for state in _states(query, witness, evaluator or definition(query)):
        if state in seen:
            return False
        seen.add(state)
    return True


def _states(query: Statement, witness: Witness, judge: Evaluator) -> Iterator[tuple[Any, ...]]:
    """For each prefix the replies after every suffix."""
    refuse_size(witness.size, "the size of a witness that is replayed")
    static = encode_static(query, witness.static)
    lengths = [len(list(batches(query, slot.suffix))) for slot in witness.slots]
    for subset in product((False, True), repeat=witness.size):
        chosen = [k for k, there in enumerate(subset) if there]
        replies = []
        for k, length in enumerate(lengths):
            arriving = list(batches(query, witness.events(query, chosen, k)))
            replies.append(_reply(judge(arriving, static, length)))
        yield tuple(replies)


def _reply(answers: Sequence[Sequence[Answer]]) -> tuple[tuple[tuple[Any, ...], ...], ...]:
    """The new answers at each marker; where there is no time, a marker's number is no part of them."""
    return tuple(tuple((answer.row, answer.count) for answer in marker) for marker in answers)


def refuse_size(size: int, what: str, limit: int = REPLAY_LIMIT) -> None:
    """Refuse a number of slots outside 1 to a limit.

    Raises:
        WitnessError: naming what it is the size of.
    """
    if not 1 <= size <= limit:
        fix = (
            "take fewer slots: the construction is the same at every size" if size > 0 else "take one or more"
        )
        raise WitnessError(f"{what} is {size:,}", accepted=f"1 to {limit:,}", fix=fix)


def definition(query: Statement) -> Evaluator:
    """The definition: what comes before the last batches is one, unless it asks when something arrived."""
    dated = query.plain or all(
        r.timestamp is not None for r in query.scanned if r.kind is not RelationKind.STATIC
    )

    def answered(arriving: Sequence[Batch], static: Encoded, last: int) -> list[list[Answer]]:
        before = arriving[: len(arriving) - last]
        if not dated:
            return list(reference(query, arriving, static))[len(before) :]
        tuples: dict[str, list[dict[str, Any]]] = {}
        for batch in before:
            for name, rows in batch.tuples.items():
                tuples.setdefault(name, []).extend(rows)
        first = Batch(None, tuples, before[-1].moment if before else 0)
        return list(reference(query, [first, *arriving[len(before) :]], static))[1:]

    return answered
