"""Public streaming queries in their own dialects and wrappers: verdicts, or what is named in place of one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.query.wild import GROUPS, answered, lines

from streambound.compiler.report import check
from streambound.errors import UnsupportedError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import named_queries

SCRIPTS = Path(__file__).parents[1] / "corpus" / "scripts"
EXPECTED = json.loads((SCRIPTS / "expected.json").read_text(encoding="utf-8"))
# What must be said of a query that needs a feature which is not decided.
NAMED = {"match_recognize": r"MATCH_RECOGNIZE", "recursion": r"RECURSIVE", "lateral": r"LATERAL"}


def of(*groups: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("line", list(lines(*groups)), ids=lambda line: line["id"])


@of(GROUPS[0])
def test_joins_and_filters_have_their_verdicts(line: dict[str, Any]) -> None:
    one = answered(line)
    assert one.outcome == "right", one.report.error or one.report.reasons


@of(*GROUPS[1:])
def test_no_verdict_is_wrong_and_what_is_missing_is_named(line: dict[str, Any]) -> None:
    one = answered(line)
    assert one.outcome != "wrong"
    if one.outcome == "right":
        return
    if one.report.verdict == "unknown":
        # Nothing is missing, but what is known of it does not tell.
        assert {reason.code for reason in one.report.reasons} <= {"derived-column", "open-question"}
        return
    error = one.report.error
    assert isinstance(error, UnsupportedError), error
    said = [blocker.message for blocker in error.blockers]
    assert not any("syntax" in message for message in said)
    for feature in set(one.line["features"]) & set(NAMED):
        assert any(re.search(NAMED[feature], message) for message in said), (feature, said)
    assert all(blocker.location is not None for blocker in error.blockers)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("guess", [False, True])
def test_scripts_are_read_without_a_catalog(name: str, guess: bool) -> None:
    text, expected = (SCRIPTS / name).read_text(encoding="utf-8"), EXPECTED[name]
    dialect = None if guess and expected["dialect"] not in ("flink", "spark") else expected["dialect"]
    queries = named_queries(text, Catalog(()), dialect)
    assert list(queries) == [one["target"] for one in expected["statements"]]
    for query, one in zip(queries, expected["statements"], strict=True):
        report = check(text, Catalog(()), name, suggest=False, dialect=dialect, query=query)
        assert report.query == f"{name}/{query}"
        if report.error is not None:
            assert isinstance(report.error, UnsupportedError) and report.error.location, report.error
        else:
            assert report.verdict == one["verdict"], report


def test_what_a_script_cannot_say_is_declared_beside_it() -> None:
    (name,) = (name for name, expected in EXPECTED.items() if "declare" in expected)
    text, expected = (SCRIPTS / name).read_text(encoding="utf-8"), EXPECTED[name]
    entries = {view: {"columns": {"ts": "timestamp"}, **said} for view, said in expected["declare"].items()}
    for given in (Catalog(()), catalog_from_mapping(entries)):
        for one in expected["statements"]:
            report = check(text, given, suggest=False, dialect=expected["dialect"], query=one["target"])
            if given.relations or one["target"] != "last_hour":
                assert (report.verdict, report.final) == (one["verdict"], one["final"]), report
            else:
                assert "declare what it is compared with as the timestamp" in str(report.error)


def test_what_a_script_declares_is_its_catalog() -> None:
    from streambound.query.parse import read_script

    for name, expected in EXPECTED.items():
        text = (SCRIPTS / name).read_text(encoding="utf-8")
        found = read_script(text, Catalog(()), name, expected["dialect"]).catalog
        for table, declared in expected["catalog"].items():
            relation = found.find(table)
            if relation is None:
                assert "note" in declared, table
                continue
            assert relation.kind.value == declared["kind"], table
            assert relation.timestamp == declared.get("timestamp"), table
            assert list(relation.primary_key) == declared.get("primary_key", []), table
            assert _words(relation.allowed_lateness) == _words(declared.get("allowed_lateness")), table


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.removesuffix("s") for word in text.split()]


def test_a_catalog_completes_a_script() -> None:
    text = "CREATE TABLE a (k STRING, v INT); INSERT INTO o SELECT DISTINCT v FROM a WHERE v > 0"
    assert check(text, Catalog(()), dialect="flink", query=None, suggest=False).verdict == "unbounded"
    domains = {"a": {"columns": {"v": "int"}, "domains": {"v": {"min": 0, "max": 9}}}}
    assert check(text, catalog_from_mapping(domains), dialect="flink", suggest=False).verdict == "bounded"


@pytest.mark.parametrize(
    ("columns", "query", "units"),
    [
        ([f"c{i} BOOLEAN NOT NULL" for i in range(11)], "SELECT DISTINCT * FROM t", 2**11),
        ([f"c{i} BOOLEAN" for i in range(7)], "SELECT DISTINCT * FROM t", 3**7),
        # Two values a row, and how often it is there.
        (["a INT", "b INT"], "SELECT * FROM t LIMIT 5", 5 * 3),
    ],
    ids=["eleven booleans", "seven that may be NULL", "any five rows"],
)
def test_what_feldera_warns_of_and_is_bounded_has_its_number(
    columns: list[str], query: str, units: int
) -> None:
    text = f"CREATE TABLE t ({', '.join(columns)}) WITH ('append_only' = 'true'); CREATE VIEW v AS {query};"
    report = check(text, Catalog(()), suggest=False, dialect="feldera")
    assert (report.verdict, report.units) == ("bounded", units)
