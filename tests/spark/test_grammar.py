"""Statements over all that the grammar has on Spark: the answers of the definition, all in one session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pytest
from tests.grammar import statement_line

from streambound.errors import PlanError
from streambound.evaluation.corpus import run_line
from streambound.evaluation.events import encode_static
from streambound.evaluation.statement import statement_pass
from streambound.query.corpus import CorpusLine
from streambound.query.parse import statement
from streambound.spark.corpus import run_corpus


def planned() -> Iterator[CorpusLine]:
    """Statements that have plans."""
    for seed in count():
        line = statement_line(seed)
        assert line.catalog is not None
        found = statement(line.sql, line.catalog, line.id)
        try:
            statement_pass(found, encode_static(found, line.static))
        except PlanError:
            continue
        yield line


def compared(session: Any, lines: list[CorpusLine]) -> int:
    """How many of the lines have answers; all are those of the definition."""
    answered = 0
    for line, (found, code) in zip(lines, run_corpus(session, lines), strict=True):
        assert code == 0, (line.sql, found)
        expected, _ = run_line(line, "reference")
        assert found["answers"] == expected["answers"], f"seed {line.id}: {line.sql}"
        answered += bool(found["answers"])
    return answered


@pytest.mark.usefixtures("in_process")
def test_a_sample_of_statements() -> None:
    assert compared(None, list(islice(planned(), 40))) >= 10


@pytest.mark.heavy
@pytest.mark.spark
def test_many_statements(spark: Any) -> None:
    lines = list(islice(planned(), 500))
    print(compared(spark, lines), "of", len(lines), "statements have answers")
