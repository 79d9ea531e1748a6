"""Conditions to atoms: the conjunction in WHERE and ON, flattened, oriented and type-checked."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError
from streambound.query.model import Atom, Attribute, Comparison, Constant, Membership, Never, Op, Term
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
    exp.Or: "OR",
    exp.Not: "NOT",
    exp.Is: "IS [NOT] NULL",
    exp.Like: "LIKE",
    exp.NullSafeEQ: "<=>",
    exp.Exists: "EXISTS",
    exp.Between: "BETWEEN SYMMETRIC",
}
ACCEPTED = "comparisons (< <= = <> != >= >), BETWEEN and IN, joined by AND"


def conjuncts(node: exp.Expr, scope: Scope) -> Iterator[Atom]:
    """The atoms of a condition; conditions that always hold vanish.

    Raises:
        QueryError: the sides of a comparison do not compare.
        UnsupportedError: a condition outside the class, with its place.
    """
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, exp.Paren):
            pending.append(part.this)
        elif isinstance(part, exp.And):
            pending.extend((part.expression, part.this))
        else:
            yield from _atoms(part, scope)


def _atoms(node: exp.Expr, scope: Scope) -> Iterator[Atom]:
    if type(node) in _OPS:
        yield from _comparison(_OPS[type(node)], node.this, node.expression, node, scope)
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        yield from _comparison(Op.GE, node.this, node.args["low"], node, scope)
        yield from _comparison(Op.LE, node.this, node.args["high"], node, scope)
    elif isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        yield from _membership(node, scope)
    elif isinstance(node, (exp.Boolean, exp.Null)):
        if not (isinstance(node, exp.Boolean) and node.this):
            yield Never(node.sql(dialect="spark"), place_of(node, scope.sql))
    elif isinstance(node, exp.Column) and scope.type_of(scope.attribute(node)).family is Family.BOOLEAN:
        yield Comparison(
            scope.attribute(node), Op.EQ, Constant(1, "TRUE", BOOLEAN), place_of(node, scope.sql)
        )
    else:
        what = _NAMES.get(type(node)) or node.sql(dialect="spark")
        raise UnsupportedError(
            f"{what} is not supported yet", place=place_of(node, scope.sql), accepted=ACCEPTED
        )


def _comparison(op: Op, left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Scope) -> Iterator[Atom]:
    place = place_of(whole, scope.sql)
    (first, before), (second, after) = scope.shifted(left), scope.shifted(right)
    if before or after:
        yield _shifted(op, (first, before), (second, after), whole, scope)
        return
    if isinstance(first, Constant) and isinstance(second, Constant):
        yield from _folded(op, first, second, whole, scope)
        return
    if isinstance(first, Constant):
        first, second, op, right = second, first, op.mirrored, left
    assert isinstance(first, Attribute)
    if isinstance(second, Constant):
        second = scope.coerce(second, scope.type_of(first), right)
    _refuse_mismatch(first, second, whole, scope)
    if isinstance(second, Constant) and second.value is None:
        yield Never(whole.sql(dialect="spark"), place, (first,))
    else:
        yield Comparison(first, op, second, place)


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
) -> Comparison:
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
    unit = "" if scope.type_of(first).family is Family.NUMBER else " microseconds"
    text = f" {'+' if offset >= 0 else '-'} {abs(offset)}{unit}" if offset else ""
    return Comparison(first, op, second, place_of(whole, scope.sql), offset, text)


def _folded(op: Op, first: Constant, second: Constant, whole: exp.Expr, scope: Scope) -> Iterator[Atom]:
    place, text = place_of(whole, scope.sql), whole.sql(dialect="spark")
    if first.value is None or second.value is None:
        yield Never(text, place)
        return
    if first.type.family is not second.type.family:
        second = scope.coerce(second, first.type, whole)
    if not holds(op, first.value, second.value):
        yield Never(text, place)


def holds(op: Op, left: Value, right: Value) -> bool:
    """Whether two encoded, non-NULL values of one family compare as ``op`` says."""
    return bool(_HOLDS[op](left, right))


def _membership(node: exp.In, scope: Scope) -> Iterator[Atom]:
    place = place_of(node, scope.sql)
    subject = scope.term(node.this)
    members = [(scope.term(item), item) for item in node.expressions]
    if not isinstance(subject, Attribute) or not all(isinstance(term, Constant) for term, _ in members):
        raise UnsupportedError(
            "IN with columns in the list is not supported yet",
            place=place,
            accepted="column IN (constants)",
        )
    kind = scope.type_of(subject)
    values = tuple(scope.coerce(term, kind, item) for term, item in members if isinstance(term, Constant))
    if values:
        _refuse_mismatch(subject, values[0], node, scope)
    known = tuple(value for value in values if value.value is not None)
    yield (
        Membership(subject, known, place) if known else Never(node.sql(dialect="spark"), place, (subject,))
    )
