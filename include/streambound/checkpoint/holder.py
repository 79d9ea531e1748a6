"""Which answers a table of checkpoints speaks of: a note in the folder of a query's answers.

A table says of each partition that its answers have been written; the note ties that to this folder. It
names a token that the rows repeat, the table's version, and the partitions that are being written, whose
answers count as missing until their checkpoints are committed. An evaluation that keeps no checkpoints
removes it.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from streambound.errors import StorageError

NAME = "_checkpointed.json"


@dataclass(frozen=True)
class Holder:
    """The note: the folder's token, the least version of the table, and the partitions not settled."""

    token: str
    version: int = -1
    unsettled: frozenset[str] = frozenset()


def new_holder() -> Holder:
    """A note that no row repeats yet."""
    return Holder(secrets.token_hex(8))


def read_holder(folder: Path) -> Holder | None:
    """The note in a folder; None if there is none for this folder."""
    try:
        body = json.loads((folder / NAME).read_text(encoding="utf-8"))
        # A copy of a folder is not the folder that the table speaks of.
        if body["folder"] != str(folder.resolve()):
            return None
        return Holder(str(body["token"]), int(body["version"]), frozenset(body["unsettled"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_holder(folder: Path, holder: Holder) -> None:
    """Write the note in one step.

    Raises:
        StorageError: the disk refuses.
    """
    body = {
        "token": holder.token,
        "folder": str(folder.resolve()),
        "version": holder.version,
        "unsettled": sorted(holder.unsettled),
    }
    draft = folder / f".{NAME}.{os.getpid()}.draft"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(body), encoding="utf-8")
        os.replace(draft, folder / NAME)
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror or error}",
            subject=str(folder / NAME),
            fix="free space or permit writing there",
        ) from None


def forget_holder(folder: Path) -> None:
    """Remove the note: no table speaks of this folder any more.

    Raises:
        StorageError: the disk refuses.
    """
    try:
        (folder / NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot remove: {error.strerror or error}", subject=str(folder / NAME)) from None
