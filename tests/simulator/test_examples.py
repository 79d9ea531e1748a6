"""The examples in the docstrings of the room run as they are written; each module loads by itself."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import streambound

ROOM = Path(streambound.__file__).parent / "caching"
MODULES = [
    ".".join(("streambound", *path.relative_to(ROOM.parent).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOM.rglob("*.py"))
]


@pytest.mark.parametrize("name", [*MODULES, "streambound.api"])
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_no_module_needs_another_to_be_loaded_first() -> None:
    code = "import importlib, sys\n" + "\n".join(
        f"importlib.import_module({name!r}); [sys.modules.pop(m) for m in list(sys.modules) "
        "if m.startswith('streambound.simulator')]"
        for name in MODULES
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
