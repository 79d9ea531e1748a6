"""Terms and conditions with the aliases of occurrences exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from streambound.query.formula import AllOf, AnyOf, Formula, all_of, any_of
from streambound.query.model import Atom, Attribute, Join, Never, Term

T = TypeVar("T", bound=Term)


def renamed(term: T, names: Mapping[str, str]) -> T:
    """A term whose occurrence goes by another alias; the others stay."""
    if isinstance(term, Attribute):
        return replace(term, occurrence=names.get(term.occurrence, term.occurrence))
    return term


def renamed_atom(atom: Atom, names: Mapping[str, str]) -> Atom:
    """An atom over other aliases."""
    if isinstance(atom, Join):
        return replace(atom, left=renamed(atom.left, names), right=renamed(atom.right, names))
    if isinstance(atom, Never):
        return replace(atom, attributes=tuple(renamed(a, names) for a in atom.attributes))
    return replace(atom, attribute=renamed(atom.attribute, names))


def renamed_formula(formula: Formula, names: Mapping[str, str]) -> Formula:
    """A formula over other aliases."""
    if isinstance(formula, AllOf):
        return all_of(renamed_formula(part, names) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return any_of(renamed_formula(part, names) for part in formula.parts)
    return renamed_atom(formula, names)
