"""A process is ended with all that it started, also what left its session or does not listen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.sessions import command_line, end_of, end_sessions, sessions_below

# A leader whose child opens a session of its own, and has a child there that does not listen.
PROGRAM = """
import signal, subprocess, sys, time
if len(sys.argv) == 1:
    subprocess.Popen([sys.executable, __file__, "child"], start_new_session=True)
elif sys.argv[1] == "child":
    subprocess.Popen([sys.executable, __file__, "deaf"])
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("here", flush=True)
time.sleep(600)
"""


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        # The last to start inherited this pipe, and says that it is there.
        assert process.stdout.readline() == b"here\n"
        yield process
        process.kill()


def test_all_that_was_started_ends(leader: subprocess.Popen[bytes]) -> None:
    sessions = sessions_below({leader.pid})
    assert leader.pid in sessions and len(sessions) == 2
    (other,) = sessions - {leader.pid}
    assert command_line(other).endswith("child")
    end_sessions(sessions)
    assert leader.stdout is not None
    # Its end is read when the last that had the pipe is gone.
    assert leader.stdout.read() == b""
    assert command_line(leader.pid) == command_line(other) == ""


def test_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert end_of(log, 2) == ""
    log.write_text("a\nb\nc\n")
    assert end_of(log, 2) == "b\nc"
