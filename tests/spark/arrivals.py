"""Files that arrive: random streams cut into files and micro-batches, and micro-batches run without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark import histories
from tests.strategies import Case

from streambound.evaluation.events import Batch, Encoded, batches, encode
from streambound.evaluation.reference import reference
from streambound.history.prepare import draft, prepare, stream_scans
from streambound.live.answers import EPOCH
from streambound.live.start import Start, beginning_of, relations_of
from streambound.live.step import END, LiveState
from streambound.query.catalog import Catalog
from streambound.query.model import History, Query, Relation, RelationKind
from streambound.query.statement import Statement
from streambound.spark.live.arrivals import arrival_of, row_of
from streambound.spark.live.folders import folder_of
from streambound.storage.partitions import PartitionRange
from streambound.tasks.summarise import error_of

Rows = list[dict[str, Any]]
# The rows of each file by stream, in the order in which micro-batches take them.
Arriving = list[list[tuple[str, Rows]]]
# An integer between two, these included.
Pick = Callable[[int, int], int]


def flat(catalog: Catalog, folder: Path) -> Catalog:
    """The catalog with a folder of files, without partitions, below ``folder`` for every relation."""
    found = (replace(r, history=History(str(folder / r.name), None)) for r in catalog.relations)
    for relation in catalog.relations:
        (folder / relation.name).mkdir(parents=True, exist_ok=True)
    return Catalog(tuple(found))


def cut(pick: Pick, case: Case, rows: Rows, most: int = 4) -> Arriving:
    """Each stream's rows, in their order, cut into micro-batches and files at any places."""
    number = pick(1, most)
    found: Arriving = [[] for _ in range(number)]
    for name in sorted(r.name for r in case.statement.scanned if r.kind is RelationKind.STREAM):
        mine, at = [row for row in rows if row["stream"] == name], 0
        files: list[Rows] = [[]]
        positions = [at]
        for row in mine:
            if pick(0, 2) == 0:
                at = pick(at, number - 1)
                files.append([])
                positions.append(at)
            files[-1].append(row)
        for position, file in zip(positions, files, strict=True):
            found[position].append((name, file))
    return found


def relation_of(case: Case, name: str) -> Relation:
    return next(relation for relation in case.statement.scanned if relation.name == name)


def write(
    case: Case, arriving: Sequence[tuple[str, Rows]], folder: Path, epoch: int
) -> list[tuple[str, str]]:
    """The files of a micro-batch; (stream, path) as Spark names them."""
    found = []
    for number, (name, rows) in enumerate(arriving):
        relation = relation_of(case, name)
        path = folder / name / f"{epoch:04}-{number:04}.parquet"
        draft = path.with_name(f".{path.name}")
        pq.write_table(histories.table(relation, rows), draft)
        draft.rename(path)
        found.append((name, f"file:{path.resolve()}"))
    return found


class Here:
    """A live query whose micro-batches run in this process; states go through their entries."""

    def __init__(self, case: Case, catalog: Catalog, folder: Path) -> None:
        job = prepare(draft("q", case.sql, catalog), PartitionRange(), {}, growing=True)
        self.beginning = beginning_of(job, Start(""))
        scans = stream_scans([job], folder, markers=True)
        self.mapped = {name: folder_of(r).mapper(scans[name], 256) for name, r in relations_of(job).items()}
        self.entries: dict[str, str] = {}
        self.step = LiveState(self.beginning, {})

    def take(self, files: Sequence[tuple[str, str]]) -> list[tuple[Any, Counter[Any]]]:
        """The new answers of a micro-batch, by marker."""
        rows = [row_of(END, path) for name, path in files if name == END]
        for name, mapped in self.mapped.items():
            mine = [file for file in files if file[0] == name]
            columns = [pa.array([f[i] for f in mine], pa.string()) for i in (0, 1)]
            batch = pa.RecordBatch.from_arrays(columns, ["stream", "path"])
            rows += [row for found in mapped(iter([batch])) for row in found.to_pylist()]
        if failed := sorted(row["error"] for row in rows if row["error"]):
            raise error_of(failed[0])
        self.step = LiveState(self.beginning, self.entries)
        found = [(marker, Counter(new)) for marker, new in self.step.take(map(arrival_of, rows))]
        self.entries = self.step.entries()
        return found

    def end(self) -> list[tuple[Any, Counter[Any]]]:
        """What the end of the input adds."""
        return self.take([(END, "file:/end")])


def by_marker(case: Case, rows: Rows, statics: dict[str, list[Encoded]]) -> list[tuple[Any, Counter[Any]]]:
    """What the definition says is new at each marker at which something is."""
    return _encoded(case.statement, list(batches(case.statement, rows)), statics)


def by_batch(
    case: Case, arriving: Arriving, statics: dict[str, list[Encoded]]
) -> list[tuple[Any, Counter[Any]]]:
    """What the definition says is new in each micro-batch, whatever its order."""
    found = []
    for number, files in enumerate(arriving):
        tuples: dict[str, list[Encoded]] = {}
        for name, rows in files:
            relation = relation_of(case, name)
            tuples.setdefault(name, []).extend(encode(relation, row, "row") for row in rows)
        found.append(Batch(number, tuples, number))
    return _encoded(case.statement, found, statics)


def _encoded(
    query: Statement, arriving: Sequence[Batch], statics: dict[str, list[Encoded]]
) -> list[tuple[Any, Counter[Any]]]:
    kinds = [kind for _, kind in query.outputs]
    found = []
    for batch, answers in zip(arriving, reference(query, arriving, statics), strict=True):
        rows: Counter[Any] = Counter()
        for one in answers:
            rows[tuple(k.encode(v) for k, v in zip(kinds, one.row, strict=True))] += one.count
        if rows:
            found.append((batch.moment, rows))
    return found


def written(folder: Path, query: Query | Statement, timed: bool) -> list[tuple[Any, Counter[Any]]]:
    """The answers in the files of a live query: by marker, or where there is no time by micro-batch."""
    kinds = [kind for _, kind in query.outputs]
    found: list[tuple[Any, Counter[Any]]] = []
    for file in sorted(folder.glob(f"{EPOCH}=*/*.parquet")):
        columns = [c.to_pylist() for c in pq.ParquetFile(file).read().columns]
        markers = columns.pop(-2) if timed else [int(file.parent.name.partition("=")[2])] * len(columns[0])
        for marker, *row, count in zip(markers, *columns, strict=True):
            if not found or found[-1][0] != marker:
                found.append((marker, Counter()))
            found[-1][1][tuple(k.encode(v) for k, v in zip(kinds, row, strict=True))] += int(count)
    return found
