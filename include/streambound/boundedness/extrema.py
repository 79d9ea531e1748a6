"""What waits for a better row: an extremum as one more stream (Theorem M of docs/theory.md).

What must be remembered for MAX(x) is what must be for DISTINCT of the query with one more infinite stream Z whose
only column z is at most x: without any tuple of Z its state tells the greatest x of each group, by asking copies of it
with different z; and that extremum tells the answer of the query with Z.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from streambound.boundedness.questions import filtered
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Join,
    Kind,
    Occurrence,
    Op,
    Relation,
)
from streambound.query.operators import Aggregate
from streambound.query.statement import Selection

_STAMP = "time"


def pending(
    selection: Selection,
    asking: Aggregate | str,
    order: Sequence[tuple[int, bool]],
    timely: frozenset[str],
) -> Selection:
    """A selection with one more stream that its rows wait for.

    Args:
        asking: what asks for the extremum; its text is the name of the stream.
        order: positions of what waits, with whether the greatest is best.
        timely: the streams whose time the stream has; none: it has no time.
    """
    text, place = (asking, None) if isinstance(asking, str) else (asking.text, asking.place)
    selection = _with_clones(selection, [p for p, _ in order])
    base = selection.base
    columns, joins = [], []
    for number, (position, greatest) in enumerate(order):
        term = base.select[position].term
        if isinstance(term, Constant):
            continue
        known = Attribute(text, "known" if len(order) == 1 else f"known {number + 1}")
        columns.append(Column(known.column, base.type_of(term), None, False))
        low, high = (known, term) if greatest else (term, known)
        joins.append(Join(low, Op.LE, high) if place is None else Join(low, Op.LE, high, place))
    if not columns:
        return selection
    relation = Relation(text, Kind.STREAM, tuple(columns))
    stamp = next((o for o in base.occurrences if o.alias in timely and o.relation.timestamp), None)
    if stamp is not None:
        theirs = Attribute(stamp.alias, str(stamp.relation.timestamp))
        mine = Attribute(text, _STAMP)
        relation = replace(
            relation,
            columns=(*columns, replace(stamp.relation.column(theirs.column), name=_STAMP)),
            timestamp=_STAMP,
            granularity=stamp.relation.granularity,
        )
        joins.append(Join(mine, Op.EQ, theirs))
    occurrences = (*base.occurrences, Occurrence(text, relation))
    return filtered(replace(selection, base=replace(base, occurrences=occurrences)), joins)


def _with_clones(selection: Selection, positions: Iterable[int]) -> Selection:
    """The selection in which what waits is no time: a time compared with a value is a column like any other."""
    base = selection.base
    times = {
        p: term
        for p in positions
        if isinstance(term := base.select[p].term, Attribute) and base.is_time(term)
    }
    if not times:
        return selection
    relations: dict[str, Relation] = {}
    for term in times.values():
        relation = base.occurrence(term.occurrence).relation
        relation = relations.get(relation.name, relation)
        column = replace(relation.column(term.column), name=f"{term.column} as a value", bucket=None, of=())
        if column not in relation.columns:
            relation = replace(relation, columns=(*relation.columns, column))
        relations[relation.name] = relation
    occurrences = tuple(
        replace(o, relation=relations.get(o.relation.name, o.relation)) for o in base.occurrences
    )
    select = tuple(
        replace(o, term=replace(times[n], column=f"{times[n].column} as a value")) if n in times else o
        for n, o in enumerate(base.select)
    )
    return replace(selection, base=replace(base, occurrences=occurrences, select=select))


def without(selection: Selection, keys: Iterable[int], streams: frozenset[str]) -> Selection:
    """The selection whose keys are no columns of some streams."""
    base, places = selection.base, set(keys)
    select = tuple(
        replace(o, term=Constant(None, "NULL", base.type_of(o.term)))
        if n in places and isinstance(o.term, Attribute) and o.term.occurrence in streams
        else o
        for n, o in enumerate(base.select)
    )
    return replace(selection, base=replace(base, select=select))
