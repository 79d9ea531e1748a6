"""Codes: declared in one place, each with a page whose example produces it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import kept_process

from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.boundedness.criterion.verdict import Reason
from streambound.cli import main
from streambound.errors import StreamboundError
from streambound.report.code_pages import errors, meaning

__all__ = ["kept_process"]
ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs" / "codes").glob("*.md") if path.stem != "README")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent
# A command without anything that a shell would do.
PLAIN = re.compile(r"streambound [\w. -]+")


def test_the_codes_are_the_pages() -> None:
    assert {path.stem for path in PAGES} == {*REASON_CODES, *errors()}


def test_the_overview_lists_every_page_once() -> None:
    text = (ROOT / "docs" / "codes" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^- \[(.*)\]\(\1\.md\)$", text, re.MULTILINE)) == [p.stem for p in PAGES]


def test_every_error_declares_a_code_of_its_own() -> None:
    found = {error: error.__dict__.get("code") for error in errors().values()}
    below = set(StreamboundError.__subclasses__())
    assert below <= set(found) and None not in found.values()
    assert not set(errors()) & set(REASON_CODES)
    assert all(meaning(code).endswith(".") for code in (*REASON_CODES, *errors()))


def test_a_reason_has_a_declared_code() -> None:
    with pytest.raises(AssertionError, match="nonsense is no code"):
        Reason("nonsense", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_a_page_produces_its_code(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.stem}\n") and "\n## How to fix it\n" in text
    blocks = dict(BLOCK.findall(text))
    (tmp_path / "streams.yml").write_text(blocks.get("yaml", ""))
    (tmp_path / "query.sql").write_text(blocks.get("sql", ""))
    monkeypatch.chdir(tmp_path)
    command = blocks.get("console", "").removeprefix("$ ").strip()
    if PLAIN.fullmatch(command):
        # In this process: another would load all that is loaded here.
        main(command.split()[1:])
    else:
        paths = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
        library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
        started = ["sh", "-c", command] if command else [sys.executable, "-c", blocks["python"]]
        subprocess.run(started, check=False, env={**os.environ, "PATH": paths, "PYTHONPATH": library})
    said = "".join(capfd.readouterr())
    assert re.search(rf"^(?:  |streambound: )?{page.stem}: ", said, re.MULTILINE), said
    assert "Traceback" not in said
