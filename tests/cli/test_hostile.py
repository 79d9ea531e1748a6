"""Files that were written to do harm: each is one error or a verdict, in seconds and in a given memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
CATALOG = "streams:\n  S: {A: int, B: int}\n  T: {D: int}\n"
# Of address space: what Arrow and DuckDB map counts, used or not.
MEMORY, SECONDS = 6 << 30, 60
DEEP = 20_000


def laughs(first: str) -> str:
    """A billion strings in few lines, each the one before nine times."""
    names = "abcdefghijk"
    steps = [(one, ", ".join([f"*{before}"] * 9)) for before, one in pairwise(names)]
    lines = [f"  - &{one} [{all_of_it}]" for one, all_of_it in steps]
    return "\n".join([first, "  - &a [x, x, x, x, x, x, x, x, x]", *lines, ""])


SQL = {
    "parentheses": "SELECT A FROM S WHERE " + "(" * DEEP + "A > 1" + ")" * DEEP,
    "signs": "SELECT A FROM S WHERE A > " + "- " * DEEP + "1",
    "negations": "SELECT A FROM S WHERE " + "NOT " * DEEP + "A > 1",
    "cases": "SELECT " + "CASE WHEN A = 1 THEN " * 2500 + "1" + " ELSE 0 END" * 2500 + " AS c FROM S",
    "sub-queries": "SELECT A FROM " + "(SELECT A FROM " * 3000 + "S" + ") x" * 3000,
    "megabytes": f"SELECT A FROM S WHERE A IN ({','.join(map(str, range(1_300_000)))})",
    "unclosed": "SELECT '" + "x" * 90_000,
}
# What takes longer than anybody waits: of a second, on a quick machine, it may be decided.
LONG = {
    "listed": f"SELECT DISTINCT A FROM S, T WHERE A = D AND A IN ({','.join(map(str, range(16_000)))})",
    "view upon view": "WITH c0 AS (SELECT A FROM S)"
    + "".join(f", c{i} AS (SELECT x.A FROM c{i - 1} x JOIN c{i - 1} y ON x.A = y.A)" for i in range(1, 30))
    + " SELECT A FROM c29",
    "occurrences": "SELECT s0.A FROM " + ", ".join(f"S s{i}" for i in range(3000)),
}
DECIDED, BRIEFLY = {"bounded", "unknown", "invalid"}, ("--timeout", "1")
FILES = {
    "aliases.yml": (laughs("streams:"), "check --catalog aliases.yml q.sql"),
    "deep.yml": ("streams: " + "[" * DEEP, "check --catalog deep.yml q.sql"),
    "large.yml": (CATALOG + "#" * 10_000_000, "check --catalog large.yml q.sql"),
    "models.yml": (
        laughs("- kind:"),
        "cache simulate --trace t.csv --column A --policy heeb --size 2 --model models.yml",
    ),
    "streambound.toml": ("a = " + "[" * DEEP, "check q.sql"),
    "lines.jsonl": ('{"id": "q", "streams": ' + "[" * 100_000, "check --corpus lines.jsonl"),
    "a.avsc": ("[" * 100_000, "import avro a.avsc"),
    "manifest.json": ("[" * 100_000, "check --dbt manifest.json"),
    "a.proto": ('syntax = "proto3";' + "message A {" * 3000 + "}" * 3000, "import protobuf a.proto"),
}


def told(folder: Path, *arguments: str, seconds: float = SECONDS) -> tuple[int, str]:
    """The exit code of a command in a limited memory and what it printed, once it is no traceback."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from streambound.cli import main; sys.exit(main())", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include"), "STREAMBOUND_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said and time.monotonic() - started < seconds
    return done.returncode, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text("SELECT A FROM S WHERE A > 1")
    (tmp_path / "t.csv").write_text("A\n1\n2\n1\n")
    return tmp_path


@pytest.mark.parametrize(("texts", "expected", "options"), [(SQL, {"invalid"}, ()), (LONG, DECIDED, BRIEFLY)])
def test_hostile_sql_is_a_verdict_or_an_error_of_its_own(
    folder: Path, texts: dict[str, str], expected: set[str], options: tuple[str, ...]
) -> None:
    (folder / "queries").mkdir()
    for name, text in texts.items():
        (folder / "queries" / f"{name}.sql").write_text(text)
    _, said = told(folder, "check", "--catalog", "streams.yml", *options, "queries")
    verdicts = {line[11:].split("  ")[0]: line.split()[0] for line in said.splitlines() if line[:1].strip()}
    assert {verdicts[name] for name in texts} <= expected


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_one_error(folder: Path, name: str) -> None:
    text, command = FILES[name]
    (folder / name).write_text(text)
    code, said = told(folder, *command.split())
    assert code == 2 and len(said) < 2_000, said
    assert name in said


# A million rows are sixteen megabytes: the second is a partition of ten gigabytes.
@pytest.mark.parametrize("millions", [20, pytest.param(640, marks=pytest.mark.heavy)])
def test_parquet_that_unpacks_to_a_thousand_times_its_size_is_read_in_pieces(
    folder: Path, millions: int
) -> None:
    (folder / "streams.yml").write_text(
        "streams:\n  S: {columns: {A: bigint, B: bigint}, history: {path: S, partition_by: date}}\n"
    )
    (folder / "q.sql").write_text("SELECT DISTINCT A FROM S WHERE A > 10 AND A < 20 AND B = 1")
    path = folder / "in" / "S" / "date=2013-01-01" / "part.parquet"
    path.parent.mkdir(parents=True)
    rows = pa.table({"A": pa.array([12] * 1_000_000), "B": pa.array([1] * 1_000_000)})
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as file:
        for _ in range(millions):
            file.write_table(rows)
    assert path.stat().st_size < 16_000 * millions
    options = ("--catalog", "streams.yml", "--input", "in", "--output", "out", "--engine", "local")
    code, said = told(folder, "run", "q.sql", *options, seconds=SECONDS + 2 * millions)
    assert code == 0 and f'"rows_read": {millions}000000' in said
    # In kilobytes: what the largest process that was waited for has had in memory.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2_000_000


def test_what_is_no_parquet_at_all_is_one_error(folder: Path) -> None:
    (folder / "streams.yml").write_text(
        "streams:\n  S: {columns: {A: bigint, B: bigint}, history: {path: S, partition_by: date}}\n"
    )
    path = folder / "in" / "S" / "date=2013-01-01" / "part.parquet"
    path.parent.mkdir(parents=True)
    # A footer that says it has two gigabytes; one of nothing but signs that open.
    for content in (b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1" + b"\x1c" * 9000 + b"\x28\x23\0\0PAR1"):
        path.write_bytes(content)
        options = ("--catalog", "streams.yml", "--input", "in", "--output", "out", "--engine", "local")
        code, said = told(folder, "run", "q.sql", *options)
        assert code in (2, 3) and "part.parquet" in said and len(said) < 2_000, said
