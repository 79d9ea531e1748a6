"""New answers of a partition as a Parquet file, and a digest that does not depend on the partitions.

A query's folder has one folder ``key=value`` a partition with new answers, each with the columns of
SELECT and their multiplicity ``count``, in canonical row order, and ``_answer.json`` about the whole. The
final answer of a stateful query is in ``_total.parquet``; that of a stateless one is the partitions' sum.
Files appear whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from streambound.checkpoint.answer_files import NO_FILE, AnswerFile, identity_of
from streambound.checkpoint.boundary import Tally
from streambound.durable import refused, remove, replaced, write_text
from streambound.errors import DataError
from streambound.evaluation.events import COUNT_DIGITS, Answer, answers, refuse_overflow
from streambound.query.column_types import Family, Type, digits_of
from streambound.query.model import Attribute, Query
from streambound.query.statement import Statement
from streambound.state.serial import compact_text
from streambound.storage.parquet import COMPRESSION, FILE_NAME, drop_stale

COUNT = "count"
SUMMARY = "_answer.json"
TOTAL = "_total.parquet"
ASIDE = "_aside"
# Name and type of each answer column.
Outputs = Sequence[tuple[str, Type]]
COUNTS = pa.decimal128(COUNT_DIGITS, 0)
_MODULUS = 1 << 256
# So many rows are hashed at once; times a small count and a word of 32 bits they fit into 63.
HASHED = 1 << 16
SMALL_COUNT = 1 << 15


def answer_schema(outputs: Outputs) -> pa.Schema:
    """The columns of an answer file: those of SELECT, numbered where names repeat, and ``count``."""
    fields, taken = [], {COUNT}
    for output, kind in outputs:
        name, again = output, 2
        while name.lower() in taken:
            name, again = f"{output}_{again}", again + 1
        taken.add(name.lower())
        fields.append(pa.field(name, arrow_type(kind)))
    return pa.schema([*fields, pa.field(COUNT, COUNTS, nullable=False)])


def arrow_type(kind: Type) -> pa.DataType:
    """How answers store a type; integers have one width, since a type's width bounds nothing."""
    if kind.family is not Family.NUMBER:
        return _ARROW[kind.family]
    if kind.name.startswith("decimal"):
        return pa.decimal128(*digits_of(kind.name))
    if kind.resolution is None:
        return pa.float32() if kind.name == "float" else pa.float64()
    return pa.int64()


_ARROW = {
    Family.BOOLEAN: pa.bool_(),
    Family.DATE: pa.date32(),
    Family.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Family.STRING: pa.string(),
}


def answer_table(query: Statement, rows: Sequence[Answer]) -> pa.Table:
    """Answers as a table with the schema of an answer file.

    Raises:
        CountOverflow: a multiplicity has more than 38 digits.
        DataError: a number is larger than its type.
    """
    schema = answer_schema(query.outputs)
    columns = [[answer.row[i] for answer in rows] for i in range(len(query.outputs))]
    named = zip(schema.names, columns, schema.types, strict=False)
    arrays = [_array(query, name, values, kind) for name, values, kind in named]
    return pa.Table.from_arrays([*arrays, _counts(query, [a.count for a in rows])], schema=schema)


