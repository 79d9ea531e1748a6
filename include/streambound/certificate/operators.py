"""Statements with groups, ranks, frames, guards, as-of joins and sub-queries: slots from what they join.

What such a statement must remember is what joins without those operators must remember (``boundedness``). So
its slots are those of the joins of its streams, guards' and as-of joins' streams among them: an optional
tuple changes a number, a rank, an extremum, or whether a row has a match, and the suffix shows it. Which plan
serves is not derived: each is replayed on the definition of the whole statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice, product
from typing import Any

from streambound.boundedness.composition import fed
from streambound.boundedness.criterion.crossings import (
    crossings,
    infinite_attributes,
    unbounded_zone,
    unequal_crossings,
)
from streambound.boundedness.criterion.questions import filtered, joined
from streambound.boundedness.time_buckets import with_plain_times
from streambound.boundedness.unfolding import unfolded
from streambound.certificate.layout import Turn
from streambound.certificate.obstructions import Obstruction, Suffix, TurnZone, obstructions
from streambound.certificate.slots import Event, Slot
from streambound.certificate.verification import Evaluator, Witness, holds
from streambound.certificate.witness import SAMPLE, Constancy, built, fits, room
from streambound.constraints.cases import cases
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.errors import DataError, UnsupportedError
from streambound.evaluation.events import timed
from streambound.query.formula import Formula
from streambound.query.model import Attribute, Join, Op, Output, Query, Relation, RelationKind
from streambound.query.operators import Grouping, Ranking, Test, Tests, WindowCalls
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.statement import Selection, Statement

# Conjunctions of one statement, and plans of one conjunction, that are tried.
TRIED, PLANS = 24, 400
# As many copies of a tuple are tried as a rank or HAVING counts, if they are not more.
_COPIES = 12
# By what values are multiplied that others are computed from.
_SPREAD = 1_000

Shape = Callable[[Witness], Witness]
# A witness of so many slots; None where there is no room.
Slots = Callable[[int], Witness | None]


def joins(statement: Statement) -> Iterator[Query]:
    """The conjunctions that slots are built from, those of sub-queries first."""
    statement = with_plain_times(statement)
    for relation, made in fed(statement):
        yield from joins(made)
        alike = unfolded(statement, relation)
        if alike is not None and not any(name == relation.name for name in _fed_names(alike)):
            yield from joins(alike)
    for block in statement.blocks:
        for selection in block.selections:
            for query in dict.fromkeys(_conjunctions(selection)):
                for ring in (INTEGERS, BOOLEANS):
                    yield replace(query, ring=ring)


def _fed_names(statement: Statement) -> Iterator[str]:
    return (relation.name for relation, _ in fed(statement))


def _conjunctions(selection: Selection) -> Iterator[Query]:
    """The joins of a SELECT with all its guards, with each one of them, and without."""
    guards = selection.guards
    kept = [guards, *((g,) for g in guards if len(guards) > 1), ()] if guards else [()]
    for some in kept:
        for case in cases(_looked_up(joined(selection, some))):
            yield from map(_with_own, case.parts)


def _with_own(query: Query) -> Query:
    """The query that projects also the columns that its computed ones are computed from."""
    local_columns = (
        Attribute(a.occurrence, name)
        for a in query.mentioned
        for name in query.column(a).of
        if not query.is_timestamp(Attribute(a.occurrence, name))
    )
    further = (Output("", a) for a in dict.fromkeys(local_columns) if a not in query.mentioned)
    return replace(query, select=(*query.select, *further))


def _looked_up(selection: Selection) -> Selection:
    """As-of joins as joins: of the tuples that a row could find, any."""
    further: list[Formula] = []
    for join in selection.as_of:
        further += [*(Join(a, Op.EQ, b, join.location) for a, b in join.keys), join.where]
        if join.left is not None and join.right is not None:
            further.append(Join(join.left, join.op, join.right, join.location))
    return replace(filtered(selection, further), as_of=())


@dataclass(frozen=True)
class Made:
    """A witness, if one was found; ``smaller`` says that one of fewer slots was."""

    witness: Witness | None
    smaller: bool = False


def of_operators(statement: Statement, size: int, evaluator: Evaluator) -> Made:
    """The witness of a statement with ``size`` slots, replayed with few of them."""
    return _Maker(statement, evaluator).witness(size)


@dataclass(frozen=True)
class _Maker:
    """What turns the copies of a join into slots of the whole statement."""

    statement: Statement
    evaluator: Evaluator

    def witness(self, size: int) -> Made:
        any_failed, tried = False, min(size, SAMPLE)
        for query in self._joins():
            try:
                for make in self._plans(query, size):
                    sample = make(tried)
                    if sample is None or not self._distinguished(sample):
                        continue
                    any_failed = True
                    whole = sample if size == tried else make(size)
                    if whole is not None and fits(self.statement, whole):
                        return Made(whole)
            except SearchLimit:
                continue
        return Made(None, any_failed)

    def _joins(self) -> list[Query]:
        try:
            return list(islice(joins(self.statement), TRIED))
        except SearchLimit:
            return []

    def _distinguished(self, sample: Witness) -> bool:
        try:
            return holds(self.statement, sample, self.evaluator)
        except (DataError, UnsupportedError):
            return False

    def _plans(self, query: Query, size: int) -> Iterator[Slots]:
        """Ways to build slots, room for ``size`` of them."""
        facts = system(query)
        if not facts.satisfiable():
            return
        time = TimeOrder(facts)
        dated = timed(self.statement)
        windows = [c.bucket for r in self.statement.scanned for c in r.columns if c.bucket is not None]
        distances = (0, max(windows)) if windows else (0,)
        plans = dict.fromkeys(_obstructions(time))
        for obstruction, constancy, apart in product(islice(plans, PLANS), Constancy, distances):
            for wish in islice(obstruction.wishes(facts.space, room(time, size)), 1):
                slots = cache(partial(built, time, obstruction, wish, constancy, dated, apart=apart))
                yield from (partial(self._shaped, slots, shape) for shape in _shapes(self.statement))

    def _shaped(self, slots: Slots, shape: Shape, size: int) -> Witness | None:
        witness = slots(size)
        return None if witness is None else shape(self._of_statement(witness))

    def _of_statement(self, witness: Witness) -> Witness:
        """The witness of a join over the statement's own relations and columns."""
        relations = {relation.name: relation for relation in self.statement.scanned}
        made = {relation.name: relation for relation, _ in fed(self.statement)}

        def of(events: Iterable[Event]) -> tuple[Event, ...]:
            converted = (_beneath(made[e["stream"]], e) if e["stream"] in made else e for e in events)
            return tuple(
                _own(relations[e["stream"]], e)
                for e in converted
                if e is not None and e["stream"] in relations
            )

        slots = tuple(Slot(of(s.fixed), of(s.optional), of(s.suffix)) for s in witness.slots)
        static: dict[str, list[Event]] = {
            n: [] for n, r in relations.items() if r.kind is RelationKind.STATIC
        }
        static.update(
            {
                n: [_own(relations[n], row) for row in rows]
                for n, rows in witness.static.items()
                if n in relations
            }
        )
        return Witness(self.statement.name, slots, static)


