"""A complete Airflow on one machine: started, watched and stopped as one thing.

``airflow standalone`` leaves children behind when it is terminated and its log servers listen on
every interface. This supervisor starts the same processes on the loopback interface only, and
stops each of them with everything that it started.

    python -m scripts.airflow_local up|down|status|run
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType, TracebackType

from scripts.airflow_layout import (
    PROJECT,
    AirflowFailed,
    Layout,
    environment,
    free_port,
    generated_secrets,
    layout_from_environment,
    write_private,
)
from scripts.airflow_rest import AirflowApiError, AirflowClient
from scripts.sessions import command_line, die_with_parent, end_of, end_sessions, sessions_below

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
HEALTHY = ("metadatabase", "scheduler", "dag_processor", "triggerer")


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
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock: int | None = None

    def __enter__(self) -> LocalAirflow:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def client(self, username: str = "admin") -> AirflowClient:
        """A client that logs in as ``admin`` or ``viewer``."""
        return client(self.layout, username)

    def start(self, timeout: float = 300.0) -> None:
        """Migrate the database, start every process and return when all report to be healthy."""
        layout = self.layout
        try:
            self._take_lock()
            self._end_leftovers()
            layout.logs.mkdir(parents=True, exist_ok=True)
            for folder in (layout.home, layout.dags, layout.plugins):
                folder.mkdir(parents=True, exist_ok=True)
            env = environment(layout)
            self._echo("migrating Airflow's database")
            self._spawn("migrate", ["db", "migrate"], env)
            if self._processes.pop("migrate").wait(timeout) != 0:
                raise AirflowFailed(f"the database migration failed\n{self.process_log('migrate')}")
            self._echo(f"starting Airflow at {layout.url}")
            for name, arguments in COMPONENTS.items():
                self._spawn(name, arguments, env)
            self._write_state(ready=False)
            self._wait_until_healthy(timeout)
            self.client().ensure_pool(*SPARK_POOL)
            self._write_state(ready=True)
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise AirflowFailed if a process has ended by itself."""
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None:
                raise AirflowFailed(f"{name} ended with {code}\n{self.process_log(name)}")

    def stop(self, grace: float = 8.0) -> None:
        """End every process and all that these started: first politely, after ``grace`` seconds by force."""
        sessions = sessions_below({process.pid for process in self._processes.values()})
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + grace
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        end_sessions(sessions, reap=list(self._processes.values()))
        self._processes.clear()
        if self._lock is not None:
            self.layout.state_file.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def process_log(self, name: str, lines: int = 40) -> str:
        """The end of the log of one process."""
        path = self.layout.logs / f"{name}.log"
        return f"--- end of {path} ---\n{end_of(path, lines)}"

    def _take_lock(self) -> None:
        # The lock goes with the process that holds it, so a killed supervisor leaves no stale one.
        self.layout.airflow_home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.layout.airflow_home / "supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise AirflowFailed(
                f"an Airflow is already running in {self.layout.airflow_home}; stop it with 'make down'"
            ) from None
        self._lock = lock

    def _write_state(self, ready: bool) -> None:
        sessions = [process.pid for process in self._processes.values()]
        state = {"pid": os.getpid(), "port": self.layout.port, "ready": ready, "sessions": sessions}
        write_private(self.layout.state_file, state)

    def _end_leftovers(self) -> None:
        # A supervisor that was killed by force leaves its scheduler waiting for the running tasks.
        if self.layout.state_file.exists():
            state = json.loads(self.layout.state_file.read_text())
            ours = {pid for pid in state.get("sessions", []) if b"airflow" in command_line(pid)}
            end_sessions(sessions_below(ours))
            self.layout.state_file.unlink()

    def _spawn(self, name: str, arguments: list[str], env: dict[str, str]) -> None:
        with open(self.layout.logs / f"{name}.log", "wb") as log:
            self._processes[name] = subprocess.Popen(
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
            if all(health.get(part) == "healthy" for part in HEALTHY):
                return
            if time.monotonic() > deadline:
                logs = "\n".join(self.process_log(name, 15) for name in self._processes)
                raise AirflowFailed(f"Airflow is not healthy after {timeout:.0f} s: {health}\n{logs}")
            time.sleep(0.3)


def client(layout: Layout, username: str = "admin") -> AirflowClient:
    """A client of the Airflow of this layout, running or not."""
    return AirflowClient(layout.url, username, generated_secrets(layout)[f"{username}_password"])


def running(layout: Layout) -> Layout | None:
    """The layout, with its real port, of an Airflow that now runs in the same AIRFLOW_HOME."""
    lock_file = layout.airflow_home / "supervisor.lock"
    if not lock_file.exists() or not layout.state_file.exists():
        return None
    with open(lock_file) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            state = json.loads(layout.state_file.read_text())
            return replace(layout, port=int(state["port"])) if state["ready"] else None
    return None


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
    """Where to look and how to log in."""
    return (
        f"Airflow is running at {layout.url}\n"
        f"  user      admin (or viewer, who may only look)\n"
        f"  password  {generated_secrets(layout)['admin_password']}\n"
        f"  passwords are kept in {layout.passwords_file}\n"
        f"  stop it with: make down"
    )


def up(layout: Layout) -> int:
    """Start a supervisor in the background and return when Airflow is healthy."""
    already = running(layout)
    if already is not None:
        print(describe(already))
        return 0
    layout.airflow_home.mkdir(parents=True, exist_ok=True, mode=0o700)
    layout = replace(layout, port=free_port(layout.port))
    log = layout.airflow_home / "supervisor.log"
    print(f"starting Airflow, about half a minute (log: {log})", flush=True)
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "scripts.airflow_local", "run", "--port", str(layout.port)],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    while running(layout) is None:
        if process.poll() is not None:
            print(log.read_text(errors="replace"), file=sys.stderr)
            return 3
        time.sleep(0.3)
    print(describe(layout))
    return 0


def down(layout: Layout, timeout: float = 60.0) -> int:
    """Ask a running supervisor to stop and wait until it has."""
    if running(layout) is None:
        print("Airflow is not running")
        return 0
    os.kill(int(json.loads(layout.state_file.read_text())["pid"]), signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while running(layout) is not None:
        if time.monotonic() > deadline:
            print(f"Airflow did not stop within {timeout:.0f} s", file=sys.stderr)
            return 3
        time.sleep(0.2)
    print("Airflow has stopped")
    return 0


def run(layout: Layout) -> int:
    """Start Airflow in the foreground and watch it until a signal or a failure."""
    try:
        with stop_on_signals(), LocalAirflow(layout, echo=lambda line: print(line, flush=True)) as airflow:
            print(describe(layout), flush=True)
            while True:
                airflow.check()
                time.sleep(1.0)
    except (AirflowFailed, AirflowApiError) as error:
        print(error, file=sys.stderr)
        return 3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="airflow_local", description="A complete Airflow on this machine.")
    parser.add_argument("action", choices=["up", "down", "status", "run"])
    parser.add_argument(
        "--port", type=int, default=8080, help="loopback port; another free one where it is taken"
    )
    chosen = parser.parse_args(arguments)
    layout = replace(layout_from_environment(), port=chosen.port)
    if chosen.action == "up":
        return up(layout)
    if chosen.action == "down":
        return down(layout)
    if chosen.action == "run":
        return run(layout)
    found = running(layout)
    print(describe(found) if found else "Airflow is not running")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
