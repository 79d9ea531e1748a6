"""Conditions to formulas: WHERE and ON in negation normal form, oriented and type-checked."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError
from streambound.query.formula import ALWAYS, Formula, all_of, any_of, false
from streambound.query.model import (
    Attribute,
    Comparison,
    Constant,
    Membership,
    Never,
    NullTest,
    Op,
    Term,
)
from streambound.query.scope import BOOLEAN, Scope, place_of
from streambound.query.values import Family, Value

_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.GTE: Op.GE,
    exp.GT: Op.GT,
}
_HOLDS: dict[Op, Callable[[Any, Any], Any]] = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}
_NAMES: dict[type[exp.Expr], str] = {
    exp.Like: "LIKE",
    exp.NullSafeEQ: "<=>",
    exp.Exists: "EXISTS",
    exp.Between: "BETWEEN SYMMETRIC",
}
ACCEPTED = "comparisons (< <= = <> != >= >), BETWEEN, IN and IS [NOT] NULL, joined by AND, OR and NOT"
_UNITS = (
    (86_400_000_000, "DAY"),
    (3_600_000_000, "HOUR"),
    (60_000_000, "MINUTE"),
    (1_000_000, "SECOND"),
    (1, "MICROSECOND"),
)


def formula(node: exp.Expr, scope: Scope, positive: bool = True) -> Formula:
    """A condition, or its negation, with NOT pushed down to the comparisons.

    Raises:
        QueryError: the sides of a comparison do not compare.
        UnsupportedError: a condition outside the class, with its place.
    """
    while isinstance(node, (exp.Paren, exp.Not)):
        positive = positive is not isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, (exp.And, exp.Or)):
        join = all_of if isinstance(node, exp.And) is positive else any_of
        return join(formula(part, scope, positive) for part in _operands(node))
    return _condition(node, scope, positive)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a chain of one connective, from the left; a chain is no nesting."""
    pending, kind = [node], type(node)
    while pending:
        part = pending.pop()
        inner = part
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, kind):
            pending.extend((inner.expression, inner.this))
        else:
            yield part


def _condition(node: exp.Expr, scope: Scope, positive: bool) -> Formula:
    if type(node) in _OPS:
        op = _OPS[type(node)]
        return _comparison(op if positive else op.negated, node.this, node.expression, node, scope)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        ends = ((Op.GE, node.args["low"]), (Op.LE, node.args["high"]))
        join = all_of if positive else any_of
        return join(
            _comparison(op if positive else op.negated, node.this, end, node, scope) for op, end in ends
        )
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        return _membership(node, scope, positive)
    if isinstance(node, exp.Is):
        return _is(node, scope, positive)
    if isinstance(node, (exp.Boolean, exp.Null)):
        holds_always = isinstance(node, exp.Boolean) and bool(node.this) is positive
        return ALWAYS if holds_always else Never(node.sql(dialect="spark"), place_of(node, scope.sql))
    if isinstance(node, exp.Column) and scope.type_of(scope.attribute(node)).family is Family.BOOLEAN:
        return _truth(scope.attribute(node), positive, node, scope)
    what = _NAMES.get(type(node)) or node.sql(dialect="spark")
    raise UnsupportedError(f"{what} is not supported yet", place=place_of(node, scope.sql), accepted=ACCEPTED)


def _truth(attribute: Attribute, value: bool, node: exp.Expr, scope: Scope) -> Comparison:
    constant = Constant(int(value), str(value).upper(), BOOLEAN)
    return Comparison(attribute, Op.EQ, constant, place_of(node, scope.sql))


def _is(node: exp.Is, scope: Scope, positive: bool) -> Formula:
    """``IS NULL``, and ``IS TRUE`` and ``IS FALSE`` of a boolean column."""
    term, place = scope.term(node.this), place_of(node, scope.sql)
    if isinstance(node.expression, exp.Null):
        if isinstance(term, Constant):
            return _decided((term.value is None) is positive, node, scope)
        if not scope.nullable(term):
            return _decided(not positive, node, scope)
        return NullTest(term, positive, place)
    if isinstance(node.expression, exp.Boolean) and isinstance(term, Attribute):
        wanted = bool(node.expression.this)
        if scope.type_of(term).family is Family.BOOLEAN:
            same = _truth(term, wanted is positive, node, scope)
            return (
                same if positive or not scope.nullable(term) else any_of((same, NullTest(term, True, place)))
            )
    raise UnsupportedError(
        f"{node.sql(dialect='spark')} is not supported yet", place=place, accepted="column IS [NOT] NULL"
    )


def _decided(holds_always: bool, node: exp.Expr, scope: Scope) -> Formula:
    return ALWAYS if holds_always else Never(node.sql(dialect="spark"), place_of(node, scope.sql))


