"""The catalog tells the truth of the data: types, NULLs, domains, rows at one timestamp, where files lie."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from streambound import settings
from streambound.demo.abstract import generate
from streambound.demo.flights import IngestReport
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.model import Column, Relation

SPARK_NAMES = {
    "int": pa.int32(),
    "string": pa.string(),
    "date": pa.date32(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "decimal(4,2)": pa.decimal128(4, 2),
}
CATALOG: Catalog = load_catalog(settings.project_root() / "include" / "registry" / "streams.yml")


@pytest.fixture(scope="module")
def root(streams: Path, report: IngestReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real flights and the abstract streams of the demo, in one folder."""
    folder = tmp_path_factory.mktemp("root")
    generate(folder)
    for relation in streams.iterdir():
        (folder / relation.name).symlink_to(relation)
    return folder


def table_of(root: Path, relation: Relation) -> pa.Table:
    assert relation.history is not None
    files = sorted((root / relation.history.path).resolve().glob("**/*.parquet"))
    pattern = f"{relation.history.partition_by}=" if relation.history.partition_by else relation.history.path
    assert files and all(file.parent.name.startswith(pattern) for file in files)
    return ds.dataset([str(file) for file in files]).to_table()


def outside(column: Column, values: pa.ChunkedArray) -> list[object]:
    """Those values that the declared domain does not hold; NULL is outside no domain."""
    domain = column.domain
    if domain is None:
        return []
    encoded = {column.type.encode(value) for value in pc.unique(values).to_pylist()} - {None}
    if domain.values is not None:
        return sorted(encoded - set(domain.values))  # type: ignore[type-var]
    low = [v for v in encoded if domain.minimum is not None and v < domain.minimum]  # type: ignore[operator]
    high = [v for v in encoded if domain.maximum is not None and v > domain.maximum]  # type: ignore[operator]
    return [*low, *high]


@pytest.mark.parametrize("relation", CATALOG.relations, ids=lambda relation: relation.name)
def test_declarations_are_true(root: Path, relation: Relation) -> None:
    table = table_of(root, relation)
    assert {c.name: SPARK_NAMES[c.type.name] for c in relation.columns} == dict(
        zip(table.schema.names, table.schema.types, strict=True)
    )
    for column in relation.columns:
        assert outside(column, table[column.name]) == [], column.name
        assert column.nullable or table[column.name].null_count == 0, column.name


@pytest.mark.parametrize("relation", [r for r in CATALOG.relations if r.timestamp], ids=lambda r: r.name)
def test_rows_at_one_timestamp_stay_below_the_declared_most(root: Path, relation: Relation) -> None:
    stamps = pc.value_counts(table_of(root, relation)[relation.timestamp])
    assert relation.max_rows_per_timestamp is not None
    assert pc.max(stamps.field("counts")).as_py() <= relation.max_rows_per_timestamp


@pytest.mark.parametrize("relation", [r for r in CATALOG.relations if r.timestamp], ids=lambda r: r.name)
def test_timestamps_are_multiples_of_the_declared_granularity(root: Path, relation: Relation) -> None:
    stamps = table_of(root, relation)[relation.timestamp].cast(pa.int64()).to_numpy()
    assert relation.tick > 1 and not (stamps % relation.tick).any()


def test_enumerations_hold_nothing_that_never_occurs(root: Path) -> None:
    departures = CATALOG.find("departures")
    assert departures is not None
    table = table_of(root, departures)
    for name in ("carrier", "origin"):
        domain = departures.column(name).domain
        assert domain is not None and domain.values is not None
        assert set(domain.values) == set(pc.unique(table[name]).to_pylist())


def test_statics_have_keys(root: Path) -> None:
    for relation in CATALOG.relations:
        if relation.kind.value == "static":
            key = table_of(root, relation)[relation.columns[0].name]
            assert len(pc.unique(key)) == len(key)
