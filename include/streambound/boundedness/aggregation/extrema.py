"""What waits for a better row: an extremum as one more stream (Theorem M of docs/theory.md).

What must be remembered for MAX(x) is what must be for DISTINCT of the query with one more infinite stream
Z whose only column z is at most x: without any tuple of Z its state tells the greatest x of each group,
by asking copies of it with different z; and that extremum tells the answer of the query with Z.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from streambound.boundedness.criterion.column_bounds import AS_VALUE, BETTER
from streambound.boundedness.criterion.questions import filtered
from streambound.query.column_types import parse_type
from streambound.query.formula import atoms_of
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Join,
    Occurrence,
    Op,
    Query,
    Relation,
    RelationKind,
)
from streambound.query.operators import Aggregate, AggregateKind
from streambound.query.statement import Selection

_STAMP = "time"


def pending(
    selection: Selection,
    asking: Aggregate | str,
    order: Sequence[tuple[int, bool]],
    timely: frozenset[str],
) -> Selection:
    """A selection with one more stream that its rows wait for: all of one direction for one value.

    Args:
        asking: what asks for the extremum; its text is the name of the stream.
        order: positions of what waits, with whether the greatest is best.
        timely: the streams whose time the stream has; none: it has no time.
    """
    text, location = (asking, None) if isinstance(asking, str) else (asking.text, asking.location)
    selection = _with_clones(selection, [p for p, _ in order])
    base = selection.base
    columns, joins = list[Column](), list[Join]()
    both = len({greatest for _, greatest in order}) > 1
    # Texts and numbers do not wait for one value.
    mixed = (
        len({base.type_of(t).family for p, _ in order if isinstance(t := base.select[p].term, Attribute)}) > 1
    )
    for position, greatest in order:
        term = base.select[position].term
        if isinstance(term, Constant):
            continue
        name = "negated" if both and not greatest else "known"
        attribute = Attribute(text, f"{name} {base.type_of(term).family.value}" if mixed else name)
        if attribute.column not in [column.name for column in columns]:
            columns.append(Column(attribute.column, base.type_of(term), None, False))
        low, high = (attribute, term) if greatest else (term, attribute)
        joins.append(Join(low, Op.LE, high) if location is None else Join(low, Op.LE, high, location))
    if not columns:
        return selection
    relation = Relation(text, RelationKind.STREAM, tuple(columns), description=BETTER)
    stamp = next((o for o in base.occurrences if o.alias in timely and o.relation.timestamp), None)
    if stamp is not None:
        right = Attribute(stamp.alias, str(stamp.relation.timestamp))
        left = Attribute(text, _STAMP)
        relation = replace(
            relation,
            columns=(*columns, replace(stamp.relation.column(right.column), name=_STAMP)),
            timestamp=_STAMP,
            granularity=stamp.relation.granularity,
        )
        joins.append(Join(left, Op.EQ, right))
    occurrences = (*base.occurrences, Occurrence(text, relation))
    return filtered(replace(selection, base=replace(base, occurrences=occurrences)), joins)


@dataclass(frozen=True)
class Waiting:
    """What of a selection waits for a better row: outputs, with whether the greatest is best.

    ``sure``: whether that is all that waits, and nothing else.
    """

    selection: Selection
    order: tuple[tuple[int, bool], ...]
    sure: bool = True


def argument(selection: Selection, aggregate: Aggregate, keys: int) -> Waiting:
    """What waits of the argument of MIN or MAX.

    A sum of several columns of one tuple is a column; of several tuples the parts wait for one number,
    if they have one sign. Whether nothing less waits is known of one column alone.
    """
    greatest = aggregate.kind is AggregateKind.GREATEST
    terms = aggregate.polynomial or tuple((Fraction(1), (p,)) for p in aggregate.arguments)
    positions = tuple(dict.fromkeys(p for _, factors in terms for p in factors))
    select = selection.base.select
    owners = {t.occurrence for p in positions if isinstance(t := select[p].term, Attribute)}
    if len(positions) == 1 and all(len(factors) <= 1 for _, factors in terms):
        factor = sum(f for f, factors in terms if factors)
        return Waiting(selection, ((positions[0], greatest is (factor > 0)),) if factor else ())
    if len(owners) == 1:
        return _computed(selection, positions, owners.pop(), aggregate, keys)
    linear = all(len(factors) <= 1 for _, factors in terms)
    order = [(factors[0], greatest is (f > 0)) for f, factors in terms if len(factors) == 1]
    if not linear:
        order = [(p, up) for p in positions for up in (True, False)]
    return Waiting(selection, tuple(dict.fromkeys(order)), False)


def _computed(
    selection: Selection, positions: tuple[int, ...], owner: str, aggregate: Aggregate, keys: int
) -> Waiting:
    """The selection with what an aggregate computes of one tuple as a column of it."""
    base = selection.base
    relation = base.occurrence(owner).relation
    column = Column(f"the argument of {aggregate.text}", parse_type("double"))
    relation = replace(relation, columns=(*relation.columns, column))

    def widened(query: Query) -> Query:
        occurrences = (
            replace(o, relation=relation) if o.relation.name == relation.name else o
            for o in query.occurrences
        )
        return replace(query, occurrences=tuple(occurrences))

    guards = tuple(replace(guard, base=widened(guard.base)) for guard in selection.guards)
    computed = replace(base.select[positions[0]], term=Attribute(owner, column.name))
    select = (*base.select, computed)
    used = {a for atom in atoms_of(selection.formula) for a in atom.attributes}
    used |= {o.term for o in base.select[:keys] if isinstance(o.term, Attribute)}
    free = not any(base.select[p].term in used for p in positions)
    wider = replace(selection, base=replace(widened(base), select=select), guards=guards)
    return Waiting(wider, ((len(select) - 1, aggregate.kind is AggregateKind.GREATEST),), free)


def _with_clones(selection: Selection, positions: Iterable[int]) -> Selection:
    """The selection in which what waits is no time: compared with a value it is a column."""
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
        column = replace(relation.column(term.column), name=f"{term.column}{AS_VALUE}", bucket=None, of=())
        if column not in relation.columns:
            relation = replace(relation, columns=(*relation.columns, column))
        relations[relation.name] = relation
    occurrences = tuple(
        replace(o, relation=relations.get(o.relation.name, o.relation)) for o in base.occurrences
    )
    select = tuple(
        replace(o, term=replace(times[n], column=f"{times[n].column}{AS_VALUE}")) if n in times else o
        for n, o in enumerate(base.select)
    )
    return replace(selection, base=replace(base, occurrences=occurrences, select=select))


def without(selection: Selection, keys: Iterable[int], streams: frozenset[str]) -> Selection:
    """The selection whose keys are no columns of some streams."""
    base, positions = selection.base, set(keys)
    select = tuple(
        replace(o, term=Constant(None, "NULL", base.type_of(o.term)))
        if n in positions and isinstance(o.term, Attribute) and o.term.occurrence in streams
        else o
        for n, o in enumerate(base.select)
    )
    return replace(selection, base=replace(base, select=select))
