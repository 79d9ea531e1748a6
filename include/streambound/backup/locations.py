"""Where each part of a backup comes from and goes to, as the settings say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from streambound import settings
from streambound.backup.trees import Tree

if TYPE_CHECKING:
    from sqlalchemy import URL

# The results in a backup, wherever they come from: SQLite.
DATABASE = "results.db"


def tree_of(part: str) -> Tree:
    """The files of a part other than the results."""
    if part == "checkpoints":
        return Tree(settings.checkpoints())
    folders = {
        "registry": settings.registry,
        "answers": settings.answers_root,
        "quarantine": settings.quarantine_root,
        "caches": settings.caches_root,
    }
    return Tree(str(folders[part]()))


def results_url() -> URL | None:
    """The results database's address; None where none was named, and there is no file.

    Raises:
        StorageError: it is not the address of a database that is supported.
    """
    if not os.environ.get("STREAMBOUND_DATABASE_URL") and not (settings.home() / "results.db").exists():
        return None
    from streambound.results.address import parse_url

    return parse_url(settings.database_url())
