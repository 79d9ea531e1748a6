"""``a.x <= b.y + 5``: offsets between columns of numbers, moved into the columns.

Where one shift for each column makes all offsets vanish, the query is the same query over columns that are
shifted: ``b.(y + 5)`` in place of ``b.y`` everywhere, its domain and what it is compared with as well. That
is exact. Where there is none, as in a band ``b.y <= a.x AND a.x <= b.y + 5``, the shifted column stands
beside the other, as derived columns do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from fractions import Fraction

from streambound.query.column_types import Family, Value
from streambound.query.computing.translate import quoted
from streambound.query.expressions.derived import Expressions
from streambound.query.formula import AllOf, AnyOf, Formula, all_of, any_of, atoms_of
from streambound.query.model import (
    Atom,
    Attribute,
    Column,
    Constant,
    Domain,
    Filter,
    Join,
    Membership,
    Never,
    NullTest,
    Output,
    Term,
)


def without_offsets(
    formulas: Iterable[Formula], outputs: tuple[Output, ...], scope: Expressions, done: bool = False
) -> tuple[list[Formula], tuple[Output, ...]]:
    """Conditions and outputs without offsets but between application timestamps.

    Args:
        done: something is done to the rows, with the values of the outputs as they are.
    """
    listed = list(formulas)
    joins = [a for f in listed for a in atoms_of(f) if isinstance(a, Join) and not scope.is_timestamp(a.left)]
    if not any(join.offset for join in joins):
        return listed, outputs
    shifts = _shifts(joins, {output.term for output in outputs})
    fit = {join for join in joins if shifts[join.left] == shifts[join.right] + join.offset}
    # What no shift explains has a column of its own, on the right.
    moved = {attribute: _shifted(attribute, -by, scope) for attribute, by in shifts.items() if by}

    def atom(condition: Atom) -> Formula:
        if isinstance(condition, Join) and not scope.is_timestamp(condition.left):
            if condition in fit:
                return replace(
                    condition,
                    left=moved.get(condition.left, condition.left),
                    right=moved.get(condition.right, condition.right),
                    offset=0,
                    offset_text="",
                )
            by = condition.offset + shifts[condition.right] - shifts[condition.left]
            right = _shifted(condition.right, by - shifts[condition.right], scope)
            return replace(
                condition,
                left=moved.get(condition.left, condition.left),
                right=right,
                offset=0,
                offset_text="",
            )
        if isinstance(condition, Filter) and condition.attribute in moved:
            return replace(
                condition,
                attribute=moved[condition.attribute],
                constant=_less(condition.constant, shifts[condition.attribute]),
            )
        if isinstance(condition, Membership) and condition.attribute in moved:
            values = tuple(_less(value, shifts[condition.attribute]) for value in condition.values)
            return replace(condition, attribute=moved[condition.attribute], values=values)
        if isinstance(condition, NullTest) and condition.attribute in moved:
            return replace(condition, attribute=moved[condition.attribute])
        if isinstance(condition, Never):
            return replace(condition, attributes=tuple(moved.get(a, a) for a in condition.attributes))
        return condition

    shown = (
        replace(o, term=moved[o.term], moved=o.moved - shifts[o.term])
        if isinstance(o.term, Attribute) and o.term in moved and not done
        else o
        for o in outputs
    )
    return [_mapped(f, atom) for f in listed], tuple(shown)


def _mapped(formula: Formula, of: Callable[[Atom], Formula]) -> Formula:
    if isinstance(formula, AllOf):
        return all_of(_mapped(part, of) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return any_of(_mapped(part, of) for part in formula.parts)
    return of(formula)


def _shifts(joins: list[Join], shown: Container[Term]) -> dict[Attribute, int]:
    """A shift for each column, so that as many offsets as may be are differences of two.

    Args:
        shown: what is not shifted, where that may be.
    """
    edges: dict[Attribute, list[tuple[Attribute, int]]] = {}
    # Comparisons without offsets first: what they join is shifted alike.
    for join in sorted(joins, key=lambda j: j.offset != 0):
        edges.setdefault(join.left, []).append((join.right, -join.offset))
        edges.setdefault(join.right, []).append((join.left, join.offset))
    shifts: dict[Attribute, int] = {}
    for start in sorted(edges, key=lambda attribute: attribute not in shown):
        if start in shifts:
            continue
        shifts[start] = 0
        pending = deque([start])
        while pending:
            here = pending.popleft()
            for there, by in edges[here]:
                if there not in shifts:
                    shifts[there] = shifts[here] + by
                    pending.append(there)
    return shifts


def _shifted(attribute: Attribute, by: int, scope: Expressions) -> Attribute:
    """The column that has the values of another, and ``by`` added."""
    if not by:
        return attribute
    column, relation = scope.column(attribute), scope.owner(attribute).relation
    # In words that are no expression of a user's.
    name = f"({column.name} moved by {by})"
    made = Column(
        name,
        column.type,
        None if column.domain is None else _moved(column.domain, by),
        scope.nullable(attribute),
        column.of or (column.name,),
        column.onto,
        column.assumed,
        shift=column.shift + by,
        cardinality=column.cardinality,
        formula=_plus(column, by),
    )
    scope.made.setdefault(relation.name, {})[name] = made
    return Attribute(attribute.occurrence, name)


def _plus(column: Column, by: int) -> str | None:
    """A column and a number, or a length of time, as Spark SQL."""
    base = column.formula if column.of else quoted(column.name)
    if base is None:
        return None
    step = f"INTERVAL {abs(by)} MICROSECOND" if column.type.family is Family.TIMESTAMP else str(abs(by))
    return f"({base}) {'+' if by > 0 else '-'} {step}"


def _moved(domain: Domain, by: int) -> Domain:
    def of(value: Value | None) -> Value | None:
        return None if value is None else value + by

    values = None if domain.values is None else tuple(value + by for value in domain.values)
    return Domain(of(domain.minimum), of(domain.maximum), values)


def _less(constant: Constant, by: int) -> Constant:
    value = None if constant.value is None else constant.value - by
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    return replace(constant, value=value)
