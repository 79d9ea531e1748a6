"""The page of benchmarks is what the lines say, and a ratio that got worse is noticed. Nothing is timed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import states
from benchmarks.__main__ import NAMES, comparison, lines
from benchmarks.figures import FOLDER, FULL, MARGINS, QUICK, Result, Run, compared, read, write

from scripts import benchmarks
from scripts.imports import ROOT

LINE = Result("q5", "Q5", 1_000, 2.0, "s", "Spark's scan alone", 1.0, 2.0, aim=1.5)


@pytest.mark.parametrize("path", benchmarks.PAGES, ids=lambda path: path.name)
def test_a_page_is_what_the_lines_say(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == benchmarks.page(path), "make it again: python -m scripts.benchmarks"


@pytest.mark.parametrize("name", benchmarks.PICTURES)
def test_a_picture_is_what_would_be_drawn(name: str) -> None:
    drawn = benchmarks.PICTURES[name]()
    assert benchmarks.path_of(name).read_text(encoding="utf-8") == drawn, (
        "make it again: python -m scripts.benchmarks"
    )


def test_every_benchmark_is_run_has_a_margin_and_is_on_the_page() -> None:
    # Those of load print what they find, and have no peer.
    beside = {"__main__", "figures", "states", "history_polars", "live_hour", "load", "scale"}
    assert set(NAMES) == {file.stem for file in (ROOT / "benchmarks").glob("*.py")} - beside == set(MARGINS)
    shown = {name for section in benchmarks.SECTIONS.values() for name in section.names}
    assert shown | {"engines"} == set(NAMES)
    for name in NAMES:
        assert lines(FOLDER, name), name


def test_every_line_says_where_and_when() -> None:
    for file in FOLDER.glob("*.jsonl"):
        found = states.results(states.read(file)) if file.stem == "engines" else read(file)
        assert all(line.date and line.machine and line.versions and line.name == file.stem for line in found)


@pytest.mark.parametrize(
    ("now", "worse"), [(2.0, False), (2.0 * MARGINS["q5"], False), (2.1 * MARGINS["q5"], True), (0.1, False)]
)
def test_a_ratio_beyond_its_margin_is_worse(now: float, worse: bool) -> None:
    (found,) = compared([LINE], [replace(LINE, ratio=now)])
    assert found.worse is worse
    assert ("WORSE" in comparison([found])[-1]) is worse


def test_a_ratio_is_compared_with_the_same_size_and_peer_and_rather_with_the_same_form() -> None:
    quick = replace(LINE, form=QUICK, ratio=5.0)
    assert [one.committed for one in compared([quick, LINE], [quick])] == [5.0]
    assert [one.committed for one in compared([LINE], [quick])] == [2.0]
    others = [replace(LINE, size=1), replace(LINE, peer="DuckDB"), replace(LINE, case="Q6")]
    assert compared([LINE], [*others, replace(LINE, peer="", ratio=None)]) == []


def test_a_committed_ratio_that_is_worsened_fails() -> None:
    """All that is committed agrees with itself; with each ratio made ten times better it does not."""
    for name in NAMES:
        before = lines(FOLDER, name)
        assert not any(one.worse for one in compared(before, before))
        better = [replace(line, ratio=line.ratio / 10) for line in before if line.ratio is not None]
        assert all(one.worse for one in compared(better, before))


def test_a_line_takes_the_place_of_the_one_that_measured_the_same(tmp_path: Path) -> None:
    file = tmp_path / "q5.jsonl"
    quick, memory = replace(LINE, form=QUICK), Result("q5", "driver", 1_000, 299, "MB", spread=(290, 300))
    write(file, [LINE, quick, memory])
    write(file, [replace(LINE, figure=3.0)])
    assert read(file) == [replace(LINE, figure=3.0), quick, memory]


def test_a_figure_is_the_median_and_a_ratio_is_that_of_rounds(tmp_path: Path) -> None:
    run = Run("q5", tmp_path / "q5.jsonl", FULL, ["sqlglot"])
    line = run.add("Q5", 10, [1.0, 4.0, 2.0], "s", "scan", [1.0, 1.0, 4.0], aim=0.9)
    assert (line.figure, line.peer_figure, line.ratio, line.rounds) == (2.0, 1.0, 1.0, 3)
    assert (line.spread, line.ratios) == ((1.0, 4.0), (0.5, 4.0))
    assert not line.met and not run.met
    assert run.add("Q5", 10, [0.5], "s", aim=0.9).met
    assert read(run.file)[0] == line
    assert Run("q5", tmp_path / "quick.jsonl", QUICK).add("Q5", 10, [9.0], "s", aim=0.9).aim is None


def test_lines_of_engines_without_a_run_are_readable(tmp_path: Path) -> None:
    file = tmp_path / "engines.jsonl"
    one = states.Measured("bag", "streambound live", "units", "constant", "SELECT 1", [9, 18, 18], [1.0] * 3)
    states.add(file, states.Line(one, states.STEPS[QUICK], 180.0, {}))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(', "run": {}', ""), encoding="utf-8")
    (line,) = states.read(file)
    assert line.measured == one and one.right
    (found,) = states.results([line])
    assert (found.ratio, found.peer, found.size, found.form) == (1.0, "after 10,000 rows", 20_000, QUICK)
