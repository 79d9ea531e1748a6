"""Where a secret of a local Airflow lies open."""

from __future__ import annotations

import contextlib
from pathlib import Path

from scripts.airflow_layout import Layout, generated_secrets


def leaks(layout: Layout, *printed: str) -> list[str]:
    """The files of an Airflow that hold a secret or let others in, and what was printed with one."""
    words = [word.encode() for word in generated_secrets(layout).values()]
    keepers = (layout.airflow_home / "secrets.json", layout.passwords_file)
    opened = [str(path) for path in (layout.airflow_home, *keepers) if path.stat().st_mode & 0o077]
    texts = {f"output {number}": text.encode() for number, text in enumerate(printed)}
    for path in {path for folder in (layout.airflow_home, layout.home) for path in _files(folder)}:
        # A run may be going on.
        with contextlib.suppress(FileNotFoundError):
            texts[str(path)] = b"" if path in keepers else path.read_bytes()
    return opened + [name for name, text in texts.items() if any(word in text for word in words)]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
