"""Typed errors of the library as Airflow failures: one message, and retries only where they can help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from streambound.errors import StreamboundError

# From here on an exit code speaks of an outside cause (disk, database, cluster), which may pass.
OUTSIDE = 3


@contextmanager
def reported() -> Iterator[None]:
    """Fails the task with the message of a StreamboundError instead of the library's traceback.

    Raises:
        AirflowFailException: what a user wrote or a file holds is wrong; trying again changes nothing.
        AirflowException: an outside part failed; the task's retries apply.
    """
    try:
        yield
    except StreamboundError as error:
        kind = AirflowException if error.exit_code >= OUTSIDE else AirflowFailException
        raise kind(str(error)) from None
