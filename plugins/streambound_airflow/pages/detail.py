"""One query: its text and verdict, its state over time, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from streambound import settings
from streambound.results import EVALUATED_BY, Answer, VerdictRecord
from streambound_airflow.pages import overview
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.schemas import (
    CheckpointBody,
    EvaluationBody,
    QueryDetail,
    QueryRow,
    RecordedVerdict,
    StateBody,
)
from streambound_airflow.pages.sources import registered, stamps, store

# Verdicts that a page looks back over, to tell when one changed.
LOOKED_BACK = 400


def row_of_query(name: str) -> QueryRow:
    """The row of a query.

    Raises:
        Refused: no query of that name is registered or recorded. It is only compared: no file is asked for.
    """
    row = overview.rows().get(name)
    if row is None:
        shown = name if len(name) <= 60 else f"{name[:60]}..."
        raise Refused(
            404, f"no query is registered or recorded as {shown!r}", accepted="a name of api/v1/queries"
        )
    return row


def detail(name: str) -> QueryDetail:
    """A query's text as it is registered now (else as it was checked last), with its newest verdict under
    the criterion that evaluations go by."""
    row = row_of_query(name)
    newest = store().verdicts_of(name, 1, criterion=EVALUATED_BY)
    verdict = recorded_verdict(newest[0]) if newest else None
    file = registered(stamps()).get(name)
    sql = file.sql if file is not None else verdict.sql if verdict is not None else ""
    return QueryDetail(summary=row, sql=sql, verdict=verdict)


def recorded_verdict(record: VerdictRecord) -> RecordedVerdict:
    """A record of the results database as the API tells it."""
    body = asdict(record)
    body["verdict"] = body["verdict"] if body["verdict"] in overview.VERDICTS else "unknown"
    return RecordedVerdict.model_validate(body)


def evaluation(answer: Answer) -> EvaluationBody:
    """A record of the results database as the API tells it."""
    return EvaluationBody.model_validate(asdict(answer))


def turns(name: str) -> list[RecordedVerdict]:
    """The verdicts of a query that differed from the one before under the same criterion (in units or text
    too), the newest first."""
    before: dict[str | None, Any] = {}
    changes = []
    for record in reversed(store().verdicts_of(name, LOOKED_BACK)):
        decided = record.verdict, record.units, record.units_formula, record.sql
        if before.get(record.criterion) != decided:
            changes.insert(0, recorded_verdict(record))
        before[record.criterion] = decided
    return changes


def state(name: str, limit: int | None = None, offset: int = 0) -> StateBody:
    """The checkpoints of a query, the newest of them if there is a limit, in the order of their partitions.

    Raises:
        StorageError: the disk or the object storage refuses.
    """
    from streambound.checkpoint.table import CheckpointTable, address_of

    row = row_of_query(name)
    table = CheckpointTable(address_of(settings.checkpoints(), name), name)
    names = sorted(table.rows)
    end = len(names) - offset
    chosen = names[: max(end, 0)] if limit is None else names[max(end - limit, 0) : max(end, 0)]
    return StateBody(
        query=name,
        bound=row.units,
        total=len(names),
        checkpoints=[_checkpoint(table.rows[number]) for number in chosen],
        late=[
            f"{partition.stream}, partition {partition.partition} {partition.reason}"
            for partition in table.late
        ],
        faults=list(table.faults),
    )


def _checkpoint(row: Any) -> CheckpointBody:
    return CheckpointBody(
        partition=row.partition,
        units=row.units,
        peak_units=row.peak_units,
        rows=row.rows,
        answer_count=row.total.count,
        digest=row.digest,
    )


def points(body: StateBody, evaluations: Sequence[Answer]) -> list[tuple[str, int]]:
    """(partition, units) for a chart: of the checkpoints, else the largest state of each evaluation."""
    if body.checkpoints:
        return [(checkpoint.partition, checkpoint.units) for checkpoint in body.checkpoints]
    return [
        (f"{record.evaluated_at:%Y-%m-%d %H:%M}", record.peak_units)
        for record in reversed(evaluations)
        if record.peak_units is not None
    ]
