"""Many queries over many streams in one evaluation: each partition is read once, and little is held at once.

A sample of ``benchmarks/load.py``, whose registry this is.
"""

from __future__ import annotations

import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks import load
from tests.spark.nights import left

from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.history import evaluate
from streambound.history.local import LocalExecutor
from streambound.history.schedule import AHEAD, TOGETHER, shared_scans
from streambound.query.catalog import Catalog
from streambound.query.registry import RegisteredQuery
from streambound.tasks.summarise import Summary

QUERIES, STREAMS, ROWS = 60, 6, 100


@pytest.fixture(scope="module")
def queries() -> list[RegisteredQuery]:
    return load.registry(QUERIES, STREAMS)


def placed(folder: Path, hours: int) -> Catalog:
    for hour in range(hours):
        load.arrive(folder, hour, ROWS, STREAMS)
    return load.catalog(folder, STREAMS)


def test_the_registry_is_drawn_from_numbers_alone(queries: list[RegisteredQuery]) -> None:
    assert load.registry(QUERIES, STREAMS) == queries
    kinds = Counter(query.name.partition("_")[2] for query in queries)
    assert kinds == dict.fromkeys(load.KINDS, QUERIES / len(load.KINDS))
    assert len({query.sql for query in queries}) > QUERIES * 0.8


def test_no_byte_of_a_partition_is_read_twice_for_sixty_queries(
    queries: list[RegisteredQuery], tmp_path: Path
) -> None:
    catalog = placed(tmp_path, 1)
    files = {str(file) for file in tmp_path.glob("area*/*/*.parquet")}
    with load.logged_reads() as repeated:
        found = load.evaluate(queries, catalog, tmp_path / "home", LocalExecutor(1))
        again = repeated()
    assert {path: again.get(path) for path in files} == dict.fromkeys(files, 0)
    assert sum(bool(answer.answer_count) for answer in found) > QUERIES / 2


def test_together_and_alone_leave_the_same_bytes(tmp_path: Path) -> None:
    """A query of each kind over two streams, which all of them share."""
    for hour in range(2):
        load.arrive(tmp_path, hour, ROWS, 2)
    catalog, queries = load.catalog(tmp_path, 2), load.registry(len(load.KINDS), 2)
    load.evaluate(queries, catalog, tmp_path / "together", LocalExecutor(1))
    for query in queries:
        load.evaluate([query], catalog, tmp_path / "alone", LocalExecutor(1))
        assert left(tmp_path / "together", query.name) == left(tmp_path / "alone", query.name), query.sql


class Counting(LocalExecutor):
    """Counts the summaries that are in memory at once."""

    def __init__(self) -> None:
        super().__init__(1)
        self.made: list[weakref.ref[Summary]] = []
        self.calls = self.most = 0

    def summaries(self, *given: Any, **options: Any) -> list[Summary]:
        found = super().summaries(*given, **options)
        self.made += map(weakref.ref, found)
        self.calls += 1
        self.most = max(self.most, sum(one() is not None for one in self.made))
        return found


def test_what_is_held_at_once_does_not_grow_with_the_partitions(
    queries: list[RegisteredQuery], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours, chosen = 8, [query for query in queries if query.name.endswith(("_extrema", "_order"))][:6]
    monkeypatch.setattr(evaluate, "SUMMARIES", 1)
    executor = Counting()
    load.evaluate(chosen, placed(tmp_path, hours), tmp_path / "home", executor)
    # Of each query and stream of a partition there is one; waves are of one partition here.
    of_one = len(executor.made) // hours
    assert executor.calls == hours and len(executor.made) == of_one * hours > len(chosen)
    assert executor.most <= of_one * (AHEAD + 1)
    # A query commits when there is enough, and not after every small wave.
    name = chosen[0].name
    table = CheckpointTable(address_of(str(tmp_path / "home" / "checkpoints"), name), name)
    assert (len(table.rows), table.version) == (hours, 0)


def test_streams_are_read_together_as_far_as_queries_join_them() -> None:
    """Two big streams are read together for who needs both, and a third is not put to them."""
    queries = {"a": frozenset("ST"), "b": frozenset("T"), "c": frozenset("TU"), "d": frozenset("S")}
    assert shared_scans(queries, {"S": TOGETHER, "T": TOGETHER, "U": 1}) == [frozenset("ST"), frozenset("TU")]
    assert shared_scans(queries, dict.fromkeys("STU", 1)) == [frozenset("STU")]
    assert shared_scans({}, {}) == []