def _own(relation: Relation, event: Mapping[str, Any]) -> Event:
    names = {column.name for column in relation.own} | {"stream", "ts"}
    return {name: value for name, value in event.items() if name in names}


def _beneath(relation: Relation, event: Event) -> Event | None:
    """The tuple that makes a sub-query have a row; None where it reads several streams."""
    made = relation.fed
    if made is None or len(made.selections) != 1 or len(made.occurrences) != 1:
        return None
    then, base = made.blocks[0].then, made.selections[0].base
    source = base.occurrences[0].relation
    below: Event = {column.name: None if column.nullable else 0 for column in source.own}
    for number, column in enumerate(relation.own):
        position: int | None = number
        if then is not None and number < len(then.shown):
            shown = then.shown[number]
            read = list(shown.outputs)
            if isinstance(then, Grouping):
                read += [p for v in shown.values for p in then.aggregates[v].arguments]
            position = read[0] if len(read) == 1 else None
        if position is None or position >= len(base.select) or column.name not in event:
            continue
        if isinstance(term := base.select[position].term, Attribute) and not source.column(term.column).of:
            below[term.column] = event[column.name]
    moment = event.get(relation.timestamp or "ts", event.get("ts"))
    if moment is not None:
        below[source.timestamp or "ts"] = moment
    return {**below, "stream": source.name}


