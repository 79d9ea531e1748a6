"""Answer files as they were written: what a checkpoint says of one, and whether it still holds.

A file is its content. Reading all content again in every run would cost as much as the answers do, so a file
whose size, times and inode are those under which its content was last seen counts as the same; any other is
read, and compared with the digest of what was written.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

NOTHING = ""


@dataclass(frozen=True)
class AnswerFile:
    """The SHA-256 of a file, and its identity when that was last seen; both empty where there is no file."""

    digest: str = NOTHING
    identity: str = NOTHING


NO_FILE = AnswerFile()


def identity_of(path: Path | str) -> str:
    """Size, times of the last change (of content and of inode) and inode; empty if there is no file."""
    try:
        stat_result = os.stat(path)
    except OSError:
        return NOTHING
    return f"{stat_result.st_size}:{stat_result.st_mtime_ns}:{stat_result.st_ctime_ns}:{stat_result.st_ino}"


def digest_of_file(path: Path | str) -> str | None:
    """The SHA-256 of a file in hexadecimal; None if the disk does not give it."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def as_written(path: Path | str, kept: AnswerFile, verify: bool = False) -> AnswerFile | None:
    """The file as it is known from now on; None if it is not what was written.

    Args:
        path: where it lies, or would lie.
        kept: what was written.
        verify: read it whatever its identity.
    """
    now = identity_of(path)
    if now == kept.identity and not (verify and kept.digest):
        return kept
    return AnswerFile(kept.digest, now) if now and digest_of_file(path) == kept.digest else None
