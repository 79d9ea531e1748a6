"""Folders of files and Delta tables as catalogs, and what is seen of their rows."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound.errors import CatalogError, DataError
from streambound.imports.arrow import delta, files
from streambound.imports.entry import Entry
from streambound.imports.observe import observed
from streambound.imports.text import document
from streambound.query.catalog import catalog_of_text
from streambound.query.model import History, Relation
from streambound.storage.files import fits

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def relation(entry: Entry) -> Relation:
    (found,) = catalog_of_text(document([entry], "a test"), "a test").relations
    return found


def columns(entry: Entry) -> dict[str, str | None]:
    return {one.name: one.type for one in entry.fields}


TABLE = pa.table(
    {
        "small": pa.array([1], pa.int16()),
        "big": pa.array([1], pa.int64()),
        "price": pa.array([1], pa.decimal128(10, 2)),
        "ratio": pa.array([0.5], pa.float64()),
        "single": pa.array([0.5], pa.float32()),
        "flag": [True],
        "day": [dt.date(2026, 1, 1)],
        "at": pa.array([START], pa.timestamp("us", "UTC")),
        "fine": pa.array([START], pa.timestamp("ns")),
        "word": pa.array(["x"]).dictionary_encode(),
        "blob": [b"x"],
        "tags": [[1]],
        "shop": [{"id": 1, "at": {"x": "y"}}],
    },
)


def test_types_of_parquet_are_those_that_evaluation_reads(tmp_path: Path) -> None:
    folder = tmp_path / "orders" / "date=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(TABLE, folder / "part.parquet")
    (folder / "_SUCCESS").touch()
    found = files(tmp_path / "orders", "parquet").entry
    assert columns(found) == {
        "small": "int",
        "big": "bigint",
        "price": "decimal(10,2)",
        "ratio": "double",
        "single": "float",
        "flag": "boolean",
        "day": "date",
        "at": "timestamp",
        "fine": "timestamp",
        "word": "string",
        "blob": "object(binary)",
        "tags": "array<bigint>",
        "shop": "struct<id: bigint, at: struct<x: string>>",
    }
    made = relation(found)
    assert made.history == History(str(tmp_path / "orders"), "date")
    stored = pq.read_schema(folder / "part.parquet")
    assert all(fits(c.type, stored.field(c.name).type) for c in made.columns if c.name != "fine")
    assert made.name == "orders" and made.timestamp is None


def test_orc_and_one_file(tmp_path: Path) -> None:
    orc.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "one.orc")
    found = files(tmp_path / "one.orc", "orc").entry
    assert (found.name, columns(found)) == ("one", {"a": "bigint", "b": "string"})
    assert relation(found).history == History(str(tmp_path), None, "orc")


def test_delta(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", TABLE.drop_columns(["fine", "word"]))
    rows = delta(tmp_path / "t")
    assert columns(rows.entry)["shop"] == "struct<id: long, at: struct<x: string>>"
    assert columns(rows.entry)["price"] == "decimal(10,2)" and columns(rows.entry)["small"] == "smallint"
    assert observed(rows.entry, rows.dataset).observed["big"] == {
        "min": 1,
        "max": 1,
        "different": 1,
        "nulls": 0,
    }


@pytest.mark.parametrize(
    "read", [lambda path: files(path, "parquet"), lambda path: files(path, "orc"), delta]
)
def test_what_is_not_there_or_no_data_is_said(tmp_path: Path, read: Any) -> None:
    with pytest.raises(DataError, match=r"no \.\w+ files are there|not a Delta table"):
        read(tmp_path)
    (tmp_path / "a.parquet").write_text("no")
    (tmp_path / "a.orc").write_text("no")
    with pytest.raises(DataError, match=r"cannot be read together|not a Delta table"):
        read(tmp_path)


def test_files_that_differ_in_type_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="cannot be read together"):
        files(tmp_path, "parquet")


def test_streams_below_one_folder_are_not_taken_for_one(tmp_path: Path) -> None:
    for place in ("orders/date=2026-01-01", "orders/date=2026-01-02", "payments/date=2026-01-01"):
        (tmp_path / place).mkdir(parents=True)
        pq.write_table(TABLE, tmp_path / place / "part.parquet")
    with pytest.raises(DataError, match="its files lie in 2 folders: orders, payments") as refused:
        files(tmp_path, "parquet")
    assert refused.value.fix is not None
    assert refused.value.fix.endswith(f"streambound import parquet {tmp_path / 'payments'}")
    assert files(tmp_path / "orders", "parquet").entry.further["history"]["partition_by"] == "date"


def test_a_timestamp_is_named_only_by_a_person(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [START], "b": [START]}), tmp_path / "a.parquet")
    rows = files(tmp_path, "parquet")
    assert relation(rows.entry).timestamp is None
    assert not [note for note in observed(rows.entry, rows.dataset).notes if "Most rows" in note]
    assert [note for note in observed(rows.entry, rows.dataset, "b").notes if "Most rows by b" in note]
    with pytest.raises(CatalogError, match="no column of type timestamp is called c"):
        observed(rows.entry, rows.dataset, "c")


ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3 * 86_400),
        st.none() | st.integers(-5, 5),
        st.none() | st.sampled_from(["a", "b", "it's", "x" * 41]),
        st.none() | st.sampled_from([0.0, -1.5, math.nan, math.inf]),
    ),
    max_size=12,
)


@settings(max_examples=20)
@given(st.lists(ROWS, min_size=1, max_size=3))
def test_what_is_seen_is_there(tmp_path_factory: pytest.TempPathFactory, parts: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    schema = pa.schema(
        {"ts": pa.timestamp("us", "UTC"), "n": pa.int64(), "word": pa.string(), "x": pa.float64()}
    )
    for number, part in enumerate(parts):
        body = [
            {"ts": None if t is None else START + dt.timedelta(seconds=t), "n": n, "word": w, "x": x}
            for t, n, w, x in part
        ]
        pq.write_table(pa.Table.from_pylist(body, schema), folder / f"{number}.parquet")
    rows = files(folder, "parquet")
    found = observed(rows.entry, rows.dataset)
    made = relation(found)
    every = [row for part in parts for row in part]
    for position, name in enumerate(("ts", "n", "word", "x")):
        values = [row[position] for row in every if row[position] is not None]
        seen = found.observed[name]
        different = {"NaN" if value != value else value for value in values}
        assert (seen["different"], seen["nulls"]) == (len(different), len(every) - len(values))
    numbers = [row[1] for row in every if row[1] is not None]
    domain = made.column("n").observed
    assert (domain is None) is not bool(numbers)
    if domain is not None:
        assert (domain.minimum, domain.maximum) == (min(numbers), max(numbers))
    finite = [row[3] for row in every if row[3] is not None and math.isfinite(row[3])]
    domain = made.column("x").observed
    assert (domain and (domain.minimum, domain.maximum)) == ((min(finite), max(finite)) if finite else None)
    words = sorted({row[2] for row in every if row[2] is not None})
    listed = made.column("word").observed
    short = bool(words) and all(len(word) <= 40 for word in words)
    assert (listed and list(listed.values or ())) == (words if short else None)
    # Nothing that was seen is a promise.
    assert all(c.domain is None and c.nullable for c in made.columns) and made.timestamp is None
    notes = "\n".join(found.notes)
    moments = [row[0] for row in every if row[0] is not None]
    if moments:
        for unit, length in (("moment", 1), ("hour", 3600), ("day", 86_400)):
            counts = [moment // length for moment in moments]
            most = max(map(counts.count, counts))
            assert (
                f"{most:,} {'at one' if unit == 'moment' else 'in an' if unit == 'hour' else 'in a'} {unit}"
                in notes
            )
        late = max(max(moments[: position + 1]) - moment for position, moment in enumerate(moments))
        assert ("come in the order" in notes) is (late == 0)
        if 0 < late < 60:
            assert f"up to {late} second" in notes
