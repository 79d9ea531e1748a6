"""An equijoin in k tuples of memory, in one pass: a part of the exact answer, never a wrong row.

A step is one arriving tuple. The tuples of one timestamp meet what is cached, and each other; then those of
the least worth leave until k are left (see ``kernels.online``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from streambound.approximate.equijoin import BESIDE
from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.online import FOR_EVER, Arrivals, Expected, Played, play
from streambound.approximate.keys import benefits
from streambound.approximate.pairs import Columns, Row, answer_rows, meeting
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.policies import POLICIES
from streambound.approximate.sample import Arrival, Estimate, KeySample
from streambound.evaluation.events import Answer, Batch, answers
from streambound.query.statement import Statement
from streambound.state.serial import row_text
from streambound.state.table import accepts

# Of a time condition that is missing.
NO_LAG = 1 << 61


class Tuple(NamedTuple):
    """A tuple that counts: stream (0 left, 1 right), moment, carried columns, and its past in the cache."""

    side: int
    moment: int
    values: tuple[Any, ...]
    born: int = 0
    used: int = 0
    uses: int = 0


class Joined(NamedTuple):
    """Rows that join, pair by pair, with their columns; and what the policy did."""

    columns: Columns
    left: Integers
    right: Integers
    played: Played
    given: Arrivals


class MemoryPass:
    """Evaluates a plan; ``results`` are the pairs that were found, ``estimate`` how many there are in all."""

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan, self.query = plan, plan.query
        self.cached: list[Tuple] = []
        self.now: int | None = None
        self.arrived = self.results = self.peak = 0
        models = plan.selected_policy.models
        self.centres = [0.0, 0.0] if models is None else [model.centre for model in models]
        self.sample = KeySample(plan.join, plan.sampled)
        self._carried = [{a: at for at, a in enumerate(s.carried)} for s in plan.streams]
        self._key = [[self._carried[side][pair[side]] for pair in plan.join.keys] for side in (0, 1)]
        self._benefits = _benefits(plan)

    @property
    def stored_units(self) -> int:
        """Stored values of the cache now."""
        return sum(len(t.values) + BESIDE for t in self.cached)

    @property
    def peak_units(self) -> int:
        """Stored values of the cache when it was fullest, at most."""
        return self.peak * self.plan.width

    @property
    def estimate(self) -> Estimate | None:
        """All results so far; exact as long as everything fits the sample.

        None if it cannot be told: the sample has no results, or stands for fewer than were found.
        """
        estimate = self.sample.estimate
        return None if estimate is None or estimate.results < self.results else estimate

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker; a DISTINCT row may come again at a later one."""
        statement = Statement.of(self.query)
        for batch in batches:
            yield answers(statement, batch.marker, self.process(batch))

    def process(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        return self.advance(self.accepted(batch))

    def accepted(self, batch: Batch) -> list[Tuple]:
        """The tuples of a batch that count."""
        tuples = []
        for side, synopsis in enumerate(self.plan.streams):
            name = self.query.occurrence(synopsis.alias).relation.name
            accepted = (row for row in batch.tuples.get(name, ()) if accepts(synopsis, row))
            values = (tuple(row[a.column] for a in synopsis.carried) for row in accepted)
            # In canonical order: which tuples of one moment are kept must not depend on how they came.
            tuples += [Tuple(side, batch.moment, value) for value in sorted(values, key=_nulls_last)]
        return tuples

    def advance(self, arriving: list[Tuple]) -> dict[Row, int]:
        """Take in accepted tuples, in order of time and after all that were taken in before."""
        if not arriving:
            return {}
        rows = [*self.cached, *arriving]
        self._sample(arriving)
        joined = self.joined(rows)
        self.results += len(joined.left)
        self._keep(rows, joined.given, joined.played)
        self.now = arriving[-1].moment
        self.arrived += len(arriving)
        if not len(joined.left):
            return {}
        return answer_rows(self.plan.join, joined.columns, joined.left, joined.right)

    def joined(self, rows: list[Tuple]) -> Joined:
        """Run the policy over tuples, of which the first are those that are cached, and join what meets."""
        played, given = self.play(rows)
        sides = given.side[played.earlier] == 0
        left, right = (
            np.where(sides, played.earlier, played.later),
            np.where(sides, played.later, played.earlier),
        )
        if not len(left):
            return Joined(Columns({}), left, right, played, given)
        columns = Columns(
            {
                a: [row.values[at] if row.side == side else None for row in rows]
                for side, carried in enumerate(self._carried)
                for a, at in carried.items()
            }
        )
        met = meeting(self.plan.join, columns, left, right)
        return Joined(columns, left[met], right[met], played, given)

    def key(self, row: Tuple) -> tuple[Any, ...]:
        """The values of a tuple that its partners have to have."""
        values = row.values
        return tuple([values[at] for at in self._key[row.side]])

    def _sample(self, arriving: list[Tuple]) -> None:
        keys = list(map(self.key, arriving))
        texts = {key: key_text(key) for key in set(keys)}
        # A key that is not sampled now never is again.
        sampled = {key for key, text in texts.items() if self.sample.sampled(text)}
        chosen = ((row, texts[key]) for row, key in zip(arriving, keys, strict=True) if key in sampled)
        for moment, group in groupby(chosen, key=lambda pair: pair[0].moment):
            self.sample.take(moment, [self._arrival(row, text) for row, text in group])

    def _arrival(self, row: Tuple, key: str) -> Arrival:
        return Arrival(row.side, key, {a: row.values[at] for a, at in self._carried[row.side].items()})

    def play(self, rows: list[Tuple]) -> tuple[Played, Arrivals]:
        """Run the policy over tuples, of which the first are those that are cached."""
        keys = list(map(self.key, rows))
        given = self._given(rows, keys)
        expected = self._expected(list(dict.fromkeys(keys)))
        worth = POLICIES[self.plan.selected_policy.policy].worth
        played = play(given, worth, self.plan.size, expected, self.arrived)
        self.centres = expected.centre.tolist()
        self.peak = max(self.peak, played.peak)
        return played, given

    def arrivals(self, rows: list[Tuple]) -> Arrivals:
        """Tuples as arrays; keys are numbered as they first occur."""
        return self._given(rows, list(map(self.key, rows)))

    def _given(self, rows: list[Tuple], keys: list[tuple[Any, ...]]) -> Arrivals:
        join, symbols = self.plan.join, dict[tuple[Any, ...], int]()
        numbers = [symbols.setdefault(key, len(symbols)) for key in keys]
        side = np.array([row.side for row in rows], np.int64)
        time = np.array([row.moment for row in rows], np.int64)
        most = np.array([NO_LAG if last is None else last for _, last in join.lags], np.int64)
        last = most[side]
        return Arrivals(
            side,
            np.array(numbers, np.int64),
            time,
            np.where(last == NO_LAG, FOR_EVER, time + last),
            np.array([row.born for row in rows], np.int64),
            np.array([row.used for row in rows], np.int64),
            np.array([row.uses for row in rows], np.int64),
            len(self.cached),
            -NO_LAG if join.low is None else join.low,
            NO_LAG if join.high is None else join.high,
        )

    def _expected(self, keys: list[tuple[Any, ...]]) -> Expected:
        selected_policy, count = self.plan.selected_policy, max(len(keys), 1)
        chance = np.zeros((2, count))
        moving = np.zeros(2, np.bool_)
        drift, gain = np.zeros(2), np.zeros(2)
        value = np.zeros(count, np.int64)
        if selected_policy.models is not None:
            texts = [key_text(key) for key in keys]
            for side, model in enumerate(selected_policy.models):
                chance[side, : len(keys)] = [model.rate * model.frequencies.get(t, model.rest) for t in texts]
                if model.moving is not None:
                    step = model.step()
                    moving[side], drift[side], gain[side] = True, step.drift, step.gain
            if moving.any():
                value[: len(keys)] = [_whole_number(key) or 0 for key in keys]
        (first, cells), (second, more) = self._benefits
        return Expected(
            chance,
            value,
            moving,
            np.array(self.centres),
            drift,
            gain,
            np.concatenate([cells, more]),
            np.array([0, len(cells)]),
            np.array([first, second]),
            selected_policy.pace,
            selected_policy.alpha or 1.0,
            float(1 / np.expm1(1 / (selected_policy.alpha or 1.0))),
            selected_policy.seed,
        )

    def _keep(self, rows: list[Tuple], given: Arrivals, played: Played) -> None:
        self.cached = [
            Tuple(row.side, row.moment, row.values, born, used, uses)
            for row, born, used, uses in zip(
                map(rows.__getitem__, played.cached.tolist()),
                *(past[played.cached].tolist() for past in (given.born, given.used, given.uses)),
                strict=True,
            )
        ]


def key_text(key: Iterable[Any]) -> str:
    """A key as canonical text: equal keys of either stream have equal texts, whatever their types."""
    return row_text(map(_exact_number, key))


def _nulls_last(values: Iterable[Any]) -> list[Any]:
    return [(value is None, value) for value in values]


def _exact_number(value: Any) -> Any:
    """A number as an integer if it is one, and a double as a fraction: 1 = 1.0 in SQL."""
    if isinstance(value, (float, Fraction)) and not isinstance(value, bool):
        exact = Fraction(value) if value == value and abs(value) != float("inf") else None
        if exact is not None:
            return exact.numerator if exact.denominator == 1 else exact
    return value


def _whole_number(key: tuple[Any, ...]) -> int | None:
    """A key as a whole number; None if it is none."""
    value = _exact_number(key[0]) if len(key) == 1 else None
    return value if isinstance(value, int) and abs(value) < NO_LAG else None


def numbers_of(keys: Iterable[tuple[Any, ...]]) -> Integers | None:
    """Keys as whole numbers; None if one is none."""
    numbers = [_whole_number(key) for key in keys]
    return None if None in numbers else np.array(numbers, np.int64)


def _benefits(plan: MemoryPlan) -> list[tuple[int, Floats]]:
    selected_policy = plan.selected_policy
    if selected_policy.models is None or not POLICIES[selected_policy.policy].facts.benefit:
        return [(0, np.zeros(0)), (0, np.zeros(0))]
    alpha = selected_policy.alpha or float(plan.size)
    return [
        benefits(model, alpha) if model.moving is not None else (0, np.zeros(0))
        for model in selected_policy.models
    ]


def by_time(rows: Iterable[Tuple]) -> list[Tuple]:
    """Tuples in order of time; of one moment the left stream's first, else as they come."""
    return sorted(rows, key=attrgetter("moment", "side"))
