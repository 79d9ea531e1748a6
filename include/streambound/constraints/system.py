"""A query's conditions as constraints: a closure, and the choices that it leaves open.

``<>`` and finite sets of values (IN, enumerated domains) are no difference bounds: each is a
choice between two constraints. Choices are made only where the closure does not already decide
them, by depth-first search with a named limit (``<>`` between bounded columns can encode graph
colouring, theory of the exact criterion, section 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.constraints.space import Space, domain_of
from streambound.query.model import Atom, Attribute, Comparison, Constant, Membership, Never, Op, Query
from streambound.query.values import Family, Value

# Search nodes per question. Queries that people write need a handful.
SEARCH_LIMIT = 20_000


class SearchLimit(Exception):
    """A satisfiability question needed more than SEARCH_LIMIT nodes."""


Choice = tuple[Difference, Difference]


@dataclass(frozen=True)
class System:
    """The conditions of a query.

    ``closure`` is None if they contradict at once; ``choices`` are disjunctions of two constraints.
    """

    query: Query
    space: Space
    closure: Closure | None
    choices: tuple[Choice, ...]

    def satisfiable(self, extra: Iterable[Difference] = (), choices: Iterable[Choice] = ()) -> bool:
        """Whether some assignment meets every condition, ``extra`` and the added choices.

        Raises:
            SearchLimit: more than SEARCH_LIMIT nodes.
        """
        start = self.closure.assume(extra) if self.closure else None
        return start is not None and consistent(start, (*self.choices, *choices))


def finite(space: Space, closure: Closure, attribute: Attribute) -> bool:
    """Whether constants leave an attribute finitely many values (Arasu et al., section 6: |sat(A, P)|)."""
    upper, lower = closure.upper(attribute), closure.lower(attribute)
    if upper is None or lower is None:
        return False
    return space.step(attribute) is not None or upper == lower or space.enumerated(attribute)


def system(query: Query, static: Mapping[Attribute, tuple[Value, ...]] | None = None) -> System:
    """The constraints of a query over its mentioned attributes, declared domains included.

    ``static`` gives the sorted, non-empty values of static columns, where they are known.
    """
    space = Space(query, static or {})
    constraints, choices = constraints_of(space, query.where)
    never = any(isinstance(atom, Never) for atom in query.where)
    # NULL compares with nothing.
    torn = not query.nulls.isdisjoint(query.present)
    closure = None if never or torn else unconstrained(space).assume(constraints)
    return System(query, space, closure, tuple(choices))


def unconstrained(space: Space) -> Closure:
    """The closure of no constraint over a query's mentioned attributes."""
    return Closure.over({a: space.step(a) for a in space.query.mentioned})


def constraints_of(space: Space, atoms: Iterable[Atom]) -> tuple[list[Difference], list[Choice]]:
    """Some conditions of a query, and all of its declared domains, as constraints and choices."""
    constraints: list[Difference] = []
    choices: list[Choice] = []
    for attribute in space.query.mentioned:
        _declared(space, attribute, constraints, choices)
        if space.family(attribute) is Family.TIME and space.query.column(attribute).type.step == 1:
            # Ticks count from 0.
            constraints.append(at_least(attribute, 0))
    for attribute in space.static:
        family, (low, high) = space.family(attribute), space.ends(attribute)
        if low is not None:
            constraints.append(at_least(attribute, space.embed(family, low)))
        if high is not None:
            constraints.append(at_most(attribute, space.embed(family, high)))
    for atom in atoms:
        if isinstance(atom, Comparison):
            _compared(space, atom, constraints, choices)
        elif isinstance(atom, Membership):
            family = space.family(atom.attribute)
            numbers = {space.embed(family, v.value) for v in atom.values if v.value is not None}
            _enumerated(space, atom.attribute, sorted(numbers), constraints, choices)
    return constraints, choices


def differences(low: Attribute, op: Op, high: Attribute) -> list[Difference]:
    """``low op high`` as difference bounds; empty for ``<>``."""
    return shifted(low, op, high, 0)


def shifted(left: Attribute, op: Op, right: Attribute, offset: int) -> list[Difference]:
    """``left op right + offset`` as difference bounds; empty for ``<>``."""
    strict = op in (Op.LT, Op.GT)
    found = []
    if op in (Op.LT, Op.LE, Op.EQ):
        found.append(Difference(left, right, offset, strict))
    if op in (Op.GT, Op.GE, Op.EQ):
        found.append(Difference(right, left, -offset, strict))
    return found


def _compared(space: Space, atom: Comparison, constraints: list[Difference], choices: list[Choice]) -> None:
    left = atom.left
    if isinstance(atom.right, Constant):
        assert atom.right.value is not None
        number = space.embed(space.family(left), atom.right.value)
        if atom.op in (Op.LT, Op.LE, Op.EQ):
            constraints.append(at_most(left, number, atom.op is Op.LT))
        if atom.op in (Op.GT, Op.GE, Op.EQ):
            constraints.append(at_least(left, number, atom.op is Op.GT))
        if atom.op is Op.NE:
            choices.append((at_most(left, number, True), at_least(left, number, True)))
        return
    constraints.extend(shifted(left, atom.op, atom.right, atom.offset))
    if atom.op is Op.NE:
        less, more = (shifted(left, op, atom.right, atom.offset)[0] for op in (Op.LT, Op.GT))
        choices.append((less, more))


def _declared(
    space: Space, attribute: Attribute, constraints: list[Difference], choices: list[Choice]
) -> None:
    domain = domain_of(space.query, attribute)
    if domain is None:
        return
    family = space.family(attribute)
    if domain.values is not None:
        numbers = [space.embed(family, value) for value in domain.values]
        _enumerated(space, attribute, sorted(numbers), constraints, choices)
    if domain.minimum is not None:
        constraints.append(at_least(attribute, space.embed(family, domain.minimum)))
    if domain.maximum is not None:
        constraints.append(at_most(attribute, space.embed(family, domain.maximum)))


def _enumerated(
    space: Space,
    attribute: Attribute,
    numbers: list[int],
    constraints: list[Difference],
    choices: list[Choice],
) -> None:
    constraints.extend((at_least(attribute, numbers[0]), at_most(attribute, numbers[-1])))
    step = space.step(attribute)
    for one, other in itertools.pairwise(numbers):
        if step is None or other - one > step:
            choices.append((at_most(attribute, one), at_least(attribute, other)))


def consistent(start: Closure, choices: tuple[Choice, ...]) -> bool:
    """Whether every choice can be made within a closure.

    Raises:
        SearchLimit: more than SEARCH_LIMIT nodes.
    """
    budget = SEARCH_LIMIT
    pending = [(start, list(choices))]
    while pending:
        closure, rest = pending.pop()
        budget -= 1
        if budget < 0:
            raise SearchLimit
        open_choices = [c for c in rest if not any(closure.implies(option) for option in c)]
        if not open_choices:
            return True
        pending.extend(_options(closure, open_choices))
    return False


def _options(closure: Closure, choices: list[Choice]) -> Iterator[tuple[Closure, list[Choice]]]:
    first, *rest = choices
    for option in reversed(first):
        if (narrowed := closure.assume([option])) is not None:
            yield narrowed, rest
