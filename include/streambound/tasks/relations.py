"""What counts of a partition by timestamp: from tasks to the evaluation of a query with time conditions.

The canonical bytes of an occurrence's share are JSON, ``[[moment, [value, ...], multiplicity], ...]``: the
accepted tuples in order of time, only the columns that may matter to an answer, equal ones once. The answers
of a part that keeps nothing are ``[[[value, ...], multiplicity], ...]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from streambound.approximate.evaluation import Tuple
from streambound.errors import DataError
from streambound.query.model import Attribute, Query
from streambound.synopsis.plan import Plan
from streambound.synopsis.row_join import Match, Row, weight_of
from streambound.synopsis.serial import canonical, decoded, plain, value_of
from streambound.synopsis.state_codec import HeldRow
from streambound.tasks.ordered import encoded


def by_time(rows: Iterable[Sequence[Any]], parts: int) -> list[bytes]:
    """The canonical bytes of each partition, from rows (partition, moment, columns, multiplicity).

    Raises:
        DataError: a tuple has no timestamp.
    """
    found: list[list[Any]] = [[] for _ in range(parts)]
    for part, moment, *values, count in rows:
        if moment is None:
            raise DataError(
                "a row has no application timestamp",
                fix="write the partition again, or exclude it",
            )
        found[part].append([encoded(moment), [plain(encoded(value)) for value in values], count])
    return [canonical(list(_in_time(rows))) for rows in found]


def _in_time(rows: list[list[Any]]) -> Iterator[list[Any]]:
    rows.sort(key=itemgetter(0))
    for _, tied in groupby(rows, key=itemgetter(0)):
        at_once = list(tied)
        # Most moments have one tuple, and its text is not needed for its place.
        yield from at_once if len(at_once) == 1 else sorted(at_once, key=canonical)


def counted(rows: Iterable[Sequence[Any]], parts: int) -> list[bytes]:
    """The canonical bytes of each partition's answers, from rows (partition, columns, multiplicity)."""
    found: list[list[Any]] = [[] for _ in range(parts)]
    for part, *values, count in rows:
        found[part].append([[plain(encoded(value)) for value in values], plain(count)])
    return [canonical(sorted(rows, key=canonical)) for rows in found]


def counted_rows(query: Query, data: bytes) -> dict[Row, int]:
    """The answer rows in such bytes, with their multiplicities."""
    at = {attribute: place for place, attribute in enumerate(query.projected)}
    found: dict[Row, int] = {}
    for body, count in json.loads(data):
        values = [value_of(value) for value in body]
        terms = (o.term for o in query.select)
        row = tuple(values[at[term]] if isinstance(term, Attribute) else term.value for term in terms)
        found[row] = found.get(row, 0) + value_of(count)
    return found


def tuples_of(side: int, data: bytes) -> list[Tuple]:
    """The tuples of one side of an equijoin in such bytes, in order of time."""
    return [
        Tuple(side, moment, tuple(map(value_of, row)))
        for moment, row, count in json.loads(data)
        for _ in range(count)
    ]


def rows_of(data: bytes) -> list[HeldRow]:
    """The tuples in such bytes: (values of the carried columns ..., moment, multiplicity)."""
    return [(*decoded(row), moment, count) for moment, row, count in json.loads(data)]


def arrivals(plan: Plan, given: Mapping[str, bytes]) -> Iterator[tuple[int, dict[str, list[Match]]]]:
    """(moment, weighted tuples by occurrence) in order of time, from the bytes of each occurrence."""
    carried = {synopsis.alias: synopsis.carried for synopsis in plan.streams}
    weighing = {alias: bool(plan.query.weighing(alias)) for alias in carried}
    found: dict[int, dict[str, list[Match]]] = {}
    for alias in carried.keys() & given.keys():
        for moment, row, count in json.loads(given[alias]):
            values = dict(zip(carried[alias], map(value_of, row), strict=not weighing[alias]))
            if weighing[alias]:
                count *= weight_of(map(value_of, row[len(values) :]))
            batch = found.setdefault(moment, {name: [] for name in carried})
            batch[alias].append(Match(values, {alias: moment}, count))
    for moment in sorted(found):
        yield moment, found[moment]
