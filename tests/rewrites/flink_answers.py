"""Runs statements on Flink, in an environment that has it (``make flink``), and folds their changelogs.

Reads a JSON list from standard input: of each case a ``folder`` for its data, ``tables`` (by name
``columns``, ``time`` or null, and ``rows``), and a ``query``. Prints a list: of each its rows with how often
each is there, or the text of an error. It imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> None:
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"parallelism.default": "1", "table.local-time-zone": "UTC"}.items():
        environment.get_config().set(key, value)
    found = []
    for position, case in enumerate(json.load(sys.stdin)):
        environment.execute_sql(f"CREATE DATABASE case{position}")
        environment.use_database(f"case{position}")
        for name, table in case["tables"].items():
            environment.execute_sql(_declared(Path(case["folder"]), name, table))
        found.append(_answers(environment, case["query"]))
    print("\n" + json.dumps(found))


def _declared(folder: Path, name: str, table: dict[str, Any]) -> str:
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({k: v for k, v in row.items() if v is not None}) for row in table["rows"])
    (path / "rows.json").write_text("".join(f"{line}\n" for line in lines))
    columns = [f"`{column}` {kind}" for column, kind in table["columns"].items()]
    if table["time"]:
        columns.append(f"WATERMARK FOR `{table['time']}` AS `{table['time']}`")
    options = {
        "connector": "filesystem",
        "path": str(path),
        "format": "json",
        "json.timestamp-format.standard": "SQL",
    }
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TABLE `{name}` ({', '.join(columns)}) WITH ({given})"


def _answers(environment: Any, query: str) -> Any:
    counted: Counter[str] = Counter()
    try:
        with environment.execute_sql(query).collect() as rows:
            for row in rows:
                sign = -1 if str(row.get_row_kind()) in ("-U", "-D") else 1
                counted[json.dumps([str(v) if v is not None else None for v in row])] += sign
    except Exception as error:
        return str(error).split("\n\tat ")[0][-2000:]
    return [[json.loads(row), number] for row, number in counted.items() if number]


if __name__ == "__main__":
    main()
