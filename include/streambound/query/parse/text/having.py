"""Conditions on aggregates and ranks, as tests of their values."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import expressions as exp

from streambound.errors import Location
from streambound.query.model import Op
from streambound.query.operators import Having, Test, Tests
from streambound.query.parse.text.parts import stands_for

_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.GTE: Op.GE,
    exp.GT: Op.GT,
}


def values_in(node: exp.Expr) -> tuple[int, ...]:
    """The numbers of the aggregates in an expression."""
    numbers = (stands_for(column, "value") for column in node.find_all(exp.Column))
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def outputs_in(node: exp.Expr) -> tuple[int, ...]:
    """The numbers of the outputs in an expression."""
    numbers = (stands_for(column, "output") for column in node.find_all(exp.Column))
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def having_of(node: exp.Expr, location: Location) -> Having:
    """A condition over aggregates by their numbers; its formula is read with their types."""
    tests = None if outputs_in(node) else tests_of(node, True)
    return Having(values_in(node), tests, location)


def tests_of(node: exp.Expr, positive: bool) -> Test | Tests | None:
    while isinstance(node, (exp.Paren, exp.Not)):
        positive = positive is not isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, (exp.And, exp.Or)):
        parts = [tests_of(side, positive) for side in (node.this, node.expression)]
        if any(part is None for part in parts):
            return None
        return Tests(isinstance(node, exp.And) is positive, tuple(part for part in parts if part is not None))
    if isinstance(node, exp.Between):
        ends = ((exp.GTE, "low"), (exp.LTE, "high"))
        made = [
            tests_of(op(this=node.this.copy(), expression=node.args[e].copy()), positive) for op, e in ends
        ]
        if any(part is None for part in made):
            return None
        return Tests(positive, tuple(part for part in made if part is not None))
    if type(node) not in _OPS:
        return None
    op = _OPS[type(node)]
    left, right = node.this, node.expression
    if stands_for(right, "value") is not None:
        left, right, op = right, left, op.mirrored
    number, constant = stands_for(left, "value"), _number(right)
    if number is None or constant is None:
        return None
    return Test(number, op if positive else op.negated, constant)


def _number(node: exp.Expr) -> Fraction | None:
    if isinstance(node, exp.Neg):
        fraction = _number(node.this)
        return None if fraction is None else -fraction
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return Fraction(node.name)
    except (ValueError, ZeroDivisionError):
        return None
