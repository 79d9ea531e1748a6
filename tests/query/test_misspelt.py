"""Misspellings: the error of a text points to a word of it, and says what was probably meant.

Valid statements with tokens misspelt, dropped, doubled or exchanged for their neighbours: whichever it is,
the error has the place of a word, and says nothing in Python's words.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.tokenizer_core import Token, TokenType

from streambound.compiler.report import check
from streambound.errors import StreamboundError, alike
from streambound.query.catalog import catalog_from_mapping
from streambound.query.dialects.tokens import tokens
from streambound.query.syntax import KEYWORDS, OPERATORS

CATALOG = catalog_from_mapping(
    {
        "departures": {
            "columns": {
                "origin": "string",
                "delay": "int",
                "flown": "date",
                "at": "timestamp",
                "late": "boolean",
            },
            "timestamp": "at",
        },
        "arrivals": {
            "columns": {"origin": "string", "delay": "int", "price": "decimal(5,2)", "at": "timestamp"},
            "timestamp": "at",
        },
        "airports": {"columns": {"faa": "string", "altitude": "double"}, "kind": "static"},
    }
)
# Each word of them is of another kind: keywords, names, aliases, operators, literals, parentheses, quotes.
STATEMENTS = (
    "SELECT DISTINCT d.origin, a.delay FROM departures AS d, arrivals a "
    "WHERE d.origin = a.origin AND a.delay < 3",
    "SELECT d.delay FROM departures d JOIN arrivals a ON d.delay < a.delay WHERE a.price BETWEEN 1 AND 2.5",
    "SELECT origin FROM departures WHERE delay IN (1, 2) OR NOT (origin = 'it''s' AND delay IS NOT NULL)",
    "SELECT d.delay AS late\nFROM departures d\n  INNER JOIN airports p ON d.origin = p.faa\n"
    "WHERE d.flown > DATE '2026-01-31'",
    "SELECT d.delay FROM departures d, arrivals a WHERE a.at >= d.at - INTERVAL 10 MINUTES AND a.at <= d.at",
    "-- owner: x\nSELECT origin FROM departures WHERE late = TRUE /* c */\n"
    "UNION ALL SELECT origin FROM arrivals",
    "SELECT `origin`, 1, 'x' FROM departures CROSS JOIN airports WHERE altitude <> 1e3 AND delay >= -5",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# How Python, not SQL, writes values and failures.
PYTHON = re.compile(
    r"datetime\.|Decimal\(|Fraction\(|Timestamp\(|<class|<[\w.]+ object at|Traceback|\bNone\b|TokenType|"
    r"KeyError|TypeError|\b(True|False)\b|OrderedDict|dict_keys|numpy|frozenset"
)


def assert_told(error: StreamboundError, sql: str) -> None:
    """The place is that of a word of the text, within one line, and the words are those of SQL."""
    assert not PYTHON.search(str(error)), str(error)
    if not sql.strip():
        return
    location = error.location
    assert location is not None, f"{sql!r}: {error}"
    lines = sql.split("\n")
    assert 1 <= location.line <= len(lines), str(error)
    line = lines[location.line - 1]
    assert 1 <= location.column <= len(line) and location.column + location.length - 1 <= len(line), str(
        error
    )
    pointed = line[location.column - 1 : location.column - 1 + location.length]
    assert pointed == pointed.strip() != "", str(error)
    try:
        starts = {token.start for token in tokens(sql)}
    except StreamboundError:
        return
    start = sum(len(above) + 1 for above in lines[: location.line - 1]) + location.column - 1
    assert start in starts, str(error)


def misspelt(draw: st.DrawFn, word: str) -> str:
    """A word with letters dropped, doubled, exchanged or put in."""
    at = draw(st.integers(0, len(word) - 1))
    letter = draw(st.sampled_from(LETTERS if word[at].isalpha() else "<>=!'`()\"#x"))
    return draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
                word + " " + word,
                word + letter,
            ]
        )
    )


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A statement of which one to three tokens are misspelt, or stand where they should not."""
    sql = draw(st.sampled_from(STATEMENTS))
    for _ in range(draw(st.integers(1, 3))):
        try:
            found = tokens(sql)
        except StreamboundError:
            break
        if not found:
            break
        token = draw(st.sampled_from(found))
        written = sql[token.start : token.end + 1]
        sql = sql[: token.start] + misspelt(draw, written) + sql[token.end + 1 :]
    return sql


