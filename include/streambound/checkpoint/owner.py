"""Which answers a table of checkpoints speaks of: a note in the folder of a query's answers.

A table says of each partition that its answers have been written; the note ties that to this folder. It
names a token that the rows repeat, the table's version, and the partitions that are being written, whose
answers count as missing until their checkpoints are committed. It also says what all partitions came to at
which boundary, so that a long history is not added up again. An evaluation that keeps no checkpoints removes
it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streambound.checkpoint.answer_files import AnswerFile
from streambound.checkpoint.boundary import Tally
from streambound.durable import remove, write_text
from streambound.state.serial import digest as digest_of

NAME = "_checkpointed.json"


@dataclass(frozen=True)
class Total:
    """What all partitions up to a boundary came to: its fingerprint and chain, the file, and its rows.

    Where no file holds the answer as a whole, it is that of no file.
    """

    boundary: str
    file: AnswerFile
    rows: Tally


@dataclass(frozen=True)
class Owner:
    """The note: the folder's token, the least version of the table, the partitions not settled, the total."""

    token: str
    version: int = -1
    unsettled: frozenset[str] = frozenset()
    total: Total | None = None


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
        return Owner(
            str(body["token"]),
            int(body["version"]),
            frozenset(body["unsettled"]),
            _total_of(body.get("total")),
        )
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
        "total": None if holder.total is None else _total_body(holder.total),
    }
    write_text(folder / NAME, json.dumps(body))


def _total_body(total: Total) -> dict[str, Any]:
    """Numbers of any size are texts, and the digest of the content is that of the other members."""
    rows = [str(number) for number in (total.rows.rows, total.rows.count, total.rows.hash)]
    body = {"boundary": total.boundary, "file": [total.file.digest, total.file.identity], "rows": rows}
    return {**body, "digest": digest_of(json.dumps(body).encode())}


def _total_of(noted: Any) -> Total | None:
    """The total that a note holds; None if it holds none, or another than was written."""
    if noted is None:
        return None
    total = Total(noted["boundary"], AnswerFile(*noted["file"]), Tally(*map(int, noted["rows"])))
    return total if noted == _total_body(total) else None


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
