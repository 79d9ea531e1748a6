"""Causes: each is what the query lacks, by deciding the query again with it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.strategies import Case, timed_cases

from streambound.boundedness.criterion.verdict import Reason
from streambound.certificate.drafts import Draft
from streambound.compiler.report import Report, check
from streambound.query.catalog import catalog_from_mapping
from streambound.report.verdicts import verdict_text

STREAMS = {
    "o": {"columns": {"id": "int", "a": "int", "b": "int", "ts": "timestamp"}, "timestamp": "ts"},
    "s": {"columns": {"id": "int", "c": "int", "ts": "timestamp"}, "timestamp": "ts"},
    "u": {"columns": {"id": "int", "made": "timestamp"}},
    "n": {"columns": {"id": "int"}},
}
CATALOG = catalog_from_mapping(STREAMS)
RELATED = "no condition relates o.ts and s.ts"
KEY = "DISTINCT has no timestamp among its columns"
SAID = {
    "a window": ("SELECT o.a, o.b, s.c FROM o, s WHERE o.id = s.id", [RELATED]),
    "one direction": (
        "SELECT s.c FROM o, s WHERE o.id = s.id AND o.ts <= s.ts",
        ["s.ts may be any time after o.ts"],
    ),
    "the key": ("SELECT DISTINCT a FROM o", [KEY]),
    "both": ("SELECT DISTINCT a FROM o, s WHERE o.id = s.id AND o.id < 5 AND o.id > 1", [RELATED, KEY]),
    "a window is there": (
        "SELECT DISTINCT a FROM o, s WHERE o.id = s.id AND s.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR",
        [KEY],
    ),
    "a timestamp": (
        "SELECT x.id FROM u x, u y WHERE x.id = y.id AND x.made = y.made",
        ["u has no timestamp in the catalog, and could have u.made"],
    ),
    "a timestamp and a window": (
        "SELECT o.a FROM o, u WHERE o.id = u.id",
        ["u has no timestamp in the catalog", "no condition relates o.ts and u.made"],
    ),
    "no time at all": ("SELECT o.a FROM o, n WHERE o.id = n.id", []),
    "three": (
        "SELECT o.a FROM o, s, s t WHERE o.id = s.id AND o.id = t.id",
        ["no condition relates o.ts, s.ts and t.ts"],
    ),
}


@pytest.mark.parametrize(("sql", "said"), SAID.values(), ids=SAID)
def test_what_lacks_is_told(sql: str, said: list[str]) -> None:
    report = check(sql, CATALOG, suggest=False)
    assert report.verdict == "unbounded"
    assert len(report.causes) == len(said), report.causes
    for cause, words in zip(report.causes, said, strict=True):
        assert cause.message.startswith(words)


def test_a_timestamp_that_is_not_declared_is_the_fix_of_a_comparison_with_it() -> None:
    causes = check("SELECT o.a FROM o, u WHERE o.id = u.id AND u.made <= o.ts", CATALOG, suggest=False).causes
    assert causes[0].fix == "declare u: {timestamp: made}"
    error = check("SELECT o.a FROM o, s WHERE s.c <= o.ts", CATALOG, suggest=False).error
    assert error is not None and error.fix is None


def test_one_cause_is_told_before_what_follows_from_it() -> None:
    sql = "SELECT o.a, o.b, o.id, s.c\nFROM o\nJOIN s ON o.id = s.id"
    report = check(sql, CATALOG, suggest=False)
    lines = verdict_text(report, sql).splitlines()
    assert lines[1].startswith(f"  {RELATED}") and lines[2] == "    JOIN s ON o.id = s.id"
    assert "    and so of o.b, o.id, s.c" in lines and len(lines) < 20
    # Nothing is lost for those who read all of it, people or machines.
    whole = verdict_text(report, sql, whole=True)
    assert whole.count("  unbounded-projection: ") == 4 and "and so of" not in whole
    found = report.to_json()
    assert len(found["reasons"]) == 5
    assert found["causes"] == [
        {"message": report.causes[0].message, "fix": report.causes[0].fix, "where": {"line": 3, "column": 6}}
    ]


def without(report: Report, causes: Report) -> set[Reason]:
    """The findings of one report that another one has as well."""
    left = {(one.code, one.attributes) for one in causes.reasons}
    return {one for one in report.reasons if (one.code, one.attributes) in left}


@given(timed_cases())
def test_what_is_said_to_lack_changes_what_is_found(case: Case) -> None:
    report = check(case.sql, case.catalog, suggest=False)
    if report.verdict != "unbounded":
        assert not report.causes
        return
    if not report.causes or "UNION" in case.sql or " OR " in case.sql:
        return
    draft = Draft.of(case.sql)
    assert draft is not None
    for cause in report.causes:
        if window := re.search(r"such as (.*)$", cause.fix):
            draft = draft.with_condition(0, window[1])
        elif shown := re.match(r"show (\S+) as well", cause.fix):
            draft = draft.with_output(shown[1])
    again = check(draft.sql, case.catalog, suggest=False)
    assert again.verdict in ("bounded", "unbounded"), (draft.sql, again.error)
    assert len(without(report, again)) < len(report.reasons), draft.sql
