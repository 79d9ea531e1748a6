"""How the driver goes on from one partition's summaries to the next.

An evaluation takes in what tasks made of a partition, gives its new answers, and has a state at its boundary
that checkpoints hold.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.onepass import AnyPass, OnePass
from streambound.evaluation.order import ArrivalOrder
from streambound.evaluation.statement import summed
from streambound.history.evaluations import states
from streambound.history.evaluations.array_join import ArrayJoin
from streambound.plan.flow import Partial
from streambound.plan.model import Plan, Streams
from streambound.state.row_join import PartialMatch, Row, RowJoin
from streambound.state.serial import table_of
from streambound.state.table import Table
from streambound.tasks.relations import arrivals, counted_rows

E = TypeVar("E", bound=AnyPass)
Static = Mapping[str, list[Encoded]]


@dataclass(frozen=True)
class AnswersAt:
    """What is taken in at once: of one moment, or (None) of a partition; ``take`` gives the new answers."""

    moment: int | None
    take: Callable[[], Mapping[Row, int]]


def moment_of(step: AnswersAt) -> tuple[bool, int]:
    """What steps are put in order by: those without a moment come first."""
    return (step.moment is not None, step.moment or 0)


# There is no answer before anything came.
NOTHING: Mapping[Row, int] = {}
NOTHING_COMES = Batch(None, {})


class Evaluation(Protocol):
    """The state of one query between two partitions.

    ``total`` is the final answer so far; None where it is the sum of the partitions' answers on disk and of
    what is the answer before anything came, ``initial``.
    """

    total: states.Total | None
    initial: Mapping[Row, int]

    @property
    def stored_units(self) -> int:
        """What is stored now."""

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""

    @property
    def latest(self) -> int | None:
        """The last moment of which a tuple counted; None where there is no time."""

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from what was made of each occurrence's share."""

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The same by the moment at which answers are new, from a relation an occurrence that steps in time.

        All steps are to be taken, in their order (see ``tasks.relations``).
        """

    def dump(self) -> bytes:
        """The state as checkpoints hold it."""

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up a state."""


class PartEvaluation(Evaluation, Protocol):
    """The evaluation of one conjunction, which may be part of a statement."""

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""


