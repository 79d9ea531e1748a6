"""Folders for what is spilled, spooled or staged: gone with whoever needs them, also if that is killed.

A folder is held by a lock on a file in it, which ends with the process. Whoever makes the next one beside it
removes those that nobody holds.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from streambound.errors import StorageError
from streambound.locks import taken

LOCK = "_held"
PREFIX = "streambound-"


@contextmanager
def scratch(parent: Path | None = None, prefix: str = PREFIX, mode: int = 0o700) -> Iterator[Path]:
    """A new folder, which is there as long as it is needed.

    Args:
        parent: the folder that it is made in; by default that for temporary files.
        prefix: its name begins with it; folders of other names are nobody's business.
        mode: who may use it.

    Raises:
        StorageError: there is no disk for it.
    """
    folder = parent or Path(tempfile.gettempdir())
    _sweep(folder, prefix)
    path, lock = _made(folder, prefix, mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _made(folder: Path, prefix: str, mode: int) -> tuple[Path, int]:
    name = uuid4().hex
    # Under a name that nobody sweeps until it is held.
    draft, path = folder / f".{name}", folder / f"{prefix}{name}"
    try:
        draft.mkdir(mode=mode)
        lock = os.open(draft / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        taken(lock, wait=True)
        os.rename(draft, path)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise StorageError(
            f"no folder for temporary files: {error.strerror or error}",
            subject=f"{folder} on {socket.gethostname()}",
            fix="free space there, permit writing, or set TMPDIR of driver and executors to a larger disk",
        ) from None
    return path, lock


@cache
def _sweep(path: Path, prefix: str) -> None:
    """Remove the folders that nobody holds; once a process is enough."""
    with suppress(OSError):
        for name in os.listdir(path):
            if name.startswith(prefix) and _abandoned(path / name / LOCK):
                shutil.rmtree(path / name, ignore_errors=True)


def _abandoned(lock: Path) -> bool:
    try:
        opened = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        # Another user's, or just removed by its own.
        return False
    try:
        return taken(opened)
    except OSError:
        return False
    finally:
        os.close(opened)
