"""Shapes of queries that people write, in the dialect that has them: each gets its verdict as it stands."""

from __future__ import annotations

import pytest

from streambound.api import evaluate
from streambound.compiler.report import check
from streambound.errors import UnsupportedError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import named_queries

CATALOG = catalog_from_mapping(
    {
        "orders": {
            "columns": {"id": "int", "total": "int", "who": "string", "ts": "timestamp"},
            "timestamp": "ts",
        },
        "parcels": {
            "columns": {"id": "int", "order_id": "int", "place": "string", "ts": "timestamp"},
            "timestamp": "ts",
        },
        "clicks": {
            "columns": {"usr": "string", "page": "string", "n": "int", "doc": "string", "ts": "timestamp"},
            "timestamp": "ts",
        },
        "things": {"columns": {"x": "int", "y": "int", "at": "timestamp"}},
        "rates": {
            "columns": {"cur": "string", "rate": "string", "ts": "timestamp"},
            "kind": "versioned",
            "primary_key": ["cur"],
            "timestamp": "ts",
        },
    }
)
CASES = [
    # Sessions of a table that is partitioned are those of its keys; of any other, they may last for ever.
    (
        "flink",
        "SELECT usr, window_start, window_end, SUM(n) AS n FROM TABLE(SESSION(TABLE clicks PARTITION BY usr,"
        " DESCRIPTOR(ts), INTERVAL '10' MINUTE)) GROUP BY usr, window_start, window_end",
        "bounded",
    ),
    (
        "flink",
        "SELECT page, window_end, MAX(n) AS n FROM TABLE(SESSION(TABLE clicks PARTITION BY (page, usr)"
        " ORDER BY ts, DESCRIPTOR(ts), INTERVAL '10' MINUTE)) GROUP BY page, usr, window_start, window_end",
        "bounded",
    ),
    (
        "flink",
        "SELECT window_end, COUNT(*) AS n FROM"
        " TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end",
        "bounded",
    ),
    # What rows before WHERE have, in WHERE.
    (
        "azure",
        "SELECT usr, n FROM clicks TIMESTAMP BY ts"
        " WHERE page = 'pay' AND LAG(page, 1) OVER (PARTITION BY usr LIMIT DURATION(minute, 5)) <> 'cart'",
        "bounded",
    ),
    (
        "azure",
        "SELECT c.usr, COUNT(*) AS n FROM clicks c TIMESTAMP BY ts"
        " WHERE LAST(c.n) OVER (LIMIT DURATION(hour, 1) WHEN c.page = 'pay') > c.n"
        " GROUP BY c.usr, TumblingWindow(minute, 30)",
        "bounded",
    ),
    # Conditions over several tuples that no comparison says are filters of the rows of the join.
    (
        "spark",
        "SELECT o.who, p.place FROM orders o JOIN parcels p ON o.id = p.order_id"
        " AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR WHERE ABS(o.total - p.id) > 10",
        "bounded",
    ),
    (
        "spark",
        "SELECT o.who FROM orders o, parcels p WHERE o.ts = p.ts AND near(o.who, p.place) AND o.total > 3",
        "bounded",
    ),
    (
        "spark",
        "SELECT o.who, COUNT(*) AS n FROM orders o JOIN parcels p ON o.ts = p.ts AND"
        " o.who LIKE CONCAT(p.place, '%') GROUP BY o.who, window(o.ts, '5 minutes')",
        "bounded",
    ),
    ("spark", "SELECT o.who FROM orders o JOIN parcels p ON o.id * p.id > 10", "unknown"),
    (
        "spark",
        "SELECT DISTINCT o.who FROM orders o JOIN parcels p ON o.id = p.id AND o.ts = p.ts"
        " WHERE SQRT(o.id + p.id) > 3",
        "unknown",
    ),
    # Sessions of a join are told by the time that they name: what came before gets rows for ever.
    (
        "spark",
        "SELECT COUNT(*) AS n FROM orders o JOIN clicks c ON o.ts <= c.ts"
        " GROUP BY session_window(o.ts, '5 minutes')",
        "unbounded",
    ),
    (
        "spark",
        "SELECT COUNT(*) AS n FROM orders o JOIN clicks c ON o.ts <= c.ts"
        " GROUP BY session_window(c.ts, '5 minutes')",
        "bounded",
    ),
    # Sub-queries that speak of the rows around them.
    (
        "flink",
        "SELECT o.id, p.place FROM orders o,"
        " LATERAL (SELECT place FROM parcels WHERE order_id = o.id ORDER BY place LIMIT 3) p",
        "unbounded",
    ),
    (
        "postgres",
        "SELECT o.id, p.m FROM orders o CROSS JOIN LATERAL"
        " (SELECT MAX(q.id) AS m FROM parcels q WHERE q.order_id = o.id) p",
        "unbounded",
    ),
    (
        "postgres",
        "SELECT o.id, p.place FROM orders o LEFT JOIN LATERAL (SELECT q.place FROM parcels q"
        " WHERE q.order_id = o.id AND q.ts <= o.ts ORDER BY q.ts DESC LIMIT 1) p ON true",
        "unbounded",
    ),
    (
        "postgres",
        "SELECT o.id, p.place FROM orders o LEFT JOIN LATERAL (SELECT q.place FROM parcels q"
        " WHERE q.order_id = o.id AND q.ts <= o.ts ORDER BY q.ts DESC LIMIT 1) p ON true WHERE o.id"
        " IN (7, 8)",
        "bounded",
    ),
    (
        "postgres",
        "SELECT o.id FROM orders o JOIN LATERAL (SELECT q.id FROM parcels q WHERE q.order_id = o.id"
        " AND q.ts BETWEEN o.ts - INTERVAL '10 minutes' AND o.ts) p ON true",
        "bounded",
    ),
    ("postgres", "SELECT id, (SELECT MAX(n) FROM clicks c WHERE c.usr = o.who) FROM orders o", "unbounded"),
    ("postgres", "SELECT id FROM orders WHERE total > (SELECT AVG(n) FROM clicks)", "unbounded"),
    (
        "postgres",
        "SELECT id FROM orders WHERE total = (SELECT MIN(n) FROM clicks WHERE usr = who)",
        "unbounded",
    ),
    ("feldera", "SELECT COUNT(*), (SELECT COUNT(*) FROM things) FROM orders WHERE id = 4", "bounded"),
    # What uses a sub-query that must remember its keys.
    ("spark", "SELECT COUNT(*) FROM (SELECT DISTINCT usr FROM clicks)", "unbounded"),
    ("spark", "SELECT COUNT(*) FROM (SELECT DISTINCT n FROM clicks WHERE n BETWEEN 2 AND 6)", "bounded"),
    (
        "flink",
        "SELECT a.who, AVG(a.best) FROM (SELECT o.who, MAX(p.id) AS best FROM orders o, parcels p"
        " WHERE p.order_id = o.id AND p.ts >= o.ts GROUP BY o.id, o.who) a GROUP BY a.who",
        "unbounded",
    ),
    (
        "risingwave",
        "SELECT o.id, c.n FROM orders o JOIN (SELECT order_id, COUNT(*) AS n FROM parcels GROUP BY"
        " order_id) c"
        " ON c.order_id = o.id",
        "unbounded",
    ),
    (
        "risingwave",
        "SELECT x.id, x.p, y.c FROM (SELECT o.id, SUM(p.id) AS p FROM orders o LEFT JOIN parcels p"
        " ON p.order_id = o.id GROUP BY o.id) x JOIN (SELECT n, COUNT(*) AS c FROM clicks GROUP BY n) y"
        " ON x.id = y.n",
        "unbounded",
    ),
    ("spark", "SELECT usr, COUNT(*) AS c FROM clicks GROUP BY usr ORDER BY c DESC LIMIT 5", "unbounded"),
    (
        "spark",
        "SELECT n, COUNT(*) AS c FROM clicks WHERE n IN (1, 2) GROUP BY n ORDER BY c DESC LIMIT 5",
        "bounded",
    ),
    (
        "flink",
        "SELECT page, AVG(n) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY ts DESC) AS r"
        " FROM clicks) WHERE r = 1 GROUP BY page",
        "unbounded",
    ),
    (
        "flink",
        "SELECT usr, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY ts DESC) AS r"
        " FROM clicks) WHERE r = 1 AND n > 9",
        "unbounded",
    ),
    (
        "ksql",
        "SELECT k, COUNT(*) FROM (SELECT c.page AS k, c.n FROM clicks c LEFT JOIN rates r ON c.page = r.cur)"
        " GROUP BY k",
        "unbounded",
    ),
    (
        "ksql",
        "SELECT c.usr, e.rate FROM clicks c JOIN rates d ON c.usr = d.cur JOIN rates e ON d.rate = e.cur",
        "unbounded",
    ),
    ("spark", "SELECT MAX(c) FROM (SELECT usr, MAX(n) AS c FROM clicks GROUP BY usr)", "unknown"),
    # What is shown of a window function.
    (
        "risingwave",
        "SELECT usr, ROUND(AVG(n) OVER (PARTITION BY usr ORDER BY ts ROWS BETWEEN 4 PRECEDING AND"
        " CURRENT ROW), 1)"
        " FROM clicks",
        "unbounded",
    ),
    (
        "risingwave",
        "SELECT usr, CASE WHEN n > LAG(n) OVER (PARTITION BY usr ORDER BY ts) THEN 'up' ELSE 'no'"
        " END FROM clicks",
        "unbounded",
    ),
    (
        "risingwave",
        "SELECT usr, CASE WHEN COUNT(*) OVER (PARTITION BY usr ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING"
        " AND CURRENT ROW) > 0 THEN 1 ELSE 0 END FROM clicks",
        "unknown",
    ),
    (
        "spark",
        "SELECT usr, AVG(n) OVER (PARTITION BY usr ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)"
        " - AVG(n) OVER (PARTITION BY usr ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM clicks",
        "unknown",
    ),
    (
        "flink",
        "SELECT usr FROM (SELECT *, LAG(n) OVER (PARTITION BY usr ORDER BY ts) AS b FROM clicks) WHERE n > b",
        "unbounded",
    ),
    (
        "flink",
        "SELECT usr FROM (SELECT *, LAG(n) OVER (PARTITION BY n ORDER BY ts) AS b FROM clicks"
        " WHERE n IN (1, 2)) WHERE n > b",
        "bounded",
    ),
    # Values that are computed.
    (
        "timeplus",
        "SELECT a.t, b.t FROM (SELECT doc:id::int AS id, doc:t AS t FROM clicks) a"
        " JOIN (SELECT doc:of::int AS id, doc:t AS t FROM clicks) b ON a.id = b.id",
        "unbounded",
    ),
    ("materialize", "SELECT DISTINCT doc->>'a', (doc->>'b')::int FROM clicks", "unbounded"),
    ("materialize", "SELECT doc->'a', doc->'a'->>'b', COUNT(*) FROM clicks GROUP BY 1, 2", "unbounded"),
    ("flink", "SELECT usr, UPPER(usr), COUNT(*) FROM clicks GROUP BY usr, UPPER(usr)", "unbounded"),
    (
        "risingwave",
        "SELECT x, window_start, window_end, COUNT(*) FROM TUMBLE(things, at, INTERVAL '2 MINUTES')"
        " GROUP BY x, window_start, window_end",
        "unbounded",
    ),
    (
        "spark",
        "SELECT o.id, p.place FROM orders o JOIN parcels p ON p.order_id = o.id AND o.id % 4 = 1",
        "unbounded",
    ),
    (
        "spark",
        "SELECT o.id FROM orders o JOIN parcels p ON p.order_id = o.id WHERE o.id % 2 = 1 AND o.id"
        " BETWEEN 2 AND 2",
        "bounded",
    ),
    (
        "feldera",
        "SELECT x FROM things WHERE at >= DATE '2020-02-29' AND at < DATE '2020-02-29' + INTERVAL '1' YEAR",
        "bounded",
    ),
    ("feldera", "SELECT x, y, COUNT(*) FROM things GROUP BY (x, y)", "unbounded"),
    (
        "postgres",
        "SELECT o.id FROM orders o JOIN parcels p ON p.order_id IS NOT DISTINCT FROM o.id",
        "unbounded",
    ),
    ("postgres", "SELECT id FROM orders WHERE who IS DISTINCT FROM 'me'", "bounded"),
    ("ksql", "SELECT usr, EXPLODE(SPLIT(doc, ';')) AS word FROM clicks EMIT CHANGES", "bounded"),
    # Groups.
    (
        "spark",
        "SELECT n, COUNT(*) FROM clicks GROUP BY n HAVING n BETWEEN 3 AND 5 AND COUNT(*) > 1",
        "bounded",
    ),
    (
        "spark",
        "SELECT usr, page, COUNT(*) FROM clicks GROUP BY GROUPING SETS ((usr), (page), ())",
        "unbounded",
    ),
    ("spark", "SELECT n, page, MAX(usr) FROM clicks WHERE n = 1 GROUP BY ROLLUP(n, page)", "unbounded"),
    ("spark", "SELECT n, COUNT(*) FROM clicks WHERE n = 1 GROUP BY CUBE(n)", "bounded"),
    ("spark", "SELECT BIT_AND(n), BIT_XOR(n) FROM clicks", "bounded"),
    ("spark", "SELECT BIT_AND(o.id) FROM orders o, parcels p WHERE o.total < p.id", "unknown"),
    (
        "risingwave",
        "SELECT * FROM (SELECT who, AVG(total) AS a, AVG(id) AS b FROM orders GROUP BY who) WHERE a"
        " > 3 OR b > 4",
        "unbounded",
    ),
    # Windows and the present time.
    (
        "risingwave",
        "SELECT usr, n FROM (SELECT usr, n, RANK() OVER (PARTITION BY window_end ORDER BY n DESC) AS r"
        " FROM TUMBLE(clicks, ts, INTERVAL '10' SECOND)) w WHERE r <= 2",
        "bounded",
    ),
    (
        "risingwave",
        "SELECT clicks.usr, COUNT(*) FROM HOP(clicks, ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)"
        " GROUP BY clicks.usr, window_start",
        "bounded",
    ),
    (
        "arroyo",
        "SELECT window.start, c FROM (SELECT SESSION(interval '9 seconds') AS window, usr, count(*) AS c"
        " FROM clicks GROUP BY window, usr)",
        "bounded",
    ),
    (
        "arroyo",
        "SELECT w, COUNT(*) FROM (SELECT page || '!' AS w FROM clicks) GROUP BY w, tumble(interval"
        " '1 minute')",
        "bounded",
    ),
    (
        "flink",
        "SELECT k, COUNT(*) FROM (SELECT usr AS k, PROCTIME() AS p FROM clicks)"
        " GROUP BY k, TUMBLE(p, INTERVAL '1' MINUTE)",
        "bounded",
    ),
    (
        "flink",
        "SELECT c.n, r.rate FROM (SELECT *, PROCTIME() AS p FROM clicks WHERE usr IN ('a', 'b')) c"
        " JOIN rates FOR SYSTEM_TIME AS OF c.p AS r ON c.usr = r.cur",
        "bounded",
    ),
    (
        "risingwave",
        "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM parcels p WHERE p.order_id = o.id"
        " AND p.ts > NOW() - INTERVAL '1 hour')",
        "unbounded",
    ),
    (
        "risingwave",
        "SELECT o.id, c.n FROM orders o JOIN (SELECT order_id, COUNT(*) AS n FROM parcels"
        " WHERE ts > NOW() - INTERVAL '1 hour' GROUP BY order_id) c ON c.order_id = o.id",
        "unbounded",
    ),
    ("feldera", "SELECT o.id, NOW(), p.place FROM orders o JOIN parcels p ON p.order_id = o.id", "unbounded"),
    # Patterns of rows.
    (
        "flink",
        "SELECT * FROM clicks MATCH_RECOGNIZE (PARTITION BY usr ORDER BY ts MEASURES LAST(B.n) AS m"
        " PATTERN (A+ B) DEFINE A AS A.n > 1, B AS B.n < 1)",
        "unbounded",
    ),
    (
        "flink",
        "SELECT * FROM clicks MATCH_RECOGNIZE (PARTITION BY usr ORDER BY ts MEASURES B.n AS m"
        " PATTERN (A C* B) WITHIN INTERVAL '5' MINUTE DEFINE A AS A.n > 1)",
        "bounded",
    ),
    (
        "flink",
        "SELECT * FROM (SELECT * FROM clicks WHERE page = 'a') MATCH_RECOGNIZE (PARTITION BY page ORDER BY ts"
        " MEASURES B.n AS m PATTERN (A B) DEFINE A AS A.n > 1)",
        "unknown",
    ),
    # What it measures need not be shown: a row of it is a match.
    (
        "flink",
        "SELECT usr FROM clicks MATCH_RECOGNIZE (PARTITION BY usr ORDER BY ts MEASURES B.n AS m"
        " PATTERN (A B) DEFINE A AS A.n > 1)",
        "unbounded",
    ),
    (
        "flink",
        "SELECT 1 AS x FROM (SELECT * FROM clicks WHERE page = 'a') MATCH_RECOGNIZE (PARTITION BY page"
        " ORDER BY ts MEASURES B.n AS m PATTERN (A B) DEFINE A AS A.n > 1)",
        "unknown",
    ),
]


