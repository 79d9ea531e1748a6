"""The one join: partial matches of disjoint sets of streams make matches of their union.

What represents several tuples is joined like a tuple: the query's own comparisons between streams, evaluated
on tiny tables, give the answer (Schiff & Özçep: Q(t) = Q(Syn(t))).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import isfinite
from typing import Any

from streambound.errors import DataError
from streambound.plan.exclusions import TableCell
from streambound.plan.model import Pair
from streambound.query.model import Attribute, Join, Op, Query
from streambound.query.ring import Ring, Weight
from streambound.state.table import ANY, Bucket, Table, Values, op_between, passes

Row = tuple[Any, ...]


@dataclass(slots=True)
class PartialMatch:
    """A partial match, or what represents several: values by column, timestamps by stream; never changed.

    A timestamp that is missing is so old that every condition still to be asked holds. ``cell`` is the
    number of the cell that it represents.
    """

    values: Values
    stamps: Mapping[str, int]
    weight: Weight = 1
    cell: int | None = None

    def towards(self, pair: Pair) -> Any:
        """The value of a column to compare with one of another stream."""
        local, op, _ = pair
        value = self.values.get(pair)
        if value is None and op is Op.NE:
            value = self.values.get((local, op))
        return self.values.get(local, ANY) if value is None else value


class PartialMatches:
    """Partial matches of one set of streams, in groups that change one at a time.

    Indexes by the values of columns are made when first asked for, and kept up to date.
    """

    def __init__(self, partial_matches: Iterable[PartialMatch] = ()) -> None:
        self._groups: dict[Hashable, list[PartialMatch]] = {}
        self._indexes: dict[tuple[Attribute, ...], dict[Row, dict[Hashable, list[PartialMatch]]]] = {}
        self._size = 0
        self._merged: _Merged | None = None
        if first := list(partial_matches):
            self.put(None, first)

    def put(self, group: Hashable, partial_matches: list[PartialMatch]) -> None:
        """Replace the matches of a group."""
        old = self._groups.pop(group, [])
        for columns, index in self._indexes.items():
            for values in {_values(match, columns) for match in old}:
                del index[values][group]
                # Values come and go, and what is kept must not grow with them.
                if not index[values]:
                    del index[values]
            _index(index, columns, group, partial_matches)
        if partial_matches:
            self._groups[group] = partial_matches
        self._size += len(partial_matches) - len(old)
        if self._merged is not None:
            self._merged.add(partial_matches, 1)
            self._merged.add(old, -1)

    @property
    def groups(self) -> dict[Any, list[PartialMatch]]:
        """The matches by group, without empty ones."""
        return self._groups

    def before(self, end: Any) -> PartialMatches:
        """The matches of groups below ``end``."""
        return PartialMatches(
            m for group, partial_matches in self._groups.items() if group < end for m in partial_matches
        )

    def merged(self) -> PartialMatches:
        """The matches without timestamps, equal ones merged into one of all their weight; kept up to date."""
        if self._merged is None:
            self._merged = _Merged()
            self._merged.add(self, 1)
        return self._merged.partial_matches

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[PartialMatch]:
        return chain.from_iterable(self._groups.values())

    def having(self, columns: tuple[Attribute, ...], values: Row) -> Iterator[PartialMatch]:
        """The matches with certain values."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = {}
            for group, partial_matches in self._groups.items():
                _index(index, columns, group, partial_matches)
        return chain.from_iterable(index.get(values, {}).values())


class _Merged:
    """Weights by values, and a match for each."""

    def __init__(self) -> None:
        self.partial_matches = PartialMatches()
        self.columns: tuple[Attribute, ...] | None = None
        self.weights: dict[Row, Weight] = {}

    def add(self, changed: Iterable[PartialMatch], sign: int) -> None:
        for match in changed:
            self.columns = self.columns or tuple(match.values)
            row = _values(match, self.columns)
            weight = self.weights.get(row, 0) + sign * match.weight
            if weight:
                self.weights[row] = weight
                self.partial_matches.put(row, [PartialMatch(match.values, {}, weight)])
            else:
                self.weights.pop(row, None)
                self.partial_matches.put(row, [])


def _index(
    index: dict[Row, dict[Hashable, list[PartialMatch]]],
    columns: tuple[Attribute, ...],
    group: Hashable,
    partial_matches: list[PartialMatch],
) -> None:
    for match in partial_matches:
        index.setdefault(_values(match, columns), {}).setdefault(group, []).append(match)


def _values(match: PartialMatch, columns: tuple[Attribute, ...]) -> Row:
    return tuple(match.values[column] for column in columns)


