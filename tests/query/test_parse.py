"""SQL to the model: what is accepted means what SQL says; what is not is refused by name and place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.errors import QueryError, StreamboundError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Filter
from streambound.query.parse import MAX_NESTING, MAX_SQL_CHARACTERS, parse, statement

CATALOG = catalog_from_mapping(
    {
        "S": {
            "columns": {
                "A": "int",
                "B": "int",
                "K": "string",
                "DAY": "date",
                "OK": "boolean",
                "P": "decimal(5,2)",
                "X": "double",
                "SEEN": "timestamp",
                "ts": "timestamp",
            },
            "timestamp": "ts",
        },
        "T": {"D": "int", "E": "int"},
        "U": {"A": "int"},
        "V": {"ts": "timestamp"},
        "W": {"columns": {"ts": "int"}, "timestamp": "ts"},
        "F": {"columns": {"A": "int"}, "kind": "finite"},
        "R": {"columns": {"K": "int"}, "kind": "static"},
    }
)
REJECTED = (Path(__file__).parent / "rejected.sql").read_text().splitlines()[1:]
CASES = [
    (sql, *re.fullmatch(r"-- (.*) @ ?(\d*)", rule).groups())
    for rule, sql in zip(REJECTED[::2], REJECTED[1::2], strict=True)
]  # type: ignore[union-attr]


@pytest.mark.parametrize(("sql", "message", "column"), CASES, ids=[sql or "nothing" for sql, _, _ in CASES])
def test_rejected_corpus(sql: str, message: str, column: str) -> None:
    with pytest.raises(QueryError) as caught:
        compile(sql, CATALOG, "the query")
    assert message in caught.value.message
    assert caught.value.subject == "the query"
    if column:
        assert caught.value.location is not None and caught.value.location.column == int(column)


def atoms(where: str, source: str = "S, T, V, W, W W2") -> list[str]:
    return [str(atom) for atom in parse(f"SELECT 1 FROM {source} WHERE {where}", CATALOG).where]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("S.A < D", ["S.A < T.D"]),
        ("5 > S.A", ["S.A < 5"]),
        ("S.A BETWEEN 1 AND T.D", ["S.A >= 1", "S.A <= T.D"]),
        ("S.A IN (1, 2, NULL)", ["S.A IN (1, 2)"]),
        ("S.A IN (NULL)", ["S.A IN (NULL)"]),
        ("(S.A = 1) AND ((S.B != 2))", ["S.A = 1", "S.B <> 2"]),
        ("S.A = NULL", ["S.A = NULL"]),
        ("1 < 2 AND TRUE", []),
        ("2 < 1", ["2 < 1"]),
        ("OK", ["S.OK = TRUE"]),
        ("DAY >= '2026-01-31'", ["S.DAY >= '2026-01-31'"]),
        ("S.X > -0.5", ["S.X > -0.5"]),
        ("s.a == 1", ["S.A = 1"]),
        ("S.ts < TIMESTAMP '2026-01-01 00:00:00'", ["S.ts < TIMESTAMP '2026-01-01 00:00:00'"]),
        ("S.ts > V.ts + INTERVAL 2 SECONDS", ["S.ts > V.ts + INTERVAL 2 SECONDS"]),
        ("S.ts < V.ts - INTERVAL 90 MINUTES", ["S.ts < V.ts - INTERVAL 90 MINUTES"]),
        ("S.ts < V.ts + INTERVAL 60 MINUTES", ["S.ts < V.ts + INTERVAL 1 HOUR"]),
        ("S.ts - INTERVAL 1 SECOND <= V.ts + INTERVAL '2' SECOND", ["S.ts <= V.ts + INTERVAL 3 SECONDS"]),
        ("INTERVAL 1 DAY + V.ts >= S.ts", ["V.ts >= S.ts - INTERVAL 1 DAY"]),
        ("W.ts <= W2.ts + 5 - 2", ["W.ts <= W2.ts + 3"]),
    ],
)
def test_conditions(where: str, expected: list[str]) -> None:
    assert atoms(where) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("NOT S.A < D", ["S.A >= T.D"]),
        ("NOT (S.A <= 10 OR NOT S.A < 20)", ["S.A > 10", "S.A < 20"]),
        ("NOT S.A NOT BETWEEN 1 AND 3", ["S.A >= 1", "S.A <= 3"]),
        ("S.A NOT IN (1, 2)", ["S.A <> 1", "S.A <> 2"]),
        ("S.A NOT IN (1, NULL)", ["S.A IN (1, NULL)"]),
        ("NOT (S.A = NULL)", ["S.A = NULL"]),
        ("S.A IS NULL", ["S.A IS NULL"]),
        ("S.A IS NOT NULL", ["S.A IS NOT NULL"]),
        ("NOT S.A IS NULL AND S.A > 1", ["S.A > 1"]),
        ("S.ts IS NOT NULL AND NOT NULL IS NOT NULL", []),
        ("S.ts IS NULL", ["S.ts IS NULL"]),
        ("NOT OK", ["S.OK = FALSE"]),
        ("OK IS TRUE", ["S.OK = TRUE"]),
        ("S.A = 1 OR 3 = S.A OR S.A IN (5)", ["S.A IN (1, 3, 5)"]),
        ("S.A = 1 OR 2 < 1 OR S.A = NULL", ["S.A = 1"]),
        ("S.A = 1 OR TRUE", []),
        ("S.A NOT IN (D, 1)", ["S.A <> T.D", "S.A <> 1"]),
    ],
)
def test_not_and_null_are_pushed_down(where: str, expected: list[str]) -> None:
    assert atoms(where) == expected


def test_what_is_null_is_projected_as_null() -> None:
    query = parse("SELECT A, B FROM S WHERE A IS NULL", CATALOG)
    assert [str(o.term) for o in query.select] == ["NULL", "S.B"]
    assert [name for name, _ in query.outputs] == ["A", "B"]


TWO_BLOCKS = [(False, 1), (True, 2)]


@pytest.mark.parametrize(
    ("sql", "blocks", "kinds"),
    [
        ("SELECT A FROM S UNION ALL SELECT D FROM T", [(False, 1), (False, 1)], ["int"]),
        ("SELECT A FROM S UNION SELECT DISTINCT D FROM T", [(True, 2)], ["int"]),
        ("SELECT A FROM S UNION ALL SELECT D FROM T UNION SELECT X FROM S", [(True, 3)], ["double"]),
        (
            "SELECT A FROM S UNION ALL (SELECT P FROM S UNION SELECT D FROM T)",
            [(False, 1), (True, 2)],
            ["decimal(38,2)"],
        ),
        ("SELECT NULL FROM S UNION ALL SELECT K FROM S", [(False, 1), (False, 1)], ["string"]),
    ],
)
def test_union_makes_blocks(sql: str, blocks: list[tuple[bool, int]], kinds: list[str]) -> None:
    found = statement(sql, CATALOG)
    assert [(b.ring.idempotent, len(b.selections)) for b in found.blocks] == blocks
    assert [kind.name for _, kind in found.outputs] == kinds


def test_a_join_condition_is_a_condition() -> None:
    query = parse("SELECT x.A FROM S AS x INNER JOIN T y ON x.A = y.D CROSS JOIN U WHERE y.E > 3", CATALOG)
    assert [str(a) for a in query.where] == ["x.A = y.D", "y.E > 3"]
    assert [o.alias for o in query.occurrences] == ["x", "y", "U"]


def test_doubles_compare_as_doubles_and_decimals_exactly() -> None:
    double, exact = parse("SELECT 1 FROM S WHERE X = 0.1 AND P = 0.1", CATALOG).where
    assert isinstance(double, Filter) and double.constant.value == 0.1
    assert isinstance(exact, Filter) and exact.constant.value * 10 == 1


def test_outputs_are_named_apart() -> None:
    query = parse("SELECT A, A, B AS A, 1, 'x' AS c FROM S", CATALOG)
    assert [o.name for o in query.select] == ["A", "A_2", "A_3", "1", "c"]


@pytest.mark.parametrize(
    "sql",
    ["SELECT A, 'x' FROM S", "SELECT A, `B` FROM S", "SELECT A /* A, FROM */ FROM S", "SELECT A, '' FROM S"],
)
def test_what_is_quoted_stands_between_the_comma_and_from(sql: str) -> None:
    assert parse(sql, CATALOG).occurrences[0].alias == "S"


def test_metadata_of_the_leading_comments() -> None:
    query = parse("-- owner: ops\n-- Cache-Size: 500\nSELECT A FROM S -- note: no\n", CATALOG)
    assert query.metadata == (("owner", "ops"), ("cache-size", "500"))


def test_the_place_is_that_of_the_second_line() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT A\nFROM S\nWHERE A < Q", CATALOG, "file.sql")
    assert str(caught.value).startswith("file.sql: line 3, column 11: no stream in FROM has a column Q")
    assert "    WHERE A < Q\n              ^" in str(caught.value)


def test_a_text_past_the_limit_is_refused() -> None:
    with pytest.raises(QueryError, match="characters"):
        parse("SELECT A FROM S" + " " * MAX_SQL_CHARACTERS, CATALOG)


def test_deep_nesting_is_refused_or_read() -> None:
    for depth in (50, 5_000):
        report = check("SELECT A FROM S WHERE " + "(" * depth + "A > 1" + ")" * depth, CATALOG, suggest=False)
        assert report.verdict in ("bounded", "invalid")


words = st.sampled_from(
    (
        "SELECT DISTINCT FROM WHERE AND OR NOT IN BETWEEN JOIN ON S T U A B D K ts , . ( ) * < <= = <> >",
        "1 2.5 NULL TRUE UNION ALL GROUP BY AS x DATE '2026-01-01' - + CASE WHEN END EXISTS LIKE IS",
    )
).flatmap(lambda words: st.sampled_from(words.split(" ")))


@given(st.lists(words, max_size=25).map(" ".join))
def test_words_in_any_order_raise_only_typed_errors(sql: str) -> None:
    assert check(sql, CATALOG, suggest=False).verdict in ("bounded", "unbounded", "unknown", "invalid")


@given(st.text(max_size=60))
def test_any_text_raises_only_typed_errors(text: str) -> None:
    for sql in (text, f"SELECT A FROM S WHERE {text}", f"SELECT {text} FROM S"):
        try:
            parse(sql, CATALOG)
        except StreamboundError as error:
            assert error.message


@pytest.mark.parametrize("kind", ["(", "NOT (", "(A = 2 OR NOT (B = 1 AND ", "(SELECT"])
def test_parentheses_are_read_to_a_named_depth(kind: str) -> None:
    def nested(depth: int) -> str:
        if kind == "(SELECT":
            return "(" * depth + "SELECT A FROM S" + ")" * depth
        times, inner = depth // kind.count("("), kind.count("(")
        return f"SELECT A FROM S WHERE {kind * times}A = 1{')' * inner * times}"

    catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}})
    assert statement(nested(MAX_NESTING), catalog).outputs
    with pytest.raises(QueryError, match="nested too deeply") as refused:
        statement(nested(MAX_NESTING + 2), catalog)
    assert refused.value.location is not None and f"{MAX_NESTING} parentheses" in str(refused.value)
    # What nests without parentheses ends at Python's own limit.
    with pytest.raises(QueryError, match="nested too deeply"):
        statement(f"SELECT A FROM S WHERE {'NOT ' * 20_000}A = 1", catalog)


def test_literals_follow_each_other_in_a_list() -> None:
    catalog = catalog_from_mapping({"S": {"A": "string"}})
    assert len(statement("SELECT 'a', 'b' FROM S", catalog).outputs) == 2
    for sql in ("SELECT 'a', FROM S", "SELECT 'a', -- 'b'\n FROM S"):
        with pytest.raises(QueryError, match="between the comma and FROM"):
            statement(sql, catalog)
