"""OR, taken apart: from a SELECT to conjunctions (theory of the exact criterion, section 0).

Conditions on single tuples are split first, into *cases* of which each match is in exactly one: a
query without self-joins is bounded iff every case is. What crosses streams is not split but merged:
in a case only comparisons between streams are left under OR, and their truth is a table over how
each pair compares (<, =, >, or the intervals between the offsets of two timestamps). If the table is that of
one conjunction the case is that conjunction, so ``S.A < T.A OR S.A >= T.A`` is a product. Otherwise
several cover it: for bags no two have a match in common, for sets each is as wide as it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from streambound.constraints.pairs import Pair, PairTable, pair_of, pair_table
from streambound.constraints.search import SearchLimit
from streambound.constraints.space import Space
from streambound.constraints.system import System, conditions_of, contradicts, finite, within
from streambound.query.formula import (
    ALWAYS,
    NOWHERE,
    AllOf,
    AnyOf,
    Formula,
    all_of,
    assumed,
    atoms_of,
    untrue,
)
from streambound.query.model import Atom, Attribute, Comparison, Constant, NullTest, Op, Query
from streambound.query.statement import Selection

# Cases of one SELECT. Conditions that people write have a handful.
CASE_LIMIT = 1_000

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """Matches that are told from the others by conditions on single tuples.

    ``parts`` are conjunctions that together have exactly these matches: one, or several that
    overlap at most where duplicates are eliminated.
    """

    parts: tuple[Query, ...]

    @property
    def exact(self) -> bool:
        """Whether the verdict on the case is that on its one part."""
        return len(self.parts) == 1


@dataclass(frozen=True)
class _Leaf:
    """What is known of the tuples of a case, and what is left under OR: comparisons between streams."""

    selection: Selection
    known: tuple[Atom, ...]
    rest: Formula
    facts: System

    @property
    def query(self) -> Query:
        return replace(self.selection.base, where=self.known)

    @property
    def possible(self) -> bool:
        """Whether some tuples meet what is known."""
        return not contradicts(self.query) and self.facts.satisfiable()

    def narrowed(self, atoms: tuple[Atom, ...]) -> _Leaf:
        """The leaf in which more atoms are known to be true; what is left under OR stays as it is."""
        constraints, choices = conditions_of(self.facts.space, atoms)
        closure = None if self.facts.closure is None else self.facts.closure.assume(constraints)
        facts = replace(self.facts, closure=closure, choices=(*self.facts.choices, *choices))
        return replace(self, known=tuple(dict.fromkeys((*self.known, *atoms))), facts=facts)


def cases(selection: Selection) -> tuple[Case, ...]:
    """The satisfiable cases of a SELECT.

    Raises:
        SearchLimit: more than CASE_LIMIT cases, or more ways to compare than a table holds.
    """
    found = (_case(leaf) for leaf in _limited(_leaves(selection)))
    return tuple(case for case in found if case.parts)


def refined(selection: Selection) -> tuple[Case, ...]:
    """The cases, split further where several conjunctions are left: by the zones of what they compare.

    In a zone branch constants decide every comparison but those of one zone, and so there may be
    but one conjunction left.

    Raises:
        SearchLimit: as ``cases``.
    """
    found = []
    for leaf in _limited(_leaves(selection)):
        case = _case(leaf)
        if case.exact or not case.parts:
            found.append(case)
        else:
            found.extend(_limited(_case(part) for zone in _zoned(leaf) for part in _valued(zone)))
    return tuple(case for case in found if case.parts)


def _limited(found: Iterable[T]) -> Iterator[T]:
    for number, item in enumerate(found):
        if number >= CASE_LIMIT:
            raise SearchLimit
        yield item


def _leaves(selection: Selection) -> Iterator[_Leaf]:
    pending = [_Leaf(selection, (), selection.formula, within(selection.base, atoms_of(selection.formula)))]
    while pending:
        leaf = _propagated(pending.pop())
        if leaf.rest == NOWHERE or not leaf.possible:
            continue
        ways = _ways(leaf)
        if ways is None:
            yield leaf
        else:
            pending.extend(reversed(ways))


def _propagated(leaf: _Leaf) -> _Leaf:
    """The leaf with what must hold moved to what is known."""
    while True:
        parts = leaf.rest.parts if isinstance(leaf.rest, AllOf) else (leaf.rest,)
        sure = tuple(part for part in parts if not isinstance(part, (AllOf, AnyOf)))
        if not sure:
            return leaf
        rest = all_of(part for part in parts if isinstance(part, (AllOf, AnyOf)))
        leaf = _known(replace(leaf, rest=rest), sure)


def _known(leaf: _Leaf, atoms: tuple[Atom, ...]) -> _Leaf:
    """The leaf in which some atoms are known to be true, and what that says of others."""
    narrowed = leaf.narrowed(atoms)
    known, query = set(narrowed.known), narrowed.query

    def truth(atom: Atom) -> bool | None:
        if atom in known:
            return True
        if isinstance(atom, NullTest):
            if atom.attribute in query.nulls:
                return atom.null
            return not atom.null if atom.attribute in query.present else None
        return False if not query.nulls.isdisjoint(atom.attributes) else None

    return replace(narrowed, rest=assumed(leaf.rest, truth))


def _ways(leaf: _Leaf) -> list[_Leaf] | None:
    """The leaf split by a condition on one tuple that is under OR; None if there is none."""
    base = leaf.selection.base
    for atom in atoms_of(leaf.rest):
        if len({a.occurrence for a in atom.attributes}) < 2:
            return _split(leaf, atom)
    if _simple(leaf):
        return None
    for attribute in (a for atom in atoms_of(leaf.rest) for a in atom.attributes):
        if base.nullable(attribute) and attribute not in leaf.query.present:
            return _split(leaf, NullTest(attribute, True))
    return None


def _simple(leaf: _Leaf) -> bool:
    """Whether one conjunction, or none, says what is left under OR, NULL or not."""
    return leaf.rest == ALWAYS or len(_table(leaf).cover(disjoint=False)) < 2


def _split(leaf: _Leaf, atom: Atom) -> list[_Leaf]:
    """Where an atom is true, and each way in which it is not; fewer ways where some are impossible."""
    ways = [((atom,), True), *((way, False) for way in untrue(atom, leaf.selection.base.nullable))]
    possible = [(way, true) for way, true in ways if leaf.narrowed(way).possible]
    found = []
    for way, true in possible:
        rest = assumed(leaf.rest, lambda other, true=true: true if other == atom else None)  # type: ignore[misc]
        narrowed = replace(leaf, rest=rest)
        # The only way that is possible follows from what is known.
        found.append(narrowed if len(possible) == 1 else _known(narrowed, way))
    return found


def _case(leaf: _Leaf) -> Case:
    if leaf.rest == ALWAYS:
        return Case((leaf.selection.part(leaf.known),))
    table = _table(leaf)
    boxes = table.cover(disjoint=not leaf.selection.base.distinct)
    return Case(tuple(leaf.selection.part((*leaf.known, *table.atoms(box))) for box in boxes))


def _table(leaf: _Leaf) -> PairTable:
    return pair_table(replace(leaf.facts, query=leaf.query), leaf.rest)


def _zoned(leaf: _Leaf) -> Iterator[_Leaf]:
    """The leaf by the zones of the attributes that are compared under OR."""
    compared = sorted({a for atom in atoms_of(leaf.rest) for a in atom.attributes})
    pending = [leaf]
    for attribute in compared:
        if not leaf.query.is_timestamp(attribute) and not leaf.query.is_static(attribute):
            options = list(_positions(leaf.facts, attribute))
            pending = list(_limited(part for one in pending for part in _placed(one, options)))
    yield from pending


def _placed(leaf: _Leaf, options: list[tuple[Atom, ...]]) -> Iterator[_Leaf]:
    for option in options:
        placed = _known(leaf, option)
        if placed.possible:
            yield placed


def _positions(facts: System, attribute: Attribute) -> list[tuple[Atom, ...]]:
    """Where an attribute can lie relative to the constants: LOW, HIGH, among them or between two."""
    space, family = facts.space, facts.space.family(attribute)
    kind = facts.query.column(attribute).type
    numbers = sorted(set(space.constants(family)))
    if not numbers:
        return [()]

    def against(op: Op, number: int) -> Atom:
        value = space.value(family, number)
        return Comparison(attribute, op, Constant(value, kind.text(value), kind))

    ends: list[tuple[Atom, ...]] = [(against(Op.LT, numbers[0]),), (against(Op.GT, numbers[-1]),)]
    if space.step(attribute) is not None:
        return [*ends, (against(Op.GE, numbers[0]), against(Op.LE, numbers[-1]))]
    gaps = ((against(Op.GT, a), against(Op.LT, b)) for a, b in pairwise(numbers))
    return [*ends, *((against(Op.EQ, n),) for n in numbers), *gaps]


def _valued(leaf: _Leaf) -> Iterator[_Leaf]:
    """The leaf by how its finitely many values compare: given the values, no match is in two."""
    for pair in dict.fromkeys(pair_of(a) for a in atoms_of(leaf.rest) if isinstance(a, Comparison)):
        if all(_certain(leaf, a) for a in pair):
            for part in _compared(leaf, pair):
                yield from _valued(part)
            return
    yield leaf


def _certain(leaf: _Leaf, attribute: Attribute) -> bool:
    """Whether an attribute has finitely many values; lists of values count where they are known to hold."""
    assert leaf.facts.closure is not None
    return leaf.query.is_static(attribute) or finite(Space(leaf.query), leaf.facts.closure, attribute)


def _compared(leaf: _Leaf, pair: Pair) -> Iterator[_Leaf]:
    low, high = pair
    for op in (Op.LT, Op.EQ, Op.GT):
        region = Comparison(low, op, high)

        def truth(atom: Atom, op: Op = op) -> bool | None:
            if not isinstance(atom, Comparison) or pair_of(atom) != pair:
                return None
            own = atom.op if atom.left == low else atom.op.mirrored
            return op in _ALLOWED[own]

        narrowed = _known(replace(leaf, rest=assumed(leaf.rest, truth)), (region,))
        if narrowed.rest != NOWHERE and narrowed.possible:
            yield narrowed


_ALLOWED = {
    Op.LT: (Op.LT,),
    Op.LE: (Op.LT, Op.EQ),
    Op.EQ: (Op.EQ,),
    Op.NE: (Op.LT, Op.GT),
    Op.GE: (Op.EQ, Op.GT),
    Op.GT: (Op.GT,),
}
