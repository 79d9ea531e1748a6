"""Asking a process about a query, one line of JSON each way, and ending it when its time is over."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What the process says when it can be asked.
READY = "ready"
# Seconds that it may take to start on a machine that is busy.
STARTING = 60.0
LIBRARY = Path(__file__).parents[2]


class NotDecided(Exception):
    """A query was given all its time (``too-slow``), or all its memory or depth (``too-complex``)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Unanswered(Exception):
    """The process could not be started, or ended for a reason that is not the query's."""


class _Slow(Exception):
    """There was no answer in time."""


class _Ended(Exception):
    """The process ended before it answered."""


class Examiner:
    """One process, which decides one query at a time; started when first asked, and again after it ended.

    A thread at a time may use it; any other may interrupt that.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupted = False

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The process's answer: ``answer``, ``refused``, or ``defect`` where it is our own fault.

        Args:
            question: see ``__main__.examined``.
            seconds: that it may take, without what it takes to start the process.

        Raises:
            NotDecided: none came in time, or the query is such that the process ended over it.
            Unanswered: the process did not start, could not be reached, or was interrupted.
        """
        self._interrupted = False
        try:
            process = self._running()
            assert process.stdin is not None
            # A process that was started elsewhere finds the files that are named from here.
            asked = {**question, "seconds": seconds, "folder": os.getcwd()}
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            reply: dict[str, Any] = json.loads(self._line(process, seconds))
        except _Slow:
            self.end()
            raise NotDecided("too-slow", f"the query was not decided within {seconds:g} seconds") from None
        except _Ended:
            self.end()
            if self._interrupted:
                raise Unanswered("the question was taken back") from None
            raise NotDecided("too-complex", TOO_COMPLEX) from None
        except (OSError, ValueError):
            self.end()
            raise Unanswered("the process that decides queries ended") from None
        refused = reply.get("refused")
        if refused is not None and refused["code"] == "too-complex":
            raise NotDecided("too-complex", str(refused["message"]))
        return reply

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            self._process = None

    def interrupt(self) -> None:
        """Take back the question that another thread asks."""
        self._interrupted = True
        if (process := self._process) is not None:
            process.kill()

    def start(self) -> None:
        """Start the process, if there is none; it makes itself ready while others are busy."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            path = os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "streambound.examination"],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
            self._ready = False

    def _running(self) -> subprocess.Popen[bytes]:
        self.start()
        assert self._process is not None
        if not self._ready:
            try:
                self._ready = self._line(self._process, STARTING).strip() == READY.encode()
            except (_Slow, _Ended):
                self._ready = False
            if not self._ready:
                raise OSError("it did not start")
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        deadline, parts = time.monotonic() + seconds, list[bytes]()
        while not (parts and parts[-1].endswith(b"\n")):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise _Slow
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise _Ended
            parts.append(part)
        return b"".join(parts)


TOO_COMPLEX = "the query is too deep or too large to decide"
