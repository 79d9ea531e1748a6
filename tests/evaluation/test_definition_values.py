"""The definition's own values of expressions equal those that the embedded engine computes, row by row."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.expressions import COLUMNS, expressions, rows

from streambound.errors import DataError
from streambound.evaluation.definition_values import over_columns
from streambound.operators.rows.expressions import compiled
from streambound.query.column_types import NotANumber, parse_type
from streambound.query.computing.translate import type_of

KINDS = {name: parse_type(kind) for name, kind in COLUMNS.items()}
JSON = ['{"a": {"b": "x"}, "n": 3, "l": [1, null, true]}', '{"n": 2.5}', '{"a": 1, "a": 2}', "{", "7", None]
TEXTS = [
    ("GET_JSON_OBJECT(j, '$.a.b')", "string"),
    ("CAST(GET_JSON_OBJECT(j, '$.n') AS DOUBLE)", "double"),
    ("CAST(GET_JSON_OBJECT(j, '$.n') AS INT)", "bigint"),
    ("GET_JSON_OBJECT(j, '$.l[1]')", "string"),
    ("GET_JSON_OBJECT(j, '$.l[2]')", "string"),
    ("JSON_VALUE(j, '$.\"a\"')", "string"),
    ("MASK(j, 'X', 'x', 'n', '-')", "string"),
    ("REGEXP_EXTRACT(j, '([a-z]).:', 1)", "string"),
    ("REGEXP_REPLACE(j, '[0-9]+', '#')", "string"),
    ("SPLIT(j, ',')[1]", "string"),
    ("j LIKE '%n_: _}'", "boolean"),
]


def computed(formula: str, kinds: dict[str, Any], kind: Any, given: list[tuple[Any, ...]]) -> list[Any]:
    """What the engine computes, row by row where a value is an error."""
    compute = compiled(formula, list(kinds.items()), kind)
    try:
        return compute(given)
    except DataError:
        return [value_or_error(lambda row: compute([row])[0], row) for row in given]


def value_or_error(compute: Any, row: Any) -> Any:
    try:
        return compute(row)
    except DataError:
        return "an error"


def near(left: Any, right: Any) -> bool:
    if isinstance(left, NotANumber) or not isinstance(left, float):
        return bool(left == right) and type(left) is type(right)
    return isinstance(right, float) and (left == right or math.isclose(left, right, rel_tol=1e-15))


def differing(formula: str, kinds: dict[str, Any], kind: Any, given: list[tuple[Any, ...]]) -> list[Any]:
    defined = over_columns(formula, kinds, kind)
    expected = computed(formula, kinds, kind, given)
    values = [value_or_error(defined, dict(zip(kinds, row, strict=True))) for row in given]
    return [
        (formula, row, value, other)
        for row, value, other in zip(given, values, expected, strict=True)
        if not near(value, other)
    ]


def test_random_expressions() -> None:
    given = [tuple(KINDS[c].encode(row[c]) for c in KINDS) for row in rows(3, 12)]
    for formula, _ in expressions(5, 330):
        kind = type_of(formula, KINDS) or parse_type("string")
        assert not differing(formula, KINDS, kind, given)[:1]


@pytest.mark.parametrize(("formula", "kind"), TEXTS)
def test_texts_and_what_lies_in_them(formula: str, kind: str) -> None:
    assert not differing(formula, {"j": parse_type("string")}, parse_type(kind), [(text,) for text in JSON])
