"""The rows of a query's answer, from the files that its last evaluation left; none is ever read whole.

There are two views: ``answer`` is the answer as it is now (``_total.parquet``), in canonical order, and
``changes`` are the rows by which it changed, partition by partition, the newest first. Where there is no such
file (``tasks.emit``), the sum of the changes is the answer.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from fastapi.responses import StreamingResponse
from pyarrow import types

from streambound import settings
from streambound.errors import StorageError
from streambound.evaluation.corpus import plain
from streambound.storage.parquet import COMPRESSION, FILE_NAME
from streambound.storage.partitions import WHOLE
from streambound.tasks.emit import COUNT, SUMMARY, total_path
from streambound_airflow.pages.detail import row_of_query
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.schemas import AnswerColumn, AnswerPage, AnswerRow, AnswerView
from streambound_airflow.pages.sources import store

# Rows that are in memory at once.
BATCH = 1 << 14
PARTITION = "partition"


Kind = Literal["csv", "parquet"]
# NULL is empty in CSV (RFC 4180), and a text that is empty is quoted.
MEDIA: Mapping[Kind, str] = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class _File:
    """A file of answer rows, and the partition whose changes it holds (None: the answer as it is now)."""

    path: Path
    partition: str | None

    @property
    def rows(self) -> int:
        status = self.path.stat()
        return _rows(str(self.path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1 << 16)
def _rows(path: str, changed: int, size: int) -> int:
    return int(pq.read_metadata(path).num_rows)


@dataclass(frozen=True)
class _Answer:
    """What the last evaluation of a query left in its folder; ``about`` is ``_answer.json``."""

    folder: Path
    about: Mapping[str, Any]

    @property
    def views(self) -> list[AnswerView]:
        """The first is shown where none is asked for."""
        return ["answer", "changes"] if total_path(self.folder).is_file() else ["changes"]

    def files(self, view: AnswerView) -> list[_File]:
        """The files of a view in the order of its rows."""
        if view == "answer":
            return [_File(total_path(self.folder), None)]
        paths = {WHOLE: self.folder / FILE_NAME} if (self.folder / FILE_NAME).is_file() else {}
        for name in os.listdir(self.folder):
            if "=" in name:
                paths[name.split("=", 1)[1]] = self.folder / name / FILE_NAME
        return [
            _File(paths[partition], partition)
            for partition in reversed(self.about["partitions"])
            if partition in paths
        ]

    def new(self) -> frozenset[str] | None:
        """The partitions that the last evaluation evaluated; None for all of them, from the beginning."""
        partitions: Sequence[str] = self.about["partitions"]
        after = self.about["started_after"]
        return frozenset(partitions[partitions.index(after) + 1 :]) if after in partitions else None


def _answer(name: str) -> _Answer | None:
    """What is there of a known query; None if it was never evaluated.

    Raises:
        Refused: no query of that name is known, or it names no folder of answers.
        StorageError: what is there cannot be read.
    """
    registered = row_of_query(name).name
    root = settings.answers_root().resolve()
    folder = (root / registered).resolve()
    if folder == root or not folder.is_relative_to(root):
        raise Refused(404, f"{registered!r} names no folder of answers", accepted="a name of api/v1/queries")
    try:
        return _Answer(folder, json.loads((folder / SUMMARY).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(registered, error) from None


def _unreadable(name: str, error: Exception) -> StorageError:
    return StorageError(
        f"the answer cannot be read: {getattr(error, 'strerror', None) or error}",
        subject=name,
        fix="if the query is being evaluated now, ask again when that has ended; else evaluate it anew",
    )


@contextmanager
def _refuse_unreadable(name: str) -> Iterator[None]:
    """An evaluation may replace files while they are read, and a disk may refuse."""
    try:
        yield
    except KeyError as error:
        raise _unreadable(name, LookupError(f"{SUMMARY} says nothing of {error}")) from None
    except (OSError, pa.ArrowInvalid) as error:
        raise _unreadable(name, error) from None


def page(name: str, view: AnswerView | None, limit: int, offset: int = 0) -> AnswerPage:
    """Some rows of a view of a query's answer; of one that was never evaluated it says so.

    Raises:
        Refused: no query of that name is known, or it has no such view.
        StorageError: what is there cannot be read.
    """
    answer = _answer(name)
    if answer is None:
        return AnswerPage(query=name, evaluated=False)
    chosen, about = _view(name, answer, view), answer.about
    with _refuse_unreadable(name):
        new = answer.new()
        files = answer.files(chosen)
        counts = [file.rows for file in files]
        schema = pq.read_schema(files[0].path) if files else pa.schema([])
        changes = answer.files("changes") if new else []
        return AnswerPage(
            query=name,
            evaluated=True,
            view=chosen,
            views=answer.views,
            total=sum(counts),
            new=None if new is None else sum(change.rows for change in changes if change.partition in new),
            answer_rows=None if about["error"] else about["answer_rows"],
            answer_count=None if about["error"] else int(about["answer_count"]),
            rows_before=_rows_before(name, about["digest"]),
            last_partition=about["partitions"][-1] if about["partitions"] else None,
            share=(about["memory"] or {}).get("estimated_share"),
            error=about["error"],
            columns=[
                AnswerColumn(name=field.name, type=_sql(field.type))
                for field in schema
                if field.name != COUNT
            ],
            rows=list(_some(files, counts, offset, limit, new or frozenset())),
        )


def _view(name: str, answer: _Answer, view: AnswerView | None) -> AnswerView:
    if view is not None and view not in answer.views:
        raise Refused(
            404,
            f"the answer of {name} is not kept as a whole: it is the sum of its changes",
            accepted="view=changes",
        )
    return view or answer.views[0]


def _rows_before(name: str, digest: str | None) -> int | None:
    """The rows of the answer of the evaluation before this one, as it is recorded."""
    recorded = store().answers_of(name, 2)
    before = recorded[1:] if recorded and recorded[0].digest == digest else recorded
    return before[0].answer_rows if before else None


def _some(
    files: Sequence[_File], counts: Sequence[int], offset: int, limit: int, new: frozenset[str]
) -> Iterator[AnswerRow]:
    for file, rows in zip(files, counts, strict=True):
        if offset < rows and limit > 0:
            for batch in _batches(file.path, offset, limit):
                limit -= batch.num_rows
                for *row, count in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield AnswerRow(
                        partition=file.partition,
                        row=[plain(value) for value in row],
                        count=int(count),
                        new=file.partition in new,
                    )
        offset = max(0, offset - rows)


def _batches(path: Path, offset: int = 0, limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a file from an offset on; groups of rows before it are not read."""
    with pq.ParquetFile(path) as file:
        groups = range(file.num_row_groups)
        while groups and offset >= (rows := file.metadata.row_group(groups[0]).num_rows):
            groups, offset = groups[1:], offset - rows
        for batch in file.iter_batches(BATCH, list(groups)):
            chosen = batch.slice(offset, limit)
            offset = max(0, offset - batch.num_rows)
            if chosen.num_rows:
                yield chosen
            if limit is not None and (limit := limit - chosen.num_rows) <= 0:
                return


