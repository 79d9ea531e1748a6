"""Evaluations night after night: what they leave behind, and what one evaluation of everything leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.spark.histories import Registered

from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog

# What a run says of itself, and not of the answers.
OF_THE_RUN = ("rows_read", "read_partitions", "started_after", "seconds")


def night(
    queries: Sequence[Registered],
    catalog: Catalog,
    home: Path,
    executor: Executor | None = None,
    **options: Any,
) -> dict[str, HistoryAnswer]:
    """One evaluation with checkpoints below ``home``, by query; without an executor in this process."""
    found = evaluate_history(
        executor or LocalExecutor(1),
        queries,
        catalog,
        output=home / "answers",
        checkpoints=str(home / "checkpoints"),
        **options,
    )
    return {answer.query: answer for answer in found}


def left(home: Path, query: str) -> dict[str, Any]:
    """The answers' bytes, what is said of them, and the digests of the checkpoints."""
    folder = home / "answers" / query
    files: dict[str, Any] = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*.parquet")}
    body = json.loads((folder / "_answer.json").read_text())
    about = {key: value for key, value in body.items() if key not in OF_THE_RUN}
    return {**files, "_answer.json": about, "checkpoints": digests(home, query)}


def digests(home: Path, query: str) -> dict[str, str]:
    """The digest of each checkpoint, by partition."""
    table = CheckpointTable(address_of(str(home / "checkpoints"), query), query)
    assert table.faults == []
    return {name: row.digest for name, row in sorted(table.rows.items())}


def from_scratch(
    queries: Sequence[Registered], catalog: Catalog, home: Path, **options: Any
) -> dict[str, dict[str, Any]]:
    """What one evaluation of all that is there leaves, by query."""
    shutil.rmtree(home, ignore_errors=True)
    night(queries, catalog, home, **options)
    return {query.name: left(home, query.name) for query in queries}
