"""Jobs: what they say of long histories costs little, however often they are asked."""

from __future__ import annotations

from pathlib import Path

from tests.spark import histories

from streambound.query.catalog import catalog_from_mapping
from streambound.query.partitions import Range
from streambound.spark.prepare import prepare


def test_partitions_that_are_gone_are_told_without_listing_again(tmp_path: Path) -> None:
    plain = catalog_from_mapping({"S": {"A": "int"}})
    catalog = histories.placed(plain, tmp_path)
    for part in (1, 2, 4, 5):
        histories.write(plain.relations[0], [{"A": 1}], tmp_path, part)
    job = prepare("q", "SELECT A FROM S WHERE A > 0", catalog, Range("2", "5"), {"S": {"4": "odd"}})
    assert job.names == ["2", "5"] and job.names is job.names
    assert [name for name in "0123456" if job.gone(name)] == ["3"]