@given(broken())
def test_every_error_points_to_a_word(sql: str) -> None:
    report = check(sql, CATALOG, suggest=False)
    assert (report.verdict == "invalid") == (report.error is not None)
    if report.error is not None:
        assert_told(report.error, sql)


def keywords(sql: str) -> list[Token]:
    """Words that a statement cannot do without."""
    optional = {TokenType.ALIAS, TokenType.INNER, TokenType.CROSS, TokenType.ALL}
    return [
        token
        for token in tokens(sql)
        if sql[token.start : token.end + 1].upper() in KEYWORDS
        if len(token.text) > 2 and token.token_type not in optional
    ]


@given(st.data())
def test_a_misspelt_keyword_is_named_with_the_one_that_was_meant(data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(STATEMENTS))
    token = data.draw(st.sampled_from(keywords(sql)))
    word = sql[token.start : token.end + 1]
    at = data.draw(st.integers(0, len(word) - 2))
    ways = [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at] + word[at:],
        word[: at + 1] + word[at + 2 :],
    ]
    wrong = data.draw(st.sampled_from(ways))
    if wrong.upper() in KEYWORDS or len(wrong) < 3:
        return
    text = sql[: token.start] + wrong + sql[token.end + 1 :]
    error = check(text, CATALOG, suggest=False).error
    assert error is not None, text
    assert_told(error, text)
    location = error.location
    assert location is not None and location.line == sql.count("\n", 0, token.start) + 1
    assert location.column == token.start - sql.rfind("\n", 0, token.start), str(error)
    assert error.fix is not None and "did you mean" in error.fix, str(error)


NAMES = [
    ("SELECT orign FROM departures", "orign", "origin"),
    ("SELECT d.orign FROM departures d", "d.orign", "origin"),
    ("SELECT Delya FROM departures", "Delya", "delay"),
    ("SELECT origin FROM departurs", "departurs", "departures"),
    ("SELECT dep.origin FROM departures depp", "dep.origin", "depp"),
    ("SELECT departures.origin FROM departures d", "departures.origin", "write d"),
    ("SELECT DISTINT origin FROM departures", "DISTINT", "DISTINCT"),
    ("SELECT origin FROM departures WHERE late IS TREU", "TREU", "TRUE"),
    ("SELECT origin FROM departures WHER late", "WHER", "WHERE"),
]


@pytest.mark.parametrize(("sql", "word", "instead"), NAMES, ids=[word for _, word, _ in NAMES])
def test_a_misspelt_name_is_told_with_the_one_that_was_meant(sql: str, word: str, instead: str) -> None:
    error = check(sql, CATALOG, suggest=False).error
    assert error is not None and error.location is not None and error.fix is not None
    start = error.location.column - 1
    assert sql[start : start + error.location.length] == word
    assert instead in error.fix


@given(st.sampled_from(STATEMENTS), st.data())
def test_double_quotes_are_refused_wherever_they_stand(sql: str, data: st.DataObject) -> None:
    found = [
        t for t in tokens(sql) if t.token_type in (TokenType.VAR, TokenType.STRING, TokenType.IDENTIFIER)
    ]
    token = data.draw(st.sampled_from(found))
    inner = data.draw(st.sampled_from([token.text, "", "it's", "a`b", 'a\\"b', "a b"]))
    text = sql[: token.start] + f'"{inner}"' + sql[token.end + 1 :]
    error = check(text, CATALOG, suggest=False).error
    assert error is not None and error.code == "unsupported-sql", text
    assert "is in double quotes" in error.message
    assert_told(error, text)
    # Both ways to write it are ways to write it.
    name, string = re.fullmatch(
        r"write (`.*`) for the name, or ('.*') for the string", error.fix or "", re.S
    ).groups()  # type: ignore[union-attr]
    assert [t.token_type for t in tokens(string)] == [TokenType.STRING]
    assert not inner or [t.token_type for t in tokens(name)] == [TokenType.IDENTIFIER]


def test_quotes_elsewhere_are_no_double_quotes() -> None:
    sql = """SELECT `a"b`, 'say "x"' FROM S -- "c"\nWHERE /* "d" */ K = '"'"""
    catalog = catalog_from_mapping({"S": {'a"b': "int", "K": "string"}})
    assert check(sql, catalog, suggest=False).verdict == "bounded"


def test_alike_takes_any_case() -> None:
    assert alike("FORM", KEYWORDS, 0.5)[0] == "FROM"
    assert alike("Orgin", ["ORIGIN", "origin"]) == ["ORIGIN"]
    assert alike("=<", OPERATORS, 0.5) != []
    assert alike("", ["a"]) == alike("x", []) == []
