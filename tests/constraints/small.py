"""A few streams, conditions over them, and all values that such conditions can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from streambound.constraints.closure import Difference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Attribute, Query
from streambound.query.parse import parse, statement
from streambound.query.statement import Selection

TICKS = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"A": "int", "B": "int"}, "not_null": ["A", "B"]},
        "T": {"columns": {"D": "int", "E": "int"}, "not_null": ["D", "E"]},
        "N": {"A": "int", "B": "int"},
        "F": {"A": "double", "B": "double", "K": "int"},
        "M": {
            "columns": {"F": "boolean", "K": "string", "D": "decimal(3,1)", "L": "int"},
            "domains": {"L": {"values": [1, 3]}},
        },
        "R": {"columns": {"A": "int"}, "kind": "static"},
        "X": TICKS,
        "Y": TICKS,
        "Z": TICKS,
        "P": {**TICKS, "kind": "finite"},
    }
)

Values = Mapping[Attribute | None, Any]


def query(where: str, select: str = "1", tables: str = "S, T") -> Query:
    """A conjunctive query."""
    return parse(f"SELECT {select} FROM {tables}{f' WHERE {where}' if where else ''}", CATALOG)


def selection(where: str, select: str = "1", tables: str = "S, T", catalog: Any = CATALOG) -> Selection:
    """A SELECT whose conditions may be under OR."""
    return statement(f"SELECT {select} FROM {tables} WHERE {where}", catalog).selections[0]


def named(text: str) -> Attribute:
    """The attribute of a text such as ``S.A``."""
    return Attribute(*text.split("."))


def met(constraint: Difference, values: Values) -> bool:
    """Whether values meet a difference bound; the origin is 0."""
    gap = values.get(constraint.high, 0) - values.get(constraint.low, 0)
    return bool(gap < constraint.by if constraint.strict else gap <= constraint.by)


def assignments(attributes: Iterable[Attribute], values: Iterable[int]) -> Iterator[dict[Any, Fraction]]:
    """Every way in which attributes take some values."""
    names, choices = list(attributes), [Fraction(value) for value in values]
    return (dict(zip(names, found, strict=True)) for found in product(choices, repeat=len(names)))


def comparisons(columns: list[str], constants: list[str]) -> st.SearchStrategy[str]:
    """A comparison of two different columns, or of a column and a constant."""
    pairs = [(one, other) for one in columns for other in [*columns, *constants] if one != other]
    ops = st.sampled_from(["<", "<=", "=", "<>", ">=", ">"])
    return st.tuples(st.sampled_from(pairs), ops).map(lambda drawn: f"{drawn[0][0]} {drawn[1]} {drawn[0][1]}")
