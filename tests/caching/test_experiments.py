"""The experiments of section 6, small: what they count, how they are drawn, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from streambound.caching.contract import Memory
from streambound.caching.experiments import draw, experiment, policies_of
from streambound.caching.knowledge import knowing
from streambound.caching.policies import NAMED
from streambound.cli import main


def test_runs_differ_and_repeat() -> None:
    one, again, other = draw("floor", 0, 300), draw("floor", 0, 300), draw("floor", 1, 300)
    assert (one.values[one.arrivals] == again.values[again.arrivals]).all()
    assert (one.values[one.arrivals] != other.values[other.arrivals]).any()
    noise = one.values[one.arrivals] - np.array([np.arange(300) - 1, np.arange(300)])
    assert np.abs(noise).max(axis=1).tolist() == [10, 15]


@pytest.mark.parametrize("config", ["tower", "roof", "floor", "walk"])
def test_no_policy_beats_the_optimum_and_heeb_beats_rand(config: str) -> None:
    cells = list(experiment(config, runs=4, sizes=(2, 5, 10), steps=600))
    assert [cell.policy for cell in cells[::3]] == list(policies_of(config))
    mean = {(cell.policy, cell.size): cell.mean for cell in cells}
    for (policy, size), found in mean.items():
        assert found <= mean["opt-offline", size]
        assert policy != "rand" or found <= mean["heeb", size]


def test_means_are_of_the_runs() -> None:
    (optimum, heeb, *_) = experiment("tower", runs=3, sizes=(5,), steps=400)
    runs = []
    for run in range(3):
        given = draw("tower", run, 400)
        known = knowing(given, Memory(5, warmup=20, seed=run), "tower")
        runs.append(NAMED["heeb"].joining(given, known).results[20:].sum())
    assert heeb.mean == pytest.approx(np.mean(runs))
    assert heeb.interval == pytest.approx(2.01 * np.std(runs, ddof=1) / np.sqrt(3))
    assert optimum.runs == 3


def test_the_command_writes_numbers_and_pictures(tmp_path: Path, capsys) -> None:
    assert main(["cache", "bench", "--config", "tower", "--runs", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == (tmp_path / "figures.jsonl").read_text().splitlines()
    assert {json.loads(line)["size"] for line in printed} == set(range(1, 51))
    assert (tmp_path / "tower.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--config", "dome"], "there is no configuration 'dome'"), (["--runs", "0"], "--runs is 0")],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], message: str, capsys) -> None:
    assert main(["cache", "bench", *arguments]) == 2
    assert message in capsys.readouterr().err
