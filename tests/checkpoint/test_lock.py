"""One run at a time: the next waits, and the lock of a run that was killed is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from streambound.checkpoint.lock import POLL_SECONDS, alone
from streambound.errors import StorageError

HOLD = """
import sys, time
from pathlib import Path
from streambound.checkpoint.lock import alone
with alone(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_next_run_waits_and_says_so_once(tmp_path: Path) -> None:
    told, order, waits = list[str](), list[str](), threading.Event()

    def tell() -> None:
        told.append("waits")
        waits.set()

    def second() -> None:
        with alone(tmp_path / "q", tell):
            order.append("second")

    waiting = threading.Thread(target=second)
    with alone(tmp_path / "q", lambda: told.append("never")):
        waiting.start()
        assert waits.wait(60)
        # It asks again, and again is not let in; more than once it must not say so.
        time.sleep(2.5 * POLL_SECONDS)
        order.append("first ends")
    waiting.join(60)
    assert order == ["first ends", "second"] and told == ["waits"]


def test_a_run_that_does_not_end_is_an_outside_cause(tmp_path: Path) -> None:
    with (
        alone(tmp_path, lambda: None),
        pytest.raises(StorageError, match="another run has been evaluating it"),
        alone(tmp_path, lambda: None, wait=0.3),
    ):
        raise AssertionError("both hold it")


def test_other_folders_are_free(tmp_path: Path) -> None:
    with alone(tmp_path / "a", lambda: None), alone(tmp_path / "b", lambda: None, wait=0):
        pass


def test_the_lock_of_a_killed_run_is_gone(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "held\n"
    with pytest.raises(StorageError), alone(tmp_path, lambda: None, wait=0.3):
        pass
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    with alone(tmp_path, lambda: None, wait=0):
        pass


def test_a_folder_that_cannot_be_written_is_an_outside_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be locked"), alone(tmp_path / "file" / "q", lambda: None):
        pass
