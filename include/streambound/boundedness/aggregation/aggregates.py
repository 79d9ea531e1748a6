"""GROUP BY: which queries must be bounded for the groups to be (Theorems L, M and D of docs/theory.md).

*Theorem L.* COUNT, SUM and AVG are bounded iff the query with duplicates is, whose keys must be
remembered also where one stream completes each match: a new match takes the old number of its group back.
With a time of such a stream among the keys the other columns of that stream are free (the ring
``GROUPS``).

*Theorem M.* MAX(x) is bounded iff DISTINCT of the keys is in the query with one more infinite stream,
whose only column is at most x; of MIN at least x. With a time of the completing streams among the keys
that stream has their time, and their columns are no keys (``extrema``).

*Theorem D.* COUNT(DISTINCT x) is bounded iff DISTINCT of the keys and x is.

Each group is remembered, so DISTINCT of the keys is asked in any case. Several aggregates are bounded iff
each is. A session is a window of the time that it is told by, and its values are none of that stream's: it
can last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from streambound.boundedness.aggregation.extrema import argument, pending, without
from streambound.boundedness.aggregation.having import Condition, condition
from streambound.boundedness.aggregation.polynomials import Nature, nature
from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.questions import (
    Judge,
    Operated,
    Question,
    by_top,
    distinct,
    filtered,
    keyed,
    of_rows,
    shows_time,
    worst,
)
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.space import Space
from streambound.constraints.system import System, finite, system
from streambound.query.expressions.aggregates import is_known
from streambound.query.model import Attribute, Constant, Filter, NullTest, Op, Output, Term, is_null
from streambound.query.operators import Aggregate, AggregateKind, Grouping
from streambound.query.ring import GROUPS
from streambound.query.statement import Selection, Statement

OPEN = "only what is computed from it is shown, and whether it can be told from that is open"
_EXTREMA, _SUMS = (
    (AggregateKind.LEAST, AggregateKind.GREATEST),
    (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.MEAN),
)


def grouped(statement: Statement, selections: tuple[Selection, ...], then: Grouping, judge: Judge) -> Verdict:
    """The verdict on the groups of some selections, in changes and in final mode."""
    if then.session is not None:
        selections = tuple(_in_session(selection, then) for selection in selections)
        then = then.with_key()
    groups = _Groups(statement, by_top(selections), then)
    if groups.having.never and then.keys:
        message = "no number of rows meets HAVING: the answer is always empty"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),), "bounded")
    called = "" if then.session is None else "session"
    verdict = groups.ended(worst(groups.questions(), judge, OPEN), groups.keys, then.shown, called)
    return replace(verdict, final=groups.final(verdict, judge))


@dataclass(frozen=True)
class _Groups(Operated):
    then: Grouping

    @property
    def keys(self) -> range:
        return range(self.then.keys)

    @property
    def _ended(self) -> bool:
        """Whether groups close but for those of rows without a partner, which have NULL for the time."""
        shows = [shows_time(selection, top, self.keys) for selection, top in self.tops]
        times = [k for k in self.keys if any(_is_time(s, k) for s in self.selections)]
        return any(shows) and all(
            ends or any(_is_null(s, k) for k in times) for ends, s in zip(shows, self.selections, strict=True)
        )

    @cached_property
    def having(self) -> Condition:
        return condition(self.then, tuple(self.selections))

    @cached_property
    def shown(self) -> list[int]:
        """The aggregates that what is shown is computed from."""
        return sorted({number for s in self.then.shown for number in s.values})

    def questions(self) -> Iterator[Question]:
        """What must be bounded."""
        visible = self.having.visible
        plain = {s.values[0] for s in self.then.shown if s.plain and len(s.values) == 1}
        alone = self.having.alone and not self.shown
        if not alone or not self.having.monotone:
            yield Question(keyed(self.statement, self.selections, self.keys), "", visible or alone)
        for number in dict.fromkeys((*self.shown, *self.having.whole)):
            yield from self._of(self.then.aggregates[number], visible and number in plain)
        for number, op, value in self.having.extrema:
            aggregate = self.then.aggregates[number]
            selections = [_where(s, aggregate, op, value) for s in self.selections]
            yield Question(distinct(self.statement, selections, self.keys), f"HAVING {aggregate.text}", alone)

    def _of(self, aggregate: Aggregate, settles: bool) -> Iterator[Question]:
        if aggregate.kind in _EXTREMA:
            yield self._extremum(aggregate, settles)
        elif aggregate.by is not None:
            kind = AggregateKind.GREATEST if aggregate.kind is AggregateKind.LAST else AggregateKind.LEAST
            by = replace(aggregate, kind=kind, arguments=(aggregate.by,), polynomial=None)
            yield self._extremum(by, settles)
        elif aggregate.kind in _SUMS and aggregate.distinct:
            selections = (
                [without(s, self.keys, top) for s, top in self.tops] if self.then.session else self.selections
            )
            positions = (*self.keys, *aggregate.arguments)
            yield Question(distinct(self.statement, selections, positions), aggregate.text, settles)
        elif aggregate.kind in _SUMS:
            yield from self._number(aggregate, settles)
        elif aggregate.kind is AggregateKind.SKETCH:
            # Of fixed size; over a join matches are counted, and whether a sketch tells all of them is open.
            yield Question(of_rows(self.statement, self.selections, GROUPS, self.keys), aggregate.text, False)
        elif aggregate.kind is AggregateKind.LIST:
            positions = (*self.keys, *aggregate.arguments)
            listed = distinct(self.statement, self.selections, positions)
            # A session may last for ever, if it has no greatest length.
            closes = self.ends(self.keys) and (self.then.session is None or self.then.longest is not None)
            sure = settles and is_known(aggregate.function)
            yield Question(listed if closes else _endless(aggregate), aggregate.text, sure)

    def _extremum(self, aggregate: Aggregate, settles: bool) -> Question:
        """Theorem M."""
        selections, sure = [], True
        for selection, top in self.tops:
            timely = top if shows_time(selection, top, self.keys) else frozenset[str]()
            waits = argument(selection, aggregate, self.then.keys)
            sure = sure and waits.sure
            waiting = pending(waits.selection, aggregate, waits.order, timely)
            selections.append(without(waiting, self.keys, timely))
        return Question(distinct(self.statement, selections, self.keys), aggregate.text, settles and sure)

    def _number(self, aggregate: Aggregate, settles: bool) -> Iterator[Question]:
        """Theorem L, of the selections where what is summed shows more than that there is a row."""
        selections, sure = [], True
        for selection in self.selections:
            shows = nature(selection, aggregate, self.then.keys)
            sure = sure and shows is not Nature.OPEN
            if shows is not Nature.EXISTENCE:
                selections.append(filtered(selection, _counted(selection, aggregate)))
        if selections:
            asks = of_rows(self.statement, selections, GROUPS, self.keys)
            yield Question(asks, aggregate.text, settles and sure)

    def final(self, verdict: Verdict, judge: Judge) -> str | None:
        """The verdict where a row is answered once, when its group cannot change any more."""
        outcome = None if verdict.outcome is Outcome.UNKNOWN else verdict.outcome.value
        if self._ended or not any(s.base.streams for s in self.selections):
            return outcome
        finals = [self._final(self.then.aggregates[number], judge) for number in self.shown]
        if "never-final" in finals:
            return "never-final"
        if None in finals or not self.having.monotone:
            return None
        return "unbounded" if "unbounded" in finals else outcome

    def _final(self, aggregate: Aggregate, judge: Judge) -> str | None:
        """The verdict for groups that nothing closes, for a column."""
        select = [s.base.select for s in self.selections]
        if aggregate.kind in _EXTREMA:
            if any(
                isinstance(s.base.select[k].term, Attribute) and _is_time(s, k)
                for s in self.selections
                for k in self.keys
            ):
                return None
            if not aggregate.arguments:
                return "bounded"
            position = aggregate.arguments[0]
            if all(s[position].term in [s[k].term for k in self.keys] for s in select):
                return judge(distinct(self.statement, self.selections, self.keys)).outcome.value
            return self._last(aggregate, position, judge)
        if aggregate.kind in _SUMS and aggregate.distinct:
            values = [(s, s.base.select[p].term) for s in self.selections for p in aggregate.arguments]
            return "bounded" if all(_finite(*value) for value in values) else "never-final"
        if aggregate.kind in _SUMS:
            shows = [nature(s, aggregate, self.then.keys) for s in self.selections]
            if all(n is Nature.EXISTENCE for n in shows):
                return judge(distinct(self.statement, self.selections, self.keys)).outcome.value
            return "never-final" if Nature.NUMBER in shows else None
        first = aggregate.kind in (AggregateKind.ANY, AggregateKind.FIRST) and aggregate.by is None
        return "bounded" if first else "never-final" if aggregate.kind is not AggregateKind.SKETCH else None

    def _last(self, aggregate: Aggregate, position: int, judge: Judge) -> str | None:
        """An extremum is final once it has its last value: DISTINCT with that value."""
        ends = {
            end for s in self.selections for end in _ends(s, s.base.select[position].term, aggregate.kind)
        }
        if ends == {None}:
            return "never-final"
        if len(ends) != 1 or aggregate.polynomial not in (None, ((Fraction(1), (position,)),)):
            return None
        selections = [
            _where(s, aggregate, Op.EQ, end) for end in ends if end is not None for s in self.selections
        ]
        asked = judge(distinct(self.statement, selections, self.keys)).outcome
        return None if asked is Outcome.UNKNOWN else asked.value


def _in_session(selection: Selection, then: Grouping) -> Selection:
    """The selection with the time that its sessions are told by as one more key."""
    base, keys = selection.base, then.keys
    assert then.moment is not None
    moment = replace(base.select[then.moment], name="session")
    select = (*base.select[:keys], moment, *base.select[keys:])
    return replace(selection, base=replace(base, select=select))


def _counted(selection: Selection, aggregate: Aggregate) -> list[NullTest]:
    """That the columns that an aggregate reads are not NULL; of expressions some value is not."""
    base = selection.base
    terms = (base.select[p].term for p in aggregate.arguments)
    return [
        NullTest(t, False)
        for t in terms
        if isinstance(t, Attribute) and base.nullable(t) and not base.column(t).of
    ]


def _where(selection: Selection, aggregate: Aggregate, op: Op, value: Fraction) -> Selection:
    """The rows of which one decides a comparison of an extremum."""
    if not aggregate.arguments:
        return selection
    term = selection.base.select[aggregate.arguments[0]].term
    if not isinstance(term, Attribute):
        return selection
    exact = int(value) if value.denominator == 1 else value
    constant = Constant(exact, str(value), selection.base.type_of(term))
    return filtered(selection, [Filter(term, op, constant, aggregate.location)])


def _endless(aggregate: Aggregate) -> Verdict:
    message = "a list of the rows of a group that never closes grows without end"
    return Verdict(Outcome.UNBOUNDED, NAME, (Reason("unbounded-list", message, (), aggregate.location),))


def _is_null(selection: Selection, position: int) -> bool:
    return is_null(selection.base.select[position].term)


def _is_time(selection: Selection, position: int) -> bool:
    term = selection.base.select[position].term
    return isinstance(term, Attribute) and selection.base.is_time(term)


def _facts(selection: Selection, term: Attribute) -> Iterator[System]:
    """What is known in each case of a selection, an attribute among what is mentioned."""
    for case in cases(selection):
        for query in case.parts:
            facts = system(replace(query, select=(*query.select, Output("", term))))
            if facts.closure is not None:
                yield facts


def _finite(selection: Selection, term: Term) -> bool:
    if not isinstance(term, Attribute):
        return True
    if selection.base.numbered(term):
        return True
    return all(finite(Space(f.query), f.closure, term) for f in _facts(selection, term) if f.closure)


def _ends(selection: Selection, term: Term, kind: AggregateKind) -> Iterator[Fraction | None]:
    """In each case the last value of an extremum, None where it has none."""
    if not isinstance(term, Attribute):
        yield Fraction(0)
        return
    for facts in _facts(selection, term):
        assert facts.closure is not None
        bound = facts.closure.upper(term) if kind is AggregateKind.GREATEST else facts.closure.lower(term)
        value = None if bound is None or bound[1] else facts.space.value(facts.space.family(term), bound[0])
        yield Fraction(value) if isinstance(value, (int, Fraction)) else None
