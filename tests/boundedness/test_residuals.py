"""Verdicts against a judge that knows no criterion: classes of prefixes, counted on the definition."""

from __future__ import annotations

from itertools import product

import pytest
from tests.boundedness.residuals import KINDS, OPS, ORDERS, Shape, growth

from streambound.boundedness.criterion.verdict import Outcome
from streambound.boundedness.statements import decide
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

CATALOG = catalog_from_mapping(
    {
        name: {"columns": {column: "int", "ts": "int"}, "timestamp": "ts", "not_null": [column]}
        for name, column in (("S", "A"), ("T", "B"))
    }
)
# Sums of few values are as many as the values allow: small sizes do not tell them from sets.
SHAPES = [
    Shape(kind, op, order)
    for kind, op, order in product(KINDS, OPS, ORDERS)
    if "sum" not in kind and "average B" not in kind
]
# One in so many in the ordinary run, so that each kind, operator and order is there; all in the heavy one.
STEP = len(OPS) * len(ORDERS) - 1


def judge(shape: Shape) -> None:
    verdict = decide(read(shape.sql, CATALOG, "q").statement).verdict
    exponential, numbers = growth(shape)
    if exponential is None or verdict.outcome is Outcome.UNKNOWN or _small(shape):
        return
    assert (verdict.outcome is Outcome.UNBOUNDED) is exponential, (shape.sql, verdict, numbers)


def _small(shape: Shape) -> bool:
    """Of pairs that meet in a window few prefixes have any; of values above another there are fewer."""
    return (
        "<= " in shape.order and ("by A" in shape.kind or "rank" in shape.kind)
    ) or shape.kind == "having max A > 0"


@pytest.mark.parametrize("shape", SHAPES[::STEP], ids=lambda s: f"{s.kind}|{s.op}|{s.order}")
def test_what_a_memory_must_tell_apart_grows_as_the_verdict_says(shape: Shape) -> None:
    judge(shape)


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.kind}|{s.op}|{s.order}")
def test_all_shapes(shape: Shape) -> None:
    judge(shape)


def test_the_judge_tells_counters_from_sets() -> None:
    assert growth(Shape("count", "", ""))[0] is False
    assert growth(Shape("count", "<", ""))[0] is True
    assert growth(Shape("distinct 1", "=", ""))[0] is True
    assert growth(Shape("distinct 1", "<", ""))[0] is not True
