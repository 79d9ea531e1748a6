"""How the driver evaluates a query with streams that end (see ``synopsis.ending``), and its states.

Tasks send the tuples that may matter, by timestamp. The state is JSON: until the streams have ended the
tuples that are held and the rows that were answered, afterwards the rows of the streams that have ended and
the state of the plan that goes on. Equal contents have equal bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from streambound.evaluation.ending import Answered, EndingPass, Engine
from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.onepass import OnePass, one_pass
from streambound.evaluation.order import Order
from streambound.history import states
from streambound.history.evaluations import Step
from streambound.query.model import Attribute
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.match_join import Row
from streambound.synopsis.serial import canonical, plain, value_of
from streambound.tasks.plans import Static


class Ending:
    """Batches in order of time; partitions have to follow each other in time."""

    total: states.Total | None = None

    def __init__(self, plan: EndingPlan, static: Static, order: Order) -> None:
        self.onepass = EndingPass(plan, static, one_pass, order)
        self.streams = {s.alias: plan.query.occurrence(s.alias).relation.name for s in plan.streams}
        self.columns = {self.streams[s.alias]: _names(s.carried) for s in plan.streams}

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.onepass.units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived."""
        return self.onepass.holds(row)

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """A step for each moment of which there are tuples."""
        rows = ((self.streams[alias], *row) for alias, data in given.items() for row in json.loads(data))
        for batch in self._batches(rows, partition):
            yield Step(batch.moment, partial(self.onepass.step, batch))

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from a relation a stream.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        found: Counter[Row] = Counter()
        for step in self.steps(partition, given):
            found.update(step.take())
        return found

    def _batches(self, rows: Iterable[Sequence[Any]], partition: str | None = None) -> Iterator[Batch]:
        """Batches in order of time, from (stream, moment, values, multiplicity)."""
        found: dict[int, dict[str, list[Encoded]]] = {}
        for stream, moment, values, count in rows:
            row = dict(zip(self.columns[stream], map(value_of, values), strict=True))
            found.setdefault(moment, {}).setdefault(stream, []).extend([row] * count)
        for moment in sorted(found):
            yield Batch(moment, found[moment], moment, partition)

    def dump(self) -> bytes:
        """What is held, or what has ended and the state of the plan that goes on."""
        engine = self.onepass
        if engine.later is None:
            body = {"held": self._held(), "answered": _rows(engine.answered)}
            return canonical({"now": engine.now, **body})
        ended = {name: _table(rows) for name, rows in engine.ended.items()}
        return canonical({"now": engine.now, "ended": ended, "later": json.loads(dump_engine(engine.later))})

    def _held(self) -> list[Any]:
        found: Counter[bytes] = Counter()
        for batch in self.onepass.held:
            for stream, rows in batch.tuples.items():
                values = ([plain(row[name]) for name in self.columns[stream]] for row in rows)
                found.update(canonical([stream, batch.moment, row]) for row in values)
        return [[*json.loads(body), count] for body, count in sorted(found.items())]

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up a state."""
        body, engine = json.loads(data), self.onepass
        if "held" in body:
            for batch in self._batches(body["held"]):
                engine.hold(batch)
            engine.answered = {tuple(map(value_of, row)) for row in body["answered"]}
        else:
            later = engine.end({name: _encoded(table) for name, table in body["ended"].items()})
            load_engine(later, canonical(body["later"]))
        engine.now = body["now"]
        engine.order.resume(engine.now)
        engine.peak_units = peak_units


def dump_engine(engine: Engine) -> bytes:
    """The state of what goes on once streams have ended."""
    if isinstance(engine, Answered):
        return canonical(_rows(engine.rows))
    assert isinstance(engine, OnePass)
    return states.dump_pass(engine, None)


def load_engine(engine: Engine, data: bytes) -> None:
    """Take up such a state."""
    if isinstance(engine, Answered):
        engine.rows = {tuple(map(value_of, row)) for row in json.loads(data)}
    else:
        assert isinstance(engine, OnePass)
        states.load_pass(engine, data)


def _names(attributes: Iterable[Attribute]) -> tuple[str, ...]:
    return tuple(attribute.column for attribute in attributes)


def _rows(rows: Iterable[Row]) -> list[Any]:
    return sorted(([plain(value) for value in row] for row in rows), key=canonical)


def _table(rows: Sequence[Encoded]) -> dict[str, Any]:
    columns = sorted(rows[0]) if rows else []
    return {"columns": columns, "rows": _rows(tuple(row[c] for c in columns) for row in rows)}


def _encoded(table: Mapping[str, Any]) -> list[Encoded]:
    return [dict(zip(table["columns"], map(value_of, row), strict=True)) for row in table["rows"]]
