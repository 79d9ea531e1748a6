"""The table that a run ends with."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from streambound.report.tables import aligned, demo_table
from streambound.results import Answer, CacheAnswer, QualityOutcome, Results

EXPECTED = """\
query|verdict|units|rows read|answer rows|quality|note
broken|invalid|-|-|-|-|no stream X
hubs|bounded|1,000|655,867|12,345|flights: 2013-01-02 and 1 more|without 2013-01-02 and 1 more
plain|bounded|0|10|4|ok
rate|bounded|2,432|10|4|answers: 3 counts are not positive|units: rows per timestamp of S
tails|unbounded|-|-|-|-|S.tailnum has no bound: it is compared only with T.tailnum, which ...
"""


def test_one_line_a_query(tmp_path: Path) -> None:
    results = Results(f"sqlite:///{tmp_path}/results.db")
    why = "S.tailnum has no bound: it is compared only with T.tailnum, which has no bound either"
    results.record_verdicts(
        "r",
        [
            {"query": "hubs", "verdict": "bounded", "units": 1000},
            {"query": "plain", "verdict": "bounded", "units": 0, "reasons": [{"message": "local"}]},
            {"query": "rate", "verdict": "bounded", "units_formula": "rows per timestamp of S"},
            {"query": "tails", "verdict": "unbounded", "reasons": [{"message": why}]},
            {"query": "broken", "verdict": "invalid", "error": "no stream X"},
        ],
        dt.datetime(2013, 1, 1, tzinfo=dt.UTC),
    )
    missing = ("2013-01-02", "2013-01-09")
    results.record_answer(
        Answer("r", "hubs", 363, 655_867, 12_345, missing_partitions=missing, streams=["flights"])
    )
    results.record_answer(Answer("r", "plain", 1, 10, 4, streams=["weather"]))
    results.record_answer(Answer("r", "rate", 1, 10, 4, streams=["weather"], units=2432))
    failed = [{"partition": name, "reasons": ["1 NULL in column a"]} for name in missing]
    results.record_quality(QualityOutcome("r", "flights", False, 5, failed=failed))
    results.record_quality(QualityOutcome("r", "weather", True, 5))
    bad = [{"reasons": ["3 counts are not positive"]}]
    results.record_quality(QualityOutcome("r", "rate", False, 4, "answers", bad))
    heading, _, *lines = demo_table(results).splitlines()
    assert [re.sub(" {2,}", "|", line) for line in (heading, *lines)] == EXPECTED.splitlines()
    assert {line.index("bounded") for line in lines[1:4]} == {heading.index("verdict")}


def test_an_unbounded_query_in_k_tuples_says_how_large_a_part_it_has(tmp_path: Path) -> None:
    results = Results(f"sqlite:///{tmp_path}/results.db")
    verdicts = [{"query": name, "verdict": "unbounded", "reasons": [{"message": "why"}]} for name in "ab"]
    results.record_verdicts("r", verdicts, dt.datetime(2013, 1, 1, tzinfo=dt.UTC))
    known = CacheAnswer("r", "a", 1_500, "prob", "", 5, estimated_results=40, estimated_share=0.125)
    results.record_cache_answer(known)
    results.record_cache_answer(CacheAnswer("r", "b", 20, "lru", "", 5))
    notes = [re.split(" {2,}", line)[-1] for line in demo_table(results).splitlines()[2:]]
    assert notes == [
        "about 12.5% of its answer, in 1,500 tuples (prob)",
        "a part of its answer, in 20 tuples (lru)",
    ]


def test_nothing_recorded_is_a_heading(tmp_path: Path) -> None:
    assert len(demo_table(Results(f"sqlite:///{tmp_path}/results.db")).splitlines()) == 2


def test_numbers_align_right() -> None:
    assert aligned(("a", "n"), [("x", "1,000"), ("yy", "7")], right=["n"]).splitlines() == [
        "a       n",
        "--  -----",
        "x   1,000",
        "yy      7",
    ]
