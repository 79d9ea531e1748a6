"""The picture of a query's caches: every policy, the optimum and the choice are on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest
from tests.approximate.nights import USUAL, night, of_size

from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import StorageError
from streambound.report.trade_off import draw


def text_of(path: Path) -> str:
    """What an SVG says; matplotlib names each text in a comment beside its outlines."""
    return path.read_text(encoding="utf-8")


def test_the_picture_names_what_is_on_it(tmp_path: Path) -> None:
    path = tmp_path / "made" / "q.svg"
    draw(night(*USUAL), path)
    found = text_of(path)
    for text in ("optimum", "chosen", "lru", "fifo", "chosen: fifo, 85.0%", "14,000 units"):
        assert f"<!-- {text} -->" in found, text
    assert "<!-- q: 4 held-out days to 2026-01-10, 1,000 results -->" in found
    first = path.read_bytes()
    draw(night(*USUAL), path)
    assert path.read_bytes() == first


def test_the_picture_says_what_the_estimate_is_worth(tmp_path: Path) -> None:
    holds, wrong = Accuracy(40, 1_000, 900.0, 50.0), Accuracy(40, 1_000, 700.0, 50.0)
    first, *others = USUAL
    draw(night(replace(first, estimate=holds), *others), tmp_path / "q.svg")
    said = "over these days alone: 1,000 results, and the estimate, {} ± 200, {}"
    assert f"<!-- {said.format(900, 'holds')} -->" in text_of(tmp_path / "q.svg")
    draw(
        night(replace(first, estimate=holds), *(replace(one, estimate=wrong) for one in others)),
        tmp_path / "q.svg",
    )
    assert f"<!-- {said.format(700, 'does not hold')} -->" in text_of(tmp_path / "q.svg")


def test_a_choice_that_stands_need_not_have_taken_part(tmp_path: Path) -> None:
    stands = replace(USUAL[0], selected_policy=SelectedPolicy("rand"), chosen=None, kept=600)
    draw(night(stands), tmp_path / "q.svg")
    assert "chosen: rand, 60.0%" in text_of(tmp_path / "q.svg")


def test_sizes_that_are_close_have_room_for_their_choices(tmp_path: Path) -> None:
    close = of_size(2_200, 1_000, {"lru": 900}, "lru")
    draw(night(*USUAL, close), tmp_path / "q.svg")
    assert "<!-- 2,200: lru, 90.0% -->" in text_of(tmp_path / "q.svg")
    assert "units" not in text_of(tmp_path / "q.svg")


def test_many_sizes_and_another_format(tmp_path: Path) -> None:
    sizes = [of_size(size, 900, {"lru": 10 * at}, "lru") for at, size in enumerate(range(10, 150, 10))]
    draw(night(*sizes), tmp_path / "q.png")
    height, width, _ = matplotlib.image.imread(tmp_path / "q.png").shape
    assert (width, height) == (1_200, 750)


def test_without_results_it_says_so(tmp_path: Path) -> None:
    draw(night(*USUAL, results=0), tmp_path / "q.svg")
    assert "<!-- nothing to keep: there were no results -->" in text_of(tmp_path / "q.svg")


def test_a_disk_that_refuses_is_an_outside_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"q\.svg"):
        draw(night(*USUAL), tmp_path / "file" / "q.svg")
