"""The cells of one occurrence: how its tuples are laid out with the fewest units that were found.

Every column that must be remembered exactly (it is projected, equated with another stream's, or
compared with a static relation's) becomes a key. Of a duplicate-preserving query so does every
column that is still compared. Of a duplicate-eliminating one the planner looks, cell by cell, for
the fewest units: one extremum where all pending columns wait for the same partners, otherwise it
splits the cell by the constants around one column, or makes that column a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from streambound.constraints.closure import Closure, Difference
from streambound.constraints.system import differences
from streambound.errors import PlanError
from streambound.plan.model import Cell, Condition, Extremum, Keep, Key, Pair
from streambound.plan.tables.facts import Facts, fails_in, holds_in
from streambound.plan.tables.keys import apart_key, exact_key, listed_values, partner_key
from streambound.plan.tables.pending_groups import UP, single_group
from streambound.plan.tables.splits import Split, cut, halves, splits
from streambound.query.model import Attribute, Op


@dataclass(frozen=True)
class Draft:
    """A cell in the making: what holds in it, its keys so far, and the pairs still to be served."""

    closure: Closure
    conditions: tuple[Condition, ...]
    keys: tuple[Key, ...]
    follow: tuple[tuple[Attribute, Keep], ...]
    pairs: tuple[Pair, ...]
    divided: frozenset[Attribute] = frozenset()
    context: tuple[Condition, ...] = ()
    settled: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()

    @property
    def ordered(self) -> list[Pair]:
        """The pairs still to be served, ``<>`` aside."""
        return [pair for pair in self.pairs if pair[1] is not Op.NE]

    def cell(self, *extrema: Extremum) -> Cell:
        counts: dict[Attribute, int] = {}
        for local, op, _ in self.pairs:
            if op is Op.NE:
                counts[local] = counts.get(local, 0) + 1
        unequal = tuple(sorted(counts.items()))
        return Cell(
            conditions=self.conditions,
            keys=self.keys,
            extrema=extrema,
            follow=self.follow,
            unequal=unequal,
            context=self.context,
            settled=self.settled,
            apart=self.apart,
        )


def _units(cells: list[Cell] | None) -> float:
    return float("inf") if cells is None else sum(cell.max_units for cell in cells)


# Layouts of one occurrence that are looked at for the fewest units; after them the first found is taken.
LAYOUT_LIMIT = 100
# And after so many times as many there is no plan.
_PATIENCE = 10


@dataclass
class Looked:
    """How many layouts were looked at."""

    at: int = 0

    @property
    def enough(self) -> bool:
        """Whether the first layout found is good enough from now on."""
        return self.at > LAYOUT_LIMIT


@dataclass(frozen=True)
class CellPlanner:
    """Plans the cells of one occurrence."""

    facts: Facts
    alias: str
    cuts: frozenset[Condition] = frozenset()
    looked: Looked = field(default_factory=Looked, compare=False)

    def cells(self) -> list[Cell]:
        """The cells with the fewest units that were found.

        Raises:
            PlanError: there is no finite layout.
        """
        pairs = tuple(self.facts.joined(self.alias))
        drafts = [Draft(self.facts.alone, (), (), (), pairs)]
        for condition in sorted(self.cuts, key=str):
            if condition.attribute.occurrence == self.alias:
                drafts = [part for draft in drafts for part in self._cut(draft, condition)]
        return [cell for draft in drafts for cell in self._cells_of(draft)]

    def _cells_of(self, draft: Draft) -> list[Cell]:
        pruned = self._pruned(draft)
        if pruned is None:
            return []
        keyed = self._with_keys(pruned)
        cells = self._eliminating(keyed) if self.facts.query.ring.idempotent else self._preserving(keyed)
        if cells is None:
            columns = ", ".join(sorted({str(local) for local, _, _ in keyed.pairs}))
            raise self._error(f"no finite table holds {columns}")
        return cells

    def _cut(self, draft: Draft, condition: Condition) -> list[Draft]:
        return [
            replace(draft, closure=part.closure, conditions=(*draft.conditions, *part.conditions))
            for part in cut(self.facts, draft.closure, condition)
        ]

    def _pruned(self, draft: Draft) -> Draft | None:
        """The draft without the pairs that its cell decides; None if no tuple of it can join."""
        if any(fails_in(draft.closure, pair) for pair in draft.pairs):
            return None
        settled = frozenset(p for p in draft.pairs if holds_in(draft.closure, p))
        rest = tuple(p for p in draft.pairs if p not in settled)
        return replace(draft, pairs=rest, settled=draft.settled | settled)

    def _with_keys(self, draft: Draft) -> Draft:
        query = self.facts.query
        projected = {a for a in query.projected if a.occurrence == self.alias}
        # Also where this cell decides it: the join looks equated columns up.
        equated = {local for local, op, _ in self.facts.joined(self.alias) if op is Op.EQ}
        keys: dict[Attribute, Key] = {}
        for attribute in sorted(projected | equated):
            keys[attribute] = self._certain(attribute, exact_key(self.facts, draft.closure, attribute))
        pairs = tuple(p for p in draft.pairs if p[0] not in keys)
        keyed = replace(draft, keys=(*draft.keys, *keys.values()), pairs=pairs)
        for attribute in sorted({local for local, _, partner in pairs if query.is_static(partner)}):
            statics = {
                partner for local, _, partner in pairs if local == attribute and query.is_static(partner)
            }
            with_classes = self._keyed_apart(keyed, attribute, statics)
            if with_classes is None:
                raise self._error(f"{attribute} has no finite number of classes")
            keyed = with_classes
        return keyed

    def _keyed_apart(self, draft: Draft, attribute: Attribute, partners: set[Attribute]) -> Draft | None:
        """The draft with a key for the comparisons of a column with finite columns alone."""
        served = {p for p in draft.pairs if p[0] == attribute and p[2] in partners}
        served |= {p for p in draft.apart if p[0] == attribute}
        key = apart_key(self.facts, draft.closure, attribute, sorted(partner for _, _, partner in served))
        if key is None:
            return None
        keys = [k for k in draft.keys if not (k.apart and k.attribute == attribute)]
        rest = tuple(p for p in draft.pairs if p not in served)
        return replace(draft, keys=(*keys, key), pairs=rest, apart=draft.apart | served)

    def _against_listed(self, draft: Draft, attribute: Attribute) -> Draft | None:
        """The draft with a dense column's comparisons with finite columns taken apart, if it has both."""
        partners = {partner for local, _, partner in draft.pairs if local == attribute}
        listed = {p for p in partners if listed_values(self.facts, draft.closure, attribute, p) is not None}
        if self.facts.resolution(attribute) is not None or not listed or listed == partners:
            return None
        return self._keyed_apart(draft, attribute, listed)

    def _certain(self, attribute: Attribute, key: Key | None) -> Key:
        if key is None:
            raise self._error(f"{attribute} has no finite number of classes")
        return key

    def _error(self, message: str) -> PlanError:
        return PlanError(
            f"no plan was found: {message}",
            subject=self.facts.query.name,
            fix="streambound check says which bound is missing; --engine reference keeps every tuple",
        )

    def _keyed(self, draft: Draft, attribute: Attribute) -> Draft | None:
        own = [p for p in draft.pairs if p[0] == attribute]
        key = partner_key(self.facts, draft.closure, attribute, own)
        if key is None:
            return None
        rest = tuple(p for p in draft.pairs if p[0] != attribute)
        return replace(draft, keys=(*draft.keys, key), pairs=rest)

    def _preserving(self, draft: Draft) -> list[Cell] | None:
        for attribute in sorted({local for local, _, _ in draft.pairs}):
            keyed = self._keyed(draft, attribute)
            if keyed is None:
                return None
            draft = keyed
        return [draft.cell()]

    def _eliminating(self, draft: Draft) -> list[Cell] | None:
        self.looked.at += 1
        if self.looked.at > _PATIENCE * LAYOUT_LIMIT:
            raise self._error(f"{self.alias} has more than {_PATIENCE * LAYOUT_LIMIT:,} layouts")
        pruned = self._pruned(draft)
        if pruned is None:
            return []
        if (cell := self._single_cell(pruned)) is not None:
            return [cell]
        ordered = pruned.ordered
        for attribute in sorted({local for local, _, _ in ordered}):
            if (follower := self._following(pruned, attribute)) is not None:
                cells = self._eliminating(follower)
                if cells is not None:
                    return cells
        columns = sorted({local for local, _, _ in ordered})
        cells = self._split(pruned, columns)
        return cells if cells is not None else self._by_context(pruned)

    def _single_cell(self, draft: Draft) -> Cell | None:
        """The draft as one cell, where at most one set of partners is waited for."""
        if not draft.ordered:
            return draft.cell()
        extremum = single_group(self.facts, draft.closure, draft.ordered)
        return None if extremum is None else draft.cell(extremum)

    def _by_context(self, draft: Draft) -> list[Cell] | None:
        """Cells for each part of a partner's range; every tuple is filed in the cells of all parts."""
        best: list[Cell] | None = None
        streams = {o.alias for o in self.facts.query.streams} - {self.alias}
        for partner in sorted(a for a in self.facts.query.mentioned if a.occurrence in streams):
            if partner in draft.divided:
                continue
            for pair in halves(self.facts, draft.closure, partner):
                cells = self._under(draft, pair, partner)
                if _units(cells) < _units(best):
                    best = cells
                if best is not None and self.looked.enough:
                    return best
        return best

    def _under(self, draft: Draft, parts: tuple[Split, Split], partner: Attribute) -> list[Cell] | None:
        cells: list[Cell] = []
        for part in parts:
            inner = replace(
                draft,
                closure=part.closure,
                context=(*draft.context, *part.conditions),
                divided=draft.divided | {partner},
            )
            planned = self._eliminating(inner)
            if planned is None:
                return None
            cells.extend(planned)
        return cells

    def _split(self, draft: Draft, attributes: list[Attribute]) -> list[Cell] | None:
        best: list[Cell] | None = None
        for attribute in attributes:
            for option in self._options(draft, attribute):
                if _units(option) < _units(best):
                    best = option
                if best is not None and self.looked.enough:
                    return best
        return best

    def _options(self, draft: Draft, attribute: Attribute) -> Iterator[list[Cell] | None]:
        keyed = self._keyed(draft, attribute)
        if keyed is not None:
            yield self._eliminating(keyed)
        listed = self._against_listed(draft, attribute)
        if listed is not None:
            yield self._eliminating(listed)
        parts = [] if attribute in draft.divided else splits(self.facts, draft.closure, attribute)
        if parts:
            yield self._each(draft, parts, attribute)

    def _each(self, draft: Draft, parts: list[Split], attribute: Attribute) -> list[Cell] | None:
        cells: list[Cell] = []
        for part in parts:
            part_of = replace(
                draft,
                closure=part.closure,
                conditions=(*draft.conditions, *part.conditions),
                divided=draft.divided | {attribute},
            )
            inner = self._keyed(part_of, attribute) if part.finite else part_of
            planned = self._eliminating(inner) if inner is not None else None
            if planned is None:
                return None
            cells.extend(planned)
        return cells

    def _following(self, draft: Draft, attribute: Attribute) -> Draft | None:
        """The draft without a column whose pairs follow from those of the others, if they do."""
        own = [p for p in draft.pairs if p[0] == attribute]
        directions = {op in UP for _, op, _ in own}
        if any(op is Op.NE for _, op, _ in own) or len(directions) != 1:
            return None
        implied = draft.closure.assume(self._remaining_differences(attribute))
        if implied is None or not all(holds_in(implied, pair) for pair in own):
            return None
        keep = Keep.LEAST if True in directions else Keep.GREATEST
        rest = tuple(p for p in draft.pairs if p[0] != attribute)
        return replace(draft, follow=(*draft.follow, (attribute, keep)), pairs=rest)

    def _remaining_differences(self, attribute: Attribute) -> list[Difference]:
        pairs = [p for p in self.facts.joined(self.alias) if p[0] != attribute]
        return [difference for pair in pairs for difference in differences(*pair)]
