"""Traces as users bring them: what is read, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from streambound.errors import DataError
from streambound.simulator.experiments.traces import read_references, read_streams


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str, name: str = "trace.csv") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("text", "values", "requests"),
    [
        ("k\n3\n1\n3\n", [1, 3], [1, 0, 1]),
        ("a,k\nx,3.5\ny,1\n", [1.0, 3.5], [1, 0]),
        ("k\nb\na\nb\n", ["a", "b"], [1, 0, 1]),
        ("k\nb\n12\n", ["12", "b"], [1, 0]),
        ('\ufeff"k"\r\n1\r\n', [1], [0]),
        ("k\n", [], []),
        ("k\n007\n7\n", [7], [0, 0]),
    ],
)
def test_a_column_of_csv(file, text: str, values: list, requests: list) -> None:
    found = read_references(file(text), "k")
    assert found.values.tolist() == values and found.requests.tolist() == requests


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "there is no column 'k'; accepted: a, b"),
        ("", "trace.csv: the file cannot be read"),
        ("k\n1\nx\n", "column k has 'x' in data row 2; accepted: numbers, as in the first row"),
        ("k,l\n1,1\n,1\n", "column k has nothing in data row 2"),
        ("k\n1\nnan\n", "column k has nan in data row 2; accepted: finite numbers"),
        ("k,l\n1\n", "the file cannot be read"),
    ],
)
def test_a_trace_that_is_none(file, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_references(file(text), "k")
    assert message in caught.value.one_line()


def test_a_file_that_is_none(tmp_path: Path, file) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read_references(tmp_path / "none.csv", "k")
    with pytest.raises(DataError, match="the file cannot be read"):
        read_references(file("k\n1\n", "trace.parquet"), "k")
    path = file("")
    path.write_bytes(b"\xff\xfek\n")
    with pytest.raises(DataError, match="no text in UTF-8"):
        read_references(path, "k")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 3], pa.int32()),
        pa.array([3, 1, 3], pa.float32()),
        pa.array(["3", "1", "3"]),
        pa.array(["c", "a", "c"]).dictionary_encode(),
        pa.array([3, 1, 3], pa.decimal128(4, 1)),
    ],
    ids=str,
)
def test_a_column_of_parquet(tmp_path: Path, values: pa.Array) -> None:
    path = tmp_path / "trace.parquet"
    pyarrow.parquet.write_table(pa.table({"k": values}), path)
    assert read_references(path, "k").requests.tolist() == [1, 0, 1]


def test_a_column_of_parquet_that_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    pyarrow.parquet.write_table(pa.table({"k": [[1], [2]], "n": [1, None]}), path)
    with pytest.raises(DataError, match="the column k is of type list"):
        read_references(path, "k")
    with pytest.raises(DataError, match="column n has nothing in data row 2"):
        read_references(path, "n")


def test_streams_in_any_order_of_rows(file) -> None:
    found = read_streams(file("t,R,S\n1,5,6\n0,6,5\n"))
    assert found.values[found.arrivals].tolist() == [[6, 5], [5, 6]]
    assert read_streams(file("t,R,S,U\n0,1,2,3\n")).count == 3
    assert read_streams(file("t,R,S\n")).steps == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R,S\n1,2\n", "there is no column 't'"),
        ("t,R\n0,1\n", "there are the columns t, R; accepted: the column t and one column a stream"),
        ("t,R,S\n0,1,1\n2,1,1\n", "the steps in column t have 2 where 1 is due"),
        ("t,R,S\n0,1,1\n0,1,1\n", "the steps in column t have 0 where 1 is due"),
        ("t,R,S\nx,1,1\n", "the steps in column t have x where 0 is due"),
        ("t,R,S\n0,1,a\n", "of the columns R, S some hold numbers and some hold names"),
        ("t,R,S\n0,1,1\n1,q,1\n", "column R has 'q' in data row 2; accepted: numbers"),
    ],
)
def test_streams_that_are_none(file, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_streams(file(text))
    assert message in caught.value.one_line()
