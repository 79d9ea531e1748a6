"""Nested columns by their paths."""

from __future__ import annotations

from typing import Any

import pytest
from tests.statements import wrong

from streambound.compiler.report import check
from streambound.errors import QueryError
from streambound.evaluation.corpus import evaluated, run_line
from streambound.history.local import LocalExecutor
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read
from streambound.query.parse.corpus import CorpusLine

CATALOG = catalog_from_mapping(
    {
        "orders": {
            "columns": {
                "id": "int",
                "ts": "timestamp",
                "user": "struct<id: bigint, geo: struct<city: string, at: array<double>>>",
            },
            "timestamp": "ts",
        },
        "pays": {"columns": {"id": "int", "by": "ROW<user_id BIGINT NOT NULL, how STRING>"}},
        "flat": {"columns": {"id": "int", "uid": "bigint", "city": "string"}},
    }
)


@pytest.mark.parametrize(
    ("sql", "flat"),
    [
        ("SELECT DISTINCT o.user.id FROM orders o", "SELECT DISTINCT o.uid FROM flat o"),
        ("SELECT user.id FROM orders WHERE user.id > 3", "SELECT uid FROM flat WHERE uid > 3"),
        (
            "SELECT DISTINCT o.user.id FROM orders o WHERE o.user.id BETWEEN 1 AND 5",
            "SELECT DISTINCT o.uid FROM flat o WHERE o.uid BETWEEN 1 AND 5",
        ),
        (
            "SELECT 1 AS one FROM orders o, pays p WHERE o.user.id = p.BY.user_id",
            "SELECT 1 AS one FROM flat o, flat p WHERE o.uid = p.uid",
        ),
        (
            "SELECT DISTINCT User.Geo.City AS c FROM orders WHERE user.geo.city IN ('a', 'b')",
            "SELECT DISTINCT city AS c FROM flat WHERE city IN ('a', 'b')",
        ),
        (
            "WITH w AS (SELECT o.user.id AS uid FROM orders o) SELECT DISTINCT uid FROM w",
            "SELECT DISTINCT uid FROM flat",
        ),
    ],
)
def test_a_path_is_a_column(sql: str, flat: str) -> None:
    found, plain = (check(text, CATALOG, suggest=False) for text in (sql, flat))
    assert found.error is None, found.error
    assert found.verdict == plain.verdict and found.verdict in ("bounded", "unbounded")
    assert [r.code for r in found.reasons] == [r.code for r in plain.reasons]
    assert found.unplanned == plain.unplanned


@pytest.mark.parametrize("path", ["user", "user.geo", "user.geo.at"])
def test_what_ends_at_no_value_takes_any(path: str) -> None:
    for owner in ("", "o."):
        assert check(f"SELECT {owner}{path} FROM orders o", CATALOG, suggest=False).verdict == "bounded"
        assert (
            check(f"SELECT DISTINCT {owner}{path} FROM orders o", CATALOG, suggest=False).verdict
            == "unbounded"
        )


@pytest.mark.parametrize(
    ("path", "message", "accepted"),
    [
        ("o.user.[ids]", "user has no field ids", "id, geo"),
        ("user.[nothing]", "user has no field nothing", "id, geo"),
        ("user.geo.[nothing].more", "user.geo has no field nothing", "city, at"),
        ("o.User.geo.city.[x]", "User.geo.city is a string and has no field x", ""),
    ],
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} FROM orders o",
        "SELECT id FROM orders o\nWHERE {} IS NULL",
        "WITH w AS (SELECT {} AS x FROM orders o) SELECT x FROM w",
        "SELECT p.id FROM pays p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = p.id AND {} = 1)",
    ],
)
def test_a_field_that_is_not_there_is_an_error_at_its_name(
    path: str, message: str, accepted: str, sql: str
) -> None:
    text = sql.format(path.replace("[", "").replace("]", ""))
    marked = sql.format(path)
    before, named = marked[: marked.index("[")], marked[marked.index("[") + 1 : marked.index("]")]
    with pytest.raises(QueryError) as error:
        read(text, CATALOG)
    location = error.value.location
    assert error.value.message == message and error.value.accepted == accepted and location is not None
    assert (location.line, location.length) == (before.count("\n") + 1, len(named))
    assert location.column == len(before) - before.rfind("\n")