def _obstructions(time: TimeOrder) -> Iterator[Obstruction]:
    """Those of the join itself, then every way for one or two of its columns to turn at a pivot."""
    query = time.facts.query
    for obstruction in obstructions(time):
        suffixes = Suffix if obstruction.suffix is Suffix.PROBE else (obstruction.suffix,)
        yield from (replace(obstruction, suffix=suffix) for suffix in suffixes)
    values = infinite_attributes(time)
    # What is shown first, and keys first of that.
    ordered = dict.fromkeys((*(a for a in query.projected if a in values), *values))
    zones = {a: zone for a in ordered if (zone := unbounded_zone(time, a)) is not None}
    single = [TurnZone(Turn(a, a, True), zone) for a, zone in zones.items()]
    for suffix in (Suffix.AGAIN, Suffix.REST, Suffix.PROBE):
        yield from (
            Obstruction(query, turn_zone.turn.low.occurrence, (turn_zone,), (), suffix)
            for turn_zone in single
        )
        yield from (Obstruction(query, pivot, (), (), suffix) for pivot in time.infinite)
    crossed = [*crossings(time), *(c for _, c in unequal_crossings(time))]
    pairs = [
        (TurnZone(Turn(c.low, c.high, ascending), zone), c.if_)
        for c in crossed
        for zone in c.zones
        for ascending in (True, False)
    ]
    for suffix in (Suffix.REST, Suffix.PROBE, Suffix.AGAIN):
        for (pair, if_), pivot in product(pairs, time.infinite):
            yield Obstruction(query, pivot, (pair,), if_, suffix)
    for (pair, if_), pivot, attribute, ascending in product(pairs, time.infinite, zones, (True, False)):
        if attribute not in (pair.turn.low, pair.turn.high):
            turned = TurnZone(Turn(attribute, attribute, ascending), zones[attribute])
            yield Obstruction(query, pivot, (pair, turned), if_)
    for item, pivot in product(single, time.infinite):
        yield from (Obstruction(query, pivot, (item,), (), suffix) for suffix in (Suffix.AGAIN, Suffix.REST))


# What the slots of a join are changed to where the operator asks for more.


def _shapes(statement: Statement) -> Iterator[Shape]:
    """The slots as they are; with several copies of the optional tuple; with a better or worse row after."""
    yield lambda witness: witness
    if computed := frozenset(_computed_from(statement)):
        yield _scaled(computed)
    for columns, by in product(_orders(statement), (-1, 1)):
        yield _moved(columns, by)
    for number in sorted({n for n in _numbers(statement) if 1 < n <= _COPIES}):
        yield _repeated(number)


def _repeated(number: int) -> Shape:
    return lambda witness: replace(
        witness, slots=tuple(replace(slot, optional=slot.optional * number) for slot in witness.slots)
    )


def _scaled(columns: frozenset[tuple[str, str]]) -> Shape:
    """Whole numbers of some columns lie far apart: what is computed from them then differs as well."""

    def of(events: Iterable[Event]) -> tuple[Event, ...]:
        return tuple(_with_numbers(event, columns, lambda value: value * _SPREAD) for event in events)

    return lambda witness: replace(
        witness, slots=tuple(Slot(of(s.fixed), of(s.optional), of(s.suffix)) for s in witness.slots)
    )


def _with_numbers(event: Event, columns: frozenset[tuple[str, str]], of: Callable[[int], int]) -> Event:
    def changed(name: str, value: Any) -> Any:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return of(value) if whole and (event["stream"], name) in columns else value

    return {name: changed(name, value) for name, value in event.items()}


def _computed_from(statement: Statement) -> Iterator[tuple[str, str]]:
    for relation in statement.scanned:
        names = {name for column in relation.columns for name in column.of}
        yield from ((relation.name, name) for name in names if name != relation.timestamp)


def _moved(columns: frozenset[tuple[str, str]], by: int) -> Shape:
    """Whole numbers of some columns, by relation, are more or less in what comes after."""

    def moved(event: Event) -> Event:
        return _with_numbers(event, columns, lambda value: value + by)

    return lambda witness: replace(
        witness, slots=tuple(replace(slot, suffix=tuple(map(moved, slot.suffix))) for slot in witness.slots)
    )


def _orders(statement: Statement) -> Iterator[frozenset[tuple[str, str]]]:
    """The columns that rows are ordered by, or that frames aggregate, timestamps aside."""
    for block in statement.blocks:
        positions: set[int] = set()
        if isinstance(block.then, Ranking):
            positions = {p for p, _ in block.then.order}
        elif isinstance(block.then, WindowCalls):
            positions = {p for over in block.then.functions for p, _ in over.order}
            aggregates = (over.aggregate for over in block.then.functions)
            positions.update(
                p for aggregate in aggregates if aggregate is not None for p in aggregate.arguments
            )
        orders = {
            (selection.base.occurrence(term.occurrence).relation.name, term.column)
            for selection in block.selections
            for p in positions
            if isinstance(term := selection.base.select[p].term, Attribute)
            and not selection.base.is_time(term)
        }
        if orders:
            yield frozenset(orders)


def _numbers(statement: Statement) -> Iterator[int]:
    """Numbers of copies that a rank, a frame or HAVING tells from others."""
    for block in statement.blocks:
        if isinstance(block.then, Ranking):
            yield from (block.then.limit - 1, block.then.limit, block.then.limit + 1)
        elif isinstance(block.then, Grouping) and block.then.having is not None:
            for test in _tests(block.then.having.tests):
                yield from (int(test.value) - 1, int(test.value), int(test.value) + 1)
    yield 2


def _tests(tests: Test | Tests | None) -> Iterator[Test]:
    if isinstance(tests, Test):
        yield tests
    elif tests is not None:
        for part in tests.parts:
            yield from _tests(part)
