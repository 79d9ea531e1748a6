"""A judge that knows no criterion: it counts what a memory must tell apart.

Two prefixes of arrivals are of one class if no suffix of up to two tuples brings different changes. All
prefixes over a few values are put into classes, by executing the definition of each construct; a query is
unbounded if their number grows exponentially with the number of values (Myhill and Nerode's argument).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

# A tuple of stream S or T: its value and its time.
Arrival = tuple[str, int, int]
Row = tuple[object, ...]
_OPS: dict[str, Callable[[int, int], bool]] = {
    "": lambda a, b: True,
    "<": lambda a, b: a < b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}
_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "": lambda s, t: True,
    "T.ts < S.ts": lambda s, t: t < s,
    "S.ts < T.ts": lambda s, t: s < t,
    "S.ts <= T.ts + 1 AND T.ts <= S.ts + 1": lambda s, t: abs(s - t) <= 1,
}


@dataclass(frozen=True)
class Shape:
    """A query over S(A, ts) and T(B, ts): what compares and orders them, what is asked of the pairs."""

    kind: str
    op: str
    order: str

    @property
    def timed(self) -> bool:
        """Whether times matter."""
        return bool(self.order) or ".ts" in self.kind

    @property
    def condition(self) -> str:
        """What is asked of a pair, as SQL."""
        return " AND ".join(
            [*([f"S.A {self.op} T.B"] if self.op else []), *([self.order] if self.order else [])]
        )

    @property
    def sql(self) -> str:
        """The query."""
        where = f" WHERE {self.condition}" if self.condition else ""
        pairs = f"FROM S, T{where}"
        inner = f"(SELECT 1 FROM T{where})"
        on = self.condition or "1 = 1"
        return {
            "count": f"SELECT COUNT(*) {pairs}",
            "count by A": f"SELECT S.A, COUNT(*) {pairs} GROUP BY S.A",
            "count by T.ts": f"SELECT T.ts, COUNT(*) {pairs} GROUP BY T.ts",
            "count by T.ts, A": f"SELECT T.ts, S.A, COUNT(*) {pairs} GROUP BY T.ts, S.A",
            "count by T.ts, B": f"SELECT T.ts, T.B, COUNT(*) {pairs} GROUP BY T.ts, T.B",
            "sum A": f"SELECT SUM(S.A) {pairs}",
            "average B": f"SELECT AVG(T.B) {pairs}",
            "average 5": f"SELECT AVG(5) {pairs}",
            "sum A - B": f"SELECT SUM(S.A - T.B) {pairs}",
            "max A": f"SELECT MAX(S.A) {pairs}",
            "min A": f"SELECT MIN(S.A) {pairs}",
            "max B": f"SELECT MAX(T.B) {pairs}",
            "min B": f"SELECT MIN(T.B) {pairs}",
            "max A by T.ts": f"SELECT T.ts, MAX(S.A) {pairs} GROUP BY T.ts",
            "max S.ts": f"SELECT MAX(S.ts) {pairs}",
            "min S.ts": f"SELECT MIN(S.ts) {pairs}",
            "distinct A": f"SELECT COUNT(DISTINCT S.A) {pairs}",
            "having count >= 2": f"SELECT 1 {pairs} HAVING COUNT(*) >= 2",
            "having max A > 0": f"SELECT 1 {pairs} HAVING MAX(S.A) > 0",
            "exists": f"SELECT 1 FROM S WHERE EXISTS {inner}",
            "exists, A": f"SELECT S.A FROM S WHERE EXISTS {inner}",
            "not exists": f"SELECT 1 FROM S WHERE NOT EXISTS {inner}",
            "not exists, A": f"SELECT S.A FROM S WHERE NOT EXISTS {inner}",
            "distinct not exists": f"SELECT DISTINCT 1 FROM S WHERE NOT EXISTS {inner}",
            "distinct not exists, A": f"SELECT DISTINCT S.A FROM S WHERE NOT EXISTS {inner}",
            "left": f"SELECT S.A, T.B FROM S LEFT JOIN T ON {on}",
            "left, outer": f"SELECT S.A FROM S LEFT JOIN T ON {on}",
            "left, none": f"SELECT 1 FROM S LEFT JOIN T ON {on}",
            "full": f"SELECT 1 AS x FROM S FULL JOIN T ON {on}",
            "distinct 1": f"SELECT DISTINCT 1 {pairs}",
            "pairs": f"SELECT 1 {pairs}",
            "lowest A": f"SELECT A FROM {self._ranked} WHERE n = 1",
            "higher A": f"SELECT A FROM {self._ranked} WHERE n > 1",
            "higher A, rank": f"SELECT A, n FROM {self._ranked} WHERE n > 1",
            "higher ranks": f"SELECT n FROM {self._ranked} WHERE n > 1",
        }[self.kind]

    @property
    def _ranked(self) -> str:
        where = f" WHERE {self.condition}" if self.condition else ""
        return f"(SELECT S.A AS A, ROW_NUMBER() OVER (ORDER BY S.A) AS n FROM S, T{where}) AS q"

    def answer(self, arrivals: tuple[Arrival, ...]) -> Counter[Row]:
        """The definition: the answer over all that came."""
        rows = [(v, t) for stream, v, t in arrivals if stream == "S"]
        others = [(v, t) for stream, v, t in arrivals if stream == "T"]
        holds, ordered = _OPS[self.op], _ORDERS[self.order]
        pairs = [(s, t) for s in rows for t in others if holds(s[0], t[0]) and ordered(s[1], t[1])]
        return _ANSWERS[self.kind](rows, others, pairs)


_Tuple = tuple[int, int]
_Pairs = list[tuple[_Tuple, _Tuple]]


def _grouped(
    key: Callable[[_Tuple, _Tuple], Row], value: Callable[[_Pairs], object]
) -> Callable[[list[_Tuple], list[_Tuple], _Pairs], Counter[Row]]:
    def answer(rows: list[_Tuple], others: list[_Tuple], pairs: _Pairs) -> Counter[Row]:
        groups: dict[Row, _Pairs] = {}
        for s, t in pairs:
            groups.setdefault(key(s, t), []).append((s, t))
        return Counter((*g, value(found)) for g, found in groups.items())

    return answer


def _whole(
    value: Callable[[_Pairs], object],
) -> Callable[[list[_Tuple], list[_Tuple], _Pairs], Counter[Row]]:
    return lambda rows, others, pairs: Counter([(value(pairs),)])


def _matched(pairs: _Pairs, which: int) -> set[int]:
    return {id(pair[which]) for pair in pairs}


def _left(shown: Callable[[_Tuple, _Tuple | None], Row]) -> Callable[..., Counter[Row]]:
    def answer(rows: list[_Tuple], others: list[_Tuple], pairs: _Pairs) -> Counter[Row]:
        found = Counter(shown(s, t) for s, t in pairs)
        matched = _matched(pairs, 0)
        found.update(shown(s, None) for s in rows if id(s) not in matched)
        return found

    return answer


def _guarded(shown: Callable[[_Tuple], Row], wanted: bool, once: bool = False) -> Callable[..., Counter[Row]]:
    def answer(rows: list[_Tuple], others: list[_Tuple], pairs: _Pairs) -> Counter[Row]:
        matched = _matched(pairs, 0)
        found = [shown(s) for s in rows if (id(s) in matched) is wanted]
        return Counter(set(found) if once else found)

    return answer


def _full(rows: list[_Tuple], others: list[_Tuple], pairs: _Pairs) -> Counter[Row]:
    left, right = _matched(pairs, 0), _matched(pairs, 1)
    alone = [s for s in rows if id(s) not in left] + [t for t in others if id(t) not in right]
    return Counter({(1,): len(pairs) + len(alone)})


def _mean(values: list[int]) -> object:
    return None if not values else (sum(values) * 60 // len(values), sum(values) * 60 % len(values))


_ANSWERS: dict[str, Callable[[list[_Tuple], list[_Tuple], _Pairs], Counter[Row]]] = {
    # How many more, not how many: one number costs one unit.
    "count": lambda rows, others, pairs: Counter({(1,): len(pairs)}),
    "count by A": _grouped(lambda s, t: (s[0],), len),
    "count by T.ts": _grouped(lambda s, t: (t[1],), len),
    "count by T.ts, A": _grouped(lambda s, t: (t[1], s[0]), len),
    "count by T.ts, B": _grouped(lambda s, t: (t[1], t[0]), len),
    "sum A": _whole(lambda p: sum(s[0] for s, _ in p) if p else None),
    "average B": _whole(lambda p: _mean([t[0] for _, t in p])),
    "average 5": _whole(lambda p: 5 if p else None),
    "sum A - B": _whole(lambda p: sum(s[0] - t[0] for s, t in p) if p else None),
    "max A": _whole(lambda p: max((s[0] for s, _ in p), default=None)),
    "min A": _whole(lambda p: min((s[0] for s, _ in p), default=None)),
    "max B": _whole(lambda p: max((t[0] for _, t in p), default=None)),
    "min B": _whole(lambda p: min((t[0] for _, t in p), default=None)),
    "max A by T.ts": _grouped(lambda s, t: (t[1],), lambda p: max(s[0] for s, _ in p)),
    "max S.ts": _whole(lambda p: max((s[1] for s, _ in p), default=None)),
    "min S.ts": _whole(lambda p: min((s[1] for s, _ in p), default=None)),
    "distinct A": _whole(lambda p: len({s[0] for s, _ in p})),
    "having count >= 2": lambda rows, others, p: Counter([(1,)] if len(p) >= 2 else []),
    "having max A > 0": lambda rows, others, p: Counter([(1,)] if any(s[0] > 0 for s, _ in p) else []),
    "exists": _guarded(lambda s: (1,), True),
    "exists, A": _guarded(lambda s: (s[0],), True),
    "not exists": _guarded(lambda s: (1,), False),
    "not exists, A": _guarded(lambda s: (s[0],), False),
    "distinct not exists": _guarded(lambda s: (1,), False, True),
    "distinct not exists, A": _guarded(lambda s: (s[0],), False, True),
    "left": _left(lambda s, t: (s[0], None if t is None else t[0])),
    "left, outer": _left(lambda s, t: (s[0],)),
    "left, none": _left(lambda s, t: (1,)),
    "full": _full,
    "distinct 1": lambda rows, others, p: Counter([(1,)] if p else []),
    "pairs": lambda rows, others, p: Counter({(1,): len(p)}),
    "lowest A": lambda rows, others, p: Counter([(min(s[0] for s, _ in p),)] if p else []),
    "higher A": lambda rows, others, p: Counter((a,) for a in sorted(s[0] for s, _ in p)[1:]),
    "higher A, rank": lambda rows, others, p: Counter(
        (a, n) for n, a in enumerate(sorted(s[0] for s, _ in p)) if n
    ),
    "higher ranks": lambda rows, others, p: Counter((n,) for n in range(1, len(p))),
}
KINDS, OPS, ORDERS = tuple(_ANSWERS), tuple(_OPS), tuple(_ORDERS)


def classes(shape: Shape, values: int) -> int:
    """The number of classes of the prefixes in which S comes, then T, then S again, each value or not."""
    timed = shape.timed
    slots: list[Arrival] = []
    window = "<=" in shape.order
    for number, stream in enumerate("STS" if timed else "ST"):
        # Of a stream with an order its values come rising, or falling at the second time.
        rising = [v for v in range(values)]
        for position, v in enumerate(rising if number < 2 else rising[::-1]):
            slots.append((stream, v, position if window else number * values + position if timed else number))
    if window:
        slots.sort(key=lambda slot: slot[2])
    end = slots[-1][2]
    later = [(s, v, 0) for s in "ST" for v in range(-1, values + 1)]
    found: set[object] = set()
    for chosen in product((False, True), repeat=len(slots)):
        prefix = tuple(slot for slot, taken in zip(slots, chosen, strict=True) if taken)
        found.add(tuple(_told(shape, prefix, later, end + 1)))
    return len(found)


def _told(shape: Shape, prefix: tuple[Arrival, ...], later: list[Arrival], time: int) -> Iterator[object]:
    """The changes that each suffix brings."""
    before = shape.answer(prefix)
    for stream, value, _ in later:
        first = (*prefix, (stream, value, time))
        one = shape.answer(first)
        yield _change(before, one)
        for other, second, _ in later:
            two = shape.answer((*first, (other, second, time + 1)))
            yield _change(one, two)


def _change(before: Counter[Row], after: Counter[Row]) -> object:
    if before == after:
        return None
    return frozenset((row, n) for row in {*before, *after} if (n := after[row] - before[row]))


def growth(shape: Shape) -> tuple[bool | None, list[int]]:
    """Whether the classes grow exponentially (None where small sizes do not tell), and their numbers.

    The ratio of an exponential does not fall, that of a polynomial does.
    """
    found = [classes(shape, n) for n in ((1, 2, 3) if shape.timed else (2, 3, 4))]
    before, after = found[1] / found[0], found[2] / found[1]
    if after >= 0.98 * before:
        return (True if after > 1.6 and found[2] > 8 else None if after > 1.2 else False), found
    return (False if after < 1.7 else None), found
