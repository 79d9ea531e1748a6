"""The nightly choice: held-out days are judged on models of the days before, and the rule is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streambound.approximate.evaluation import Tuple
from streambound.approximate.nightly.benchmark import (
    Case,
    Contender,
    Trial,
    best,
    choose,
    contenders,
    fits,
    judged,
    learned,
    possible,
    share_half,
    trial,
)
from streambound.approximate.nightly.drift import drifts
from streambound.approximate.nightly.night import Night, OfSize
from streambound.approximate.plan import memory_plan
from streambound.approximate.policies import POLICIES
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import DataError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement

CATALOG = catalog_from_mapping(
    {name: {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"} for name in ("S", "T")}
)
DAYS = tuple(f"2026-01-{day:02}" for day in range(1, 11))


def case(keys: np.ndarray, lag: int = 0) -> Case:
    """A tuple a moment, of S and T in turn (T with keys of ``lag`` before); four of ten days are held out."""
    sql = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts"
    plan = memory_plan(statement(sql, CATALOG, "q"), 10)
    sides = [at % 2 for at in range(len(keys))]
    rows = [
        Tuple(side, at, (int(key) - lag * side,))
        for at, (side, key) in enumerate(zip(sides, keys, strict=True))
    ]
    carried = [len(stream.carried) for stream in plan.streams]
    rows = [row._replace(values=(*row.values, row.moment)[: carried[row.side]]) for row in rows]
    day = tuple(at * len(DAYS) // len(keys) for at in range(len(keys)))
    return Case(plan, tuple(rows), day, DAYS, 4)


def skewed(steps: int = 4_000) -> np.ndarray:
    draws = np.random.default_rng(5)
    return np.minimum(draws.zipf(1.4, steps), 500)


def moving(steps: int = 4_000, slope: float = 0.5) -> np.ndarray:
    return np.floor(slope * np.arange(steps)) + np.random.default_rng(4).integers(-30, 31, steps)


def all_trials(given: Case, size: int, seed: int = 0) -> list[Trial]:
    models = given.models()
    return [
        trial(given, each, size, each.selected_policy(size, models, given.pace, seed))
        for each in contenders(POLICIES)
    ]


@pytest.mark.parametrize("keys", [skewed(), moving()])
@pytest.mark.parametrize("size", [5, 40])
def test_no_policy_is_above_the_optimum_nor_it_above_all_results(keys: np.ndarray, size: int) -> None:
    given = case(keys)
    top, every = best(given, [size])[size], sum(possible(given))
    found = [sum(one.kept) for one in all_trials(given, size)]
    assert 0 < max(found) <= top <= every


def test_where_keys_stay_the_same_the_probability_of_a_key_decides() -> None:
    found = {one.contender.policy: sum(one.kept) for one in all_trials(case(skewed()), 20)}
    assert found["prob"] > max(found["lru"], found["fifo"], found["rand"])


def test_where_keys_move_heeb_with_the_trend_wins() -> None:
    given = case(moving(), lag=90)
    found = all_trials(given, 10)
    contender, why = choose(found)
    assert contender.policy == "heeb" and "keeps the most" in why
    assert {fit.kind for fit in fits(given, given.models())} == {"trend"}


def test_of_equals_the_simpler_one_is_chosen() -> None:
    trials = [Trial(Contender("heeb", 1.0), 5, (120, 140, 122)), Trial(Contender("fifo"), 5, (126, 127, 126))]
    contender, why = choose(trials)
    assert contender == Contender("fifo") and "cannot be told" in why


def test_much_less_is_no_tie_however_few_days_there_are() -> None:
    trials = [Trial(Contender("prob"), 5, (0, 14, 1)), Trial(Contender("fifo"), 5, (0, 2, 0))]
    assert choose(trials)[0] == Contender("prob")


def test_one_that_is_better_every_day_is_chosen() -> None:
    trials = [Trial(Contender("heeb", 1.0), 5, (20, 24, 22)), Trial(Contender("fifo"), 5, (11, 12, 12))]
    assert choose(trials)[0].policy == "heeb"


def test_runs_of_rand_are_averaged() -> None:
    one = judged([Trial(Contender("rand"), 5, (10, 20)), Trial(Contender("rand"), 5, (20, 30))])
    assert one.kept == 40 and one.mean == 20 and one.half > 0


def test_a_trend_that_changes_is_a_drift_and_refitting_ends_it() -> None:
    before, after = moving(), moving(2_600, -0.5) + 2_000
    models = learned(case(before).plan, case(before).rows)
    changed = case(np.concatenate([before[-3_900:], after]))
    assert [fit.drifted for fit in fits(changed, models)] == [True, True]
    calm = case(np.concatenate([before, moving(2_660) + 2_000]))
    assert [fit.drifted for fit in fits(calm, models)] == [False, False]
    later = case(moving(4_000, -0.5))
    assert [fit.drifted for fit in fits(later, later.models())] == [False, False]


def test_a_drift_is_looked_for_on_the_days_since() -> None:
    before = case(moving(4_800, 0.5))
    models = learned(before.plan, before.rows)
    selected_policy = SelectedPolicy("heeb", 5.0, models)
    size = OfSize(10, 30, 1, (), selected_policy, 1)
    night = Night("q", "", "", DAYS[:8], 3, len(before.rows), 1, (size,), ())
    # Of ten days two are new.
    on = np.concatenate([moving(4_800), moving(1_200) + 2_400])
    changed = np.concatenate([moving(4_800), moving(1_200, -0.5) + 2_400])
    assert [fit.drifted for fit in drifts(case(on), night)] == [False, False]
    assert [fit.drifted for fit in drifts(case(changed), night)] == [True, True]
    assert drifts(case(on), replace(night, days=DAYS)) == ()
    assert drifts(case(on), None) == ()


def test_too_little_history_is_refused() -> None:
    with pytest.raises(DataError, match="to learn from"):
        case(skewed(10))
    with pytest.raises(DataError, match="10 of 10 days are to be held out"):
        replace(case(skewed()), held_out=10)
    with pytest.raises(DataError, match="'best' is unknown"):
        contenders(["best"])


def test_the_interval_of_a_share_is_that_of_a_ratio_day_by_day() -> None:
    fifo = Contender("fifo")
    # A half of each day, however many results a day has: there is nothing to doubt.
    assert share_half([Trial(fifo, 5, (5, 50, 500))], (10, 100, 1_000)) == pytest.approx(0, abs=1e-12)
    # By hand: of 30 results 15; residuals 2 and -2; Student's t of one degree of freedom is 12.706.
    assert share_half([Trial(fifo, 5, (7, 8))], (10, 20)) == pytest.approx(12.706 * 2 / 15, rel=1e-4)
    assert share_half([Trial(fifo, 5, (7,))], (10,)) is None
    assert share_half([Trial(fifo, 5, (0, 0))], (0, 0)) is None
