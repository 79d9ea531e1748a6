"""The witness of an unbounded query as a story: two histories that only a continuation tells apart.

A witness has slots; each may hold an optional part or not, so N slots make 2^N histories. Two of them and
the continuation that tells them apart are the example; what is answered after each is computed on the
definition (``evaluation.reference``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from streambound.certificate.slots import Event
from streambound.certificate.statements import statement_witness
from streambound.certificate.verification import Encoded, Evaluator, Witness, definition
from streambound.compiler import Decided
from streambound.errors import WitnessError
from streambound.evaluation.events import Answer, Batch, batches, encode_static
from streambound.query.operators import Grouping
from streambound.query.statement import Statement

# Slots of the example, and for how long a witness is looked for.
SLOTS, SECONDS = 2, 5.0


@dataclass(frozen=True)
class History:
    """A history with what is answered when the continuation comes.

    Args:
        events: (event, whether the other history has it too), in the order of arrival.
        answers: the new answer rows, with their multiplicities.
    """

    events: tuple[tuple[Mapping[str, Any], bool], ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Story:
    """Two histories of a query and the continuation after which their answers differ.

    Args:
        reason: why the query is unbounded, in a sentence.
        slots: N; there are 2^N histories like these.
        static: the rows of static relations.
        outputs: the names of the answer's columns.
        missing: why there is no example; the histories are then empty.
        keys: the columns of the answer that name a group; None where answers are not rows of groups.
    """

    query: str
    reason: str
    slots: int = 0
    histories: tuple[History, ...] = ()
    continuation: tuple[Mapping[str, Any], ...] = ()
    static: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    outputs: tuple[str, ...] = ()
    missing: str = ""
    keys: tuple[int, ...] | None = None


class _Deadline:
    """The definition, which stops answering once some time has passed."""

    def __init__(self, statement: Statement, seconds: float) -> None:
        self.evaluator: Evaluator = definition(statement)
        self.until = time.monotonic() + seconds

    def __call__(self, arriving: Sequence[Batch], static: Encoded, last: int) -> Sequence[Sequence[Answer]]:
        if time.monotonic() > self.until:
            raise TimeoutError
        return self.evaluator(arriving, static, last)


def story(job: Decided, slots: int = SLOTS, seconds: float = SECONDS) -> Story:
    """The story of a decided query.

    Args:
        slots: of the witness, 2 or 3.
        seconds: how long a witness is looked for; what a query's own decision takes is not counted.
    """
    reason, outcome = job.verdict.reasons[0].message, job.verdict.outcome.value
    if outcome != "unbounded":
        return Story(job.name, reason, missing=_why_none(job, outcome))
    judge = _Deadline(job.statement, seconds)
    try:
        witness = statement_witness(job.statement, job.decision, slots, judge)
        return _story_of(job, reason, witness, judge)
    except WitnessError as error:
        return Story(job.name, reason, missing=f"There is no example of {slots} slots: {error.message}.")
    except TimeoutError:
        return Story(job.name, reason, missing=f"No example was found within {seconds:g} seconds.")


def _why_none(job: Decided, outcome: str) -> str:
    if outcome == "bounded":
        return "The query is bounded: a fixed memory tells apart all histories that matter."
    if job.criterion != "exact":
        return f"The criterion that was asked for, {job.criterion}, gives no verdict on this query."
    return "Neither a witness nor a plan of a fixed size was found, so no example is known."


def _story_of(job: Decided, reason: str, witness: Witness, judge: Evaluator) -> Story:
    for numbers, second, suffix in _pairs_of_histories(witness):
        answers = [_answers(job.statement, witness, chosen, suffix, judge) for chosen in (numbers, second)]
        if _counts_by_row(answers[0]) != _counts_by_row(answers[1]):
            histories = tuple(
                History(_events(job.statement, witness, chosen, apart), given)
                for chosen, apart, given in ((numbers, second, answers[0]), (second, numbers, answers[1]))
            )
            names = tuple(name for name, _ in job.statement.outputs)
            static = witness.static or None
            continuation, keys = witness.slots[suffix].suffix, _keys(job.statement)
            return Story(job.name, reason, witness.size, histories, continuation, static, names, keys=keys)
    return Story(
        job.name, reason, missing="The witness tells its histories apart only by when rows are answered."
    )


def _keys(statement: Statement) -> tuple[int, ...] | None:
    """The columns that name the group of an answer; None where some key is not shown as it is."""
    if len(statement.blocks) != 1 or not isinstance(then := statement.blocks[0].then, Grouping):
        return None
    keys = {
        shown.outputs[0]: number
        for number, shown in enumerate(then.shown)
        if shown.plain and not shown.values and len(shown.outputs) == 1 and shown.outputs[0] < then.keys
    }
    return tuple(sorted(keys.values())) if len(keys) == then.keys else None


def _pairs_of_histories(witness: Witness) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Pairs of histories, those of equal length first, each with a continuation."""
    slots = range(witness.size)
    subsets = [
        chosen for number in (1, 0, *range(2, witness.size + 1)) for chosen in combinations(slots, number)
    ]
    pairs = sorted(combinations(subsets, 2), key=lambda pair: len(pair[0]) != len(pair[1]))
    yield from ((first, second, suffix) for first, second in pairs for suffix in slots)


def _answers(
    statement: Statement, witness: Witness, chosen: Sequence[int], suffix: int, judge: Evaluator
) -> tuple[Answer, ...]:
    """The new answers while a continuation comes, marker after marker."""
    last = len(list(batches(statement, witness.slots[suffix].suffix)))
    arriving = list(batches(statement, witness.events(statement, chosen, suffix)))
    markers = judge(arriving, encode_static(statement, witness.static), last)
    return tuple(answer for marker in markers for answer in marker)


def _counts_by_row(answers: Sequence[Answer]) -> dict[tuple[Any, ...], int]:
    """How often each row is answered, in whatever order."""
    counts: dict[tuple[Any, ...], int] = {}
    for answer in answers:
        counts[answer.row] = counts.get(answer.row, 0) + answer.count
    return counts


def _events(
    statement: Statement, witness: Witness, chosen: Sequence[int], second: Sequence[int]
) -> tuple[tuple[Event, bool], ...]:
    """The events of a history, and whether they are in another one."""
    optional = [event for k in chosen if k not in second for event in witness.slots[k].optional]
    return tuple(
        (dict(event), all(event is not own for own in optional))
        for event in witness.events(statement, chosen)
    )
