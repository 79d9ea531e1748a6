"""How much of the rows of nodes there is: values of columns, rows of some time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import prod

from streambound.errors import PlanError
from streambound.plan.flow import (
    Applied,
    Computed,
    Grouped,
    Guarded,
    Hopped,
    Joined,
    Leaf,
    LookedUp,
    Node,
    Range,
    Size,
    Sum,
    TimeFiltered,
    Times,
    together,
)
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.facts import Facts, facts_of
from streambound.plan.tables.keys import exact_key
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Column, Constant, Query


@dataclass(frozen=True)
class Values:
    """The values of a column: within what, how many at most (None: no such number), and their step."""

    range: Range = field(default_factory=Range)
    count: int | None = None
    resolution: Fraction | None = None

    def between(self, low: Value, high: Value) -> int | None:
        """How many of them lie between two numbers; None if there is no such number."""
        if self.resolution is None or isinstance(low, str) or isinstance(high, str):
            return None
        return max(0, int((Fraction(high) - Fraction(low)) / self.resolution) + 1)

    @property
    def listed(self) -> int | None:
        """How many there are at most, NULL among them, told by what they are within alone."""
        if self.range.values is not None:
            return len(self.range.values) + 1
        if self.range.low is None or self.range.high is None:
            return None
        between = self.between(self.range.low, self.range.high)
        return None if between is None else between + 1

    def or_(self, right: Values) -> Values:
        """The values of either column."""
        counts = (self.count, right.count)
        count = None if None in counts else sum(c or 0 for c in counts)
        # One that is never more than NULL says nothing of the other.
        for left, rest in ((self, right), (right, self)):
            if left.range.values == frozenset():
                return replace(rest, count=count)
        lows, highs = (self.range.low, right.range.low), (self.range.high, right.range.high)
        lists = (self.range.values, right.range.values)
        low = None if None in lows else min(lows)  # type: ignore[type-var]
        high = None if None in highs else max(highs)  # type: ignore[type-var]
        listed = None if lists[0] is None or lists[1] is None else lists[0] | lists[1]
        resolutions = (self.resolution, right.resolution)
        return Values(Range(low, high, listed), count, None if None in resolutions else min(resolutions))  # type: ignore[type-var]


def columns_of(node: Node) -> list[Values]:
    """The values of the columns of a node, by their positions; of most operations nothing is known."""
    if isinstance(node, Applied) and isinstance(node.operation, LookedUp):
        rows, tuples = map(columns_of, node.inputs)
        kept = [replace(v, count=None if v.count is None else v.count + 1) for v in tuples]
        return [[*rows, *(kept[p] for p in node.operation.kept)][p] for p in node.operation.shown]
    if not isinstance(node, Leaf):
        return [Values()] * len(node.outputs)
    parts = [part.query for part in node.parts if not part.plan.empty]
    return values_of(parts, range(len(node.outputs)))


def values_of(queries: Iterable[Query], positions: Iterable[int]) -> list[Values]:
    """The values of some outputs in any of several queries."""
    kept = list(positions)
    facts = [(query, own) for query in queries if (own := facts_of(query, {})) is not None]
    if not facts:
        return [Values(Range(values=frozenset()), 0)] * len(kept)
    every = [[_of_term(own_facts, query, query.select[p].term) for p in kept] for query, own_facts in facts]
    return [reduce(Values.or_, column) for column in zip(*every, strict=True)] if kept else []


def _of_term(facts: Facts, query: Query, term: Attribute | Constant) -> Values:
    if isinstance(term, Constant):
        listed = frozenset[Value]() if term.value is None else frozenset((term.value,))
        return Values(Range(values=listed), 1, term.type.resolution)
    space, closure = facts.facts.space, facts.alone
    family = space.family(term)
    ends = (closure.lower(term), closure.upper(term))
    low, high = (None if end is None else space.value(family, end[0]) for end in ends)
    listed_values = facts.finite_values(term, closure)
    key = exact_key(facts, closure, term)
    listed_set = None if listed_values is None else frozenset(listed_values)
    return Values(
        Range(low, high, listed_set), None if key is None else key.size, query.type_of(term).resolution
    )


def nothing(node: Node) -> bool:
    """Whether a node never has a row."""
    if isinstance(node, Leaf):
        return all(part.plan.empty for part in node.parts)
    if isinstance(node, Applied) and not isinstance(node.operation, Grouped):
        return nothing(node.inputs[0])
    return isinstance(node, Sum) and all(map(nothing, node.inputs))


def rows_within(node: Node, length: int) -> Size:
    """How many rows of a node have times in the last ``length`` (encoded), the end included.

    Raises:
        PlanError: any number of rows finds the same next tuple.
    """
    if length < 0:
        return Size(0)
    if isinstance(node, Sum):
        return together(rows_within(child, length) for child in node.inputs)
    if isinstance(node, Applied):
        if isinstance(node.operation, LookedUp) and node.operation.ahead:
            raise PlanError("no plan was found: any number of rows finds the same next one", subject="query")
        rows = rows_within(node.inputs[0], length)
        return (
            rows
            if not isinstance(node.operation, LookedUp)
            else each_of(rows, rows_within(node.inputs[1], 0))
        )
    return together(_of_part(part.query, length) for part in node.parts if not part.plan.empty)


def each_of(rows: Size, tuples: Size) -> Size:
    """The number of tuples times that of rows; at least one for each row."""
    if rows.number is None or tuples.number is None:
        return Size(None, " x ".join(f"({size.formula or size.number})" for size in (rows, tuples)))
    return Size(rows.number * max(1, tuples.number))


def _of_part(query: Query, length: int) -> Size:
    streams = query.arriving
    ticks = [length // o.relation.tick + 1 for o in streams]
    if len(streams) != 1:
        names = " and ".join(o.relation.name for o in streams)
        within = streams[0].relation.within(max(ticks)) if streams else "at a timestamp"
        return Size(None, f"joined rows of {names} {within}")
    (stream,) = streams
    if (most := stream.relation.most(ticks[0])) is not None:
        return Size(most)
    return Size(None, f"rows of {stream.relation.name} {stream.relation.within(ticks[0])}")


def groups(node: Node, times: Times, positions: Iterable[int]) -> Size:
    """How many different values some positions of the rows of a node have that may still come.

    Raises:
        PlanError: a column has neither finitely many values nor an end.
    """
    kept = tuple(positions)
    if not kept:
        return Size(1)
    if isinstance(node, Sum):
        return together(groups(child, times, kept) for child in node.inputs)
    if isinstance(node, Applied):
        return _of_operation(node, times, kept)
    if node.fed:
        with suppress(PlanError):
            return together(_of_plan(part, Times(), kept) for part in node.parts)
        return _of_fed(node, times, kept)
    return together(_of_plan(part, times, kept) for part in node.parts)


def _of_operation(node: Applied, times: Times, positions: tuple[int, ...]) -> Size:
    if isinstance(node.operation, Guarded):
        indices = {p: position for p, position in enumerate(node.operation.shown) if p in positions}
        return groups(node.inputs[0], times.among(indices), indices.values())
    if isinstance(node.operation, Joined):
        return _of_sides(node.inputs, node.operation, times, positions)
    if isinstance(node.operation, Hopped):
        return groups(node.inputs[0], times, positions)
    if isinstance(node.operation, Computed):
        return _of_computed(node.operation, node.inputs[0], times, positions)
    if isinstance(node.operation, TimeFiltered):
        try:
            return groups(node.inputs[0], times, positions)
        except PlanError:
            if node.standing is None:
                raise
            # There are no more of them than rows that have not left.
            return node.standing
    lasting = [p for p in positions if p in node.times.every and p in times.every]
    if isinstance(node.operation, LookedUp):
        shown, width = node.operation.shown, len(node.inputs[0].outputs)
        if all(shown[p] < width for p in positions):
            return groups(
                node.inputs[0], times.among({p: shown[p] for p in positions}), [shown[p] for p in positions]
            )
        mine = {p: shown[p] for p in positions if shown[p] < width}
        looked_up = [columns_of(node)[p].listed for p in positions if p not in mine]
        if not lasting and None not in looked_up:
            number = prod(count or 0 for count in looked_up)
            return groups(node.inputs[0], times.among(mine), mine.values()).times(number)
        if lasting:
            # What was looked up may be anything: a group for each row.
            length = min(sum(times.every[p]) + times.delay for p in lasting)
            return rows_within(node, length)
    if node.standing is None or (node.times and not lasting):
        raise PlanError("what is grouped again has neither finitely many values nor an end", subject="query")
    if not lasting:
        return node.standing
    # In a longer time there are so many more of them.
    own, asked = (min(sum(t.every[p]) + t.delay + 1 for p in lasting) for t in (node.times, times))
    return node.standing.times(max(1, -(-asked // own)))


def _of_computed(operation: Computed, node: Node, times: Times, positions: tuple[int, ...]) -> Size:
    """As many values as columns have together that they are computed of."""
    if not operation.shown:
        return groups(node, times, positions)
    read = {p: operation.shown[p].outputs for p in positions}
    own = times.among({p: indices[0] for p, indices in read.items() if p in times.every})
    return groups(node, own, dict.fromkeys(position for indices in read.values() for position in indices))


def _of_sides(inputs: Sequence[Node], operation: Joined, times: Times, positions: tuple[int, ...]) -> Size:
    """Different values of a join: those of each side that shows any, with each of the others."""
    number = Size(1)
    for side, below in zip(operation.sides, inputs, strict=True):
        at = {a: n for n, a in enumerate(side.columns)}
        terms = {p: term for p in positions if isinstance(term := operation.shown[p], Attribute)}
        indices = {p: at[term] for p, term in terms.items() if term in at}
        if indices:
            number = each_of(number, groups(below, times.among(indices), dict.fromkeys(indices.values())))
    return number


def _of_fed(node: Leaf, times: Times, positions: tuple[int, ...]) -> Size:
    inner = dict(node.fed)

    def reads(query: Query) -> bool:
        return any(o.relation.name in inner for o in query.occurrences)

    sizes = [_of_plan(part, times, positions) for part in node.parts if not reads(part.query)]
    for base in (selection.base for selection in node.statement.selections if reads(selection.base)):
        terms = {p: t for p in positions if isinstance(t := base.select[p].term, Attribute)}
        if all(p in times.every and base.column(t).bucket for p, t in terms.items()):
            # Both edges of a window are one time.
            buckets = {(base.moment(t), times.every[p]): base.column(t) for p, t in terms.items()}
            number = prod(
                (sum(span) + times.delay) // _shortest(column) + 1 for (_, span), column in buckets.items()
            )
            sizes.append(Size(number))
            continue
        # A bucket of a time has no more values than that.
        stamps = {p: m[0] if (m := base.moment(t)) is not None else t for p, t in terms.items()}
        sizes.append(_of_sub_query(base, inner, stamps, times))
    return together(sizes)


def _of_sub_query(
    base: Query, inner: Mapping[str, Node], stamps: Mapping[int, Attribute], times: Times
) -> Size:
    """How many values columns of a sub-query's rows have: what is computed no more than what it is of."""
    owners = {stamp.occurrence for stamp in stamps.values()}
    if not owners:
        return Size(1)
    relation = base.occurrence(min(owners)).relation
    if len(owners) > 1 or relation.name not in inner:
        message = "no plan was found: groups over columns of several sub-queries have no size"
        raise PlanError(message, subject=base.name)
    own = [column.name for column in relation.own]
    positions = {p: own.index(t.column) for p, t in stamps.items() if t.column in own}
    bases = (name for t in stamps.values() for name in relation.column(t.column).of)
    kept = dict.fromkeys((*positions.values(), *map(own.index, bases)))
    return groups(inner[relation.name], times.among(positions), kept)


