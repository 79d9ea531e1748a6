"""A query's conditions as constraints: a closure, and the choices that it leaves open.

``<>`` and finite sets of values (IN, enumerated domains) are no difference bounds: each is a
choice between two constraints, made by search only where the closure does not already decide it
(``<>`` between bounded columns can encode graph colouring, theory of the exact criterion, section 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.constraints.search import SEARCH_LIMIT, Budget, Disjunction, SearchLimit, all_made, search
from streambound.constraints.space import Space, domain_of
from streambound.query.column_types import Family, Value
from streambound.query.model import Atom, Attribute, Filter, Join, Membership, Never, Op, Query

# So many ways of meeting all conditions are kept to answer the next question from.
_KEPT = 16


@dataclass
class Part:
    """What a query says of the attributes of one family, which nothing links with other families.

    ``settled`` are closures in which every choice is made, so that no search is needed within them.
    ``possible`` tells whether there are values at all; None as long as nobody knows, for which
    ``not_enough`` search steps were not enough.
    """

    closure: Closure
    disjunctions: tuple[Disjunction, ...]
    settled: list[Closure] = field(default_factory=list)
    possible: bool | None = None
    not_enough: int = 0

    def satisfiable(
        self, literals: tuple[Difference, ...], added: tuple[Disjunction, ...], budget: Budget
    ) -> bool:
        """Whether some values meet what the query says, some constraints and the added choices."""
        if not self.closure.admits(literals):
            return False
        if not added and any(self._meets(closure, literals) for closure in self.settled):
            return True
        start = self.closure.assume(literals)
        solution = None if start is None else search(start, (*self.disjunctions, *added), budget)
        if solution is not None and not added:
            self._keep(solution)
        return solution is not None

    def consistent(self, budget: Budget) -> bool:
        """Whether there are values at all; asked once, also if the answer was too much to search for.

        Raises:
            SearchLimit: the budget is too small.
        """
        if self.possible is None:
            if budget.left <= self.not_enough:
                raise SearchLimit
            before = budget.left
            try:
                self.possible = self.satisfiable((), (), budget)
            except SearchLimit:
                self.not_enough = before
                raise
        return self.possible

    def _meets(self, closure: Closure, literals: tuple[Difference, ...]) -> bool:
        if not closure.admits(literals):
            return False
        return not closure.mixed or closure.assume(literals) is not None

    def _keep(self, taken: list[Difference]) -> None:
        """Remember a way of making the choices, those that cannot fail included."""
        if len(self.settled) >= _KEPT:
            return
        if (closure := all_made(self.closure, self.disjunctions, taken)) is not None:
            self.settled.append(closure)


@dataclass(frozen=True)
class System:
    """The conditions of a query.

    ``closure`` is None if they contradict at once; ``disjunctions`` are disjunctions of two constraints.
    """

    query: Query
    space: Space
    closure: Closure | None
    disjunctions: tuple[Disjunction, ...]

    def satisfiable(self, extra: Iterable[Difference] = (), disjunctions: Iterable[Disjunction] = ()) -> bool:
        """Whether some assignment meets every condition, ``extra`` and the added choices.

        Raises:
            SearchLimit: this and earlier questions took more than SEARCH_LIMIT steps.
        """
        if self.closure is None or not all(part.consistent(self.budget) for part in self.parts.values()):
            return False
        literals: dict[Family, list[Difference]] = {}
        added: dict[Family, list[Disjunction]] = {}
        for difference in extra:
            literals.setdefault(self._family(difference), []).append(difference)
        for disjunction in disjunctions:
            added.setdefault(self._family(disjunction[0]), []).append(disjunction)
        return all(
            self.parts[f].satisfiable(tuple(literals.get(f, ())), tuple(added.get(f, ())), self.budget)
            for f in dict.fromkeys((*literals, *added))
        )

    def _family(self, difference: Difference) -> Family:
        node = difference.low if difference.high is None else difference.high
        assert node is not None
        return self.space.family(node)

    @cached_property
    def budget(self) -> Budget:
        """The search steps that are left."""
        return Budget(SEARCH_LIMIT)

    @cached_property
    def parts(self) -> dict[Family, Part]:
        """The conditions by family."""
        return {family: self._part(family) for family in Family if self.space.of_family(family)}

    @cached_property
    def kept(self) -> dict[Hashable, Any]:
        """What was derived from the conditions, for the next criterion that asks."""
        return {}

    def _part(self, family: Family) -> Part:
        assert self.closure is not None
        closure = self.closure.among(self.space.of_family(family))
        disjunctions = tuple(
            disjunction for disjunction in self.disjunctions if self._family(disjunction[0]) is family
        )
        return Part(closure, disjunctions, [] if disjunctions else [closure])


def finite(space: Space, closure: Closure, attribute: Attribute) -> bool:
    """Whether constants leave an attribute finitely many values (Arasu et al., section 6: |sat(A, P)|)."""
    upper, lower = closure.upper(attribute), closure.lower(attribute)
    if upper is None or lower is None:
        return False
    if space.resolution(attribute) is not None or upper == lower or space.enumerated(attribute):
        return True
    equal = (
        partner for partner in space.query.mentioned if partner != attribute and space.enumerated(partner)
    )
    return any(closure.equates(attribute, partner) for partner in equal)


def system(query: Query, static: Mapping[Attribute, tuple[Value, ...]] | None = None) -> System:
    """The constraints of a query over its mentioned attributes, declared domains included.

    ``static`` gives the sorted, non-empty values of static columns, where they are known.
    """
    if static:
        return _stated(Space(query, static))
    # Each criterion has search steps of its own; what is implied, and what was found, is shared.
    shared = _shared(query)
    facts = System(query, shared.space, shared.closure, shared.disjunctions)
    if shared.closure is not None:
        vars(facts).update(parts=shared.parts, kept=shared.kept)
    return facts


@lru_cache(maxsize=8)
def _shared(query: Query) -> System:
    return _stated(Space(query))


def _stated(space: Space) -> System:
    query = space.query
    constraints, disjunctions = constraints_of(space, query.where)
    closure = None if contradicts(query) else unconstrained(space).assume(constraints)
    return System(query, space, closure, tuple(disjunctions))


def forced(facts: System) -> System:
    """The system with every choice made of which one option alone contradicts what is implied."""
    closure, disjunctions = facts.closure, list(facts.disjunctions)
    made = True
    while made and closure is not None:
        made = False
        for disjunction in disjunctions:
            left = [option for option in disjunction if closure.assume([option]) is not None]
            if len(left) < 2:
                closure = closure.assume(left) if left else None
                disjunctions.remove(disjunction)
                made = True
                break
    return replace(facts, closure=closure, disjunctions=tuple(disjunctions))


def within(query: Query, further: Iterable[Atom]) -> System:
    """The constraints of a query, in which the constants and attributes of further atoms have their place."""
    space = Space(replace(query, where=(*query.where, *further)))
    constraints, disjunctions = constraints_of(space, query.where)
    closure = None if contradicts(query) else unconstrained(space).assume(constraints)
    return System(query, space, closure, tuple(disjunctions))


def contradicts(query: Query) -> bool:
    """Whether a condition is never true, or compares what another wants to be NULL."""
    never = any(isinstance(atom, Never) for atom in query.where)
    return never or not query.nulls.isdisjoint(query.present)


def unconstrained(space: Space) -> Closure:
    """The closure of no constraint over a query's mentioned attributes."""
    return Closure.over({a: space.resolution(a) for a in space.mentioned})


