"""What the evaluation's own estimate is worth: exact numbers are counted once more, by hand."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from tests.approximate.test_benchmark import case, skewed

from streambound.approximate.nightly.accuracy import ERRORS, Accuracy, accuracy_of
from streambound.approximate.selected_policy import SelectedPolicy


def pairs(keys: np.ndarray) -> int:
    """Pairs of S, then T, with one key, where S and T take turns."""
    return sum(int(np.sum(keys[:at:2] == keys[at])) for at in range(1, len(keys), 2))


def test_where_all_keys_fit_the_sample_results_are_counted() -> None:
    given = case(skewed())
    found = accuracy_of(given, SelectedPolicy("lru"), 10)
    assert found.exact == pairs(skewed()[given.cut :]) == found.estimated
    assert 0 < found.results < found.exact and found.error == 0 and found.off == 0 and found.holds
    assert found.fraction == found.estimated_share == found.results / found.exact
    everything = accuracy_of(given, SelectedPolicy("fifo"), 10_000)
    assert everything.results == found.exact and everything.fraction == 1


def test_where_keys_are_sampled_the_truth_is_in_the_stated_interval() -> None:
    keys = np.arange(40_000) * 7919 % 1999
    given = case(keys)
    sampling = replace(given, plan=replace(given.plan, sampled=300))
    found = accuracy_of(sampling, SelectedPolicy("lru"), 50)
    assert found.exact == pairs(keys[given.cut :])
    assert found.error > 0 and found.estimated != found.exact and found.holds
    # The estimate is of all results, whichever of them are kept.
    other = accuracy_of(sampling, SelectedPolicy("rand"), 5)
    assert (other.estimated, other.error, other.exact) == (found.estimated, found.error, found.exact)


@pytest.mark.parametrize(
    ("found", "off", "holds", "told"),
    [
        (Accuracy(5, 100, 90.0, 5.0), 2.0, True, "found 5 of 100 results, 5.0%; it estimated 90 with a"),
        (Accuracy(5, 100, 90.0, 5.0), 2.0, True, "standard error of 5 and so 5.6%: off by 2.0 standard"),
        (Accuracy(5, 100, 79.9, 5.0), 4.02, False, "off by 4.0 standard errors, more than 4"),
        (Accuracy(5, 100, 120.0, 5.0), ERRORS, True, "off by 4.0 standard errors"),
        (Accuracy(5, 100, 99.0), inf, False, "it estimated 99, counted, which is wrong"),
        (Accuracy(5, 100, 100.0), 0.0, True, "it estimated 100, counted"),
        (Accuracy(0, 0, 0.0), 0.0, True, "found 0 of 0 results; it estimated 0, counted"),
        (Accuracy(5, 100), None, True, "found 5 of 100 results and could not estimate them"),
        (Accuracy(0, 4, 0.0, 0.0), inf, False, "it estimated 0, counted, which is wrong"),
    ],
)
def test_what_is_said_of_an_estimate(found: Accuracy, off: float | None, holds: bool, told: str) -> None:
    assert found.off == (None if off is None else pytest.approx(off)) and found.holds == holds
    assert told in found.sentence()
    assert Accuracy.of_json(found.to_json()) == found
