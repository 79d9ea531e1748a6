"""``streambound check --watch``: the real process, over files that change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streambound.cli import main

ROOT = Path(__file__).parents[2]
CALL = "import sys; from streambound.cli import main; sys.exit(main())"
CATALOG = "streams:\n  S: {A: int, B: int}\n"
BOUNDED, UNBOUNDED = "SELECT A FROM S WHERE A > 10\n", "SELECT DISTINCT A FROM S\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "alpha.sql").write_text(BOUNDED)
    (tmp_path / "queries" / "beta.sql").write_text(UNBOUNDED)
    return tmp_path


class Watching:
    """A process that watches, with what it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def lines(self, last: str) -> list[str]:
        """The next lines, up to one that begins so."""
        assert self.process.stdout is not None
        found = [self.process.stdout.readline().rstrip("\n")]
        while not found[-1].startswith(last):
            assert self.process.poll() is None, found
            found.append(self.process.stdout.readline().rstrip("\n"))
        return found

    def interrupted(self) -> int:
        """The exit code after Ctrl-C; nothing more is printed."""
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGINT)
        assert self.process.stdout.read() == ""
        return self.process.wait(60)


@contextmanager
def watching(folder: Path, *options: str) -> Iterator[Watching]:
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, "check", "--watch", "--catalog", "streams.yml", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": library},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield Watching(process)
        finally:
            process.kill()


def replaced(file: Path, text: str) -> None:
    """Write a file as editors do: a new one takes the place of the old."""
    beside = file.with_suffix(".tmp")
    beside.write_text(text)
    beside.rename(file)


def test_only_what_has_changed_is_printed_until_it_is_interrupted(folder: Path) -> None:
    queries = folder / "queries"
    with watching(folder, "queries") as watch:
        first = watch.lines("1 bounded, 1 unbounded")
        assert first[0].startswith("bounded    alpha") and "unbounded  beta" in "\n".join(first)
        replaced(queries / "beta.sql", BOUNDED)
        changed = watch.lines("2 bounded")
        assert changed[0].startswith("bounded    beta") and "alpha" not in "\n".join(changed)
        # Nothing that is read, and another text of the same verdict.
        (queries / "notes.txt").write_text("SELECT")
        (queries / "alpha.sql").write_text(f"-- a comment\n{BOUNDED}")
        (queries / "gamma.sql").write_text(UNBOUNDED)
        assert watch.lines("2 bounded, 1 unbounded")[0].startswith("unbounded  gamma")
        (queries / "gamma.sql").unlink()
        assert watch.lines("2 bounded") == ["gone       gamma", "2 bounded"]
        replaced(folder / "streams.yml", CATALOG.replace("A:", "Z:"))
        changed = watch.lines("2 invalid")
        assert changed[0].startswith("invalid    alpha") and "invalid    beta" in "\n".join(changed)
        assert watch.interrupted() == 0


def test_a_catalog_that_cannot_be_read_is_told_and_the_next_one_read(folder: Path) -> None:
    with watching(folder, "--format", "json", "queries") as watch:
        (one, two) = watch.lines('{"query": "beta"')
        assert [json.loads(line)["verdict"] for line in (one, two)] == ["bounded", "unbounded"]
        replaced(folder / "streams.yml", "streams: [")
        assert "invalid-catalog: streams.yml" in watch.lines("streambound: ")[-1]
        replaced(
            folder / "streams.yml", "streams:\n  S: {columns: {A: int}, domains: {A: {min: 0, max: 99}}}\n"
        )
        *rest, line = watch.lines('{"query": "beta"')
        assert json.loads(line)["verdict"] == "bounded" and not any("alpha" in one for one in rest)
        assert watch.interrupted() == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "sarif", "queries"], "--watch prints one verdict after the other"),
        (["--corpus", "lines.jsonl"], "--watch"),
        (["--catalog", "nothing.yml", "queries"], "nothing.yml"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    folder: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "lines.jsonl").write_text("{}\n")
    assert main(["check", "--watch", *arguments]) == 2
    assert said in capsys.readouterr().err
