"""Rewrites of known queries: which rules, which SQL, what is kept, and why there is none."""

from __future__ import annotations

import builtins
import re

import pytest
import sqlglot

from streambound.compiler import compile
from streambound.errors import PlanError, QueryError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.rewrites.program import program
from streambound.rewrites.rewrite import Rewrite, rewrite
from streambound.rewrites.targets import TARGETS, target

KINDS = {"A": "int", "B": "int", "ts": "timestamp"}
CATALOG = catalog_from_mapping(
    {
        "S": {"columns": KINDS, "timestamp": "ts"},
        "T": {"columns": KINDS, "timestamp": "ts"},
        "U": {"columns": KINDS, "timestamp": "ts"},
        "Order Lines": {"columns": {"A": "int", "from": "int", "two words": "int"}},
    }
)
BOTH = "SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.A AND S.B < T.B WHERE S.A > 10 AND S.A < 20"
ORDER = "SELECT S.A FROM S JOIN T ON S.A = T.A WHERE S.ts > T.ts AND S.A BETWEEN 1 AND 9"


def of(sql: str, engine: str, catalog: Catalog = CATALOG) -> Rewrite:
    return rewrite(compile(sql, catalog), engine)


def test_one_group_by_joins_on_spark() -> None:
    made = of(BOTH, "spark")
    text = """
    SELECT u.A FROM (
      SELECT u.A, MIN(u.B) AS B, MAX(u.B2) AS B2 FROM (
        SELECT S.A, S.B, CAST(NULL AS INT) AS B2 FROM S WHERE S.A > 10 AND S.A < 20 AND S.B IS NOT NULL
        UNION ALL
        SELECT T.A, CAST(NULL AS INT) AS B, T.B AS B2 FROM T WHERE T.A <= 19 AND T.A >= 11 AND T.B IS NOT NULL
      ) AS u GROUP BY u.A
    ) AS u WHERE u.B < u.B2
    """
    assert made.sql == sqlglot.transpile(text, read="spark", write="spark", pretty=True)[0].replace(
        "NOT S.B IS NULL", "S.B IS NOT NULL"
    ).replace("NOT T.B IS NULL", "T.B IS NOT NULL")
    assert (made.rules, made.units, made.keys) == (("R2",), 18, ("A",))
    assert made.note.startswith("run it in update mode")


def test_aggregates_stand_below_the_join_with_every_filter_on_flink() -> None:
    made = of(BOTH, "flink")
    text = str(made.sql)
    assert made.rules == ("R1",)
    assert text.count("GROUP BY") == 2
    # That T.A lies there follows through the join, which no engine infers below an aggregate.
    assert "T.A <= 19 AND T.A >= 11" in text


@pytest.mark.parametrize(
    ("sql", "engine", "rules"),
    [
        ("SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9", "spark", ("R3",)),
        ("SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9", "risingwave", ("R3",)),
        ("SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9", "materialize", ("R1",)),
        ("SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 9", "feldera", ("R5",)),
        (ORDER, "flink", ("R4",)),
        (ORDER.replace("SELECT", "SELECT DISTINCT"), "spark", ("R2",)),
        (
            "SELECT S.A FROM S JOIN T ON S.A = T.A JOIN U ON S.A = U.A WHERE T.ts >= S.ts AND U.ts >= T.ts"
            " AND U.ts <= S.ts + INTERVAL '1' HOUR",
            "flink",
            ("R6",),
        ),
        ("SELECT date_trunc('HOUR', ts) h, COUNT(*) n FROM S GROUP BY 1", "flink", ("R7",)),
        ("SELECT date_trunc('HOUR', ts) h, COUNT(*) n FROM S GROUP BY 1", "spark", ("R7",)),
        ("SELECT DISTINCT A, ts FROM S", "flink", ("R8",)),
        ("SELECT DISTINCT x.A FROM S x, S y WHERE x.A = y.A AND x.A BETWEEN 1 AND 9", "spark", ("R0",)),
    ],
)
def test_the_plan_says_which_rules(sql: str, engine: str, rules: tuple[str, ...]) -> None:
    assert of(sql, engine).rules == rules


@pytest.mark.parametrize(
    ("sql", "engine"),
    [
        ("SELECT A FROM S WHERE B > 3", "spark"),
        ("SELECT S.A FROM S JOIN T ON S.A = T.A WHERE S.A BETWEEN 1 AND 9", "flink"),
        ("SELECT S.A FROM S JOIN T ON S.A = T.A AND S.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR", "spark"),
        ("SELECT S.A FROM S JOIN T ON S.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR", "flink"),
        ("SELECT A, COUNT(*) FROM S WHERE A BETWEEN 1 AND 9 GROUP BY A", "spark"),
        ("SELECT DISTINCT A FROM S WHERE A BETWEEN 1 AND 9", "spark"),
        ("SELECT DISTINCT A, ts FROM S", "spark"),
    ],
)
def test_what_keeps_its_bound_stays_as_it_is(sql: str, engine: str) -> None:
    made = of(sql, engine)
    assert (made.sql, made.rules) == (sql, ())
    assert made.note.startswith("nothing to rewrite")


