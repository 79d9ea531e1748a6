"""Stored relations: a bounded query without time conditions over finite Parquet tables, each read once.

A bounded query takes its streams in any interleaving (Arasu et al., end of section 6), so tables can be read
one after the other, in any order of files and rows, in constant memory beside a batch of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from streambound.compiler import judge, planned, unplanned
from streambound.errors import DataError, PlanError
from streambound.evaluation.flow import completed
from streambound.evaluation.history import rows_of
from streambound.evaluation.onepass import static_values
from streambound.evaluation.promises import require_units
from streambound.history.evaluations.statement import statement_evaluation
from streambound.plan.tables.statement import not_evaluated, planned_parts
from streambound.plan.trees.flow_planner import flow
from streambound.query.catalog import Catalog
from streambound.query.model import Relation, RelationKind
from streambound.query.statement import Statement
from streambound.state.row_join import Row
from streambound.storage.files import footers, parquet_file
from streambound.storage.partitions import Partition, refuse_promises
from streambound.tasks.embedded_engine import EmbeddedEngine, opened
from streambound.tasks.plans import StatementPlan, statement_plan
from streambound.tasks.promises import faults
from streambound.tasks.readers import Reader, Static, statement_readers
from streambound.tasks.summarise import partition_tables

BATCH_ROWS = 1 << 16
# The column of a batch of which no other is needed; no catalog has such a name.
NUMBERS = "streambound row"

Files = Mapping[str, tuple[Path, ...]]


@dataclass(frozen=True)
class Stored:
    """A query over the files of its tables."""

    plan: StatementPlan
    static: Mapping[str, list[dict[str, object]]]
    files: Files

    @property
    def statement(self) -> Statement:
        """The query."""
        return self.plan.statement

    @property
    def passes_on(self) -> bool:
        """Whether a part answers each tuple at once: how many rows it has, no plan bounds."""
        return self.plan.node is None and any(part.plan.stateless for part in self.plan.parts)

    def readers(self) -> dict[str, list[Reader]]:
        """What is computed of each table that has to be read."""
        statics = [
            Static(o.relation, tuple(map(str, self.files[o.relation.name]))) for o in self.statement.statics
        ]
        readers: dict[str, list[Reader]] = {}
        for table, reader in statement_readers(self.plan, None, statics):
            readers.setdefault(table, []).append(reader)
        return readers


def stored(
    name: str,
    sql: str,
    catalog: Catalog,
    folder: Path,
    dialect: str | None = None,
    query: str | None = None,
) -> Stored:
    """A bounded query over the tables in a folder; ``dialect`` and ``query`` as in ``judge``.

    Raises:
        QueryError: the query is invalid.
        PlanError: it is not bounded, has no plan, or compares timestamps.
        DataError: a table is missing, or does not fit the catalog.
    """
    decided = judge(sql, catalog, name, dialect=dialect, query=query)
    made = None if decided.statement.statics else planned(decided)
    without = unplanned(decided) if made is None else made.unplanned
    if decided.verdict.bounded and without is not None:
        raise not_evaluated(name, without)
    if not decided.verdict.bounded:
        said = f"{decided.verdict.outcome.value}: {decided.verdict.reasons[0].message}"
        raise PlanError(f"the query is {said}", subject=name, fix="see streambound check")
    statement = decided.statement
    relations = {relation.name: relation for relation in statement.scanned}
    files = {name: _files(folder, name) for name in relations}
    for relation in relations.values():
        refuse_promises(statement, relation)
        _require_columns(statement, relation, files[relation.name])
    rows = {
        o.relation.name: list(rows_of(_as_read(statement, o.relation), Partition("", files[o.relation.name])))
        for o in statement.statics
    }
    static = completed(statement, rows)
    values = partial(static_values, static=static)
    if made is not None:
        plan = statement_plan(statement, made.planned_parts, made.node)
    elif statement.plain:
        plan = statement_plan(statement, planned_parts(decided.decision.parts, values))
    else:
        plan = statement_plan(statement, (), flow(statement, values))
    if plan.in_time or any(part.plan.timed for part in plan.parts):
        raise PlanError(
            "the query compares timestamps, or its DISTINCT rows have one: stored relations have no order",
            subject=name,
            fix="evaluate it over a history (leave out --relations)",
        )
    return Stored(plan, static, files)


def _files(folder: Path, name: str) -> tuple[Path, ...]:
    alone, below = folder / f"{name}.parquet", folder / name
    visible = (p for p in sorted(below.rglob("*.parquet")) if not _hidden(p.relative_to(below)))
    files = ((alone,) if alone.is_file() else ()) + tuple(visible)
    if not files or (alone in files and len(files) > 1):
        raise DataError(
            f"there is no table {name}" if not files else f"there are two tables {name}",
            subject=str(folder),
            accepted=f"either {name}.parquet, or a folder {name} with *.parquet files",
            fix="put the tables of all streams and static relations there",
        )
    return files


def _hidden(path: Path) -> bool:
    return any(part[0] in "._" for part in path.parts)


def _as_read(statement: Statement, relation: Relation) -> Relation:
    """A relation with its timestamp only if the query reads it: tables have no order."""
    if statement.reads_time(relation):
        return relation
    return replace(relation, timestamp=None).unrated()


def _require_columns(statement: Statement, relation: Relation, files: Sequence[Path]) -> None:
    columns = sorted(statement.reads(relation))
    faults = footers(_as_read(statement, relation), columns, list(map(str, files))).faults
    if faults:
        raise next(iter(faults.values()))


class StoredEvaluation:
    """One evaluation; ``peak_units`` is the most that was ever stored, ``rows`` are those read."""

    def __init__(self, query: Stored) -> None:
        self.query = query
        self.evaluation = statement_evaluation(query.plan, query.static)
        self.rows = 0

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.evaluation.peak_units

    def run(self) -> Iterator[Mapping[Row, int]]:
        """What there is before anything, and the changes of the answer (encoded) by each batch of rows.

        Raises:
            DataError: a file cannot be read, or breaks a promise of the catalog.
            UnitsExceeded: the state passed the plan's units.
        """
        statement = self.query.statement
        arriving = (r for r in statement.scanned if r.kind is not RelationKind.STATIC)
        relations = {relation.name: _as_read(statement, relation) for relation in arriving}
        if self.evaluation.initial:
            yield self.evaluation.initial
        with opened() as engine:
            for table, readers in self.query.readers().items():
                relation, files = relations[table], list(map(str, self.query.files[table]))
                columns = sorted(relation.stored(name for reader in readers for name in reader.columns))
                _require_rate(engine, relation, columns, files)
                for file in files:
                    for batch in _batches(file, columns):
                        self.rows += batch.num_rows
                        yield self._take(engine, relation, readers, batch, file)

    def _take(
        self,
        engine: EmbeddedEngine,
        relation: Relation,
        readers: Sequence[Reader],
        batch: pa.RecordBatch,
        file: str,
    ) -> Mapping[Row, int]:
        with engine.batch(relation, batch):
            _require(engine, relation, [name for name in batch.schema.names if name != NUMBERS], [file])
            given = {reader.alias: partition_tables(engine, reader, 1)[0] for reader in readers}
        answers = self.evaluation.advance(file, given)
        require_units(self.query.statement.name, self.query.plan.max_units, self.peak_units)
        return answers


def _batches(file: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with parquet_file(file) as parquet:
        if columns:
            yield from parquet.iter_batches(BATCH_ROWS, columns=list(columns))
            return
        # A query may only count the rows of a table.
        for start in range(0, parquet.metadata.num_rows, BATCH_ROWS):
            numbers = range(start, min(start + BATCH_ROWS, parquet.metadata.num_rows))
            yield pa.RecordBatch.from_pydict({NUMBERS: list(numbers)})


def _require_rate(
    engine: EmbeddedEngine, relation: Relation, columns: Sequence[str], files: Sequence[str]
) -> None:
    """Refuse a table with too many rows at a timestamp: rows of one are in batches of any of its files."""
    stamp = [name for name in columns if name == relation.timestamp]
    if stamp and relation.rates:
        with engine.tuples(relation, stamp, [files], copied=False):
            _require(engine, relation, stamp, files)


def _require(
    engine: EmbeddedEngine, relation: Relation, columns: Sequence[str], files: Sequence[str]
) -> None:
    """Refuse rows in the current ``tuples`` that break a promise.

    Raises:
        DataError: naming the first of them in the files.
    """
    (broken,) = faults(engine, relation, columns, [files])
    for error in broken.values():
        raise error.about(f"table {relation.name}")
