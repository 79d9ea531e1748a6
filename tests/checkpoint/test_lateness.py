"""Each sentence on late partitions, and how they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.checkpoint import lock
from streambound.checkpoint.lateness import DRAFT, keep, too_late
from streambound.errors import StorageError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation


def stream(allowed: str | None, key: str = "date") -> Relation:
    body = {"columns": {"A": "int"}, "history": {"path": "s", "partition_by": key}}
    return catalog_from_mapping({"S": {**body, "allowed_lateness": allowed}}).relations[0]


@pytest.mark.parametrize(
    ("allowed", "partition", "late"),
    [
        ("2 days", "2026-03-10", None),
        ("2 days", "2026-03-09", None),
        ("2 days", "2026-03-08", None),
        ("2 days", "2026-03-07", "3 days"),
        ("0 days", "2026-03-10", None),
        ("0 days", "2026-03-09", "1 day"),
        ("36 hours", "2026-03-09", None),
        ("36 hours", "2026-03-08", "2 days"),
        ("24 hours", "2026-03-09", None),
        ("1439.5 minutes", "2026-03-09", "1 day"),
        ("2  days", "2026-02-28", "10 days"),
        ("86400 seconds", "2026-03-09", None),
        ("1 day", "2026-03-11", None),
        ("99999999999999999999 days", "0001-01-01", None),
    ],
)
def test_lateness_is_from_the_end_of_the_day_to_the_last_boundary(
    allowed: str, partition: str, late: str | None
) -> None:
    assert too_late(stream(allowed), partition, "2026-03-10") == late


def test_what_is_never_late() -> None:
    assert too_late(stream(None), "1999-01-01", "2026-03-10") is None, "nothing is declared"
    assert too_late(stream("1 day"), "1999-01-01", None) is None, "nothing is checkpointed"
    assert too_late(stream("1 day", key="part"), "00001", "00009") is None, "partitions have no times"
    assert too_late(stream("1 day"), "not-a-day", "2026-03-10") is None


def test_a_late_partition_is_kept_whole_and_once(tmp_path: Path) -> None:
    source = tmp_path / "part-0.parquet"
    source.write_bytes(b"rows")
    kept = keep([source], tmp_path / "quarantine", "S", "2026-03-01", "abc")
    assert kept == tmp_path / "quarantine" / "S" / "2026-03-01" / "abc"
    source.write_bytes(b"newer rows")
    assert keep([source], tmp_path / "quarantine", "S", "2026-03-01", "abc") == kept
    assert (kept / "part-0.parquet").read_bytes() == b"rows"
    assert in_quarantine(kept.parent) == ["abc"]


def in_quarantine(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != lock.NAME)


def test_what_a_killed_run_left_half_kept_is_removed_by_the_next(tmp_path: Path) -> None:
    source, left = tmp_path / "a.parquet", tmp_path / "q" / "S" / "2026-03-01" / DRAFT
    source.write_bytes(b"rows")
    left.mkdir(parents=True)
    (left / "half.parquet").write_bytes(b"ro")
    kept = keep([source], tmp_path / "q", "S", "2026-03-01", "abc")
    assert [path.name for path in kept.iterdir()] == ["a.parquet"] and in_quarantine(kept.parent) == ["abc"]


def test_a_disk_that_refuses_leaves_nothing_half_kept(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    source.write_bytes(b"rows")
    with pytest.raises(StorageError, match="a late partition cannot be kept"):
        keep([source, tmp_path / "gone.parquet"], tmp_path / "q", "S", "2026-03-01", "abc")
    assert in_quarantine(tmp_path / "q" / "S" / "2026-03-01") == []
