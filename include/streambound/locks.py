"""Locks between the processes of one machine: on a file, for as long as a process holds it open.

The lock ends with the process, however that ends, so nothing stale is left behind.
"""

from __future__ import annotations

import fcntl
from typing import IO


def taken(file: IO[str] | IO[bytes] | int, *, wait: bool = False, shared: bool = False) -> bool:
    """Lock an open file; whether that was possible.

    Args:
        file: it, or its descriptor.
        wait: until whoever else holds it has ended; without it the answer is given at once.
        shared: with others who share it.

    Raises:
        OSError: the disk has no locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
