"""Truth tables over pairs against the values themselves."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.constraints.small import assignments, comparisons, met, named, selection

from streambound.constraints import pairs
from streambound.constraints.pairs import PairTable, Variable, pair_of, pair_table
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import within
from streambound.errors import Location
from streambound.query.formula import atoms_of, holds
from streambound.query.model import Atom, Join, NullTest, Op
from streambound.query.statement import Selection

COLUMNS = [named(name) for name in ("S.A", "S.B", "T.D", "T.E")]
crossing = comparisons(["S.A", "S.B"], ["T.D", "T.E"]).filter(lambda text: "S" in text and "T" in text)
formulas = st.recursive(
    crossing,
    lambda part: st.tuples(part, st.sampled_from(["AND", "OR"]), part).map("({0[0]} {0[1]} {0[2]})".format),
    max_leaves=5,
)


def true(atom: Atom, values: Any) -> bool:
    if isinstance(atom, NullTest):
        return (values[atom.attribute] is None) is atom.null
    assert isinstance(atom, Join)
    left, right = values[atom.left], values[atom.right]
    if left is None or right is None:
        return False
    right += atom.offset
    return {
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.EQ: left == right,
        Op.NE: left != right,
        Op.GE: left >= right,
        Op.GT: left > right,
    }[atom.op]


def region(variable: Variable, values: Any) -> int:
    """The one region that the values are in."""
    left, right = (values[a] for a in variable.pair)
    if left is None or right is None:
        return variable.null
    (found,) = [r for r in variable.differences if all(met(one, values) for one in variable.literals(r))]
    return found


def tabled(found: Selection) -> PairTable:
    return pair_table(within(found.base, atoms_of(found.formula)), found.formula)


@given(formulas, st.sampled_from(["S, T", "N S, T"]))
def test_a_table_says_what_the_formula_says_of_values(text: str, tables: str) -> None:
    found = selection(text, tables=tables)
    table = tabled(found)
    values = (
        {**one, **dict.fromkeys(nulls)}
        for one in assignments(COLUMNS, range(4))
        for nulls in ([()] if tables == "S, T" else [(), COLUMNS[:1], COLUMNS[1:2], COLUMNS[:2]])
    )
    seen = {}
    for one in values:
        row = tuple(region(v, one) for v in table.variables)
        seen[row] = holds(found.formula, lambda atom, one=one: true(atom, one))  # type: ignore[misc]
    assert seen == table.rows


@given(formulas, st.booleans(), st.sampled_from(["S, T", "N S, T"]))
def test_boxes_cover_the_true_rows_and_no_other(text: str, disjoint: bool, tables: str) -> None:
    table = tabled(selection(text, tables=tables))
    boxes = table.cover(disjoint)
    for row, value in table.rows.items():
        inside = sum(all(r in some for r, some in zip(row, box, strict=True)) for box in boxes)
        assert (inside > 0) is value
        assert not disjoint or inside <= 1
    if len(boxes) == 1:
        for one in assignments(COLUMNS, range(4)):
            row = tuple(region(v, one) for v in table.variables)
            assert all(true(atom, one) for atom in table.atoms(boxes[0])) is table.rows[row]


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=2, unique=True), st.booleans())
def test_what_regions_can_say_is_true_exactly_in_them(offsets: list[int], nullable: bool) -> None:
    pair = named("X.ts"), named("Y.ts")
    variable = Variable(pair, tuple(sorted(offsets)), Location(1, 1), pair[:1] if nullable else ())
    values = [{pair[0]: a, pair[1]: b} for a, b in product(range(7), repeat=2)]
    values += [{pair[0]: None, pair[1]: b} for b in range(7)] if nullable else []
    for some in chain.from_iterable(
        combinations(variable.regions, n) for n in range(1, len(variable.regions) + 1)
    ):
        if variable.sayable(frozenset(some)):
            said = list(variable.atoms(frozenset(some)))
            for one in values:
                assert all(true(atom, one) for atom in said) is (region(variable, one) in some)
    for op, offset in product(Op, offsets):
        atom = Join(pair[0], op, pair[1], offset=offset)
        mirrored = Join(pair[1], op.mirrored, pair[0], offset=-offset)
        for one in values:
            assert variable.true(atom, region(variable, one)) is true(atom, one)
            assert variable.true(mirrored, region(variable, one)) is true(atom, one)


@given(formulas)
def test_one_box_is_enough_for_a_conjunction(text: str) -> None:
    assume(" OR " not in text)
    table = tabled(selection(text))
    assert len(table.cover(True)) == len(table.cover(False)) == any(table.rows.values())


def test_a_pair_has_one_order() -> None:
    one, other = (next(iter(atoms_of(selection(text).formula))) for text in ("S.A < T.D", "T.D > S.A"))
    assert isinstance(one, Join) and isinstance(other, Join)
    assert pair_of(one) == pair_of(other) == (named("S.A"), named("T.D"))


def test_a_table_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = selection("S.A < T.D OR S.B < T.E")
    monkeypatch.setattr(pairs, "TABLE_LIMIT", 9)
    assert len(tabled(found).rows) == 9
    monkeypatch.setattr(pairs, "TABLE_LIMIT", 8)
    with pytest.raises(SearchLimit):
        tabled(found)