@pytest.mark.parametrize(("dialect", "sql", "verdict"), CASES, ids=str)
def test_the_verdict_of_a_shape(dialect: str, sql: str, verdict: str) -> None:
    report = check(sql, CATALOG, suggest=False, dialect=dialect)
    assert report.error is None, report.error
    assert report.verdict == verdict, report.reasons


@pytest.mark.parametrize("sql", ["SELECT usr FROM {}", "SELECT usr, COUNT(*) AS n FROM {} GROUP BY usr"])
def test_a_pattern_has_no_plan_yet_and_says_so(sql: str) -> None:
    pattern = (
        "(SELECT * FROM clicks WHERE usr IN ('a', 'b')) MATCH_RECOGNIZE (PARTITION BY usr ORDER BY ts"
        " MEASURES B.n AS m PATTERN (A B) WITHIN INTERVAL '5' MINUTE DEFINE A AS A.n > 1)"
    )
    report = check(sql.format(pattern), CATALOG, suggest=False, dialect="flink")
    assert (report.verdict, report.units) == ("bounded", None)
    assert report.unplanned == "MATCH_RECOGNIZE is decided, and cannot be evaluated yet"


SCRIPTS = [
    (
        "flink",
        "CREATE TABLE log (ip STRING, at AS PROCTIME()) WITH ('connector' = 'faker');"
        "SELECT COUNT(DISTINCT ip) FROM log GROUP BY TUMBLE(at, INTERVAL '1' MINUTE)",
        "bounded",
    ),
    (
        "flink",
        "CREATE TABLE raw (kind INT, a ROW<id BIGINT, name STRING, at TIMESTAMP(3)>, b ROW<of"
        " BIGINT, v BIGINT>,"
        " ts AS CASE WHEN kind = 0 THEN a.at END, WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka');"
        "CREATE VIEW owner AS SELECT a.id, a.name, ts FROM raw WHERE kind = 0;"
        "CREATE VIEW event AS SELECT b.of, b.v, ts FROM raw WHERE kind = 1;"
        "SELECT o.name, e.v FROM owner o JOIN event e ON e.of = o.id",
        "unbounded",
    ),
    (
        "feldera",
        "CREATE TABLE c (id BIGINT NOT NULL PRIMARY KEY, lat DOUBLE);"
        "CREATE TABLE t (ts TIMESTAMP LATENESS INTERVAL 1 MINUTES, c BIGINT, lat DOUBLE);"
        "CREATE VIEW far AS SELECT t.*, DISTANCE(t.lat, c.lat) AS d FROM t LEFT JOIN c ON t.c = c.id;"
        "SELECT c, SUM(CASE WHEN d > 9 THEN 1 END) OVER (PARTITION BY c ORDER BY ts"
        " RANGE BETWEEN INTERVAL 1 DAYS PRECEDING AND CURRENT ROW) FROM far",
        "unknown",
    ),
    (
        "feldera",
        "CREATE TABLE a (id k NOT NULL PRIMARY KEY, up BIGINT FOREIGN KEY REFERENCES a(id), v INT);"
        "SELECT up, v FROM a UNION SELECT v, up FROM a",
        "unknown",
    ),
]


