"""Statements over all that the grammar has, as histories: the answers of the definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import pytest
from tests.grammar import statement_line

from streambound.errors import PlanError
from streambound.evaluation.corpus import run_line
from streambound.evaluation.events import encode_static
from streambound.evaluation.flow import statement_pass
from streambound.history.corpus import run_corpus
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine

CHUNKS, CHUNK = 5, 1_000


def planned(first: int = 0, computed: float = 0.0) -> Iterator[CorpusLine]:
    """Statements that have plans, from a seed on."""
    for seed in count(first):
        line = statement_line(seed, computed)
        assert line.catalog is not None
        found = statement(line.sql, line.catalog, line.id)
        try:
            statement_pass(found, encode_static(found, line.static))
        except PlanError:
            continue
        yield line


def compared(executor: Executor, lines: list[CorpusLine]) -> int:
    """How many of the lines have answers; all are those of the definition."""
    answered = 0
    for line, (found, code) in zip(lines, run_corpus(executor, lines), strict=True):
        assert code == 0, (line.sql, found)
        expected, _ = run_line(line, "reference")
        assert found["answers"] == expected["answers"], f"seed {line.id}: {line.sql}"
        answered += bool(found["answers"])
    return answered


def test_a_sample_of_statements() -> None:
    assert compared(LocalExecutor(1), list(islice(planned(), 60))) >= 15


def test_a_sample_of_statements_with_expressions() -> None:
    assert compared(LocalExecutor(1), list(islice(planned(computed=0.5), 40))) >= 8


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_statements(chunk: int) -> None:
    lines = list(islice(planned(chunk * 10**6), CHUNK))
    print(compared(LocalExecutor(1), lines), "of", len(lines), "statements have answers")
