"""What docs/editors.md tells people to configure."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from streambound.cli import _parser

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def commands() -> list[list[str]]:
    """Every command that the guide names or configures."""
    shell = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("streambound")]
    found = [shlex.split(line, comments=True) for line in shell]
    (settings,) = map(json.loads, blocks("json"))
    found.append([settings["glspc.server.command"], *settings["glspc.server.commandArguments"]])
    found += [["streambound", *json.loads(text)] for text in re.findall(r'`(\["lsp".*?\])`', GUIDE)]
    (lua,) = re.findall(r"cmd = \{(.*?)\}", *blocks("lua"))
    found.append(re.findall(r"'(.*?)'", lua))
    (helix,) = (tomllib.loads(text)["language-server"]["streambound"] for text in blocks("toml"))
    found.append([helix["command"], *helix["args"]])
    found += [shlex.split(text) for text in re.findall(r"\| Command \| `(.*?)` \|", GUIDE)]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_each_command_is_one(command: list[str]) -> None:
    program, *arguments = command
    assert program == "streambound"
    options = _parser().parse_args(arguments)
    assert options.run.__name__ in ("_lsp", "_check")


def test_the_editors_that_it_configures() -> None:
    assert len(commands()) == 7
