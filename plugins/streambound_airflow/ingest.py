"""The ingest of the flights as a task: its progress in the log, its run in the results database."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound_airflow.partitions import days
from streambound_airflow.runs import record_end, record_start

if TYPE_CHECKING:
    from streambound.results import Results

JOB = "ingest_flights"
log = logging.getLogger(__name__)


def ingest_days(store: Results, run_id: str, parameters: Mapping[str, Any]) -> dict[str, int]:
    """Writes the partitions of the chosen days; the rows of each relation.

    Raises:
        DataError: the published files contradict themselves, or the days are none or reversed.
        StorageError: the disk or the results database failed.
    """
    from streambound.sources.flights import ingest

    first, last = days(parameters["from"], parameters["to"]).days()
    record_start(store, run_id, JOB, parameters)
    report = ingest(settings.streams_root(), first, last, log.info)
    log.info(
        "%s flights, %s cancelled, %s without a known arrival, %s arrivals withheld",
        *(f"{n:,}" for n in (report.flights, report.cancelled, report.diverted, report.arrivals_withheld)),
    )
    record_end(store, run_id, JOB, succeeded=True)
    return {written.relation: written.rows for written in report.written}


def generate_if_absent() -> None:
    """Generates the papers' abstract streams, unless both are there already.

    Raises:
        StorageError: the disk refuses.
    """
    from streambound.sources.abstract import FOLDERS, generate

    folders = [settings.streams_root() / folder for folder in FOLDERS.values()]
    if all(any(folder.glob("part=*/*.parquet")) for folder in folders):
        log.info("the abstract streams are there already: %s", ", ".join(map(str, folders)))
        return
    generate(settings.streams_root(), progress=log.info)
