"""Names of column types, as Spark and the other engines write them, and the name that this project uses.

Beside Spark's own names those of Flink, ksqlDB, RisingWave, Materialize, Feldera, PostgreSQL and DuckDB are
known. A name that two of them read differently has Spark's meaning: ``float`` has 32 bits.
"""

from __future__ import annotations

import re

from streambound.errors import alike

ACCEPTED = (
    "int, bigint, smallint, tinyint, decimal(p,s), float, double, boolean, date, timestamp, string, "
    "and what other engines call these"
)
MOST_DIGITS = 38
# Digits after the point of a second.
FINEST = 6

_ALIASES = {
    "tinyint": "byte, int1",
    "smallint": "short, int2, int16, tinyint unsigned, utinyint",
    "int": "integer, int4, int32, mediumint, signed, smallint unsigned, usmallint, uint2, uint16",
    "bigint": "long, int8, int64, int unsigned, integer unsigned, uinteger, uint4, uint32, bigint unsigned, "
    "ubigint, uint64",
    "float": "real, float4, float32",
    "double": "double precision, float8, float64",
    "boolean": "bool, logical",
    "date": "date32",
    "timestamp": "timestamp_s, timestamp_ms, timestamp_us",
    "string": "text",
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases.split(", "))}
_DECIMAL = re.compile(r"(?:decimal|numeric|dec|number)\((\d{1,4})(?:,(\d{1,4}))?\)")
_TEXT = re.compile(r"(?:n?varchar2?|n?char|bpchar|character|character varying|char varying)(?:\(\d{1,9}\))?")
_MOMENT = re.compile(
    r"(?:timestamp|timestamp_ntz|timestamp_ltz|timestamptz|datetime)(?:\((\d{1,4})\))?"
    r"(?: ?with(?:out)?(?: local)? time zone)?"
)
_NESTED = re.compile(
    r"(?:array|map|struct|row|multiset|list|tuple|nested|object|record|computed)(?:[<(].*)?|json|jsonb|variant|"
    r".+\[\d*\]|.+ array"
)
_FIXES = {
    "decimal numeric dec number": "write its digits, such as decimal(10,2): engines differ in what they mean",
    "hugeint int128 uhugeint uint128": "write it to the files as decimal(38,0), and declare that",
    "timestamp_ns": "write it to the files in microseconds, and declare timestamp",
}
# Moments finer than a microsecond are moments; of numbers without digits engines differ, and none is a bound.
_ANY_MOMENT = re.compile(
    r"(?:timestamp|datetime)\w*(?: ?\([^)]*\))?(?: with(?:out)?(?: local)? time zone)?", re.IGNORECASE
)
_AROUND = re.compile(r"(?:nullable|low_?cardinality)\((.*)\)", re.IGNORECASE)
_MEANT = {
    **dict.fromkeys(
        ("decimal", "numeric", "number", "dec", "hugeint", "int128", "uint128", "rw_int256"), "double"
    ),
    **dict.fromkeys(
        ("uuid", "record", "nvarchar(max)", "enum8", "enum16", "ipv4", "ipv6", "fixed_string"), "string"
    ),
    **dict.fromkeys(("serial", "bigserial", "uint256", "int256"), "bigint"),
}
_ELSE = "leave the column out of the catalog if no query needs it: its type in the files is then free"


def canonical(text: str) -> str | None:
    """The name that is used for the type that ``text`` names; None if there is none."""
    name = _normalized(text)
    if (plain := _NAMES.get(name)) is not None:
        return plain
    if _TEXT.fullmatch(name):
        return "string"
    if match := _MOMENT.fullmatch(name):
        return "timestamp" if int(match[1] or FINEST) <= FINEST else None
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2] or 0)
        if 1 <= precision <= MOST_DIGITS and scale <= precision:
            return f"decimal({precision},{scale})"
    return None


def nested(text: str) -> bool:
    """Whether a type holds values within values, as arrays and structs do.

    >>> nested("array<struct<t: string, x: double>>"), nested("INT[]"), nested("decimal(10,2)")
    (True, True, False)
    """
    return _NESTED.fullmatch(_normalized(text)) is not None


def fix_of(text: str) -> str:
    """What to write instead of a name that is none of a type."""
    name = _normalized(text)
    if _MOMENT.fullmatch(name):
        return _FIXES["timestamp_ns"]
    if _DECIMAL.fullmatch(name):
        return f"write decimal(p,s) with p from 1 to {MOST_DIGITS} and s from 0 to p"
    if fixes := [fix for names, fix in _FIXES.items() if name in names.split()]:
        return fixes[0]
    near = alike(name, _NAMES, 0.8)
    return f"write {_NAMES[near[0]]}" if near else _ELSE


def _normalized(text: str) -> str:
    """Lower case, and blanks only between words."""
    return re.sub(r" ?([(),]) ?", r"\1", " ".join(text.lower().split()))


def type_named(written: str) -> str:
    """A type as a script or a database names it, as a catalog does; what is not known is nested data.

    >>> type_named("Nullable(TIMESTAMP_LTZ(9))"), type_named("GEOMETRY")
    ('timestamp', 'object(GEOMETRY)')
    """
    text = " ".join(written.split())
    while match := _AROUND.fullmatch(text):
        text = match[1]
    if canonical(text):
        return text
    if _ANY_MOMENT.fullmatch(text):
        return "timestamp"
    if (meant := _MEANT.get(text.lower())) is not None:
        return meant
    return text if nested(text) else f"object({text})"