def constraints_of(space: Space, atoms: Iterable[Atom]) -> tuple[list[Difference], list[Disjunction]]:
    """Some conditions of a query, and all of its declared domains, as constraints and choices."""
    constraints: list[Difference] = []
    disjunctions: list[Disjunction] = []
    for attribute in space.mentioned:
        _declared(space, attribute, constraints, disjunctions)
        if space.family(attribute) is Family.TIME and space.query.column(attribute).type.resolution == 1:
            # Ticks count from 0.
            constraints.append(at_least(attribute, 0))
    for attribute in space.static:
        family, (low, high) = space.family(attribute), space.ends(attribute)
        if low is not None:
            constraints.append(at_least(attribute, space.embed(family, low)))
        if high is not None:
            constraints.append(at_most(attribute, space.embed(family, high)))
    further, open_choices = conditions_of(space, atoms)
    return [*constraints, *further], [*disjunctions, *open_choices]


def conditions_of(space: Space, atoms: Iterable[Atom]) -> tuple[list[Difference], list[Disjunction]]:
    """Some conditions of a query alone, without what its declared domains say."""
    constraints: list[Difference] = []
    disjunctions: list[Disjunction] = []
    for atom in atoms:
        if isinstance(atom, Filter):
            _filtered(space, atom, constraints, disjunctions)
        elif isinstance(atom, Join):
            _joined(space, atom, constraints, disjunctions)
        elif isinstance(atom, Membership):
            family = space.family(atom.attribute)
            numbers = {space.embed(family, v.value) for v in atom.values if v.value is not None}
            _enumerated(space, atom.attribute, sorted(numbers), constraints, disjunctions)
    return constraints, disjunctions


