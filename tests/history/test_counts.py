"""Counts beyond 64 bits: products of many equal tuples are exact, or refused past what answers hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark import histories
from tests.spark.histories import Registered

from streambound.errors import CountOverflow
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.history import history_batches
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.history.stored_relations import StoredEvaluation, stored
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import statement

NAMES = "STUVWXYZ"
# One column, so that equal tuples are sent once; the last stream completes every match.
BODIES = {n: {"columns": {"ts": "int"}, "timestamp": "ts"} for n in NAMES}
UNTIMED = {n: {"columns": {"A": "int"}} for n in NAMES}


def chain(names: str) -> str:
    """A query whose only answer row counts a tuple of each stream, in order of time."""
    later = " AND ".join(f"{a}.ts < {b}.ts" for a, b in pairwise(names))
    return f"SELECT 1 FROM {', '.join(names)} WHERE {later}"


def written(folder: Path, names: str, rows: int, parts: int = 2) -> Catalog:
    """``rows`` equal tuples of each stream, every stream later than the one before it."""
    catalog = histories.placed(catalog_from_mapping(BODIES), folder)
    for moment, name in enumerate(names):
        for part in range(parts):
            # All of one stream lie in one partition, in order of time; the others are empty.
            mine = rows if moment * parts // len(names) == part else 0
            target = folder / name / f"{histories.KEY}={part}"
            target.mkdir(parents=True)
            pq.write_table(pa.table({"ts": pa.array([moment] * mine, pa.int64())}), target / "a.parquet")
    return catalog


def on_spark(sql: str, catalog: Catalog, folder: Path) -> Any:
    (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", sql)], catalog, output=folder / "out")
    return answer


# 512^7 = 2^63 and 256^8 = 2^64.
@pytest.mark.parametrize(("streams", "rows"), [(7, 511), (7, 512), (8, 255), (8, 256)])
@pytest.mark.parametrize("union", ["", "UNION ALL SELECT 1 FROM S WHERE ts < 0"], ids=["chain", "statement"])
def test_products_around_64_bits_are_exact(streams: int, rows: int, union: str, tmp_path: Path) -> None:
    names = NAMES[:streams]
    catalog, sql = written(tmp_path, names, rows), f"{chain(names)} {union}"
    answer = on_spark(sql, catalog, tmp_path)
    assert (answer.error, answer.answer_count) == (None, rows**streams)
    found = statement(sql, catalog, "q")
    (row,) = [a for marker in statement_pass(found, {}).run(history_batches(found)) for a in marker]
    assert (row.row, row.count) == ((1,), rows**streams)
    (counts,) = histories.read_answers(tmp_path / "out" / "q", found).values()
    assert list(counts.values()) == [rows**streams]


# The largest number of tuples of 8 streams whose product has 38 digits, and one more.
@pytest.mark.parametrize("rows", [56_234, 56_235])
@pytest.mark.parametrize("union", ["", "UNION ALL SELECT 1 FROM S WHERE ts < 0"], ids=["chain", "statement"])
def test_answers_of_more_than_38_digits_are_refused(rows: int, union: str, tmp_path: Path) -> None:
    assert 56_234**8 < 10**38 < 56_235**8
    answer = on_spark(f"{chain(NAMES)} {union}", written(tmp_path, NAMES, rows), tmp_path)
    if rows == 56_234:
        assert (answer.error, answer.answer_count) == (None, rows**8)
    else:
        assert isinstance(answer.error, CountOverflow) and "38 digits" in str(answer.error)
        assert not [*(tmp_path / "out" / "q").glob("*/*.parquet")]


@pytest.mark.parametrize("rows", [511, 512, 56_235])
def test_stored_relations_count_exactly(rows: int, tmp_path: Path) -> None:
    names = NAMES[:7] if rows < 1_000 else NAMES
    for name in names:
        pq.write_table(pa.table({"A": pa.array([1] * rows, pa.int64())}), tmp_path / f"{name}.parquet")
    reading = StoredEvaluation(
        stored("q", f"SELECT 1 FROM {', '.join(names)}", catalog_from_mapping(UNTIMED), tmp_path)
    )
    assert sum(new.get((1,), 0) for new in reading.run()) == rows ** len(names)
