"""Which input a checkpoint rests on: the files of a partition, told apart without opening them.

The identity is of names, sizes and times of the last change (of content and of inode). Files with the same
identity are not read again. A partition that was written again is read again, even with the same rows; what
the plan keeps of it is then the same, and every boundary that rests on it stays valid (``boundary.chained``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from streambound.storage.partitions import Partition


@dataclass(frozen=True)
class Input:
    """A stream's share of a partition: the identity of its files, and how many rows they hold."""

    identity: str
    rows: int


def identity(files: Iterable[Path]) -> str:
    """The identity of a partition's files; a file that is gone has none of its own."""
    identities: list[list[str | int]] = []
    for file in sorted(files):
        try:
            about = file.stat()
        except OSError:
            identities.append([file.name])
        else:
            identities.append([file.name, about.st_size, about.st_mtime_ns, about.st_ctime_ns])
    return hashlib.sha256(json.dumps(identities).encode()).hexdigest()[:32]


def identified(parts: Iterable[Partition]) -> tuple[Partition, ...]:
    """Partitions in files, each with its identity; once for all queries, since there may be many."""
    return tuple(replace(part, content=identity(part.files)) for part in parts)