def test_a_misspelt_field_is_told_what_was_meant() -> None:
    assert "did you mean city?" in str(
        check("SELECT user.geo.ctiy FROM orders", CATALOG, suggest=False).error
    )


def test_what_lies_in_arrays_and_objects_has_names_of_its_own() -> None:
    kinds = {"a": "array<struct<x: int>>", "m": "map<string, int>", "v": "variant", "t": "Tuple(Int8, Int8)"}
    catalog = catalog_from_mapping({"S": {"columns": {"id": "int", "user": "struct<x: int>", **kinds}}})
    for name in kinds:
        assert check(f"SELECT {name}.y FROM S", catalog, suggest=False).verdict == "bounded"
    sql = "SELECT user.y FROM S LATERAL VIEW EXPLODE(a) t AS user"
    assert "has no field" not in str(check(sql, catalog, suggest=False).error)


def test_a_path_is_a_column_in_a_sub_query_too() -> None:
    sql = "SELECT o.id FROM orders o WHERE {} EXISTS (SELECT 1 FROM pays p WHERE p.by.user_id = o.user.id)"
    assert check(sql.format("o.id = 1 AND"), CATALOG, suggest=False).verdict == "unbounded"
    assert (
        check(sql.format("o.id = 1 AND o.user.id IN (1, 2) AND"), CATALOG, suggest=False).verdict == "bounded"
    )


def test_what_holds_a_path_is_not_free_of_it() -> None:
    # A row of few users may still have any user.
    sql = "SELECT DISTINCT o.user FROM orders o WHERE o.user.id = 3"
    assert check(sql, CATALOG, suggest=False).verdict == "unknown"


def test_all_columns_are_those_of_the_catalog() -> None:
    found = read("SELECT * FROM orders o WHERE o.user.id > 3", CATALOG).statement
    assert [name for name, _ in found.outputs] == ["id", "ts", "user"]


def test_a_path_goes_by_its_last_name() -> None:
    sql = "SELECT o.user.id, user.geo.city, p.by.user_id AS u FROM orders o, pays p"
    assert [name for name, _ in read(sql, CATALOG).statement.outputs] == ["id", "city", "u"]


def test_a_reason_stands_at_the_whole_path() -> None:
    found = check("SELECT DISTINCT o.user.id FROM orders o", CATALOG, suggest=False)
    location = found.reasons[0].location
    assert location is not None and (location.column, location.length) == (17, len("o.user.id"))
    assert "user.id" in found.reasons[0].message


STREAMS: dict[str, Any] = {
    "S": {
        "columns": {
            "K": "int",
            "user": "struct<id: bigint, g: struct<c: string, at: array<double>>>",
            "ts": "int",
        },
        "timestamp": "ts",
    },
    "T": {"columns": {"by": "ROW<uid BIGINT NOT NULL, how STRING>", "ts": "int"}, "timestamp": "ts"},
}


