"""A complete Airflow on one machine: started, watched and stopped as one thing.

``airflow standalone`` leaves children behind when it is terminated and its log servers listen on
every interface. This supervisor starts the same processes on the loopback interface only, and
stops each of them with everything that it started.

    python -m scripts.airflow_local up|down|status|run

Secrets are generated once and kept in AIRFLOW_HOME, readable by their owner only.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import ctypes
import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType

from scripts.airflow_rest import AirflowApiError, AirflowClient

PROJECT = Path(__file__).resolve().parents[1]
SPARK_POOL = ("spark", 1, "One Spark application at a time on this machine")

COMPONENTS = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
HEALTHY = ("metadatabase", "scheduler", "dag_processor", "triggerer")


@dataclass(frozen=True)
class Layout:
    """Where one local Airflow keeps its things, and the loopback port that it answers on."""

    airflow_home: Path = PROJECT / "var" / "airflow"
    home: Path = PROJECT / "var"
    registry: Path = PROJECT / "include" / "registry"
    dags: Path = PROJECT / "dags"
    plugins: Path = PROJECT / "plugins"
    port: int = 8080

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def logs(self) -> Path:
        """Folder of the processes' own logs; task logs are in ``logs`` beside it."""
        return self.airflow_home / "processes"

    @property
    def passwords_file(self) -> Path:
        return self.airflow_home / "passwords.json"

    @property
    def state_file(self) -> Path:
        return self.airflow_home / "supervisor.json"


class AirflowFailed(Exception):
    """A process of Airflow ended by itself or did not become healthy."""


def layout_from_environment() -> Layout:
    """The defaults, moved by AIRFLOW_HOME, STREAMBOUND_HOME and STREAMBOUND_REGISTRY where these are set."""
    layout = Layout()
    home = Path(os.environ.get("STREAMBOUND_HOME") or layout.home).resolve()
    return replace(
        layout,
        home=home,
        airflow_home=Path(os.environ.get("AIRFLOW_HOME") or home / "airflow").resolve(),
        registry=Path(os.environ.get("STREAMBOUND_REGISTRY") or layout.registry).resolve(),
    )


def free_port(preferred: int | None = None) -> int:
    """``preferred`` where nobody listens on it, else a port that the system picks."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise AirflowFailed("no free port on 127.0.0.1")


def generated_secrets(layout: Layout) -> dict[str, str]:
    """The secrets of this Airflow; made on the first call, then the same ones."""
    layout.airflow_home.mkdir(parents=True, exist_ok=True)
    path = layout.airflow_home / "secrets.json"
    if not path.exists():
        passwords = {name: secrets.token_urlsafe(15) for name in ("admin", "viewer")}
        _write_private(
            path,
            {
                "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "jwt_secret": secrets.token_urlsafe(64),
                "api_secret_key": secrets.token_urlsafe(48),
                **{f"{name}_password": word for name, word in passwords.items()},
            },
        )
    kept: dict[str, str] = json.loads(path.read_text())
    _write_private(layout.passwords_file, {name: kept[f"{name}_password"] for name in ("admin", "viewer")})
    return kept


def environment(layout: Layout) -> dict[str, str]:
    """The environment of every process of this Airflow, its tasks and their Spark drivers included."""
    import pyspark

    kept = generated_secrets(layout)
    # Settings of another Airflow, its database above all, must not leak into this one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW__")}
    database = env.get("STREAMBOUND_DATABASE_URL") or f"sqlite:///{layout.home / 'results.db'}"
    connections = {
        "AIRFLOW_CONN_SPARK_DEFAULT": {
            "conn_type": "spark",
            "host": "local[2]",
            "extra": {"deploy-mode": "client"},
        },
        "AIRFLOW_CONN_STREAMBOUND_DB": {"conn_type": "generic", "extra": {"url": database}},
    }
    for name, connection in connections.items():
        env.setdefault(name, json.dumps(connection))
    env.update(
        {
            "AIRFLOW_HOME": str(layout.airflow_home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{layout.airflow_home / 'airflow.db'}",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__DAGS_FOLDER": str(layout.dags),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(layout.plugins),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "3",
            "AIRFLOW__CORE__FERNET_KEY": kept["fernet_key"],
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,viewer:viewer",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(layout.passwords_file),
            # Tasks call the API by this address; with the port alone they would call 8080.
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{layout.url}/execution/",
            "AIRFLOW__API__BASE_URL": layout.url,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(layout.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": kept["api_secret_key"],
            "AIRFLOW__API_AUTH__JWT_SECRET": kept["jwt_secret"],
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
            "GX_ANALYTICS_ENABLED": "false",
            "NO_PROXY": ",".join(filter(None, [env.get("NO_PROXY"), "127.0.0.1", "localhost"])),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)]),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            # Another Spark of the user's would be picked up by spark-submit otherwise.
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "STREAMBOUND_HOME": str(layout.home),
            "STREAMBOUND_REGISTRY": str(layout.registry),
            "STREAMBOUND_DATABASE_URL": database,
        }
    )
    env["no_proxy"] = env["NO_PROXY"]
    return env


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

    def start(self, timeout: float = 120.0) -> None:
        """Migrate the database, start every process and return when all report to be healthy."""
        layout = self.layout
        try:
            self._take_lock()
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
            self._wait_until_healthy(timeout)
            self.client().ensure_pool(*SPARK_POOL)
            _write_private(layout.state_file, {"pid": os.getpid(), "port": layout.port, "url": layout.url})
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
        sessions = {process.pid for process in self._processes.values()}
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + grace
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        # A task moves to a process group of its own, but stays in the session of its component.
        for number, pause in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + pause
            for pid in _members(sessions):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            while _members(sessions) and time.monotonic() < deadline:
                for process in self._processes.values():
                    process.poll()
                time.sleep(0.1)
        self._processes.clear()
        if self._lock is not None:
            self.layout.state_file.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def process_log(self, name: str, lines: int = 40) -> str:
        """The end of the log of one process."""
        path = self.layout.logs / f"{name}.log"
        text = path.read_text(errors="replace") if path.exists() else ""
        return f"--- end of {path} ---\n" + "\n".join(text.splitlines()[-lines:])

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
                preexec_fn=_die_with_parent,
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
            return replace(layout, port=int(json.loads(layout.state_file.read_text())["port"]))
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


def _write_private(path: Path, value: dict[str, object] | dict[str, str]) -> None:
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(value, out, indent=1)
    part.replace(path)


def _die_with_parent() -> None:
    # So that even a supervisor that was killed by force leaves no component behind.
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGTERM)


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _members(sessions: set[int]) -> list[int]:
    """Living processes of these sessions."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z" and int(fields[3]) in sessions:
                found.append(int(entry.name))
    return found


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
