"""What is known of each stream alone: the facts that a plan may rely on.

The plan's reasoning uses bounds of single columns and comparisons within a stream, never the
comparison between streams that it is about to replace. Bounds that follow only through another
stream (``A < D`` and ``D < 20`` give ``A < 19``) become filters: a tuple beyond them can never be
part of an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.constraints.space import domain_of
from streambound.constraints.system import System, constraints_of, differences, forced, system, unconstrained
from streambound.plan.model import Condition, Pair
from streambound.query.column_types import Value
from streambound.query.model import Atom, Attribute, Join, Membership, Op, Query, RelationKind

# Where a dense column meets a discrete one, the values of the latter are listed, up to this many.
GRID_LIMIT = 10_000


@dataclass(frozen=True)
class Facts:
    """A query's facts, split into what holds of each stream alone and what joins streams.

    ``local`` is the closure of local conditions and declared domains, ``alone`` adds derived bounds;
    ``joins`` the comparisons between occurrences that nothing else implies; ``static_values`` the
    values of the static columns that are compared, sorted.
    """

    facts: System
    local: Closure
    alone: Closure
    joins: tuple[Join, ...]
    static_values: Mapping[Attribute, tuple[Value, ...]]

    @property
    def query(self) -> Query:
        """The query."""
        return self.facts.query

    def filters(self, alias: str) -> tuple[Atom, ...]:
        """The user's conditions on one occurrence alone."""
        return tuple(a for a in self.query.where if {x.occurrence for x in a.attributes} == {alias})

    def joined(self, alias: str) -> list[Pair]:
        """The comparisons of an occurrence with others, its own column on the left."""
        pairs = []
        for atom in self.joins:
            if atom.left.occurrence == alias:
                pairs.append((atom.left, atom.op, atom.right))
            elif atom.right.occurrence == alias:
                pairs.append((atom.right, atom.op.mirrored, atom.left))
        return pairs

    def derived(self, alias: str) -> tuple[Condition, ...]:
        """Bounds of the occurrence's columns that hold in every answer but that no local condition gives."""
        local_columns = [a for a in self.query.mentioned if a.occurrence == alias]
        return tuple(condition for attribute in local_columns for condition in self._tightened(attribute))

    def _tightened(self, attribute: Attribute) -> list[Condition]:
        family, space, local = self.facts.space.family(attribute), self.facts.space, self.local
        conditions = []
        upper, lower = self.alone.upper(attribute), self.alone.lower(attribute)
        if upper is not None and upper != local.upper(attribute):
            op = Op.LT if upper[1] else Op.LE
            conditions.append(Condition(attribute, op, space.value(family, upper[0])))
        if lower is not None and lower != local.lower(attribute):
            op = Op.GT if lower[1] else Op.GE
            conditions.append(Condition(attribute, op, space.value(family, lower[0])))
        return conditions

    def members(self, attribute: Attribute) -> tuple[Value, ...] | None:
        """The only values that matter of a column that equals a listed one; None if none does."""
        local = self._same(attribute)
        sets = [
            set(partners)
            for equal in self._equal(attribute)
            if equal not in local
            for partners in self._partner_values(attribute, equal)
        ]
        return tuple(sorted(set.intersection(*sets))) if sets else None

    def narrowing(self, attribute: Attribute) -> tuple[Value, ...] | None:
        """The members of a column, unless its own listed values are all among them."""
        members, own = self.members(attribute), self._enumerated(attribute, self.alone)
        if members is None or own is None:
            return members
        family = self.facts.space.family(attribute)
        return None if {self.facts.space.value(family, n) for n in own} <= set(members) else members

    def _equal(self, attribute: Attribute) -> list[Attribute]:
        """The columns that equal a column in every answer, itself among them."""
        attributes = self._equals.get(attribute)
        if attributes is None:
            closure, mates = self.facts.closure, self.facts.space.mates(attribute)
            assert closure is not None
            attributes = self._equals[attribute] = [a for a in mates if closure.equates(a, attribute)]
        return attributes

    @cached_property
    def _equals(self) -> dict[Attribute, list[Attribute]]:
        return {}

    def linked(self, attribute: Attribute) -> set[Attribute]:
        """The columns that comparisons link with a column, directly or through others."""
        attributes = self._links.get(attribute)
        if attributes is None:
            attributes, pending = {attribute}, [attribute]
            while pending:
                here = pending.pop()
                sides = {a for atom in self.query.joins if here in atom.attributes for a in atom.attributes}
                pending.extend(sides - attributes)
                attributes |= sides
            self._links[attribute] = attributes
        return attributes

    @cached_property
    def _links(self) -> dict[Attribute, set[Attribute]]:
        return {}

    def _partner_values(self, local: Attribute, attribute: Attribute) -> Iterator[Iterable[Value]]:
        if attribute in self.static_values:
            yield self.static_values[attribute]
            return
        family = self.facts.space.family(attribute)
        for numbers in self._lists(attribute):
            yield (self.facts.space.value(family, n) for n in numbers)
        # Only a dense column needs the grid: a discrete one has the same bounds as its partner.
        if self.resolution(local) is None and (grid := self.grid(local, attribute, self.alone)) is not None:
            yield grid

    def grid(self, local: Attribute, attribute: Attribute, within: Closure) -> list[Value] | None:
        """The values of a discrete column inside the range of ``local``; None if it is dense, or has too
        many.

        Values outside that range compare alike with all of ``local``.
        """
        space, family, resolution = (
            self.facts.space,
            self.facts.space.family(attribute),
            self.resolution(attribute),
        )
        lows = [bound[0] for a in (local, attribute) if (bound := within.lower(a)) is not None]
        highs = [bound[0] for a in (local, attribute) if (bound := within.upper(a)) is not None]
        if resolution is None or not lows or not highs:
            return None
        start, end = -(-max(lows) // resolution) * resolution, min(highs)
        if (end - start) // resolution >= GRID_LIMIT:
            return None
        return [space.value(family, v) for v in range(start, end + 1, resolution)]

    def finite_values(self, attribute: Attribute, within: Closure) -> list[Value] | None:
        """The finitely many values of an enumerated column inside its bounds; None if not enumerated."""
        family, members = self.facts.space.family(attribute), self.members(attribute)
        numbers = self._enumerated(attribute, within)
        if numbers is None:
            return None if members is None else list(members)
        values = [self.facts.space.value(family, n) for n in numbers]
        return values if members is None else [v for v in values if v in members]

    def _enumerated(self, attribute: Attribute, within: Closure) -> list[int] | None:
        """The listed values of a column, or of one of its stream that equals it by a local condition."""
        sets = [listed for a in self._same(attribute) for listed in self._lists(a)]
        return [v for v in sorted(set.intersection(*sets)) if _inside(v, attribute, within)] if sets else None

    def _same(self, attribute: Attribute) -> list[Attribute]:
        """The columns of its own stream that equal a column by local conditions, itself among them."""
        local_columns = (a for a in self._equal(attribute) if a.occurrence == attribute.occurrence)
        return [a for a in local_columns if self.local.equates(a, attribute)]

    def cardinality(self, attribute: Attribute) -> int | None:
        """How many different values a column has at most, by the catalog; None if it does not say."""
        numbers = (self.query.column(a).cardinality for a in self._same(attribute))
        return min((number for number in numbers if number is not None), default=None)

    def resolution(self, attribute: Attribute) -> int | None:
        """The distance of a column's neighbouring values; None if it and its equals are dense."""
        resolutions = (self.facts.space.resolution(a) for a in self._same(attribute))
        return max((resolution for resolution in resolutions if resolution is not None), default=None)

    def _lists(self, attribute: Attribute) -> list[set[int]]:
        space, family = self.facts.space, self.facts.space.family(attribute)
        sets = [
            {space.embed(family, v.value) for v in atom.values if v.value is not None}
            for atom in self.query.where
            if isinstance(atom, Membership) and atom.attribute == attribute
        ]
        domain = domain_of(self.query, attribute)
        if domain is not None and domain.values is not None:
            sets.append({space.embed(family, v) for v in domain.values})
        return sets


def _inside(value: int, attribute: Attribute, closure: Closure) -> bool:
    upper, lower = closure.upper(attribute), closure.lower(attribute)
    under = upper is None or value < upper[0] or (value == upper[0] and not upper[1])
    return under and (lower is None or value > lower[0] or (value == lower[0] and not lower[1]))


def facts_of(
    query: Query,
    static_values: Mapping[Attribute, tuple[Value, ...]] | None = None,
    joins: Collection[Join] | None = None,
    choices: bool = False,
) -> Facts | None:
    """The facts of a query; None if no tuples can ever meet its conditions together.

    ``joins``, if given, are the comparisons between columns that are evaluated. The others follow from
    them in a complete match, and nothing else may be built on them. ``choices``: what ``<>`` and IN leave
    no choice about counts as well; it costs time and is seldom needed.
    """
    values = {a: listed for a, listed in (static_values or {}).items() if a in query.present}
    if not all(values.values()):
        # A compared static column without a value: no static row can meet the conditions.
        return None
    facts = forced(system(query, values)) if choices else system(query, values)
    if facts.closure is None or not facts.satisfiable():
        return None
    atoms = query.where
    if joins is not None:
        atoms = tuple(a for a in atoms if not isinstance(a, Join) or a in joins)
    local = _local(facts, atoms)
    alone = local.assume(_bounds(facts.closure, query))
    if alone is None:
        return None
    return Facts(facts, local, alone, _joins(alone, atoms), values)


def _local(facts: System, atoms: Iterable[Atom]) -> Closure:
    own = [atom for atom in atoms if len({x.occurrence for x in atom.attributes}) < 2]
    constraints, _ = constraints_of(facts.space, own)
    closure = unconstrained(facts.space).assume(constraints)
    assert closure is not None
    return closure


def _unary(closure: Closure, attribute: Attribute) -> list[Difference]:
    differences = []
    if (upper := closure.upper(attribute)) is not None:
        differences.append(at_most(attribute, *upper))
    if (lower := closure.lower(attribute)) is not None:
        differences.append(at_least(attribute, *lower))
    return differences


def _bounds(closure: Closure, query: Query) -> list[Difference]:
    infinite = [
        a for a in query.mentioned if query.occurrence(a.occurrence).relation.kind is RelationKind.STREAM
    ]
    return list(chain.from_iterable(_unary(closure, a) for a in infinite))


def _joins(alone: Closure, atoms: Iterable[Atom]) -> tuple[Join, ...]:
    """The comparisons between occurrences, without those that the rest of the query implies."""
    compared = (a for a in atoms if isinstance(a, Join))
    kept = [a for a in compared if len({x.occurrence for x in a.attributes}) == 2]
    for atom in list(kept):
        rest = [d for join in kept if join is not atom for d in _differences(join)]
        without = alone.assume(rest)
        if without is not None and implied(without, atom):
            kept = [join for join in kept if join is not atom]
    return tuple(kept)


def _differences(atom: Join) -> list[Difference]:
    return differences(atom.left, atom.op, atom.right)


def implied(closure: Closure, atom: Join) -> bool:
    """Whether a comparison of two columns follows from a closure."""
    return holds_in(closure, (atom.left, atom.op, atom.right))


def holds_in(closure: Closure, pair: Pair) -> bool:
    """Whether ``left op right`` follows from a closure."""
    left, op, right = pair
    if op is Op.NE:
        return any(closure.implies(differences(left, o, right)[0]) for o in (Op.LT, Op.GT))
    return all(closure.implies(difference) for difference in differences(left, op, right))


def fails_in(closure: Closure, pair: Pair) -> bool:
    """Whether ``left op right`` contradicts a closure."""
    left, op, right = pair
    if op is Op.NE:
        return closure.equates(left, right)
    return closure.assume(differences(left, op, right)) is None
