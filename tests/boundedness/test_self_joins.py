"""DISTINCT over a stream with itself, against the automaton of all its states over few values."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from itertools import product

import pytest

from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.boundedness.statements import decide
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

CATALOG = catalog_from_mapping(
    {"S": {"columns": {"A": "int", "B": "int", "K": "int", "ts": "int"}, "timestamp": "ts"}}
)
_OPS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">": operator.gt,
}
# Of two orders of so many values there are more antichains than this, and fewer tuples of extrema.
VALUES, MANY = 8, 6_000

Atom = tuple[str, str, str]


def verdict(sql: str) -> Verdict:
    return decide(read(sql, CATALOG, "q").statement).verdict


@pytest.mark.parametrize(
    ("sql", "bounded"),
    [
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.B < y.B AND x.A > y.A", False),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.B = y.B AND x.ts < y.ts", False),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.B < y.B AND x.A > y.A AND x.ts < y.ts", False),
        ("SELECT DISTINCT x.K FROM S x, S y WHERE x.K = y.K AND x.ts < y.ts AND x.A = y.A", False),
        ("SELECT DISTINCT y.A FROM S x, S y WHERE x.A < y.A AND 1 <= x.A", False),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A < y.A", True),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A < y.A AND x.ts < y.ts", True),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A = y.A AND x.ts < y.ts + 3 AND y.ts < x.ts + 3", True),
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A <> y.A", True),
    ],
)
def test_of_two_occurrences_it_is_decided(sql: str, bounded: bool) -> None:
    assert verdict(sql).outcome is (Outcome.BOUNDED if bounded else Outcome.UNBOUNDED)


def states(atoms: list[Atom], ordered: bool, values: int, most: int) -> int:
    """The states of a memory that answers exactly: which tuples complete a match; at most ``most``."""
    grid = list(product(range(values), repeat=2))
    around = list(product(range(-1, values + 1), repeat=2))

    def match(x: tuple[int, int], y: tuple[int, int]) -> bool:
        return all(_OPS[op](_value(one, x, y), _value(other, x, y)) for one, op, other in atoms)

    completes = {
        t: sum(1 << n for n, f in enumerate(around) if match(t, f) or (not ordered and match(f, t)))
        for t in grid
    }
    positions = {t: 1 << around.index(t) for t in grid}
    usable = [t for t in grid if ordered or not match(t, t)]
    seen, pending = {0}, [0]
    while pending and len(seen) <= most:
        here = pending.pop()
        for t in usable:
            if not here & positions[t] and (there := here | completes[t]) not in seen:
                seen.add(there)
                pending.append(there)
    return len(seen)


def _value(name: str, x: tuple[int, int], y: tuple[int, int]) -> int:
    if name.isdigit():
        return int(name)
    return (x if name[0] == "x" else y)["AB".index(name[2])]


def drawn(random_: random.Random) -> tuple[list[Atom], bool]:
    names = ["x.A", "x.B", "y.A", "y.B"]
    atoms = [
        (one, random_.choice(list(_OPS)), other)
        for one, other in (random_.sample(names, 2) for _ in range(random_.randint(1, 3)))
    ]
    if random_.random() < 0.3:
        # Above a constant there is room for as many values as are tried.
        atoms.append((random_.choice(names), ">", random_.choice("01")))
    return atoms, random_.random() < 0.4


def judge(seed: int) -> Outcome:
    atoms, ordered = drawn(random.Random(seed))
    said = " AND ".join([*(" ".join(atom) for atom in atoms), *(["x.ts < y.ts"] if ordered else [])])
    found = verdict(f"SELECT DISTINCT 1 FROM S x, S y WHERE {said}").outcome
    many = states(atoms, ordered, VALUES, MANY) > MANY
    if found is Outcome.BOUNDED:
        assert not many, said
    if found is Outcome.UNBOUNDED:
        fewer = states(atoms, ordered, VALUES - 2, MANY)
        assert many or states(atoms, ordered, VALUES, MANY) > 2.2 * fewer, said
    return found


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_self_joins(first: int) -> None:
    found = [judge(seed) for seed in range(first, first + 20)]
    assert Outcome.UNKNOWN not in found


@pytest.mark.heavy
def test_many_random_self_joins() -> None:
    found = [judge(seed) for seed in range(1_000)]
    assert found.count(Outcome.UNKNOWN) <= 20
    assert min(found.count(Outcome.BOUNDED), found.count(Outcome.UNBOUNDED)) > 100


def test_what_is_computed_of_one_occurrence_alone() -> None:
    """Where no NULL arrives each set of groups is a join under DISTINCT, of a stream with itself."""
    within = "A IN (SELECT t.A FROM S t)"
    found = verdict(f"SELECT B, K + 1, COUNT(*) FROM S WHERE {within} GROUP BY GROUPING SETS ((B), (K + 1))")
    assert found.outcome is Outcome.UNBOUNDED


def test_a_column_that_is_computed_of_one_occurrence_alone() -> None:
    columns = {"K": "int", "B": "int", "ts": "timestamp"}
    catalog = catalog_from_mapping({"S": {"columns": columns, "timestamp": "ts"}})
    key = "DATE_FORMAT(x.ts, 'yyyy-MM-dd')"
    guard = "EXISTS (SELECT 1 FROM S y WHERE x.ts <= y.ts + INTERVAL 2 SECOND)"
    sql = f"SELECT x.B, {key} AS d, SUM(x.K) FROM S x WHERE {guard} GROUP BY ROLLUP (x.B, {key})"
    assert decide(read(sql, catalog, "q").statement).verdict.outcome is not Outcome.BOUNDED
