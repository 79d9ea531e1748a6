"""A complete Airflow on one machine: started, watched and stopped as one thing.

``airflow standalone`` leaves children behind when it is terminated and its log servers listen on
every interface. This supervisor starts the same processes on the loopback interface only, and
stops each of them with everything that it started.

    python -m scripts.airflow_local up|down|status|run
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from scripts.airflow_layout import (
    PROJECT,
    AirflowFailed,
    Layout,
    environment,
    free_port,
    generated_secrets,
    lack_of_room,
    layout_from_environment,
    named,
    prepare,
    read_private,
    refusal,
    write_private,
)
from scripts.airflow_parts import Part, end
from scripts.airflow_rest import AirflowApiError, AirflowClient
from scripts.sessions import command_line, die_with_parent, end_of, end_sessions, sessions_below
from streambound.locks import taken

__all__ = [
    "AirflowApiError",
    "AirflowClient",
    "AirflowFailed",
    "Layout",
    "LocalAirflow",
    "client",
    "environment",
    "free_port",
    "layout_from_environment",
    "running",
    "stop_on_signals",
]

SPARK_POOL = ("spark", 1, "One Spark application at a time on this machine")

COMPONENTS = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
# What Airflow's health calls them; the api-server answers for itself and for its database.
HEALTH = {
    "api-server": "metadatabase",
    "scheduler": "scheduler",
    "dag-processor": "dag_processor",
    "triggerer": "triggerer",
}
LOG_BYTES = 20_000_000


class LocalAirflow:
    """All processes of one Airflow; a context manager that starts and stops them.

    Args:
        layout: folders and port.
        echo: receives one line a step.

    Raises:
        AirflowFailed: on entering, when it does not become healthy; a running Airflow of the same
            AIRFLOW_HOME counts as that.
    """

    def __init__(self, layout: Layout, echo: Callable[[str], None] = lambda line: None) -> None:
        self.layout = layout
        self._echo = echo
        self._parts: dict[str, Part] = {}
        self._lock: int | None = None
        self._reported: dict[str, object] = {}

    def __enter__(self) -> LocalAirflow:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(error)

    def client(self, username: str = "admin") -> AirflowClient:
        """A client that logs in as ``admin`` or ``viewer``."""
        return client(self.layout, username)

    def start(self, timeout: float = 300.0) -> None:
        """Migrate the database, start every process and return when all report to be healthy."""
        layout = self.layout
        try:
            prepare(layout)
            self._take_lock()
            self._end_leftovers()
            self._tell(ready=False)
            env = environment(layout)
            self._echo("migrating Airflow's database")
            self._migrate(env, timeout)
            self._echo(f"starting Airflow at {layout.url}")
            for name, arguments in COMPONENTS.items():
                self._parts[name] = Part(name, partial(self._spawn, name, arguments, env))
            self._tell(ready=False)
            self._wait_until_healthy(timeout)
            self.client().ensure_pool(*SPARK_POOL)
            self._tell(ready=True)
        except OSError as error:
            failure = AirflowFailed(refusal(error))
            self.stop(failure)
            raise failure from None
        except BaseException as error:
            self.stop(error)
            raise

    def check(self) -> None:
        """Raise AirflowFailed if a process has ended by itself."""
        for name, part in self._parts.items():
            how = "is waited for" if part.process is None else end(part.process)
            if how is not None:
                raise self._failure(f"{name} {how}", name)

    def tend(self) -> None:
        """Start again what has ended by itself.

        Raises:
            AirflowFailed: a part ends again and again; the end of its log says why.
        """
        for name, part in self._parts.items():
            try:
                seen = part.tend()
            except AirflowFailed as failure:
                raise self._failure(str(failure), name) from None
            if seen is not None:
                self._echo(seen)
        # What is told waits for room where the disk is full: the parts may go on.
        with contextlib.suppress(OSError):
            self._tell(ready=True)

    def processes(self) -> list[subprocess.Popen[bytes]]:
        """Those that run, one a part."""
        return [part.process for part in self._parts.values() if part.process is not None]

    def stop(self, error: BaseException | None = None, grace: float = 8.0) -> None:
        """End every process and all that these started: first politely, after ``grace`` seconds by force.

        Args:
            error: why, where this Airflow failed; ``status`` tells it.
        """
        processes = self.processes()
        sessions = sessions_below({process.pid for process in processes})
        for process in processes:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + grace
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        end_sessions(sessions)
        self._parts.clear()
        if self._lock is not None:
            self.layout.state_file.unlink(missing_ok=True)
            if isinstance(error, AirflowFailed | AirflowApiError):
                ended = {"failed": str(error), "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}
                with contextlib.suppress(OSError):
                    write_private(self.layout.state_file, ended)
            os.close(self._lock)
            self._lock = None

    def process_log(self, name: str, lines: int = 40) -> str:
        """The end of the log of one process."""
        path = self.layout.logs / f"{name}.log"
        return f"--- end of {path} ---\n{end_of(path, lines)}"

    def _failure(self, what: str, name: str) -> AirflowFailed:
        lack = lack_of_room(self.layout)
        return AirflowFailed("\n".join([what, *([lack] if lack else []), self.process_log(name)]))

    def _take_lock(self) -> None:
        # The lock goes with the process that holds it, so a killed supervisor leaves no stale one.
        lock = os.open(self.layout.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(10):
            if taken(lock):
                self._lock = lock
                return
            # Who asks whether it is held, holds it for a moment.
            time.sleep(0.05)
        os.close(lock)
        raise AirflowFailed(
            f"an Airflow is already running in {self.layout.airflow_home}; stop it with 'make down'"
        )

    def _tell(self, ready: bool) -> None:
        state = {
            "pid": os.getpid(),
            "port": self.layout.port,
            "ready": ready,
            "sessions": [process.pid for process in self.processes()],
            "parts": {name: part.described() for name, part in self._parts.items()},
        }
        if state != self._reported:
            write_private(self.layout.state_file, state)
            self._reported = state

    def _end_leftovers(self) -> None:
        # A supervisor that was killed by force leaves its scheduler waiting for the running tasks.
        sessions = read_private(self.layout.state_file).get("sessions", [])
        end_sessions(sessions_below({pid for pid in sessions if "airflow" in command_line(pid)}))

    def _migrate(self, env: dict[str, str], timeout: float) -> None:
        process = self._spawn("migrate", ["db", "migrate"], env)
        try:
            process.wait(timeout)
        finally:
            end_sessions(sessions_below({process.pid}))
        if process.returncode != 0:
            raise self._failure(f"the migration of Airflow's database {end(process)}", "migrate")

    def _spawn(self, name: str, arguments: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        with appended(self.layout.logs / f"{name}.log") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "airflow", *arguments],
                env=env,
                cwd=self.layout.airflow_home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def _wait_until_healthy(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        api = self.client()
        while True:
            self.check()
            health = api.health()
            if all(health.get(part) == "healthy" for part in HEALTH.values()):
                return
            if time.monotonic() > deadline:
                logs = "\n".join(self.process_log(name, 15) for name in self._parts)
                raise AirflowFailed(f"Airflow is not healthy after {timeout:.0f} s: {health}\n{logs}")
            time.sleep(0.3)


def client(layout: Layout, username: str = "admin", timeout: float = 60.0) -> AirflowClient:
    """A client of the Airflow of this layout, running or not."""
    return AirflowClient(layout.url, username, generated_secrets(layout)[f"{username}_password"], timeout)


def supervised(layout: Layout) -> dict[str, Any] | None:
    """What the supervisor of the same AIRFLOW_HOME tells of itself, nothing at its very beginning.

    None where none runs.

    Raises:
        AirflowFailed: what it told is damaged.
    """
    if not layout.lock_file.exists():
        return None
    with open(layout.lock_file) as lock:
        free = taken(lock, shared=True)
    return None if free else _told_by_the_living(layout.state_file)


def _told_by_the_living(file: Path) -> dict[str, Any]:
    state = read_private(file)
    if "failed" in state or not file.exists():
        return {}
    kinds = {"pid": int, "port": int, "ready": bool, "parts": dict}
    if not all(type(state.get(name)) is kind for name, kind in kinds.items()) or not all(
        name in COMPONENTS
        and isinstance(part, dict)
        and part.keys() == {"state", "since", "restarts", "ended"}
        for name, part in state["parts"].items()
    ):
        raise AirflowFailed(
            f"{file} is damaged: it does not tell which process runs this Airflow and how its parts are; "
            "end that process by hand"
        )
    return state if command_line(state["pid"]) else {}


def running(layout: Layout) -> Layout | None:
    """The layout, with its real port, of an Airflow that now runs in the same AIRFLOW_HOME."""
    state = supervised(layout) or {}
    return replace(layout, port=int(state["port"])) if state.get("ready") else None


@contextlib.contextmanager
def appended(log: Path) -> Iterator[BinaryIO]:
    """A log that goes on where it ended, closed to others; one that has grown large is put aside.

    Raises:
        OSError: nothing can be written.
    """
    if log.is_file() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    with open(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0) as out:
        if log.is_file():
            os.fchmod(out.fileno(), 0o600)
        with named(log):
            out.write(f"--- {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
        yield out


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that ``with`` blocks stop what they started."""

    def leave(number: int, frame: FrameType | None) -> None:
        # A second signal while stopping must not cut the stopping short.
        for other in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {n: signal.signal(n, leave) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def describe(layout: Layout) -> str:
    """Where to look and how to log in; the password is shown on a terminal only, never in what is kept."""
    password = generated_secrets(layout)["admin_password"]
    shown = [f"  password  {password}"] if sys.stdout.isatty() else []
    return "\n".join(
        [
            f"Airflow is running at {layout.url}",
            "  user      admin (or viewer, who may only look)",
            *shown,
            f"  passwords are kept in {layout.passwords_file}",
            "  stop it with: make down",
        ]
    )


def up(layout: Layout) -> int:
    """Start a supervisor in the background and return when Airflow is healthy."""
    prepare(layout)
    log = layout.airflow_home / "supervisor.log"
    process, begin = None, log.stat().st_size if log.exists() else 0
    if supervised(layout) is None:
        print(f"starting Airflow, about half a minute (log: {log})", flush=True)
        port = free_port(layout.port)
        with appended(log) as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "scripts.airflow_local", "run", "--port", str(port)],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    while (found := running(layout)) is None:
        # Of two that start at once, one waits for the other's.
        if (process is None or process.poll() is not None) and supervised(layout) is None:
            print(log.read_bytes()[begin:].decode(errors="replace"), file=sys.stderr)
            print(f"Airflow did not start (log: {log})", file=sys.stderr)
            return 3
        time.sleep(0.3)
    print(describe(found))
    return 0


