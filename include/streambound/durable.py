"""Files that are at their place whole and on the disk, or not at all.

A file is written under a hidden name beside its place (a draft), flushed, then renamed: what has the name has
all that was written, also after a loss of power. The next run removes what a killed process left.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from streambound.errors import StorageError

DRAFT = ".draft"
FIX = "free space or permit writing there"
# The journal of a disk takes in many files at once: together they cost little more than one.
FLUSHED_AT_ONCE = 16


class Draft(io.BufferedWriter):
    """A file that is being written, and the SHA-256 of what was written to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self._sha = hashlib.sha256()

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Write bytes, and count them in."""
        self._sha.update(data)
        return super().write(data)

    @property
    def digest(self) -> str:
        """The digest so far, in hexadecimal."""
        return self._sha.hexdigest()


@contextmanager
def replaced(path: Path, flush: bool = True, fix: str = FIX) -> Iterator[Draft]:
    """A file to write, which takes its place in one step when the block ends without an error.

    Args:
        path: its place; folders above it are made.
        flush: whether the rename is the commit. Otherwise ``flushed`` is to be called before the commit.
        fix: what to do if the disk refuses.

    Raises:
        StorageError: the disk refuses.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with Draft(draft) as file:
            yield file
            if flush:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
        if flush:
            _flush(path.parent)
    except OSError as error:
        raise refused(path, error, fix) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in one step.

    Raises:
        StorageError: the disk refuses.
    """
    with replaced(path) as file:
        file.write(text.encode())


def flushed(paths: Iterable[Path]) -> None:
    """Put files that were written before on the disk, with their names; what is gone is passed over.

    Raises:
        StorageError: the disk refuses.
    """
    files = list(paths)
    with ThreadPoolExecutor(FLUSHED_AT_ONCE) as threads:
        for path, error in zip(files, threads.map(_failure, files), strict=True):
            if error is not None:
                raise refused(path, error)


def _failure(path: Path) -> OSError | None:
    try:
        _flush(path)
        _flush(path.parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    return None


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def drop_drafts(folder: Path) -> None:
    """Remove what killed processes left half written in a folder of which nobody else writes the files.

    Raises:
        StorageError: the disk refuses.
    """
    try:
        for path in (folder, *(Path(e.path) for e in _entries(folder) if e.is_dir(follow_symlinks=False))):
            for entry in _entries(path):
                if entry.name.startswith(".") and entry.name.endswith(DRAFT):
                    remove(Path(entry.path))
    except OSError as error:
        raise refused(folder, error) from None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(FileNotFoundError), os.scandir(folder) as scandir_iterator:
        return list(scandir_iterator)
    return []


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it; what is gone is passed over.

    Raises:
        StorageError: the disk refuses.
    """
    try:
        with suppress(FileNotFoundError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    except OSError as error:
        raise StorageError(
            f"cannot remove: {error.strerror or error}", subject=str(path), fix="permit writing there"
        ) from None


def refused(path: Path, error: OSError, fix: str = FIX) -> StorageError:
    """What is said of a disk that refuses to write."""
    return StorageError(f"cannot write: {error.strerror or error}", subject=str(path), fix=fix)