def differences(low: Attribute, op: Op, high: Attribute) -> list[Difference]:
    """``low op high`` as difference bounds; empty for ``<>``."""
    return shifted(low, op, high, 0)


def shifted(left: Attribute, op: Op, right: Attribute, offset: int) -> list[Difference]:
    """``left op right + offset`` as difference bounds; empty for ``<>``."""
    strict = op in (Op.LT, Op.GT)
    moved = []
    if op in (Op.LT, Op.LE, Op.EQ):
        moved.append(Difference(left, right, offset, strict))
    if op in (Op.GT, Op.GE, Op.EQ):
        moved.append(Difference(right, left, -offset, strict))
    return moved


def _filtered(
    space: Space, atom: Filter, constraints: list[Difference], disjunctions: list[Disjunction]
) -> None:
    column = atom.attribute
    assert atom.constant.value is not None
    number = space.embed(space.family(column), atom.constant.value)
    if atom.op in (Op.LT, Op.LE, Op.EQ):
        constraints.append(at_most(column, number, atom.op is Op.LT))
    if atom.op in (Op.GT, Op.GE, Op.EQ):
        constraints.append(at_least(column, number, atom.op is Op.GT))
    if atom.op is Op.NE:
        disjunctions.append((at_most(column, number, True), at_least(column, number, True)))
    moment = space.query.moment(column)
    if moment is not None and moment[1] and space.family(column) in (Family.TIMESTAMP, Family.NUMBER):
        stamp, near = moment
        value = int(atom.constant.value)
        if atom.op in (Op.LT, Op.LE, Op.EQ):
            constraints.append(at_most(stamp, value + near))
        if atom.op in (Op.GT, Op.GE, Op.EQ):
            constraints.append(at_least(stamp, value - near))


def _near(query: Query, atom: Join) -> list[Difference]:
    """What a comparison of times of which one is a bucket says of the timestamps."""
    left, right = query.moment(atom.left), query.moment(atom.right)
    if left is None or right is None or left[1] + right[1] == 0:
        return []
    (attribute, before), (second, after) = left, right
    near = before + after
    differences = []
    if atom.op in (Op.LT, Op.LE, Op.EQ):
        differences.append(Difference(attribute, second, near + atom.offset))
    if atom.op in (Op.GT, Op.GE, Op.EQ):
        differences.append(Difference(second, attribute, near - atom.offset))
    return differences


def _joined(space: Space, atom: Join, constraints: list[Difference], disjunctions: list[Disjunction]) -> None:
    constraints.extend(shifted(atom.left, atom.op, atom.right, atom.offset))
    constraints.extend(_near(space.query, atom))
    if atom.op is Op.NE:
        less, more = (shifted(atom.left, op, atom.right, atom.offset)[0] for op in (Op.LT, Op.GT))
        disjunctions.append((less, more))


def _declared(
    space: Space, attribute: Attribute, constraints: list[Difference], disjunctions: list[Disjunction]
) -> None:
    domain = domain_of(space.query, attribute)
    if domain is None:
        return
    family = space.family(attribute)
    if domain.values is not None:
        numbers = [space.embed(family, value) for value in domain.values]
        _enumerated(space, attribute, sorted(numbers), constraints, disjunctions)
    if domain.minimum is not None:
        constraints.append(at_least(attribute, space.embed(family, domain.minimum)))
    if domain.maximum is not None:
        constraints.append(at_most(attribute, space.embed(family, domain.maximum)))


def _enumerated(
    space: Space,
    attribute: Attribute,
    numbers: list[int],
    constraints: list[Difference],
    disjunctions: list[Disjunction],
) -> None:
    constraints.extend((at_least(attribute, numbers[0]), at_most(attribute, numbers[-1])))
    resolution = space.resolution(attribute)
    for number, following in itertools.pairwise(numbers):
        if resolution is None or following - number > resolution:
            disjunctions.append((at_most(attribute, number), at_least(attribute, following)))