def _comparison(op: Op, left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Scope) -> Formula:
    place = place_of(whole, scope.sql)
    (first, before), (second, after) = scope.shifted(left), scope.shifted(right)
    if before or after:
        return _shifted(op, (first, before), (second, after), whole, scope)
    if isinstance(first, Constant) and isinstance(second, Constant):
        return _folded(op, first, second, whole, scope)
    if isinstance(first, Constant):
        first, second, op, right = second, first, op.mirrored, left
    assert isinstance(first, Attribute)
    if isinstance(second, Constant):
        second = scope.coerce(second, scope.type_of(first), right)
    _refuse_mismatch(first, second, whole, scope)
    if isinstance(second, Constant) and second.value is None:
        return Never(whole.sql(dialect="spark"), place, (first,))
    return _between(Comparison(first, op, second, place), whole, scope)


def _refuse_mismatch(first: Attribute, second: Term, whole: exp.Expr, scope: Scope) -> None:
    one, other = scope.type_of(first), scope.type_of(second)
    place = place_of(whole, scope.sql)
    stamps = [term for term in (first, second) if scope.is_timestamp(term)]
    if stamps and isinstance(second, Attribute) and len(stamps) == 1:
        raise QueryError(
            f"{stamps[0]} is an application timestamp and is compared with an ordinary column",
            place=place,
            accepted="timestamps with timestamps",
        )
    if one.family is not other.family:
        raise QueryError(
            f"{first} ({one.name}) cannot be compared with {second} ({other.name})",
            place=place,
            accepted=f"a {one.family.value}",
        )


def _shifted(
    op: Op, left: tuple[Term, int], right: tuple[Term, int], whole: exp.Expr, scope: Scope
) -> Formula:
    """A comparison of application timestamps with offsets, the offset moved to the right."""
    (first, before), (second, after) = left, right
    if isinstance(first, Constant):
        first, second, op, before, after = second, first, op.mirrored, after, before
    if not isinstance(first, Attribute):
        raise UnsupportedError(
            "arithmetic on constants is not supported", place=place_of(whole, scope.sql), accepted=ACCEPTED
        )
    offset = after - before
    if isinstance(second, Constant):
        moved = scope.coerce(second, scope.type_of(first), whole)
        assert isinstance(moved.value, int)
        second, offset = Constant(moved.value + offset, moved.text, moved.type), 0
    _refuse_mismatch(first, second, whole, scope)
    length = str(abs(offset)) if scope.type_of(first).family is Family.NUMBER else _interval(abs(offset))
    text = f" {'+' if offset >= 0 else '-'} {length}" if offset else ""
    return _between(Comparison(first, op, second, place_of(whole, scope.sql), offset, text), whole, scope)


def _between(found: Comparison, whole: exp.Expr, scope: Scope) -> Formula:
    """A comparison; one of a timestamp, which is never NULL, with itself is decided."""
    if found.left == found.right and scope.is_timestamp(found.left):
        return _decided(holds(found.op, 0, found.offset), whole, scope)
    return found


def _interval(microseconds: int) -> str:
    """A length of time in the largest unit of which it is a whole number."""
    number, unit = next((microseconds // n, unit) for n, unit in _UNITS if microseconds % n == 0)
    return f"INTERVAL {number} {unit}{'' if number == 1 else 'S'}"


def _folded(op: Op, first: Constant, second: Constant, whole: exp.Expr, scope: Scope) -> Formula:
    if first.value is None or second.value is None:
        return _decided(False, whole, scope)
    if first.type.family is not second.type.family:
        second = scope.coerce(second, first.type, whole)
    return _decided(holds(op, first.value, second.value), whole, scope)


def holds(op: Op, left: Value, right: Value) -> bool:
    """Whether two encoded, non-NULL values of one family compare as ``op`` says."""
    return bool(_HOLDS[op](left, right))


def _membership(node: exp.In, scope: Scope, positive: bool) -> Formula:
    """``IN``: a list of constants, or else the comparisons that it abbreviates."""
    subject = scope.term(node.this)
    members = [scope.term(item) for item in node.expressions]
    if isinstance(subject, Constant) or not all(isinstance(term, Constant) for term in members):
        join, op = (any_of, Op.EQ) if positive else (all_of, Op.NE)
        return join(_comparison(op, node.this, item, node, scope) for item in node.expressions)
    kind, place = scope.type_of(subject), place_of(node, scope.sql)
    values = tuple(
        scope.coerce(term, kind, item)
        for term, item in zip(members, node.expressions, strict=True)
        if isinstance(term, Constant)
    )
    _refuse_mismatch(subject, values[0], node, scope)
    known = tuple(dict.fromkeys(value for value in values if value.value is not None))
    if not known or (not positive and any(v.value is None for v in values)):
        # NULL in a list makes NOT IN never true.
        return Never(node.sql(dialect="spark"), place, (subject,))
    member = Membership(subject, known, place)
    return member if positive else all_of(false(member))
