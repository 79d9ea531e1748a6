"""Truth tables over how pairs of attributes of two streams compare.

The difference of a pair is below, at, or above each offset that conditions name (for ordinary
attributes the only offset is 0): with m offsets there are 2m + 1 *regions*, the even ones open
intervals and the odd ones points. Where an attribute may be NULL there is one region more, in which no
comparison is true. A *box* is a set of regions for every pair that a conjunction of
comparisons can say: an interval without some of its points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

from streambound.constraints.closure import Closure, Difference
from streambound.constraints.search import SearchLimit, consistent
from streambound.constraints.system import System
from streambound.errors import Location
from streambound.query.formula import Formula, atoms_of, holds
from streambound.query.model import Atom, Attribute, Join, NullTest, Op

# Rows of a table: ways in which all pairs can compare.
TABLE_LIMIT = 6_561

Pair = tuple[Attribute, Attribute]
Row = tuple[int, ...]
Box = tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Variable:
    """A pair, the offsets of its difference (left - right), sorted, and where the user compares it.

    ``nullable`` are those of the two that may be NULL.
    """

    pair: Pair
    offsets: tuple[int, ...]
    location: Location
    nullable: tuple[Attribute, ...] = ()

    @property
    def differences(self) -> range:
        """Numbers of the regions of a difference, in order."""
        return range(2 * len(self.offsets) + 1)

    @property
    def null(self) -> int:
        """The region in which one of the two is NULL."""
        return self.differences.stop

    @property
    def regions(self) -> range:
        """Numbers of all regions."""
        return range(self.null + 1) if self.nullable else self.differences

    def literals(self, region: int) -> list[Difference]:
        """The conditions that the difference lies in a region of it."""
        left, right = self.pair
        differences = []
        if region < self.differences[-1]:
            differences.append(Difference(left, right, self.offsets[region // 2], region % 2 == 0))
        if region > 0:
            differences.append(Difference(right, left, -self.offsets[(region - 1) // 2], region % 2 == 0))
        return differences

    def true(self, atom: Join, region: int) -> bool:
        """Whether a comparison of the pair is true in a region."""
        if region == self.null:
            return False
        op, offset = _oriented(atom, self.pair)
        point = 2 * self.offsets.index(offset) + 1
        return {
            Op.LT: region < point,
            Op.LE: region <= point,
            Op.EQ: region == point,
            Op.NE: region != point,
            Op.GE: region >= point,
            Op.GT: region > point,
        }[op]

    def sayable(self, regions: frozenset[int]) -> bool:
        """Whether comparisons can say that the pair is in some regions."""
        if self.null in regions:
            return len(regions) == len(self.regions)
        hull = range(min(regions), max(regions) + 1)
        return all(region % 2 == 1 for region in hull if region not in regions)

    def atoms(self, regions: frozenset[int]) -> Iterator[Atom]:
        """The conditions that say so, none for all regions."""
        if self.null in regions:
            return
        if len(regions) == len(self.differences):
            yield from (NullTest(attribute, False, self.location) for attribute in self.nullable)
            return
        low, high = min(regions), max(regions)
        if low == high and low % 2 == 1:
            yield self._atom(Op.EQ, low // 2)
            return
        if low > 0:
            yield self._atom(Op.GE if low % 2 else Op.GT, (low - 1) // 2)
        if high < self.differences[-1]:
            yield self._atom(Op.LE if high % 2 else Op.LT, high // 2)
        for region in range(low, high):
            if region not in regions:
                yield self._atom(Op.NE, region // 2)

    def _atom(self, op: Op, number: int) -> Join:
        left, right = self.pair
        offset = self.offsets[number]
        text = f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else ""
        return Join(left, op, right, self.location, offset, text)


@dataclass(frozen=True)
class PairTable:
    """The satisfiable ways in which all pairs can compare, and whether the formula is true there."""

    variables: tuple[Variable, ...]
    rows: dict[Row, bool]

    def atoms(self, box: Box) -> tuple[Atom, ...]:
        """The conjunction that a box says."""
        return tuple(a for v, regions in zip(self.variables, box, strict=True) for a in v.atoms(regions))

    def cover(self, disjoint: bool) -> list[Box]:
        """Boxes that hold every true row and no false one; one box if one is enough.

        ``disjoint``: no true row is in two boxes. Otherwise each box is as wide as it can be.
        """
        true = [row for row, value in self.rows.items() if value]
        if not true:
            return []
        hull = tuple(_hull(v, frozenset(row[i] for row in true)) for i, v in enumerate(self.variables))
        if self._inside(hull, frozenset(true)):
            return [self._widened(hull, frozenset(true))]
        boxes: list[Box] = []
        left = dict.fromkeys(true)
        while left:
            allowed = frozenset(left) if disjoint else frozenset(true)
            box = self._widened(tuple(frozenset((region,)) for region in next(iter(left))), allowed)
            boxes.append(box)
            left = {row: None for row in left if not _in(row, box)}
        return boxes

    def _inside(self, box: Box, allowed: frozenset[Row]) -> bool:
        """Whether every row of a box is an allowed one; what is unsatisfiable is no row."""
        return all(row in allowed for row in self.rows if _in(row, box))

    def _widened(self, box: Box, allowed: frozenset[Row]) -> Box:
        for number, variable in enumerate(self.variables):
            everything = (*box[:number], frozenset(variable.regions), *box[number + 1 :])
            if self._inside(everything, allowed):
                box = everything
                continue
            for regions in _larger(variable, box[number]):
                wider = (*box[:number], box[number] | regions, *box[number + 1 :])
                if variable.sayable(wider[number]) and self._inside(wider, allowed):
                    box = wider
        return box


def _larger(variable: Variable, regions: frozenset[int]) -> list[frozenset[int]]:
    """Regions to add one by one, the nearest first."""
    middle = min(regions)
    outside = (r for r in variable.regions if r not in regions)
    return [frozenset((r,)) for r in sorted(outside, key=lambda r: (abs(r - middle), r))]


def _hull(variable: Variable, regions: frozenset[int]) -> frozenset[int]:
    """The least set that comparisons can say around some regions."""
    if variable.null in regions:
        return frozenset(variable.regions)
    hull = range(min(regions), max(regions) + 1)
    return frozenset(r for r in hull if r in regions or r % 2 == 0)


def _in(row: Row, box: Box) -> bool:
    return all(region in regions for region, regions in zip(row, box, strict=True))


def pair_of(atom: Join) -> Pair:
    """The two attributes of a comparison between attributes, in canonical order."""
    return min(atom.left, atom.right), max(atom.left, atom.right)


def _oriented(atom: Join, pair: Pair) -> tuple[Op, int]:
    """Operator and offset of a comparison, the pair's first attribute on the left."""
    return (atom.op, atom.offset) if atom.left == pair[0] else (atom.op.mirrored, -atom.offset)


