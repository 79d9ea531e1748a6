"""Where a secret of a local Airflow lies open."""

from __future__ import annotations

from scripts.airflow_layout import Layout, generated_secrets


def leaks(layout: Layout, *printed: str) -> list[str]:
    """The files below AIRFLOW_HOME and home that hold a secret and should not, and 'printed' for outputs."""
    words = [word.encode() for word in generated_secrets(layout).values()]
    keepers = (layout.airflow_home / "secrets.json", layout.passwords_file)
    files = [p for folder in (layout.airflow_home, layout.home) for p in folder.rglob("*") if p.is_file()]
    found = [str(p) for p in files if p not in keepers and any(word in p.read_bytes() for word in words)]
    open_to_others = [str(p) for p in (layout.airflow_home, *keepers) if p.stat().st_mode & 0o077]
    return [
        *found,
        *open_to_others,
        *("printed" for text in printed if any(w.decode() in text for w in words)),
    ]
