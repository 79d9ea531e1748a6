"""Which answers a table of checkpoints speaks of: a note in the folder of a query's answers.

A table says of each partition that its answers have been written; the note ties that to this folder. It
names a token that the rows repeat, the table's version, and the partitions that are being written, whose
answers count as missing until their checkpoints are committed. An evaluation that keeps no checkpoints
removes it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from streambound.durable import remove, write_text

NAME = "_checkpointed.json"


@dataclass(frozen=True)
class Owner:
    """The note: the folder's token, the least version of the table, and the partitions not settled."""

    token: str
    version: int = -1
    unsettled: frozenset[str] = frozenset()


def new_owner() -> Owner:
    """A note that no row repeats yet."""
    return Owner(secrets.token_hex(8))


def read_owner(folder: Path) -> Owner | None:
    """The note in a folder; None if there is none for this folder."""
    try:
        body = json.loads((folder / NAME).read_text(encoding="utf-8"))
        # A copy of a folder is not the folder that the table speaks of.
        if body["folder"] != str(folder.resolve()):
            return None
        return Owner(str(body["token"]), int(body["version"]), frozenset(body["unsettled"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_owner(folder: Path, holder: Owner) -> None:
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
    write_text(folder / NAME, json.dumps(body))


def unsettle(folder: Path, partitions: Iterable[str]) -> None:
    """Let the answers of some partitions count as missing.

    Raises:
        StorageError: the disk refuses.
    """
    if (holder := read_owner(folder)) is not None:
        write_owner(folder, replace(holder, unsettled=holder.unsettled | frozenset(partitions)))


def forget_owner(folder: Path) -> None:
    """Remove the note: no table speaks of this folder any more.

    Raises:
        StorageError: the disk refuses.
    """
    remove(folder / NAME)
