"""Numbers of rows where a row weighs a product of columns (``Query.weight``): sums that are exact.

An engine adds up what cannot leave its numbers: integers in 128 bits, products of two of them in two halves,
decimals of few digits. Of anything else the columns come along as further columns of the groups (``w0``,
...), before the number of rows, and are multiplied where there is no limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from streambound.plan.flow import Measure
from streambound.query.column_types import INTEGERS, digits_of, exact_sum
from streambound.query.model import Attribute, Term
from streambound.query.operators import AggregateKind
from streambound.state.row_join import weight_of
from streambound.tasks import encoded_sql
from streambound.tasks.clauses import Clauses

_HALF = 32

Named = tuple[str, exp.Expr]


def weighing(build: Clauses, factors: Sequence[Attribute]) -> tuple[list[Named], exp.Expr]:
    """The columns beside those of groups, and the number of a group, where a row weighs a product."""
    node = _sum(build, factors)
    if node is not None:
        return [], node
    return [(f"w{i}", build.outward(a)) for i, a in enumerate(factors)], exp.Count(this=exp.Star())


def _sum(build: Clauses, factors: Sequence[Attribute]) -> exp.Expr | None:
    kinds = [build.kind(a) for a in factors]
    columns = [build.outward(a) for a in factors]
    if not factors:
        return exp.Count(this=exp.Star())
    if not exact_sum(kinds):
        return None
    if all(kind.name in INTEGERS for kind in kinds):
        first, *rest = (exp.cast(column, "HUGEINT") for column in columns)
        return _halves(first, *rest) if rest else exp.Sum(this=first)
    made = [
        exp.cast(c, f"DECIMAL({', '.join(map(str, digits_of(kind.name)))})")
        for c, kind in zip(columns, kinds, strict=True)
    ]
    product: exp.Expr = made[0]
    for factor in made[1:]:
        product = exp.Mul(this=product, expression=factor)
    return exp.Sum(this=product)


def measuring(build: Clauses, terms: Sequence[Term], measure: Measure) -> exp.Expr:
    """What rows come to, as text where it is a sum."""
    columns, present = (
        [t for p in positions if isinstance(t := terms[p], Attribute)]
        for positions in (measure.columns, measure.present)
    )
    if measure.kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        value = build.outward(columns[0])
        return exp.Min(this=value) if measure.kind is AggregateKind.LEAST else exp.Max(this=value)
    tests = [build.present(a) for a in dict.fromkeys(present)]
    measured_sum = _sum(build, columns)
    assert measured_sum is not None
    *upper, last = [
        exp.cast(
            exp.Filter(this=expression, expression=exp.Where(this=exp.and_(*tests))) if tests else expression,
            "TEXT",
        )
        for expression in (
            measured_sum.expressions if isinstance(measured_sum, exp.Array) else [measured_sum]
        )
    ]
    return (
        last
        if not upper
        else exp.Anonymous(this="CONCAT", expressions=[*upper, exp.Literal.string(" "), last])
    )


def measured(written: str | None) -> int | Fraction:
    """The number in such a text; of no row 0."""
    *upper, last = map(exact, (written or "0").split())
    return (int(upper[0]) << _HALF) + last if upper else last


def exact(written: str) -> int | Fraction:
    """A number as it was written."""
    try:
        return int(written)
    except ValueError:
        fraction = Fraction(written)
        return fraction.numerator if fraction.denominator == 1 else fraction


def _halves(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The sum of products of integers: that of the upper halves of the first, and that of the lower ones."""
    upper = exp.BitwiseRightShift(this=left, expression=exp.Literal.number(_HALF))
    lower = exp.BitwiseAnd(this=left.copy(), expression=exp.Literal.number(2**_HALF - 1))
    halves = (exp.Mul(this=exp.paren(half), expression=right.copy()) for half in (upper, lower))
    return exp.Array(expressions=[exp.Sum(this=half) for half in halves])


def multiplied(rows: Iterable[Sequence[Any]], columns: int, after: int = 0) -> Iterator[Sequence[Any]]:
    """Rows whose number is that of ``weighing``; ``columns`` are before it, and ``after`` it are others."""
    for row in rows:
        at = len(row) - 1 - after
        number = row[at]
        if isinstance(number, list):
            upper, lower = number
            number = (upper << _HALF) + lower
        weight = weight_of(map(encoded_sql.encoded, (*row[at - columns : at], number)))
        yield (*row[: at - columns], weight, *row[at + 1 :])
