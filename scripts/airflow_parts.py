"""One part of the local Airflow: a process that is started again where it ends by itself, a few times."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime

from scripts.airflow_layout import AirflowFailed
from scripts.sessions import end_sessions, sessions_below

# Seconds before each new start of a part that ended by itself; after as many starts in a row it is given up.
PAUSES = (0.0, 5.0, 30.0)
# A part that ran so long, in seconds, has begun well: earlier ends no longer count.
STEADY = 600.0


class Part:
    """A process that should never end.

    Args:
        name: what users call it.
        begin: starts the process.
        clock: seconds that only grow.

    Attributes:
        process: the running one; None while a new start is waited for.
        since: the moment from which it has been as it is.
        restarts: how often it was started again.
        ended: how it ended last; None if it never did.
    """

    def __init__(
        self,
        name: str,
        begin: Callable[[], subprocess.Popen[bytes]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.restarts = 0
        self.ended: str | None = None
        self._begin, self._clock = begin, clock
        self._in_a_row = 0
        self._start()

    def _start(self) -> None:
        self.process: subprocess.Popen[bytes] | None = self._begin()
        self.since = datetime.now(UTC)
        self._from = self._clock()

    def tend(self) -> str | None:
        """Start the process again if it has ended and its pause is over; what was seen or done, if anything.

        What it had started ends first: the next scheduler tries tasks again, which would run twice otherwise.

        Raises:
            AirflowFailed: it has ended once more than it is started again in a row.
        """
        if self.process is None:
            if self._clock() < self._from:
                return None
            return self._again()
        how = end(self.process)
        if how is None:
            return None
        end_sessions(sessions_below({self.process.pid}))
        if self._clock() - self._from >= STEADY:
            self._in_a_row = 0
        self.ended, self.process = how, None
        if self._in_a_row == len(PAUSES):
            raise AirflowFailed(
                f"{self.name} {how}, as it did {self._in_a_row} times before, each soon after its start: "
                "it is not started again"
            )
        pause = PAUSES[self._in_a_row]
        self._in_a_row += 1
        self.since, self._from = datetime.now(UTC), self._clock() + pause
        if not pause:
            return f"{self.name} {how}; {self._again()}"
        return f"{self.name} {how}; it is started again in {pause:.0f} s"

    def _again(self) -> str:
        self._start()
        self.restarts += 1
        return f"{self.name} was started again ({self._in_a_row} of {len(PAUSES)} times in a row)"

    def described(self) -> dict[str, str | int | None]:
        """What there is to know of it, for JSON."""
        return {
            "state": "ended" if self.process is None else "running",
            "since": f"{self.since:%Y-%m-%d %H:%M:%S} UTC",
            "restarts": self.restarts,
            "ended": self.ended,
        }


def end(process: subprocess.Popen[bytes]) -> str | None:
    """How a process ended; None while it runs."""
    code = process.poll()
    if code is None:
        return None
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
