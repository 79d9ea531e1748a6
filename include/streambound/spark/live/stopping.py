"""The end of a live query by a signal, which often goes to Spark's Java as well: it is a stop, not a fault.

A terminal that closes, ``kill -- -GROUP`` and systemd send SIGTERM to every process. Java then ends at once,
in the midst of a micro-batch, and Python finds nobody at the other end. Nothing is lost: what Spark has not
counted as done is done again at the next start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The signal may come to Java before it comes to Python.
GRACE_SECONDS, POLL_SECONDS = 1.0, 0.05


@contextmanager
def stopped_together(stopped: Callable[[], bool]) -> Iterator[None]:
    """Pass over a Spark that has ended, if it was asked to stop; any other error goes on."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (OSError, Py4JError, PySparkException):
        if not _asked(stopped):
            raise


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
