"""A query of each kind that tasks summarise in another way, over histories that grow."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.spark import histories
from tests.spark.histories import Registered

from streambound.history.evaluations.k_memory import Memory
from streambound.query.catalog import Catalog, catalog_from_mapping

COLUMNS = {"ts": "int", "A": "int", "B": "int"}
STREAM: dict[str, Any] = {"columns": COLUMNS, "timestamp": "ts", "max_rows_per_timestamp": 2}
STREAMS: dict[str, Any] = {
    "S": STREAM,
    "T": STREAM,
    "R": {"kind": "static", "columns": {"A": "int", "N": "string"}},
}
SQL = {
    "filter": "SELECT A, B FROM S WHERE B > 40",
    "bag": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5",
    "distinct": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9",
    "ordered": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5 AND S.ts <= T.ts",
    "chain": "SELECT S.A, T.A AS B FROM S, T, S U "
    "WHERE S.ts > T.ts AND T.ts >= U.ts AND S.A > T.A AND T.A BETWEEN 1 AND 4",
    "offset": "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5 AND S.ts + 3 <= T.ts",
    "window": "SELECT S.A, T.B FROM S, T WHERE S.A = T.A AND T.ts BETWEEN S.ts AND S.ts + 4",
    "ending": "SELECT S.B FROM S, T WHERE S.A = T.A AND T.ts <= 100",
    "union": "SELECT A FROM S WHERE A BETWEEN 5 AND 9 UNION SELECT A FROM T WHERE A BETWEEN 1 AND 3",
    "static": "SELECT R.N, S.B FROM S, R WHERE S.A = R.A AND S.B > 10",
    "groups": "SELECT A, COUNT(*) AS n, SUM(B) AS b, MIN(B) AS m, COUNT(DISTINCT A) AS d FROM S"
    " WHERE A BETWEEN 0 AND 9 GROUP BY A HAVING COUNT(*) > 2",
    "windows": "SELECT A, window(ts, 10).start AS w, AVG(B) AS b, MAX(B) AS m FROM S"
    " GROUP BY A, (window(ts, 10))",
    "weighed": "SELECT S.A, SUM(S.B * T.B) AS b, COUNT(*) AS n FROM S, T"
    " WHERE S.A = T.A AND S.A BETWEEN 1 AND 5 GROUP BY S.A",
    "global": "SELECT COUNT(*) AS n, SUM(B) AS b FROM S WHERE A > 3",
    "irredundant": "SELECT DISTINCT 1 AS one FROM S, T"
    " WHERE S.A <= T.A - 1 AND S.B <= T.A - 7 AND S.A <= T.B - 5 AND S.B <= T.B",
    "cached": "SELECT S.A FROM S, T WHERE S.A = T.A",
}
KINDS = [Registered(name, sql) for name, sql in SQL.items()]
MEMORY = {"cached": Memory(4)}
ROWS = 30


def placed(folder: Path) -> Catalog:
    """The catalog, with its histories below a folder."""
    return histories.placed(catalog_from_mapping(STREAMS), folder)


def arrive(folder: Path, part: int) -> None:
    """A partition of S and T; with the first comes R."""
    s, t, r = catalog_from_mapping(STREAMS).relations
    for relation in (s, t):
        chance = random.Random(f"{part} {relation.name}")
        rows = [
            {"ts": part * ROWS + at, "A": chance.randrange(10), "B": chance.randrange(100)}
            for at in range(ROWS)
        ]
        histories.write(relation, rows, folder, part)
    if part == 0:
        histories.write(r, [{"A": a, "N": f"no. {a}"} for a in range(0, 10, 2)], folder, None)
