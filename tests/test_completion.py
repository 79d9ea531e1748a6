"""The lazy package shows what it offers, before any of it has been loaded."""

from __future__ import annotations

import subprocess
import sys

import streambound


def test_every_offered_name_is_shown_before_it_is_loaded() -> None:
    # In a process of its own: what another test has loaded must not count.
    code = "import streambound, json; print(json.dumps(dir(streambound)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in streambound.__all__ if f'"{name}"' not in shown] == []


def test_every_offered_name_can_be_had() -> None:
    assert all(callable(getattr(streambound, name)) for name in streambound.__all__)
