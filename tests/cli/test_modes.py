"""Modes of what a run writes: with a umask of 077 nobody else reads rows, answers or states."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.cli import main
from streambound.tasks.scratch import scratch

CATALOG = """streams:
  S: {columns: {A: int}, domains: {A: {min: 0, max: 9}}, history: {path: S, partition_by: date}}
"""


@pytest.fixture(params=[0o077, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_what_a_run_writes_has_the_mode_that_the_umask_leaves(
    umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("STREAMBOUND_HOME", str(home))
    monkeypatch.setenv("STREAMBOUND_STREAMS", str(tmp_path))
    (tmp_path / "S" / "date=2026-01-01").mkdir(parents=True)
    pq.write_table(pa.table({"A": [1]}), tmp_path / "S" / "date=2026-01-01" / "part.parquet")
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text("SELECT DISTINCT A FROM S")
    command = [
        "run",
        str(tmp_path / "q.sql"),
        "--catalog",
        str(tmp_path / "streams.yml"),
        "--engine",
        "local",
    ]
    assert main(command) == 0
    written = {path.relative_to(home): stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    assert {path.parts[0] for path in written} >= {"answers", "checkpoints"}
    assert {path: mode for path, mode in written.items() if mode & umask} == {}


def test_scratch_is_its_owners_alone_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
