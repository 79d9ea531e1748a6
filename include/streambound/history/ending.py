"""How the driver evaluates a query with streams that end (see ``synopsis.ending``).

Tasks send the tuples that may matter, by timestamp.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from streambound.evaluation.ending import EndingPass
from streambound.evaluation.onepass import one_pass
from streambound.evaluation.order import Order
from streambound.evaluation.statement import summed
from streambound.history.evaluations import ByEngine, Step
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.row_join import Row
from streambound.tasks.plans import Static


class EndingEvaluation(ByEngine[EndingPass]):
    """Batches in order of time; partitions have to follow each other in time."""

    def __init__(self, plan: EndingPlan, static: Static, order: Order) -> None:
        super().__init__(EndingPass(plan, static, one_pass, order))
        self.streams = {s.alias: plan.query.occurrence(s.alias).relation.name for s in plan.streams}

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        return summed(map(self.engine.step, self.engine.joined(self._rows(given), partition)))

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """A step for each moment of which there are tuples."""
        for batch in self.engine.batches(self._rows(given), partition):
            yield Step(batch.moment, partial(self.engine.step, batch))

    def _rows(self, given: Mapping[str, bytes]) -> list[tuple[Any, ...]]:
        """(stream, moment, values, multiplicity) of what tasks made of the streams."""
        mine = {alias: name for alias, name in self.streams.items() if alias in given}
        return [(name, *row) for alias, name in mine.items() for row in json.loads(given[alias])]
