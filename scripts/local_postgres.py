"""A PostgreSQL server of one's own, from Debian's package: its own data folder, port and password.

PostgreSQL refuses to run as root; when that is who starts it, server and data belong to the user whom the
package created. It listens on the loopback interface only, and its superuser has a generated password.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from scripts.airflow_layout import free_port
from scripts.sessions import die_with_parent, end_of

ROLE = "postgres"
SERVICE_USER = "postgres"
DEBIAN = Path("/usr/lib/postgresql")
INSTALL = "sudo apt-get update && sudo apt-get install postgresql"


class PostgresFailed(Exception):
    """PostgreSQL is not installed, cannot use its folder, or did not start."""


@dataclass(frozen=True)
class Programs:
    """PostgreSQL's own programs."""

    initdb: Path
    server: Path
    ready: Path
    shell: Path


def find_programs() -> Programs:
    """The programs on the PATH, else the newest of Debian's.

    Raises:
        PostgresFailed: there are none; says how to install them.
    """
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(DEBIAN.glob("[0-9]*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)
    for folder in folders:
        found = Programs(*(folder / name for name in ("initdb", "postgres", "pg_isready", "psql")))
        if all(path.exists() for path in vars(found).values()):
            return found
    raise PostgresFailed(f"PostgreSQL's server is not installed; install it and try again:\n  {INSTALL}")


class LocalPostgres:
    """A server on a data folder, which is made where there is none; a context manager starts and stops it.

    Args:
        folder: for the data, the password and the log. With root, its parents must let user postgres pass.
        lasting: whether the data is to survive a power cut; tests have no need of that.
        echo: receives one line a step.

    Raises:
        PostgresFailed: on entering, when it is not installed or does not start.
    """

    def __init__(
        self, folder: Path, *, lasting: bool = True, echo: Callable[[str], None] = lambda line: None
    ) -> None:
        self.folder = folder
        self.port = 0
        self._lasting = lasting
        self._echo = echo
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LocalPostgres:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def password(self) -> str:
        """The superuser's, kept beside the data."""
        return self._password_file.read_text().strip()

    def url(self, database: str, user: str = ROLE, password: str = "") -> str:
        """SQLAlchemy's address of a database, of the superuser where no other is named."""
        word = password or self.password
        return f"postgresql+psycopg2://{user}:{word}@127.0.0.1:{self.port}/{database}"

    def start(self, timeout: float = 180.0) -> None:
        """Make the data folder if needed, start the server, and return when it takes connections."""
        programs = find_programs()
        try:
            if not self._data.exists():
                self._echo(f"making a PostgreSQL data folder in {self.folder}")
                self._initialise(programs)
            self.port = free_port()
            self._echo(f"starting PostgreSQL at 127.0.0.1:{self.port}")
            self._process = self._serve(programs)
            self._wait(programs, timeout)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; what is connected is cut off."""
        if self._process is None:
            return
        for number, grace in ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
                break
        self._process = None

    def create_databases(self, *names: str) -> None:
        """Create those that do not exist."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        engine = create_engine(self.url("postgres"), poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            known = {row[0] for row in connection.exec_driver_sql("SELECT datname FROM pg_database")}
            for name in names:
                if name not in known:
                    connection.exec_driver_sql(f'CREATE DATABASE "{name}"')

    def run(self, script: Path, **variables: str) -> None:
        """Run a file of SQL by psql as the superuser, who finds these variables in the environment.

        Raises:
            PostgresFailed: a statement failed.
        """
        connection = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": ROLE,
            "PGDATABASE": "postgres",
        }
        done = subprocess.run(
            [str(find_programs().shell), "--no-psqlrc", "--quiet", "--file", str(script)],
            env={**os.environ, **connection, "PGPASSWORD": self.password, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise PostgresFailed(f"{script} failed\n{done.stderr.strip()}")

    def log(self, lines: int = 20) -> str:
        """The end of the server's log."""
        return end_of(self.folder / "server.log", lines)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _password_file(self) -> Path:
        return self.folder / "password"

    def _initialise(self, programs: Programs) -> None:
        # Made beside and renamed: one that was cut short is not taken for a data folder.
        part = self.folder / "data.part"
        shutil.rmtree(part, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._password_file.unlink(missing_ok=True)
        with open(os.open(self._password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_hex(24) + "\n")
        for path in (self.folder, self._password_file):
            self._give(path)
        self._must_be_reachable()
        command = [str(programs.initdb), "--pgdata", str(part), "--username", ROLE]
        command += ["--pwfile", str(self._password_file), "--auth", "scram-sha-256"]
        command += ["--encoding", "UTF8", "--locale", "C.UTF-8", *([] if self._lasting else ["--no-sync"])]
        made = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, **self._as_user()
        )
        if made.returncode != 0:
            shutil.rmtree(part, ignore_errors=True)
            raise PostgresFailed(f"initdb failed in {self.folder}\n{made.stderr.strip()}")
        part.rename(self._data)

    def _serve(self, programs: Programs) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "timezone": "UTC",
            "fsync": "on" if self._lasting else "off",
            "max_connections": "120",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "server.log", "wb") as log:
            return subprocess.Popen(
                [str(programs.server), "-D", str(self._data), *options],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
                **self._as_user(),
            )

    def _wait(self, programs: Programs, timeout: float) -> None:
        assert self._process is not None
        deadline = time.monotonic() + timeout
        command = [str(programs.ready), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-d", "postgres"]
        while subprocess.run(command, check=False).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise PostgresFailed(f"PostgreSQL did not start in {self.folder}\n{self.log()}")
            time.sleep(0.1)

    def _as_user(self) -> dict[str, Any]:
        """Arguments of Popen that make the process another user's, where we are root."""
        if os.geteuid() != 0:
            return {}
        account = _account()
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def _give(self, path: Path) -> None:
        if os.geteuid() == 0:
            account = _account()
            os.chown(path, account.pw_uid, account.pw_gid)

    def _must_be_reachable(self) -> None:
        probe = subprocess.run(["test", "-w", str(self.folder)], check=False, cwd="/", **self._as_user())
        if probe.returncode != 0:
            raise PostgresFailed(
                f"PostgreSQL refuses to run as root, and user {SERVICE_USER} may not enter {self.folder}; "
                "name a folder that it may, with STREAMBOUND_HOME, or do not run this as root"
            )


def _account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SERVICE_USER)
    except KeyError:
        raise PostgresFailed(
            f"PostgreSQL refuses to run as root, and there is no user {SERVICE_USER}; "
            f"install Debian's package, or run this as another user:\n  {INSTALL}"
        ) from None
