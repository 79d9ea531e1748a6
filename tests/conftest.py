"""Hypothesis profiles: a sample by default, ``--hypothesis-profile=heavy`` for thousands of examples."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# Many random queries are unbounded and are drawn again: that is no defect of the strategy.
CHECKS = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
# The ordinary run tells of a change, so its examples are the same each time; new ones are drawn by the others
# (``make heavy``, ``make properties``, ``make fuzz``), or by ``--hypothesis-profile=fresh``.
settings.register_profile(
    "sample", max_examples=100, deadline=None, suppress_health_check=CHECKS, derandomize=True
)
settings.register_profile("fresh", max_examples=100, deadline=None, suppress_health_check=CHECKS)
settings.register_profile("heavy", max_examples=3000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile("sample")


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