class ByEngine(ABC, Generic[E]):
    """The evaluation by an engine, whose state it has.

    ``total`` is the final answer so far, where it is kept beside.
    """

    initial = NOTHING

    def __init__(self, engine: E, total: states.Total | None = None) -> None:
        self.engine, self.total = engine, total

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return self.engine.stored_units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.engine.peak_units

    @property
    def latest(self) -> int | None:
        """The last moment of which a tuple counted; None where there is no time."""
        return self.engine.order.latest

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived."""
        return self.engine.holds(row)

    @abstractmethod
    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """What ``advance`` does, step by step in order of time; each is to be taken."""

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from what was made of each occurrence's share.

        Raises:
            DataError: in time, a tuple that counts is not later than all of the partitions before.
        """
        delta = summed(step.take() for step in self.by_moment(partition, summaries))
        if self.total is not None:
            for row, count in delta.items():
                self.total[row] = self.total.get(row, 0) + count
        return delta

    def dump(self) -> bytes:
        """The state, with the final answer so far where it is kept."""
        state = self.engine.dump()
        return state if self.total is None else states.with_total(state, self.total)

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up a state."""
        document = json.loads(data)
        self.engine.load(document)
        self.total = None if self.total is None else states.total_of(document)
        self.engine.peak_units = peak_units


class PlanEvaluation(ByEngine[OnePass]):
    """The evaluation of a compact plan.

    Tables of single streams merge, a partition at once; in time, batches come in order, and so do partitions.

    Args:
        totalled: the final answer is kept beside the tables of single streams.
    """

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder, totalled: bool = True) -> None:
        self.plan = plan
        # At a timestamp there are few tuples, in a partition there may be many.
        join = RowJoin if plan.timed else ArrayJoin
        total: states.Total | None = {} if totalled and not (plan.timed or plan.stateless) else None
        super().__init__(OnePass(plan, static, order, join), total)

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """A step for each moment of which a tuple counts, or the one step of a partition."""
        if self.plan.timed:
            for moment, arriving in arrivals(self.plan, summaries):
                yield AnswersAt(moment, partial(self.engine.take, moment, arriving, partition))
        elif self.plan.synopses:
            yield AnswersAt(None, partial(self._merged, summaries))

    def _merged(self, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        return self.engine.advance(self._summary(summaries))

    def _summary(self, summaries: Mapping[str, bytes]) -> dict[Streams, Table]:
        summary = self.engine.state.fresh()
        for streams, table in summary.items():
            alias = min(streams)
            if alias in summaries:
                summary[streams] = table_of(table.cells, table.ring, alias, json.loads(summaries[alias]))
        return summary


class FedEvaluation(PlanEvaluation):
    """The evaluation of a plan some of whose streams are rows of sub-queries; it does not step through time.

    ``fed`` are those that came since the last step.

    Args:
        moments: the others come by their timestamps.
    """

    fed = NOTHING_COMES

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder, moments: bool) -> None:
        super().__init__(plan, static, order, totalled=False)
        self.moments = moments

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The one step of a partition, or a step for each moment."""
        if not (self.moments and summaries):
            yield AnswersAt(None, partial(self._fed, summaries))
            return
        for moment, arriving in arrivals(self.plan, summaries):
            yield AnswersAt(moment, partial(self._arrived, arriving))

    def _came(self) -> dict[str, list[PartialMatch]]:
        batch, self.fed = self.fed, NOTHING_COMES
        return {s.alias: self.engine.arriving(s, batch) for s in self.plan.streams}

    def _arrived(self, arriving: Mapping[str, list[PartialMatch]]) -> Mapping[Row, int]:
        return self.engine.join({alias: arriving[alias] + rows for alias, rows in self._came().items()})

    def _fed(self, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        came = self._came()
        if self.plan.stateless:
            return self.engine.join(came)
        summary = self._summary(summaries)
        for alias, rows in came.items():
            for match in rows:
                summary[frozenset((alias,))].add(match.values, match.weight)
        return self.engine.advance(summary)


class MomentEvaluation(PlanEvaluation):
    """The evaluation of a plan that does not step through time, in a statement that does."""

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder) -> None:
        super().__init__(plan, static, order, totalled=False)

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """A step for each moment of which a tuple counts."""
        for moment, arriving in arrivals(self.plan, summaries):
            yield AnswersAt(moment, partial(self.engine.join, arriving))

    def dump(self) -> bytes:
        """The state as where partitions are evaluated: see ``FilterEvaluation``."""
        return b"{}" if self.plan.stateless else super().dump()

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up a state."""
        if not self.plan.stateless:
            super().load(data, peak_units)


class FilterEvaluation:
    """A part of a statement that keeps nothing: tasks have computed its answers.

    ``latest`` is known only where it steps in time.
    """

    total: states.Total | None = None
    initial = NOTHING
    latest: int | None = None
    stored_units = peak_units = 0

    def __init__(self, plan: Plan, partials: Partial | None = None) -> None:
        self.plan, self.partials = plan, partials

    def holds(self, row: Row) -> bool:
        """Never asked: what keeps nothing is not distinct."""
        raise AssertionError(f"{self.plan.query.name} keeps no rows")

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The one step of a partition."""
        yield AnswersAt(None, lambda: self.advance(partition, summaries))

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition."""
        tables = (summaries[s.alias] for s in self.plan.streams if s.alias in summaries)
        return summed(counted_rows(self.plan.query, share, self.partials) for share in tables)

    def dump(self) -> bytes:
        """Nothing, as JSON."""
        return b"{}"

    def load(self, data: bytes, peak_units: int) -> None:
        """Nothing is taken up."""
