"""Terms and conditions with the aliases of occurrences exchanged, or with other attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar

from streambound.query.formula import AllOf, AnyOf, Formula, all_of, any_of
from streambound.query.model import Atom, Attribute, Join, Never, Term

T = TypeVar("T", bound=Term)
Mapped: TypeAlias = Callable[[Attribute], Attribute]


def renamed(term: T, names: Mapping[str, str]) -> T:
    """A term whose occurrence goes by another alias; the others stay."""
    if isinstance(term, Attribute):
        return replace(term, occurrence=names.get(term.occurrence, term.occurrence))
    return term


def mapped_atom(atom: Atom, of: Mapped) -> Atom:
    """An atom over other attributes."""
    if isinstance(atom, Join):
        return replace(atom, left=of(atom.left), right=of(atom.right))
    if isinstance(atom, Never):
        return replace(atom, attributes=tuple(map(of, atom.attributes)))
    return replace(atom, attribute=of(atom.attribute))


def mapped_formula(formula: Formula, of: Mapped) -> Formula:
    """A formula over other attributes."""
    if isinstance(formula, AllOf):
        return all_of(mapped_formula(part, of) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return any_of(mapped_formula(part, of) for part in formula.parts)
    return mapped_atom(formula, of)


def renamed_atom(atom: Atom, names: Mapping[str, str]) -> Atom:
    """An atom over other aliases."""
    return mapped_atom(atom, lambda attribute: renamed(attribute, names))


def renamed_formula(formula: Formula, names: Mapping[str, str]) -> Formula:
    """A formula over other aliases."""
    return mapped_formula(formula, lambda attribute: renamed(attribute, names))
