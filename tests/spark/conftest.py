"""One Spark session for the tests of several modules, and simulations of caches without it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from streambound.approximate.nightly.benchmark import Case
from streambound.spark.applications.simulations import Piece, result_of, simulated
from streambound.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The session that runs, and what ends it.
SHARED: list[tuple[SparkSession, ExitStack]] = []


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores, for all modules in a row that ask for it: to start it takes seconds.

    Each module finds it without views of others, and with the settings that it began with.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(tmp_path_factory.mktemp("home")))
        if not SHARED:
            until = ExitStack()
            SHARED.append((until.enter_context(session("tests", master="local[2]")), until))
        running, _ = SHARED[0]
        before = dict(running.conf.getAll)
        yield running
        for name, value in running.conf.getAll.items():
            if name not in before:
                running.conf.unset(name)
            elif value != before[name]:
                running.conf.set(name, before[name])
        running._jsparkSession.sessionState().catalog().clearTempTables()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The session ends where the next module may start another; its Java process outlives it."""
    if nextitem is None or (nextitem.path != item.path and "spark" not in fixtures_of(nextitem)):
        while SHARED:
            SHARED.pop()[1].close()


def fixtures_of(item: pytest.Item) -> Collection[str]:
    """The fixtures that a test asks for, and those that they ask for."""
    return getattr(item, "fixturenames", ())


def simulate_here(cases: Mapping[str, Case], pieces: Sequence[Piece], sizes: Sequence[int]) -> list[Any]:
    """What ``simulations.worked`` does, without Spark."""
    return [result_of(piece, simulated(cases[piece.query], piece, tuple(sizes))) for piece in pieces]