@pytest.mark.parametrize(("dialect", "sql", "verdict"), SCRIPTS, ids=str)
def test_the_verdict_of_a_script(dialect: str, sql: str, verdict: str) -> None:
    name = named_queries(sql, Catalog(()), dialect)[-1]
    report = check(sql, Catalog(()), suggest=False, dialect=dialect, query=name)
    assert report.error is None, report.error
    assert report.verdict == verdict, report.reasons


@pytest.mark.parametrize(
    ("dialect", "sql", "said"),
    [
        (
            "spark",
            "SELECT SUM(n) OVER (ORDER BY ts ROWS BETWEEN usr PRECEDING AND CURRENT ROW) FROM clicks",
            "a frame begins or ends usr from its row",
        ),
        (
            "spark",
            "SELECT SUM(n) OVER (ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 2 PRECEDING) FROM clicks",
            "a frame ends before it begins, so it has no rows",
        ),
        (
            "spark",
            "SELECT SUM(n) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM clicks",
            "a frame ends before it begins, so it has no rows",
        ),
        (
            "spark",
            "SELECT SUM(n) OVER (PARTITION BY usr RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW)"
            " FROM clicks",
            "a frame by RANGE begins or ends so far from its row, and the rows have no order",
        ),
        ("duckdb", "SELECT * FROM orders ASOF JOIN parcels", "an as-of join has no condition"),
    ],
)
def test_mistakes_are_told(dialect: str, sql: str, said: str) -> None:
    error = check(sql, CATALOG, suggest=False, dialect=dialect).error
    assert error is not None and error.message == said and error.location is not None


