"""One Spark session for the tests of a module, and simulations of caches without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from streambound.approximate.nightly.benchmark import Case
from streambound.spark.session import session
from streambound.spark.simulations import Piece, result_of, simulated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores; its Java process outlives it, so that the next starts fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(tmp_path_factory.mktemp("home")))
        with session("tests", master="local[2]") as running:
            yield running


def simulate_here(cases: Mapping[str, Case], pieces: Sequence[Piece], sizes: Sequence[int]) -> list[Any]:
    """What ``simulations.worked`` does, without Spark."""
    return [result_of(piece, simulated(cases[piece.query], piece, tuple(sizes))) for piece in pieces]
