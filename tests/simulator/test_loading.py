"""Each module of the room loads by itself."""

from __future__ import annotations

import subprocess
import sys

from scripts.imports import LIBRARY, MODULES, dotted

ROOM = [dotted(path) for path in MODULES if path.is_relative_to(LIBRARY / "simulator")]


def test_no_module_needs_another_to_be_loaded_first() -> None:
    code = "import importlib, sys\n" + "\n".join(
        f"importlib.import_module({name!r}); [sys.modules.pop(m) for m in list(sys.modules) "
        "if m.startswith('streambound.simulator')]"
        for name in ROOM
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert len(ROOM) > 30 and found.returncode == 0, found.stderr
