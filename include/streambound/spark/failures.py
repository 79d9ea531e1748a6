"""What ended a Spark job or Spark itself, in one sentence: whatever its client raises, and however late.

When Spark's Java process has ended, its client raises what the call happened to be at: a gateway that exited,
a refused or broken connection, a JVM without a class or an attribute. That process itself says how it ended.
"""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from streambound.errors import StorageError, StreamboundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The end of a connection is seen a moment before that of the process.
SECONDS = 2.0
AGAIN = "run it again: it goes on from what is checkpointed; if memory was short, give the machine more"
# What Python prints above an error.
STACK = re.compile(r"Traceback \(most recent call last\):\s*?(\n[ \t]+.*)*(\n|$)")
LOOK = "look into the executors' logs; give executors more memory if they were killed"


@contextmanager
def translated_errors(during: str, fix: str | None = None) -> Iterator[None]:
    """Errors of Spark's jobs, and of a Spark that is not there any more, as this project's own.

    Args:
        during: when it was, as "while tasks ran".
        fix: what to do about a Spark that goes on.

    Raises:
        StorageError: Spark lost the job, or has ended.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except StreamboundError as error:
        # What seems wrong with the input may be a Spark that is gone.
        if isinstance(error, StorageError) or (how := java_ended(0)) is None:
            raise
        raise _ended(how, during) from None
    except Exception as error:
        spark = isinstance(error, (PySparkException, Py4JError, ConnectionError, EOFError))
        if (how := java_ended(SECONDS if spark else 0)) is not None:
            raise _ended(how, during) from None
        # Spark itself goes on; a broken pipe is that of this command's own output.
        if not spark or isinstance(error, BrokenPipeError):
            raise
        said = first_lines(error)
        if isinstance(error, (OSError, EOFError, Py4JNetworkError)):
            said = f"its driver process does not answer any more ({said})"
        raise StorageError(f"Spark failed {during}: {said}", fix=fix or LOOK) from None


def _ended(how: str, during: str) -> StorageError:
    return StorageError(f"Spark has ended {during}: its Java process {how}", fix=AGAIN)


def first_lines(error: Exception) -> str:
    """The beginning of what Spark says, whose rest are the lines of its own code; no stack of Python's."""
    lines = [line.strip() for line in STACK.sub("", str(error)).splitlines() if line.strip()]
    # The innermost cause is what happened: that a worker crashed, say.
    causes = [line for line in lines[2:] if line.startswith("Caused by:")]
    return " ".join([*lines[:2], *causes[-1:]])[:500] or type(error).__name__


def java_ended(seconds: float = SECONDS) -> str | None:
    """How the Java process that this one started has ended, in words; None if it goes on."""
    from pyspark import SparkContext

    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    # A shell's word for a signal is 128 and its number.
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return f"was ended by {signal.Signals(number).name}"
    return f"exited with code {code}"


def silence() -> None:
    """Failures of Spark's gateway are told as errors: it prints no tracebacks of its own."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # It also logs to the root, where nobody else's module has its name.
    logging.getLogger().addFilter(_is_not_the_gateways)


def _is_not_the_gateways(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def hush(session: SparkSession) -> None:
    """Keep a driver's server of accumulators from printing how a connection ended with its Spark."""
    server: Any = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is None:
        return
    shown = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (EOFError, ConnectionError)):
            shown(request, address)

    server.handle_error = handle_error


def stop(session: SparkSession) -> None:
    """End a session, also one whose Spark has ended already.

    Raises:
        Exception: of Spark, if it goes on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            session.stop()
    except Exception:
        if java_ended() is None:
            raise
    if java_ended(0) is not None:
        _forget()


def _forget() -> None:
    """Let the next session of this process start a Spark of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context: Any = SparkContext
    context._gateway = context._jvm = context._active_spark_context = None
    session: Any = SparkSession
    session._instantiatedSession = session._activeSession = None
