"""The end of a live query by a signal, which often goes to Spark's Java as well: it is a stop, not a fault.

A terminal that closes, ``kill -- -GROUP`` and systemd send SIGTERM to every process. Java then ends at once,
in the midst of a micro-batch, and Python finds nobody at the other end. Nothing is lost: what Spark has not
counted as done is done again at the next start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The signal may come to Java before it comes to Python.
GRACE_SECONDS, POLL_SECONDS = 1.0, 0.05


class StoppedTogether:
    """Passes over a Spark that has ended, if ``stopped`` says that it was asked to; other errors go on."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.stopped = stopped

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        return isinstance(error, (OSError, Py4JError, PySparkException)) and _asked(self.stopped)


def _asked(stopped: Callable[[], bool]) -> bool:
    until = time.monotonic() + GRACE_SECONDS
    while not stopped():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_SECONDS)
    return True


def silence(session: SparkSession) -> None:
    """Let the server of Spark's accumulators, which needs Java, not print a traceback when Java has ended."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client: None
