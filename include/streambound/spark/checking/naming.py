"""Names of sources that have none in a program."""

from __future__ import annotations

import re
from collections.abc import Mapping


def source_name(name: str, options: Mapping[str, str]) -> str:
    """The name of a source after its topic, table or folder, or else its format.

    >>> source_name("kafka", {"subscribe": "clicks"}), source_name("parquet", {"path": "/data/orders/"})
    ('clicks', 'orders')
    """
    named_by = placed(options).rstrip("/").rpartition("/")[2] or name.rpartition(".")[2].partition("[")[0]
    return re.sub(r"\W+", "_", named_by).strip("_") or "stream"


def placed(options: Mapping[str, str]) -> str:
    """The topic, table or folder that options name; empty if they name none."""
    lowered = {key.lower(): value for key, value in options.items()}
    return next(
        (lowered[item] for item in ("subscribe", "topic", "streamname", "path") if lowered.get(item)), ""
    )
