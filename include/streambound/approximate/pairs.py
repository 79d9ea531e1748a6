"""From joined pairs of tuples to answer rows: the further conditions, the SELECT list, and multiplicities.

Values become ranks, so that conditions and equal rows are found in arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.equijoin import Equijoin
from streambound.query.model import Attribute, Join

Row = tuple[Any, ...]
Rows = NDArray[np.int64]
NULL = -1
# So many combinations of codes fit one number.
MOST_CODES = 1 << 62


class Columns:
    """The columns of some tuples of both streams, by attribute; a row has those of its own stream."""

    def __init__(self, values: Mapping[Attribute, Sequence[Any]]) -> None:
        self.values = values

    def ranks(self, atom: Join, left: Rows, right: Rows) -> tuple[Rows, Rows]:
        """The ranks of both sides of a comparison among all their values; NULL for what is NULL."""
        ours, theirs = self.values[atom.left], self.values[atom.right]
        if atom.offset:
            theirs = [None if value is None else value + atom.offset for value in theirs]
        rank = {value: at for at, value in enumerate(sorted({*ours, *theirs} - {None}))}
        return (
            np.array([rank.get(value, NULL) for value in ours], np.int64)[left],
            np.array([rank.get(value, NULL) for value in theirs], np.int64)[right],
        )

    def dictionary_encoded(self, attribute: Attribute, rows: Rows) -> tuple[Rows, list[Any]]:
        """A number for each different value of a column in some rows, and the values."""
        numbers: dict[Any, int] = {}
        coded = np.array([numbers.setdefault(v, len(numbers)) for v in self.values[attribute]], np.int64)
        return coded[rows], list(numbers)


def meeting(join: Equijoin, columns: Columns, left: Rows, right: Rows) -> NDArray[np.bool_]:
    """Which pairs of rows meet the further conditions."""
    met = np.ones(len(left), np.bool_)
    for atom in join.rest:
        sides = (left, right) if atom.left.occurrence == join.left else (right, left)
        first, second = columns.ranks(atom, *sides)
        met &= atom.op.compared(first, second) & (first != NULL) & (second != NULL)
    return met


def answer_rows(join: Equijoin, columns: Columns, left: Rows, right: Rows) -> dict[Row, int]:
    """The answer rows (encoded) of pairs of rows, with how many pairs give each."""
    query = join.query
    coded = {
        a: columns.dictionary_encoded(a, left if a.occurrence == join.left else right)
        for a in query.projected
    }
    combined = np.zeros(len(left), np.int64)
    span = 1
    for symbols, values in coded.values():
        if span * max(len(values), 1) >= MOST_CODES:
            # The combinations that do occur are no more than the pairs.
            seen, combined = np.unique(combined, return_inverse=True)
            span = len(seen)
        combined = combined * len(values) + symbols
        span *= max(len(values), 1)
    _, first, number = np.unique(combined, return_index=True, return_counts=True)
    counts: dict[Row, int] = {}
    for at, count in zip(first.tolist(), number.tolist(), strict=True):
        row = tuple(
            coded[o.term][1][coded[o.term][0][at]] if isinstance(o.term, Attribute) else o.term.value
            for o in query.select
        )
        counts[row] = counts.get(row, 0) + count
    return dict.fromkeys(counts, 1) if query.ring.idempotent else counts
