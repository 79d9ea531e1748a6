"""What an engine keeps of any statement: an answer for each, at its place, and which engine is meant."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from tests.beyond import beyond
from tests.engines.cases import on
from tests.grammar import statement_line

from scripts.engines import DOCUMENT, RULES, WILD, rules_text, wild_text
from streambound.compiler import parsed
from streambound.compiler.report import check
from streambound.engines import ENGINES, of_dialect
from streambound.engines.model import Growth, Keeps, worst
from streambound.engines.state import engine, engine_for, in_modes, state_of
from streambound.errors import QueryError
from streambound.query.catalog import catalog_from_mapping

TEXT = DOCUMENT.read_text(encoding="utf-8")
CATALOG = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int", "E": "int"}})
JOINED = "SELECT S.A\nFROM S JOIN T\n  ON S.A = T.D AND S.B < T.E\nWHERE S.A > 10 AND S.A < 20"


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("seed", range(25))
def test_every_statement_has_an_answer(name: str, seed: int) -> None:
    line = statement_line(seed) if seed % 2 else beyond(seed).line
    assert line.catalog is not None
    found = state_of(parsed(line.sql, line.catalog, dialect="spark").statement, engine(name))
    assert json.loads(json.dumps(found.to_json()))["growth"] == found.growth.value
    assert found.growth is worst(one.growth for one in found.operators)
    # What refuses says why, and no number of entries is told of what grows.
    for one in found.operators:
        assert one.rule is None or (one.rule.keeps is Keeps.REFUSED) == bool(one.rule.error)
        assert one.most is None or one.growth is Growth.CONSTANT


@pytest.mark.parametrize("name", ENGINES)
def test_more_filters_never_make_it_grow_more(name: str) -> None:
    wide = on(name, "SELECT S.A FROM S JOIN T ON S.A = T.D AND S.B < T.E")
    for local in (
        "S.A IN (1, 2)",
        "S.A IN (1, 2) AND T.D IN (1, 2)",
        "S.A = 1 AND T.D = 1 AND S.B = 1 AND T.E = 2",
    ):
        found = on(name, f"SELECT S.A FROM S JOIN T ON S.A = T.D AND S.B < T.E WHERE {local}")
        assert found.growth.rank <= wide.growth.rank


def test_a_dialect_has_the_engine_that_runs_it() -> None:
    # DataSQRL is compiled to Flink SQL; of Arroyo there is no model.
    assert [of_dialect(name) for name in ("spark", "ksql", "sqrl", "arroyo", None)] == [
        "spark",
        "ksqldb",
        "flink",
        None,
        None,
    ]


def test_an_operator_has_its_place() -> None:
    found = check(JOINED, CATALOG, engine="flink", suggest=False).to_json()["engine"]
    (join,) = found["operators"]
    assert join["where"] == {"line": 3, "column": 6}
    assert (found["growth"], join["growth"], join["evidence"]) == ("rows", "rows", "measured")
    assert join["why"] == "S.B, T.E have no finite domain"


def test_first_rows_of_a_star_have_a_place_in_their_select() -> None:
    sql = "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY A ORDER BY B) AS r FROM S) WHERE r <= 3"
    (top,) = check(sql, CATALOG, engine="flink", suggest=False).to_json()["engine"]["operators"]
    assert sql[top["where"]["column"] - 1 :].startswith("*, ROW_NUMBER")


def test_the_engine_is_the_one_that_is_given_or_said() -> None:
    said = f"-- for: flink\n{JOINED}"
    names = [
        engine_for(*asked)
        for asked in ((JOINED, None), (said, None), (said, "spark"), (JOINED, None, "spark"))
    ]
    assert [one and one.name for one in names] == [None, "flink", "spark", "spark"]
    assert check(JOINED, CATALOG, suggest=False).engine is None
    report = check(said, CATALOG, suggest=False)
    assert report.engine is not None and report.engine.engine.name == "flink"


def test_an_engine_that_is_not_known_is_told_with_its_place() -> None:
    with pytest.raises(QueryError, match="the engine is 'flonk'"):
        engine("flonk")
    report = check(f"-- owner: me\n-- for: flonk\n{JOINED}", CATALOG, suggest=False)
    assert report.verdict == "invalid" and report.error is not None
    assert str(report.error.location) == "line 2, column 9"
    assert report.error.accepted == ", ".join(ENGINES)


@pytest.mark.parametrize(
    ("order", "growth"),
    [
        ("", Growth.CONSTANT),
        ("ORDER BY ts", Growth.CONSTANT),
        ("ORDER BY ts ASC, A DESC", Growth.CONSTANT),
        ("ORDER BY ts DESC", Growth.REFUSED),
        ("ORDER BY A", Growth.REFUSED),
        ("ORDER BY A LIMIT 3", Growth.CONSTANT),
    ],
)
def test_an_order_of_all_answers_is_what_an_engine_may_refuse(order: str, growth: Growth) -> None:
    catalog = catalog_from_mapping({"S": {"A": "int", "ts": "timestamp"}})
    sql = f"SELECT A, ts FROM S {order};"
    found = check(sql, catalog, dialect="flink", engine="flink", suggest=False).engine
    assert found is not None and found.growth is growth
    other = check(sql, catalog, dialect="flink", engine="materialize", suggest=False).engine
    assert other is not None and other.growth is Growth.CONSTANT
    if growth is Growth.REFUSED:
        (sort,) = found.operators
        assert str(sort.operator.location) == "line 1, column 21"


def test_modes_are_those_of_spark() -> None:
    statement = parsed(JOINED, CATALOG, dialect="spark").statement
    assert [len(in_modes(statement, engine(name))) for name in ENGINES] == [3, 1, 1, 1, 1, 1]


def test_the_documentation_has_every_rule() -> None:
    (written,) = RULES.findall(TEXT)
    assert written == rules_text(), "make it again: python -m scripts.engines"


def test_the_documentation_has_an_answer_for_every_public_query() -> None:
    (written,) = WILD.findall(TEXT)
    assert written == wild_text(), "make it again: python -m scripts.engines"
    assert len(list(islice(written.splitlines(), 200))) > 150
