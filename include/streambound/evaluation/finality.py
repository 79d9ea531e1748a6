"""Mode *final*, by its definition: a row is told once, at the first marker from which nothing takes it back.

At a marker every tuple up to its time is there, and any may come later. A row that holds is *settled* if it
holds whatever comes. Joins and filters are settled at once. A row that must have no partner is, as soon as no
partner can be completed: every choice of tuples that are there, with others that may come, is tried; rows of
a sub-query may come, or go, until their own time is over. A group
is settled when no row comes into it any more: where its keys bound a timestamp, when that and what may lie
between it and the timestamps of other tuples of a row has passed. A rank is settled when no row comes before
it, a frame when no row comes into it. What no time bounds is never settled, and never told.

Where this asks less than the definition, a row is told late or not at all, never too early: what is computed
of a tuple that may come is taken for any value, an aggregate at the end of its domain is not looked at, and
of an outer join the row without a partner is told only when none comes, whatever is shown of partners.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias

from streambound.evaluation.definition import (
    ARRIVAL,
    Combination,
    columns_read,
    derived,
    done,
    matched,
    true_of,
    tuples,
)
from streambound.evaluation.definition_groups import groups, groups_of, moment_of
from streambound.evaluation.definition_orders import (
    in_order,
    is_kept,
    partitions,
    rank_of,
    ranked,
    with_functions_each,
    with_keys,
)
from streambound.evaluation.definition_rows import Row, computed
from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.query.clock import CLOCK
from streambound.query.column_types import Family
from streambound.query.formula import AllOf, AnyOf, Formula, all_of, holds
from streambound.query.model import (
    Atom,
    Attribute,
    Column,
    Constant,
    Filter,
    Join,
    Membership,
    Never,
    Occurrence,
    Op,
    Query,
    Relation,
    RelationKind,
    Term,
)
from streambound.query.operators import Frame, Grouping, Over, Ranking, WindowCalls
from streambound.query.statement import Block, Guard, Selection, Statement
from streambound.query.windows import END

Relations: TypeAlias = Mapping[str, Sequence[Encoded]]
Flagged: TypeAlias = list[tuple[Row, bool]]
_DAY = 86_400_000_000


def finals(
    query: Statement, batches: Iterable[Batch], static: Mapping[str, list[Encoded]]
) -> Iterator[list[Answer]]:
    """The rows that are settled at each marker and were not before."""
    seen: dict[str, list[Encoded]] = {relation.name: [] for relation in query.scanned}
    seen.update(derived(query, static))
    counter: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        for name, arrived in derived(query, batch.tuples).items():
            seen[name].extend({**row, ARRIVAL: batch.moment} for row in arrived)
        seen[CLOCK.name] = [{"time": batch.moment}]
        settled = Counter(row.values for row, sure in _answer(query, seen, batch.moment) if sure)
        yield answers(query, batch.marker, settled - counter)
        counter |= settled


def _answer(query: Statement, seen: Relations, now: int) -> Flagged:
    """The rows of the answer, each with whether it is settled."""
    if _ends(query):
        # Time alone takes rows back.
        return [(row, False) for block in query.blocks for row in done(block, _rows(block, seen))]
    return [pair for block in query.blocks for pair in _block(block, seen, now)]


def _ends(query: Statement) -> bool:
    """Whether a condition on the present time ends, here or in a sub-query."""
    return any(_ends(o.relation.fed) for o in query.occurrences if o.relation.fed is not None) or any(
        isinstance(atom, Join)
        and CLOCK.name in (atom.left.occurrence, atom.right.occurrence)
        and atom.op in ((Op.LT, Op.LE) if atom.left.occurrence == CLOCK.name else (Op.GT, Op.GE))
        for selection in query.selections
        for atom in selection.atoms
    )


def _rows(block: Block, seen: Relations) -> list[Row]:
    return [row for selection in block.selections for _, row in matched(selection, seen, _all)]


def _all(query: Statement, seen: Relations) -> Iterable[Row]:
    return (row for block in query.blocks for row in done(block, _rows(block, seen)))


def _block(block: Block, seen: Relations, now: int) -> Flagged:
    rows = [pair for selection in block.selections for pair in _selection(selection, seen, now)]
    then = block.then
    if block.ring.idempotent:
        rows = list(
            {row.values: (row, sure) for row, sure in sorted(rows, key=lambda pair: pair[1])}.values()
        )
    if then is None:
        return rows
    sure = {id(row): settled for row, settled in rows}
    every, types = [row for row, _ in rows], [kind for _, kind in block.selections[0].base.outputs]
    flagged: Flagged = []
    if isinstance(then, Grouping):
        for group in groups_of(then, every, types):
            settled = _closed_group(block, then, group, now) and all(sure[id(row)] for row in group)
            # Of a group that only shows that it is there one row is enough.
            there = bool(then.keys) and not then.aggregates and any(sure[id(row)] for row in group)
            settled = settled or there
            flagged += [(row, settled) for row in groups(then, group, types)]
        return flagged
    then, wider, types = with_keys(then, every, types)
    sure = {id(row): sure[id(own)] for row, own in zip(wider, every, strict=True)}
    every = wider
    if isinstance(then, Ranking):
        for part in partitions(every, then.partition):
            flagged += _ranks(block, then, part, now, sure, types)
        return flagged
    settled_each = _settled_functions(block, then, every, now, sure)
    pairs = zip(with_functions_each(then, every, types), settled_each, strict=True)
    return [(row, settled) for row, settled in pairs if row is not None]


# One SELECT.


def _selection(selection: Selection, seen: Relations, now: int) -> Flagged:
    """The rows of a SELECT with whether each is settled."""
    sought = {as_of.alias: as_of for as_of in selection.as_of}
    joined = [o for o in selection.base.occurrences if o.alias not in sought]
    settled = {o.alias: _settled_rows(selection, o, seen, now) for o in joined if o.relation.fed is not None}
    guarding = [o for guard in selection.guards for o in guard.base.occurrences]
    unsettled = any(o.relation.kind is RelationKind.VERSIONED for o in (*joined, *guarding)) or any(
        o.relation.fed is not None for o in selection.base.occurrences if o.alias in sought
    )

    def sure(match: Combination) -> bool:
        # Of later tuples an as-of join finds the first, which may still come.
        if unsettled or any(not match[a] and as_of.op in (Op.LT, Op.LE) for a, as_of in sought.items()):
            return False
        return all(
            not _may_match(selection, guard, match, seen, now)
            if guard.negated
            else _stays_matched(selection, guard, match, seen, now)
            for guard in selection.guards
        )

    matched_rows = [
        (match, row, tuple(map(_own, match.values()))) for match, row in matched(selection, seen, _all)
    ]
    number, equal = Counter(key for _, _, key in matched_rows), Counter[Any]()
    flagged = []
    for match, row, key in matched_rows:
        equal[key] += 1
        fraction = prod(fractions[_own(match[alias])] for alias, fractions in settled.items())
        flagged.append((row, equal[key] <= number[key] * fraction and sure(match)))
    return flagged


def _own(row: Encoded) -> frozenset[tuple[str, Any]]:
    return frozenset((name, value) for name, value in row.items() if name != ARRIVAL)


def _settled_rows(
    selection: Selection, occurrence: Occurrence, seen: Relations, now: int
) -> dict[frozenset[tuple[str, Any]], Fraction]:
    """Of each row of a sub-query the share of those that equal it which is settled."""
    assert occurrence.relation.fed is not None
    number, sure = Counter[Any](), Counter[Any]()
    for row, settled in _answer(occurrence.relation.fed, seen, now):
        number[row.values] += 1
        sure[row.values] += settled
    names = [column.name for column in occurrence.relation.own]
    flagged = {}
    for made in tuples(occurrence, seen, columns_read(selection), _all):
        key = tuple(made[name] for name in names)
        flagged[_own(made)] = Fraction(sure[key], number[key])
    return flagged


# Partners that may still come, or go.


def _stays_matched(selection: Selection, guard: Guard, match: Combination, seen: Relations, now: int) -> bool:
    """Whether a row that must have a partner has one that nothing takes back."""
    if all(o.relation.fed is None for o in guard.base.occurrences):
        return True
    read, there = columns_read(selection), []
    for o in guard.base.occurrences:
        rows = tuples(o, seen, read, _all)
        if o.relation.fed is not None:
            fractions = _settled_rows(selection, o, seen, now)
            rows = [row for row in rows if fractions[_own(row)]]
        there.append(rows)
    aliases = [o.alias for o in guard.base.occurrences]
    return any(
        holds(guard.formula, partial(true_of, {**match, **dict(zip(aliases, combination, strict=True))}))
        for combination in product(*there)
    )


def _may_match(selection: Selection, guard: Guard, match: Combination, seen: Relations, now: int) -> bool:
    """Whether a partner that a row must not have may still come."""
    occurrences = guard.base.occurrences
    coming = [o for o in occurrences if o.relation.kind is not RelationKind.STATIC]
    read = columns_read(selection)
    there = {o.alias: tuples(o, seen, read, _all) for o in occurrences}
    by_alias = {o.alias: o for o in (*selection.base.occurrences, *occurrences)}
    for number in range(1, 2 ** len(coming)):
        later = {o.alias for bit, o in enumerate(coming) if number >> bit & 1}
        fixed = [o.alias for o in occurrences if o.alias not in later]
        for combination in product(*(there[alias] for alias in fixed)):
            made = {**match, **dict(zip(fixed, combination, strict=True))}
            if any(
                _possible(branch, made, {alias: by_alias[alias] for alias in later}, now)
                for branch in _branches(guard.formula)
            ):
                return True
    return False


def _branches(formula: Formula) -> list[tuple[Atom, ...]]:
    """The conjunctions of which a formula is the disjunction."""
    if isinstance(formula, AllOf):
        parts = (_branches(part) for part in formula.parts)
        return [tuple(atom for branch in chosen for atom in branch) for chosen in product(*parts)]
    if isinstance(formula, AnyOf):
        return [branch for part in formula.parts for branch in _branches(part)]
    return [(formula,)]


def _possible(atoms: Sequence[Atom], match: Combination, later: Mapping[str, Occurrence], now: int) -> bool:
    """Whether tuples may come that make a conjunction true with those of a match; likely values are tried."""
    if any(isinstance(atom, Never) for atom in atoms):
        return False
    stamps = {
        alias: Attribute(alias, o.relation.timestamp) for alias, o in later.items() if o.relation.timestamp
    }
    read = [a for atom in atoms for a in atom.attributes if a.occurrence in later]
    # What is computed of a time alone follows from it.
    buckets = {a: column for a in read if (column := _bucket(later[a.occurrence].relation, a)) is not None}
    variables = dict.fromkeys(v for a in read for v in ((stamps[a.occurrence], a) if a in buckets else (a,)))
    columns = {a: later[a.occurrence].relation.column(a.column) for a in variables}
    # No row comes any more whose timestamp is at most this.
    over = {alias: now - _lateness(o.relation) if o.relation.fed else now for alias, o in later.items()}
    likely = _likely(atoms, match, columns, [int(moment) for moment in over.values() if moment > -math.inf])
    free = list(variables)
    made: dict[str, dict[str, Any]] = {alias: {} for alias in later}
    both = {**match, **made}

    def settle(number: int) -> bool:
        if number == len(free):
            return True
        attribute = free[number]
        bound = set(free[: number + 1])
        checked = [
            atom
            for atom in atoms
            if attribute in atom.attributes
            and all(a in bound or a.occurrence not in later for a in atom.attributes)
        ]
        values = likely[attribute]
        if attribute in buckets:
            bases = dict(made[attribute.occurrence])
            values = [
                row[attribute.column]
                for row in computed(later[attribute.occurrence].relation, [buckets[attribute]], [bases])
            ]
        for value in values:
            if attribute == stamps.get(attribute.occurrence) and (
                value is None or value <= over[attribute.occurrence]
            ):
                continue
            made[attribute.occurrence][attribute.column] = value
            if all(true_of(both, atom) for atom in checked) and settle(number + 1):
                return True
        return False

    rest = [atom for atom in atoms if not any(a.occurrence in later for a in atom.attributes)]
    return all(true_of(match, atom) for atom in rest) and settle(0)


def _bucket(relation: Relation, attribute: Attribute) -> Column | None:
    """The column of an attribute that is a bucket of the timestamp; None of others."""
    column = relation.column(attribute.column)
    alone = column.bucket is not None and column.slide is None and column.of == (relation.timestamp,)
    return column if alone and column.formula is not None else None


def _likely(
    atoms: Sequence[Atom], match: Combination, columns: Mapping[Attribute, Column], moments: Sequence[int]
) -> dict[Attribute, list[Any]]:
    """Values of each column that meet every order of it with what it is compared with."""
    offsets = sum(abs(atom.offset) for atom in atoms if isinstance(atom, Join))
    likely = {}
    for attribute, column in columns.items():
        fixed = _fixed(atoms, match, column.type.family, moments)
        values: list[Any] = _around(fixed, column, len(columns), offsets)
        domain = column.domain
        if domain is not None:
            ends = [end for end in (domain.minimum, domain.maximum) if end is not None]
            values = [
                value
                for value in dict.fromkeys([*values, *ends, *(domain.values or ())])
                if (domain.values is None or value in domain.values)
                and (domain.minimum is None or value >= domain.minimum)
                and (domain.maximum is None or value <= domain.maximum)
            ]
        likely[attribute] = [*values, *([None] if column.nullable else [])]
    return likely


def _fixed(atoms: Sequence[Atom], match: Combination, family: Family, moments: Sequence[int]) -> list[Any]:
    """The values that are given: constants, and those of the tuples that are there."""
    fixed: list[Any] = []
    for atom in atoms:
        if isinstance(atom, Filter):
            fixed.append(atom.constant)
        elif isinstance(atom, Membership):
            fixed += atom.values
        elif isinstance(atom, Join):
            fixed += [a for a in atom.attributes if a.occurrence in match]
    values = [
        constant.value if isinstance(constant, Constant) else match[constant.occurrence].get(constant.column)
        for constant in fixed
    ]
    numbers = family is not Family.STRING
    made = [v for v in values if v is not None and isinstance(v, str) is not numbers]
    return [*made, *(moments if numbers else [])]


def _around(fixed: Sequence[Any], column: Column, count: int, offsets: int) -> list[Any]:
    if column.type.family is Family.BOOLEAN:
        return [0, 1]
    if column.type.family is Family.STRING:
        texts = ["", *fixed]
        return sorted({text + "\0" * n for text in texts for n in range(count + 1)})
    offsets_around = {n for k in range(-count, count + 1) for n in (k, k - offsets, k + offsets)}
    whole = {
        value + step
        for value in fixed
        for step in offsets_around
        if not isinstance(value, float) or math.isfinite(value)
    }
    if column.type.resolution is None and column.type.family is Family.NUMBER:
        ordered = sorted(float(value) for value in whole)
        between = [a + (b - a) * n / (count + 1) for a, b in pairwise(ordered) for n in range(count + 1)]
        return [*between, *ordered[-1:]]
    if column.type.resolution not in (None, 1):
        parts = range(count + 2)
        return sorted({value + n * column.type.resolution for value in map(Fraction, whole) for n in parts})
    return sorted(whole)


# Times that have passed.


@dataclass(frozen=True)
class _Time:
    """The occurrence whose timestamp an output bounds: at most so far ``after`` it, which has a ``scale``."""

    alias: str
    after: int
    scale: int = 1

    def last(self, value: Any) -> int:
        """The greatest timestamp of a row with a value."""
        return int(value) * self.scale + self.after


def _time(query: Query, position: int) -> _Time | None:
    """What an output says of a timestamp; None of other outputs."""
    output = query.select[position]
    time = None if output.within else _time_of(query, output.term)
    return None if time is None else replace(time, after=time.after + int(output.moved))


def _time_of(query: Query, term: Term) -> _Time | None:
    near = query.moment(term) if isinstance(term, Attribute) else None
    if near is None or not isinstance(term, Attribute):
        return None
    column, stamp = query.column(term), query.column(near[0])
    if not near[1]:
        return _Time(term.occurrence, 0)
    if column.type.family is Family.DATE and stamp.type.family is Family.TIMESTAMP:
        return _Time(term.occurrence, near[1] - 1, _DAY)
    if column.type.family is not stamp.type.family:
        return None
    if (column.formula or "").startswith(END):
        return _Time(term.occurrence, -1)
    # Of a time that a sub-query has it is not known on which side of its timestamp it is.
    begins = query.occurrence(term.occurrence).relation.fed is None or bool(column.edge)
    return _Time(term.occurrence, near[1] - begins)


def _closed(block: Block, equal: Mapping[int, Any], now: int, until: tuple[int, Any] | None = None) -> bool:
    """Whether no row comes any more that has these values at some positions, and at one at most that time."""
    limits = [*equal.items(), *([until] if until is not None else [])]
    for selection in block.selections:
        terms = [(selection.base.select[position].term, value) for position, value in equal.items()]
        if any(isinstance(term, Constant) and term.value != value for term, value in terms):
            # The other side of an outer join.
            continue
        for coming in _ways(selection):
            for branch in _branches(_conditions(coming)):
                if any(last > now for last in _latest(coming, branch, limits).values()):
                    return False
    return True


def _ways(selection: Selection) -> Iterator[Selection]:
    """How rows of a SELECT come: with their tuples, or as a partner goes that they must not have."""
    yield selection
    for n, guard in enumerate(selection.guards):
        if guard.negated and any(o.relation.fed is not None for o in guard.base.occurrences):
            guards = (*selection.guards[:n], replace(guard, negated=False), *selection.guards[n + 1 :])
            yield replace(selection, guards=guards)


def _conditions(selection: Selection) -> Formula:
    """What holds of the tuples of a row, and of those that it must have beside them."""
    guards = (guard.formula for guard in selection.guards if not guard.negated)
    joins = (
        Join(as_of.left, as_of.op, as_of.right)
        for as_of in selection.as_of
        if as_of.left is not None and as_of.right is not None and not as_of.outer
    )
    return all_of([selection.formula, *guards, *joins])


def _latest(
    selection: Selection, branch: Sequence[Atom], limits: Iterable[tuple[int, Any]]
) -> dict[str, float]:
    """How late the tuples of a row can be: of each occurrence the greatest timestamp, or infinity."""
    sought = {as_of.alias for as_of in selection.as_of}
    there = [*selection.base.occurrences]
    there += [o for guard in selection.guards if not guard.negated for o in guard.base.occurrences]
    stamps = {Attribute(o.alias, o.relation.timestamp): o.alias for o in there if o.relation.timestamp}
    last: dict[str, float] = {
        o.alias: math.inf
        for o in there
        if o.relation.kind is not RelationKind.STATIC and o.alias not in sought
    }
    for position, value in limits:
        time = _time(selection.base, position)
        if time is not None and value is not None and time.alias in last:
            last[time.alias] = min(last[time.alias], time.last(value))
    differences: list[tuple[str, str, int]] = []
    query = replace(selection.base, occurrences=tuple(there))
    for atom in branch:
        if isinstance(atom, Filter) and atom.attribute in stamps and atom.op in (Op.LT, Op.LE, Op.EQ):
            alias = stamps[atom.attribute]
            end = int(atom.constant.value or 0) - (atom.op is Op.LT)
            last[alias] = min(last.get(alias, math.inf), end)
        if isinstance(atom, Join) and atom.left in stamps and atom.right in stamps:
            left, right = stamps[atom.left], stamps[atom.right]
            if atom.op in (Op.LT, Op.LE, Op.EQ):
                differences.append((left, right, atom.offset - (atom.op is Op.LT)))
            if atom.op in (Op.GT, Op.GE, Op.EQ):
                differences.append((right, left, -atom.offset - (atom.op is Op.GT)))
        if isinstance(atom, Join) and atom.op is Op.EQ and not atom.offset:
            written = [query.calendar(a) if a.occurrence in last else None for a in atom.attributes]
            if None not in written:
                ends = zip(atom.attributes, reversed(atom.attributes), written, strict=True)
                differences += [(a.occurrence, b.occurrence, span[1]) for a, b, span in ends if span]
    for _ in last:
        for left, right, by in differences:
            if left in last and right in last:
                last[left] = min(last[left], last[right] + by)
    for occurrence in there:
        if occurrence.alias in last and occurrence.relation.fed is not None:
            # Rows of a sub-query come after the tuples that they are made of.
            last[occurrence.alias] += _lateness(occurrence.relation)
    return last


def _lateness(relation: Relation) -> float:
    """How long after its timestamp a row of a sub-query may come."""
    fed, late = relation.fed, 0.0
    assert fed is not None
    names = [column.name for column in relation.own]
    if relation.timestamp is None:
        return math.inf
    position = names.index(relation.timestamp)
    for block in fed.blocks:
        output = position
        if block.then is not None:
            if not isinstance(block.then, Grouping) or len(block.then.shown[position].outputs) != 1:
                return math.inf
            output = block.then.shown[position].outputs[0]
        for coming in (way for selection in block.selections for way in _ways(selection)):
            for branch in _branches(_conditions(coming)):
                late = max(late, *_latest(coming, branch, [(output, 0)]).values())
    return late


# Groups, ranks, frames.


def _closed_group(block: Block, then: Grouping, group: Sequence[Row], now: int) -> bool:
    # Of what a key is computed of rows of one group may have other values.
    shared = [p for p in range(then.keys) if not any(s.base.select[p].within for s in block.selections)]
    limits = {position: group[0].values[position] for position in shared} if group else {}
    if then.session is not None and then.moment is not None:
        last = max(moment_of(then, row) for row in group) + then.session - 1
        return _closed(block, limits, now, (then.moment, last))
    return _closed(block, limits, now)


def _first_by_time(block: Block, order: Sequence[tuple[int, bool]]) -> int | None:
    """The position of the time that an order begins with, the earliest first; None of other orders."""
    if not order or order[0][1]:
        return None
    position = order[0][0]
    times = (_time(selection.base, position) for selection in block.selections)
    return position if all(time is not None for time in times) else None


def _limits(block: Block, partition: Sequence[int], part: Sequence[Row]) -> dict[int, Any]:
    """What rows are alike in, of those that may end: what is computed does not tell when it is over."""
    width = len(block.selections[0].base.select)
    return {position: part[0].values[position] for position in partition if position < width}


def _sure(part: Iterable[Row], sure: Mapping[int, bool], first: int, last: Any) -> bool:
    """Whether the rows of a partition up to a time are settled: what is later may change."""
    return all(sure[id(row)] for row in part if row.values[first] <= last)


def _ranks(
    block: Block,
    then: Ranking,
    part: Sequence[Row],
    now: int,
    sure: Mapping[int, bool],
    types: Sequence[Any],
) -> Flagged:
    limits = _limits(block, then.partition, part)
    closed, first = _closed(block, limits, now), _first_by_time(block, then.order)
    safe = all(sure[id(row)] for row in part)
    ordered = in_order(part, then.order)
    settled = []
    for position, row in enumerate(ordered):
        rank = rank_of(then.function, ordered, then.order, position)
        if is_kept(then, rank):
            # A rank only grows.
            grows = then.op in (Op.GT, Op.GE) or (then.op is Op.NE and rank > then.limit)
            own = None if first is None else row.values[first]
            before = (
                first is not None
                and _sure(part, sure, first, own)
                and _closed(block, limits, now, (first, own))
            )
            settled.append(before or (safe and (closed or (grows and not then.ranked))))
    return list(zip(ranked(then, part, types), settled, strict=True))


def _settled_functions(
    block: Block, then: WindowCalls, rows: Sequence[Row], now: int, sure: Mapping[int, bool]
) -> list[bool]:
    """Of each row whether what window functions say of it is settled."""
    fixed = {id(row): True for row in rows}
    for given in then.functions:
        turned = bool(given.order) and given.order[0][1]
        over = _turned(given) if turned else given
        for part in partitions(rows, over.partition):
            limits = _limits(block, over.partition, part)
            closed, first = _closed(block, limits, now), _first_by_time(block, over.order)
            safe = all(sure[id(row)] for row in part)
            ordered = in_order(part, given.order)[:: -1 if turned else 1]
            for position, row in enumerate(ordered):
                last = None if first is None else _last_seen(over, ordered, position, first)
                before = (
                    first is not None
                    and last is not None
                    and _sure(part, sure, first, last)
                    and _closed(block, limits, now, (first, last))
                )
                fixed[id(row)] = fixed[id(row)] and (before or (safe and closed))
    return [fixed[id(row)] and sure[id(row)] for row in rows]


def _turned(over: Over) -> Over:
    """A function of rows in the reverse order: what it sees is the same."""
    names = {"LAG": "LEAD", "LEAD": "LAG", "ROW_NUMBER": "NTILE", "RANK": "NTILE", "DENSE_RANK": "NTILE"}
    frame = Frame(over.frame.rows, over.frame.after, over.frame.before)
    order = tuple((position, not descends) for position, descends in over.order)
    return replace(over, name=names.get(over.name, over.name), order=order, frame=frame)


def _last_seen(over: Over, ordered: Sequence[Row], position: int, first: int) -> Any:
    """The latest time of the rows on which the value of a function depends; None: of all rows."""
    own, frame = ordered[position].values[first], over.frame
    if over.name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG"):
        return own
    if over.name in ("NTILE", "PERCENT_RANK", "CUME_DIST") or (over.name != "LEAD" and frame.after is None):
        return None
    if frame.rows or over.name == "LEAD":
        at = position + (over.offset if over.name == "LEAD" else max(frame.after or 0, 0))
        return ordered[at].values[first] if at < len(ordered) else None
    return own + max(frame.after or 0, 0)
