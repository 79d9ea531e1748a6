"""The ingest of the flights as a task: its progress in the log, its run in the results database."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound_airflow.partitions import days
from streambound_airflow.runs import record_end, record_start

if TYPE_CHECKING:
    from streambound.results import Results

JOB = "ingest_flights"
log = logging.getLogger(__name__)


def ingest_days(store: Results, run_id: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the partitions of the chosen days.

    Returns ``rows`` (of each relation) and ``days`` (those of which a stream is new, has changed or is gone).

    Raises:
        DataError: the published files contradict themselves, or the days are none or reversed.
        StorageError: the disk or the results database failed.
    """
    from streambound.demo.flights import ingest

    first, last = days(parameters["from"], parameters["to"]).days()
    record_start(store, run_id, JOB, parameters)
    before = _contents(settings.streams_root())
    report = ingest(settings.streams_root(), first, last, log.info)
    log.info(
        "%s flights, %s cancelled, %s without a known arrival, %s arrivals withheld",
        *(f"{n:,}" for n in (report.flights, report.cancelled, report.diverted, report.arrivals_withheld)),
    )
    record_end(store, run_id, JOB, succeeded=True)
    after = _contents(settings.streams_root())
    days_changed = sorted({path.parent.name for path, _ in before ^ after})
    return {
        "rows": {written.relation: written.rows for written in report.written},
        "days": [name.removeprefix("date=") for name in days_changed],
    }


def _contents(root: Path) -> set[tuple[Path, str]]:
    """The files of the partitions of each day, with a digest of what is in them."""
    files = root.glob("*/date=*/*.parquet")
    return {(file, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files}


def generate_if_absent() -> None:
    """Generates the papers' abstract streams, unless both are there already.

    Raises:
        StorageError: the disk refuses.
    """
    from streambound.demo.abstract import FOLDERS, generate

    folders = [settings.streams_root() / folder for folder in FOLDERS.values()]
    if all(any(folder.glob("part=*/*.parquet")) for folder in folders):
        log.info("the abstract streams are there already: %s", ", ".join(map(str, folders)))
        return
    generate(settings.streams_root(), progress=log.info)
