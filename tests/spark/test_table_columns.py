"""Tables that a Spark session finds, as catalogs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.cli import main
from streambound.query.catalog import catalog_of_text

pytestmark = pytest.mark.spark


def test_a_table_by_its_name_and_one_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(
        pa.table({"a": [1], "b": [[1]], "at": pa.array([0], pa.timestamp("us", "UTC"))}), tmp_path / "x"
    )
    # What Spark calls a file is a table to it as well.
    name = f"parquet.`{tmp_path}/x`"
    assert main(["import", "spark", name, "--name", "orders"]) == 0
    printed = capsys.readouterr().out
    (orders,) = catalog_of_text(printed, "printed").relations
    assert {c.name: c.type.name for c in orders.columns} == {"a": "bigint", "at": "timestamp"}
    assert orders.opaque == (("b", "array<bigint>"),) and orders.history is None
    assert main(["import", "spark", "default.orders"]) == 2
    assert main(["import", "spark", "no.such.table"]) == 2
    assert "Spark finds no table or view no.such.table" in capsys.readouterr().err
