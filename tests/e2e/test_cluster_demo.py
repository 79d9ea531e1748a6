"""`make cluster-demo` over two days: PostgreSQL and a Spark cluster give what SQLite and local Spark give."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.heavy, pytest.mark.airflow, pytest.mark.spark]


@pytest.fixture
def home() -> Iterator[Path]:
    # Not pytest's own folder: PostgreSQL's user must pass.
    folder = Path(tempfile.mkdtemp(prefix="streambound-cluster-demo-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def living(home: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in line:
            found.append(line)
    return found


def test_the_demo_on_a_cluster_agrees_with_the_demo_on_one_machine(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.cluster_demo", "--days", "2"],
        cwd=ROOT,
        env={**os.environ, "STREAMBOUND_HOME": str(home), "STREAMBOUND_REGISTRY": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert "PostgreSQL and the cluster give what SQLite and local Spark give" in done.stdout
    table = done.stdout[done.stdout.index("query") :].splitlines()[2:]
    rows = [line.split() for line in table[: table.index("")]]
    assert len(rows) == len(list((ROOT / "include" / "registry" / "queries").glob("*.sql")))
    assert {row[-1] for row in rows} == {"yes"}
    assert not (home / "cluster-demo" / "cluster" / "results.db").exists(), "the cluster recorded in SQLite"
    assert not (home / "cluster-demo" / "cluster" / "airflow" / "airflow.db").exists()
    assert re.search(r"the history server shows [1-9]\d* applications?", done.stdout)
    assert living(home) == []
