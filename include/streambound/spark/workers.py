"""The Python processes of Spark's executors, each of which serves many tasks."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle() -> None:
    """Called at the end of a task: what is loaded by then is there to stay.

    Spark collects garbage after each task (``pyspark.daemon``), and would go through all modules every time:
    with this library and what it needs that takes longer than to summarise a million rows.
    """
    gc.collect()
    gc.freeze()
