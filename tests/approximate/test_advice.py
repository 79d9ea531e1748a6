"""How much memory keeps a share: the smallest size that was tried, and estimates between sizes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.approximate.nights import RESULTS, USUAL, night, of_size

from streambound.approximate.keys import learn
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.advice import Reaches, advice
from streambound.approximate.nightly.benchmark import Contender, Fit, Judged
from streambound.approximate.nightly.night import Night
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import DataError, QueryError


@pytest.mark.parametrize(
    ("target", "chosen", "optimum"),
    [
        (0.2, Reaches(100, 700, None), Reaches(100, 700, 50)),
        (0.45, Reaches(500, 3_500, 300), Reaches(500, 3_500, 150)),
        (0.7, Reaches(500, 3_500, None), Reaches(500, 3_500, 400)),
        (0.85, Reaches(2_000, 14_000, None), Reaches(2_000, 14_000, 875)),
        (0.9, None, Reaches(2_000, 14_000, 1_250)),
        (1.0, None, Reaches(2_000, 14_000, None)),
        (0.05, Reaches(100, 700, 25), Reaches(100, 700, 13)),
    ],
)
def test_the_smallest_size_and_the_line_to_it(
    target: float, chosen: Reaches | None, optimum: Reaches | None
) -> None:
    found = advice(night(*USUAL), target)
    assert (found.chosen, found.optimum) == (chosen, optimum)
    assert found.reached == (chosen is not None)


def test_where_not_even_the_optimum_reaches_it() -> None:
    found = advice(night(of_size(10, 300, {"lru": 200}, "lru")), 0.5)
    assert found.chosen is None and found.optimum is None


def test_policies_that_keep_more_than_the_chosen_one_are_named() -> None:
    found = advice(night(*USUAL), 0.5)
    assert [at_size.of.size for at_size in found.kept_by_size] == [100, 500, 2_000]
    assert [at_size.ahead for at_size in found.kept_by_size] == [(), (), (("lru", 0.9),)]


def test_why_names_what_keeps_more_and_of_heeb_the_best() -> None:
    lru, fifo = USUAL[0].judged
    assert USUAL[0].ahead == () and USUAL[0].why == "lru was chosen; no policy keeps more"
    heeb = [Judged(Contender("heeb", alpha), 500, kept, 1.0, 0.0) for alpha, kept in ((1.0, 705), (4.0, 710))]
    passed_over = replace(USUAL[0], judged=(lru, *heeb, fifo, replace(heeb[0], kept=700)))
    assert [(one.contender.alpha, one.kept) for one in passed_over.ahead] == [(4.0, 710)]
    why = "lru was chosen; more results than the 700 of the chosen one were kept by heeb 710"
    assert passed_over.why == passed_over.to_json()["why"] == why
    assert [one["kept"] for one in passed_over.to_json()["ahead"]] == [710]


def test_a_night_is_read_back_also_one_that_an_earlier_release_wrote() -> None:
    models = (learn(["[1]", "[2]"], 0.5), learn(["[1]"], 0.5))
    sizes = (replace(USUAL[0], estimate=Accuracy(5, 10, 9.5, 0.5)), *USUAL[1:])
    found = replace(night(*sizes), models=models, drifts=(Fit("S", "shares", -1.0, -2.0),))
    body = json.loads(json.dumps(found.to_json()))
    assert Night.of_json(body) == found and found.models_used == models
    del body["models"]
    for size in body["sizes"]:
        del size["estimate"], size["why"], size["ahead"]
    older = Night.of_json(body)
    assert older.sizes == USUAL and older.models is None and older.models_used is None
    chosen = replace(USUAL[1], selected_policy=SelectedPolicy("prob", models=models))
    assert replace(older, sizes=(USUAL[0], chosen)).models_used == models


@given(
    kept=st.lists(st.tuples(st.integers(0, RESULTS), st.integers(0, RESULTS)), min_size=1, max_size=5),
    target=st.floats(0.001, 1),
)
def test_an_answer_holds_and_nothing_smaller_that_was_tried_does(
    kept: list[tuple[int, int]], target: float
) -> None:
    sizes = [of_size(10**at, max(pair), {"lru": min(pair)}, "lru") for at, pair in enumerate(kept, start=1)]
    found = advice(night(*sizes), target)
    enough = [one.size for one in sizes if one.kept >= target * RESULTS]
    assert ([] if found.chosen is None else [found.chosen.size]) == enough[:1]
    if found.chosen is not None:
        assert found.optimum is not None and found.optimum.size <= found.chosen.size
        below = max([0, *(one.size for one in sizes if one.size < found.chosen.size)])
        assert found.chosen.estimated is None or below < found.chosen.estimated < found.chosen.size


@pytest.mark.parametrize("target", [0.0, -0.5, 1.01, float("nan"), float("inf")])
def test_a_target_is_a_share(target: float) -> None:
    with pytest.raises(QueryError, match="the target is"):
        advice(night(*USUAL), target)


def test_without_results_there_is_no_advice() -> None:
    with pytest.raises(DataError, match="no results on the last 4 of 10 days"):
        advice(night(*USUAL, results=0), 0.5)
