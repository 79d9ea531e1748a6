"""The tables that the demo ends with: a line a query, and what each cache kept."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path

from tests.approximate.nights import USUAL, night

from scripts.demo_tables import demo_table, kept, trade_off
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import Fit
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
