"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from streambound.cli import main

ROOT = Path(__file__).parents[1]
BLOCK = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
assert BLOCK is not None
SHOWN = [part.split("\n", 1) for part in BLOCK[1].split("$ ")[1:]]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_console_block(
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


def test_every_document_that_it_names_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / name).exists(), name
