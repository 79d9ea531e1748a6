"""Which policy keeps the most of a query's results: all of them on held-out days, and the choice among them.

Models are learned from the days before, every policy runs over all days, and only the results of the held-out
ones count, day by day. The choice is by a stated rule (``choose``): the best mean, the simpler one on a tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streambound.approximate.evaluation import MemoryPass, Tuple, key_text, numbers_of
from streambound.approximate.kernels.ceiling import ceiling
from streambound.approximate.kernels.online import Arrivals
from streambound.approximate.keys import KeyModel, learn
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.policies import POLICIES
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import DataError, meant

# HEEB's alpha, in sizes of the cache.
ALPHAS = (0.25, 1.0, 4.0, 16.0)
# Of the best mean, what is given away for a simpler policy, and for a choice that stands.
TIE, STANDING = 0.01, 0.05
# A model no longer fits when a tuple's mean log probability has dropped by so much, in nats.
DRIFT = 0.5
LEAST_TUPLES = 20


@dataclass(frozen=True)
class Case:
    """The recent past of a query's streams.

    Args:
        rows: the tuples that count, in order of time.
        day: of each row.
        days: the names of the days, in order.
        held_out: how many of the last days are held out.
    """

    plan: MemoryPlan
    rows: tuple[Tuple, ...]
    day: tuple[int, ...]
    days: tuple[str, ...]
    held_out: int

    def __post_init__(self) -> None:
        if not 1 <= self.held_out < len(self.days):
            raise DataError(
                f"{self.held_out} of {len(self.days)} days are to be held out",
                subject=self.plan.query.name,
                accepted="at least one day, and at least one more to learn from",
                fix="give more days of history",
            )
        if self.cut < LEAST_TUPLES:
            raise DataError(
                f"there are {self.cut} tuples to learn from",
                subject=self.plan.query.name,
                accepted=f"{LEAST_TUPLES} or more",
                fix="give more days of history",
            )

    @property
    def first_held_out(self) -> int:
        """The number of the first day that is held out."""
        return len(self.days) - self.held_out

    @property
    def cut(self) -> int:
        """How many rows come before the held-out days."""
        return sum(day < self.first_held_out for day in self.day)

    def models(self) -> tuple[KeyModel, KeyModel]:
        """What the days before the held-out ones say of both streams."""
        return learned(self.plan, self.rows[: self.cut])

    @property
    def pace(self) -> float:
        """Moments a step."""
        span = self.rows[-1].moment - self.rows[0].moment
        return max(span / len(self.rows), 1e-9)


def learned(plan: MemoryPlan, rows: Sequence[Tuple]) -> tuple[KeyModel, KeyModel]:
    """The models of both streams from tuples in order of time."""
    engine = MemoryPass(plan)
    key_models = []
    for side in (0, 1):
        keys = [engine.key(row) for row in rows if row.side == side]
        rate = len(keys) / max(len(rows), 1)
        key_models.append(learn([key_text(key) for key in keys], rate, numbers_of(keys)))
    return key_models[0], key_models[1]


@dataclass(frozen=True)
class Contender:
    """A policy that takes part, with HEEB's alpha in sizes of the cache."""

    policy: str
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise DataError(
                f"the policy {self.policy!r} is unknown",
                accepted=", ".join(POLICIES),
                fix=meant(self.policy, POLICIES),
            )

    def selected_policy(
        self, size: int, models: tuple[KeyModel, KeyModel], pace: float, seed: int
    ) -> SelectedPolicy:
        """What it would be as a choice."""
        alpha = None if self.alpha is None else self.alpha * size
        learned_models = models if POLICIES[self.policy].learned else None
        return SelectedPolicy(self.policy, alpha, learned_models, pace, seed, "")

    @property
    def rank(self) -> tuple[int, float]:
        """From the simplest on."""
        return list(POLICIES).index(self.policy), self.alpha or 0.0


def contenders(policies: Iterable[str]) -> tuple[Contender, ...]:
    """The policies that take part, HEEB once an alpha.

    Raises:
        DataError: one is unknown.
    """
    candidates: list[Contender] = []
    for policy in dict.fromkeys(policies):
        candidates.append(Contender(policy))
        if POLICIES[policy].facts.benefit:
            candidates[-1:] = [Contender(policy, alpha) for alpha in ALPHAS]
    return tuple(candidates)


@dataclass(frozen=True)
class Trial:
    """What a choice kept on each held-out day: results of cached tuples, before the further conditions."""

    contender: Contender
    size: int
    kept: tuple[int, ...]


def trial(case: Case, contender: Contender, size: int, selected_policy: SelectedPolicy) -> Trial:
    """Run a choice over all days; count the held-out ones."""
    plan = replace(case.plan, size=size, selected_policy=selected_policy)
    played, _ = MemoryPass(plan).play(list(case.rows))
    day = np.array(case.day, np.int64)[played.later[played.met]] - case.first_held_out
    kept = np.bincount(day[day >= 0], minlength=case.held_out)
    return Trial(contender, size, tuple(int(n) for n in kept))


def possible(case: Case) -> tuple[int, ...]:
    """What a memory for everything would keep on each held-out day."""
    return trial(case, Contender("fifo"), len(case.rows), SelectedPolicy("fifo")).kept


def best(case: Case, sizes: Sequence[int]) -> dict[int, int]:
    """The most that any policy could keep on the held-out days, by size."""
    engine = MemoryPass(case.plan)
    given: Arrivals = engine.arrivals(list(case.rows))
    since = case.rows[case.cut].moment if case.cut < len(case.rows) else None
    totals = ceiling(given, max(sizes), since)
    return {size: round(totals[size]) for size in sizes}


