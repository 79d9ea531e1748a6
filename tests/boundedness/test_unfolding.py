"""What uses a sub-query that must remember its keys, against the classes of inputs that must be told apart.

Two inputs are of one class if no suffix brings other changes (see ``residuals``). A query is unbounded if the
number of classes grows exponentially with the number of values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product

import pytest
from tests.boundedness.statement_cases import said

# Rows (k, x) of S, and values of T.
Row = tuple[int, int]
Answer = Counter[object]

INNER: dict[str, Callable[[Counter[Row]], list[Row]]] = {
    "SELECT A AS k, COUNT(*) AS m FROM S GROUP BY A": lambda s: _grouped(s, len),
    "SELECT A AS k, SUM(B) AS m FROM S GROUP BY A": lambda s: _grouped(s, sum),
    "SELECT A AS k, MAX(B) AS m FROM S GROUP BY A": lambda s: _grouped(s, max),
    "SELECT DISTINCT A AS k, B AS m FROM S": lambda s: sorted(s),
    "SELECT k, m FROM (SELECT A AS k, B AS m, ROW_NUMBER() OVER (PARTITION BY A ORDER BY B DESC) AS n FROM S)"
    " WHERE n = 1": lambda s: _grouped(s, max),
}
OUTER: dict[str, Callable[[list[Row], list[int]], Iterable[object]]] = {
    "SELECT r.k, r.m FROM ({}) r": lambda r, t: r,
    "SELECT r.m FROM ({}) r": lambda r, t: [m for _, m in r],
    "SELECT COUNT(*) FROM ({}) r": lambda r, t: [len(r)],
    "SELECT SUM(r.m) FROM ({}) r": lambda r, t: [sum(m for _, m in r)],
    "SELECT MAX(r.m) FROM ({}) r": lambda r, t: [max((m for _, m in r), default=0)],
    "SELECT MIN(r.m) FROM ({}) r": lambda r, t: [min((m for _, m in r), default=0)],
    "SELECT DISTINCT r.m FROM ({}) r": lambda r, t: {m for _, m in r},
    "SELECT DISTINCT r.k FROM ({}) r": lambda r, t: {k for k, _ in r},
    "SELECT r.m, COUNT(*) FROM ({}) r GROUP BY r.m": lambda r, t: Counter(m for _, m in r).items(),
    "SELECT r.k, MAX(r.m) FROM ({}) r GROUP BY r.k": lambda r, t: _best(r).items(),
    "SELECT r.k, r.m FROM ({}) r WHERE r.m > 1": lambda r, t: [row for row in r if row[1] > 1],
    "SELECT COUNT(*) FROM ({}) r WHERE r.m > 1": lambda r, t: [sum(m > 1 for _, m in r)],
    "SELECT r.k, r.m FROM ({}) r ORDER BY r.m DESC, r.k LIMIT 1": lambda r, t: sorted(
        r, key=lambda row: (-row[1], row[0])
    )[:1],
    "SELECT r.k, r.m FROM ({}) r JOIN T ON T.A = r.k": lambda r, t: [
        row for row in r for y in t if y == row[0]
    ],
    "SELECT DISTINCT 1 FROM ({}) r JOIN T ON T.A = r.k": lambda r, t: {1 for k, _ in r for y in t if y == k},
    "SELECT COUNT(*) FROM ({}) r JOIN T ON T.A = r.m": lambda r, t: [sum(m == y for _, m in r for y in t)],
    "SELECT COUNT(*) FROM ({}) r JOIN T ON T.A > r.m": lambda r, t: [sum(m < y for _, m in r for y in t)],
    "SELECT DISTINCT 1 FROM ({}) r JOIN T ON T.A > r.m": lambda r, t: {1 for _, m in r for y in t if m < y},
    "SELECT COUNT(*) FROM ({}) r, T": lambda r, t: [len(r) * len(t)],
    "SELECT SUM(r.m) FROM ({}) r, T": lambda r, t: [sum(m for _, m in r) * len(t)],
}


def _grouped(rows: Counter[Row], of: Callable[[list[int]], int]) -> list[Row]:
    found: dict[int, list[int]] = {}
    for k, x in rows.elements():
        found.setdefault(k, []).append(x)
    return [(k, of(values)) for k, values in sorted(found.items())]


def _best(rows: list[Row]) -> dict[int, int]:
    found: dict[int, int] = {}
    for k, m in rows:
        found[k] = max(m, found.get(k, m))
    return found


def _classes(inner: str, outer: str, values: int) -> int:
    """How many inputs over so many values must be told apart."""
    rows = list(product(range(1, values + 1), repeat=2))
    others = list(range(1, values + 2)) if " T" in outer else []

    def answer(s: Counter[Row], t: list[int]) -> Answer:
        return Counter(OUTER[outer](INNER[inner](s), t))

    more = range(1, values + 2)
    suffixes: list[tuple[list[Row], list[int]]] = [([row], []) for row in product(more, repeat=2)]
    suffixes += [([row, row], []) for row in rows]
    suffixes += [([], [y]) for y in others] + [([row], [y]) for row in rows for y in others]
    found = set()
    for chosen in product((0, 1), repeat=len(rows)):
        s = Counter({row: 1 for row, there in zip(rows, chosen, strict=True) if there})
        for picked in product((0, 1), repeat=len(others)):
            t = [y for y, there in zip(others, picked, strict=True) if there]
            before = answer(s, t)
            replies = []
            for further, ys in suffixes:
                after = answer(s + Counter(further), [*t, *ys])
                replies.append((frozenset((after - before).items()), frozenset((before - after).items())))
            found.add(tuple(replies))
    return len(found)


def _compared(inner: str, outer: str, most: int) -> None:
    verdict = said(outer.format(inner))[0]
    small, large = _classes(inner, outer, most - 1), _classes(inner, outer, most)
    if verdict != "unknown":
        assert (verdict == "unbounded") is (large >= 2 * small), (small, large)


CASES = list(product(INNER, OUTER))


@pytest.mark.parametrize(("inner", "outer"), [case for case in CASES if " T" not in case[1]], ids=str)
def test_a_sub_query_alone(inner: str, outer: str) -> None:
    _compared(inner, outer, 3)


@pytest.mark.parametrize(("inner", "outer"), [case for case in CASES if " T" in case[1]], ids=str)
def test_a_sub_query_with_a_stream(inner: str, outer: str) -> None:
    _compared(inner, outer, 2)
