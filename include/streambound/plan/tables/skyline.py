"""Partial matches of several streams that are best in more than one respect.

In a set like U before T1 and T2 the columns of T1 and of T2 may wait for different partners. As long
as no column of U waits for either, the earliest match of U is best for both, and so in every branch
(every zone of every column fixed) one partial match is best in all respects: theorem B2 of
docs/theory.md. The planner here therefore splits by the zones of all columns, its own and its
partners', before it keeps several extrema. The table itself keeps every match that no other serves.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from streambound.errors import PlanError
from streambound.plan.clock import Clock
from streambound.plan.model import Cell, Extremum, Pair
from streambound.plan.tables.cells import CellPlanner, Draft
from streambound.plan.tables.facts import Facts
from streambound.plan.tables.keys import exact_key
from streambound.plan.tables.pending_groups import UP, leader, single_group
from streambound.plan.tables.splits import Split, splits
from streambound.query.model import Attribute, Op

# Past so many cells the query has no plan.
CELLS_LIMIT = 2_000


class SkylinePlanner(CellPlanner):
    """Plans cells with as many extrema as there are sets of partners."""

    def _eliminating(self, draft: Draft) -> list[Cell] | None:
        pruned = self._pruned(draft)
        if pruned is None:
            return []
        if (cell := self._single_cell(pruned)) is not None:
            return [cell]
        ordered = pruned.ordered
        for attribute in sorted({a for local, _, partner in ordered for a in (local, partner)}):
            if attribute in pruned.divided:
                continue
            parts = splits(self.facts, pruned.closure, attribute)
            if parts:
                return self._parts(pruned, attribute, parts)
        return [pruned.cell(*extrema(self.facts, pruned, ordered))]

    def _parts(self, draft: Draft, attribute: Attribute, parts: list[Split]) -> list[Cell]:
        cells: list[Cell] = []
        for part in parts:
            inner = replace(draft, closure=part.closure, divided=draft.divided | {attribute})
            if attribute.occurrence == self.alias:
                inner = replace(inner, conditions=(*draft.conditions, *part.conditions))
                if part.finite:
                    inner = self._keyed(inner, attribute) or inner
            else:
                inner = replace(inner, context=(*draft.context, *part.conditions))
            cells.extend(self._eliminating(inner) or [])
            if len(cells) > CELLS_LIMIT:
                raise PlanError(
                    f"no plan was made: more than {CELLS_LIMIT:,} cells", subject=self.facts.query.name
                )
        return cells


def extrema(facts: Facts, draft: Draft, pairs: list[Pair]) -> list[Extremum]:
    """One extremum for each set of columns that wait for the same partners in the same direction."""
    owners, targets = [p[0] for p in pairs], [p[2] for p in pairs]
    waiting: dict[tuple[bool, Attribute], set[Attribute]] = {}
    for local, op, attribute in pairs:
        target = (op in UP, leader(draft.closure, attribute, targets))
        waiting.setdefault(target, set()).add(leader(draft.closure, local, owners))
    every: dict[Extremum, None] = {}
    for upward, columns in {(up, frozenset(local_columns)) for (up, _), local_columns in waiting.items()}:
        alike = {
            target
            for (up, target), local_columns in waiting.items()
            if up is upward and local_columns == columns
        }
        served = [
            p for p in pairs if (p[1] in UP) is upward and leader(draft.closure, p[2], targets) in alike
        ]
        extremum = single_group(facts, draft.closure, served)
        assert extremum is not None
        every[extremum] = None
    return sorted(every, key=str)


def points(facts: Facts, clock: Clock, streams: frozenset[str]) -> int:
    """How many partial matches may be kept side by side under one key.

    One in every branch, so at most as many as the columns compared inside the set have classes; for
    each ``<>`` inside, whether of columns or of timestamps, four (two on either side).
    """
    inside = [a for a in facts.joins if {x.occurrence for x in a.attributes} <= streams]
    columns = {a for atom in inside for a in atom.attributes}
    unequal = sum(atom.op is Op.NE for atom in inside)
    unequal += sum(
        atom.op is Op.NE and {x.occurrence for x in atom.attributes} <= streams for atom in clock.conditions
    )
    single: int = 4**unequal
    return prod(_classes(facts, a) for a in sorted(columns)) * single


def _classes(facts: Facts, attribute: Attribute) -> int:
    """The zones of a column, and its values between them."""
    key = exact_key(facts, facts.alone, attribute)
    if key is not None:
        return key.size
    space = facts.facts.space
    constants = space.constants(space.family(attribute))
    if not constants:
        return 1
    resolution = facts.resolution(attribute)
    if resolution is None:
        return 2 * len(set(constants)) + 1
    return (constants[-1] - constants[0]) // resolution + 3
