"""Random bad command lines and files: a documented exit code, what is wrong, what was meant, no traceback."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.query.test_misspelt import PYTHON, broken, misspelt

from streambound.cli import main

CATALOG = """streams:
  departures:
    timestamp: at
    columns: {origin: string, delay: int, at: timestamp}
    not_null: [origin]
    domains: {delay: {min: -10, max: 100}}
  arrivals: {origin: string, delay: int, price: "decimal(5,2)", at: timestamp}
  airports: {kind: static, columns: {faa: string, altitude: double}}
"""
SQL = "SELECT DISTINCT origin FROM departures WHERE delay < 5"
LINE = '{"id": "q", "streams": {"S": {"A": "int"}}, "sql": "SELECT A FROM S", '
LINE += '"events": [{"stream": "S", "A": 1}]}\n'
COMMANDS = (
    ("check", "q.sql", "--catalog", "streams.yml", "--format", "json"),
    ("check", "--corpus", "lines.jsonl", "--criterion", "arasu"),
    ("explain", "q.sql", "--catalog", "streams.yml"),
    ("witness", "q.sql", "--catalog", "streams.yml", "--size", "2"),
    ("run", "q.sql", "--catalog", "streams.yml", "--engine", "onepass", "--input", "."),
    ("run", "q.sql", "--catalog", "streams.yml", "--engine", "local", "--input", "."),
    ("run", "--corpus", "lines.jsonl", "--engine", "reference"),
    ("cache", "simulate", "--trace", "trace.csv", "--column", "item", "--policy", "lru", "--size", "2"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(SQL)
    (tmp_path / "lines.jsonl").write_text(LINE)
    (tmp_path / "trace.csv").write_text("item\n1\n2\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    return tmp_path


def told(*arguments: str) -> tuple[int, str]:
    """The exit code of a command and what it told."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, err.getvalue() + (out.getvalue() if code == 2 else "")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek"], "did you mean check?"),
        (["cache", "simulat"], "did you mean simulate?"),
        (["check", "--formt", "json"], "did you mean --format?"),
        (["check", "--format", "jsn"], "did you mean json?"),
        (["check", "--criterion", "aras"], "did you mean arasu?"),
        (["run", "q.sql", "--enigne", "onepass"], "did you mean --engine?"),
        (["explain", "q4_al"], "did you mean q4_all?"),
        (
            [
                "cache",
                "simulate",
                "--trace",
                "trace.csv",
                "--column",
                "itm",
                "--policy",
                "lru",
                "--size",
                "2",
            ],
            "item?",
        ),
        (
            [
                "cache",
                "simulate",
                "--trace",
                "trace.csv",
                "--column",
                "item",
                "--policy",
                "lruk",
                "--size",
                "2",
            ],
            "lru-k?",
        ),
    ],
)
def test_a_misspelt_argument_is_told_with_the_one_that_was_meant(
    arguments: list[str], meant: str, folder: Path
) -> None:
    code, text = told(*arguments)
    assert code == 2 and meant in text, text


def assert_clear(code: int, text: str) -> None:
    assert code in (0, 1, 2, 3), text
    assert not PYTHON.search(text), text


QUIET = [HealthCheck.function_scoped_fixture]


@settings(suppress_health_check=[*QUIET, HealthCheck.too_slow])
@given(data=st.data())
def test_bad_command_lines(data: st.DataObject, folder: Path) -> None:
    words = list(data.draw(st.sampled_from(COMMANDS)))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(words) - 1))
        way = data.draw(st.integers(0, 3))
        if way == 0:
            words[at] = misspelt(data.draw, words[at]) if words[at] else words[at]
        elif way == 1:
            del words[at]
        elif way == 2:
            words.insert(at, words[at])
        else:
            words[at : at + 2] = reversed(words[at : at + 2])
        if not words:
            return
    assert_clear(*told(*words))


@settings(suppress_health_check=[*QUIET, HealthCheck.too_slow])
@given(data=st.data())
def test_bad_files(data: st.DataObject, folder: Path) -> None:
    """Catalogs, queries and corpora with words misspelt, lines dropped, characters exchanged."""
    name, text = data.draw(
        st.sampled_from([("streams.yml", CATALOG), ("lines.jsonl", LINE), ("q.sql", None)])
    )
    if text is None:
        text = data.draw(broken())
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, max(len(text) - 1, 0)))
            put = data.draw(
                st.sampled_from(
                    ["", *"{}[]:,\"'-\n\t #&*!|>%@`0x.", "null", "yes", "2026-01-01", "1e400", "\\ud800"]
                )
            )
            text = text[:at] + put + text[at + data.draw(st.integers(0, 3)) :]
    before = (folder / name).read_text()
    try:
        (folder / name).write_text(text)
        corpus = name == "lines.jsonl"
        assert_clear(
            *told(
                *(
                    "run" if corpus else "check",
                    *(["--corpus", name] if corpus else ["q.sql", "--catalog", "streams.yml"]),
                    *(["--engine", "onepass"] if corpus else []),
                )
            )
        )
    finally:
        (folder / name).write_text(before)


def test_nothing_is_left_of_a_bad_command_line(folder: Path) -> None:
    before = sorted(os.listdir(folder))
    told("chek", "q.sql")
    assert sorted(os.listdir(folder)) == before


ODD: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\n",
    "nul": b"SE\0LECT",
    "long": b"x" * 300_000 + b"-",
    "latin": b"caf\xe9",
    "utf-16": "SELECT A FROM S".encode("utf-16"),
    "surrogate": b"\xed\xa0\x80",
}
READERS = (
    ("explain", "{}.sql", "--catalog", "streams.yml", "--for", "flink"),
    ("rewrite", "{}.sql", "--catalog", "streams.yml", "--for", "flink"),
    ("explain", "q.sql", "--catalog", "{}.yml"),
    ("witness", "q.sql", "--catalog", "{}.yml", "--size", "2"),
    ("cache", "advise", "{}.sql", "--catalog", "streams.yml", "--target", "0.5"),
    ("cache", "simulate", "--trace", "{}.csv", "--column", "item", "--policy", "lru", "--size", "2"),
    ("import", "avro", "{}.avsc"),
    ("import", "protobuf", "{}.proto"),
    ("import", "jsonschema", "{}.json"),
    ("import", "flink", "{}.sql"),
    ("import", "parquet", "{}.parquet"),
    ("import", "dbt", "{}.json"),
)


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_odd_files_are_one_short_error(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "trace.csv").write_text("item\n1\n2\n1\n")
    for name, content in ODD.items():
        (pattern,) = (argument for argument in command if "{}" in argument)
        (folder / pattern.format(name)).write_bytes(content)
        code, said = told(*(argument.format(name) for argument in command))
        assert code == 2 and len(said) < 3_000 and name in said, (code, said[:500])


@pytest.mark.parametrize("name", ["folder", "loop", "dangling", "/dev/null", "missing/q", "q.sql/x"])
def test_a_path_that_is_no_query_is_told_as_one(folder: Path, name: str) -> None:
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    for command in (("explain",), ("rewrite", "--for", "flink"), ("witness", "--size", "2")):
        code, said = told(*command, name, "--catalog", "streams.yml")
        assert code == 2 and f"{name}: " in said and "registered as" not in said, said