@pytest.mark.parametrize(
    ("sql", "engine", "why"),
    [
        (ORDER, "spark", "counts no earlier rows"),
        ("SELECT S.A FROM S JOIN T ON S.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR", "spark", "equality"),
        ("SELECT S.A FROM S JOIN T ON S.A = T.A", "spark", "the query is unbounded"),
        (BOTH, "ksqldb", "neither sub-queries"),
        (
            "SELECT date_trunc('HOUR', ts) h, COUNT(*) n FROM S GROUP BY 1",
            "materialize",
            "a time is in the key",
        ),
        ("SELECT ts, COUNT(*) n FROM S GROUP BY ts", "flink", "a timestamp is in the key"),
        (
            "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A = 2 AND (S.A < 1 OR T.A > 5)",
            "spark",
            "always empty",
        ),
        (
            "SELECT S.A, COUNT(*) FROM S, T WHERE S.A = T.A AND S.A = 2 AND (S.A < 1 OR T.A > 5) GROUP BY 1",
            "spark",
            "never changes",
        ),
        (
            "SELECT A, COUNT(DISTINCT B) FROM S WHERE A = 1 AND B BETWEEN 1 AND 9 GROUP BY A",
            "spark",
            "refuses",
        ),
        (
            "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 20000 AND T.B BETWEEN 1 AND 20000"
            " AND S.B BETWEEN 1 AND 20000 AND S.B < T.B",
            "spark",
            "at most 10,000",
        ),
    ],
)
def test_a_refusal_says_why(sql: str, engine: str, why: str) -> None:
    made = of(sql, engine)
    assert made.sql is None
    assert why in str(made.refused)


def test_a_query_without_a_plan_is_told_as_everywhere() -> None:
    sql = "SELECT SHA2(T.B, 256) AS B FROM S JOIN T ON S.A = T.A AND S.ts < T.ts WHERE S.A BETWEEN 1 AND 9"
    why = "bounded, but it cannot be evaluated yet: (SHA2(B, 256)) is decided"
    assert str(of(sql, "flink").refused).startswith(why)
    with pytest.raises(PlanError, match=re.escape(why)):
        program(compile(sql, CATALOG))


def test_the_same_row_of_two_selects_is_told_apart() -> None:
    join = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND"
    made = of(f"{join} 5 UNION ALL {join} 9", "spark")
    assert (made.further, made.keys, made.number) == (("part",), ("A", "part"), "n")
    assert "add up n over rows with the same (A)" in made.note


def test_a_refusal_says_what_to_do_instead() -> None:
    assert of(ORDER, "spark").instead == (
        "streambound run query --live",
        "streambound rewrite query --for spark --as pyspark",
    )
    assert of("SELECT S.A FROM S JOIN T ON S.A = T.A", "spark").instead == ()


def test_groups_with_the_same_answer_are_one_row_where_aggregates_chain() -> None:
    sql = "SELECT DISTINCT 1 AS one FROM S, T, U WHERE S.A = T.A AND S.B < U.B AND S.A BETWEEN 1 AND 3"
    made = of(sql, "risingwave")
    assert "SELECT DISTINCT" in str(made.sql) and made.further == ()
    assert of(sql, "spark").further == ("A",)


def test_answer_columns_are_called_as_they_are_in_the_query() -> None:
    made = of("SELECT DISTINCT S.A, S.A AS `a.b`, 1.5 FROM S, T WHERE S.A = T.A AND S.A IN (1, 2)", "spark")
    assert made.columns == ("A", "a.b", "1.5")


@pytest.mark.parametrize("engine", ["spark", "flink", "risingwave", "materialize", "feldera"])
def test_names_are_in_quotes_where_they_need_them(engine: str) -> None:
    sql = "SELECT DISTINCT x.`from` FROM `Order Lines` x, S"
    sql += " WHERE x.`two words` < S.B AND x.`from` BETWEEN 1 AND 9"
    text = str(of(sql, engine).sql)
    mark = "`" if engine in ("spark", "flink") else '"'
    assert all(f"{mark}{name}{mark}" in text for name in ("Order Lines", "two words", "from"))
    # Names are folded there, so that A would be a.
    assert ('"A"' in str(of(BOTH, engine).sql)) == (mark == '"')


def test_there_are_as_many_engines_as_are_named() -> None:
    assert list(TARGETS) == ["spark", "flink", "risingwave", "materialize", "feldera", "ksqldb"]
    assert target("Flink") is TARGETS["flink"]
    with pytest.raises(QueryError, match="there are no rewrites for flonk"):
        target("flonk")


def test_a_program_is_one_of_python() -> None:
    text = program(compile(f'{ORDER}\n-- it\'s "that"\n', CATALOG, "in order"))
    found: dict[str, str] = {}
    body = text[text.index("SQL =") : text.index("# The queries")]
    exec(builtins.compile(body, "program", "exec"), found)
    assert found["SQL"].startswith(ORDER)
    builtins.compile(text, "program", "exec")
