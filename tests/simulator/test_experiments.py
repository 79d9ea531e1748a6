"""The experiments of section 6, small: what they count, how they are drawn, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from streambound.cli import main
from streambound.simulator.contract import Memory
from streambound.simulator.experiments.allocation import share_of_first
from streambound.simulator.experiments.cells import Counted, cells, relative_results
from streambound.simulator.experiments.joined import counted_run, draw, policies_of
from streambound.simulator.experiments.knowledge import knowing
from streambound.simulator.experiments.pictures import same_runs
from streambound.simulator.experiments.report import report
from streambound.simulator.experiments.sweep import Task, counted, flow_expect_tasks, swept, tasks
from streambound.simulator.policies import NAMED


def test_runs_differ_and_repeat() -> None:
    one, again, other = draw("floor", 0, 300), draw("floor", 0, 300), draw("floor", 1, 300)
    assert (one.values[one.arrivals] == again.values[again.arrivals]).all()
    assert (one.values[one.arrivals] != other.values[other.arrivals]).any()
    noise = one.values[one.arrivals] - np.array([np.arange(300) - 1, np.arange(300)])
    assert np.abs(noise).max(axis=1).tolist() == [10, 15]


@pytest.mark.parametrize("config", ["tower", "roof", "floor", "walk"])
def test_no_policy_beats_the_optimum_in_any_run_and_heeb_beats_rand(config: str) -> None:
    found = [each for run in range(4) for each in counted_run(config, run, (2, 5, 10), 600)]
    assert list(dict.fromkeys(each.policy for each in found)) == list(policies_of(config))
    best = {(each.run, each.size): each.results for each in found if each.policy == "opt-offline"}
    assert all(each.results <= best[each.run, each.size] for each in found)
    mean = {(cell.policy, cell.size): cell.mean for cell in cells(found)}
    assert all(mean["rand", size] <= mean["heeb", size] for size in (2, 5, 10))


def test_means_and_intervals_are_of_the_runs() -> None:
    runs = []
    for run in range(3):
        given = draw("tower", run, 400)
        known = knowing(given, Memory(5, warmup=20, seed=run), "tower")
        runs.append(NAMED["heeb"].joining(given, known).results[20:].sum())
    found = cells(each for run in range(3) for each in counted_run("tower", run, (5,), 400))
    (heeb,) = [cell for cell in found if cell.policy == "heeb"]
    assert heeb.mean == pytest.approx(np.mean(runs)) and heeb.runs == 3
    # Student's 97.5% quantile with two degrees of freedom.
    assert heeb.interval == pytest.approx(4.302653 * np.std(runs, ddof=1) / np.sqrt(3))
    assert cells([Counted("a", "b", 1, 0, 2.0)])[0].interval is None


def test_threads_count_what_one_task_after_the_other_counts() -> None:
    some = [Task("joined", config, run, None, (3, 6), 300) for config in ("roof", "walk") for run in (0, 1)]
    told: list[tuple[int, int]] = []
    found = swept(some, lambda done, of: told.append((done, of)))
    assert found == [each for task in some for each in counted(task)]
    assert told == [(done, 4) for done in (1, 2, 3, 4)]


def test_tasks_are_all_runs_of_all_policies() -> None:
    every = tasks(["tower", "real"], 3)
    assert sum(task.kind == "joined" for task in every) == 3
    assert len(set(every)) == len(every)
    assert sum(task.config == "real" and task.policy == "rand" for task in every) == 3
    ahead = flow_expect_tasks(["tower"], 1)[1]
    found = [each for each in counted(Task(ahead.kind, ahead.config, 0, None, (), 120))]
    assert {each.policy for each in found} == {"flow-expect", "opt-offline", "heeb", "life", "prob", "rand"}
    best = max(each.results for each in found if each.policy == "opt-offline")
    assert all(each.results <= best for each in found)


def test_share_of_the_first_stream() -> None:
    # R's tuples are cached after steps 0 and 1, and 1; S's after step 2, and never.
    kept_until = np.array([[2, 2, 2], [0, 1, 3]])
    assert share_of_first(kept_until, 0) == pytest.approx(3 / 4)
    assert share_of_first(kept_until, 2) == 0.0


def numbers(config: str, policy: str, size: int, *results: float) -> list[Counted]:
    return [Counted(config, policy, size, run, each) for run, each in enumerate(results)]


def test_the_report_says_where_intervals_overlap_and_why() -> None:
    found = [
        *numbers("tower", "opt-offline", 5, 100.0, 120.0),
        *numbers("tower", "opt-offline", 6, 100.0, 120.0),
        *numbers("tower", "heeb", 5, 90.0, 91.0),
        *numbers("tower", "heeb", 6, 100.0, 119.0),
        *numbers("tower", "rand", 5, 50.0, 51.0),
        *numbers("tower", "rand", 6, 99.0, 118.0),
    ]
    text = "\n".join(report(found))
    assert "HEEB over RAND, intervals apart: sizes 5." in text
    assert (
        "overlap at 6: there HEEB has 99.5% to 99.5% of OPT-offline's results and RAND 98.6% to 98.6%" in text
    )
    assert "ahead (95%) at 6" in text
    assert "HEEB within 1% of OPT-offline: sizes 6." in text


def test_shares_are_of_the_optimum_in_the_same_run() -> None:
    found = [
        *numbers("walk", "opt-offline", 10, 100.0, 10.0, 0.0),
        *numbers("walk", "heeb", 10, 50.0, 2.0, 0.0),
        *numbers("walk", "heeb", 11, 50.0),
    ]
    assert relative_results(found, "opt-offline") == [
        *numbers("walk", "opt-offline", 10, 1.0, 1.0),
        *numbers("walk", "heeb", 10, 0.5, 0.2),
    ]


def test_figure_8_compares_the_runs_that_flow_expect_has() -> None:
    rest = [*numbers("walk", "heeb", 10, 1.0, 2.0, 3.0), *numbers("walk", "heeb", 11, 9.0)]
    assert same_runs(rest) == rest[:3]
    few = numbers("walk", "flow-expect", 10, 1.0, 2.0)
    assert same_runs([*rest, *few]) == [*rest[:2], *few]


def test_the_command_writes_numbers_report_and_pictures(tmp_path: Path, capsys) -> None:
    assert main(["cache", "bench", "--config", "floor", "--runs", "2", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    printed = told.out.splitlines()
    assert printed == (tmp_path / "figures.jsonl").read_text().splitlines()
    assert {json.loads(line)["size"] for line in printed} == set(range(1, 51))
    rows = pyarrow.parquet.read_table(tmp_path / "runs.parquet").to_pylist()
    assert {row["run"] for row in rows} == {0, 1} and len(rows) == 2 * len(printed)
    assert "## FLOOR" in (tmp_path / "report.md").read_text() and "peak memory" in told.err
    figures = {path.name for path in tmp_path.glob("*.png")}
    assert {"figure-11-floor.png", "figure-08-compared.png", "figure-06-h1.png"} <= figures
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "dome"], "there is no configuration 'dome'"),
        (["--runs", "0"], "--runs is 0"),
        (["--flow-expect", "-1"], "--flow-expect is -1"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], message: str, capsys) -> None:
    assert main(["cache", "bench", *arguments]) == 2
    assert message in capsys.readouterr().err
