"""Views, WITH, sub-queries, stars, USING and NATURAL: what is left has the answers that DuckDB gives."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pytest
from tests.query.nested import TABLES, VALUES, Drawn, drawn

from streambound.compiler import check
from streambound.errors import UnsupportedError
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.corpus import CorpusLine
from streambound.query.parse import read

STREAMS = {name: {"columns": dict.fromkeys(columns, "int")} for name, columns in TABLES.items()}
CATALOG = catalog_from_mapping(STREAMS)
SEEDS = 250
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
    return found.bare or text


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
        assert reason.place is not None
        said = lines[reason.place.line - 1][reason.place.column - 1 :][: reason.place.length]
        assert said in ("x.B", "x.A = T.A", "x.A", "T.A"), said


def test_suggestions_of_a_nested_query_are_bounded_queries_over_streams() -> None:
    report = check("CREATE VIEW v AS SELECT A, B FROM S; SELECT DISTINCT B FROM v", CATALOG, query="query 2")
    assert report.verdict == "unbounded" and report.suggestions
    for suggestion in report.suggestions:
        assert check(suggestion.sql, CATALOG).verdict == "bounded"