def _shortest(column: Column) -> int:
    """The least length of an interval of a bucket: a month may be shorter than another, but not by half."""
    length = column.bucket or 1
    return column.slide or (-(-length // 2) if column.edge in ("floor", "digits") else length)


def _of_plan(part: PlannedPart, times: Times, positions: tuple[int, ...]) -> Size:
    plan = part.plan
    if plan.ending is not None:
        raise PlanError("groups over streams that end cannot be evaluated yet", subject=part.query.name)
    if plan.empty:
        return Size(0)
    query = plan.query
    facts = facts_of(query, {})
    if facts is None:
        return Size(0)
    number, recent, statics, each_in = 1, dict[str, int](), dict[str, None](), 1
    terms = [(p, query.select[p].term) for p in positions]
    attributes = [(p, term) for p, term in terms if isinstance(term, Attribute)]
    lasting = [(p, term) for p, term in attributes if p in times.every]
    open_for = min((sum(times.every[p]) + times.delay for p, _ in lasting), default=0)
    for position, term in attributes:
        if position in times.every:
            continue
        if (key := exact_key(facts, facts.alone, term)) is not None:
            number *= key.size
        elif lasting and plan.clock.completes(term.occurrence):
            recent[term.occurrence] = open_for
        elif query.is_static(term):
            statics[term.occurrence] = None
        else:
            raise PlanError(f"no plan was found: {term} has no finite number of values", subject=query.name)
    counted = set[tuple[str, int, int | None]]()
    for position, term in lasting:
        before, after = times.every[position]
        slide = query.column(term).slide
        # Both edges of a window are one time.
        if (window := (term.occurrence, before + after, slide)) in counted:
            continue
        counted.add(window)
        # Each row is in so many windows.
        of_each = 1 if slide is None else -(-(before + after + 1) // slide)
        if term.occurrence in recent:
            number *= of_each
            continue
        each_in *= of_each
        length = before + after + 1 if before + after else query.occurrence(term.occurrence).relation.tick
        # A month may be shorter than another, but not by half.
        resolution = slide or (-(-length // 2) if query.column(term).edge in ("floor", "digits") else length)
        number *= (before + after + times.delay) // resolution + 1
    if recent or statics:
        return _of_rows(query, number, recent, statics)
    if lasting and len(query.occurrences) == 1:
        # There are no more of them than rows whose time is not over.
        rows = _of_rows(query, each_in, {query.occurrences[0].alias: open_for})
        return Size(number if rows.number is None else min(number, rows.number))
    return Size(number)


def _of_rows(query: Query, number: int, recent: Mapping[str, int], statics: Iterable[str] = ()) -> Size:
    """So many for each row of some streams in the last time, and of some static relations."""
    bounds: list[int] = []
    formula = [str(number)] if number > 1 else []
    for alias, length in recent.items():
        relation = query.occurrence(alias).relation
        ticks = length // relation.tick + 1
        if (most := relation.most(ticks)) is not None:
            bounds.append(most)
        else:
            formula.append(f"rows of {relation.name} {relation.within(ticks)}")
    formula += [f"(rows of {query.occurrence(alias).relation.name} + 1)" for alias in statics]
    if len(bounds) == len(recent) and not statics:
        return Size(number * prod(bounds))
    return Size(None, " x ".join([*(str(b) for b in bounds), *formula]))
