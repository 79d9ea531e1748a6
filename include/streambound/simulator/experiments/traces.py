"""Traces from files: a column of a CSV or Parquet file a stream.

A column holds whole numbers, numbers, or names; a column whose first value is a number holds numbers only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from streambound.errors import DataError, meant
from streambound.simulator.problems import References, Streams, references, streams

TIME = "t"


def read_references(path: Path, column: str) -> References:
    """The reference stream in a column of a file.

    Raises:
        DataError: the file or the column is missing, or holds something else; the line is named.
    """
    table = _table(path)
    return references(_values(table, column, path))


def read_streams(path: Path, window: int | None = None) -> Streams:
    """The streams in a file: column ``t`` counts the steps from 0, every other column is a stream.

    Raises:
        DataError: a column is missing or holds something else, or a step is missing or there twice.
    """
    table = _table(path)
    names = [name for name in table.column_names if name != TIME]
    if len(names) < 2:
        raise DataError(
            f"there are the columns {', '.join(table.column_names) or 'none'}",
            subject=str(path),
            accepted=f"the column {TIME} and one column a stream, such as R and S",
        )
    order = _order(_values(table, TIME, path), path)
    columns = [_values(table, name, path) for name in names]
    if len({column.dtype.kind == "U" for column in columns}) > 1:
        raise DataError(
            f"of the columns {', '.join(names)} some hold numbers and some hold names",
            subject=str(path),
            accepted="streams of one kind of value",
        )
    return streams(*(column[order] for column in columns), window=window)


def _order(steps: NDArray[Any], path: Path) -> NDArray[np.intp]:
    order = np.argsort(steps, kind="stable")
    wrong = np.flatnonzero(steps[order] != np.arange(len(steps)))
    if len(wrong):
        step = steps[order][wrong[0]]
        raise DataError(
            f"the steps in column {TIME} have {step} where {wrong[0]} is due",
            subject=str(path),
            accepted="every step once: 0, 1, 2, ...",
        )
    return order


def _table(path: Path) -> pa.Table:
    try:
        if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
            return pyarrow.parquet.read_table(path)
        with path.open("rb") as file:
            header = file.readline().decode("utf-8-sig").strip()
        # As text: which values are no numbers, and where, is for this module to say.
        types = {name.strip().strip('"'): pa.string() for name in header.split(",")}
        return pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    except FileNotFoundError:
        raise DataError("there is no such file", subject=str(path)) from None
    except UnicodeDecodeError:
        raise DataError(
            "the file is no text in UTF-8", subject=str(path), accepted="CSV or Parquet"
        ) from None
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the file cannot be read: {reason}", subject=str(path)) from None


def _values(table: pa.Table, column: str, path: Path) -> NDArray[Any]:
    if column not in table.column_names:
        raise DataError(
            f"there is no column {column!r}",
            subject=str(path),
            accepted=", ".join(table.column_names),
            fix=meant(column, table.column_names),
        )
    cells = table[column].combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if cells.null_count:
        _refuse(path, column, pc.index(cells.is_null(), True).as_py(), "nothing", "a value in every row")
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return _from_text(cells.to_pylist(), column, path)
    if pa.types.is_integer(cells.type):
        return np.asarray(cells.to_numpy(zero_copy_only=False)).astype(np.int64)
    if pa.types.is_floating(cells.type) or pa.types.is_decimal(cells.type):
        return _finite(np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False)), column, path)
    if pa.types.is_null(cells.type):
        return np.array([], np.int64)
    raise DataError(
        f"the column {column} is of type {cells.type}", subject=str(path), accepted="numbers or text"
    )


def _from_text(texts: list[str], column: str, path: Path) -> NDArray[Any]:
    for kind in (np.int64, np.float64):
        try:
            numbers = np.array([kind(text) for text in texts], kind)
        except (ValueError, OverflowError):
            continue
        return numbers if kind is np.int64 else _finite(numbers.astype(np.float64), column, path)
    for row, text in enumerate(texts):
        if not text.strip():
            _refuse(path, column, row, "nothing", "a value in every row")
        if not _is_number(text) and _is_number(texts[0]):
            _refuse(path, column, row, repr(text[:80]), "numbers, as in the first row")
    return np.array(texts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _finite(numbers: NDArray[np.float64], column: str, path: Path) -> NDArray[np.float64]:
    if len(odd := np.flatnonzero(~np.isfinite(numbers))):
        _refuse(path, column, int(odd[0]), str(numbers[odd[0]]), "finite numbers")
    return numbers


def _refuse(path: Path, column: str, row: int, text: str, accepted: str) -> None:
    raise DataError(f"column {column} has {text} in data row {row + 1}", subject=str(path), accepted=accepted)
