"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from streambound.cli import main

ROOT = Path(__file__).parents[1]
SIZED = ("README.md", "scripts/setup")
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "".join(re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL))
SHOWN = [part.split("\n", 1) for part in BLOCKS.split("$ ")[1:]]
# Two screens of a terminal.
LINES = 100


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_console_block(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "streambound"
    assert main(arguments) in (0, 1)
    # A line of dots stands for lines that are not shown.
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in output.strip().split("\n")
    )
    assert re.fullmatch(pattern, capsys.readouterr().out)


def test_what_the_environment_takes_is_said_once() -> None:
    """In bytes of files, as ``du --apparent-size --si`` counts them; compiled modules come and go."""
    said = {
        name: re.findall(r"\(?([\d.]+) GB\b", (ROOT / name).read_text(encoding="utf-8")) for name in SIZED
    }
    ((number,), again) = said.values()
    assert again == [number]
    taken = sum(path.lstat().st_size for path in Path(sys.prefix).rglob("*") if not path.is_dir())
    assert 0.85 < float(number) * 1e9 / taken < 1.15


def test_it_fits_on_two_screens() -> None:
    assert len(SHOWN) == 3 and TEXT.count("\n") <= LINES