def _array(query: Statement, name: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        raise DataError(
            f"a value of {name} is too large for {kind}",
            subject=query.name,
            accepted="sums and products that fit into their type: none is wrapped",
            fix="widen what is added up, as in SUM(CAST(x AS DECIMAL(38, 0)))",
        ) from None


def _counts(query: Statement, counts: Sequence[int]) -> pa.Array:
    refuse_overflow(query, counts)
    return pa.array([Decimal(count) for count in counts], COUNTS)


def projected_batch(query: Query, outputs: Outputs, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A stateless statement's result (partition, projected columns, count) as rows of an answer.

    ``outputs`` are those of the whole text: of a UNION of which only this SELECT can have rows, others.
    """
    schema = answer_schema(outputs)
    at = {attribute: i + 1 for i, attribute in enumerate(query.projected)}
    arrays = []
    for output, (_, kind), field in zip(query.select, outputs, schema, strict=False):
        if isinstance(output.term, Attribute):
            arrays.append(_widened(batch.column(at[output.term]), field.type))
        else:
            arrays.append(pa.array([kind.decode(output.term.value)] * batch.num_rows, field.type))
    counts = batch.column(batch.num_columns - 1).cast(COUNTS)
    return pa.RecordBatch.from_arrays([*arrays, counts], schema=schema)


def _widened(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values of one SELECT in the type that is common to all; in double they are rounded, as SQL does."""
    if types.is_decimal(array.type) and types.is_floating(wanted):
        # Arrow's own conversion is not to the nearest double.
        array = array.cast(pa.string())
    return array.cast(wanted, safe=not types.is_floating(wanted))


@dataclass(frozen=True)
class Digest:
    """A bag of answer rows: different rows seen, their multiplicities, and the hash of the bag.

    The hash is the sum over rows of multiplicity times SHA-256 of the row, modulo 2^256: partial digests
    add up in any order, so the digest of an answer does not depend on how its history was cut.
    ``rows`` adds up only where no row is in two parts.
    """

    rows: int = 0
    count: int = 0
    hash: int = 0

    def __add__(self, digest: Digest) -> Digest:
        return Digest(
            self.rows + digest.rows,
            self.count + digest.count,
            (self.hash + digest.hash) % _MODULUS,
        )

    def __sub__(self, digest: Digest) -> Digest:
        return Digest(
            self.rows - digest.rows,
            self.count - digest.count,
            (self.hash - digest.hash) % _MODULUS,
        )

    def __str__(self) -> str:
        return f"{self.hash:064x}"


@dataclass(frozen=True)
class NewRows:
    """New answers of a partition, in canonical order, and their digest."""

    table: pa.Table
    digest: Digest


def tally(digest_: Digest) -> Tally:
    """A digest as checkpoints hold it."""
    return Tally(digest_.rows, digest_.count, digest_.hash)


def digest_of(noted: Tally) -> Digest:
    """The digest that a checkpoint holds."""
    return Digest(noted.rows, noted.count, noted.hash)


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular for one."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def digest(batches: Iterable[pa.RecordBatch]) -> Digest:
    """The digest of answer rows; they must be different rows."""
    total = Digest()
    for batch in batches:
        for start in range(0, batch.num_rows, HASHED):
            total += _digest(batch.slice(start, HASHED))
    return total


def _digest(batch: pa.RecordBatch) -> Digest:
    hashes = [hashlib.sha256(row).digest() for row in _canonical(batch).to_pylist()]
    counts = batch.column(batch.num_columns - 1)
    ends = pc.min_max(counts).as_py()
    if max(abs(ends["min"]), abs(ends["max"])) < SMALL_COUNT:
        # Of each of the eight 32-bit words of the hashes the sum fits into 64 bits.
        numbers = counts.cast(pa.int64()).to_numpy()
        words = np.frombuffer(b"".join(hashes), ">u4").reshape(-1, 8).astype(np.int64)
        count, total = int(numbers.sum()), 0
        for word in (numbers @ words).tolist():
            total = (total << 32) + word
    else:
        exact = list(map(int, counts.to_pylist()))
        count = sum(exact)
        total = sum(n * int.from_bytes(own, "big") for n, own in zip(exact, hashes, strict=True))
    return Digest(len(hashes), count, total % _MODULUS)


def _canonical(batch: pa.RecordBatch) -> pa.Array:
    """The bytes of each row: its values as JSON."""
    texts = [_texts(batch.column(position)) for position in range(batch.num_columns - 1)]
    separated = [part for text in texts for part in (pa.scalar(","), text)]
    rows = pc.binary_join_element_wise(pa.scalar("["), *separated[1:], pa.scalar("]"), "")
    return rows.cast(pa.binary())


def _texts(array: pa.Array) -> pa.Array:
    """Each value as JSON."""
    if types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    elif types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif types.is_decimal(array.type):
        array = array.cast(pa.string())
    if types.is_integer(array.type):
        return array.cast(pa.string()).fill_null("null")
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    if types.is_floating(array.type):
        # -0.0 equals 0.0, and equal rows must have equal bytes.
        values = [(value + 0.0).hex() for value in values]
    return pa.array(map(compact_text, values), pa.string()).take(encoded.indices).fill_null("null")


def new_rows(query: Statement, marker: Any, counts: Mapping[tuple[Any, ...], int]) -> NewRows:
    """Encoded answer rows with their multiplicities as new answers of a partition.

    Raises:
        CountOverflow: a multiplicity has more than 38 digits.
    """
    table = answer_table(query, answers(query, marker, counts))
    return NewRows(table, digest(table.to_batches()))


# The digest of answer rows, and the file that holds them.
Written = tuple[Digest, AnswerFile]


def write_answers(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], made: Digest | None = None
) -> Written:
    """Write a partition's answer rows; no rows give no file and remove an older one.

    The file is not flushed to the disk (``durable.flushed``): there are many, and the commit comes later.

    ``made`` is the digest where it has been made.

    Raises:
        StorageError: the disk refuses.
    """
    total, pending = Digest(), iter(batches)
    first = next((batch for batch in pending if batch.num_rows), None)
    if first is None:
        remove(path)
        with suppress(OSError):
            path.parent.rmdir()
        return total, NO_FILE
    with replaced(path, flush=False) as file:
        with pq.ParquetWriter(file, schema, compression=COMPRESSION) as writer:
            for batch in chain([first], pending):
                total += digest([batch]) if made is None else Digest()
                writer.write_batch(batch)
        written = file.digest
    return total if made is None else made, AnswerFile(written, identity_of(path))


def total_path(folder: Path) -> Path:
    """Where the final answer of a stateful query lies; readers of partitions skip the underscore."""
    return folder / TOTAL


def answer_path(folder: Path, key: str | None, partition: str) -> Path:
    """Where the new answers of a partition lie; a history without partitions has one file."""
    return folder / answer_name(key, partition)


def answer_name(key: str | None, partition: str) -> str:
    """The path of an answer file below the folder."""
    return FILE_NAME if key is None else f"{key}={partition}/{FILE_NAME}"


def aside(folder: Path) -> Path:
    """Where answers of partitions that may come too late are written, to be compared."""
    return folder / ASIDE


def drop_aside(folder: Path) -> None:
    """Remove what was written aside.

    Raises:
        StorageError: the disk refuses.
    """
    drop_stale(folder, [ASIDE], ())


def prune_answers(folder: Path, kept: Iterable[str]) -> None:
    """Remove the answers of partitions that the newest evaluation did not produce (``answer_name``).

    Raises:
        StorageError: the disk refuses.
    """
    keep = {answer_file.split("/")[0] for answer_file in kept}
    try:
        present = os.listdir(folder) if folder.is_dir() else []
    except OSError as error:
        raise refused(folder, error) from None
    drop_stale(folder, [name for name in present if "=" in name], keep)
    if FILE_NAME not in keep:
        remove(folder / FILE_NAME)


def write_summary(folder: Path, body: Mapping[str, Any]) -> None:
    """Write ``_answer.json`` of a query in one step.

    Raises:
        StorageError: the disk refuses.
    """
    write_json(folder / SUMMARY, body)


def write_json(path: Path, body: Mapping[str, Any]) -> None:
    """Write a JSON file in one step.

    Raises:
        StorageError: the disk refuses.
    """
    write_text(path, json.dumps(body, indent=1, ensure_ascii=False) + "\n")