def test_a_session_of_other_keys_than_those_of_its_groups_has_no_verdict() -> None:
    of, by = "SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR)", "usr, window_start, window_end"
    error = check(
        f"SELECT usr, COUNT(*) AS n FROM TABLE({of}) GROUP BY {by}", CATALOG, suggest=False, dialect="flink"
    ).error
    assert isinstance(error, UnsupportedError) and error.location is not None
    assert [one.construct for one in error.blockers] == ["a session of other keys than GROUP BY"]
    assert error.fix is not None and "PARTITION BY" in error.fix


def test_a_filter_over_both_sides_of_a_join_is_evaluated() -> None:
    streams = {name: {"columns": {"k": "int", "v": "int", "at": "int"}, "timestamp": "at"} for name in "st"}
    sql = (
        "SELECT s.v, t.v AS w FROM s JOIN t ON s.k = t.k AND s.at = t.at WHERE ABS(s.v - t.v) > 2 AND s.k > 0"
    )
    rows = [("s", 1, 1, 5), ("t", 1, 1, 2), ("t", 1, 1, 3), ("s", 2, 0, 9), ("t", 2, 0, 1), ("t", 3, 1, 1)]
    events = [{"stream": name, "at": at, "k": k, "v": v} for name, at, k, v in rows]
    answers = evaluate(sql, catalog_from_mapping(streams), events)["answers"]
    assert [(answer["row"], answer["count"]) for answer in answers] == [([5, 2], 1)]


def test_only_what_is_refused_is_named() -> None:
    sql = "SELECT usr LIKE 'a%', COALESCE(n, 1), COUNT(*) FROM clicks TABLESAMPLE (5 PERCENT) GROUP BY 1, 2"
    error = check(sql, CATALOG, suggest=False).error
    assert isinstance(error, UnsupportedError)
    assert [one.construct for one in error.blockers] == ["TABLESAMPLE"]
