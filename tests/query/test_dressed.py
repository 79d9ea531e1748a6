"""A query has the same verdict, units and answers in every dialect, spelling and wrapper."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from tests.grammar import statement_line
from tests.query.dressed import DIALECTS, Dressed, dressed

from streambound.compiler.report import check
from streambound.errors import StreamboundError
from streambound.evaluation.corpus import evaluated
from streambound.query.parse import named_queries, read
from streambound.query.parse.corpus import CorpusLine

SEEDS = 5


def cases(dialect: str, seeds: range) -> list[tuple[CorpusLine, Dressed]]:
    """Accepted random statements with their clothes."""
    found = []
    for seed in seeds:
        line = statement_line(seed)
        assert line.catalog is not None
        columns = {r.name: [c.name for c in r.columns] for r in line.catalog.relations}
        found.append((line, dressed(line.sql, dialect, Random(seed), columns)))
    return found


def compare(line: CorpusLine, clothes: Dressed) -> None:
    assert line.catalog is not None
    said = f"{clothes.dialect}: {clothes.text}\nbare: {line.sql}"
    bare = check(line.sql, line.catalog, suggest=False)
    name = named_queries(clothes.text, line.catalog, clothes.dialect)[-1]
    worn = check(clothes.text, line.catalog, suggest=False, dialect=clothes.dialect, query=name)
    assert (worn.verdict, worn.units, worn.projection) == (bare.verdict, bare.units, bare.projection), (
        f"{said}\n{worn.error}\n{bare.error}"
    )
    if bare.error is not None:
        return
    again = read(clothes.text, line.catalog, dialect=clothes.dialect, query=name).statement
    one, other = (answers(replace(line, sql=sql)) for sql in (line.sql, again.bare or clothes.text))
    assert one == other, said


def answers(line: CorpusLine) -> Counter[str] | str:
    try:
        found = evaluated(line, "reference")
    except StreamboundError as error:
        return error.code
    return Counter({str((a["ts"], a["row"])): a["count"] for a in found["answers"]})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_says_the_same_in_the_clothes_of_a_dialect(dialect: str) -> None:
    first = 10_000 * DIALECTS.index(dialect)
    for line, clothes in cases(dialect, range(first, first + SEEDS)):
        compare(line, clothes)


@pytest.mark.heavy
@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_queries_say_the_same_in_the_clothes_of_a_dialect(dialect: str) -> None:
    first = 10_000 * DIALECTS.index(dialect)
    for line, clothes in cases(dialect, range(first + SEEDS, first + 1_000)):
        compare(line, clothes)
