"""What the checkpoints of a query would rest on as it is now: its fingerprint, files, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streambound.checkpoint.inspection import Files
from streambound.history.prepare import Registered, draft_of, prepare
from streambound.query.catalog import Catalog
from streambound.storage.partitions import PartitionRange
from streambound.tasks import emit


@dataclass(frozen=True)
class Grounds:
    """The fingerprint (None: the query is not bounded), and the files of each stream's partitions.

    ``key`` is that of the partitions, by which answer files are found.
    """

    fingerprint: str | None
    files: Files
    key: str | None = None

    def answer_file(self, folder: Path, partition: str) -> Path:
        """Where the answers of a partition lie, below the folder of the query's answers."""
        return emit.answer_path(folder, self.key, partition)


def grounds(query: Registered, catalog: Catalog) -> Grounds:
    """What an evaluation of a query would find.

    Raises:
        StreamboundError: the query is invalid, or its histories cannot be used.
    """
    job = prepare(draft_of(query, catalog), PartitionRange(), {})
    if job.plan is None:
        return Grounds(None, {})
    files = {(stream, part.name): part.files for stream, parts in job.partitions.items() for part in parts}
    return Grounds(job.plan.fingerprint(job.static), files, job.key)