@dataclass(frozen=True)
class Both:
    """Matches of before and new ones as a source, without making the indexes of the former again."""

    older: PartialMatches
    new: PartialMatches

    def __len__(self) -> int:
        return len(self.older) + len(self.new)

    def __iter__(self) -> Iterator[PartialMatch]:
        return chain(self.older, self.new)

    def having(self, columns: tuple[Attribute, ...], values: Row) -> Iterator[PartialMatch]:
        """The matches with certain values."""
        return chain(self.older.having(columns, values), self.new.having(columns, values))


# The streams that some partial matches are of, and those matches.
Source = tuple[frozenset[str], PartialMatches | Both]
# The match that each stream's tuple is part of.
Owners = dict[str, PartialMatch]


def with_new(
    new: Mapping[frozenset[str], PartialMatches], older: Mapping[frozenset[str], PartialMatches]
) -> Iterator[list[Source]]:
    """Sources whose joins are the combinations with a new match of some part, each once.

    ``new`` and ``older`` have the same parts; the first part that is new tells combinations apart.
    """
    parts = list(new)
    for position, first in enumerate(parts):
        if new[first]:
            sources: list[Source] = [(first, new[first])]
            sources += [(part, older[part]) for part in parts[:position]]
            sources += [(part, Both(older[part], new[part])) for part in parts[position + 1 :]]
            yield sources


def representatives(table: Table, buckets: Iterable[Bucket]) -> PartialMatches:
    """What stands for the entries of some buckets of a table without timestamps."""
    stamps: dict[str, int] = {}
    representatives = (
        (bucket, representative) for bucket in buckets for representative in table.representatives(bucket)
    )
    return PartialMatches(
        PartialMatch(values, stamps, weight, bucket[0]) for bucket, (values, weight) in representatives
    )


def static_sources(query: Query, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Source]:
    """The rows of static relations that pass their own conditions, as sources."""
    sources: list[Source] = []
    for occurrence in query.statics:
        alias = occurrence.alias
        own = [a for a in query.where if {x.occurrence for x in a.attributes} == {alias}]
        required = {x.column for x in (*query.present, *query.weight) if x.occurrence == alias}
        partial_matches = (
            PartialMatch(
                {Attribute(alias, column): value for column, value in row.items()},
                {},
                weight_of(row[a.column] for a in query.weighing(alias)),
            )
            for row in rows.get(occurrence.relation.name, ())
            if all(row[c] is not None for c in required) and passes(own, row)
        )
        sources.append((frozenset((alias,)), PartialMatches(partial_matches)))
    return sources


def weight_of(factors: Iterable[Any]) -> Weight:
    """The product of numbers, exact: a double is the fraction that it is.

    Raises:
        DataError: one is NaN or infinite.
    """
    product: Any = 1
    for factor in factors:
        if type(factor) is not int and not isinstance(factor, Fraction):
            if not isinstance(factor, float) or not isfinite(factor):
                raise DataError(
                    f"a sum over a join meets {factor}",
                    accepted="finite numbers",
                    fix="leave out such rows in WHERE, or exclude the partition",
                )
            factor = Fraction(factor)
        product *= factor
    weight: Weight = product if type(product) is int or product.denominator > 1 else product.numerator
    return weight


def project(query: Query, owners: Owners) -> Row:
    """The answer row of a match of all streams."""
    return tuple(
        owners[o.term.occurrence].values[o.term] if isinstance(o.term, Attribute) else o.term.value
        for o in query.select
    )


