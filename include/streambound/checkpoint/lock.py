"""One run at a time over the answers of a query: a lock that ends with the process that holds it.

A run that was killed may have left others of its processes behind (the driver that an Airflow task had
submitted, say), and the retry begins while they still write. It waits for them, and finds what they
committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from streambound.errors import StorageError
from streambound.locks import taken

NAME = "_running"
# A night that takes longer than this is not waited for.
WAIT_SECONDS = 3_600.0
POLL_SECONDS = 0.2


@contextmanager
def alone(folder: Path, announce: Callable[[], None], wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the folder of a query's answers; ``announce`` is called once if another run holds it.

    Raises:
        StorageError: another run still holds it after ``wait`` seconds, or the disk refuses.
    """
    with _opened(folder / NAME) as file:
        end = time.monotonic() + wait
        announced = False
        while not _taken(file):
            if time.monotonic() > end:
                raise StorageError(
                    f"another run has been evaluating it for {wait:,.0f} s",
                    subject=str(folder),
                    fix="run it again when that run has ended, or end that run",
                )
            if not announced:
                announce()
                announced = True
            time.sleep(POLL_SECONDS)
        yield


def _taken(file: IO[bytes]) -> bool:
    try:
        return taken(file)
    except OSError as error:
        raise _refused(Path(file.name), error) from None


def _opened(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot be locked: {error.strerror or error}",
        subject=str(path),
        fix="free space or permit writing there",
    )
