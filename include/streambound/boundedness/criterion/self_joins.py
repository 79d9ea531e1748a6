"""DISTINCT over a stream with itself: banded families of tuples (section "Self-joins" of docs/theory.md).

(P') A projected column that takes infinitely many values must be remembered, self-join or not: a whole
copy of a match comes or does not, and comes again.

(H) Let copy k of a match of two tuples be an optional tuple t_k and a later one f_k, with row r_k; each
value stays, rises or falls with k, and bands of values of one zone lie apart. The query is unbounded if
for three copies r_k is not in the answer of all t, nor in that of all t but t_k, and f_k: comparisons
between copies only depend on their order, and a false match touches two copies at most. (I) Of a query
whose rows are finitely many, prefixes without a match in which every tuple is needed contain such
families if they are large (Ramsey), so if there is no family, boundedly many tuples are all that is ever
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise, product

from streambound.constraints.system import System
from streambound.query.model import Atom, Attribute, Filter, Join, Membership, NullTest, Op, Query

COPIES = 3
# Families that are tried, and made, before the question is left open.
TRIED, WORK_LIMIT = 10_000, 50_000
# Values between constants that are tried one by one.
_BETWEEN = 8
# Numbers of the query stand for so many, so that there is room between any two; room beyond all of them.
_SCALE = 1_000
_FAR = 1_000_000 * _SCALE

_Tuple = Mapping[str, int]
# Of a coordinate the value in each copy.
_Course = tuple[int, ...]
_Coordinate = tuple[str, str]
_Fits = Callable[[Mapping[_Coordinate, _Course]], bool]


def unbounded_pair(facts: System) -> bool | None:
    """Whether a DISTINCT self-join of two occurrences has a banded family; None if it is not of that form."""
    query = facts.query
    if len(query.occurrences) != 2 or len({o.relation for o in query.occurrences}) != 1:
        return None
    if any(isinstance(a, NullTest) for a in query.where) or facts.closure is None:
        return None
    if any(query.is_time(a) and not query.is_timestamp(a) for a in query.mentioned):
        return None
    families = _Families(facts)
    tried = 0
    for optional in (0, 1):
        if not families.can_wait(optional):
            continue
        for courses in families.courses(optional):
            tried += 1
            if tried > TRIED:
                return None
            if families.tells(optional, courses):
                return True
    return None if families.partial else False


@dataclass
class _Families:
    """The families of a query over one stream with itself."""

    facts: System
    partial: bool = False
    work: int = 0

    @property
    def query(self) -> Query:
        return self.facts.query

    @property
    def aliases(self) -> tuple[str, str]:
        left, right = self.query.occurrences
        return left.alias, right.alias

    def can_wait(self, optional: int) -> bool:
        """Whether the other tuple can come any time after the optional one."""
        assert self.facts.closure is not None
        stamp = self.query.occurrences[0].relation.timestamp
        left, right = (Attribute(self.aliases[n], str(stamp)) for n in (optional, 1 - optional))
        if left not in self.facts.space.mentioned or right not in self.facts.space.mentioned:
            return True
        return self.facts.closure.bound(right, left) is None and all(
            self.facts.closure.upper(a) is None for a in (left, right)
        )

    def columns(self) -> list[list[str]]:
        """The columns that conditions mention, those together that are compared with each other."""
        classes: list[set[str]] = []
        for attribute in self.facts.space.mentioned:
            if not self.query.is_time(attribute):
                classes.append({attribute.column})
        for atom in self.query.joins:
            if not self.query.is_time(atom.left):
                classes.append({a.column for a in atom.attributes})
        merged: list[set[str]] = []
        for names in classes:
            for family in [m for m in merged if m & names]:
                names |= family
                merged.remove(family)
            merged.append(names)
        return [sorted(names) for names in merged]

    def courses(self, optional: int) -> Iterator[dict[_Coordinate, _Course]]:
        """The values of both tuples in each copy, in every way that makes each copy a match."""
        components = self.columns()
        if len(components) == 1:
            yield from self._fitting(optional, components[0])
            return
        ways = [list(self._fitting(optional, columns)) for columns in components]
        for combination in product(*ways):
            yield dict(chain.from_iterable(part.items() for part in combination))

    def _fitting(self, optional: int, columns: list[str]) -> Iterator[dict[_Coordinate, _Course]]:
        """The values of columns that are compared with each other."""
        coordinates = [(role, column) for role in ("t", "f") for column in columns]
        atoms = [a for a in self.query.where if _within(a, columns)]
        fits = partial(self._is_match, optional, atoms)
        for courses in self._component(coordinates, fits):
            self.work += 1
            if self.work > WORK_LIMIT:
                self.partial = True
                return
            if fits(courses):
                yield courses

    def _is_match(self, optional: int, atoms: Sequence[Atom], courses: Mapping[_Coordinate, _Course]) -> bool:
        # Within a copy everything is compared alike in each.
        t, f = _tuples(courses, 0)
        match = (t, f) if optional == 0 else (f, t)
        return all(self._holds(atom, match) for atom in atoms)

    def _component(self, coordinates: list[_Coordinate], fits: _Fits) -> Iterator[dict[_Coordinate, _Course]]:
        """Where columns that are compared can lie: at known values, or in bands of an infinite zone."""
        column = next(a for a in self.facts.space.mentioned if a.column == coordinates[0][1])
        zones, points = self._zones(column)
        for where in product(range(-1, len(zones)), repeat=len(coordinates)):
            fixed = [p for p, zone in zip(coordinates, where, strict=True) if zone < 0]
            if fixed and not points:
                continue
            if len(set(where)) == 1 and not fixed:
                yield from self._banded(coordinates, zones[where[0]], fits)
                continue
            moving = [
                list(
                    islice(
                        self._banded([p for p, z in zip(coordinates, where, strict=True) if z == n], zone),
                        WORK_LIMIT,
                    )
                )
                for n, zone in enumerate(zones)
            ]
            self.work += sum(map(len, moving))
            if self.work > WORK_LIMIT:
                self.partial = True
                return
            for values in product(points, repeat=len(fixed)) if all(moving) else ():
                still = {p: (v,) * COPIES for p, v in zip(fixed, values, strict=True)}
                for parts in product(*moving):
                    component = dict(still)
                    for part in parts:
                        component.update(part)
                    yield component

    def _zones(self, attribute: Attribute) -> tuple[list[tuple[int, int]], list[int]]:
        """Room in each infinite zone of a column, and the values that it can have between constants."""
        space = self.facts.space
        constants = [n * _SCALE for n in space.constants(space.family(attribute))]
        if not constants:
            return [(0, _FAR)], []
        zones = [(constants[0] - _FAR, constants[0] - 1), (constants[-1] + 1, constants[-1] + _FAR)]
        resolution = space.resolution(attribute)
        if resolution is None:
            return [*zones, *pairwise(constants)], constants
        values = list(range(constants[0], constants[-1] + 1, resolution * _SCALE))
        if len(values) > _BETWEEN:
            self.partial = True
            values = constants
        return zones, values

    def _banded(
        self, coordinates: list[_Coordinate], zone: tuple[int, int], fits: _Fits = lambda _: True
    ) -> Iterator[dict[_Coordinate, _Course]]:
        """The ways to put coordinates into bands of a zone, each standing, rising or falling.

        ``fits`` tells of an order of the coordinates whether it is one.
        """
        if not coordinates:
            yield {}
            return
        for levels in _orders(len(coordinates)):
            self.work += 1
            if self.work > WORK_LIMIT:
                self.partial = True
                return
            if not fits({p: _course(zone, n, 0, 0) for p, n in zip(coordinates, levels, strict=True)}):
                continue
            for cuts in product((False, True), repeat=max(levels)):
                bands = [sum(cuts[:level]) for level in range(max(levels) + 1)]
                for ways in product((0, 1, -1), repeat=bands[-1] + 1):
                    yield {
                        coordinate: _course(zone, level, bands[level], ways[bands[level]])
                        for coordinate, level in zip(coordinates, levels, strict=True)
                    }

    def tells(self, optional: int, courses: Mapping[_Coordinate, _Course]) -> bool:
        """(H): whether each row is there with its tuple, and not without it."""
        copies = [_tuples(courses, copy) for copy in range(COPIES)]
        stamp = self.query.occurrences[0].relation.timestamp
        gap = _FAR + 2 * sum(abs(join.offset) for join in self.query.joins)
        ts = [{**t, **({stamp: n * gap} if stamp else {})} for n, (t, _) in enumerate(copies)]
        fs = [{**f, **({stamp: COPIES * gap} if stamp else {})} for _, f in copies]
        for copy in range(COPIES):
            pair = (ts[copy], fs[copy])
            match = pair if optional == 0 else pair[::-1]
            if not all(self._holds(atom, match) for atom in self.query.where):
                return False
            row = self._row(match)
            rest = [t for n, t in enumerate(ts) if n != copy]
            if self._answered(row, ts) or self._answered(row, [*rest, fs[copy]]):
                return False
        return True

    def _answered(self, row: tuple[object, ...], tuples: Sequence[_Tuple]) -> bool:
        return any(
            self._row(match) == row and all(self._holds(atom, match) for atom in self.query.where)
            for match in product(tuples, repeat=2)
        )

    def _row(self, match: Sequence[_Tuple]) -> tuple[object, ...]:
        return tuple(
            self._value(o.term, match) if isinstance(o.term, Attribute) else None for o in self.query.select
        )

    def _value(self, attribute: Attribute, match: Sequence[_Tuple]) -> int:
        return match[self.aliases.index(attribute.occurrence)][attribute.column]

    def _holds(self, atom: Atom, match: Sequence[_Tuple]) -> bool:
        space = self.facts.space
        if isinstance(atom, Join):
            left, right = (self._value(a, match) for a in atom.attributes)
            return atom.op.holds(left, right + atom.offset)
        if isinstance(atom, (Filter, Membership)):
            family = space.family(atom.attribute)
            value = self._value(atom.attribute, match)
            constants = [atom.constant] if isinstance(atom, Filter) else atom.values
            op = atom.op if isinstance(atom, Filter) else Op.EQ
            scale = 1 if self.query.is_timestamp(atom.attribute) else _SCALE
            points = (space.embed(family, c.value) * scale for c in constants if c.value is not None)
            return any(op.holds(value, number) for number in points)
        return False


def _within(atom: Atom, columns: list[str]) -> bool:
    return bool(atom.attributes) and all(a.column in columns for a in atom.attributes)


def _tuples(courses: Mapping[_Coordinate, _Course], copy: int) -> tuple[dict[str, int], dict[str, int]]:
    t, f = (
        {column: course[copy] for (role, column), course in courses.items() if role == which}
        for which in "tf"
    )
    return t, f


def _orders(number: int) -> Iterator[tuple[int, ...]]:
    """The ways to put things in order, some at one level: levels from 0, none left out."""
    if not number:
        yield ()
        return
    for levels in _orders(number - 1):
        above = max(levels, default=-1) + 1
        # The last one is at a level of others, or at one of its own, below or above or between theirs.
        yield from ((*levels, level) for level in range(above))
        yield from ((*(n + (n >= own) for n in levels), own) for own in range(above + 1))


def _course(zone: tuple[int, int], level: int, band: int, way: int) -> _Course:
    """The value of each copy, for a level of a band that stands, rises or falls."""
    low, high = zone
    size = (high - low) // _SCALE
    start = low + (200 * band + 100) * size
    return tuple(start + way * copy * 20 * size + level * size for copy in range(COPIES))
