"""Live: an hour of files, one of each stream every three minutes; what is held does not grow with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.arrivals import Here, flat, write
from tests.strategies import Case

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement

# Seconds of a file, and how many files of each stream are an hour.
SECONDS, FILES = 180, 20
STREAM: dict[str, Any] = {
    "columns": {"ts": "int", "device": "int", "kind": "int", "amount": "int"},
    "not_null": ["ts", "device", "kind", "amount"],
    "timestamp": "ts",
    "domains": {"kind": {"min": 0, "max": 4}},
    "max_rows_per_timestamp": 4,
}
STREAMS = {name: STREAM for name in "ST"}
SQL = {
    "order": "SELECT S.kind FROM S, T WHERE S.kind = T.kind AND S.ts <= T.ts",
    "window": "SELECT S.device, T.amount FROM S, T WHERE S.device = T.device"
    " AND T.ts BETWEEN S.ts AND S.ts + 300",
    "hours": "SELECT kind, window(ts, 600).start AS begun, SUM(amount) AS whole FROM S"
    " GROUP BY kind, (window(ts, 600))",
    "guard": "SELECT S.device FROM S WHERE NOT EXISTS"
    " (SELECT 1 FROM T WHERE T.device = S.device AND T.ts BETWEEN S.ts AND S.ts + 300)",
}


def rows(name: str, file: int) -> list[dict[str, Any]]:
    """Every two files bring the same, later."""
    shape = [(at, (at * 7 + file % 2 + (name == "T")) % 40) for at in range(0, SECONDS, 15)]
    return [
        {"ts": file * SECONDS + at, "device": device, "kind": device % 5, "amount": device % 9}
        for at, device in shape
    ]


@pytest.mark.parametrize("kind", SQL)
def test_an_hour_of_files_leaves_a_state_as_large_as_half_an_hour(kind: str, tmp_path: Path) -> None:
    catalog = catalog_from_mapping(STREAMS)
    case = Case(STREAMS, SQL[kind], catalog, statement(SQL[kind], catalog, "q"))
    here, streams = Here(case, flat(catalog, tmp_path), tmp_path), case.statement.scanned
    units = here.beginning.plan.max_units
    assert units is not None
    held, answered = list[tuple[int, int]](), 0
    for file in range(FILES):
        arriving = [(stream.name, rows(stream.name, file)) for stream in streams]
        found = here.take(write(case, arriving, tmp_path, file))
        answered += sum(sum(map(abs, new.values())) for _, new in found)
        assert here.step.progress.units <= here.step.progress.peak_units <= units
        written = sum(len(text) for name, text in here.entries.items() if name != "about")
        held.append((len(here.entries), written))
    assert answered > FILES
    counts, texts = zip(*held, strict=True)
    half = FILES // 2
    # Numbers of rows may gain a digit.
    assert max(counts[half:]) <= max(counts[:half])
    assert max(texts[half:]) <= max(texts[:half]) + 2 * counts[-1]
