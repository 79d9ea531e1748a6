"""The forms that a person fills in to start a run, and what all DAGs have in common.

A DAG file is parsed every few seconds: queries are listed here by file name, and of the registry only the
names of the streams are read.
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


# How runs of a DAG may come about whose outcome no day has a part in.
NOT_IN_BACKFILLS = ["scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization"]
# Tuples that a benchmark's cache may hold, and how many such sizes it may try.
LARGEST = 10_000_000
MOST_SIZES = 50


def registered_names() -> list[str]:
    """The names of the registered queries: their files' names, sorted."""
    return sorted(path.stem for path in (settings.registry() / "queries").glob("*.sql"))


def stream_names() -> list[str]:
    """The names of the catalog's infinite streams, sorted; none if it is malformed, which the tasks tell."""
    import yaml

    from streambound.errors import StreamboundError
    from streambound.projects.registry import registry_of

    try:
        text = registry_of(settings.registry()).catalog_file.read_text(encoding="utf-8")
        streams = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["streams"]  # noqa: S506
        return sorted(str(name) for name, about in streams.items() if about.get("kind", "stream") == "stream")
    except (StreamboundError, OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError):
        return []


def several(names: list[str], title: str, description: str) -> Param:
    """A choice of some of these names."""
    items = {"type": "string", "enum": names} if names else {"type": "string"}
    return Param(
        [],
        type=["array", "null"],
        items=items,
        uniqueItems=True,
        examples=names,
        title=title,
        description=description,
    )


def whole(default: int, title: str, description: str, bounds: tuple[int, int]) -> Param:
    """A whole number from the lower to the upper bound, both included."""
    low, high = bounds
    return Param(default, type="integer", minimum=low, maximum=high, title=title, description=description)


def sizes(default: list[int]) -> Param:
    """Numbers of tuples; more than a cache would be worth are taken for a slip of the hand."""
    return Param(
        default,
        type="array",
        items={"type": "integer", "minimum": 1, "maximum": LARGEST},
        minItems=1,
        maxItems=MOST_SIZES,
        uniqueItems=True,
        title="Sizes",
        description="How many tuples the cache holds, over both streams together; a list of numbers.",
    )


def queries(description: str = "Registered queries; all of them if none is chosen.") -> Param:
    """A choice of registered queries; none chosen means all."""
    return several(registered_names(), "Queries", description)


def announce(follows: str) -> Param:
    """Whether a run emits its asset, upon which other DAGs run: for all queries, whichever this run is of."""
    return switch(True, "Announce", f"Emit what was found, which starts {follows}.")


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
