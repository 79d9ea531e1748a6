"""How the driver goes on from one partition's summaries to the next.

An evaluation takes in what tasks made of a partition, gives its new answers, and has a state at its boundary
that checkpoints hold.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby, repeat
from typing import Any, Generic, TypeAlias, TypeVar

from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.flow import Tree
from streambound.evaluation.onepass import OnePass
from streambound.evaluation.order import ArrivalOrder
from streambound.evaluation.statement import summed
from streambound.history.evaluations.array_join import ArrayJoin
from streambound.plan.flow import Partial
from streambound.plan.model import Plan, Streams
from streambound.query.statement import Statement
from streambound.state.row_join import PartialMatch, Row, RowJoin
from streambound.state.serial import table_of
from streambound.state.table import Table
from streambound.tasks import emit
from streambound.tasks.relations import arrivals, counted_rows

E = TypeVar("E", bound=OnePass)
K = TypeVar("K")
Static = Mapping[str, list[Encoded]]


Take: TypeAlias = Callable[[], Mapping[Row, int]]


@dataclass(frozen=True)
class AnswersAt:
    """What is taken in at once: of one moment, or (None) of a partition; ``take`` gives the new answers."""

    moment: int | None
    take: Take


def in_step(
    each: Mapping[K, Iterable[AnswersAt]], take: Callable[[Mapping[K, Take]], Mapping[Row, int]]
) -> Iterator[AnswersAt]:
    """The steps of several with the same moment as one, which ``take`` takes, in order of time."""

    def order(keyed: tuple[K, AnswersAt]) -> tuple[bool, int]:
        # Those without a moment come first.
        return (keyed[1].moment is not None, keyed[1].moment or 0)

    keyed_steps = (zip(repeat(key), answers, strict=False) for key, answers in each.items())
    for _, tied in groupby(merge(*keyed_steps, key=order), key=order):
        by_key = dict(tied)
        moment = next(iter(by_key.values())).moment
        yield AnswersAt(moment, partial(take, {key: step.take for key, step in by_key.items()}))


# There is no answer before anything came.
NOTHING: Mapping[Row, int] = {}
NOTHING_COMES = Batch(None, {})


class Evaluation(ABC):
    """The state of one query between two partitions.

    ``initial`` is the answer before anything came. ``tree`` has the nodes of a tree of rows that change, None
    where it is none. ``order`` is that in which tuples come. With ``approximate``, answers may be missing.
    """

    initial: Mapping[Row, int] = NOTHING
    tree: Tree[Any] | None = None
    order: ArrivalOrder
    approximate = False
    _peak = 0

    @property
    @abstractmethod
    def stored_units(self) -> int:
        """What is stored now."""

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self._peak

    @property
    def latest(self) -> int | None:
        """The last moment of which a tuple counted; None where there is no time."""
        return self.order.latest

    @abstractmethod
    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The new answers of a partition by the moment at which they are new, from a relation an occurrence
        that steps in time.

        All steps are to be taken, in their order (see ``tasks.relations``).
        """

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from what was made of each occurrence's share.

        Raises:
            DataError: in time, a tuple that counts is not later than all of the partitions before.
        """
        return summed(step.take() for step in self.by_moment(partition, summaries))

    def new_rows(self, statement: Statement, partition: str, summaries: Mapping[str, bytes]) -> emit.NewRows:
        """What ``advance`` gives, as a table of a statement's answer rows with its digest."""
        return emit.new_rows(statement, partition, self.advance(partition, summaries))

    @abstractmethod
    def dump(self) -> bytes:
        """The state as checkpoints hold it."""

    @abstractmethod
    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up a state, from what its bytes hold as JSON."""

    def report(self) -> Mapping[str, Any]:
        """How complete an ``approximate`` answer is, as JSON."""
        return {}


class PartEvaluation(Evaluation):
    """The evaluation of one conjunction, which may be part of a statement.

    ``fed`` are the rows of sub-queries that came since the last step, of a part that has some.
    """

    fed = NOTHING_COMES

    @abstractmethod
    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""


class ByEngine(PartEvaluation, Generic[E]):
    """The evaluation by an engine, whose state it has."""

    def __init__(self, engine: E) -> None:
        self.engine, self.order = engine, engine.order

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return self.engine.stored_units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.engine.peak_units

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived."""
        return self.engine.holds(row)

    def dump(self) -> bytes:
        """The state."""
        return self.engine.dump()

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up a state."""
        self.engine.load(document)
        self.engine.peak_units = peak_units


class PlanEvaluation(ByEngine[OnePass]):
    """The evaluation of a compact plan.

    In time, batches come in order, and so do partitions. Else a partition is taken in at once: tables of
    single streams merge, and of a plan that keeps nothing tasks have computed the answers.

    Args:
        moments: tuples come by their timestamps.
        partials: see ``flow.Leaf.partial``.
    """

    def __init__(
        self,
        plan: Plan,
        static: Static,
        order: ArrivalOrder,
        moments: bool = False,
        partials: Partial | None = None,
    ) -> None:
        self.plan, self.partials = plan, partials
        # At a timestamp there are few tuples, in a partition there may be many.
        join = RowJoin if plan.timed else ArrayJoin
        super().__init__(OnePass(plan, static, order, join))
        self.timed = plan.timed or moments
        self.feeds = any(plan.query.occurrence(s.alias).relation.fed is not None for s in plan.streams)

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """A step for each moment of which a tuple counts, or the one step of a partition."""
        if self.timed and (summaries or not self.feeds):
            for moment, arriving in arrivals(self.plan, summaries):
                yield AnswersAt(moment, partial(self._arrived, moment, arriving, partition))
        else:
            yield AnswersAt(None, partial(self._taken, summaries))

    def _arrived(
        self, moment: int, arriving: dict[str, list[PartialMatch]], partition: str
    ) -> Mapping[Row, int]:
        if self.plan.timed:
            return self.engine.take(moment, arriving, partition)
        return self.engine.join({**arriving, **{a: arriving[a] + rows for a, rows in self._came().items()}})

    def _taken(self, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        came = self._came()
        if self.plan.stateless and self.feeds:
            return self.engine.join(came)
        if self.plan.stateless:
            given = (summaries[s.alias] for s in self.plan.streams if s.alias in summaries)
            return summed(counted_rows(self.plan.query, rows, self.partials) for rows in given)
        summary = self._summary(summaries)
        for alias, rows in came.items():
            for match in rows:
                summary[frozenset((alias,))].add(match.values, match.weight)
        return self.engine.advance(summary)

    def _came(self) -> dict[str, list[PartialMatch]]:
        """The rows of sub-queries since the last step, by occurrence."""
        if not self.feeds:
            return {}
        batch, self.fed = self.fed, NOTHING_COMES
        return {s.alias: self.engine.arriving(s, batch) for s in self.plan.streams}

    def _summary(self, summaries: Mapping[str, bytes]) -> dict[Streams, Table]:
        summary = self.engine.state.fresh()
        for streams, table in summary.items():
            alias = min(streams)
            if alias in summaries:
                summary[streams] = table_of(table.cells, table.ring, alias, json.loads(summaries[alias]))
        return summary

    def dump(self) -> bytes:
        """The state; of a part that keeps nothing there is none."""
        return super().dump() if not self.plan.stateless else b"{}"

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up a state."""
        if not self.plan.stateless:
            super().load(document, peak_units)
