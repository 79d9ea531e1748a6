"""Folders for temporary files: gone with who needs them, and with the next who comes after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streambound.durable import drop_drafts, flushed, replaced, write_text
from streambound.errors import StorageError
from streambound.tasks.scratch import _sweep, scratch

HOLD = """
import sys, time
from pathlib import Path
from streambound.tasks.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "spilled").mkdir()
    (folder / "spilled" / "rows").write_text("rows")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_is_gone_with_its_process_or_with_the_next(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    right = Path(run.stdout.readline().strip())
    others = tmp_path / "streambound-of-a-user"
    others.mkdir()
    with scratch(tmp_path) as left:
        assert left.is_dir() and right.is_dir(), "it is held"
    assert not left.exists()
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert (right / "spilled" / "rows").is_file()
    # As a process that has not looked yet.
    _sweep.cache_clear()
    with scratch(tmp_path) as left:
        assert sorted(tmp_path.iterdir()) == sorted([left, others])


def test_no_disk_for_temporary_files_is_an_outside_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="no folder for temporary files"), scratch(tmp_path / "file"):
        raise AssertionError("made")


def test_drafts_of_a_killed_process_are_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = [tmp_path / "a.parquet", tmp_path / ".hidden", tmp_path / "day" / "mine.draft"]
    drafts = [tmp_path / ".a.parquet.1.draft", tmp_path / "day" / ".part.2.draft"]
    (tmp_path / "day").mkdir()
    for file in (*kept, *drafts):
        file.write_text("")
    drop_drafts(tmp_path)
    assert all(map(Path.exists, kept)) and not any(map(Path.exists, drafts))
    drop_drafts(tmp_path / "none")


def test_a_file_is_flushed_and_renamed_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flush(opened: int) -> None:
        order.append(os.readlink(f"/proc/self/fd/{opened}"))
        fsync(opened)

    def rename(draft: Path, path: Path) -> None:
        order.append(f"rename to {path}")
        replace(draft, path)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    path = tmp_path / "deep" / "file"
    write_text(path, "text")
    draft = str(path.with_name(f".file.{os.getpid()}.draft"))
    assert order == [draft, f"rename to {path}", str(path.parent)]
    with pytest.raises(RuntimeError), replaced(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "text" and list(path.parent.iterdir()) == [path]
    order.clear()
    with replaced(path, flush=False) as file:
        file.write(b"more")
    assert order == [f"rename to {path}"] and path.read_text() == "more"
    order.clear()
    flushed([path, path.with_name("gone")])
    assert order == [str(path), str(path.parent)]