def _sql(kind: pa.DataType) -> str:
    """The name of a type in SQL."""
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp"
    return {"int64": "bigint", "bool": "boolean", "date32[day]": "date"}.get(str(kind), str(kind))


def download(name: str, kind: Kind, view: AnswerView | None) -> StreamingResponse:
    """All rows of a view as one file, which is sent while it is read; changes begin with their partition.

    Raises:
        Refused: no query of that name is known, it has no such view, or there is nothing to send.
        StorageError: what is there cannot be read.
    """
    answer = _answer(name)
    if answer is None:
        raise Refused(404, f"{name} has not been evaluated", fix="run the DAG evaluate_history")
    chosen = _view(name, answer, view)
    with _refuse_unreadable(name):
        files = answer.files(chosen)
        if not files:
            raise Refused(404, f"{name} has no answer rows", accepted="a query with answer rows")
        schema = pq.read_schema(files[0].path)
    called = quote(f"{name}-{chosen}.{kind}", safe="")
    return StreamingResponse(
        _sent(kind, schema, files),
        media_type=MEDIA[kind],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{called}"},
    )


class _Pending(io.RawIOBase):
    """What was written and has not been sent yet."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        """It is only written."""
        return True

    def tell(self) -> int:
        """How much has been written, which Parquet notes of its parts."""
        return self.size

    def write(self, data: Any) -> int:
        """Take a part."""
        part = bytes(data)
        self.parts.append(part)
        self.size += len(part)
        return len(part)

    def taken(self) -> bytes:
        """What is to be sent now."""
        whole = b"".join(self.parts)
        self.parts.clear()
        return whole


def _sent(kind: Kind, schema: pa.Schema, files: Sequence[_File]) -> Iterator[bytes]:
    partitioned = files[0].partition is not None
    if partitioned:
        named = PARTITION
        while named in schema.names:
            named = f"_{named}"
        schema = schema.insert(0, pa.field(named, pa.string(), nullable=False))
    pending = _Pending()
    with _writer(kind, pending, schema) as writer:
        for file in files:
            for batch in _batches(file.path):
                columns = batch.columns
                if partitioned:
                    columns = [pa.repeat(file.partition, batch.num_rows), *columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                yield pending.taken()
    yield pending.taken()


def _writer(kind: Kind, sink: _Pending, schema: pa.Schema) -> Any:
    if kind == "csv":
        return pyarrow.csv.CSVWriter(sink, schema)
    return pq.ParquetWriter(sink, schema, compression=COMPRESSION)
