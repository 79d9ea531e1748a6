"""Functions that only one dialect has, or has with another meaning, are computed as that dialect says.

What Spark SQL has too is held against Spark in tests/spark/test_expressions.py.
"""

from __future__ import annotations

import re
from hashlib import md5
from itertools import product
from random import Random
from typing import Any

import pytest

from streambound.api import evaluate
from streambound.compiler import compile
from streambound.query.catalog import catalog_from_mapping
from streambound.query.computing.patterns import always_matched

CATALOG = catalog_from_mapping({"s": {"columns": {"a": "string", "n": "bigint", "ts": "timestamp"}}})
X_DIGEST, E_DIGEST = (md5(text.encode()).hexdigest() for text in ("x", "é"))
CASES: list[tuple[str, str, list[Any], list[Any]]] = [
    # Without a group all of the match, and NULL where there is none.
    ("flink", "REGEXP_EXTRACT(a, '([a-z]+)/')", ["x ab/c", "", None], ["ab/", None, None]),
    ("flink", "REGEXP_EXTRACT(a, '(a)(b)', 2)", ["ab", "b"], ["b", None]),
    ("ksql", "REGEXP_EXTRACT('[a-z]+', a)", ["1bc", "1"], ["bc", None]),
    # A group that has a match of its own wherever the pattern has one.
    (
        "flink",
        "REGEXP_EXTRACT(a, '(&|^)c=([^&]*)', 2)",
        ["c=1&d=2", "b=3&c=", "bc=1", None],
        ["1", "", None, None],
    ),
    ("flink", "REGEXP_EXTRACT(a, '(a)?(b)', 2)", ["ab", "b", "a"], ["b", "b", None]),
    ("flink", "REGEXP_EXTRACT(a, '(ab|a(?:c|d)e)f', 1)", ["abf", "xadef", "af"], ["ab", "ade", None]),
    # The digest of another dialect is of bytes, and these are its digits.
    ("timeplus", "LOWER(HEX(MD5(a)))", ["x", "é", None], [X_DIGEST, E_DIGEST, None]),
    ("timeplus", "HEX(MD5(a))", ["x", None], [X_DIGEST.upper(), None]),
    ("duckdb", "REGEXP_EXTRACT(a, '([a-z]+)/')", ["x ab/c", "", None], ["ab/", "", None]),
    ("spark", "REGEXP_EXTRACT(a, '([a-z]+)/')", ["x ab/c", "", None], ["ab", "", None]),
    # Elements are numbered from 1, and what is not there is NULL.
    ("ksql", "SPLIT(a, '::')[1]", ["x::12", "", None], ["x", "", None]),
    ("ksql", "CAST(SPLIT(a, '::')[2] AS INT)", ["x::12", "x", "x::y"], [12, None, None]),
    ("duckdb", "STRING_SPLIT(a, ',')[2]", ["x,y", "x"], ["y", None]),
    # A sum of texts takes NULL for a word.
    ("ksql", "a + ' ' + CAST(n AS VARCHAR)", ["x", None], ["x 7", "null 7"]),
    ("ksql", "MASK(a)", ["My Test $123é", "世Ⅷ٣", "", None], ["Xx-Xxxx--nnnx", "--n", "", None]),
    ("postgres", "MD5(a)", ["x", None], ["9dd4e461268c8034f5c8564e155c67a6", None]),
]


def values(dialect: str, text: str, rows: list[dict[str, Any]]) -> list[Any]:
    events = [{"stream": "s", **row} for row in rows]
    sql = f"-- dialect: {dialect}\nSELECT {text} AS v FROM s"
    return [answer["row"][0] for answer in evaluate(sql, CATALOG, events)["answers"]]


@pytest.mark.parametrize(("dialect", "text", "given", "expected"), CASES)
def test_a_function_is_what_its_dialect_says(
    dialect: str, text: str, given: list[Any], expected: list[Any]
) -> None:
    rows = [{"a": one, "n": 7, "ts": "2026-01-01 00:00:00"} for one in given]
    assert values(dialect, text, rows) == expected


def pattern(r: Random, depth: int = 0) -> str:
    """A pattern of letters, groups and branches."""
    made = []
    for _ in range(r.randint(1, 2)):
        if depth > 2 or r.random() < 0.5:
            made.append(r.choice(["a", "b", "a?", "[ab]*"]))
        else:
            branches = "|".join(pattern(r, depth + 1) for _ in range(r.choice([1, 1, 2])))
            made.append(f"({r.choice(['', '?:'])}{branches}){r.choice(['', '', '?'])}")
    return "".join(made)


def test_a_group_that_always_matches_is_there_in_every_match() -> None:
    r, sometimes = Random(1), 0
    texts = ["".join(text) for n in range(4) for text in product("ab", repeat=n)]
    for _ in range(150):
        text = "|".join(pattern(r) for _ in range(r.choice([1, 1, 2])))
        matches = [match for match in map(re.compile(text).search, texts) if match is not None]
        for group in range(1, re.compile(text).groups + 1):
            missing = any(match[group] is None for match in matches)
            sometimes += missing
            assert not (missing and always_matched(text, group)), (text, group)
    assert sometimes > 20


def test_a_moment_of_a_zone_in_ksqldb() -> None:
    text = "CONVERT_TZ(FROM_UNIXTIME(n), 'UTC', 'Europe/Rome')"
    given = (1_700_000_000_123, 1_711_846_800_000, None)
    rows = [{"a": "", "n": n, "ts": "2026-01-01 00:00:00"} for n in given]
    assert values("ksql", text, rows) == [
        "2023-11-14T23:13:20.123000+00:00",
        "2024-03-31T03:00:00+00:00",
        None,
    ]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        # A group that may be left out would be NULL.
        ("flink", "REGEXP_EXTRACT(a, '(a)?(b)', 1)"),
        ("flink", "REGEXP_EXTRACT(a, '(?:(a)|(b))c', 2)"),
        ("flink", "REGEXP_EXTRACT(a, '(a)|(b)', 1)"),
        # No dialect without a rule of its own says which group is meant.
        ("risingwave", "REGEXP_EXTRACT(a, '(a)b')"),
        # What Spark has no place for would be left out.
        ("flink", "LOCATE('a', a, 3)"),
        ("postgres", "date_trunc('day', ts, 'Asia/Tokyo')"),
        # Of a moment without a zone it would be the other way round.
        ("postgres", "ts AT TIME ZONE 'Europe/Rome'"),
        ("ksql", "CONVERT_TZ(ts, 'Europe/Rome', 'UTC')"),
        ("ksql", "MASK(a, '*', 'x', 'n', '-')"),
        ("spark", "MASK(a)"),
        # Which rows these are of is not documented.
        ("azure", "SUM(n) OVER (PARTITION BY a LIMIT DURATION(hour, 1))"),
    ],
)
def test_what_would_be_another_value_is_refused(dialect: str, text: str) -> None:
    found = compile(f"SELECT {text} AS v FROM s", CATALOG, dialect=dialect)
    assert found.verdict.bounded and "cannot be evaluated yet" in str(found.unplanned)
