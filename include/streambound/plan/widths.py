"""How many values and counts an operation keeps (docs/theory.md, "Units").

What each aggregate keeps is an accumulator of ``operators.grouping.aggregates``; these are its sizes, as a
number for each group, and for each different value of what it reads.
"""

from __future__ import annotations

from collections.abc import Callable

from streambound.plan.frame_reach import ENDS, RANKS, endless
from streambound.query.column_types import Type
from streambound.query.operators import Aggregate, AggregateKind, Over, Ranking

# Sums that a quotient of sums is made of: of powers of one column, or of two.
_SUMS = {
    **dict.fromkeys(("AVG", "MEAN", "AVG_IF"), 2),
    **dict.fromkeys(("SKEWNESS",), 4),
    **dict.fromkeys(("KURTOSIS",), 5),
    **dict.fromkeys(("COVAR_POP", "COVAR_SAMP", "CORR"), 6),
}
# Rows that are no finite number, apart: NaN, and above and below all numbers.
_ENDLESS = 3


def width(aggregate: Aggregate, kinds: Callable[[int], Type], retracts: bool) -> tuple[int, int]:
    """What an aggregate keeps of a group: numbers, and numbers for each different value of what it reads.

    Args:
        kinds: the type of a position that the aggregate reads.
        retracts: whether rows are taken back.
    """
    read = max(1, len(aggregate.arguments))
    numeric = aggregate.kind in (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.MEAN)
    if numeric and aggregate.distinct:
        return 0, read + retracts
    if aggregate.kind is AggregateKind.COUNT:
        return 1, 0
    if numeric:
        sums = (
            2 if aggregate.kind is AggregateKind.SUM else _SUMS.get(aggregate.function, 6 if read > 1 else 3)
        )
        read_kinds = (
            [kinds(p) for p in aggregate.arguments] if aggregate.computed is None else [aggregate.computed]
        )
        return sums + _ENDLESS * any(kind.resolution is None for kind in read_kinds), 0
    chosen = (
        2 if aggregate.by is not None or aggregate.kind in (AggregateKind.FIRST, AggregateKind.LAST) else 1
    )
    lasting = retracts or aggregate.kind is AggregateKind.LIST
    return (0, chosen + 1) if lasting else (chosen, 0)


def chooses(aggregate: Aggregate) -> bool:
    """Whether an aggregate shows one of the values that it reads."""
    return aggregate.kind not in (
        AggregateKind.COUNT,
        AggregateKind.SUM,
        AggregateKind.MEAN,
        AggregateKind.LIST,
    )


def ranked(then: Ranking, columns: int, retracts: bool) -> tuple[int, int]:
    """What ranks keep of a partition: numbers, and numbers for each different row of it.

    Args:
        columns: the number of columns of the rows.
        retracts: whether rows are taken back.
    """
    row = columns + 1
    if not then.keeps_all(retracts) and then.function == "ROW_NUMBER":
        return then.last * row, 0
    return 0, row if then.last or then.keeps_all(retracts) else 0


def past(over: Over, kinds: Callable[[int], Type]) -> tuple[int, int]:
    """What a window function keeps of forgotten rows: of a partition, and for each value that it reads.

    Args:
        kinds: the type of a position that the function reads.
    """
    if not endless(over):
        return 0, 0
    if over.name == "DENSE_RANK":
        return 1 + len(over.order), 0
    if over.name in (*RANKS, *ENDS) or over.aggregate is None:
        return (over.offset if over.name == "NTH_VALUE" else 1), 0
    return width(over.aggregate, kinds, False)
