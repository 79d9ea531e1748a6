"""The SQL front end under a grammar: whatever is written, there is a verdict or a typed error.

``make fuzz`` runs this for ten minutes, seed after seed; the test run takes a sample.
"""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests import strategies

from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.report.verdicts import plan_text, verdict_text

CATALOG = catalog_from_mapping(
    {
        "S": {
            "columns": {
                "A": "int",
                "K": "string",
                "X": "double",
                "D": "date",
                "F": "boolean",
                "ts": "timestamp",
            },
            "timestamp": "ts",
            "not_null": ["X"],
            "domains": {"A": {"min": 0, "max": 9}},
        },
        "T": {
            "columns": {"A": "bigint", "P": "decimal(5,2)", "K": "string", "ts": "timestamp"},
            "timestamp": "ts",
        },
        "W": {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"},
        "U": {"A": "int", "B": "int"},
        "G": {"columns": {"A": "int"}, "kind": "finite"},
        "R": {"columns": {"A": "int", "K": "string"}, "kind": "static", "domains": {"A": {"values": [1, 2]}}},
    }
)
RELATIONS = ["S", "T", "W", "U", "G", "R", "s", "Nothing", "`S`", "db.S"]
COLUMNS = ["A", "K", "X", "D", "F", "P", "ts", "B", "a", "*", "`A`", "Z"]
NUMBERS = ["0", "-1", "1.5", "1e3", "1e999", "007", ".5", "9223372036854775808", "0x1F", "1L", "2.0BD", "NaN"]
TEXTS = ["''", "'a'", "'it''s'", '"A"', "'2026-01-31'", "r'\\n'", "X'1F'", "'\u00e9\u4e16'", "'--'", "'"]
TYPED = ["DATE '2026-01-31'", "DATE 'x'", "TIMESTAMP '2026-01-31 10:00:00'", "INTERVAL 10 MINUTES"]
ODD = ["NULL", "TRUE", "FALSE", "CURRENT_DATE", "?", ":p", "@v", "{{ ds }}", "$1", "INTERVAL '1' MONTH"]
COMPARE = ["<", "<=", "=", "==", "<>", "!=", ">=", ">", "<=>", "LIKE", "RLIKE", "IS DISTINCT FROM", "!<"]
NOISE = [
    *"().,;*+-/%|&^~!?:[]{}<>=@#$",
    "--",
    "/*",
    "*/",
    "\n",
    "\t",
    "\x00",
    "SELECT",
    "FROM",
    "WHERE",
    "AND",
    "NOT",
]


def pick(options: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(options)


@st.composite
def columns(draw: st.DrawFn) -> str:
    owner = draw(pick(["", "", "S.", "T.", "x.", "y.", "U.", "W.", "R.", "S.S."]))
    return owner + draw(pick(COLUMNS))


@st.composite
def operands(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.integers(0, 11))
    if kind < 6 or depth == 0:
        return draw(columns())
    if kind < 9:
        return draw(pick([*NUMBERS, *TEXTS, *TYPED, *ODD]))
    inner = draw(operands(depth - 1))
    if kind == 9:
        return f"{inner} {draw(pick(['+', '-', '*', '||', '%']))} {draw(operands(depth - 1))}"
    if kind == 10:
        return f"{draw(pick(['upper', 'count', 'CAST', 'coalesce', 'date_add', 'f']))}({inner}, {inner})"
    return draw(
        pick([f"({inner})", f"-{inner}", f"CASE WHEN {inner} THEN 1 END", f"{inner}[0]", f"{inner}::int"])
    )


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.integers(0, 9)) if depth else 9
    if kind < 3:
        join = draw(pick(["AND", "OR", "OR", "XOR", "&&"]))
        return f"({draw(conditions(depth - 1))}) {join} ({draw(conditions(depth - 1))})"
    if kind == 3:
        return f"NOT {draw(conditions(depth - 1))}"
    left = draw(operands(1))
    if kind == 4:
        return f"{left} IS {draw(pick(['', 'NOT ']))}{draw(pick(['NULL', 'TRUE', 'FALSE', 'UNKNOWN']))}"
    if kind == 5:
        return f"{left} {draw(pick(['', 'NOT ']))}BETWEEN {draw(operands(1))} AND {draw(operands(1))}"
    if kind == 6:
        members = draw(st.lists(operands(1), max_size=3))
        return f"{left} {draw(pick(['', 'NOT ']))}IN ({', '.join(members)})"
    if kind == 7:
        return draw(pick(["EXISTS", "A IN", "A = ANY", "A ="])) + f" ({draw(selects(0))})"
    return f"{left} {draw(pick(COMPARE))} {draw(operands(1))}"


@st.composite
def sources(draw: st.DrawFn) -> str:
    found = draw(pick(RELATIONS)) + draw(pick(["", "", " x", " AS y", " AS y(a)", " TABLESAMPLE (1 ROWS)"]))
    for _ in range(draw(st.integers(0, 3))):
        join = draw(
            pick([", ", ", ", " JOIN ", " LEFT JOIN ", " CROSS JOIN ", " NATURAL JOIN ", " LATERAL "])
        )
        found += join + draw(pick(RELATIONS)) + draw(pick(["", " x", " y"]))
        found += draw(pick(["", "", " ON x.A = y.A", " USING (A)", " ON TRUE"]))
    return found


@st.composite
def selects(draw: st.DrawFn, depth: int) -> str:
    outputs = draw(st.lists(operands(1), min_size=1, max_size=3))
    names = [o + draw(pick(["", "", "", " AS n", " n", " AS `a b`"])) for o in outputs]
    distinct = draw(pick(["", "", "DISTINCT ", "ALL ", "DISTINCT ON (A) "]))
    sql = f"SELECT {distinct}{', '.join(names)} FROM {draw(sources())}"
    if draw(st.integers(0, 4)):
        sql += f" WHERE {draw(conditions(depth))}"
    return sql + draw(
        pick([""] * 8 + [" LIMIT 3", " ORDER BY 1", " GROUP BY A", " HAVING A > 1", " OFFSET 1"])
    )


@st.composite
def statements(draw: st.DrawFn) -> str:
    sql = draw(pick([""] * 8 + ["-- owner: x\n", "/* c */ ", "WITH q AS (SELECT 1) ", "EXPLAIN "]))
    sql += draw(selects(3))
    for _ in range(draw(pick_count())):
        join = draw(pick(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION ALL BY NAME", "MINUS"]))
        member = draw(selects(1))
        sql += f" {join} " + draw(pick([member, f"({member})"]))
    return sql


def pick_count() -> st.SearchStrategy[int]:
    return st.sampled_from([0, 0, 0, 1, 2])


@st.composite
def torn(draw: st.DrawFn, sql: str) -> str:
    """A statement with words dropped, doubled, exchanged or put in."""
    words = sql.split(" ")
    for _ in range(draw(st.integers(0, 3))):
        position = draw(st.integers(0, len(words) - 1)) if words else 0
        change = draw(st.integers(0, 3))
        if change == 0:
            words[position : position + 1] = []
        elif change == 1:
            words[position:position] = words[position : position + 1]
        elif change == 2:
            words[position:position] = [draw(pick(NOISE))]
        else:
            words[position : position + 2] = reversed(words[position : position + 2])
    return " ".join(words)


MIXED = ("int", "double", "decimal(3,1)", "string", "boolean", "date")


@given(statements().flatmap(torn))
def test_every_text_has_a_verdict_or_a_typed_error(sql: str) -> None:
    _judged(sql, CATALOG)


@given(st.data())
def test_every_torn_query_has_a_verdict_or_a_typed_error(data: st.DataObject) -> None:
    case = data.draw(strategies.statements(MIXED) | strategies.cases(MIXED) | strategies.timed_cases())
    _judged(data.draw(torn(case.sql)), case.catalog)


def _judged(sql: str, catalog: Catalog) -> None:
    report = check(sql, catalog)
    assert report.verdict in ("bounded", "unbounded", "unknown", "invalid")
    assert json.loads(json.dumps(report.to_json()))["verdict"] == report.verdict
    assert report.verdict in verdict_text(report, sql)
    if report.verdict == "bounded":
        assert plan_text(compile(sql, catalog))
    if report.error is not None:
        assert report.error.message and (report.error.location is None or report.error.location.line >= 1)
