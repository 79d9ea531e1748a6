"""``streambound rewrite``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from streambound.cli import main

STREAMS = """
streams:
  S: {timestamp: ts, columns: {A: int, B: int, ts: timestamp}}
  T: {timestamp: ts, columns: {A: int, B: int, ts: timestamp}}
"""
BOTH = "SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.A AND S.B < T.B WHERE S.A > 10 AND S.A < 20\n"
ORDER = "SELECT S.A FROM S JOIN T ON S.A = T.A WHERE S.ts > T.ts AND S.A BETWEEN 1 AND 9\n"


Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Runs the command on a text: exit code, output, errors."""
    catalog = tmp_path / "streams.yml"
    catalog.write_text(STREAMS)

    def run(text: str, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "joined.sql"
        file.write_text(text)
        code = main(["rewrite", str(file), "--catalog", str(catalog), *options])
        return code, *capsys.readouterr()

    return run


def test_what_is_printed_is_sql(asked: Asked) -> None:
    code, out, _ = asked(BOTH, "--for", "spark")
    comments = [line for line in out.splitlines() if line.startswith("--")]
    assert code == 0
    assert comments[:3] == ["-- joined for spark", "-- needed: at most 18 units", "-- rules: R2"]
    assert out.splitlines()[len(comments)] == "SELECT"


def test_a_text_may_say_the_engine_itself(asked: Asked) -> None:
    code, out, _ = asked(f"-- for: flink\n{BOTH}")
    assert (code, out.splitlines()[0]) == (0, "-- joined for flink")


def test_json_has_the_same(asked: Asked) -> None:
    code, out, _ = asked(BOTH, "--for", "flink", "--format", "json")
    found = json.loads(out)
    assert (code, found["engine"], found["rules"], found["refused"]) == (0, "flink", ["R1"], None)
    assert found["units"] == sum(kept["rows"] * kept["width"] for kept in found["kept"])


def test_a_refusal_has_a_code_of_its_own(asked: Asked, tmp_path: Path) -> None:
    code, out, _ = asked(ORDER, "--for", "spark")
    file, catalog = tmp_path / "joined.sql", tmp_path / "streams.yml"
    assert code == 1
    assert all(line.startswith("--") for line in out.splitlines())
    assert f"-- instead: streambound run {file} --catalog {catalog} --live" in out


def test_a_program_is_printed_instead(asked: Asked) -> None:
    code, out, _ = asked(ORDER, "--for", "spark", "--as", "pyspark")
    assert code == 0
    compile(out, "program", "exec")
    code, out, _ = asked(ORDER, "--for", "spark", "--as", "pyspark", "--format", "json")
    assert (code, json.loads(out)["form"]) == (0, "pyspark")
    code, out, _ = asked("SELECT S.A FROM S JOIN T ON S.A = T.A\n", "--for", "spark", "--as", "pyspark")
    assert code == 1
    assert "# not written: the query is unbounded" in out


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (BOTH.replace("SELECT", "-- for: sparc\nSELECT"), (), "sparc"),
        (BOTH, (), "add --for ENGINE"),
        (BOTH, ("--for", "flink", "--as", "pyspark"), "--for spark"),
        ("SELECT X.A FROM X\n", ("--for", "spark"), "X"),
    ],
)
def test_what_is_wrong_is_said(asked: Asked, text: str, options: tuple[str, ...], said: str) -> None:
    code, out, err = asked(text, *options)
    assert (code, out) == (2, "")
    assert said in err
