"""A query's conditions as constraints: a closure, and the choices that it leaves open.

``<>`` and finite sets of values (IN, enumerated domains) are no difference bounds: each is a
choice between two constraints. Choices are made only where the closure does not already decide
them, by depth-first search with a named limit (``<>`` between bounded columns can encode graph
colouring, theory of the exact criterion, section 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.constraints.space import Space, domain_of
from streambound.query.model import Atom, Attribute, Comparison, Constant, Membership, Never, Op, Query
from streambound.query.values import Family, Value

# Steps of the search for values that meet the conditions <> and IN, for all questions about one query.
SEARCH_LIMIT = 5_000
# So many ways of meeting all conditions are kept to answer the next question from.
_KEPT = 16


class SearchLimit(Exception):
    """The questions about a query needed more than SEARCH_LIMIT steps."""


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
            SearchLimit: this and earlier questions took more than SEARCH_LIMIT steps.
        """
        literals, added = tuple(extra), tuple(choices)
        if self.closure is None or not self.closure.admits(literals):
            return False
        if not added and any(self._meets(known, literals) for known in self._known):
            return True
        start = self.closure.assume(literals)
        made = None if start is None else search(start, (*self.choices, *added), self.steps)
        if made is not None and not added:
            self._keep(made)
        return made is not None

    @cached_property
    def steps(self) -> Steps:
        """The search steps that are left."""
        return Steps(SEARCH_LIMIT)

    @cached_property
    def _known(self) -> list[Closure]:
        """Closures in which every choice is made, so that no search is needed within them."""
        return [self.closure] if self.closure is not None and not self.choices else []

    def _meets(self, known: Closure, literals: tuple[Difference, ...]) -> bool:
        if not known.admits(literals):
            return False
        named = {node for d in literals for node in (d.high, d.low) if node is not None}
        if not any(self.space.family(a) in self.space.mixed for a in named):
            return True
        return known.assume(literals) is not None

    def _keep(self, made: list[Difference]) -> None:
        """Remember a way of making the choices, those that cannot fail included."""
        if self.closure is None or len(self._known) >= _KEPT:
            return
        if (known := _all_made(self.closure, self.choices, made)) is not None:
            self._known.append(known)


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
    further, open_choices = conditions_of(space, atoms)
    return [*constraints, *further], [*choices, *open_choices]


def conditions_of(space: Space, atoms: Iterable[Atom]) -> tuple[list[Difference], list[Choice]]:
    """Some conditions of a query alone, without what its declared domains say."""
    constraints: list[Difference] = []
    choices: list[Choice] = []
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


@dataclass
class Steps:
    """How many steps a search may still take."""

    left: int

    def take(self) -> None:
        """One step; SearchLimit if none is left."""
        self.left -= 1
        if self.left < 0:
            raise SearchLimit


def consistent(start: Closure, choices: tuple[Choice, ...]) -> bool:
    """Whether every choice can be made within a closure.

    Raises:
        SearchLimit: more than SEARCH_LIMIT steps.
    """
    return search(start, choices, Steps(SEARCH_LIMIT)) is not None


def search(start: Closure, choices: tuple[Choice, ...], steps: Steps) -> list[Difference] | None:
    """The options taken in one way of making every choice; None if there is no way.

    Choices between ``x < y`` and ``x > y`` whose difference is unbounded are not among them: far out in
    a generic direction in which the conditions stay met all of them are made at once.

    Raises:
        SearchLimit: no step is left.
    """
    start, choices = _among(start, choices)
    pending: list[tuple[Closure, tuple[Choice, ...], list[Difference]]] = [(start, choices, [])]
    while pending:
        steps.take()
        closure, rest, made = pending.pop()
        rest = tuple(choice for choice in rest if not _made(closure, choice))
        pressing = [choice for choice in rest if not _cannot_fail(closure, choice)]
        if not pressing:
            return made
        first, ways = _fewest(closure, pressing)
        others = tuple(choice for choice in rest if choice is not first)
        for way, narrowed in reversed(ways):
            pending.append((narrowed, others, [*made, way]))
    return None


def resolved(start: Closure, choices: tuple[Choice, ...]) -> Closure | None:
    """A closure within ``start`` in which every choice is made; None if there is none.

    Raises:
        SearchLimit: more than SEARCH_LIMIT steps.
    """
    made = search(start, choices, Steps(SEARCH_LIMIT))
    return None if made is None else _all_made(start, choices, made)


def _all_made(start: Closure, choices: tuple[Choice, ...], made: list[Difference]) -> Closure | None:
    """The closure with what a search found, and with a way of making each choice that cannot fail."""
    closure = start.assume(made)
    for choice in choices:
        if closure is None:
            return None
        if not _made(closure, choice):
            closure = closure.assume([_outward(closure, choice)])
    return closure


def _outward(closure: Closure, choice: Choice) -> Difference:
    """The option that leaves the difference unbounded: then no other choice becomes one that can fail."""
    one, other = choice
    return one if closure.bound(one.low, one.high) is None else other


def _among(start: Closure, choices: tuple[Choice, ...]) -> tuple[Closure, tuple[Choice, ...]]:
    """The part of a closure that open choices speak of; where steps mix, the others decide as well."""
    rest = tuple(choice for choice in choices if not _made(start, choice))
    if start.mixed:
        return start, rest
    return start.among(node for choice in rest for d in choice for node in (d.high, d.low)), rest


def _made(closure: Closure, choice: Choice) -> bool:
    return closure.implies(choice[0]) or closure.implies(choice[1])


def _cannot_fail(closure: Closure, choice: Choice) -> bool:
    """Whether a choice is between two sides of a value and the difference that it is about is unbounded."""
    one, other = choice
    return one.high == other.low and one.low == other.high and closure.free(one.high, one.low)


def _fewest(closure: Closure, choices: list[Choice]) -> tuple[Choice, list[tuple[Difference, Closure]]]:
    """The first choice with the fewest ways of making it, and these."""
    best: tuple[Choice, list[Difference]] | None = None
    for choice in choices:
        ways = [option for option in choice if closure.allows(option)]
        if best is None or len(ways) < len(best[1]):
            best = choice, ways
        if len(best[1]) < 2:
            break
    assert best is not None
    narrowed = ((way, closure.assume([way])) for way in best[1])
    return best[0], [(way, found) for way, found in narrowed if found is not None]