def pair_table(facts: System, formula: Formula) -> PairTable:
    """The table of a formula whose atoms compare attributes of two occurrences.

    ``facts`` is the system of what is known beside it, in which those attributes have their place.

    Raises:
        SearchLimit: more than TABLE_LIMIT ways to compare.
    """
    atoms = [atom for atom in atoms_of(formula) if isinstance(atom, Join)]
    pairs = dict.fromkeys(map(pair_of, atoms))
    present = facts.query.present | {a for pair in pairs for a in pair if not facts.query.nullable(a)}
    variables = tuple(_variable(pair, atoms, present) for pair in pairs)
    nullable = {a for variable in variables for a in variable.nullable}
    if prod(len(v.differences) for v in variables) * 2 ** len(nullable) > TABLE_LIMIT:
        raise SearchLimit
    number = {pair: i for i, pair in enumerate(pairs)}

    def true(atom: Atom, row: Row) -> bool:
        assert isinstance(atom, Join)
        position = number[pair_of(atom)]
        return variables[position].true(atom, row[position])

    rows = {
        row: holds(formula, lambda atom, row=row: true(atom, row))  # type: ignore[misc]
        for row in _allowed_rows(facts, variables)
    }
    return PairTable(variables, rows)


def _variable(pair: Pair, atoms: list[Join], present: frozenset[Attribute]) -> Variable:
    own = [atom for atom in atoms if pair_of(atom) == pair]
    # As the user wrote it first, so that messages do.
    written = pair if own[0].left == pair[0] else (pair[1], pair[0])
    offsets = tuple(sorted({_oriented(a, written)[1] for a in own}))
    return Variable(written, offsets, own[0].location, tuple(a for a in pair if a not in present))


def _allowed_rows(facts: System, variables: tuple[Variable, ...]) -> Iterator[Row]:
    """The rows that what is known allows; some more than once."""
    nullable = sorted({a for variable in variables for a in variable.nullable})
    for nulls in chain.from_iterable(combinations(nullable, n) for n in range(len(nullable) + 1)):
        pending: list[tuple[Closure, Row]] = [] if facts.closure is None else [(facts.closure, ())]
        while pending:
            closure, row = pending.pop()
            if len(row) == len(variables):
                if consistent(closure, facts.disjunctions):
                    yield row
                continue
            variable = variables[len(row)]
            if not set(nulls).isdisjoint(variable.pair):
                pending.append((closure, (*row, variable.null)))
                continue
            for region in reversed(variable.differences):
                if (narrowed := closure.assume(variable.literals(region))) is not None:
                    pending.append((narrowed, (*row, region)))
