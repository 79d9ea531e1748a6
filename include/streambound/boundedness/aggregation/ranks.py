"""Ranks: ROW_NUMBER, RANK, DENSE_RANK, and ORDER BY ... LIMIT (section "Top-n" of docs/theory.md).

The n best rows of each key are what DISTINCT keeps for MIN or MAX of what they are ordered by, whatever
else they show (``extrema``): ties are broken as the engine likes. Of a prescribed order the first column
without finitely many values waits, in each stream that has one; what comes after it in its stream is
decided by then. These wait for one value: of a product the first rows are those of the first ones of each
stream. Where one ascends and another descends only "bounded" is claimed. RANK and DENSE_RANK keep all rows
of a tie, so what they show must have finitely many values, or be the order itself. Without an order any n
rows are an answer. Those of all later ranks are with the n best all rows there are, so these must be bounded
as a bag.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from streambound.boundedness.aggregation.extrema import pending, without
from streambound.boundedness.criterion.questions import (
    Judge,
    Operated,
    Question,
    by_top,
    distinct,
    filtered,
    keyed,
    lasting,
    of_rows,
    shows_time,
    worst,
)
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.space import Space
from streambound.constraints.system import finite, system
from streambound.query.column_types import Family
from streambound.query.formula import Formula
from streambound.query.model import Attribute, Constant, Filter, Membership, Op, Output, Query
from streambound.query.operators import Ranking
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection, Statement

_OPEN = "the rank is a part of what is computed, and whether it can be told from that is open"


def ranked(statement: Statement, selections: tuple[Selection, ...], then: Ranking, judge: Judge) -> Verdict:
    """The verdict on the rows of some selections with such a rank, in changes and in final mode."""
    ranks = _Ranks(statement, by_top(selections), then)
    verdict = ranks.ended(worst(ranks.questions(), judge, _OPEN), ranks.keys, then.shown)
    return replace(verdict, final=ranks.final(verdict))


@dataclass(frozen=True)
class _Ranks(Operated):
    then: Ranking

    @property
    def keys(self) -> tuple[int, ...]:
        return self.then.partition

    @property
    def ties(self) -> bool:
        """Whether all rows of a tie are shown."""
        return self.then.function in ("RANK", "DENSE_RANK")

    def questions(self) -> Iterator[Question]:
        """What must be bounded."""
        yield Question(keyed(self.statement, self.selections, self.keys), "PARTITION BY", True)
        ordered = [
            (selection, top, order)
            for selection, top in self.tops
            for order in _waiting(selection, self.then.order)
        ]
        selections, settles = [], True
        for selection, top, (conditions, order) in ordered:
            timely = top if shows_time(selection, top, self.keys) else frozenset[str]()
            waiting, apart = filtered(selection, conditions), _apart(selection, order)
            for number, part in enumerate(apart):
                name = "the best" if not number else f"the best of {number + 1}"
                waiting = pending(waiting, name, part, timely)
            settles = settles and len(apart) <= 1
            selections.append(without(waiting, self.keys, timely))
        if selections:
            together = len(ordered) == 1 or all(len(order) == 1 for _, _, (_, order) in ordered)
            groups = [selections] if together else [[selection] for selection in selections]
            for group in groups:
                yield Question(distinct(self.statement, group, self.keys), "ORDER BY", settles)
        if self.ties and not self._batch():
            yield from self._tied()
        if self.then.beyond:
            # With the first ones they are all rows.
            shown = dict.fromkeys(p for s in self.then.shown for p in s.outputs)
            plain = all(s.plain for s in self.then.shown)
            asks = of_rows(self.statement, self.selections, INTEGERS, shown)
            yield Question(asks, "rows of all later ranks", plain)

    def _tied(self) -> Iterator[Question]:
        order = {p for p, _ in self.then.order}
        shown = {p for s in self.then.shown for p in s.outputs} - order - set(self.keys)
        if not self.then.shown:
            shown = set(range(len(self.selections[0].base.select))) - order - set(self.keys)
        positions = (*self.keys, *sorted(shown))
        if shown and self.ends(self.keys):
            # Of the rows of a key that ends DISTINCT knows which columns need no memory.
            yield Question(distinct(self.statement, self.selections, positions), "rows of a tie", True)
        elif shown:
            for asked in lasting(self.statement, self.selections, positions):
                yield Question(asked, "rows of a tie", True)

    def _batch(self) -> bool:
        """Whether a tie is of few rows: those of one moment of one stream."""
        return bool(self.then.order) and all(_is_stamp(s, self.then.order[0][0]) for s in self.selections)

    def final(self, verdict: Verdict) -> str | None:
        """The verdict where a row is answered once, when its rank cannot change any more."""
        outcome = None if verdict.outcome is Outcome.UNKNOWN else verdict.outcome.value
        if self.ends(self.keys) or not any(s.base.streams for s in self.selections):
            return outcome
        if self.then.op in (Op.GT, Op.GE) and not self.then.ranked and not self.ties:
            # What is displaced never comes back.
            return outcome
        if not self.then.order or (self._batch() and not self.then.order[0][1]):
            return outcome
        if self.ties and outcome != "bounded":
            return None
        return None if any(self._ends(s) for s in self.selections) else "never-final"

    def _ends(self, selection: Selection) -> bool:
        """Whether what rows are ordered by has a best value that a row can have."""
        for query in _parts(selection):
            facts = system(query)
            for position, descends in self.then.order[:1]:
                term = query.select[position].term
                if not isinstance(term, Attribute) or facts.closure is None:
                    return True
                bound = facts.closure.upper(term) if descends else facts.closure.lower(term)
                if bound is not None and not query.is_time(term):
                    return True
        return False


def _apart(selection: Selection, order: list[tuple[int, bool]]) -> list[list[tuple[int, bool]]]:
    """An order in parts that wait for one value each: of one direction, and of types that compare."""
    orders: dict[tuple[bool, Family], list[tuple[int, bool]]] = {}
    for position, descends in order:
        family = selection.base.type_of(selection.base.select[position].term).family
        orders.setdefault((descends, family), []).append((position, descends))
    return list(orders.values())


def _is_stamp(selection: Selection, position: int) -> bool:
    term = selection.base.select[position].term
    alone = len(selection.base.arriving) == 1
    return alone and isinstance(term, Attribute) and selection.base.is_timestamp(term)


def _parts(selection: Selection) -> Iterator[Query]:
    for case in cases(replace(selection, guards=())):
        yield from case.parts


_Order = tuple[tuple[int, bool], ...]


def _waiting(
    selection: Selection, order: _Order
) -> Iterator[tuple[tuple[Formula, ...], list[tuple[int, bool]]]]:
    """What of an order waits for better rows, in each zone of what comes first: conditions, and positions."""
    rest: list[tuple[tuple[Formula, ...], tuple[tuple[int, bool], ...], list[tuple[int, bool]]]] = [
        ((), order, [])
    ]
    while rest:
        conditions, left, zones = rest.pop()
        if not left:
            yield conditions, zones
            continue
        (position, descends), *more = left
        term = selection.base.select[position].term
        after = tuple(p for p in more if not _same_stream(selection, position, p[0]))
        if isinstance(term, Constant):
            rest.append((conditions, tuple(more), zones))
            continue
        if not always_finite(selection, term):
            rest.append((conditions, after, [*zones, (position, descends)]))
        zone = _constant_zone(selection, term)
        if zone is not None and more:
            rest.append(((*conditions, *zone), tuple(more), [*zones, (position, descends)]))
        elif always_finite(selection, term):
            rest.append((conditions, tuple(more), [*zones, (position, descends)]))


def _same_stream(selection: Selection, left: int, right: int) -> bool:
    first, second = (selection.base.select[p].term for p in (left, right))
    return (
        isinstance(first, Attribute)
        and isinstance(second, Attribute)
        and first.occurrence == second.occurrence
    )


def always_finite(selection: Selection, term: Attribute) -> bool:
    """Whether a column has finitely many values in the rows of a selection."""
    for query in _parts(selection):
        facts = system(replace(query, select=(*query.select, Output("", term))))
        if facts.closure is not None and not finite(Space(facts.query), facts.closure, term):
            return False
    return True


def _constant_zone(selection: Selection, term: Attribute) -> tuple[Formula, ...] | None:
    """The conditions that an attribute lies among the constants of the query; None if that is nowhere."""
    base = selection.base
    if base.is_time(term):
        return None
    kind = base.type_of(term)
    for query in _parts(selection):
        space = Space(replace(query, select=(*query.select, Output("", term))))
        numbers = space.constants(space.family(term))
        if not numbers:
            return None
        values = [space.value(space.family(term), n) for n in numbers]
        constants = tuple(Constant(v, kind.text(v), kind) for v in values)
        if space.resolution(term) is None:
            return (Membership(term, constants),)
        return (Filter(term, Op.GE, constants[0]), Filter(term, Op.LE, constants[-1]))
    return None
