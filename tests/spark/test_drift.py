"""A stream that changes its trend, as three nights of the benchmark see it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.spark import histories
from tests.spark.conftest import simulate_here
from tests.spark.moments import Rows, write
from tests.spark.test_k_memory import CATALOG, JOIN, case_of

from streambound.approximate.nightly.advice import advice
from streambound.approximate.nightly.benchmark import DRIFT
from streambound.approximate.nightly.night import Night, read
from streambound.history.local import LocalExecutor
from streambound.query.parse import statement
from streambound.query.registry import RegisteredQuery
from streambound.report.advice import advice_text
from streambound.spark.applications.cache_benchmark import Wanted, benchmark_caches

A_DAY = 400


def trending(slopes: list[float], seed: int = 3) -> list[Rows]:
    """A day of S and T in turn for each slope: keys are noise around a line, of T those of 60 steps ago."""
    chance = np.random.default_rng(seed)
    centre = np.cumsum(np.repeat(slopes, A_DAY))
    keys = np.floor(centre) + chance.integers(-20, 21, len(centre))
    late = np.concatenate([keys[:60], keys[:-60]])
    rows = [
        {"stream": "ST"[at % 2], "ts": at, "A": int((keys, late)[at % 2][at]), "C": "x"}
        for at in range(len(keys))
    ]
    return [rows[at : at + A_DAY] for at in range(0, len(rows), A_DAY)]


class Nights:
    """A history that grows, and a benchmark a night; of days that are known only the new ones are written."""

    def __init__(self, folder: Path, policies: tuple[str, ...]) -> None:
        self.folder, self.told = folder, list[str]()
        self.wanted = Wanted(sizes=(10,), policies=policies, days=10, held_out=3, runs=1)

    def __call__(self, days: list[Rows]) -> Night:
        query = statement(JOIN, CATALOG, "q")
        # Names of two digits, so that they are in order.
        for number, rows in enumerate(days, start=10):
            write(case_of(query), number, rows, self.folder)
        catalog = histories.placed(CATALOG, self.folder)
        found = benchmark_caches(
            LocalExecutor(1),
            simulate_here,
            [RegisteredQuery("q", JOIN, Path("q.sql"))],
            catalog,
            self.folder / "caches",
            self.wanted,
            progress=self.told.append,
        )
        assert isinstance(found[0], Night), found
        return found[0]


@pytest.mark.parametrize(("policies", "chosen"), [(("lru", "heeb"), "heeb"), (("fifo", "lru"), "lru")])
def test_a_trend_that_changes_is_told_that_night_and_models_follow_it(
    tmp_path: Path, policies: tuple[str, ...], chosen: str
) -> None:
    days, night = trending([0.5] * 10 + [-0.5] * 4), Nights(tmp_path, policies)
    calm = night(days[:10])
    assert not calm.drifted and calm.sizes[0].selected_policy.policy == chosen
    assert "learned anew" not in calm.sizes[0].selected_policy.why
    night.told.clear()
    changed = night(days[:12])
    assert changed.drifted and {fit.stream for fit in changed.drifts if fit.drifted} == {"S", "T"}
    assert all(fit.drop is not None and fit.drop >= DRIFT for fit in changed.drifts)
    told = [line for line in night.told if "its streams have drifted" in line]
    assert len(told) == 2 and "on the days since, " in told[0] and " nats below the " in told[0]
    # What stood has no say, also where it needs no model; and it is said why.
    assert changed.sizes[0].chosen is not None
    why = changed.sizes[0].selected_policy.why
    assert f"left those before: S by {changed.drifts[0].drop:.2f} nats a tuple, T by " in why
    assert why in changed.to_json()["sizes"][0]["why"]
    text = advice_text(advice(changed, 0.5))
    assert "its streams had drifted from what was known of them, and models were learned anew" in text
    assert changed.drifts[0].sentence() in text
    # Learned anew, the models explain what comes: nothing is told, and the choice stands.
    after = night(days)
    assert not after.drifted and len(after.drifts) == 2 and after.sizes[0].selected_policy.policy == chosen
    assert all(abs(fit.drop or 0.0) < DRIFT for fit in after.drifts)
    assert read(tmp_path / "caches", "q") == after


def test_a_trend_that_goes_on_is_no_drift(tmp_path: Path) -> None:
    days, night = trending([0.5] * 14), Nights(tmp_path, ("lru", "heeb"))
    for known in (10, 12, 14):
        found = night(days[:known])
        assert not found.drifted and len(found.drifts) == (0 if known == 10 else 2)
    assert not any("drifted" in line for line in night.told)
