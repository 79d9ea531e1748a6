"""The state of queries on Flink as streams grow: one running job a query, in an environment that has Flink.

Reads one JSON object: ``folder`` (a folder a stream, with a file a step), ``tables`` (by name ``columns``
and the ``time`` of a watermark), ``steps`` (rows of a stream after each), ``limit`` (seconds a step) and
``queries`` (by name). Prints for each query a line: the bytes of a full checkpoint and the seconds of each
step, or an error. Files of a step are linked into the folder that the job follows. It imports nothing of this
project.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

FILE = "{step:04}.json"


def asked(port: int, path: str, body: Any = None) -> Any:
    """What the job manager's REST interface says."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"http://localhost:{port}{path}", data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=30) as reply:
        return json.load(reply)


def free() -> int:
    """A port that nobody uses: each job has its own, since one that has ended gives its port back late."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])


def environment(folder: Path, port: int) -> Any:
    """A table environment whose jobs run in this process, one at a time."""
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": "1",
        "rest.port": str(port),
        "rest.bind-port": str(port),
        "rest.address": "localhost",
        "table.local-time-zone": "UTC",
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": f"file://{folder}/checkpoints",
        "metrics.fetcher.update-interval": "500",
    }.items():
        found.get_config().set(key, value)
    return found


def declared(name: str, table: dict[str, Any], folder: Path) -> str:
    """A table that follows a folder."""
    columns = [f"`{column}` {kind}" for column, kind in table["columns"].items()]
    if table["time"]:
        columns.append(f"WATERMARK FOR `{table['time']}` AS `{table['time']}`")
    options = {
        "connector": "filesystem",
        "path": str(folder),
        "format": "json",
        "source.monitor-interval": "500ms",
    }
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TEMPORARY TABLE `{name}` ({', '.join(columns)}) WITH ({given})"


def grown(query: str, work: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Bytes of state and seconds, step by step."""
    source = Path(given["folder"])
    port = free()
    tables = environment(work, port)
    for name, table in given["tables"].items():
        (work / name).mkdir(parents=True)
        tables.execute_sql(declared(name, table, work / name))
    columns = tables.sql_query(query).get_schema()
    kinds = ", ".join(f"`{n}` {_kind(columns, i)}" for i, n in enumerate(columns.get_field_names()))
    tables.execute_sql(f"CREATE TEMPORARY TABLE answers ({kinds}) WITH ('connector' = 'blackhole')")
    started = tables.execute_sql(f"INSERT INTO answers {query}")
    job = started.get_job_client()
    number, found = str(job.get_job_id()), {"bytes": [], "seconds": []}
    try:
        for step, rows in enumerate(given["steps"]):
            begun = time.monotonic()
            for name in given["tables"]:
                file = FILE.format(step=step)
                os.link(source / name / file, work / name / file)
            while not read(port, number, rows):
                if time.monotonic() - begun > given["limit"]:
                    raise TimeoutError(f"not done in {given['limit']} s")
                time.sleep(0.3)
            found["bytes"].append(checkpointed(port, number, begun + given["limit"]))
            found["seconds"].append(round(time.monotonic() - begun, 1))
    except TimeoutError as error:
        found["error"] = str(error)
    finally:
        job.cancel().result()
        time.sleep(1)
    return found


def _kind(columns: Any, at: int) -> str:
    kind = str(columns._j_table_schema.getFieldDataTypes()[at].getLogicalType().asSummaryString())
    return re.sub(r" NOT NULL| \*\w+\*", "", kind)


def read(port: int, job: str, rows: int) -> bool:
    """Whether every source has given so many rows."""
    try:
        vertices = asked(port, f"/jobs/{job}")["vertices"]
        found = []
        for vertex in vertices:
            path = f"/jobs/{job}/vertices/{vertex['id']}/metrics"
            names = [
                m["id"] for m in asked(port, path) if re.fullmatch(r"0\.Source__.*\.numRecordsOut", m["id"])
            ]
            for name in names:
                found += [int(m["value"]) for m in asked(port, f"{path}?get={name}")]
        return bool(found) and all(number >= rows for number in found)
    except (HTTPError, URLError, TimeoutError):
        return False


def checkpointed(port: int, job: str, until: float) -> int:
    """The bytes of a full checkpoint that is taken now."""
    before = asked(port, f"/jobs/{job}/checkpoints")["counts"]["completed"]
    asked(port, f"/jobs/{job}/checkpoints", {"checkpointType": "FULL"})
    while True:
        found = asked(port, f"/jobs/{job}/checkpoints")
        if found["counts"]["completed"] > before:
            return int(found["latest"]["completed"]["state_size"])
        if time.monotonic() > until:
            raise TimeoutError("the checkpoint was not done in time")
        time.sleep(0.3)


def main() -> None:
    """Measure each query."""
    given = json.load(sys.stdin)
    for name, query in given["queries"].items():
        with tempfile.TemporaryDirectory(dir=given["folder"]) as work:
            try:
                found = grown(query, Path(work), given)
            except Exception as error:
                found = {"error": str(error).split("\n\tat ")[0].splitlines()[0][:300]}
        print(json.dumps({"query": name, **found}), flush=True)


if __name__ == "__main__":
    main()
