"""Conditions under AND and OR, in negation normal form.

NOT is pushed down to the comparisons when a condition is read: under SQL's three-valued logic a
condition is true, or its negation is, exactly as the pushed-down form is. So a formula is monotone in
its atoms, and of an atom it only matters whether it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from streambound.query.model import Atom, Attribute, Constant, Filter, Join, Membership, Never, NullTest, Op


@dataclass(frozen=True)
class AllOf:
    """A conjunction; true if it has no parts."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class AnyOf:
    """A disjunction; false if it has no parts."""

    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = Atom | AllOf | AnyOf

ALWAYS = AllOf()
NOWHERE = AnyOf()


def all_of(parts: Iterable[Formula]) -> Formula:
    """The conjunction of formulas, flat; a single part is itself."""
    flat: list[Formula] = []
    for part in parts:
        if part == NOWHERE:
            return NOWHERE
        flat.extend(conjuncts(part))
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else AllOf(distinct)


def any_of(parts: Iterable[Formula]) -> Formula:
    """The disjunction of formulas, flat, the listed values of one column as one list."""
    flat: list[Formula] = []
    for part in parts:
        if part == ALWAYS:
            return ALWAYS
        flat.extend(part.parts if isinstance(part, AnyOf) else (part,))
    possible = [part for part in flat if not _never(part)] or flat[:1]
    distinct = tuple(dict.fromkeys(_listed(possible)))
    return distinct[0] if len(distinct) == 1 else AnyOf(distinct)


def _never(part: Formula) -> bool:
    """Whether a part is never true, as its text says."""
    return isinstance(part, Never) or (isinstance(part, AllOf) and any(map(_never, part.parts)))


def _listed(parts: Iterable[Formula]) -> Iterator[Formula]:
    """The parts with ``A = 1 OR A IN (2, 3)`` as one membership, where its first part stood."""
    values: dict[Attribute, dict[Constant, None]] = {}
    first: dict[Attribute, Formula] = {}
    members: list[Formula] = []
    for part in parts:
        listed = _values(part)
        if listed is None:
            members.append(part)
            continue
        attribute, constants = listed
        if attribute not in first:
            first[attribute] = part
            members.append(part)
        values.setdefault(attribute, {}).update(dict.fromkeys(constants))
    for part in members:
        listed = _values(part)
        if listed is None or len(values[listed[0]]) == 1:
            yield part
        else:
            assert isinstance(part, (Filter, Membership))
            yield Membership(listed[0], tuple(values[listed[0]]), part.location)


def _values(part: Formula) -> tuple[Attribute, tuple[Constant, ...]] | None:
    if isinstance(part, Membership):
        return part.attribute, part.values
    if isinstance(part, Filter) and part.op is Op.EQ:
        return part.attribute, (part.constant,)
    return None


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """Every atom of a formula, in the order of the text."""
    if isinstance(formula, (AllOf, AnyOf)):
        for part in formula.parts:
            yield from atoms_of(part)
    else:
        yield formula


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction; what is none is its own only part."""
    return formula.parts if isinstance(formula, AllOf) else (formula,)


def conjunction(formula: Formula) -> tuple[Atom, ...] | None:
    """The atoms of a formula that is a conjunction of them; None if it is not."""
    parts = conjuncts(formula)
    if any(isinstance(part, (AllOf, AnyOf)) for part in parts):
        return None
    return tuple(part for part in parts if not isinstance(part, (AllOf, AnyOf)))


def holds(formula: Formula, true: Callable[[Atom], bool]) -> bool:
    """Whether a formula is true, given which atoms are."""
    if isinstance(formula, AllOf):
        return all(holds(part, true) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return any(holds(part, true) for part in formula.parts)
    return true(formula)


def assumed(formula: Formula, truth_of: Callable[[Atom], bool | None]) -> Formula:
    """The formula that is left where the truth of some atoms is known (None: not known)."""
    if isinstance(formula, AllOf):
        return all_of(assumed(part, truth_of) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return any_of(assumed(part, truth_of) for part in formula.parts)
    truth = truth_of(formula)
    return formula if truth is None else ALWAYS if truth else NOWHERE


def untrue(atom: Atom, nullable: Callable[[Attribute], bool]) -> list[tuple[Atom, ...]]:
    """The ways in which an atom is not true, each a conjunction, no two together.

    It is false, or the first of its attributes is NULL, or only the second is.
    """
    if isinstance(atom, Never):
        return [()]
    if isinstance(atom, NullTest):
        return [(NullTest(atom.attribute, not atom.null, atom.location),)]
    ways: list[tuple[Atom, ...]] = [tuple(false(atom))]
    attributes = tuple(dict.fromkeys(a for a in atom.attributes if nullable(a)))
    for number, attribute in enumerate(attributes):
        before = tuple(NullTest(a, False, atom.location) for a in attributes[:number])
        ways.append((*before, NullTest(attribute, True, atom.location)))
    return ways


def false(atom: Filter | Join | Membership) -> list[Atom]:
    """The negation of a comparison; of a membership the comparisons that hold together."""
    if isinstance(atom, Membership):
        return [Filter(atom.attribute, Op.NE, value, atom.location) for value in atom.values]
    return [replace(atom, op=atom.op.negated)]