@dataclass(frozen=True)
class RowJoin:
    """The conditions between streams: of columns, and of timestamps, and cells that are never joined."""

    ring: Ring
    joins: tuple[Join, ...]
    times: tuple[Join, ...] = ()
    excluded: frozenset[tuple[TableCell, TableCell]] = frozenset()
    _conditions: dict[tuple[frozenset[str], frozenset[str]], _Conditions] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def between(self, streams: frozenset[str], bound: frozenset[str]) -> _Conditions:
        """The conditions between streams and those chosen before."""
        conditions = self._conditions.get((streams, bound))
        if conditions is None:
            conditions = self._conditions[streams, bound] = _Conditions(self, streams, bound)
        return conditions

    def owners(self, sources: Iterable[Source]) -> Iterator[tuple[Owners, Weight]]:
        """Every combination that meets the conditions, with its weight; changed for the next."""
        ordered = sorted(sources, key=lambda source: len(source[1]))
        if ordered and ordered[0][1]:
            join_steps, bound = [], frozenset[str]()
            for streams, partial_matches in ordered:
                join_steps.append(_JoinStep(self.between(streams, bound), partial_matches))
                bound |= streams
            yield from self._extend(join_steps, 0, {}, self.ring.one)

    def _extend(
        self, join_steps: list[_JoinStep], depth: int, owners: Owners, weight: Weight
    ) -> Iterator[tuple[Owners, Weight]]:
        if depth == len(join_steps):
            yield owners, weight
            return
        step = join_steps[depth]
        for match in step.candidates(owners):
            # What deeper steps have chosen is not looked at before they choose again.
            for alias in step.conditions.streams:
                owners[alias] = match
            yield from self._extend(join_steps, depth + 1, owners, self.ring.multiply(weight, match.weight))

    def rows(self, query: Query, sources: Iterable[Source], rows: dict[Row, Weight]) -> None:
        """Add the answer rows of every combination, with their weights."""
        for owners, weight in self.owners(sources):
            self.ring.put(rows, project(query, owners), weight)

    def exists(self, query: Query, sources: Iterable[Source], row: Row) -> bool:
        """Whether an answer row follows from the sources."""
        demanded: dict[Attribute, Any] = {}
        for output, value in zip(query.select, row, strict=True):
            term = output.term
            if value != (demanded.setdefault(term, value) if isinstance(term, Attribute) else term.value):
                return False
        narrowed: list[Source] = []
        for streams, partial_matches in sources:
            columns = tuple(a for a in demanded if a.occurrence in streams)
            if columns:
                partial_matches = PartialMatches(
                    partial_matches.having(columns, tuple(demanded[a] for a in columns))
                )
            narrowed.append((streams, partial_matches))
        return next(self.owners(narrowed), None) is not None

    def joined(self, sources: Iterable[Source]) -> Iterator[PartialMatch]:
        """Every combination as one match."""
        for owners, weight in self.owners(sources):
            values: Values = {}
            stamps: dict[str, int] = {}
            for match in {id(m): m for m in owners.values()}.values():
                values.update(match.values)
                stamps.update(match.stamps)
            yield PartialMatch(values, stamps, weight)


class _Conditions:
    """What is asked of the matches of some streams, given those of the streams ``bound`` before."""

    def __init__(self, join: RowJoin, streams: frozenset[str], bound: frozenset[str]) -> None:
        self.streams, self.bound = streams, bound
        pairs = [pair for atom in join.joins for pair in _oriented(atom, streams, bound)]
        self.columns = tuple(local for local, op, _ in pairs if op is Op.EQ)
        self.partners = [attribute for _, op, attribute in pairs if op is Op.EQ]
        self.rest = [(pair, (pair[2], pair[1].mirrored, pair[0])) for pair in pairs if pair[1] is not Op.EQ]
        self.excluded = join.excluded
        self.times = [atom for atom in join.times if any(_oriented(atom, streams, bound))]


@dataclass(frozen=True)
class _JoinStep:
    """One source in the join order: its matches that agree with those chosen before."""

    conditions: _Conditions
    partial_matches: PartialMatches | Both

    def candidates(self, owners: Owners) -> Iterator[PartialMatch]:
        """The matches that agree; equated columns are always faithful."""
        asked, candidates = self.conditions, iter(self.partial_matches)
        if asked.columns:
            values = tuple(owners[attribute.occurrence].values[attribute] for attribute in asked.partners)
            candidates = self.partial_matches.having(asked.columns, values)
        for match in candidates:
            if self._joinable(match, owners) and all(
                op_between(pair[1], match.towards(pair), owners[pair[2].occurrence].towards(back))
                for pair, back in asked.rest
            ):
                yield match

    def _joinable(self, match: PartialMatch, owners: Owners) -> bool:
        """Whether cells and timestamps allow it."""
        streams, excluded = self.conditions.streams, self.conditions.excluded
        if excluded and any(
            ((alias, match.cell), (bound, owners[bound].cell)) in excluded
            for alias in streams
            for bound in self.conditions.bound
        ):
            return False
        if not match.stamps:
            return True
        for atom in self.conditions.times:
            left, right = (
                (match if alias in streams else owners[alias]).stamps.get(alias)
                for alias in (atom.left.occurrence, atom.right.occurrence)
            )
            if left is not None and right is not None and not atom.op.holds(left, right + atom.offset):
                return False
        return True


def _oriented(atom: Join, streams: frozenset[str], bound: frozenset[str]) -> Iterator[Pair]:
    left, right = atom.left, atom.right
    if left.occurrence in streams and right.occurrence in bound:
        yield left, atom.op, right
    elif right.occurrence in streams and left.occurrence in bound:
        yield right, atom.op.mirrored, left
