"""The quality of a stream: its metrics, one checkpoint over them, and one over its newest rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.quality.checkpoint import Checked, run_checkpoint
from streambound.quality.docs import docs_context
from streambound.quality.metrics import Measures, as_json, day_of, measure, metrics_table
from streambound.quality.observed import EXAMPLE_PARTITIONS, different, examples
from streambound.quality.suites import row_expectations, stream_promises
from streambound.query.model import Relation
from streambound.results import QualityOutcome, Results
from streambound.storage.files import parquet_file
from streambound.storage.partitions import Partition, find_partitions

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.data_context.data_context.file_data_context import FileDataContext

# The newest partition is looked at row by row up to here; the metrics cover all of its rows.
NEWEST_ROWS = 100_000


@dataclass(frozen=True)
class StreamQuality:
    """What a run found of one stream.

    ``failed_partitions`` has the reasons of each failed partition, by its name; ``evaluated`` counts
    expectations; ``docs`` is the Data Docs page; ``measures`` has every partition checked; ``different``
    tells of each column how many different values these have together, and ``examples`` of the newest failed
    partitions rows that break a promise.
    """

    stream: str
    success: bool
    failed_partitions: Mapping[str, tuple[str, ...]]
    evaluated: int
    docs: Path
    measures: tuple[Measures, ...]
    run_id: str
    job: str = ""
    # As the results database records them.
    expectations: tuple[Mapping[str, Any], ...] = ()
    different: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    examples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def outcome(self) -> QualityOutcome:
        """The record for the results database."""
        failed = [
            {"partition": name, "reasons": list(why), "examples": list(self.examples.get(name, ()))}
            for name, why in self.failed_partitions.items()
        ]
        return QualityOutcome(
            self.run_id,
            self.stream,
            self.success,
            self.evaluated,
            failed=failed,
            docs=str(self.docs),
            job=self.job,
            expectations=self.expectations,
            observed=self.different,
        )

    def record(self, results: Results) -> None:
        """Writes the outcome and the metrics of every partition."""
        results.record_partition_metrics(
            self.run_id, self.stream, {m.partition: as_json(m) for m in self.measures}, self.job
        )
        results.record_quality(self.outcome())


def check_stream(
    relation: Relation, partitions: Sequence[str] | None, run_id: str, job: str = ""
) -> StreamQuality:
    """Checks a stream's partitions (by name; None for all that exist) against its catalog entry, in a run of
    a job (a DAG).

    A partition that is missing, corrupt or breaks a promise is in ``failed_partitions``.

    Raises:
        DataError: there is no history, no folder or no file at all.
        StorageError: the quality folder cannot be used.
    """
    present = find_partitions(relation, partitions)
    measures = measure(relation, present)
    newest = next((p for p, m in zip(present, measures, strict=True) if m.newest), None)
    sample = None if newest is None else newest_rows(relation, newest)
    with docs_context() as context:
        checked = _check_metrics(context, relation, measures, run_id)
        rows = None if sample is None else _check_rows(context, relation, sample, run_id)
    failed = _reasons(checked, measures)
    # The metrics cover what the newest rows show, with counts over all rows; else these are named.
    if rows and newest and not rows.success:
        failed.setdefault(newest.name, _row_reasons(rows))
    evaluated = checked.evaluated + (rows.evaluated if rows else 0)
    ordered = {name: failed[name] for name in sorted(failed)}
    sound = {m.partition for m in measures if m.readable and m.schema_ok}
    return StreamQuality(
        relation.name,
        not failed,
        ordered,
        evaluated,
        checked.page,
        measures,
        run_id,
        job,
        expectations=(*checked.outcomes(), *(rows.outcomes() if rows else ())),
        different=different(relation, [p for p in present if p.name in sound]),
        examples=_examples(relation, [p for p in present if p.name in sound], checked),
    )


def _examples(
    relation: Relation, partitions: Sequence[Partition], checked: Checked
) -> dict[str, list[dict[str, Any]]]:
    broken: dict[str, dict[str, str]] = {}
    for failure in checked.failures:
        broken.setdefault(str(failure.subject), {})[str(failure.column)] = failure.reason
    failed = [partition for partition in partitions if partition.name in broken][-EXAMPLE_PARTITIONS:]
    return {item.name: examples(relation, item, broken[item.name], day_of(item.name)) for item in failed}


def _check_metrics(
    context: FileDataContext, relation: Relation, measures: Sequence[Measures], run_id: str
) -> Checked:
    expectations = [promise.expected() for promise in stream_promises(relation)]
    table = metrics_table(relation, measures)
    return run_checkpoint(context, relation.name, "partitions", table, expectations, run_id, "partition")


def _check_rows(context: FileDataContext, relation: Relation, rows: pd.DataFrame, run_id: str) -> Checked:
    name = f"{relation.name}-newest"
    return run_checkpoint(context, name, "rows", rows, row_expectations(relation), run_id)


def _reasons(checked: Checked, measures: Sequence[Measures]) -> dict[str, tuple[str, ...]]:
    by_partition = {m.partition: m.reason for m in measures}
    reasons: dict[str, tuple[str, ...]] = {}
    for failure in checked.failures:
        name = str(failure.subject)
        reason = by_partition[name] or failure.reason
        # An unreadable partition breaks two promises for one reason.
        reasons[name] = tuple(dict.fromkeys((*reasons.get(name, ()), reason)))
    return reasons


def _row_reasons(rows: Checked) -> tuple[str, ...]:
    return tuple(f"newest rows: {failure.reason}" for failure in rows.failures)


def newest_rows(relation: Relation, partition: Partition) -> pd.DataFrame:
    """The first rows (at most NEWEST_ROWS) of a partition, the declared columns."""
    columns = [column.name for column in relation.columns]
    tables: list[pa.Table] = []
    wanted = NEWEST_ROWS
    for path in partition.files:
        with parquet_file(str(path)) as file:
            for batch in file.iter_batches(columns=columns):
                tables.append(pa.Table.from_batches([batch.slice(0, wanted)]))
                wanted -= tables[-1].num_rows
                if wanted <= 0:
                    break
    whole = (
        pa.concat_tables(tables, promote_options="permissive")
        if tables
        else pa.table({c: [] for c in columns})
    )
    frame: pd.DataFrame = whole.to_pandas()
    # Exact numbers that are declared double are judged as the doubles that they are read as.
    return frame.astype({column.name: float for column in relation.columns if column.type.name == "double"})
