"""The published criteria beside ours."""

from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read

from streambound.compiler.report import Report, check
from streambound.query.catalog import catalog_from_mapping
from streambound.report.pages import published_rows, published_table
from streambound.results import VerdictRecord

BODY = {"columns": {"A": "int", "B": "int", "C": "int", "ts": "int"}, "timestamp": "ts"}
CATALOG = catalog_from_mapping({name: BODY for name in "STUV"})
# docs/theory.md, "Where the papers are read with care".
TOO_STRICT = "SELECT U.C FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND U.C > 0 AND U.C < 5"
UNSOUND = (
    "SELECT DISTINCT 1 FROM S, T, U, V WHERE T.ts > U.ts AND S.ts > T.ts AND V.ts > T.ts AND T.B < S.A"
    " AND U.B < V.A AND S.A > 0 AND T.B > 0 AND U.B > 0 AND V.A > 0"
)


def test_where_a_published_theorem_differs_the_row_says_why() -> None:
    ours, arasu, first, second = published_rows(check(TOO_STRICT, CATALOG))
    assert (ours.verdict, first.verdict, first.agrees) == ("bounded", "unbounded", False)
    assert "not necessary" in first.sentence
    assert (arasu.verdict, second.verdict) == ("does not apply", "does not apply")
    ours, _, _, second = published_rows(check(UNSOUND, CATALOG))
    assert (ours.verdict, second.verdict, second.agrees) == ("unbounded", "bounded", False)
    assert "not sound" in second.sentence


def test_agreement_silence_and_what_was_not_decided() -> None:
    rows = published_rows(check("SELECT DISTINCT A FROM S", CATALOG))
    assert [(r.verdict, r.agrees) for r in rows] == [
        ("unbounded", True),
        ("unbounded", True),
        ("does not apply", None),
        ("no verdict", None),
    ]
    rows = published_rows(check("SELECT nothing", CATALOG))
    assert [r.verdict for r in rows] == ["invalid", *["does not apply"] * 3]
    asked = published_rows(check("SELECT A FROM S", CATALOG, criterion="arasu"))
    assert asked[0].criterion == "as asked for: arasu" and "not a proof" in asked[0].sentence


def test_the_table_of_a_recorded_verdict_is_that_of_the_report() -> None:
    report = check(TOO_STRICT, CATALOG)
    moment = dt.datetime(2013, 1, 1, tzinfo=dt.UTC)
    markup = published_table(VerdictRecord.from_json("r", report.to_json(), moment))
    assert markup == published_table(report)
    root = read(markup)
    assert [row.attrib.get("class") for row in root.iter("tr")] == [None, None, None, "differs", None]
    assert all(len(row) == 3 for row in root.iter("tr"))


verdicts = st.one_of(hostile, st.sampled_from(["bounded", "unbounded", "unknown", "no-verdict"]))
criteria = st.sampled_from(["arasu", "schiff_ozcep_1", "schiff_ozcep_2", "other"])


@given(verdicts, hostile, st.dictionaries(criteria, verdicts))
def test_any_record_gives_a_table(verdict: str, criterion: str, published: dict[str, str]) -> None:
    root = read(published_table(Report("q", verdict, criterion, published=published)))
    assert names(root) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "span"}
    assert all(len(row) == 3 for row in root.iter("tr"))
