"""Spark's daemon, which forks the Python processes of an executor; silent about a Spark that is gone.

Where tasks run beside the driver, what these processes print is seen by the user. Whoever started the job
says in a sentence that it was lost; that a process can no longer write to it, or read, adds nothing.
"""

from __future__ import annotations

from socket import socket

from pyspark import daemon

_serve = daemon.worker
LOST = 1


def worker(sock: socket, authenticated: bool) -> int:
    """Serve one task, as Spark's own does; its exit code, if the connection was lost too."""
    try:
        return _serve(sock, authenticated)
    except (ConnectionError, EOFError):
        return LOST


if __name__ == "__main__":
    # What tasks import takes seconds: here it is loaded once, and is there in all that are forked.
    import streambound.history.fold
    import streambound.live.step
    import streambound.spark.executor  # noqa: F401

    daemon.worker = worker
    daemon.manager()
