"""Random expressions in Spark SQL over columns of every type, and rows for them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

COLUMNS = {
    **{"a": "bigint", "b": "bigint", "p": "decimal(6,2)", "x": "double", "y": "double"},
    **{"n": "string", "m": "string", "f": "boolean", "g": "boolean"},
    **{"d": "date", "e": "date", "ts": "timestamp", "us": "timestamp"},
}
_INSTANT = dt.datetime(2026, 2, 27, 22, 59, 59, 999_999)
VALUES: dict[str, list[Any]] = {
    "bigint": [-7, -2, -1, 0, 1, 2, 3, 10, 49],
    "decimal(6,2)": [Decimal(one) for one in ("-2.55", "-0.05", "0.00", "0.45", "1.00", "9.99", "120.50")],
    "double": [-2.5, -0.5, 0.0, 0.1, 0.45, 1.005, 2.675, 3.0, 1e10, 0.3, 1e300, float("nan"), float("inf")],
    "string": [
        "",
        " ",
        "a",
        "ab",
        "Abc",
        " a b ",
        "b_%",
        "é世",
        "12",
        "-3",
        "1.5",
        "-1.9",
        " 7 ",
        "1e3",
        "+4",
        "0x1",
        "-",
        ".5",
        "9223372036854775807",
        "-Infinity",
        " 1.5d ",
        "nan",
        "x'y",
        "aab",
    ],
    "boolean": [True, False],
    "date": [
        *(dt.date(2026, 1, 1), dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(2026, 12, 31)),
        *(dt.date(2023, 1, 1), dt.date(1970, 1, 1)),
    ],
    "timestamp": [
        *(_INSTANT, dt.datetime(1969, 12, 31, 23, 59, 59, 5), dt.datetime(2024, 1, 31, 12, 30)),
        *(dt.datetime(1970, 1, 1), dt.datetime(2026, 2, 28, 23, 15, 1, 250_000), dt.datetime(2020, 2, 29)),
    ],
}
_NAMES = {
    "int": ["a", "b"],
    "decimal": ["p"],
    "double": ["x", "y"],
    "string": ["n", "m"],
    "boolean": ["f", "g"],
    "date": ["d", "e"],
    "timestamp": ["ts", "us"],
}
_LITERALS = {
    "int": ["0", "1", "2", "3", "-4"],
    "decimal": ["0.5", "1.25", "-2.0"],
    "double": ["0.5e0", "1e0", "-2e0"],
    "string": ["'a'", "''", "'Ab'", "'1'"],
    "boolean": ["TRUE", "FALSE"],
    "date": ["DATE '2026-01-01'", "DATE '1969-12-31'"],
    "timestamp": ["TIMESTAMP '2026-02-28 23:00:00'", "TIMESTAMP '1970-01-01 00:00:00'"],
}
_TRUNCATED = ("HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
# What makes a value of each type, with types in braces for what it is made of.
_MADE = {
    "int": [
        "({int} + {int})",
        "({int} - {int})",
        "({int} * {int})",
        "(- {int})",
        "({int} DIV {int})",
        "({int} % {int})",
        "PMOD({int}, {int})",
        "ABS({int})",
        "LENGTH({string})",
        "INSTR({string}, {string})",
        "CASE WHEN {boolean} THEN {int} ELSE {int} END",
        "COALESCE({int}, {int})",
        "NULLIF({int}, {int})",
        "IF({boolean}, {int}, {int})",
        "CASE {int} WHEN 1 THEN {int} WHEN {int} THEN NULL END",
        "YEAR({date})",
        "MONTH({timestamp})",
        "DAY({date})",
        "HOUR({timestamp})",
        "MINUTE({timestamp})",
        "SECOND({timestamp})",
        "QUARTER({date})",
        "DAYOFWEEK({date})",
        "DAYOFYEAR({timestamp})",
        "WEEKOFYEAR({date})",
        "EXTRACT(HOUR FROM {timestamp})",
        "EXTRACT(YEAR FROM {date})",
        "EXTRACT(DOY FROM {date})",
        "EXTRACT(WEEK FROM {timestamp})",
        "EXTRACT(DOW FROM {timestamp})",
        "EXTRACT(DAYOFWEEK FROM {date})",
        "EXTRACT(DAYOFWEEK_ISO FROM {date})",
        "DATEDIFF({date}, {date})",
        "DATEDIFF({timestamp}, {date})",
        "TIMESTAMPDIFF(HOUR, {timestamp}, {timestamp})",
        "CAST(({int} * 1.7e0) AS INT)",
        "CAST({decimal} AS BIGINT)",
        "CAST({string} AS INT)",
        "CAST({boolean} AS INT)",
        "ROUND({int})",
    ],
    "decimal": [
        "({decimal} + {int})",
        "({decimal} - {decimal})",
        "ROUND({decimal}, 1)",
        "ABS({decimal})",
        # Spark's are decimals still, and so are quotients of them.
        "FLOOR({decimal})",
        "CEIL({decimal})",
    ],
    "double": [
        "({int} / {int})",
        "({double} / {int})",
        "({double} + {double})",
        "({double} * {int})",
        "(- {double})",
        "ROUND({double}, 2)",
        "ROUND({double}, 1)",
        "SQRT({double})",
        "CAST({int} AS DOUBLE)",
        "CAST({string} AS DOUBLE)",
        "ABS({double})",
        "({double} - {decimal})",
        "COALESCE({double}, {int})",
        "CASE WHEN {boolean} THEN {double} ELSE {int} END",
    ],
    "string": [
        "LOWER({string})",
        "UPPER({string})",
        "TRIM({string})",
        "({string} || {string})",
        "REVERSE({string})",
        "CONCAT({string}, {int}, {date})",
        "SUBSTRING({string}, 2)",
        "SUBSTR({string}, 1, 2)",
        "LEFT({string}, 2)",
        "RIGHT({string}, 1)",
        "REPLACE({string}, 'a', {string})",
        "CAST({int} AS STRING)",
        "CAST({timestamp} AS STRING)",
        "CAST({boolean} AS STRING)",
        "CASE WHEN {boolean} THEN {string} END",
        "COALESCE({string}, {string}, 'z')",
        "CAST({decimal} AS STRING)",
        "CAST({date} AS STRING)",
        "SPLIT_PART({string}, 'a', 2)",
        "SPLIT_PART({string}, 'bb', 1)",
        "REGEXP_REPLACE({string}, '[a-c]+', 'x')",
        "REGEXP_REPLACE({string}, '(a|ab).', '')",
        "LPAD({string}, 4, 'xy')",
        "RPAD({string}, 2)",
        "LPAD({string}, 0, '*')",
        "SPLIT({string}, 'a')[0]",
        "SPLIT({string}, 'b_')[1]",
        "REGEXP_EXTRACT({string}, '([a-c]+)b', 1)",
        "REGEXP_EXTRACT({string}, '(^|[^a]).(b{1,2}|[0-9]+?)', 2)",
        "REGEXP_EXTRACT({string}, '(?:a|ab)?([^b]*)', 1)",
        "REGEXP_EXTRACT({string}, '.+', 0)",
        "CASE WHEN {string} RLIKE '[a-c]+' THEN REGEXP_EXTRACT({string}, '[a-c]+', 0) END",
        "MD5({string})",
        "MASK({string}, 'X', 'x', 'n', '-')",
        "DATE_FORMAT({timestamp}, 'yyyy-MM-dd HH:mm:ss')",
        "DATE_FORMAT({date}, 'yyyy/MM')",
        "DATE_FORMAT({timestamp}, 'HH:mm')",
    ],
    "boolean": [
        "({int} < {int})",
        "({double} >= {double})",
        "({string} = {string})",
        "({date} <> {date})",
        "({timestamp} <= {timestamp})",
        "({int} > {double})",
        "({decimal} = {int})",
        "({date} < {timestamp})",
        "({boolean} AND {boolean})",
        "({boolean} OR {boolean})",
        "(NOT {boolean})",
        "({int} IS NULL)",
        "({string} IS NOT NULL)",
        "({int} <=> {int})",
        "({double} <=> {double})",
        "({int} IN (1, {int}, NULL))",
        "({string} NOT IN ('a', {string}))",
        "({int} BETWEEN {int} AND {int})",
        "({string} LIKE 'a%')",
        "({string} LIKE '_b%')",
        "({string} RLIKE '^[ab]+b')",
        "({string} RLIKE '[0-9]')",
        "STARTSWITH({string}, {string})",
        "ENDSWITH({string}, 'b')",
        "CONTAINS({string}, {string})",
        "({date} > '2024-02-29')",
        "({boolean} IS TRUE)",
        "({boolean} = {boolean})",
        "({timestamp} - {timestamp} < INTERVAL 5 MINUTES)",
        "CAST({int} AS BOOLEAN)",
    ],
    "date": [
        "CAST({timestamp} AS DATE)",
        "({date} + INTERVAL 1 MONTH)",
        "({date} - INTERVAL 3 DAYS)",
        "TO_DATE({timestamp})",
        "DATE_ADD({date}, 3)",
        "DATE_SUB({date}, CAST({int} % 100 AS INT))",
        "COALESCE({date}, {date})",
    ],
    "timestamp": [
        "({timestamp} + INTERVAL 90 MINUTES)",
        "({timestamp} - INTERVAL 1 MONTH)",
        "CAST({date} AS TIMESTAMP)",
        "TIMESTAMP_MILLIS({int} % 1000000)",
        "TIMESTAMP_SECONDS({int} % 1000)",
        "FROM_UTC_TIMESTAMP({timestamp}, 'Europe/Rome')",
        "FROM_UTC_TIMESTAMP({timestamp}, 'America/New_York')",
        *(
            f"DATE_TRUNC('{unit}', {{timestamp}})"
            for unit in ("HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
        ),
        "CASE WHEN {boolean} THEN {timestamp} ELSE {timestamp} END",
    ],
}


def expression(r: Random, kind: str, depth: int) -> str:
    """An expression of a type (of ``_MADE``), of at most so many functions within each other."""
    if depth == 0 or r.random() < 0.1:
        return r.choice([*_NAMES[kind] * 3, *_LITERALS[kind]])
    text = r.choice(_MADE[kind])
    for name in _MADE:
        while f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", expression(r, name, depth - 1), 1)
    return text


def expressions(seed: int, count: int) -> list[tuple[str, str]]:
    """Expressions with their types, among them each function alone."""
    r = Random(seed)
    found = []
    for kind, texts in _MADE.items():
        for text in texts:
            made = text
            for name in _MADE:
                while f"{{{name}}}" in made:
                    made = made.replace(f"{{{name}}}", expression(r, name, 0), 1)
            found.append((made, kind))
    while len(found) < count:
        kind = r.choice(list(_MADE))
        found.append((expression(r, kind, r.choice([2, 2, 3])), kind))
    return found


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Rows with values that functions treat apart, and NULLs."""
    r = Random(seed)
    found = []
    for _ in range(count):
        found.append({c: None if r.random() < 0.1 else r.choice(VALUES[kind]) for c, kind in COLUMNS.items()})
    return found
