"""What is read of aggregates, window functions and expressions so that they can be computed."""

from __future__ import annotations

from typing import Any

import pytest

from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Column
from streambound.query.operators import Grouping, WindowCalls
from streambound.query.parse import read
from streambound.query.statement import Block

COLUMNS = {"ts": "timestamp", "a": "int", "b": "bigint", "p": "decimal(10,2)", "x": "double", "n": "string"}
CATALOG = catalog_from_mapping(
    {
        "s": {"columns": {**COLUMNS, "f": "boolean"}, "timestamp": "ts"},
        "t": {"columns": {"ts": "timestamp", "a": "int", "c": "int"}, "timestamp": "ts"},
    }
)


def block(sql: str, dialect: str = "spark") -> Block:
    return read(sql, CATALOG, dialect=dialect).statement.blocks[0]


def aggregates(shown: str, dialect: str = "spark") -> list[tuple[str, Any]]:
    then = block(f"SELECT {shown} FROM s", dialect).then
    assert isinstance(then, Grouping)
    return [(one.function, one.value) for one in then.aggregates]


def computed(sql: str, dialect: str = "spark") -> list[Column]:
    found = read(sql, CATALOG, dialect=dialect).statement.occurrences
    return list({c.name: c for o in found for c in o.relation.columns if c.of}.values())


@pytest.mark.parametrize(
    ("call", "dialect", "function"),
    [
        ("STDDEV(x)", "spark", "STDDEV_SAMP"),
        ("STDEV(x)", "azure", "STDDEV_SAMP"),
        ("STDEVP(x)", "azure", "STDDEV_POP"),
        ("VAR(x)", "azure", "VAR_SAMP"),
        ("VARIANCE(x)", "spark", "VAR_SAMP"),
        ("VAR_POP(x)", "postgres", "VAR_POP"),
        ("COUNT_IF(f)", "spark", "COUNT"),
        ("BOOL_AND(f)", "postgres", "BOOL_AND"),
        ("EVERY(f)", "spark", "BOOL_AND"),
        ("MAX(x)", "flink", "MAX"),
        ("FIRST_VALUE(n)", "flink", "FIRST"),
        ("FIRST(n)", "spark", "FIRST"),
        ("FIRST(n, true)", "spark", "FIRST IGNORE NULLS"),
        ("LATEST_BY_OFFSET(n)", "ksql", "LAST IGNORE NULLS"),
        ("LATEST_BY_OFFSET(n, false)", "ksql", "LAST OF SEVERAL"),
        ("FIRST(n) FILTER (WHERE f)", "spark", "FIRST FILTER"),
        ("SUM(a) FILTER (WHERE f)", "spark", "SUM"),
        ("ANY_VALUE(n)", "spark", "ANY_VALUE"),
        ("COLLECT_LIST(n)", "spark", "ARRAY_AGG"),
        ("ARRAY_AGG(n)", "postgres", "ARRAY_AGG"),
        ("APPROX_COUNT_DISTINCT(n)", "spark", "APPROX_COUNT_DISTINCT"),
    ],
)
def test_a_meaning_has_one_name_in_all_dialects(call: str, dialect: str, function: str) -> None:
    assert [name for name, _ in aggregates(f"{call} AS v", dialect)] == [function]


def test_the_value_of_the_row_that_is_chosen_is_kept() -> None:
    found = block("SELECT MAX_BY(n, b) AS v, MIN_BY(p, x) AS w FROM s")
    assert isinstance(found.then, Grouping)
    select = [str(o.term) for o in found.selections[0].base.select]
    chosen = [(a.function, select[a.value or 0], select[a.by or 0]) for a in found.then.aggregates]
    assert chosen == [("ARG_MAX", "s.n", "s.b"), ("ARG_MIN", "s.p", "s.x")]
    assert [kind.name for _, kind in found.outputs] == ["string", "decimal(10,2)"]


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        ("SUM(a)", "bigint"),
        ("SUM(p)", "decimal(38,2)"),
        ("SUM(x)", "double"),
        ("AVG(a)", "double"),
        ("COUNT(DISTINCT n)", "bigint"),
        ("MAX(p)", "decimal(10,2)"),
        ("COUNT(*) + 1", "bigint"),
        ("SUM(p) * 2", "decimal(38,2)"),
        ("SUM(a) / COUNT(*)", "double"),
        ("CONCAT(MAX(n), '!')", "string"),
    ],
)
def test_what_is_shown_has_the_type_of_what_is_computed(shown: str, kind: str) -> None:
    ((_, found),) = block(f"SELECT {shown} AS v FROM s").outputs
    assert found.name == kind


def test_what_is_shown_and_asked_of_groups_is_spark_sql_over_outputs_and_values() -> None:
    sql = "SELECT a, UPPER(n) || '!' AS u, ROUND(100.0 * SUM(b) / COUNT(*), 2) AS r FROM s GROUP BY a, n"
    then = block(f"{sql} HAVING COUNT(*) > 2 AND MAX(x) < 1.5").then
    assert isinstance(then, Grouping) and then.having is not None
    assert [one.formula for one in then.shown] == [
        None,
        "UPPER(o1) || '!'",
        "ROUND(100.0 * v0 / v1, 2)",
    ]
    assert then.having.formula == "(v1 > 2 AND v2 < 1.5)"


def test_the_dialect_says_what_a_quotient_is() -> None:
    for dialect, formula in [("spark", "v0 / v1"), ("flink", "v0 DIV v1"), ("postgres", "v0 DIV v1")]:
        then = block("SELECT SUM(a) / COUNT(*) AS q FROM s", dialect).then
        assert isinstance(then, Grouping)
        assert [one.formula for one in then.shown] == [formula]


