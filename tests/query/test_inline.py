"""Views, WITH, sub-queries, stars, USING and NATURAL: what is left has the answers that DuckDB gives."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random

import duckdb
import pytest
from tests.query.nested import TABLES, VALUES, Drawn, drawn

from streambound.compiler.report import check
from streambound.errors import UnsupportedError
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import NamedQuery, catalog_from_mapping
from streambound.query.dialects.guess import language_of
from streambound.query.model import Attribute
from streambound.query.parse import read
from streambound.query.parse.corpus import CorpusLine
from streambound.query.registry import metadata

STREAMS = {name: {"columns": dict.fromkeys(columns, "int")} for name, columns in TABLES.items()}
CATALOG = catalog_from_mapping(STREAMS)
SEEDS = 50
# What the generator draws and is refused.
REFUSED = ("DISTINCT in a sub-query", "the unions in FROM make")


def rows_of(r: Random) -> dict[str, list[tuple[int, ...]]]:
    return {
        name: [tuple(r.choice(VALUES) for _ in columns) for _ in range(r.choice([2, 3, 4]))]
        for name, columns in TABLES.items()
    }


def by_duckdb(query: Drawn, rows: dict[str, list[tuple[int, ...]]]) -> Counter[tuple[int, ...]]:
    with duckdb.connect() as connection:
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c} INTEGER' for c in columns)})")
            marks = ", ".join("?" for _ in columns)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
        for view in query.views:
            connection.execute(view)
        return Counter(connection.execute(query.sql).fetchall())


def by_definition(text: str, rows: dict[str, list[tuple[int, ...]]]) -> Counter[tuple[int, ...]]:
    events = [
        {"stream": name, **dict(zip(TABLES[name], row, strict=True))}
        for name, several in rows.items()
        for row in several
    ]
    found = evaluated(CorpusLine("q", text, CATALOG, tuple(events)), "reference")
    answers: Counter[tuple[int, ...]] = Counter()
    for answer in found["answers"]:
        answers[tuple(answer["row"])] += answer["count"]
    return answers


def bare(query: Drawn) -> str | None:
    """The query over streams alone; None where it is refused for what is not decided."""
    text = "; ".join((*query.views, query.sql))
    name = None if not query.views else f"query {len(query.views) + 1}"
    try:
        found = read(text, CATALOG, dialect="duckdb", query=name).statement
    except UnsupportedError as error:
        assert all(blocker.message.startswith(REFUSED) for blocker in error.blockers), f"{text}\n{error}"
        return None
    # A sub-query that is not written out is decided, and cannot be evaluated.
    return (found.bare or text) if found.plain else None


def compare(seed: int) -> bool:
    query = drawn(seed)
    text = bare(query)
    if text is None:
        return False
    rows = rows_of(Random(seed))
    assert by_definition(text, rows) == by_duckdb(query, rows), f"{query}\n{text}"
    return True


def test_nested_queries_have_the_answers_of_duckdb() -> None:
    decided = sum(compare(seed) for seed in range(SEEDS))
    assert decided > 0.6 * SEEDS


def looking(r: Random) -> str:
    """A query of which two conditions look into one stream, under one name."""
    conditions = []
    for _ in range(2):
        link = f"T.{r.choice('AC')} {r.choice(['=', '<', '<>'])} S.{r.choice('AB')}"
        word = r.choice(["", "NOT "])
        conditions.append(
            f"{word}EXISTS (SELECT 1 FROM T WHERE {link})"
            if r.random() < 0.7
            else f"S.A {word}IN (SELECT T.C FROM T WHERE T.A = S.B)"
        )
    return f"SELECT {r.choice(['', 'DISTINCT '])}S.A, S.B FROM S WHERE {' AND '.join(conditions)}"


def test_sub_queries_of_one_row_have_names_of_their_own() -> None:
    for seed in range(25):
        r = Random(seed)
        sql, rows = looking(r), rows_of(r)
        assert +by_definition(sql, rows) == by_duckdb(Drawn((), sql, ("A", "B")), rows), sql


@pytest.mark.heavy
def test_many_nested_queries_have_the_answers_of_duckdb() -> None:
    for seed in range(SEEDS, 20_000):
        compare(seed)


@pytest.mark.parametrize(
    ("nested", "plain"),
    [
        ("SELECT * FROM S", "SELECT A, B FROM S"),
        ("SELECT x.*, 1 AS one FROM S x", "SELECT A, B, 1 AS one FROM S x"),
        ("SELECT * EXCEPT (A) FROM S", "SELECT B FROM S"),
        ("SELECT * FROM S JOIN T USING (A)", "SELECT S.A, S.B, T.C FROM S, T WHERE S.A = T.A"),
        ("SELECT * FROM S NATURAL JOIN U", "SELECT S.B, S.A, U.C, U.D FROM S, U WHERE S.B = U.B"),
        ("SELECT y FROM (SELECT A AS y FROM S WHERE B = 1) x", "SELECT A FROM S WHERE B = 1"),
        ("WITH v(k) AS (SELECT A FROM S) SELECT DISTINCT k FROM v", "SELECT DISTINCT A FROM S"),
        ("SELECT DISTINCT A FROM (SELECT DISTINCT A, B FROM S) x", "SELECT DISTINCT A FROM S"),
        ("SELECT B, A FROM (SELECT DISTINCT A, B FROM S) x", "SELECT DISTINCT B, A FROM S"),
        ("SELECT A FROM S ORDER BY A", "SELECT A FROM S"),
        ("INSERT INTO o SELECT A FROM S WHERE A = 1", "SELECT A FROM S WHERE A = 1"),
        ("SELECT A FROM db.S", "SELECT A FROM S"),
        ("SELECT x.A FROM (S x JOIN T ON x.A = T.A)", "SELECT x.A FROM S x, T WHERE x.A = T.A"),
    ],
)
def test_a_nested_query_has_the_verdict_of_the_plain_one(nested: str, plain: str) -> None:
    one, other = check(nested, CATALOG, suggest=False), check(plain, CATALOG, suggest=False)
    assert one.error is None and other.error is None, one.error
    assert (one.verdict, one.units, one.projection) == (other.verdict, other.units, other.projection)


def test_places_are_those_of_the_text_that_the_user_wrote() -> None:
    sql = "WITH v AS (\n  SELECT A, B FROM S\n)\nSELECT DISTINCT x.B\nFROM v x JOIN T ON x.A = T.A"
    report = check(sql, CATALOG)
    assert report.verdict == "unbounded"
    lines = sql.split("\n")
    for reason in report.reasons:
        assert reason.location is not None
        said = lines[reason.location.line - 1][reason.location.column - 1 :][: reason.location.length]
        assert said in ("x.B", "x.A = T.A", "x.A", "T.A"), said


def test_suggestions_of_a_nested_query_are_bounded_queries_over_streams() -> None:
    report = check("CREATE VIEW v AS SELECT A, B FROM S; SELECT DISTINCT B FROM v", CATALOG, query="query 2")
    assert report.verdict == "unbounded" and report.suggestions
    for suggestion in report.suggestions:
        assert check(suggestion.sql, CATALOG).verdict == "bounded"


@pytest.mark.parametrize(
    ("dialect", "text", "column"),
    [
        # In quotes a name is itself; without them it is folded as the dialect does.
        ("risingwave", 'SELECT "X" FROM (SELECT A AS x, B AS "X" FROM S) q', "B"),
        ("risingwave", 'SELECT X FROM (SELECT A AS x, B AS "X" FROM S) q', "A"),
        ("ksql", "SELECT x FROM (SELECT A AS `x`, B AS X FROM S) q", "B"),
        ("ksql", "SELECT `x` FROM (SELECT A AS `x`, B AS X FROM S) q", "A"),
        ("flink", "SELECT x FROM (SELECT A AS x, B AS X FROM S) q", "A"),
        ("flink", "SELECT X FROM (SELECT A AS x, B AS X FROM S) q", "B"),
        ("spark", "SELECT X FROM (SELECT A AS x, B AS y FROM S) q", "A"),
        ("azure", "SELECT [X] FROM (SELECT A AS x, B AS y FROM S) q", "A"),
        ("flink", "SELECT `A` FROM `S`", "A"),
    ],
)
def test_names_are_folded_as_the_dialect_does(dialect: str, text: str, column: str) -> None:
    (output,) = read(text, CATALOG, dialect=dialect).statement.selections[0].base.select
    assert isinstance(output.term, Attribute) and output.term.column == column


@pytest.mark.parametrize(
    ("text", "dialect", "sign"),
    [
        ("SELECT A FROM S", "spark", None),
        ("SELECT A FROM S WHERE connector = 'x' -- EMIT CHANGES", "spark", None),
        ("SELECT A FROM S WHERE A = 'EMIT CHANGES'", "spark", None),
        ("SELECT A FROM S EMIT CHANGES", "ksql", "EMIT CHANGES"),
        ("-- dialect: duckdb\nSELECT A FROM S EMIT CHANGES", "duckdb", None),
        ("X := SELECT A FROM S", "sqrl", ":="),
        ("CREATE TABLE a (x INT) WITH ('connector' = 'k'); SELECT x FROM a", "flink", "WITH ( 'CONNECTOR ="),
        ("SELECT A FROM S TIMESTAMP BY A", "azure", "TIMESTAMP BY"),
        (
            "SELECT COUNT(*) FROM t GROUP BY hop(INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
            "arroyo",
            "HOP ( INTERVAL",
        ),
        ("SELECT window_end, max(v) FROM hop(t, ts, 1m, 5m) GROUP BY window_end", "timeplus", "5m"),
        ("SELECT v FROM t WHERE _tp_time > '2030-01-01'", "timeplus", "_TP_TIME"),
        ("SELECT COUNT(*) FROM TUMBLE(t, ts, INTERVAL '5 MINUTES') GROUP BY window_end", "spark", None),
    ],
)
def test_a_dialect_is_guessed_where_the_text_leaves_no_doubt(
    text: str, dialect: str, sign: str | None
) -> None:
    language, found = language_of(text, None, metadata(text))
    assert (language.name, found) == (dialect, sign)


def test_registered_queries_are_read_by_name_as_views_are() -> None:
    """A text with its views, and the same text beside its views, each of them a file of a registry."""
    decided = 0
    for seed in range(SEEDS):
        query = drawn(seed)
        if not query.views:
            continue
        files = {view.split()[2]: view for view in query.views}
        # A view that names no columns is as well the query alone.
        files = {n: v if f"{n} (" in v else v.partition(" AS ")[2] for n, v in files.items()}
        beside = replace(CATALOG, queries=tuple(NamedQuery(n, v) for n, v in files.items()))
        script = "; ".join([*query.views, f"INSERT INTO o {query.sql}"])
        one = check(script, CATALOG, query="o", suggest=False)
        other = check(query.sql, beside, suggest=False)
        assert (one.verdict, one.units) == (other.verdict, other.units), query
        if other.error is None:
            decided += 1
            left, right = read(query.sql, beside).statement, read(script, CATALOG, query="o").statement
            assert left.bare in (None, right.bare), query
    assert decided > SEEDS / 6


@pytest.mark.parametrize("dialect", ["spark", "ksql", "risingwave", "azure", "duckdb"])
def test_case_says_nothing_of_names_without_quotes_where_a_dialect_folds(dialect: str) -> None:
    for seed in range(SEEDS // 4):
        query, r = drawn(seed), Random(seed)
        script = "; ".join([*query.views, f"CREATE VIEW o AS {query.sql}"])
        names = {name: r.choice([name, name.upper()]) for name in re.findall(r"\bn\d+\b", script)}
        # Each mention of a name as it falls.
        parts = re.split(r"\b(n\d+)\b", script)
        flipped = "".join(r.choice([part, names[part]]) if part in names else part for part in parts)
        one = check(script, CATALOG, dialect=dialect, query="o", suggest=False)
        other = check(flipped, CATALOG, dialect=dialect, query="o", suggest=False)
        assert (one.verdict, one.units) == (other.verdict, other.units), (script, other.error)


OTHER = "SELECT A, B FROM S WHERE A BETWEEN 0 AND 2"


@pytest.mark.parametrize(
    ("text", "queries", "said"),
    [
        ("SELECT DISTINCT A FROM q", {"q": OTHER}, "bounded"),
        ("SELECT DISTINCT x.A FROM q x, q y WHERE x.A = y.A", {"q": OTHER}, "bounded"),
        # Whatever is nearer is meant.
        ("SELECT DISTINCT A FROM S", {"S": OTHER}, "unbounded"),
        ("WITH q AS (SELECT A FROM S) SELECT DISTINCT A FROM q", {"q": OTHER}, "unbounded"),
        # A view of the text has no part in what another text reads, nor has one of that text in this one.
        (
            "WITH p AS (SELECT A FROM S) SELECT DISTINCT A FROM q",
            {"q": "SELECT A FROM p", "p": OTHER},
            "bounded",
        ),
        ("SELECT A FROM v", {"q": f"CREATE VIEW v AS {OTHER}; {OTHER}"}, "unknown stream v"),
        ("SELECT A FROM q", {"q": "SELECT A FROM p", "p": "SELECT A FROM q"}, "a query that reads itself"),
        ("SELECT A FROM q", {"q": f"{OTHER}; {OTHER}"}, "found 2 statements"),
        ("SELECT A FROM q", {"q": "SELECT X FROM S"}, "no stream in FROM has a column X"),
        ("SELECT A FROM q", {"q": "SELECT A, SUM(B) FROM S GROUP BY A"}, "unbounded"),
        (
            "SELECT A FROM q",
            {"q": "SELECT GROUPED(A) AS A, B FROM S SORT BY A"},
            "in the query q: SORT BY is not",
        ),
        ("SELECT A FROM q", {"q": f"-- dialect: flink\n{OTHER}"}, "it is written in Flink SQL"),
    ],
)
def test_a_registered_query_is_read_by_its_name(text: str, queries: dict[str, str], said: str) -> None:
    beside = replace(CATALOG, queries=tuple(NamedQuery(n, v) for n, v in queries.items()))
    report = check(text, beside, suggest=False)
    if report.error is None:
        assert report.verdict == said
    else:
        assert said in str(report.error), report.error
        location = report.error.location
        assert location is not None and text[location.column - 1 : location.column - 1 + location.length] in (
            "q",
            "v",
        )


def test_what_two_texts_declare_differently_is_not_mixed_up() -> None:
    other = NamedQuery("q", "CREATE TABLE Z (A INT); INSERT INTO o SELECT A FROM Z")
    beside = replace(CATALOG, queries=(other,))
    assert check("SELECT DISTINCT A FROM q WHERE A IN (1, 2)", beside).units == 2
    mine = "CREATE TABLE Z (A INT, B INT); INSERT INTO o SELECT A FROM q, Z"
    assert "which this text declares otherwise" in str(check(mine, beside).error)
