"""Statements over all that the grammar has: one pass against the definition, at every marker."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count

import pytest
from tests.grammar import statement_line

from streambound.errors import PlanError
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.reference import reference
from streambound.query.parse import statement

# Bounded, but refused by name: see docs/reference.md.
UNPLANNED = ("no condition says when the finite streams", "in some alternatives of OR or UNION only")
CHUNKS, CHUNK = 20, 1_000


def outcome(seed: int, computed: float = 0.0) -> str:
    """What became of the statement of a seed; if it has a plan, the answers are the definition's."""
    line = statement_line(seed, computed)
    assert line.catalog is not None
    found = statement(line.sql, line.catalog, line.id)
    static, arriving = encode_static(found, line.static), list(batches(found, line.events))
    try:
        engine = statement_pass(found, static)
    except PlanError as error:
        if told := re.match("the query is (unbounded|unknown)", error.message):
            return told[1]
        assert any(said in error.message for said in UNPLANNED), line.sql
        return "unplanned"
    expected = list(reference(found, arriving, static))
    assert list(engine.run(arriving)) == expected, f"seed {seed}: {line.sql}"
    assert engine.max_units is None or engine.peak_units <= engine.max_units, f"seed {seed}: {line.sql}"
    return "evaluated" if any(expected) else "evaluated, no answers"


def test_a_sample_of_statements() -> None:
    found = Counter(map(outcome, range(80)))
    assert found["evaluated"] > 14 and found["unbounded"] > 4 and found["unknown"] > 4


def test_a_sample_of_statements_with_expressions() -> None:
    found = Counter(outcome(seed, 0.5) for seed in range(60))
    assert found["evaluated"] > 6 and found["unbounded"] + found["unknown"] > 8


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_statements(chunk: int) -> None:
    found: Counter[str] = Counter()
    for seed in count(chunk * 10**6):
        found[outcome(seed)] += 1
        if found["evaluated"] + found["evaluated, no answers"] == CHUNK:
            break
    print(dict(found))
