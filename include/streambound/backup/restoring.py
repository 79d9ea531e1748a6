"""Putting a backup back: every file is checked before anything is written, and nothing is overwritten.

Each part appears whole. What is there already and is the same is left, so one that was cut short is repeated.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streambound import settings
from streambound.backup.locations import DATABASE, tree_of
from streambound.backup.manifest import PARTS, Entry, Manifest, read_manifest, require_sound
from streambound.checkpoint.answer_files import digest_of_file
from streambound.durable import replaced
from streambound.errors import DataError

if TYPE_CHECKING:
    from sqlalchemy import URL


def restore(folder: Path, parts: Sequence[str] = ()) -> Manifest:
    """Put parts of a backup where the settings say that they belong.

    Args:
        parts: some of ``PARTS``; all that the backup holds if there are none.

    Returns:
        What was put there, or was there already.

    Raises:
        DataError: there is no backup, it is damaged or lacks a part, or something else is in its place.
        StorageError: a disk, the object storage or the database refuses.
    """
    manifest = read_manifest(folder)
    present = [part for part in PARTS if manifest.of(part)]
    for part in parts:
        if part not in present:
            raise DataError(
                f"the backup has no {part}",
                subject=str(folder),
                accepted=", ".join(present),
                fix="name another part",
            )
    chosen = [part for part in present if part in parts or not parts]
    require_sound(folder, manifest, chosen)
    missing = [part for part in chosen if not _is_there(part, manifest)]
    for part in missing:
        if part == "results":
            _restore_results(folder / part / DATABASE)
        else:
            tree_of(part).fill(folder / part, manifest.of(part))
    files = {f"{part}/{path}": entry for part in chosen for path, entry in manifest.of(part).items()}
    return Manifest(files, manifest.version, manifest.made)


def _is_there(part: str, manifest: Manifest) -> bool:
    if part != "results":
        return tree_of(part).holds(manifest.of(part))
    return _has_results(manifest.of(part)[DATABASE])


def _has_results(entry: Entry) -> bool:
    from streambound.results.address import shown
    from streambound.results.copying import is_there

    url, file = _database()
    if file is not None and digest_of_file(file) == entry.sha256:
        return True
    # A write-ahead log that is left over would be taken for one of the file that is put there.
    left = file is not None and any(file.with_name(file.name + end).exists() for end in ("", "-wal", "-shm"))
    if left or is_there(url):
        raise DataError(
            "there is a results database already",
            subject=shown(url),
            accepted="none, or an empty database",
            fix="move it away, name another with STREAMBOUND_DATABASE_URL, or other parts with --only",
        )
    return False


def _restore_results(source: Path) -> None:
    from sqlalchemy import URL

    from streambound.results.copying import copy

    url, file = _database()
    if file is not None:
        with source.open("rb") as read, replaced(file) as out:
            shutil.copyfileobj(read, out)
        return
    # Opening it may bring it to this release's schema, and a backup stays as it is.
    with tempfile.TemporaryDirectory() as name:
        opened = Path(name) / DATABASE
        shutil.copyfile(source, opened)
        copy(URL.create("sqlite", database=str(opened)), url)


def _database() -> tuple[URL, Path | None]:
    """The address that is to be restored to, and its file if it is one."""
    from streambound.results.address import parse_url

    url = parse_url(settings.database_url())
    return url, Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