def nested(count: int) -> tuple[dict[str, Any], ...]:
    """Rows whose structs, or what is within them, may be NULL."""
    found: list[dict[str, Any]] = []
    for n in range(count):
        within = None if n % 6 == 3 else {"c": "ab"[n % 2]}
        user = None if n % 5 == 4 else {"id": None if n % 7 == 5 else n % 4, "g": within}
        found.append({"stream": "S", "ts": n, "K": n % 3, "user": user})
        found.append({"stream": "T", "ts": n, "by": {"uid": n % 3, "how": "x"}})
    return tuple(found)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.user.id, s.user.g.c FROM S s WHERE s.user.id > 0",
        "SELECT user.g.c AS c, COUNT(*) AS n, SUM(user.id) AS m FROM S"
        " WHERE user.g.c IN ('a', 'b') GROUP BY user.g.c",
        "SELECT s.user.id AS u, t.by.how AS h FROM S s JOIN T t ON s.ts = t.ts AND s.user.id = t.by.uid",
        "SELECT UPPER(user.g.c) AS c, user.id + 1 AS d FROM S",
        "WITH w AS (SELECT s.user.id AS uid FROM S s) SELECT COUNT(*) AS n FROM w WHERE uid = 1",
        "SELECT K FROM S WHERE user.id IS NULL",
        "SELECT s.K FROM S s WHERE NOT EXISTS"
        " (SELECT 1 FROM T t WHERE t.by.uid = s.user.id AND t.ts BETWEEN s.ts - 2 AND s.ts)",
    ],
)
def test_a_path_is_evaluated(sql: str) -> None:
    """As a column of its own with these values is, by one pass, by the definition, and over Parquet files."""
    events = nested(14)
    line = CorpusLine("q", sql, catalog_from_mapping(STREAMS), events, streams=STREAMS)
    answers = evaluated(line, "onepass")["answers"]
    assert answers and answers == evaluated(line, "reference")["answers"]
    assert wrong(LocalExecutor(1), line) == ("", True)
    flat = {
        "S": {"columns": {"K": "int", "uid": "bigint", "c": "string", "ts": "int"}, "timestamp": "ts"},
        "T": {"columns": {"bid": "bigint", "how": "string", "ts": "int"}, "timestamp": "ts"},
    }
    plain = []
    for event in events:
        user, by = event.get("user") or {}, event.get("by") or {}
        left = {"uid": user.get("id"), "c": (user.get("g") or {}).get("c"), "K": event.get("K")}
        right = {"bid": by.get("uid"), "how": by.get("how")}
        plain.append({"stream": event["stream"], "ts": event["ts"], **(left if "K" in event else right)})
    text = sql
    for path, name in (("user.id", "uid"), ("user.g.c", "c"), ("by.uid", "bid"), ("by.how", "how")):
        text = text.replace(path, name)
    other = CorpusLine("q", text, catalog_from_mapping(flat), tuple(plain), streams=flat)
    assert evaluated(other, "onepass")["answers"] == answers


def test_ksqldb_writes_arrows() -> None:
    lines = [
        CorpusLine("q", sql, catalog_from_mapping(STREAMS), nested(14), dialect=dialect, streams=STREAMS)
        for sql, dialect in (
            ("SELECT s.user->id AS u, user->g->c AS c FROM S s WHERE user->id > 0 EMIT CHANGES;", "ksql"),
            ("SELECT s.user.id AS u, user.g.c AS c FROM S s WHERE user.id > 0", "spark"),
        )
    ]
    answers = [evaluated(line, "onepass")["answers"] for line in lines]
    assert answers[0] and answers[0] == answers[1]
    assert "user has no field nothing" in str(
        check("SELECT user->nothing FROM S", lines[0].catalog, dialect="ksql", suggest=False).error
    )


def test_what_is_no_struct_is_one_error() -> None:
    events = ({"stream": "S", "ts": 1, "user": 5},)
    line = CorpusLine("q", "SELECT user.id FROM S", catalog_from_mapping(STREAMS), events, streams=STREAMS)
    assert "column user: 5 has no id" in run_line(line, "onepass")[0]["error"]


def test_spark_reads_columns_whole() -> None:
    live = {"S": {**STREAMS["S"], "live": {"format": "rate", "columns": {"ts": "value"}}}}
    found = check("SELECT s.user.id FROM S s", catalog_from_mapping(live), suggest=False)
    assert found.verdict == "bounded" and "give its value a column of its own" in str(found.unplanned)
