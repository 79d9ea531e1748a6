"""Queries with expressions over partitions, several at once and night after night, against plain SQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from tests.history.kinds import arrive, placed
from tests.spark.histories import Registered

from streambound.errors import UnsupportedError
from streambound.history.evaluate import evaluate_history
from streambound.history.local import local_executor
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation
from streambound.query.parse import statement

# What of each kind of plan is computed: shown, filtered, joined by, compared in time; of S in all of them.
SQL = {
    "filter": "SELECT A * 2 AS twice, B FROM S WHERE B % 3 = 1 AND A + B > 20",
    "shown": "SELECT CASE WHEN A > 5 THEN 'many' ELSE CAST(A AS STRING) END AS said, B / 4 AS part FROM S",
    "bag": "SELECT S.A % 4 AS rest FROM S, T WHERE S.A % 4 = T.A AND T.A BETWEEN 1 AND 3",
    "distinct": "SELECT DISTINCT S.A % 3 FROM S, T WHERE S.A % 3 = T.A % 3 AND S.B + 7 < T.B",
    "slots": "SELECT S.A, T.B FROM S, T WHERE S.ts % 10 = T.B % 10 AND T.ts BETWEEN S.ts AND S.ts + 4",
    "moved": "SELECT DISTINCT T.A FROM S, T WHERE S.A <= T.A + 2 AND S.A = T.A AND T.A BETWEEN 1 AND 5",
    "static": "SELECT UPPER(R.N) AS named, S.B FROM S, R WHERE S.A % 5 = R.A % 5 AND R.N LIKE '%2'",
    "static too": "SELECT LENGTH(R.N) AS size, S.B FROM S, R WHERE S.A = R.A + 1 AND S.B > 10",
    "union": "SELECT A % 7 AS k FROM S WHERE A % 7 > 2 UNION SELECT ABS(A - 5) FROM T WHERE ABS(A - 5) < 3",
}


def plain_sql(sql: str, folder: Path) -> Counter[Any]:
    """The rows of a query over all partitions, as DuckDB has them."""
    with duckdb.connect() as plain:
        for name in "STR":
            files = f"{folder}/{name}/**/*.parquet"
            read = f"read_parquet('{files}', hive_partitioning = false)"
            plain.execute(f'CREATE VIEW "{name}" AS FROM {read}')
        made = sqlglot.transpile(sql, read="spark", write="duckdb")[0]
        return Counter(plain.execute(made).fetchall())


def test_many_nights_of_many_queries_are_plain_sql(tmp_path: Path) -> None:
    catalog, kept = placed(tmp_path / "streams"), str(tmp_path / "kept")
    asked = [Registered(name, sql) for name, sql in SQL.items()]
    for night in range(2):
        arrive(tmp_path / "streams", night)
        with local_executor() as executor:
            found = evaluate_history(
                executor, asked, catalog, output=tmp_path / "answers", checkpoints=kept if night < 1 else None
            )
        for answer in found:
            assert answer.error is None and answer.evaluated, answer
            expected = plain_sql(SQL[answer.query], tmp_path / "streams")
            assert answer.answer_rows == len(expected), (night, answer)
            assert answer.answer_count == expected.total(), (night, answer)
            files = f"{tmp_path}/answers/{answer.query}/*/*.parquet"
            rows = duckdb.sql(f"FROM read_parquet('{files}', hive_partitioning = false)").fetchall()
            total: Counter[Any] = Counter()
            for *row, count in rows:
                total[tuple(row)] += int(count)
            assert total == expected, (night, answer.query)
    assert any(plain_sql(sql, tmp_path / "streams") for sql in SQL.values())


def test_one_name_for_what_dialects_compute_differently_is_refused() -> None:
    catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}})

    def relation(dialect: str) -> Relation:
        (one,) = statement("SELECT A / B FROM S", catalog, dialect=dialect).occurrences
        return one.relation

    spark, flink = relation("spark"), relation("flink")
    assert spark.with_computed(spark) == spark
    with pytest.raises(UnsupportedError, match="`A` / `B` in one query and `A` DIV `B` in another"):
        spark.with_computed(flink)
