"""``streambound import``: from what is there to the first verdict, as the pages show it."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from streambound.cli import main
from streambound.query.catalog import load_catalog

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "import.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ (streambound import [^\n]*)\n(.*?)```", GUIDE, re.DOTALL)
QUERY = "SELECT DISTINCT user_id FROM orders WHERE status = 'paid'\n"
SCRIPT = """CREATE TABLE clicks (
  url STRING NOT NULL, tags ARRAY<STRING>, at TIMESTAMP(3),
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH ('connector' = 'kafka');
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the page's commands are run in."""
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    for day in range(2):
        rows = range(50 * day, 50 * day + 50)
        table = pa.table(
            {
                "at": pa.array([start + dt.timedelta(days=day, seconds=30 * (n ^ 1)) for n in rows]),
                "user_id": pa.array([1 + n * 7 % 90 for n in rows], pa.int64()),
                "status": pa.array(["paid" if n % 3 else None for n in rows]),
                "lines": pa.array([[{"sku": "x", "count": 1}] for _ in rows]),
            }
        )
        part = tmp_path / "orders" / f"date={start.date() + dt.timedelta(days=day)}"
        part.mkdir(parents=True)
        pq.write_table(table, part / "part-0.parquet")
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "payers.sql").write_text(QUERY)
    (tmp_path / "job.sql").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_the_page_shows_is_what_the_commands_print(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(SHOWN) >= 3
    for command, output in SHOWN:
        assert main(shlex.split(command)[1:]) in (0, 1)
        said = capsys.readouterr()
        pattern = "".join(
            "(?:.*\n)*?" if line == "..." else re.escape(line) + "\n"
            for line in output.strip("\n").split("\n")
        )
        assert re.fullmatch(pattern, said.err + said.out.replace(str(folder), "/data")), said


def test_one_command_from_a_folder_of_parquet_to_the_first_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "import parquet orders --observe --merge streams.yml --check queries"
    assert f"streambound {command}" in GUIDE
    assert main(shlex.split(command)) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("unbounded  payers\n")
    # What was seen takes the place of 0 and 999, and says so.
    assert "user_id BETWEEN 1 AND 90 (as observed: a promise only if you make it one)" in printed
    assert "999" not in printed
    # Nobody promised anything: the verdict is that of the columns alone.
    (orders,) = load_catalog(Path("streams.yml")).relations
    assert all(c.domain is None and c.nullable for c in orders.columns)
    # A person does.
    text = Path("streams.yml").read_text()
    body = yaml.safe_load(text)
    assert body["streams"]["orders"]["observed"]["status"] == {
        "values": ["paid"],
        "different": 1,
        "nulls": 34,
    }
    Path("streams.yml").write_text(text + "    domains: {user_id: {min: 1, max: 90}}\n")
    assert main(["check", "--catalog", "streams.yml", "queries"]) == 0


def test_a_catalog_need_not_be_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("import parquet orders --check queries/payers.sql")) == 1
    assert capsys.readouterr().out.startswith("unbounded  payers\n")
    assert not Path("streams.yml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("flink job.sql --observe", "--observe cannot be given with flink"),
        ("parquet orders --subject x", "--subject cannot be given with parquet"),
        ("registry http://127.0.0.1:1", "add --subject SUBJECT"),
        ("parquet orders --timestamp at", "add --observe"),
        ("parquet nowhere", "no .parquet files are there"),
        ("parquets orders", "did you mean parquet?"),
        ("flink nowhere.sql", "nowhere.sql"),
        ("dbt --name x manifest.json", "--name cannot be given with dbt"),
    ],
)
def test_what_is_asked_wrongly_is_one_error(
    folder: Path, arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", *shlex.split(arguments)]) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
