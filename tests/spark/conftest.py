"""One Spark session for the tests of a module, and a way to run its tasks without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from streambound.approximate.nightly.benchmark import Case
from streambound.spark import cache_benchmark, distribute, executor, recent
from streambound.spark.session import session
from streambound.spark.simulations import Piece, result_of, simulated
from streambound.tasks.summarise import Reading, Summary, Task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores; its Java process outlives it, so that the next starts fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(tmp_path_factory.mktemp("home")))
        with session("tests", master="local[2]") as running:
            yield running


def run_here(
    session: Any,
    tasks: Sequence[Task],
    readings: Mapping[str, Reading],
    progress: distribute.Progress,
    memory_mb: int = 256,
    groups_per_core: int = 2,
) -> list[Summary]:
    """What ``distribute.run_tasks`` does, in this process; what tasks return still goes through Arrow."""
    groups = distribute.balanced(distribute.batched(tasks, 10**6), groups_per_core)
    batches = (b for g in groups for b in distribute.summarise_group(g, readings, 256))
    return [distribute.summary_of(row) for batch in batches for row in batch.to_pylist()]


def simulate_here(
    session: Any, cases: Mapping[str, Case], pieces: Sequence[Piece], sizes: Sequence[int]
) -> list[Any]:
    """What ``simulations.worked`` does, in this process."""
    return [result_of(piece, simulated(cases[piece.query], piece, tuple(sizes))) for piece in pieces]


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in this process."""
    monkeypatch.setattr(executor, "run_tasks", run_here)
    monkeypatch.setattr(executor, "cores", lambda session: 2)
    monkeypatch.setattr(recent, "run_tasks", run_here)
    monkeypatch.setattr(cache_benchmark, "worked", simulate_here)
