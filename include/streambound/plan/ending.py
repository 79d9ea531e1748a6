"""Queries with streams that end, because a condition bounds their timestamps from above.

Until the last of them ends every tuple is held as it came. Afterwards their tuples are rows of static
relations, and the query is planned anew: comparisons with their timestamps become comparisons with
columns that hold them (docs/theory.md, Plans and units).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from streambound.boundedness.criterion.folding import folded
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.plan.clock import Clock, Composite, time_conditions
from streambound.query.model import Attribute, Column, Join, Occurrence, Query, RelationKind

# (column, shift): a column that holds the timestamp plus a shift.
Shadow = tuple[str, int]
Shadows = Mapping[str, tuple[Shadow, ...]]
# Later than any moment after any other.
FOR_EVER = 2**80


class UntilEnd(Clock):
    """The clock until streams end: what arrived may match what comes, so all streams are one composite."""

    @cached_property
    def composites(self) -> tuple[Composite, ...]:
        """All streams."""
        return (frozenset(self.streams),)

    def hold(self, alias: str) -> int:
        """All tuples are held."""
        return FOR_EVER


@dataclass(frozen=True)
class Ending:
    """A query of which the ``finite`` occurrences end: after ``last`` none of their tuples comes.

    ``later`` is the query with them as static relations; ``shadows`` are the columns that its relations
    have besides, by alias. ``linger`` is that of the plan which goes on (see ``timed``).
    """

    query: Query
    finite: tuple[str, ...]
    last: int
    later: Query
    shadows: Shadows
    linger: int = 0

    @property
    def ends(self) -> dict[int, int]:
        """The outputs after whose timestamp a row cannot come again, and how long after."""
        if not self.later.ring.idempotent:
            return {}
        clock = Clock(tuple(o.alias for o in self.later.streams), time_conditions(self.later))
        terms = ((position, output.term) for position, output in enumerate(self.later.select))
        return {
            position: max(self.linger, clock.reach(term.occurrence))
            for position, term in terms
            if isinstance(term, Attribute)
            and self.later.is_timestamp(term)
            and clock.completes(term.occurrence)
        }

    @property
    def formula(self) -> str:
        """What sizes the state."""
        kept = ", ".join(dict.fromkeys(o.relation.name for o in self.query.occurrences if not _static(o)))
        ending = ", ".join(dict.fromkeys(self.query.occurrence(a).relation.name for a in self.finite))
        return f"all tuples of {kept} until {ending} ends, then keys x classes of the values of {ending}"


def _static(occurrence: Occurrence) -> bool:
    return occurrence.relation.kind is RelationKind.STATIC


def ends(query: Query) -> dict[str, int]:
    """The occurrences whose timestamps conditions bound from above, each with a time past its last."""
    facts = system(query)
    if facts.closure is None:
        return {}
    time, ends_ = TimeOrder(facts), {}
    for alias, stamp in time.stamps.items():
        upper = facts.closure.upper(stamp)
        if upper is not None:
            # A bound that follows is rounded to the granularity, which data need not keep to.
            ends_[alias] = upper[0] + facts.space.tick(stamp)
    return ends_


def ending_of(query: Query, linger: int = 0) -> Ending | None:
    """When and how streams of a query end; None if none does, or a finite one may still come."""
    query = folded(query)
    last = ends(query)
    declared = {o.alias for o in query.occurrences if o.relation.kind is RelationKind.FINITE}
    if not last or not declared <= set(last):
        return None
    finite = tuple(o.alias for o in query.occurrences if o.alias in last)
    crossing = [a for a in time_conditions(query) if {x.occurrence for x in a.attributes} & set(finite)]
    compared = {atom: _compared(atom, finite) for atom in crossing}
    shadows = _shadows(query, compared.values())
    later = replace(
        query,
        occurrences=tuple(_later(o, finite, shadows) for o in query.occurrences),
        where=tuple(
            _of_shadows(compared[a]) if isinstance(a, Join) and a in compared else a for a in query.where
        ),
    )
    return Ending(query, finite, max(last.values()), later, shadows, linger)


# A comparison of two timestamps, each plus a shift.
_Shifted = tuple[Join, int, int]


def _compared(atom: Join, finite: tuple[str, ...]) -> _Shifted:
    """A time condition with its offset on the side of a stream that ends."""
    if atom.right.occurrence in finite:
        return atom, 0, atom.offset
    return atom, -atom.offset, 0


def _of_shadows(shifted: _Shifted) -> Join:
    """The comparison of the columns that hold the timestamps."""
    atom, left, right = shifted
    return replace(
        atom,
        left=Attribute(atom.left.occurrence, shadow_name(atom.left.column, left)),
        right=Attribute(atom.right.occurrence, shadow_name(atom.right.column, right)),
        offset=0,
        offset_text="",
    )


def shadow_name(column: str, shift: int) -> str:
    """The name of a column that holds a timestamp plus a shift."""
    return f"{column} {shift:+d}"


def _shadows(query: Query, compared: Iterable[_Shifted]) -> Shadows:
    by_alias: dict[str, dict[Shadow, None]] = {o.alias: {} for o in query.occurrences}
    for atom, left, right in compared:
        for side, shift in ((atom.left, left), (atom.right, right)):
            # Occurrences of one relation stay occurrences of one relation.
            name = query.occurrence(side.occurrence).relation.name
            for occurrence in query.occurrences:
                if occurrence.relation.name == name:
                    by_alias[occurrence.alias][side.column, shift] = None
    return {alias: tuple(shadows) for alias, shadows in by_alias.items()}


def _later(occurrence: Occurrence, finite: tuple[str, ...], shadows: Shadows) -> Occurrence:
    relation = occurrence.relation
    more = [
        Column(shadow_name(name, shift), relation.column(name).type, nullable=False)
        for name, shift in shadows[occurrence.alias]
    ]
    wider = replace(relation, columns=(*relation.columns, *more))
    if occurrence.alias in finite:
        wider = replace(wider, name=static_name(occurrence), kind=RelationKind.STATIC, timestamp=None)
    return replace(occurrence, relation=wider)


def static_name(occurrence: Occurrence) -> str:
    """The name of the static relation that a stream becomes once it has ended."""
    return f"{occurrence.relation.name} as {occurrence.alias}"
