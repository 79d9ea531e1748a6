"""The picture of a query's caches: every policy, the optimum and the choice are on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest
from tests.approximate.nights import USUAL, night, of_size

from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import Fit
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import StorageError
from streambound.report.cache_tables import kept, trade_off
from streambound.report.trade_off import draw
from streambound.results import CacheAnswer


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


TABLE = """\
q: what is kept of 1,000 results on the last 4 of 10 days, 2026-01-01 to 2026-01-10
    k   units     lru    fifo  optimum  chosen
-----  ------  ------  ------  -------  ------------
  100     700  20.00%  10.00%   40.00%  lru, 20.00%
  500   3,500  70.00%  65.00%   80.00%  lru, 70.00%
2,000  14,000  90.00%  85.00%  100.00%  fifo, 85.00%
k = 2,000: lru 90.00% kept more, and was not chosen: fifo was chosen
k = 500: over these days alone a pass found 5 of 10 results, 50.0%; it estimated 10, counted
its streams have drifted: S: a tuple's mean log probability is -4.00 on the days since, 1.00 nats below \
the -3.00 of its walk"""


def test_the_table_has_every_policy_and_says_where_another_keeps_more() -> None:
    first, *others = USUAL
    found = night(replace(first, estimate=Accuracy(5, 10, 10.0)), *others)
    drifted = replace(found, drifts=(Fit("S", "walk", -3.0, -4.0), Fit("T", "walk", -3.0, -3.4)))
    assert trade_off(drifted) == TABLE
    assert "no policy keeps more than the chosen one at any size" in trade_off(night(*USUAL[:2]))


def test_how_much_of_the_exact_answer_there_is() -> None:
    found = CacheAnswer("r", "q", 500, "prob", "why", 20, estimated_results=900, standard_error=50.4)
    assert kept(found, 3_500, 1_000) == (
        "q: of 1,000 results in all 20 were found (2.00%) in 500 tuples (3,500 units) under prob;"
        " it estimated 900, with a standard error of 50"
    )
    unknown = replace(found, results=0, estimated_results=None)
    assert kept(unknown, None, 0) == (
        "q: of 0 results in all 0 were found in 500 tuples under prob;"
        " it could not estimate how many there are"
    )


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
