"""Jobs: what they say of long histories costs little, however often they are asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark import histories
from tests.spark.histories import Registered

from streambound.history import local
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.history.prepare import draft, prepare
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation
from streambound.storage import partitions
from streambound.storage.partitions import PartitionRange


def test_partitions_that_are_gone_are_told_without_listing_again(tmp_path: Path) -> None:
    plain = catalog_from_mapping({"S": {"A": "int"}})
    catalog = histories.placed(plain, tmp_path)
    for part in (1, 2, 4, 5):
        histories.write(plain.relations[0], [{"A": 1}], tmp_path, part)
    job = prepare(
        draft("q", "SELECT A FROM S WHERE A > 0", catalog), PartitionRange("2", "5"), {"S": {"4": "odd"}}
    )
    assert job.names == ["2", "5"] and job.names is job.names
    assert [name for name in "0123456" if job.gone(name)] == ["3"]


def test_a_history_is_listed_once_for_all_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = catalog_from_mapping({"S": {"A": "int"}})
    catalog = histories.placed(plain, tmp_path)
    histories.write(plain.relations[0], [{"A": 1}], tmp_path, 1)
    listed: list[str] = []
    found = partitions.find_partitions

    def counted(relation: Relation) -> tuple[partitions.Partition, ...]:
        listed.append(relation.name)
        return found(relation)

    monkeypatch.setattr(local, "find_partitions", counted)
    queries = [Registered(f"q{n}", f"SELECT A FROM S WHERE A > {n}") for n in range(3)]
    answers = evaluate_history(LocalExecutor(1), queries, catalog, output=tmp_path / "answers")
    assert [answer.answer_rows for answer in answers] == [1, 0, 0]
    assert listed == ["S"]