def test_an_aggregate_over_several_streams_that_is_no_polynomial_has_a_formula() -> None:
    where = "FROM s JOIN t ON s.a = t.a AND s.ts = t.ts"
    then = block(f"SELECT MAX(s.b / t.c) AS m, SUM(s.b * t.c) AS q {where}").then
    assert isinstance(then, Grouping)
    assert [one.formula for one in then.aggregates] == ["o0 / o1", None]
    refused = block(f"SELECT MAX(LEVENSHTEIN(s.n, CAST(t.c AS STRING))) AS m {where}").then
    assert isinstance(refused, Grouping)
    assert [one.function for one in refused.aggregates] == ["MAX OF AN EXPRESSION"]


def test_window_functions_say_what_they_read_and_how_far_away() -> None:
    over = "OVER (PARTITION BY a ORDER BY ts)"
    calls = ["LAG(b, 2)", "LEAD(b)", "NTH_VALUE(b, 3)", "FIRST_VALUE(b)", "LAG(b, 1, 0)", "ROW_NUMBER()"]
    found = block(f"SELECT {', '.join(f'{c} {over} AS c{n}' for n, c in enumerate(calls))} FROM s")
    assert isinstance(found.then, WindowCalls)
    select = [str(o.term) for o in found.selections[0].base.select]
    said = [(o.name, [select[n] for n in o.arguments], o.offset) for o in found.then.functions]
    assert said == [
        ("LAG", ["s.b"], 2),
        ("LEAD", ["s.b"], 1),
        ("NTH_VALUE", ["s.b"], 3),
        ("FIRST_VALUE", ["s.b"], 1),
        ("LAG", ["s.b"], 1),
        ("ROW_NUMBER", [], 1),
    ]
    defaulted = found.then.functions[4].aggregate
    assert defaulted is not None and defaulted.function == "LAG with a default"


MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("sql", "dialect", "formulas", "slides"),
    [
        (
            "SELECT COUNT(*) FROM s GROUP BY window(ts, '10 minutes')",
            "spark",
            [f"WINDOW_START(`ts`, {10 * MINUTE})"],
            [None],
        ),
        (
            "SELECT w.end FROM (SELECT window(ts, '10 minutes') AS w FROM s) x",
            "spark",
            [f"WINDOW_END(`ts`, {10 * MINUTE})"],
            [None],
        ),
        (
            "SELECT window_start, window_end FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '5' MINUTES,"
            " INTERVAL '10' MINUTES))",
            "flink",
            [f"WINDOW_{end}(`ts`, {10 * MINUTE}, {5 * MINUTE})" for end in ("START", "END")],
            [5 * MINUTE] * 2,
        ),
        (
            "SELECT window_end FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '5' MINUTES,"
            " INTERVAL '10' MINUTES))",
            "flink",
            [f"WINDOW_END(`ts`, {10 * MINUTE}, {5 * MINUTE}, 1)"],
            [5 * MINUTE],
        ),
        (
            "SELECT a, COUNT(*) FROM s WINDOW HOPPING (SIZE 3 MINUTES, ADVANCE BY 1 MINUTE) GROUP BY a",
            "ksql",
            [f"WINDOW_START(`ts`, {3 * MINUTE}, {MINUTE})"],
            [MINUTE],
        ),
        (
            "SELECT a, COUNT(*) FROM s TIMESTAMP BY ts GROUP BY a, TumblingWindow(day, 1)",
            "azure",
            [f"WINDOW_START(`ts`, {24 * 60 * MINUTE})"],
            [None],
        ),
        ("SELECT window(ts, '1 hour', '1 hour', '5 minutes') FROM s", "spark", [None], [None]),
        ("SELECT date_trunc('hour', ts) FROM s", "spark", ["DATE_TRUNC('HOUR', `ts`)"], [None]),
    ],
)
def test_windows_keep_their_length_and_how_far_they_are_apart(
    sql: str, dialect: str, formulas: list[str | None], slides: list[int | None]
) -> None:
    found = computed(sql, dialect)
    assert [column.formula for column in found] == formulas
    assert [column.slide for column in found] == slides


@pytest.mark.parametrize(
    ("sql", "dialect", "said"),
    [
        ("SELECT LEVENSHTEIN(n, 'a') FROM s", "spark", "(LEVENSHTEIN(n, 'a'))"),
        # Half goes away from zero here, to the even one there, and is cut off elsewhere.
        ("SELECT CAST(x AS INT) FROM s", "postgres", "(CAST(x AS INT))"),
        # A backslash escapes in some dialects only.
        ("SELECT n LIKE '\\\\_%' FROM s", "spark", "(n LIKE '\\\\_%')"),
        ("SELECT SUBSTRING(n, -2) FROM s", "spark", "(SUBSTRING(n, -2))"),
        ("SELECT DATE_FORMAT(ts, 'EEE') FROM s", "spark", "(DATE_FORMAT(ts, 'EEE'))"),
        ("SELECT n = 1 FROM s", "spark", None),
    ],
)
def test_what_dialects_do_not_agree_on_is_not_evaluated(sql: str, dialect: str, said: str | None) -> None:
    found = read(sql, CATALOG, dialect=dialect).statement.unevaluated
    assert found is not None and "is decided, and cannot be evaluated yet" in found
    assert said is None or found.startswith(said)


def test_what_is_decided_and_not_computed_is_said_of_sub_queries_too() -> None:
    sql = "SELECT a, APPROX_COUNT_DISTINCT(n) AS v FROM s GROUP BY a"
    for text in (sql, f"SELECT v FROM ({sql}) WHERE v > 2"):
        why = read(text, CATALOG).statement.unevaluated
        assert why is not None and "APPROX_COUNT_DISTINCT at line 1" in why, text
