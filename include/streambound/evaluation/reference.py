"""The definition, executed: slow, and obviously right.

The answer at a marker is the query over all tuples seen so far (Arasu et al., section 2.2; Schiff &
Özçep, execution model; see ``definition``). What is told at a marker is the difference to the answer at the
marker before: of bags, or with DISTINCT of sets. What is taken back has a negative count. Everything else in
this project is tested against this module. It shares no code with the plan and what evaluates it: also the
values of expressions are its own (``definition_values``). Both have the model, ``query``, and the events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streambound.evaluation.definition import ARRIVAL, derived, evaluate
from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.query.clock import CLOCK
from streambound.query.statement import Statement

__all__ = ["evaluate", "initial", "reference"]


def reference(
    query: Statement, batches: Iterable[Batch], static: Mapping[str, list[Encoded]]
) -> Iterator[list[Answer]]:
    """The changes of the answer at each marker, by evaluating the query from scratch every time."""
    # A finite stream arrives like any other; only static relations are there from the start.
    seen = _relations(query, static)
    before = _starting(query, seen)
    for batch in batches:
        for name, tuples in derived(query, batch.tuples).items():
            seen[name].extend({**row, ARRIVAL: batch.moment} for row in tuples)
        seen[CLOCK.name] = [{"time": batch.moment}]
        after = evaluate(query, seen)
        changes = Counter(after)
        changes.subtract(before)
        yield answers(query, batch.marker, changes)
        before = after


def initial(query: Statement, static: Mapping[str, list[Encoded]]) -> list[Answer]:
    """The answer over no arrivals: a global aggregate has a row from the start."""
    return answers(query, None, _starting(query, _relations(query, static)))


def _starting(query: Statement, nothing: Mapping[str, list[Encoded]]) -> Counter[tuple[Any, ...]]:
    # Joins and filters have no answer before the first marker, even over static relations alone.
    return Counter() if query.plain else evaluate(query, nothing)


def _relations(query: Statement, static: Mapping[str, list[Encoded]]) -> dict[str, list[Encoded]]:
    seen: dict[str, list[Encoded]] = {relation.name: [] for relation in (*query.scanned, CLOCK)}
    return {**seen, **derived(query, static)}
