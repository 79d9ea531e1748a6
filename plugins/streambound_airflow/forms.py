"""The forms that a person fills in to start a run, and what all DAGs have in common.

A DAG file is parsed every few seconds: the registry is listed here by file name and nothing is read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Param

from streambound import settings

DEFAULTS: dict[str, Any] = {
    "owner": "streambound",
    "retries": 2,
    "retry_delay": timedelta(seconds=20),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
    "execution_timeout": timedelta(minutes=15),
}


def registered_names() -> list[str]:
    """The names of the registered queries: their files' names, sorted."""
    return sorted(path.stem for path in (settings.registry() / "queries").glob("*.sql"))


def queries() -> Param:
    """A choice of registered queries; none chosen means all."""
    return Param(
        [],
        type=["array", "null"],
        items={"type": "string"},
        examples=registered_names(),
        title="Queries",
        description="Registered queries; all of them if none is chosen.",
    )


def day(title: str, description: str) -> Param:
    """A day, or nothing."""
    return Param(None, type=["null", "string"], format="date", title=title, description=description)


def days() -> dict[str, Param]:
    """A range of days; an open end is where the history ends."""
    return {
        "from": day("From", "First UTC day, included; empty for the history's first."),
        "to": day("To", "Last UTC day, included; empty for the history's last."),
    }


def switch(default: bool, title: str, description: str) -> Param:
    """Yes or no."""
    return Param(default, type="boolean", title=title, description=description)
