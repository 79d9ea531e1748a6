"""The fingerprint of a query as it is now, and the files that its checkpoints would rest on."""

from __future__ import annotations

from streambound.checkpoint.inspection import Files
from streambound.query.catalog import Catalog
from streambound.query.partitions import Range
from streambound.spark.prepare import draft, prepare


def fingerprint_and_files(name: str, sql: str, catalog: Catalog) -> tuple[str | None, Files]:
    """The fingerprint (None: the query is not bounded) and the files of each stream's partitions.

    Raises:
        StreamboundError: the query is invalid, or its histories cannot be used.
    """
    job = prepare(draft(name, sql, catalog), Range(), {})
    if job.plan is None:
        return None, {}
    files = {(stream, part.name): part.files for stream, parts in job.partitions.items() for part in parts}
    return job.plan.fingerprint(job.static), files
