"""Late partitions: what came, or came again, after a later boundary had been checkpointed.

Lateness is measured where partitions have times: in histories partitioned by ``date``. A partition's
lateness is the time between the end of its day and the last boundary that was checkpointed, which is the
end of a day as well. So no partition is too late that may hold a row within ``allowed_lateness`` of that
boundary. A stream without ``allowed_lateness`` takes everything in, however late.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from streambound.checkpoint.lock import alone
from streambound.durable import flushed, remove
from streambound.errors import StorageError
from streambound.query.model import Relation, duration
from streambound.storage.partitions import DAYS, day_of

DRAFT = ".draft"


def too_late(relation: Relation, partition: str, boundary: str | None) -> str | None:
    """By how much a partition is late, in words; None if it is not, or within what is allowed.

    Args:
        boundary: the last partition that was checkpointed, None if there is none.
    """
    dated = relation.history is not None and relation.history.partition_by == DAYS
    if relation.allowed_lateness is None or boundary is None or not dated:
        return None
    day, last = day_of(partition), day_of(boundary)
    if day is None or last is None or day >= last:
        return None
    behind = last - day
    if behind // dt.timedelta(microseconds=1) <= duration(relation.allowed_lateness):
        return None
    return f"{behind.days} day{'' if behind.days == 1 else 's'}"


def keep(files: Iterable[Path], root: Path, stream: str, partition: str, identity: str) -> Path:
    """Copy a partition's files to the quarantine, whole or not at all, and return their folder.

    Raises:
        StorageError: the disk refuses.
    """
    folder = root / stream / partition / identity
    draft = folder.parent / DRAFT
    try:
        # Another query may be keeping it as well; what a run left that was killed is nobody's.
        with alone(folder.parent, lambda: None):
            if folder.is_dir():
                return folder
            remove(draft)
            draft.mkdir()
            try:
                for file in files:
                    shutil.copy2(file, draft / file.name)
                flushed(sorted(draft.iterdir()))
                os.replace(draft, folder)
                flushed([folder])
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"a late partition cannot be kept: {error.strerror or error}",
            subject=str(folder),
            fix="free space or permit writing there",
        ) from None
    return folder
