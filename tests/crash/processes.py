"""The processes that a process started, from /proc."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def parents() -> dict[int, int]:
    """The parent of every process."""
    found: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def descendants(root: int) -> dict[int, str]:
    """The command lines of a process, of those that it started, and of those started by them, by id.

    A process comes before those that it started.
    """
    above = parents()
    found, pending = dict[int, str](), [root]
    while pending:
        here = pending.pop()
        pending += [child for child, parent in above.items() if parent == here]
        found[here] = command_line(here)
    return found


def command_line(pid: int) -> str:
    """The command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def wait_until_gone(family: Iterable[int], seconds: float = 180.0) -> None:
    """Until none of these processes runs any more, and so none still writes."""
    mine, end = list(family), time.monotonic() + seconds
    while any(map(command_line, mine)):
        assert time.monotonic() < end, f"still running: {[*map(command_line, mine)]}"
        time.sleep(0.1)