@dataclass(frozen=True)
class Judged:
    """A contender at a size: results a held-out day, and half of the mean's 95% interval."""

    contender: Contender
    size: int
    kept: int
    mean: float
    half: float

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        body = {"policy": self.contender.policy, "alpha": self.contender.alpha, "size": self.size}
        return {**body, "kept": self.kept, "mean": self.mean, "half": self.half}

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> Judged:
        """What ``to_json`` made an object of."""
        contender = Contender(body["policy"], body["alpha"])
        return cls(contender, body["size"], body["kept"], body["mean"], body["half"])


def judged(trials: Sequence[Trial]) -> Judged:
    """The mean over days and runs of one contender at one size."""
    days = np.array([n for trial in trials for n in trial.kept], np.float64)
    kept = round(float(np.mean([sum(trial.kept) for trial in trials])))
    return Judged(trials[0].contender, trials[0].size, kept, float(days.mean()), _half(days))


def _half(values: Any) -> float:
    """Half of the 95% interval of a mean (Student's t)."""
    from scipy.special import stdtrit

    if len(values) < 2:
        return 0.0
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))


def share_half(trials: Sequence[Trial], results: Sequence[int]) -> float | None:
    """Half of the 95% interval of the share that a choice keeps, day by day; None of a single day.

    A ratio of two means over days (Cochran, Sampling Techniques, section 6.4), which a day with many results
    does not widen.

    Args:
        trials: of one choice.
        results: that there are on each held-out day.
    """
    there = np.array(results, np.float64)
    if len(there) < 2 or not there.sum():
        return None
    kept = np.mean([trial.kept for trial in trials], axis=0)
    return _half(kept - kept.sum() / there.sum() * there) / float(there.mean())


def choose(trials: Sequence[Trial]) -> tuple[Contender, str]:
    """The contender with the best mean on held-out days; a simpler one on a tie.

    A tie is a difference of at most ``TIE`` of the best that its 95% interval day by day does not tell from
    chance; a run is a day of its own.

    Args:
        trials: of one size, at least one.
    """
    by_contender: dict[Contender, list[int]] = {}
    for trial in trials:
        by_contender.setdefault(trial.contender, []).extend(trial.kept)
    means = {contender: float(np.mean(kept)) for contender, kept in by_contender.items()}
    top = min(means, key=lambda contender: (-means[contender], contender.rank))
    for contender in sorted(means, key=lambda contender: contender.rank):
        if contender == top:
            return top, f"{_named(top)} keeps the most: {means[top]:.1f} results a held-out day"
        ahead, half = lead(by_contender[top], by_contender[contender])
        if ahead <= min(half, TIE * means[top]):
            why = f"{_named(contender)} keeps {means[contender]:.1f} results a held-out day, which cannot be"
            return contender, f"{why} told from the {means[top]:.1f} of {_named(top)}, and is simpler"
    raise AssertionError("the best is among them")


def lead(top: Sequence[int], challenger: Sequence[int]) -> tuple[float, float]:
    """What the first keeps more, day by day: the mean, and half of its 95% interval.

    Runs of the one that has fewer are repeated.
    """
    days = max(len(top), len(challenger))
    more = np.resize(np.array(top, np.float64), days) - np.resize(np.array(challenger, np.float64), days)
    return float(more.mean()), _half(more)


def _named(contender: Contender) -> str:
    return contender.policy + ("" if contender.alpha is None else f" (alpha {contender.alpha:g} k)")


@dataclass(frozen=True)
class Fit:
    """How well a model explains what came after it was learned.

    Args:
        stream: the alias.
        held_out: the mean log probability of a tuple when the model was learned.
        now: of the tuples on the held-out days; None if there are none.
    """

    stream: str
    kind: str
    held_out: float | None
    now: float | None

    @property
    def drop(self) -> float | None:
        """By how much the mean log probability of a tuple has dropped, in nats; None if it is not known."""
        return None if self.held_out is None or self.now is None else self.held_out - self.now

    @property
    def drifted(self) -> bool:
        """Whether it no longer fits: the mean log probability has dropped by ``DRIFT`` or more."""
        return self.drop is not None and self.drop >= DRIFT

    def sentence(self) -> str:
        """What has become of it, where that is known."""
        assert self.held_out is not None and self.now is not None
        fell = f"{self.stream}: a tuple's mean log probability is {self.now:.2f} on the days since"
        return f"{fell}, {self.held_out - self.now:.2f} nats below the {self.held_out:.2f} of its {self.kind}"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; the drop follows from the rest."""
        return dict(vars(self), drop=self.drop, drifted=self.drifted)

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> Fit:
        """What ``to_json`` made an object of."""
        return cls(body["stream"], body["kind"], body["held_out"], body["now"])


def fits(case: Case, models: tuple[KeyModel, KeyModel], since: int | None = None) -> tuple[Fit, Fit]:
    """How well models explain the rows from ``since`` on; by default the held-out days."""
    first = case.cut if since is None else since
    engine = MemoryPass(case.plan)
    by_stream = []
    for side, alias in enumerate((case.plan.join.left, case.plan.join.right)):
        model = models[side]
        keys = [engine.key(row) for row in case.rows[first:] if row.side == side]
        kind = "shares" if model.moving is None else str(model.moving["kind"])
        now = model.likelihood([key_text(key) for key in keys], numbers_of(keys))
        by_stream.append(Fit(alias, kind, model.held_out, now))
    return by_stream[0], by_stream[1]
