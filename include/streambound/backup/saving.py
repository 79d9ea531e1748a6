"""Writing a backup: no run changes anything meanwhile, and the folder appears whole or not at all."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from streambound import settings
from streambound.backup.locations import DATABASE, results_url, tree_of
from streambound.backup.manifest import NAME, PARTS, Entry, Manifest
from streambound.checkpoint.answer_files import digest_of_file
from streambound.checkpoint.lock import NAME as LOCK
from streambound.checkpoint.lock import alone
from streambound.durable import DRAFT, flushed, refused, remove, write_text
from streambound.errors import DataError
from streambound.locks import taken

Tell = Callable[[str], None]


def save(folder: Path, parts: Sequence[str] = PARTS, tell: Tell = lambda line: None) -> Manifest:
    """Write a backup into a folder that is not there yet.

    Runs that evaluate queries are waited for, and wait until it is done.

    Args:
        parts: some of ``PARTS``; what of them is not there is left out.
        tell: receives one line a run that is waited for.

    Raises:
        DataError: the folder is there, or lies in what is backed up.
        StorageError: something cannot be read, the disk refuses, or a file changed meanwhile.
    """
    folder = folder.absolute()
    _require_free(folder, parts)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}{DRAFT}")
    files = dict[str, Entry]()
    try:
        remove(draft)
        draft.parent.mkdir(parents=True, exist_ok=True)
        # All answers are in it: nobody else's business.
        draft.mkdir(mode=0o700)
        with ExitStack() as locks:
            _hold_runs(locks, settings.answers_root(), tell)
            for part in parts:
                entries = _results(draft / part) if part == "results" else tree_of(part).copied(draft / part)
                files |= {f"{part}/{path}": entry for path, entry in entries.items()}
        made = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        manifest = Manifest(files, settings.version(), made)
        write_text(draft / NAME, manifest.to_json())
        os.rename(draft, folder)
        flushed([folder])
    except OSError as error:
        raise refused(folder, error) from None
    finally:
        remove(draft)
    return manifest


def _require_free(folder: Path, parts: Sequence[str]) -> None:
    if os.path.lexists(folder):
        raise DataError(
            "it is there already, and a backup overwrites nothing",
            subject=str(folder),
            accepted="a folder that is not there yet",
            fix="name another, such as one with today's date",
        )
    roots = {part: tree_of(part).folder for part in parts if part != "results"}
    for part, root in roots.items():
        if root is not None and folder.resolve().is_relative_to(root.resolve()):
            raise DataError(
                f"it lies in the {part}, which are backed up",
                subject=str(folder),
                fix=f"name one outside {root}",
            )


def _hold_runs(locks: ExitStack, folder: Path, tell: Tell) -> None:
    """Hold the answers of all queries; none while another is waited for, since runs hold several, too."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()) if folder.is_dir() else []
    while True:
        with ExitStack() as attempt:
            busy = next((name for name in names if not _taken(attempt, folder / name / LOCK)), None)
            if busy is None:
                locks.enter_context(attempt.pop_all())
                return
        tell(f"{busy}: a run is evaluating it; waiting for its end")
        with alone(folder / busy, lambda: None):
            pass


def _taken(attempt: ExitStack, path: Path) -> bool:
    return taken(attempt.enter_context(path.open("ab")))


def _results(folder: Path) -> dict[str, Entry]:
    url = results_url()
    if url is None:
        return {}
    # Not where only queries are evaluated: that needs no SQLAlchemy.
    from sqlalchemy import URL

    from streambound.results.copying import copy, is_there

    if not is_there(url):
        return {}
    folder.mkdir()
    path = folder / DATABASE
    copy(url, URL.create("sqlite", database=str(path)))
    flushed([path])
    digest = digest_of_file(path)
    assert digest is not None
    return {DATABASE: Entry(path.stat().st_size, digest)}
