"""Hypothesis profiles: a sample by default, ``--hypothesis-profile=heavy`` for thousands of examples."""

from __future__ import annotations

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