def down(layout: Layout, timeout: float = 60.0) -> int:
    """Ask a running supervisor to stop and wait until it has."""
    state = supervised(layout)
    if state is None:
        print("Airflow is not running")
        return 0
    if not state:
        raise AirflowFailed(f"the Airflow in {layout.airflow_home} begins only now; try again")
    os.kill(int(state["pid"]), signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while supervised(layout) is not None:
        if time.monotonic() > deadline:
            print(f"Airflow did not stop within {timeout:.0f} s", file=sys.stderr)
            return 3
        time.sleep(0.2)
    print("Airflow has stopped")
    return 0


def status(layout: Layout) -> int:
    """Tell each part's state and since when; 1 where Airflow does not run or a part does not."""
    state = supervised(layout)
    if state is None:
        left = read_private(layout.state_file)
        print("Airflow is not running")
        if "failed" in left:
            print(f"  since {left['since']}: {left['failed']}")
        elif left:
            print(f"  its supervisor, process {left.get('pid')}, was ended by force")
        return 1
    if not state.get("ready"):
        print(f"Airflow is being started (log: {layout.airflow_home / 'supervisor.log'})")
        return 1
    found = replace(layout, port=int(state["port"]))
    print(describe(found))
    health = client(found, timeout=5.0).health()
    whole = True
    for name, part in state["parts"].items():
        answer = health.get(HEALTH[name], "does not answer")
        whole = whole and part["state"] == "running" and answer == "healthy"
        again = f", started again {part['restarts']} times, it last {part['ended']}" if part["ended"] else ""
        print(f"  {name:13} {part['state']} since {part['since']}, {answer}{again}")
    return 0 if whole else 1


def run(layout: Layout) -> int:
    """Start Airflow in the foreground and watch it until a signal or a failure."""

    def say(line: str) -> None:
        # A full disk takes the log, not the parts.
        with contextlib.suppress(OSError):
            print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {line}", flush=True)

    with stop_on_signals(), LocalAirflow(layout, echo=say) as airflow:
        say(f"Airflow is running at {layout.url}")
        while True:
            airflow.tend()
            time.sleep(1.0)


def port_number(text: str) -> int:
    """A port that a server may ask for.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 65535")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="airflow_local", description="A complete Airflow on this machine.")
    parser.add_argument("action", choices=["up", "down", "status", "run"])
    parser.add_argument(
        "--port", type=port_number, default=8080, help="loopback port; another free one where it is taken"
    )
    chosen = parser.parse_args(arguments)
    layout = replace(layout_from_environment(), port=chosen.port)
    actions = {"up": up, "down": down, "status": status, "run": run}
    try:
        return actions[chosen.action](layout)
    except (AirflowFailed, AirflowApiError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(refusal(error), file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main())
