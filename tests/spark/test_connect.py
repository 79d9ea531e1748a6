"""Every kind of query on a Spark Connect server, by configuration alone: the answers of this process.

The server does not import this library: what its workers need is shipped to them.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyarrow import orc

from scripts.airflow_layout import free_port
from streambound.errors import PlatformError
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.local import LocalExecutor
from streambound.query.catalog import load_catalog
from streambound.query.registry import RegisteredQuery
from streambound.spark.session import session

pytestmark = pytest.mark.spark

COMMANDS = """
import sys
from spark_apps.evaluate_history import main as evaluate
from streambound.cli import main
done = evaluate(["--summary", sys.argv[1]])
print("exit codes", done, "and", main(["run", "counts", "--live", "--available-now"]))
"""

STREAM = "timestamp: ts, columns: {A: int, B: int, ts: int}"
CATALOG = f"""
streams:
  S: {{{STREAM}, history: {{path: S, partition_by: part}}}}
  T: {{{STREAM}, history: {{path: T, partition_by: part}}}}
  O: {{{STREAM}, history: {{path: O, partition_by: part, format: orc}}}}
"""
QUERIES = {
    "stateless": "SELECT A, B FROM S WHERE A > 3",
    "counts": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5",
    "segments": "SELECT S.A, T.A AS B FROM S, T WHERE S.ts > T.ts AND S.A > T.A AND T.A BETWEEN 1 AND 4",
    "stepped": "SELECT DISTINCT S.A FROM S, T WHERE S.ts > T.ts + 5 AND S.A BETWEEN 1 AND 3 AND T.A = 2",
    "united": "SELECT S.A FROM S WHERE S.A BETWEEN 6 AND 7"
    " UNION SELECT T.A FROM T, S WHERE S.ts < T.ts AND T.A IN (1, 2) AND S.A = 1",
    "cached": "-- cache size: 4\nSELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts",
}
BY_SPARK = {
    name: sql.replace("FROM S, T", "FROM S, O T").replace("FROM T, S", "FROM O T, S")
    for name, sql in QUERIES.items()
    if name in ("counts", "segments")
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry, and two partitions of each stream; O has T's rows."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "registry" / "queries").mkdir(parents=True)
    (folder / "registry" / "streams.yml").write_text(CATALOG)
    every = QUERIES | {f"{name} by Spark": sql for name, sql in BY_SPARK.items()}
    for name, sql in every.items():
        (folder / "registry" / "queries" / f"{name}.sql").write_text(sql)
    for stream in "STO":
        for part in range(2):
            chance = random.Random(f"{stream.replace('O', 'T')} {part}")
            found = [(chance.randrange(8), chance.randrange(8), 40 * part + n) for n in range(40)]
            rows = pa.table([pa.array(column) for column in zip(*found, strict=True)], names=["A", "B", "ts"])
            target = folder / "streams" / stream / f"part={part}"
            target.mkdir(parents=True)
            write, suffix = (orc.write_table, "orc") if stream == "O" else (pq.write_table, "parquet")
            write(rows, target / f"data.{suffix}")
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    """The address of a Spark Connect server with two cores, which has never heard of this library."""
    port = free_port()
    spark = Path(pyspark.__file__).parent
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
    }
    command = [str(spark / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYTHONPATH", None)
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    with (home / "server.log").open("wb") as log:
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=home)
    try:
        _wait(port, running, home / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(60)


def _wait(port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end and running.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the server does not answer: {log.read_text()[-2000:]}")


def run(home: Path, server: str) -> subprocess.CompletedProcess[str]:
    """All queries in one application, and then one of them live, in a process of its own."""
    places = {
        "STREAMBOUND_HOME": str(home),
        "STREAMBOUND_REGISTRY": str(home / "registry"),
        "STREAMBOUND_SPARK_MASTER": server,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # A server's client needs no Java.
        "JAVA_HOME": str(home / "no Java"),
    }
    command = [sys.executable, "-c", COMMANDS, str(home / "summary.json")]
    return subprocess.run(command, env={**os.environ, **places}, capture_output=True, text=True, timeout=600)


def expected(home: Path) -> dict[str, Any]:
    """What this process answers to the queries over S and T, by name."""
    catalog = load_catalog(home / "registry" / "streams.yml")
    queries = [RegisteredQuery(name, sql, Path()) for name, sql in QUERIES.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(home))
        memory = {"cached": Memory(4)}
        found = evaluate_history(LocalExecutor(1), queries, catalog, output=home / "here", memory=memory)  # type: ignore[arg-type]
    return {answer.query: answer.to_json() for answer in found}


def test_every_kind_of_query(home: Path, server: str) -> None:
    done = run(home, server)
    assert done.stdout.splitlines()[-1] == "exit codes 0 and 3", done.stderr
    answers = {a["query"]: a for a in json.loads((home / "summary.json").read_text())["answers"]}
    here = expected(home)
    assert len(answers) == len(QUERIES) + len(BY_SPARK)
    for name, answer in answers.items():
        alike = here[name.removesuffix(" by Spark")]
        assert answer["error"] is None and int(answer["answer_count"]) > 0, name
        for field in ("digest", "answer_rows", "answer_count", "units", "peak_units", "rows"):
            assert answer[field] == alike[field], (name, field)
    assert answers["cached"]["memory"]["results"] == here["cached"]["memory"]["results"] > 0
    # The live one.
    assert "a live query needs a classic Spark session, and this one is on Spark Connect" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ["sc://127.0.0.1:1/;token=secret", "sc://127.0.0.1:port"])
def test_no_server(address: str) -> None:
    with pytest.raises(PlatformError) as caught:
        session("none", master=address).__enter__()
    told = str(caught.value)
    assert f"no session on the Spark Connect server {address.split(';')[0]}" in told and "secret" not in told
