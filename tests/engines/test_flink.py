"""Flink: what was measured of it (docs/engines.md), as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import RANGE, on, told

JOINED = "FROM S JOIN T ON S.A = T.D"
LOCAL = "S.A > 10 AND S.A < 20"
WINDOW = "TABLE(TUMBLE(TABLE S, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
TUMBLED = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '{{}}' MINUTE))"
WINDOWS = (
    f"SELECT a.A FROM {TUMBLED.format('S')} a JOIN {TUMBLED.format('T')} b ON a.A = b.D"
    " AND a.window_start = b.window_start AND a.window_end = b.window_end"
)
COUNTS = "SELECT A, COUNT(*) AS n FROM S GROUP BY A"
MAX, INPUT = ("GROUP BY", "ACCUMULATORS", "constant"), ("GROUP BY", "INPUT", "keys")
TOP = "SELECT id, window_start, ROW_NUMBER() OVER"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # Bounded as it stands: all that reaches the join has a finite domain.
        (f"SELECT S.A {JOINED} WHERE S.A > 10 AND T.D < 20", [("join", "DISTINCT_ROWS", "constant")]),
        (
            f"SELECT DISTINCT S.A {JOINED} WHERE S.A > 10 AND T.D < 20",
            [("join", "DISTINCT_ROWS", "constant"), ("DISTINCT", "DIFFERENT", "constant")],
        ),
        (f"SELECT S.id {JOINED} WHERE S.A > 10 AND T.D < 20", [("join", "DISTINCT_ROWS", "rows")]),
        # Filters pass an equality, but neither an inequality nor an aggregate.
        (f"SELECT S.A FROM S JOIN T ON S.A < T.D WHERE {LOCAL}", [("join", "DISTINCT_ROWS", "rows")]),
        (
            "SELECT s.A, s.n * t.n FROM (SELECT A, COUNT(*) AS n FROM S WHERE A > 10 GROUP BY A) s"
            " JOIN (SELECT D, COUNT(*) AS n FROM T WHERE D < 20 GROUP BY D) t ON s.A = t.D",
            [("GROUP BY", "ACCUMULATORS", "keys")] * 2 + [("join", "DISTINCT_ROWS", "keys")],
        ),
        (
            f"SELECT DISTINCT S.A {JOINED} AND S.B < T.E WHERE {LOCAL}",
            [("join", "DISTINCT_ROWS", "rows"), ("DISTINCT", "DIFFERENT", "constant")],
        ),
        (
            "SELECT k, s * t FROM (SELECT k, SUM(s) AS s, SUM(t) AS t FROM (SELECT A AS k, 1 AS s, 0 AS t"
            " FROM S WHERE A > 10 AND A < 20 UNION ALL SELECT D, 0, 1 FROM T WHERE D > 10 AND D < 20) u"
            " GROUP BY k) v WHERE s > 0 AND t > 0",
            [("GROUP BY", "ACCUMULATORS", "constant")],
        ),
        (
            f"SELECT S.A {JOINED} AND S.ts > T.ts WHERE {LOCAL}",
            [("join", "DISTINCT_ROWS", "rows")],
        ),
        (f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE}", [("join", "SPAN", "constant")]),
        (
            "SELECT U.id FROM U JOIN V ON U.K = V.K AND U.ts BETWEEN V.ts AND V.ts + INTERVAL '1' HOUR",
            [("join", "DISTINCT_ROWS", "rows")],
        ),
        # Of the times one equality or exactly two bounds make an interval.
        (
            f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE} AND S.ts < T.ts + INTERVAL '2' HOUR",
            [("join", "DISTINCT_ROWS", "rows")],
        ),
        ("SELECT S.id FROM S JOIN T ON S.ts = T.ts", [("join", "SPAN", "constant")]),
        (f"SELECT S.id FROM S JOIN T ON {RANGE}", [("join", "SPAN", "constant")]),
        (f"SELECT DISTINCT window_start, window_end, A FROM {WINDOW}", [("DISTINCT", "WINDOWS", "constant")]),
        (f"SELECT DISTINCT window_start FROM {WINDOW}", [("DISTINCT", "DIFFERENT", "time")]),
        ("SELECT id FROM S WHERE A IN (SELECT D FROM T)", [("semi join", "DISTINCT_ROWS", "rows")]),
        (
            f"SELECT A FROM S WHERE A IN (SELECT D FROM T) AND {LOCAL}",
            [("semi join", "DISTINCT_ROWS", "constant")],
        ),
        ("SELECT S.id FROM S LEFT JOIN T ON S.K = T.K", [("join", "DISTINCT_ROWS", "rows")]),
        # A condition of ON filters no row of the side that is kept.
        ("SELECT S.A FROM S LEFT JOIN T ON S.A = T.D AND S.A IN (1, 2)", [("join", "DISTINCT_ROWS", "keys")]),
        (
            "SELECT S.A FROM S LEFT JOIN T ON S.A = T.D WHERE S.A IN (1, 2)",
            [("join", "DISTINCT_ROWS", "constant")],
        ),
        (
            "SELECT S.id, P.v FROM S LEFT JOIN P FOR SYSTEM_TIME AS OF S.ts ON S.K = P.k",
            [("as-of join", "VERSIONS", "keys")],
        ),
        (
            "SELECT S.id FROM S JOIN R FOR SYSTEM_TIME AS OF PROCTIME() ON S.K = R.k",
            [("lookup join", "NOTHING", "constant")],
        ),
        ("SELECT S.id FROM S JOIN R ON S.K = R.k", [("join", "DISTINCT_ROWS", "rows")]),
        (
            f"SELECT window_start, A, COUNT(*) FROM {WINDOW} GROUP BY window_start, window_end, A",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        (
            f"SELECT window_start, COUNT(*) FROM {WINDOW} GROUP BY window_start",
            [("GROUP BY", "ACCUMULATORS", "time")],
        ),
        (
            "SELECT FLOOR(ts TO HOUR), COUNT(*) FROM S GROUP BY FLOOR(ts TO HOUR)",
            [("GROUP BY", "ACCUMULATORS", "time")],
        ),
        (f"SELECT A, COUNT(*) FROM S WHERE {LOCAL} GROUP BY A", [("GROUP BY", "ACCUMULATORS", "constant")]),
        ("SELECT id, COUNT(*) FROM S GROUP BY id", [("GROUP BY", "ACCUMULATORS", "keys")]),
        (f"SELECT A, COUNT(DISTINCT id) FROM S WHERE {LOCAL} GROUP BY A", [("GROUP BY", "VALUES", "keys")]),
        (f"SELECT COUNT(DISTINCT A) FROM S WHERE {LOCAL}", [("GROUP BY", "VALUES", "constant")]),
        (
            f"SELECT A, MIN(B), MAX(B) FROM S WHERE {LOCAL} GROUP BY A",
            [("GROUP BY", "ACCUMULATORS", "constant")],
        ),
        (
            "SELECT * FROM (SELECT id, K, ROW_NUMBER() OVER (PARTITION BY K ORDER BY B DESC) AS n FROM S"
            " WHERE K BETWEEN 1 AND 9) x WHERE n <= 5",
            [("first rows", "KEYED_ROWS", "constant")],
        ),
        (
            "SELECT * FROM (SELECT id, n, ROW_NUMBER() OVER (PARTITION BY id ORDER BY n) AS r FROM"
            " (SELECT id, COUNT(*) AS n FROM S GROUP BY id) y) x WHERE r <= 5",
            [("GROUP BY", "ACCUMULATORS", "keys"), ("first rows", "INPUT", "keys")],
        ),
        # Ranks of what only rises keep the first rows alone.
        (
            "SELECT * FROM (SELECT A, n, ROW_NUMBER() OVER (ORDER BY n DESC) AS r FROM"
            " (SELECT A, COUNT(*) AS n FROM S GROUP BY A) y) x WHERE r <= 3",
            [("GROUP BY", "ACCUMULATORS", "keys"), ("first rows", "KEYED_ROWS", "constant")],
        ),
        # An extremum keeps one value of what only moves towards it, else one of each group below.
        (f"SELECT MAX(n) FROM ({COUNTS}) y", [("GROUP BY", "ACCUMULATORS", "keys"), MAX]),
        (f"SELECT MIN(n) FROM ({COUNTS}) y", [("GROUP BY", "ACCUMULATORS", "keys"), INPUT]),
        (
            f"SELECT MIN(n) FROM ({COUNTS.replace('FROM S', f'FROM S WHERE {LOCAL}')}) y",
            [("GROUP BY", "ACCUMULATORS", "constant"), ("GROUP BY", "INPUT", "constant")],
        ),
        (
            "SELECT MAX(S.B) FROM S LEFT JOIN T ON S.A = T.D",
            [("join", "DISTINCT_ROWS", "rows"), MAX],
        ),
        # Groups of finite keys are few rows, whatever is beside the keys.
        (
            f"SELECT s.n * t.n FROM ({COUNTS.replace('FROM S', f'FROM S WHERE {LOCAL}')}) s JOIN (SELECT D,"
            " COUNT(*) AS n FROM T WHERE D BETWEEN 1 AND 9 GROUP BY D) t ON s.A = t.D",
            [("GROUP BY", "ACCUMULATORS", "constant")] * 2 + [("join", "DISTINCT_ROWS", "constant")],
        ),
        # A regular join makes plain timestamps of time attributes; windows of GROUP BY itself are cleaned.
        (
            "SELECT T.id FROM S JOIN T ON S.A = T.D JOIN S z ON T.K = z.K"
            " AND z.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR",
            [("join", "DISTINCT_ROWS", "rows")] * 2,
        ),
        (
            f"SELECT AVG(T.E) OVER (PARTITION BY S.A ORDER BY S.ts RANGE UNBOUNDED PRECEDING) {JOINED}",
            [("join", "DISTINCT_ROWS", "rows"), ("OVER", "INPUT", "rows")],
        ),
        (
            "SELECT AVG(T.E) OVER (PARTITION BY S.A ORDER BY S.ts ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)"
            f" {JOINED}",
            [("join", "DISTINCT_ROWS", "rows"), ("OVER", "REFUSED", "refused")],
        ),
        (
            f"SELECT COUNT(*) {JOINED} GROUP BY TUMBLE(S.ts, INTERVAL '1' HOUR)",
            [("join", "DISTINCT_ROWS", "rows"), ("GROUP BY", "WINDOWS", "constant")],
        ),
        (
            f"SELECT COUNT(*) FROM {WINDOW} w JOIN T ON w.A = T.D GROUP BY w.window_start, w.window_end",
            [("join", "DISTINCT_ROWS", "rows"), ("GROUP BY", "ACCUMULATORS", "time")],
        ),
        # Both ends of windows of one length are equal in a window join, of different lengths in none.
        (WINDOWS.format(5, 5), [("join", "WINDOWS", "constant")]),
        (WINDOWS.format(5, 10), [("join", "DISTINCT_ROWS", "keys")]),
        (
            "SELECT id, SUM(B) OVER (PARTITION BY K ORDER BY ts RANGE UNBOUNDED PRECEDING) FROM S"
            " WHERE K BETWEEN 1 AND 9",
            [("OVER", "ACCUMULATORS", "constant")],
        ),
        (
            "SELECT id, SUM(B) OVER (PARTITION BY K ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND"
            " CURRENT ROW) FROM S",
            [("OVER", "SPAN", "constant")],
        ),
        ("SELECT id FROM S UNION ALL SELECT id FROM T", []),
        ("SELECT id FROM S WHERE A > 10", []),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("flink", sql, "flink")) == expected


@pytest.mark.parametrize(
    ("sql", "note"),
    [
        (
            "SELECT U.id FROM U JOIN V ON U.K = V.K AND U.ts BETWEEN V.ts AND V.ts + INTERVAL '1' HOUR",
            "plain timestamps",
        ),
        (f"SELECT DISTINCT S.A {JOINED} AND S.B < T.E", "99,461"),
        (f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE}", "watermarks: S.ts, T.ts"),
        ("SELECT S.id, P.v FROM S JOIN P FOR SYSTEM_TIME AS OF S.ts ON S.K = P.k", "put it in a sub-query"),
        (f"SELECT window_start, COUNT(*) FROM {WINDOW} GROUP BY window_start", "window_start and window_end"),
        ("SELECT S.id FROM S, T WHERE S.B < T.E", "one task"),
        (
            f"SELECT * FROM ({TOP} (PARTITION BY window_start ORDER BY id) r FROM {WINDOW}) WHERE r < 4",
            "top-n goes",
        ),
    ],
)
def test_traps_are_told(sql: str, note: str) -> None:
    assert any(note in one for one in on("flink", sql, "flink").notes)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (f"SELECT COUNT(*) FROM {WINDOW} GROUP BY window_start, window_end", "S.window_start, S.window_end"),
        (
            "SELECT COUNT(*) FROM S GROUP BY A, TUMBLE(ts, INTERVAL '1' HOUR)",
            "S.(TUMBLE(ts, INTERVAL '1' HOUR))",
        ),
        ("SELECT S.id FROM S JOIN T ON S.A + 1 = T.D", "S.A = T.D - 1"),
    ],
)
def test_columns_are_called_as_people_write_them(sql: str, text: str) -> None:
    (one,) = on("flink", sql, "flink").operators
    assert text in one.operator.text
    assert "moved by" not in str(one.operator)


def test_the_most_entries_are_counted() -> None:
    found = on("flink", f"SELECT S.A {JOINED} WHERE S.A > 10 AND T.D < 20", "flink")
    assert found.most == 18
    assert on("flink", f"SELECT S.A {JOINED} AND S.B < T.E WHERE {LOCAL}", "flink").most is None


MATCH = (
    "SELECT * FROM S MATCH_RECOGNIZE (PARTITION BY K ORDER BY ts MEASURES LAST(X.B) AS b{}"
    " DEFINE X AS X.B + 0 > 1, Y AS Y.B < 1)"
)


@pytest.mark.parametrize(
    ("pattern", "keeps", "growth"),
    [
        (" PATTERN (X Y)", "KEYED_ROWS", "keys"),
        (" AFTER MATCH SKIP PAST LAST ROW PATTERN (X{2,4}? Y?)", "KEYED_ROWS", "keys"),
        (" PATTERN (X+ Y)", "INPUT", "rows"),
        (" PATTERN (X{2,} Y)", "INPUT", "rows"),
        # What the automaton knows of a key stays when the time of its rows is over.
        (" PATTERN (X+ Y) WITHIN INTERVAL '1' HOUR", "ACCUMULATORS", "keys"),
    ],
)
def test_a_pattern_keeps_the_rows_of_matches_that_are_not_complete(
    pattern: str, keeps: str, growth: str
) -> None:
    assert told(on("flink", MATCH.format(pattern), "flink")) == [("row pattern", keeps, growth)]


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ("U", "You must specify either rowtime or proctime"),
        (
            "(SELECT S.K, S.ts, S.B FROM S JOIN T ON S.K = T.K) j",
            "You must specify either rowtime or proctime",
        ),
        (
            "(SELECT K, MAX(ts) AS ts, MAX(B) AS B FROM S GROUP BY K) g",
            "Match Recognize doesn't support consuming update changes",
        ),
    ],
)
def test_a_pattern_is_one_of_rows_that_come_in_time(table: str, error: str) -> None:
    # As EXPLAIN of 2.3.0 says.
    found = on("flink", MATCH.format(" PATTERN (X Y)").replace("FROM S ", f"FROM {table} "), "flink")
    assert f"refused: TableException: {error}" in found.operators[-1].what


def test_what_is_not_modelled_is_told_by_name() -> None:
    found = on("risingwave", MATCH.format(" PATTERN (X Y)"), "flink")
    assert [(one.what, one.growth.value) for one in found.operators] == [
        ("not modelled: row pattern", "unknown")
    ]
