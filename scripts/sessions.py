"""Ending processes together with everything that they started; the ends of their logs.

A component of Airflow leads a session. Its tasks move to process groups of their own and a task's
shell even to a session of its own, so signalling the process group alone leaves orphans.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and session of every living process."""
    found = {}
    for process in psutil.process_iter(["ppid", "status"]):
        with contextlib.suppress(OSError):
            if process.info["status"] != psutil.STATUS_ZOMBIE:
                found[process.pid] = (process.info["ppid"], os.getsid(process.pid))
    return found


def command_line(pid: int) -> str:
    """What a process was started with; empty where it is gone."""
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def sessions_below(leaders: set[int]) -> set[int]:
    """These sessions and those of all descendants: a task's shell opens a session of its own."""
    table = _processes()
    sessions = set(leaders)
    below = {pid for pid, (_, session) in table.items() if session in leaders}
    while below:
        sessions |= {table[pid][1] for pid in below}
        below = {
            pid
            for pid, (parent, session) in table.items()
            if session not in sessions and parent in table and table[parent][1] in sessions
        }
    return sessions


def end_sessions(sessions: set[int]) -> None:
    """End all processes of these sessions, those that do not listen by force."""
    for number, pause in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 30.0)):
        living = []
        for pid in [pid for pid, (_, session) in _processes().items() if session in sessions]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                process.send_signal(number)
                living.append(process)
        psutil.wait_procs(living, timeout=pause)


def die_with_parent() -> None:
    # So that even a supervisor that was killed by force leaves no component behind.
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGTERM)


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_of(log: Path, lines: int) -> str:
    """The last lines of a process's log; empty where there is none."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-lines:])
