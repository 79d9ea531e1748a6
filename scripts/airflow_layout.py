"""Folders, secrets and environment of the local Airflow.

Secrets are generated once and kept in AIRFLOW_HOME, readable by their owner only.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
# The first and the last port that Linux gives to connections and to servers that name none.
SYSTEMS_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST_PORT = 20_000
# Airflow's database and its first logs.
ROOM = 50_000_000
OTHERS = 0o077
USERS = ("admin", "viewer")
SECRETS = "secrets.json"
LOCK = "supervisor.lock"
AIRFLOWS_OWN = ("airflow.cfg", "airflow.db", LOCK)
# A server that was given one may not have taken it yet.
_GIVEN: set[int] = set()


class AirflowFailed(Exception):
    """A process of Airflow ended by itself or did not become healthy."""


@dataclass(frozen=True)
class Layout:
    """Where one local Airflow keeps its things, and the loopback port that it answers on.

    ``settings`` are environment variables of its processes that differ from what is said here.
    """

    airflow_home: Path = PROJECT / "var" / "airflow"
    home: Path = PROJECT / "var"
    registry: Path = PROJECT / "include" / "registry"
    dags: Path = PROJECT / "dags"
    plugins: Path = PROJECT / "plugins"
    port: int = 8080
    settings: Mapping[str, str] = field(default_factory=dict)

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

    @property
    def lock_file(self) -> Path:
        return self.airflow_home / LOCK


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
    """``preferred`` where nobody listens on it, else one that nobody is given meanwhile."""
    for port in (preferred, *_offered(), 0):
        if port is None or (port in _GIVEN and port != preferred):
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found = int(probe.getsockname()[1])
        _GIVEN.add(found)
        return found
    raise AirflowFailed("no free port on 127.0.0.1")


def _offered() -> Sequence[int]:
    """Ports that the system gives to no connection, which could come before a server that starts slowly.

    Processes that ask at once begin a hundred apart.
    """
    try:
        first, last = map(int, SYSTEMS_PORTS.read_text().split())
    except (OSError, ValueError):
        return ()
    below, above = range(LOWEST_PORT, first), range(last + 1, 65_536)
    ports = max(below, above, key=len)
    begin = os.getpid() * 100 % max(len(ports), 1)
    return [*ports[begin:], *ports[:begin]]


def prepare(layout: Layout) -> None:
    """Make the folders, AIRFLOW_HOME closed to others; see that there is room, and secrets that can be read.

    Raises:
        AirflowFailed: the disk is full, AIRFLOW_HOME is shared with others, or its secrets are damaged.
    """
    try:
        layout.airflow_home.mkdir(parents=True, exist_ok=True, mode=0o700)
        _keep_from_others(layout.airflow_home)
        for folder in (layout.logs, layout.home, layout.dags, layout.plugins):
            folder.mkdir(parents=True, exist_ok=True)
        lack = lack_of_room(layout)
        if lack is not None:
            raise AirflowFailed(lack)
        generated_secrets(layout)
    except OSError as error:
        raise AirflowFailed(refusal(error)) from None


def lack_of_room(layout: Layout) -> str | None:
    """Which disk has too little room for an Airflow, and what to do; None where there is enough."""
    for folder, name in ((layout.airflow_home, "AIRFLOW_HOME"), (layout.home, "STREAMBOUND_HOME")):
        free = shutil.disk_usage(folder).free
        if free < ROOM:
            return (
                f"the disk of {folder} is full: {free / 1e6:.1f} MB are free, and Airflow needs "
                f"{ROOM / 1e6:.0f} MB; free some space, or name a folder on another disk with {name}"
            )
    return None


def refusal(error: OSError) -> str:
    """What the system refused, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """What the system refuses while a file is written names the file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _keep_from_others(folder: Path) -> None:
    # Airflow keeps its database and its logs here, in files that are open to all by themselves.
    if not folder.stat().st_mode & OTHERS:
        return
    if any(folder.iterdir()) and not any((folder / name).exists() for name in (*AIRFLOWS_OWN, SECRETS)):
        raise AirflowFailed(
            f"AIRFLOW_HOME {folder} holds other things than an Airflow, and others than its owner may enter "
            f"it; name a folder of its own, or close it: chmod 700 {folder}"
        )
    folder.chmod(0o700)


def generated_secrets(layout: Layout) -> dict[str, str]:
    """The secrets of this Airflow; made on the first call, then the same ones, readable by their owner only.

    Raises:
        AirflowFailed: the file of secrets is damaged.
    """
    layout.airflow_home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = layout.airflow_home / SECRETS
    if not path.exists():
        passwords = {name: secrets.token_urlsafe(15) for name in USERS}
        write_private(
            path,
            {
                "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "jwt_secret": secrets.token_urlsafe(64),
                "api_secret_key": secrets.token_urlsafe(48),
                **{f"{name}_password": word for name, word in passwords.items()},
            },
        )
    kept = read_private(path)
    names = ("fernet_key", "jwt_secret", "api_secret_key", *(f"{name}_password" for name in USERS))
    if not all(isinstance(kept.get(name), str) and kept[name] for name in names):
        raise AirflowFailed(
            f"{path} is damaged: it does not hold all of {', '.join(names)}; put it back from a backup, or "
            "move it away: new ones are made then, and connections that were saved in Airflow are lost"
        )
    passwords = {name: kept[f"{name}_password"] for name in USERS}
    if read_private(layout.passwords_file) != passwords:
        write_private(layout.passwords_file, passwords)
    return kept


def environment(layout: Layout) -> dict[str, str]:
    """The environment of every process of this Airflow, its tasks and their Spark drivers included."""
    import pyspark

    kept = generated_secrets(layout)
    # Settings of another Airflow, its database above all, must not leak into this one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW__")}
    database = env.get("STREAMBOUND_DATABASE_URL") or f"sqlite:///{layout.home / 'results.db'}"
    # Four processes and their tasks write: on a busy machine SQLite's own five seconds are soon over.
    metadata = f"sqlite:///{layout.airflow_home / 'airflow.db'}"
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
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"{metadata}?timeout=60",
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
            # By default five seconds: on a busy machine a task's start is not heard, five times in a row, and
            # the task is tried again a minute later.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
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
            **layout.settings,
        }
    )
    env["no_proxy"] = env["NO_PROXY"]
    return env


def read_private(path: Path) -> dict[str, Any]:
    """The JSON object in a file, which is closed to others first; empty where it is missing or damaged."""
    try:
        with open(path) as opened:
            if os.fstat(opened.fileno()).st_mode & OTHERS:
                os.fchmod(opened.fileno(), 0o600)
                print(f"{path} was open to others and is closed now; they may have read it", file=sys.stderr)
            found = json.load(opened)
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_private(path: Path, value: Mapping[str, object]) -> None:
    """Put a JSON object into a file that its owner alone can read; whole, or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with named(path), open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump(value, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
