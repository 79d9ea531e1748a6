"""HAVING: what it asks of the groups, and whether a group's row can be seen at all.

Numbers of rows compared with constants are known from the least of the number and some n, which takes
what DISTINCT takes (n + 1 best rows where it keeps one); whether MAX(x) is above a constant is whether
there is such a row. Of other conditions the whole aggregate is needed: that is sound for bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.query.column_types import Family
from streambound.query.formula import atoms_of
from streambound.query.model import Attribute, Op, Output
from streambound.query.operators import Aggregate, AggregateKind, Grouping, Test, Tests
from streambound.query.statement import Selection

_EXTREMA = (AggregateKind.LEAST, AggregateKind.GREATEST)


@dataclass(frozen=True)
class Condition:
    """What HAVING says.

    Args:
        whole: the aggregates whose values it needs.
        extrema: extrema with the comparison that one row decides.
        never: no group ever meets it.
        visible: rows of every group can be made to show, and each number of rows to be told.
        monotone: a group that meets it always will.
        leaves: a group meets it at first, and from some number of rows on never again.
        alone: it is one comparison of an extremum, which one row makes true, or false.
    """

    whole: tuple[int, ...] = ()
    extrema: tuple[tuple[int, Op, Fraction], ...] = ()
    never: bool = False
    visible: bool = True
    monotone: bool = True
    leaves: bool = False
    alone: bool = False


def condition(then: Grouping, selections: tuple[Selection, ...]) -> Condition:
    """What HAVING of a grouping says; nothing if there is none."""
    if then.having is None:
        return Condition()
    tests = then.having.tests
    if tests is None:
        return Condition(whole=then.having.aggregates, visible=False, monotone=False)
    listed = list(_all(tests))
    kinds = {t.aggregate: then.aggregates[t.aggregate] for t in listed}
    if all(a.counts_rows for a in kinds.values()):
        most = max(int(t.value) for t in listed) + 2
        # It is the same for all numbers between two that are compared.
        near = {int(t.value) + step for t in listed for step in (-1, 0, 1, 2)} | {1, 2, most}
        numbers = sorted(n for n in near if n >= 1)
        truths = [_truth(tests, dict.fromkeys(kinds, Fraction(n))) for n in numbers]
        leaves = truths == sorted(truths, reverse=True) and truths[0] and not truths[-1]
        monotone = truths == sorted(truths)
        return Condition(never=not any(truths), visible=any(truths), monotone=monotone, leaves=leaves)
    whole, extrema, rising = list[int](), list[tuple[int, Op, Fraction]](), True
    for test in listed:
        aggregate = kinds[test.aggregate]
        if aggregate.counts_rows:
            rising = rising and test.op in (Op.GT, Op.GE)
        elif aggregate.kind in _EXTREMA and _alone(aggregate) and (op := _above(aggregate, test)) is not None:
            extrema.append((test.aggregate, op, test.value))
            rising = rising and test.op is op
        elif _truncated(aggregate, test, selections):
            pass
        else:
            whole.append(test.aggregate)
            rising = False
    return Condition(
        tuple(dict.fromkeys(whole)),
        tuple(extrema),
        visible=_reachable(tests, then, selections),
        monotone=rising,
        alone=len(listed) == len(extrema) == 1,
    )


def _all(tests: Test | Tests) -> Iterator[Test]:
    if isinstance(tests, Test):
        yield tests
    else:
        for part in tests.parts:
            yield from _all(part)


def _truth(tests: Test | Tests, values: Mapping[int, Fraction]) -> bool:
    if isinstance(tests, Test):
        return tests.op.holds(values[tests.aggregate], tests.value)
    join = all if tests.every else any
    return join(_truth(part, values) for part in tests.parts)


def _alone(aggregate: Aggregate) -> bool:
    """Whether an extremum is of a column as it is."""
    single = len(aggregate.arguments) == 1 and aggregate.by is None
    return single and aggregate.polynomial in (None, ((Fraction(1), aggregate.arguments),))


def _above(aggregate: Aggregate, test: Test) -> Op | None:
    """The comparison of one row that decides the test; None where one row does not."""
    if aggregate.kind is AggregateKind.GREATEST:
        return {Op.GT: Op.GT, Op.GE: Op.GE, Op.LE: Op.GT, Op.LT: Op.GE}.get(test.op)
    return {Op.LT: Op.LT, Op.LE: Op.LE, Op.GE: Op.LT, Op.GT: Op.LE}.get(test.op)


def _truncated(aggregate: Aggregate, test: Test, selections: tuple[Selection, ...]) -> bool:
    """Whether a sum of terms that are at least some positive number is compared with a bound from below.

    Then so many rows decide it, as a number of rows does.
    """
    return test.op in (Op.GT, Op.GE) and least_term(aggregate, selections) is not None


def least_term(aggregate: Aggregate, selections: tuple[Selection, ...]) -> Fraction | None:
    """A positive number that no term of a sum is below; None if it has none, or is no sum of one column."""
    if aggregate.kind is not AggregateKind.SUM or aggregate.distinct:
        return None
    if aggregate.polynomial is None or len(aggregate.polynomial) != 1:
        return None
    factor, positions = aggregate.polynomial[0]
    if factor <= 0 or len(positions) != 1:
        return None
    least = list[Fraction]()
    for selection in selections:
        term = selection.base.select[positions[0]].term
        if not isinstance(term, Attribute):
            return None
        for case in cases(selection):
            for part in case.parts:
                query = type(part)(
                    part.name, part.sql, part.ring, (Output("", term),), part.occurrences, part.where
                )
                facts = system(query)
                lower = None if facts.closure is None else facts.closure.lower(term)
                resolution = facts.space.resolution(term)
                if lower is None or lower[0] < 0 or (lower[0] == 0 and not (lower[1] and resolution)):
                    return None
                least.append(factor * Fraction(lower[0] or resolution or 0))
    return min(least, default=None)


def _reachable(tests: Test | Tests, then: Grouping, selections: tuple[Selection, ...]) -> bool:
    """Whether values of free columns make every group show."""
    listed = list(_all(tests))
    if isinstance(tests, Tests) and not tests.every:
        # Values that make one of them true make a group show, whatever the others say.
        return any(_reachable(part, then, selections) for part in tests.parts)
    valued = {t.aggregate for t in listed if not then.aggregates[t.aggregate].counts_rows}
    if any(t.aggregate not in valued and t.op not in (Op.GT, Op.GE) for t in listed) or len(valued) != 1:
        return False
    if sum(t.aggregate in valued for t in listed) != 1 or any(t.op in (Op.EQ, Op.NE) for t in listed):
        return False
    aggregate = then.aggregates[valued.pop()]
    if aggregate.kind is AggregateKind.COUNT and aggregate.distinct:
        # So many further values make a group show that has others than those before; of joins that is open.
        rises = all(test.op in (Op.GT, Op.GE) for test in listed)
        single = all(len(selection.base.occurrences) == 1 for selection in selections)
        return rises and single and all(_takes_any(s, aggregate.arguments, then.keys) for s in selections)
    if aggregate.kind is AggregateKind.COUNT or aggregate.distinct:
        return False
    return all(free(selection, aggregate, then.keys) for selection in selections)


def free(selection: Selection, aggregate: Aggregate, keys: int) -> bool:
    """Whether what is aggregated is one monomial of plain numbers that nothing else asks for or bounds."""
    base = selection.base
    if aggregate.polynomial is None:
        positions = aggregate.arguments if aggregate.kind in _EXTREMA else ()
    else:
        positions = aggregate.polynomial[0][1] if len(aggregate.polynomial) == 1 else ()
    numbers = (base.select[position].term for position in positions)
    types = [base.column(term).type.family for term in numbers if isinstance(term, Attribute)]
    return _takes_any(selection, positions, keys) and set(types) == {Family.NUMBER}


def _takes_any(selection: Selection, positions: Sequence[int], keys: int) -> bool:
    """Whether outputs are columns of any values, each as it is, that nothing else asks for or bounds."""
    base = selection.base
    used = {a for atom in atoms_of(selection.formula) for a in atom.attributes}
    used |= {o.term for o in base.select[:keys] if isinstance(o.term, Attribute)}
    for position in positions:
        term = base.select[position].term
        if not isinstance(term, Attribute) or term in used or base.is_time(term):
            return False
        column = base.column(term)
        if column.of or column.domain is not None or column.type.family is Family.BOOLEAN:
            return False
    return bool(positions)
