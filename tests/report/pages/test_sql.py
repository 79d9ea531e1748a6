"""A query's SQL with its reasons marked: the text is whole, the places are right, nothing gets out."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read

from streambound.boundedness.criterion.verdict import Reason
from streambound.compiler.report import check
from streambound.errors import Location, QueryError
from streambound.query.catalog import catalog_from_mapping
from streambound.report.pages import sql_markup

CATALOG = catalog_from_mapping({"S": {"A": "int"}, "T": {"D": "int"}})
SQL = "-- why\nSELECT S.A\nFROM S, T\nWHERE S.A = T.D AND S.A < 3 AND T.D <> 'it''s -- no'"


def marks(markup: str) -> list[tuple[str, str]]:
    """The text and the title of each mark."""
    return [("".join(m.itertext()), m.attrib["title"]) for m in read(markup).iter("mark")]


def test_each_reason_of_a_verdict_is_marked_where_it_stands() -> None:
    sql = "SELECT S.A\nFROM S, T\nWHERE S.A = T.D"
    report = check(sql, CATALOG)
    found = marks(sql_markup(sql, report.reasons))
    assert found == [("S.A", report.reasons[0].message), ("S.A = T.D", report.reasons[1].message)]
    # As they are recorded, without a length.
    recorded = json.loads(json.dumps(report.to_json()))["reasons"]
    assert marks(sql_markup(sql, recorded)) == found


def test_an_error_is_marked_like_a_reason() -> None:
    error = QueryError("no such column", location=Location(1, 8, 3))
    assert marks(sql_markup("SELECT Q.Z FROM S", [error])) == [("Q.Z", "no such column")]


def test_places_that_overlap_share_a_mark_for_what_they_share() -> None:
    reasons = [
        Reason("filter", "one", (), Location(1, 1, 4)),
        Reason("filter", "two", (), Location(1, 3, 4)),
        Reason("filter", "one", (), Location(1, 1, 4)),
    ]
    assert marks(sql_markup("abcdefgh", reasons)) == [("ab", "one"), ("cd", "one; two"), ("ef", "two")]


def test_keywords_strings_and_comments_have_classes() -> None:
    spans = [(s.attrib["class"], "".join(s.itertext())) for s in read(sql_markup(SQL, [])).iter("span")]
    assert spans[:3] == [("sql-comment", "-- why"), ("sql-keyword", "SELECT"), ("sql-keyword", "FROM")]
    assert spans[-1] == ("sql-string", "'it''s -- no'")
    dated = read(sql_markup("SELECT date FROM S WHERE date = DATE '2024-01-01'", []))
    assert ["".join(s.itertext()) for s in dated.iter("span")].count("DATE") == 1


@pytest.mark.parametrize(
    ("line", "column", "length"),
    [(0, 1, 1), (-3, -3, 5), (1, 0, 1), (1, 7, 2), (9, 1, 1), (10**12, 10**12, 10**12), (2, 11, 1)],
)
def test_a_place_outside_the_text_marks_nothing(line: int, column: int, length: int) -> None:
    reason = Reason("filter", "odd", (), Location(line, column, length))
    assert marks(sql_markup(SQL, [reason])) == []


def test_a_place_longer_than_the_text_ends_with_it() -> None:
    found = marks(sql_markup("SELECT 1", [Reason("filter", "long", (), Location(1, 8, 10**9))]))
    assert found == [("1", "long")]


@pytest.mark.parametrize(
    "recorded", [{}, {"where": None}, {"where": "x"}, {"where": {"line": "1"}}, {"message": None}]
)
def test_a_record_without_a_place_marks_nothing(recorded: dict[str, Any]) -> None:
    assert marks(sql_markup(SQL, [recorded])) == []


def test_lines_may_end_as_on_windows() -> None:
    reasons = [Reason("filter", "m", (), Location(2, 1, 3))]
    root = read(sql_markup("-- a\r\nAND\r\nb", reasons))
    assert "".join(root.itertext()) == "-- a\nAND\nb"
    assert marks(sql_markup("-- a\r\nAND\r\nb", reasons)) == [("AND", "m")]


places = st.builds(Location, st.integers(-1, 6), st.integers(-1, 40), st.integers(0, 60))


@given(hostile, hostile, st.lists(places, max_size=4))
def test_any_text_stays_text(sql: str, message: str, found: list[Location]) -> None:
    root = read(sql_markup(sql, [Reason("filter", message, (), location) for location in found]))
    assert names(root) <= {"pre", "code", "mark", "span"}
    kept = "".join(root.itertext())
    assert len(kept) == len(sql.replace("\r\n", "\n"))
    assert all(
        a == b or b == "\ufffd" or a == "\r" for a, b in zip(sql.replace("\r\n", "\n"), kept, strict=True)
    )


@pytest.mark.parametrize("piece", ["''", "\\'", "(", "/*", "`", "--", "a.", "S.A = "])
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    sql = "'" + piece * (400_000 // len(piece)) + "\\"
    began = time.process_time()
    sql_markup(sql, [{"message": "m", "where": {"line": 1, "column": 1}}])
    assert time.process_time() - began < 5
