"""A Spark cluster of one's own on this machine: master, workers and history server from the pip package.

All of them listen on the loopback interface only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from scripts.airflow_layout import free_port
from scripts.sessions import die_with_parent, end_of, end_sessions, sessions_below
from streambound.spark.session import JAVA_OPTIONS, java_options

LOOPBACK = "127.0.0.1"


class SparkFailed(Exception):
    """A part of the cluster ended by itself or did not answer."""


@dataclass(frozen=True)
class Size:
    """How many workers, and what each of them offers to executors."""

    workers: int = 2
    cores: int = 1
    memory: str = "1g"


class LocalSpark:
    """A master, its workers and a history server; a context manager starts and stops them.

    Args:
        folder: for logs, the workers' folders and the event logs.
        size: of the cluster.
        echo: receives one line a step.

    Raises:
        SparkFailed: on entering, when a part of it does not answer.
    """

    def __init__(
        self, folder: Path, size: Size = Size(), echo: Callable[[str], None] = lambda line: None
    ) -> None:
        self.folder = folder
        self.size = size
        self.master = ""
        self.pages: dict[str, str] = {}
        self._echo = echo
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> LocalSpark:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def event_logs(self) -> Path:
        """The folder that applications write to and the history server reads."""
        return self.folder / "events"

    @property
    def configuration(self) -> Path:
        """For SPARK_CONF_DIR: an application that has it runs on this cluster, and logs its events."""
        return self.folder / "conf"

    @property
    def java_options(self) -> str:
        """The options of Java for all parts, and for executors: none is there for long."""
        return os.environ.get(JAVA_OPTIONS) or java_options()

    def start(self, timeout: float = 300.0) -> None:
        """Start all parts, and return when the workers have registered."""
        for folder in (self.event_logs, self.configuration, self.folder / "logs"):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            port = free_port()
            self.master = f"spark://{LOOPBACK}:{port}"
            self._configure()
            self._echo(f"starting a Spark master and {self.size.workers} workers at {self.master}")
            self._spawn("master", "master.Master", ["--host", LOOPBACK, "--port", str(port)])
            for number in range(self.size.workers):
                self._start_worker(f"worker-{number + 1}")
            self._spawn("history", "history.HistoryServer", [])
            self._wait(timeout)
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise SparkFailed if a part has ended by itself."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise SparkFailed(f"Spark's {name} ended with {process.returncode}\n{self.log(name)}")

    def stop(self) -> None:
        """End all parts and what they started, executors included."""
        processes = list(self._processes.values())
        end_sessions(sessions_below({process.pid for process in processes}))
        self._processes.clear()

    def workers(self) -> int:
        """How many workers the master knows to be alive."""
        found = json.loads(self._page("master", "json/"))
        return sum(worker["state"] == "ALIVE" for worker in found["workers"])

    def applications(self) -> list[str]:
        """The names of the applications that the history server shows."""
        found = json.loads(self._page("history", "api/v1/applications"))
        return [str(one["name"]) for one in found]

    def log(self, name: str, lines: int = 20) -> str:
        """The end of one part's log."""
        return end_of(self.folder / "logs" / f"{name}.log", lines)

    def _start_worker(self, name: str) -> None:
        size = ["--cores", str(self.size.cores), "--memory", self.size.memory]
        where = ["--host", LOOPBACK, "--work-dir", str(self.folder / name), self.master]
        self._spawn(name, "worker.Worker", [*size, *where])

    def _configure(self) -> None:
        settings = {
            "spark.master": self.master,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.event_logs.as_uri(),
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.ui.enabled": "false",
            "spark.executor.memory": "768m",
            "spark.executor.defaultJavaOptions": self.java_options,
        }
        lines = [f"{name} {value}" for name, value in settings.items()]
        (self.configuration / "spark-defaults.conf").write_text("\n".join(lines) + "\n")

    def _spawn(self, name: str, part: str, arguments: list[str]) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        port = free_port()
        self.pages[name] = f"http://{LOOPBACK}:{port}"
        web = [] if name == "history" else ["--webui-port", str(port)]
        with open(self.folder / "logs" / f"{name}.log", "wb") as log:
            self._processes[name] = subprocess.Popen(
                [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{part}", *web, *arguments],
                env=self._environment(home, name, port),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def _environment(self, home: Path, name: str, port: int) -> Mapping[str, str]:
        # Executors inherit this: no settings of Airflow, and no folder of modules that only the driver has.
        hidden = ("PYTHONPATH", "SPARK_CONF_DIR", "SPARK_MASTER_HOST")
        inherited = {
            key: value
            for key, value in os.environ.items()
            if key not in hidden and not key.startswith(("AIRFLOW", "STREAMBOUND_"))
        }
        history = [
            f"-Dspark.history.fs.logDirectory={self.event_logs.as_uri()}",
            f"-Dspark.history.ui.port={port}",
            "-Dspark.history.fs.update.interval=2s",
        ]
        return {
            **inherited,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_HOSTNAME": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": self.java_options,
            "SPARK_HISTORY_OPTS": " ".join(history) if name == "history" else "",
            "PYSPARK_PYTHON": sys.executable,
        }

    def _page(self, name: str, path: str = "") -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.pages[name]}/{path}", timeout=10) as response:
            return str(response.read().decode())

    def _answers(self) -> bool:
        try:
            return self.workers() == self.size.workers and self._page("history") != ""
        except (urllib.error.URLError, OSError):
            return False

    def _wait(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self._answers():
            self.check()
            if time.monotonic() > deadline:
                raise SparkFailed(
                    f"Spark's cluster did not start within {timeout:.0f} s\n{self.log('master')}"
                )
            time.sleep(0.3)
