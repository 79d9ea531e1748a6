"""OR, taken apart: from a SELECT to conjunctions (theory of the exact criterion, section 0).

Conditions on single tuples are split first, into *cases*: where only tuples arrive that pass the
conditions of one, the answer is the case's, so a query without self-joins is bounded iff every case
is. Conditions on *idle* columns, which nothing else depends on, are not split: one way to meet them
stands for all. Plans need every match in a case (``whole``), and for bags in exactly one. What crosses
streams is not split but merged: in a case only comparisons between streams are left under OR, and their
truth is a table over how each pair compares (<, =, >, or the intervals between the offsets of two
timestamps). If the table is that of one conjunction the case is that conjunction, so
``S.A < T.A OR S.A >= T.A`` is a product. Otherwise several cover it: for bags no two have a match in
common, for sets each is as wide as it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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
    any_of,
    assumed,
    atoms_of,
    conjuncts,
    untrue,
)
from streambound.query.model import Atom, Attribute, Constant, Filter, Join, NullTest, Op, Query
from streambound.query.statement import Selection

# Cases of one SELECT that decide it, those that make its answer, and steps to them. Conditions that people
# write have a handful.
CASE_LIMIT, PART_LIMIT, STEP_LIMIT = 1_000, 256, 10_000

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """Matches that are told from the others by conditions on single tuples.

    ``parts`` are conjunctions that together have exactly these matches: one, or several that
    overlap at most where duplicates are eliminated. ``relaxed`` are the same without conditions on idle
    columns, of which the parts meet one way.
    """

    parts: tuple[Query, ...]
    relaxed: tuple[Query, ...]

    @property
    def exact(self) -> bool:
        """Whether the verdict on the case is that on its one part."""
        return len(self.parts) == 1


@dataclass(frozen=True)
class _Leaf:
    """What is known of the tuples of a case, and what is left under OR: comparisons between streams.

    ``whole``: every match is in a leaf; ``apart``: in one only.
    """

    selection: Selection
    certain: tuple[Atom, ...]
    rest: Formula
    facts: System
    whole: bool
    apart: bool
    # How the conditions on idle columns are met.
    met: tuple[Atom, ...] = ()

    @property
    def query(self) -> Query:
        return replace(self.selection.base, where=self.certain)

    @property
    def possible(self) -> bool:
        """Whether some tuples meet what is known."""
        return not contradicts(self.query) and self.facts.satisfiable()

    @cached_property
    def _nulls(self) -> tuple[frozenset[Attribute], frozenset[Attribute]]:
        """What is known to be NULL, and not to be."""
        return self.query.nulls, self.query.present

    def allows(self, atoms: tuple[Atom, ...]) -> bool:
        """Whether some tuples meet what is known and more atoms."""
        more = replace(self.selection.base, where=atoms)
        nulls, present = self._nulls
        if contradicts(more) or not nulls.isdisjoint(more.present) or not present.isdisjoint(more.nulls):
            return False
        return self.facts.satisfiable(*conditions_of(self.facts.space, atoms))

    def narrowed(self, atoms: tuple[Atom, ...]) -> _Leaf:
        """The leaf in which more atoms are known to be true; what is left under OR stays as it is."""
        constraints, disjunctions = conditions_of(self.facts.space, atoms)
        closure = None if self.facts.closure is None else self.facts.closure.assume(constraints)
        facts = replace(self.facts, closure=closure, disjunctions=(*self.facts.disjunctions, *disjunctions))
        return replace(self, certain=tuple(dict.fromkeys((*self.certain, *atoms))), facts=facts)


@lru_cache(maxsize=16)
def cases(selection: Selection, whole: bool = False) -> tuple[Case, ...]:
    """The satisfiable cases of a SELECT: those that decide it, or with ``whole`` those that make its answer.

    Raises:
        SearchLimit: more than CASE_LIMIT cases, or more ways to compare than a table holds.
    """
    leaves = _limited(_leaves(selection, whole), PART_LIMIT if whole else CASE_LIMIT)
    possible = (_case(leaf) for leaf in leaves)
    return tuple(case for case in possible if case.parts)


def refined(selection: Selection, whole: bool = False) -> tuple[Case, ...]:
    """The cases, split further where several conjunctions are left: by the zones of what they compare.

    In a zone branch constants decide every comparison but those of one zone, and so there may be
    but one conjunction left.

    Raises:
        SearchLimit: as ``cases``.
    """
    split = []
    for leaf in _limited(_leaves(selection, whole, apart=True)):
        case = _case(leaf)
        if case.exact or not case.parts:
            split.append(case)
        else:
            split.extend(_limited(_case(part) for zone in _zoned(leaf) for part in _valued(zone)))
    return tuple(case for case in split if case.parts)


def _limited(leaves: Iterable[T], limit: int = CASE_LIMIT) -> Iterator[T]:
    for number, item in enumerate(leaves):
        if number >= limit:
            raise SearchLimit
        yield item


def self_joined(query: Query) -> bool:
    """Whether a relation occurs twice: then a tuple can pass the conditions of several occurrences."""
    return len({o.relation.name for o in query.occurrences}) < len(query.occurrences)


def _leaves(selection: Selection, whole: bool, apart: bool = False) -> Iterator[_Leaf]:
    selection = _possible(selection)
    facts = within(selection.base, atoms_of(selection.formula))
    # A match that is in two parts of a bag would count twice.
    apart = apart or (whole and not selection.base.ring.idempotent)
    pending, work = [_Leaf(selection, (), selection.formula, facts, whole, apart)], 0
    while pending:
        work += 1
        if work > STEP_LIMIT:
            raise SearchLimit
        leaf = _propagated(pending.pop())
        if leaf.rest == NOWHERE or not leaf.possible:
            continue
        ways = _ways(leaf)
        if ways is not None:
            pending.extend(reversed(ways))
        elif (met := _idle_met(leaf)) is not None:
            yield met


def _possible(selection: Selection) -> Selection:
    """The SELECT without alternatives that never hold: their constants would split it."""
    facts = within(selection.base, atoms_of(selection.formula))
    leaf = _propagated(_Leaf(selection, (), selection.formula, facts, whole=False, apart=False))
    formula = all_of((*leaf.certain, _pruned(leaf, leaf.rest)))
    return selection if formula == selection.formula else replace(selection, formula=formula)


def _pruned(leaf: _Leaf, formula: Formula) -> Formula:
    if isinstance(formula, AnyOf):
        return any_of(_pruned(leaf, part) for part in formula.parts)
    if not isinstance(formula, AllOf):
        return formula if leaf.allows((formula,)) else NOWHERE
    pruned = all_of(_pruned(leaf, part) for part in formula.parts)
    sure = tuple(part for part in conjuncts(pruned) if not isinstance(part, (AllOf, AnyOf)))
    return pruned if leaf.allows(sure) else NOWHERE


def _propagated(leaf: _Leaf) -> _Leaf:
    """The leaf with what must hold moved to what is known."""
    while True:
        parts = conjuncts(leaf.rest)
        sure = tuple(part for part in parts if not isinstance(part, (AllOf, AnyOf)))
        if not sure:
            return leaf
        rest = all_of(part for part in parts if isinstance(part, (AllOf, AnyOf)))
        leaf = _simplified_leaf(replace(leaf, rest=rest), sure)


def _simplified_leaf(leaf: _Leaf, atoms: tuple[Atom, ...]) -> _Leaf:
    """The leaf in which some atoms are known to be true, and what that says of others."""
    narrowed = leaf.narrowed(atoms)
    certain, query = set(narrowed.certain), narrowed.query

    def truth(atom: Atom) -> bool | None:
        if atom in certain:
            return True
        if isinstance(atom, NullTest):
            if atom.attribute in query.nulls:
                return atom.null
            return not atom.null if atom.attribute in query.present else None
        return False if not query.nulls.isdisjoint(atom.attributes) else None

    return replace(narrowed, rest=assumed(leaf.rest, truth))


def _ways(leaf: _Leaf) -> list[_Leaf] | None:
    """The leaf split by conditions on one tuple that are under OR; None if there are none that matter."""
    parts = conjuncts(leaf.rest)
    for part in parts:
        if not _local(part) and (local := _local_part(part)) is not None:
            return _split_leaf(leaf, local)
    busy = _busy(leaf)
    for part in filter(_local, parts):
        if (atom := next((a for a in atoms_of(part) if busy.touched(a)), None)) is not None:
            return _split(leaf, atom) if leaf.apart else _alternatives(leaf, part, busy)
    crossing = replace(leaf, rest=all_of(part for part in parts if not _local(part)))
    if _simple(crossing):
        return None
    for attribute in (a for atom in atoms_of(crossing.rest) for a in atom.attributes):
        if leaf.selection.base.nullable(attribute) and attribute not in leaf.query.present:
            return _split(leaf, NullTest(attribute, True))
    return None


def _local(formula: Formula) -> bool:
    """Whether every comparison in it is one on a single tuple."""
    return all(len({a.occurrence for a in atom.attributes}) < 2 for atom in atoms_of(formula))


def _local_part(formula: Formula) -> Formula | None:
    """A largest part of a formula that is local; what stands under one AND or OR is one part."""
    if not isinstance(formula, (AllOf, AnyOf)):
        return None
    join = all_of if isinstance(formula, AllOf) else any_of
    if local := [part for part in formula.parts if _local(part)]:
        return join(local)
    return next((local_part for part in formula.parts if (local_part := _local_part(part)) is not None), None)


def _split_leaf(leaf: _Leaf, local: Formula) -> list[_Leaf]:
    """Where a part of what is left under OR is true, and where it is not."""
    return [
        replace(leaf, rest=all_of((local, _replaced(leaf.rest, local, ALWAYS)))),
        replace(leaf, rest=all_of((_untrue(leaf, local), _replaced(leaf.rest, local, NOWHERE)))),
    ]


def _replaced(formula: Formula, local: Formula, value: Formula) -> Formula:
    if formula == local:
        return value
    if not isinstance(formula, (AllOf, AnyOf)):
        return formula
    join = all_of if isinstance(formula, AllOf) else any_of
    rest = [part for part in formula.parts if not _local(part)]
    if len(rest) < len(formula.parts) and join(p for p in formula.parts if _local(p)) == local:
        return join((value, *(_replaced(part, local, value) for part in rest)))
    return join(_replaced(part, local, value) for part in formula.parts)


def _untrue(leaf: _Leaf, formula: Formula) -> Formula:
    """That a formula is not true: false or NULL."""
    if isinstance(formula, (AllOf, AnyOf)):
        join = any_of if isinstance(formula, AllOf) else all_of
        return join(_untrue(leaf, part) for part in formula.parts)
    return any_of(all_of(way) for way in untrue(formula, leaf.selection.base.nullable))


@dataclass(frozen=True)
class _Busy:
    """The columns, by relation, on which more depends than conditions on single tuples; None: all of them."""

    base: Query
    columns: frozenset[tuple[str, str]] | None

    def touched(self, formula: Formula) -> bool:
        """Whether a formula mentions one."""
        if self.columns is None:
            return True
        return any(
            _column(self.base, a) in self.columns for atom in atoms_of(formula) for a in atom.attributes
        )


def _column(base: Query, attribute: Attribute) -> tuple[str, str]:
    return base.occurrence(attribute.occurrence).relation.name, attribute.column


def _busy(leaf: _Leaf) -> _Busy:
    """Those projected or compared between streams, timestamps, and what is compared with any of them."""
    base = leaf.selection.base
    if leaf.whole:
        return _Busy(base, None)
    busy = {_column(base, a) for a in base.projected}
    links = []
    for atom in (*leaf.certain, *atoms_of(leaf.rest)):
        columns = {_column(base, a) for a in atom.attributes}
        if not _local(atom) or any(base.is_time(a) for a in atom.attributes):
            busy |= columns
        elif len(columns) > 1:
            links.append(columns)
    while linked := [columns for columns in links if not columns.isdisjoint(busy) and not columns <= busy]:
        busy = busy.union(*linked)
    return _Busy(base, frozenset(busy))


def _alternatives(leaf: _Leaf, part: Formula, busy: _Busy) -> list[_Leaf]:
    """The leaf by the alternatives of a part on single tuples; those on idle columns alone are one."""
    rest = all_of(conjunct for conjunct in conjuncts(leaf.rest) if conjunct != part)
    options: list[Formula] = []
    for option in part.parts if isinstance(part, AnyOf) else (part,):
        if not isinstance(option, (AllOf, AnyOf)):
            if not leaf.allows((option,)):
                continue
            if not any(map(leaf.allows, untrue(option, leaf.selection.base.nullable))):
                return [replace(leaf, rest=rest)]
        options.append(option)
    idle = [option for option in options if not busy.touched(option)]
    if len(idle) > 1:
        options = [*(option for option in options if busy.touched(option)), any_of(idle)]
    return [replace(leaf, rest=all_of((option, rest))) for option in options]


def _idle_met(leaf: _Leaf) -> _Leaf | None:
    """The leaf with one way to meet the conditions on idle columns; None if there is none."""
    parts = conjuncts(leaf.rest)
    crossing = all_of(part for part in parts if not _local(part))
    pending = [replace(leaf, rest=all_of(part for part in parts if _local(part)))]
    for _ in range(STEP_LIMIT):
        if not pending:
            return None
        propagated = _propagated(pending.pop())
        if propagated.rest == NOWHERE or not propagated.possible:
            continue
        if propagated.rest == ALWAYS:
            met = tuple(atom for atom in propagated.certain if atom not in leaf.certain)
            return replace(leaf, rest=crossing, met=met)
        first, *rest = conjuncts(propagated.rest)
        options = first.parts if isinstance(first, AnyOf) else (first,)
        pending.extend(replace(propagated, rest=all_of((option, *rest))) for option in reversed(options))
    raise SearchLimit


def _simple(leaf: _Leaf) -> bool:
    """Whether one conjunction, or none, says what is left under OR, NULL or not."""
    return leaf.rest == ALWAYS or len(_table(leaf).cover(disjoint=False)) < 2


def _split(leaf: _Leaf, atom: Atom) -> list[_Leaf]:
    """Where an atom is true, and each way in which it is not; fewer ways where some are impossible."""
    ways = [((atom,), True), *((way, False) for way in untrue(atom, leaf.selection.base.nullable))]
    possible = [(way, true) for way, true in ways if leaf.allows(way)]
    leafs = []
    for way, true in possible:
        rest = assumed(leaf.rest, lambda leaf_atom, true=true: true if leaf_atom == atom else None)  # type: ignore[misc]
        narrowed = replace(leaf, rest=rest)
        # The only way that is possible follows from what is known.
        leafs.append(narrowed if len(possible) == 1 else _simplified_leaf(narrowed, way))
    return leafs


def _case(leaf: _Leaf) -> Case:
    boxes: list[tuple[Atom, ...]] = [()]
    if leaf.rest != ALWAYS:
        table = _table(leaf)
        boxes = [table.atoms(box) for box in table.cover(disjoint=not leaf.selection.base.ring.idempotent)]
    parts = tuple(leaf.selection.part((*leaf.certain, *atoms)) for atoms in boxes)
    if not leaf.met:
        return Case(parts, parts)
    return Case(tuple(leaf.selection.part((*leaf.certain, *leaf.met, *atoms)) for atoms in boxes), parts)


def _table(leaf: _Leaf) -> PairTable:
    return pair_table(replace(leaf.facts, query=leaf.query), leaf.rest)


def _zoned(leaf: _Leaf) -> Iterator[_Leaf]:
    """The leaf by the zones of the attributes that are compared under OR."""
    compared = sorted({a for atom in atoms_of(leaf.rest) for a in atom.attributes})
    pending = [leaf]
    for attribute in compared:
        if not leaf.query.is_timestamp(attribute) and not leaf.query.is_static(attribute):
            options = list(_positions(leaf.facts, attribute))
            pending = list(_limited(part for item in pending for part in _placed(item, options)))
    yield from pending


def _placed(leaf: _Leaf, options: list[tuple[Atom, ...]]) -> Iterator[_Leaf]:
    for option in options:
        placed = _simplified_leaf(leaf, option)
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
        return Filter(attribute, op, Constant(value, kind.text(value), kind))

    ends: list[tuple[Atom, ...]] = [(against(Op.LT, numbers[0]),), (against(Op.GT, numbers[-1]),)]
    if space.resolution(attribute) is not None:
        return [*ends, (against(Op.GE, numbers[0]), against(Op.LE, numbers[-1]))]
    gaps = ((against(Op.GT, a), against(Op.LT, b)) for a, b in pairwise(numbers))
    return [*ends, *((against(Op.EQ, n),) for n in numbers), *gaps]


def _valued(leaf: _Leaf) -> Iterator[_Leaf]:
    """The leaf by how its finitely many values compare: given the values, no match is in two."""
    for pair in dict.fromkeys(pair_of(a) for a in atoms_of(leaf.rest) if isinstance(a, Join)):
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
        region = Join(low, op, high)

        def truth(atom: Atom, op: Op = op) -> bool | None:
            if not isinstance(atom, Join) or pair_of(atom) != pair:
                return None
            own = atom.op if atom.left == low else atom.op.mirrored
            return op in _ALLOWED[own]

        narrowed = _simplified_leaf(replace(leaf, rest=assumed(leaf.rest, truth)), (region,))
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
