"""What runs found as metrics, through Airflow's own Stats: by StatsD or OpenTelemetry, as it is configured.

A metric is of one query, which is its tag. Plain StatsD has no tags: there the query ends the name,
``airflow.streambound.peak_units.QUERY``. Where Airflow has no metrics on, nothing is sent; what goes wrong is
logged, and fails nothing. ``docs/production.md`` says what each is, and has a dashboard.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.results import Answer, CacheAnswer, VerdictRecord

PREFIX = "streambound"
# Gauges, each of a query. What processes of a few seconds count, collectors do not add up: a verdict that
# turned is a gauge too.
GAUGES = (
    *("bound_units", "peak_units", "rows_read", "answer_rows", "seconds"),
    *("partitions", "missing_partitions", "late_rows", "share", "bounded", "verdict_changed"),
)
log = logging.getLogger(__name__)


def evaluated(answer: Answer, late: Sequence[Mapping[str, Any]], cached: CacheAnswer | None = None) -> None:
    """Sends what an evaluation of a query gave.

    Args:
        late: what of its streams is in quarantine, each with the folder ``kept``.
    """
    values = {
        "bound_units": answer.units,
        "peak_units": answer.peak_units,
        "rows_read": answer.rows_read,
        "answer_rows": answer.answer_rows,
        "seconds": answer.seconds,
        "partitions": answer.partitions,
        "missing_partitions": len(answer.missing_partitions),
        "late_rows": sum(_rows(Path(entry["kept"])) for entry in late),
        "share": None if cached is None else cached.estimated_share,
    }
    for name, value in values.items():
        if value is not None:
            _send(name, answer.query, value)


def checked(verdicts: Iterable[VerdictRecord], earlier: Iterable[VerdictRecord]) -> None:
    """Sends the verdicts of a run, and which of them turned.

    Args:
        earlier: of each query and criterion the newest verdict before, of those that decided.
    """
    before = {(record.query, record.criterion): record.verdict for record in earlier}
    for record in verdicts:
        turned = before.get((record.query, record.criterion), record.verdict) != record.verdict
        _send("bounded", record.query, record.verdict == "bounded")
        _send("verdict_changed", record.query, turned)


def _send(name: str, query: str, value: float) -> None:
    from airflow.sdk.configuration import conf
    from airflow.sdk.observability import stats

    plain = conf.getboolean("metrics", "statsd_on", fallback=False) and not any(
        conf.getboolean("metrics", option, fallback=False)
        for option in ("statsd_influxdb_enabled", "statsd_datadog_enabled")
    )
    stat = f"{PREFIX}.{name}"
    if plain:
        # A dot would begin another part of the name.
        stat += f".{stats.normalize_name_for_stats(query, log_warning=False).replace('.', '__')}"
    try:
        # Units may exceed the 64 bits of an exporter's integers.
        stats.gauge(stat, float(value), tags={"query": query})
    except Exception as error:
        log.warning("the metric %s was not sent: %s: %s", stat, type(error).__name__, error)


def _rows(folder: Path) -> int:
    """The rows of the Parquet files in a folder, by their footers; what cannot be read is not counted."""
    from pyarrow import ArrowException, parquet

    rows = 0
    for file in folder.rglob("*.parquet"):
        try:
            rows += parquet.read_metadata(file).num_rows
        except (OSError, ArrowException) as error:
            log.warning("late rows of %s are not counted: %s", file, error)
    return rows
