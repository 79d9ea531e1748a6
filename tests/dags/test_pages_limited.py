"""A query in limited memory: one share and what it is of, and a slider that the advice answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.approximate.nights import USUAL, night
from tests.dags.test_pages import decide, evaluate, page

from streambound import settings
from streambound.approximate.nightly.advice import advice
from streambound.approximate.nightly.night import write
from streambound.results import CacheAnswer, QualityOutcome, Results

pytestmark = pytest.mark.airflow


@pytest.fixture
def store(working_folder: Path, registry: Path) -> Results:
    made = Results(f"sqlite:///{working_folder}/connected.db")
    decide(made, registry)
    return made


def kept(store: Results) -> None:
    """A partial answer of 400 of about 500 results, and a benchmark whose largest size keeps 85%."""
    evaluate(store, "unbounded", units=None)
    store.record_quality(QualityOutcome("e1", "unbounded", True, 4, kind="answers"))
    estimate = {"estimated_results": 500.0, "standard_error": 50.0, "estimated_share": 0.8}
    store.record_cache_answer(CacheAnswer("e1", "unbounded", 500, "lru", "it is best", 400, **estimate))
    sizes = [replace(one, half=0.125) if one.size == 500 else one for one in USUAL]
    write(settings.caches_root(), night(*sizes, query="unbounded"))


def test_each_share_says_of_what_over_which_days_and_how_surely(viewer: Any, store: Results) -> None:
    kept(store)
    seen = page(viewer, "queries/unbounded")
    text = " ".join(seen.text.split())
    # 0.8, give or take 1.96 times 0.8 times 50 of 500.
    assert "the last evaluationall 3 partitions that it rests on500lru400about 50080.0% ± 15.7%" in text
    assert "the last benchmark2026-01-07 to 2026-01-10500lru7001,00070.0% ± 12.5%" in text
    assert "partial, 80.0%" in text and not seen.all("span", class_="quality ok")
    found = viewer.get("api/v1/queries/unbounded/choices").json()
    assert (found["first_night"], found["night"], found["held_out"]) == ("2026-01-07", "2026-01-10", 4)
    assert [(one["size"], one["error"], one["optimum_share"]) for one in found["choices"]] == [
        (500, 0.125, 0.8),
        (100, None, 0.4),
        (2_000, None, 1.0),
    ]


def test_an_answer_is_partial_until_an_evaluation_has_all_of_it(viewer: Any, store: Results) -> None:
    kept(store)
    seen = page(viewer, "queries?quality=partial")
    assert "partial, 80.0%" in seen.text and "1 of 4 queries" in seen.text
    assert seen.all("span", class_="quality partial") and seen.all("a", href="queries/unbounded#caches")
    assert viewer.get("api/v1/queries").json()["qualities"]["partial"] == 1
    evaluate(store, "unbounded", "e2")
    store.record_quality(QualityOutcome("e2", "unbounded", True, 4, kind="answers"))
    for address in ("queries", "queries/unbounded"):
        seen = page(viewer, address)
        assert seen.all("span", class_="quality ok") and "partial, " not in seen.text


def test_the_slider_has_the_answer_of_the_advice_for_each_percent(viewer: Any, store: Results) -> None:
    kept(store)
    seen = page(viewer, "queries/unbounded")
    (slider,) = seen.all("input", id="keep")
    assert slider["value"] == "85"
    (place,) = seen.all("p", id="advice")
    answers = json.loads(str(place["data-answers"]))
    assert len(answers) == 100
    for percent, (sentence, size) in enumerate(answers, start=1):
        found = advice(night(*USUAL), percent / 100)
        assert size == (found.chosen.size if found.chosen else None)
        assert sentence.startswith("No size that was tried keeps it") is (size is None)
    assert answers[84][0] == (
        "2,000 tuples (14,000 units, some 224 KB) keep 85.0% under fifo. The best choice there could be needs"
        " about 875 tuples (6,125 units, some 98 KB)."
    )
    assert answers[84][0] in " ".join(seen.text.split())
    assert "-- cache size: 2000" in seen.text


def test_without_results_on_the_held_out_days_there_is_no_advice(viewer: Any, store: Results) -> None:
    write(settings.caches_root(), night(*USUAL, query="unbounded", results=0))
    seen = page(viewer, "queries/unbounded")
    assert not seen.all("input", id="keep") and "What the benchmark chose" in seen.text
