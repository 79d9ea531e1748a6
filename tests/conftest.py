"""Hypothesis profiles: a sample by default, ``--hypothesis-profile=heavy`` for thousands of examples.

And the parts in which several processes of pytest-xdist take the tests: the longest first.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from streambound.spark.session import JAVA_OPTIONS, java_options

# Sessions of tests are over before code that the optimising compiler made would pay for itself.
os.environ.setdefault(JAVA_OPTIONS, f"{java_options()} -XX:TieredStopAtLevel=1")

# Many random queries are unbounded and are drawn again: that is no defect of the strategy.
CHECKS = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
# The ordinary run tells of a change, so its examples are few and the same each time; more and new ones are
# drawn by the others (``make random``, ``make heavy``, ``make properties``, ``make fuzz``).
settings.register_profile(
    "sample", max_examples=15, deadline=None, suppress_health_check=CHECKS, derandomize=True
)
settings.register_profile("fresh", max_examples=100, deadline=None, suppress_health_check=CHECKS)
settings.register_profile("heavy", max_examples=3000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile("sample")


def pytest_collection_finish() -> None:
    """All modules are there to stay: Python's search for cycles need not go through them in every test."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """What the command line sets for the processes that it starts is not there for the next test."""
    before = {name: value for name, value in os.environ.items() if name.startswith("STREAMBOUND_")}
    try:
        yield
    finally:
        # What a test took back itself stays away.
        for name in [name for name in os.environ if name.startswith("STREAMBOUND_")]:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


# Of some minutes each: begun last, they would leave all processes but one without work.
LONGEST = (
    "spark",
    "tests/e2e/test_pipeline.py",
    "airflow",
    "pages",
    "tests/crash/test_crash.py",
    "tests/crash/test_live_sources.py",
    "tests/platform/test_cluster.py",
    "tests/cli/test_live.py",
    "tests/docs/test_sessions.py",
    "tests/platform/test_release.py",
)
# Files whose paths begin like that share what takes long to start: Spark's Java, which is slow at first,
# Airflow's API, a year of flights.
TOGETHER = {
    "tests/spark/": "spark",
    "tests/engines/test_spark.py": "spark",
    "tests/dags/test_pages": "pages",
    "tests/dags/": "airflow",
    "tests/demo/": "flights",
}


def unit(nodeid: str) -> str:
    """What one process takes as a whole: a file, or the files of a beginning in TOGETHER."""
    file = nodeid.split("::")[0]
    return next((name for beginning, name in TOGETHER.items() if file.startswith(beginning)), file)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):
        return
    # Modules that share a session come one after the other (tests/spark/conftest.py).
    shared = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}

    def order(item: pytest.Item) -> tuple[int, bool]:
        at = unit(item.nodeid)
        return LONGEST.index(at) if at in LONGEST else len(LONGEST), item.path not in shared

    items.sort(key=order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    # By the number of their tests the longest files would come last.
    config.option.loadscopereorder = False
    return Units(config, log)
