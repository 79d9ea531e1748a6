"""Corpus lines as histories: each marker is written as a partition, so what is new at it is its answer.

The events of a line become Parquet histories in a temporary folder, one partition a marker, and go the
way of every history: summarised by tasks, merged and answered by the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streambound.errors import DataError, PlanError, StreamboundError
from streambound.evaluation.corpus import document, failed, with_initial
from streambound.evaluation.events import Answer, Encoded, batches, encode_static
from streambound.history.evaluate import evaluate_history
from streambound.history.executor import Executor
from streambound.query.catalog import Catalog
from streambound.query.model import History, Relation, RelationKind
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine
from streambound.query.registry import RegisteredQuery
from streambound.query.statement import Statement
from streambound.tasks.emit import arrow_type
from streambound.tasks.scratch import scratch

KEY = "marker"


def run_corpus(
    executor: Executor, lines: Iterable[CorpusLine], mode: str | None = None
) -> Iterator[tuple[dict[str, Any], int]]:
    """The object and the exit code of each line, as ``evaluation.corpus.run_line`` gives them."""
    for line in lines:
        try:
            with scratch() as folder:
                yield _evaluated(executor, line, folder, mode), 0
        except StreamboundError as error:
            yield failed(line.id, error), error.exit_code


def _evaluated(executor: Executor, line: CorpusLine, folder: Path, mode: str | None) -> dict[str, Any]:
    if line.error is not None or line.catalog is None:
        raise line.error or DataError("the line has no catalog")
    query = statement(line.sql, line.catalog, line.id, line.dialect, line.query)
    markers = _write_streams(query, line, folder)
    _write_statics(query, line, folder)
    # A text may declare relations beside those of the catalog.
    relations = {relation.name: relation for relation in (*line.catalog.relations, *query.scanned)}
    catalog = Catalog(tuple(_placed(relation, folder) for relation in relations.values()), line.id)
    # Ids are free text, and the name of a query is that of a folder.
    registered = RegisteredQuery("query", line.sql, folder, dialect=line.dialect, query=line.query, mode=mode)
    (answer,) = evaluate_history(executor, [registered], catalog, output=folder / "answers")
    if answer.error is not None:
        raise answer.error
    if not answer.evaluated:
        raise PlanError(f"the query is {answer.verdict}", fix="see streambound check")
    answers = _answers(query, folder / "answers" / "query", markers)
    return with_initial(document(line.id, answers, lambda: answer.peak_units), answer.initial)


def _placed(relation: Relation, folder: Path) -> Relation:
    key = None if relation.kind.value == "static" else KEY
    return replace(relation, history=History(str(folder / relation.name), key))


def _write_streams(query: Statement, line: CorpusLine, folder: Path) -> list[Any]:
    relations = {r.name: r for r in query.scanned if r.kind is not RelationKind.STATIC}
    markers = []
    for number, batch in enumerate(batches(query, line.events)):
        markers.append(batch.marker)
        for name, rows in batch.tuples.items():
            _write(relations[name], rows, folder / name / f"{KEY}={number:09d}")
    for name, relation in relations.items():
        # A stream on which nothing arrives has a history all the same: an empty partition.
        if not (folder / name).exists():
            _write(relation, [], folder / name / f"{KEY}={0:09d}")
    return markers


def _write_statics(query: Statement, line: CorpusLine, folder: Path) -> None:
    relations = {r.name: r for r in query.scanned if r.kind is RelationKind.STATIC}
    for name, rows in encode_static(query, line.static).items():
        _write(relations[name], rows, folder / name)


def _write(relation: Relation, rows: Iterable[Encoded], folder: Path) -> None:
    decoded = [
        _nested((relation.path(c.name), c.type.decode(row[c.name])) for c in relation.own) for row in rows
    ]
    kinds = _nested((relation.path(c.name), arrow_type(c.type)) for c in relation.own)
    schema = pa.schema([pa.field(name, _struct(kind)) for name, kind in kinds.items()])
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(decoded, schema=schema), folder / "part-00000.parquet")


def _answers(query: Statement, folder: Path, markers: list[Any]) -> Iterator[list[Answer]]:
    for number, marker in enumerate(markers):
        file = folder / f"{KEY}={number:09d}" / "part-00000.parquet"
        if file.exists():
            *columns, counts = (column.to_pylist() for column in pq.ParquetFile(file).read().columns)
            rows = zip(*columns, strict=True)
            yield [Answer(marker, row, int(n)) for row, n in zip(rows, counts, strict=True)]


def _nested(values: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    """Values by their paths."""
    made: dict[str, Any] = {}
    for (*path, last), value in values:
        within = made
        for name in path:
            within = within.setdefault(name, {})
        within[last] = value
    return made


def _struct(kind: Any) -> pa.DataType:
    if isinstance(kind, dict):
        return pa.struct([pa.field(name, _struct(inner)) for name, inner in kind.items()])
    return kind
