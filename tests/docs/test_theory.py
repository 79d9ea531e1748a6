"""The page of theory: what it calls open is open, and the tests that it names are there."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import ROOT
from tests.test_faults import is_there, named, rows

import streambound

TEXT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
OPEN = re.findall(r"^\| .* \| `(SELECT .*)` \|$", TEXT, re.MULTILINE)
STREAM = {"columns": {"A": "int", "B": "int", "ts": "timestamp"}, "timestamp": "ts"}
CATALOG = streambound.catalog({name: STREAM for name in "STUVWXY"})


def test_there_are_open_cases() -> None:
    assert len(OPEN) == TEXT.partition("### Open")[2].partition("###")[0].count("\n| ") - 1


@pytest.mark.parametrize("sql", OPEN)
def test_an_open_case_is_open_and_says_why(sql: str) -> None:
    found = streambound.check(sql, CATALOG, suggest=False)
    assert found.verdict == "unknown"
    assert {reason.code for reason in found.reasons} <= {"open-question", "self-join"}


def test_every_statement_has_a_test_that_is_there() -> None:
    for name in named("theory.md"):
        assert is_there(name), name
    for row in rows("theory.md"):
        assert "`tests/" in row.rsplit("|", 2)[1], row
