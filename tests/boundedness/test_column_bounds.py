"""Why a query is bounded, column by column."""

from __future__ import annotations

import pytest

from streambound.boundedness.statements import decide
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

BODY = {
    "columns": {"A": "int", "B": "int", "K": "int", "N": "string", "ts": "int"},
    "timestamp": "ts",
    "domains": {"K": {"min": 1, "max": 9}},
}
CATALOG = catalog_from_mapping({"S": BODY, "T": {**BODY, "cardinality": {"B": 5}}})


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT DISTINCT K FROM S", ["S.K lies between 1 and 9 by its declared domain"]),
        ("SELECT DISTINCT K FROM S WHERE A BETWEEN 1 AND 3 AND K > 2", ["S.A lies between 1 and 3"]),
        (
            "SELECT DISTINCT K FROM S WHERE B = 5 AND N IN ('a', 'b')",
            ["S.B is always 5", "S.N is one of"],
        ),
        (
            "SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A",
            ["of S.A only the least value", "of T.A only the greatest value"],
        ),
        ("SELECT K, MAX(A) FROM S GROUP BY K", ["of S.A only the greatest value is kept"]),
        (
            "SELECT T.A FROM S, T WHERE S.K = T.K AND S.ts < T.ts",
            ["T.A is read when its row completes"],
        ),
        ("SELECT DISTINCT T.B FROM S, T WHERE S.K = T.K", ["T.B has few different values, as is declared"]),
        (
            "SELECT S.K FROM S, T, S x WHERE S.A = T.A AND S.ts = T.ts AND x.K = 1",
            ["S.A is kept for a window of time, beside T"],
        ),
        # A guard that time keeps with its rows: what waits is said, not what the rest of the query is.
        (
            "SELECT S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A = T.A"
            " AND T.ts BETWEEN S.ts AND S.ts + 3)",
            ["time conditions keep S, T together: a row waits for a match for a limited time only"],
        ),
    ],
)
def test_each_column_has_its_reason(sql: str, said: list[str]) -> None:
    verdict = decide(read(sql, CATALOG, "q").statement).verdict
    assert verdict.bounded
    message = " ".join(reason.message for reason in verdict.reasons)
    assert all(words in message for words in said), message


def test_what_follows_from_a_sub_query_was_not_declared() -> None:
    inner = "SELECT K, LAG(A) OVER (ORDER BY ts) AS a FROM S"
    sql = f"SELECT x.K, COUNT(*) FROM ({inner}) x WHERE x.a > 1 GROUP BY x.K"
    reasons = decide(read(sql, CATALOG, "q").statement).verdict.reasons
    (told,) = (part for r in reasons for part in r.message.split("; ") if part.startswith("x.K"))
    assert told == "x.K lies between 1 and 9"


@pytest.mark.parametrize(
    ("sql", "said", "never"),
    [
        (
            "SELECT N, ts, COUNT(*) FROM S GROUP BY N, ts",
            ["S.N is kept until ts is over", "what is kept of one ts is dropped when it is over"],
            "completes",
        ),
        (
            "SELECT N, window(ts, 4).start AS h FROM S GROUP BY N, window(ts, 4)",
            ["S.N is kept until h is over"],
            "completes",
        ),
        (
            "SELECT N, COUNT(*) FROM S GROUP BY N, session_window(ts, 5)",
            ["S.N is kept until session is over"],
            "ts is over",
        ),
        (
            "SELECT N, A FROM (SELECT N, A, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY A) AS r FROM S)"
            " WHERE r < 3",
            ["what is kept of one ts is dropped when it is over"],
            "as a value",
        ),
        (
            "SELECT N, ROW_NUMBER() OVER (PARTITION BY N, window(ts, 4).start ORDER BY A) AS n FROM S",
            ["what is kept of one window(ts, 4).start is dropped when it is over"],
            "completes",
        ),
        # Of rows of a sub-query, and what is kept for these.
        (
            "SELECT h, c FROM (SELECT h, c, ROW_NUMBER() OVER (PARTITION BY h ORDER BY c) AS r FROM"
            " (SELECT N, window(ts, 4).start AS h, COUNT(*) AS c FROM S"
            " GROUP BY N, window(ts, 4))) WHERE r = 1",
            ["S.N is kept until h is over", "what is kept of one h is dropped when it is over"],
            "sub_query",
        ),
        (
            "SELECT T.K, COUNT(*) FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts GROUP BY T.K",
            ["T.K lies between 1 and 9"],
            "S.T.",
        ),
    ],
)
def test_what_time_ends_is_named_in_the_words_of_the_text(sql: str, said: list[str], never: str) -> None:
    verdict = decide(read(sql, CATALOG, "q").statement).verdict
    message = " ".join(reason.message for reason in verdict.reasons)
    assert verdict.bounded and all(words in message for words in said) and never not in message, message


def test_no_reason_names_what_the_query_was_reduced_to() -> None:
    verdict = decide(read("SELECT K, MAX(A), MIN(A) FROM S GROUP BY K", CATALOG, "q").statement).verdict
    assert all("known" not in reason.message for reason in verdict.reasons)


def test_a_function_that_goes_on_is_not_said_to_end_with_another() -> None:
    ends = "ROW_NUMBER() OVER (PARTITION BY N, ts ORDER BY A) AS n"
    for shown, ended in (
        (f"N, {ends}", True),
        (f"N, {ends}, SUM(A) OVER (PARTITION BY K ORDER BY ts) AS s", False),
    ):
        verdict = decide(read(f"SELECT {shown} FROM S", CATALOG, "q").statement).verdict
        assert verdict.bounded
        assert any("when it is over" in reason.message for reason in verdict.reasons) == ended
