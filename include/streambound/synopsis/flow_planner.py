"""From a bounded statement to the tree of what is evaluated of it (see ``flow``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

from streambound.boundedness.polynomials import Nature, nature
from streambound.boundedness.questions import filtered, of_rows
from streambound.boundedness.ranges import with_ranges
from streambound.constraints.space import Space
from streambound.errors import PlanError
from streambound.query.model import Attribute, Column, Constant, NullTest, Output, Query
from streambound.query.model import Kind as RelationKind
from streambound.query.operators import Aggregate, Framing, Grouping, Kind, Over, Ranking, Shown
from streambound.query.ring import BOOLEANS, INTEGERS, Ring
from streambound.query.statement import Block, Selection, Statement
from streambound.query.values import Family, Type
from streambound.query.windows import SESSIONS
from streambound.synopsis import widths
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.extrema import extreme_rows
from streambound.synopsis.facts import facts_of
from streambound.synopsis.flow import (
    Applied,
    Framed,
    Grouped,
    Guarded,
    Hopped,
    Leaf,
    LookedUp,
    Node,
    Ranked,
    Reads,
    Size,
    Sum,
    Times,
    together,
)
from streambound.synopsis.guarded import guarded
from streambound.synopsis.joined import changing, guarded_rows, joined_rows
from streambound.synopsis.keys import exact_key
from streambound.synopsis.looking import ascending, looks, settles
from streambound.synopsis.sizes import rows_within
from streambound.synopsis.statement import PlannedPart, bounded_parts, planned_parts
from streambound.synopsis.table_planner import StaticValues

Values = Callable[[Query], StaticValues]
_DAY = 86_400_000_000


def flow(statement: Statement, values: Values | None = None) -> Node:
    """What is evaluated of a bounded statement.

    Args:
        values: gives the values of the static relations of a query, if they are known.

    Raises:
        PlanError: something of it has no plan.
    """
    statement = with_ranges(statement)
    plain = tuple(b for b in statement.blocks if b.plain)
    plain = tuple(b for b in plain if not (_over_changes(b) or any(map(_changes, b.selections))))
    found: list[Node] = []
    if plain:
        found.append(leaf(replace(statement, blocks=plain), values))
    found += [_block(statement, b, values) for b in statement.blocks if b not in plain]
    return found[0] if len(found) == 1 else Sum(tuple(found))


def _over_changes(block: Block) -> bool:
    """Whether the different rows are asked of rows that may be taken back."""
    relations = (o.relation for s in block.selections for o in s.base.occurrences)
    return block.ring.idempotent and any(relation.fed for relation in relations)


def leaf(statement: Statement, values: Values | None = None) -> Leaf:
    """The leaf of a statement of joins with filters.

    Raises:
        PlanError: it has no plan.
    """
    relations = {o.relation.name: o.relation for o in statement.occurrences if o.relation.fed is not None}
    nodes = {name: flow(r.fed, values) for name, r in relations.items() if r.fed is not None}
    if not nodes:
        parts = planned_parts(bounded_parts(statement), values)
        return Leaf(statement, parts, _times(parts))
    statement = _arriving(statement)
    parts = planned_parts(bounded_parts(statement), values)
    return Leaf(statement, parts, _times_of_fed(statement, nodes), tuple(nodes.items()))


def _arriving(statement: Statement) -> Statement:
    """A statement whose sub-queries' rows arrive, with weights."""

    def of(selection: Selection) -> Selection:
        found = selection.base.occurrences
        made = tuple(replace(o, relation=replace(o.relation, kind=RelationKind.STREAM)) for o in found)
        fed = tuple(m if o.relation.fed else o for o, m in zip(found, made, strict=True))
        return replace(selection, base=replace(selection.base, occurrences=fed))

    blocks = tuple(replace(b, selections=tuple(map(of, b.selections))) for b in statement.blocks)
    return replace(statement, blocks=blocks)


def _times_of_fed(statement: Statement, nodes: Mapping[str, Node]) -> Times:
    """The times of rows of sub-queries that are read alone."""
    found = []
    for selection in statement.selections:
        first = selection.base.occurrences[0].relation
        if len(selection.base.occurrences) > 1 or first.name not in nodes:
            return Times()
        columns = {c.name: n for n, c in enumerate(first.columns)}
        below, spans, scales = nodes[first.name].times, dict[int, tuple[int, int]](), dict[int, int]()
        for position, output in enumerate(selection.base.select):
            if not isinstance(output.term, Attribute):
                continue
            column = output.term.column
            if column in columns and columns[column] in below.spans:
                spans[position] = below.spans[columns[column]]
                if columns[column] in below.scales:
                    scales[position] = below.scales[columns[column]]
            elif (rounded := _rounded_span(selection.base, output.term, columns, below)) is not None:
                spans[position] = rounded
        found.append(Times(spans, below.delay, scales))
    return found[0] if len(found) == 1 else Times()


def _times(parts: Sequence[PlannedPart]) -> Times:
    """The times of the rows of several parts: those of the streams that complete each match."""
    found = [times for part in parts if (times := _of_part(part)) is not None]
    if not found:
        return Times()
    shared = set(found[0].spans).intersection(*(times.spans for times in found))
    spans = {p: (max(t.spans[p][0] for t in found), max(t.spans[p][1] for t in found)) for p in shared}
    return Times(spans, max(times.delay for times in found), found[0].scales)


def _of_part(part: PlannedPart) -> Times | None:
    plan = part.plan
    if isinstance(plan, EndingPlan):
        return Times()
    if plan.empty:
        return None
    query, spans, scales, delay = plan.query, {}, dict[int, int](), 0
    for position, output in enumerate(query.select):
        if isinstance(output.term, Constant) and output.term.value is None:
            # A row without this time: other rows may have it.
            spans[position] = 0, 0
        if not isinstance(output.term, Attribute) or not plan.clock.completes(output.term.occurrence):
            continue
        span = query.span(output.term)
        if span is None:
            continue
        spans[position], delay = span, max(delay, plan.clock.reach(output.term.occurrence))
        if query.type_of(output.term).family is Family.DATE:
            scales[position] = _DAY
    return Times(spans, delay, scales)


def _rounded_span(
    base: Query, attribute: Attribute, columns: Mapping[str, int], below: Times
) -> tuple[int, int] | None:
    """The span of a bucket of the time of a sub-query's rows, which has one itself."""
    moment, own = base.moment(attribute), base.span(attribute)
    inner = None if moment is None else below.spans.get(columns.get(moment[0].column, -1))
    return None if own is None or inner is None else (own[0] + inner[0], own[1] + inner[1])


def _block(statement: Statement, block: Block, values: Values | None) -> Node:
    if isinstance(block.then, Grouping):
        return _grouped(statement, block, block.then, values)
    if isinstance(block.then, Ranking) and block.then.function != "ROW_NUMBER":
        block = _shown_alone(block, block.then)
    positions = range(len(block.selections[0].base.select))
    node = rows(statement, block.selections, positions, values, block.ring)
    if block.then is None:
        return node if isinstance(node, Leaf) or not block.ring.idempotent else _different(node)
    if isinstance(block.then, Ranking):
        return _ranked(node, block.then)
    return _framed(node, block.then)


def _shown_alone(block: Block, then: Ranking) -> Block:
    """A block of ranks without outputs that are neither shown nor sorted by: ties are kept whole."""
    if any(shown.formula for shown in then.shown):
        return block
    used = sorted({*then.partition, *(p for p, _ in then.order), *(p for s in then.shown for p in s.outputs)})
    at = {p: n for n, p in enumerate(used)}
    fewer = replace(
        then,
        partition=tuple(at[p] for p in then.partition),
        order=tuple((at[p], descends) for p, descends in then.order),
        shown=tuple(replace(s, outputs=tuple(at[p] for p in s.outputs)) for s in then.shown),
    )
    selections = (
        replace(s, base=replace(s.base, select=tuple(s.base.select[p] for p in used)))
        for s in block.selections
    )
    return replace(block, selections=tuple(selections), then=fewer)


def _ranked(node: Node, then: Ranking) -> Node:
    each, every = widths.ranked(then, len(node.outputs), node.retracts)
    sizes = [groups(node, node.times, then.partition).times(each)] if each else []
    if every:
        # So many different values has the order of the rows that tie for one of the first ranks.
        ties = 1 if then.keeps_all(node.retracts) else then.last
        free = set() if then.keeps_all(node.retracts) else {p for p, _ in then.order}
        kept = [p for p in range(len(node.outputs)) if p not in free or p in then.partition]
        sizes.append(groups(node, node.times, kept).times(every * ties))
    size = together(sizes)
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    times = node.times.among({s.outputs[0]: n for n, s in enumerate(then.shown) if s.plain and s.outputs})
    return Applied(Ranked(then), (node,), outputs, times, True, size.number, size.formula, size)


def _framed(node: Node, then: Framing) -> Node:
    kinds, columns = [kind for _, kind in node.outputs], len(node.outputs)
    settled = settles(then, node.times, node.retracts)
    sizes = _of_lanes(node, then) if settled else [_of_partitions(node, then).times(columns + 1)]
    size = together(sizes)
    stamps = (p for p, span in node.times.spans.items() if span == (0, 0))
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    times = node.times.among({s.outputs[0]: n for n, s in enumerate(then.shown) if s.plain and s.outputs})
    operation = Framed(then, settled, next(stamps, None))
    return Applied(operation, (node,), outputs, times, True, size.number, size.formula, size)


def _of_partitions(node: Node, then: Framing) -> Size:
    """How many different rows there are where all are kept until what they are partitioned by is over."""
    shared = set.intersection(*(set(over.partition) for over in then.functions))
    return groups(node, node.times.among({p: p for p in shared}), range(len(node.outputs)))


def _of_lanes(node: Node, then: Framing) -> Iterator[Size]:
    """What is kept where functions follow time: the last rows of keys, recent rows, and what is known of others."""
    kinds = [kind for _, kind in node.outputs].__getitem__
    lanes: dict[Any, list[Over]] = {}
    for over in then.functions:
        lanes.setdefault((over.partition, over.order), []).append(ascending(over))
    found = [looks(over, kinds) for overs in lanes.values() for over in overs]
    after = max(one[2] for one in found)
    for (partition, order), overs in lanes.items():
        ahead, back, _, before = zip(*(looks(over, kinds) for over in overs), strict=True)
        own = node.times.among({p: p for p in partition})
        rows_kept = (max(ahead) + max(back)) * (len(node.outputs) + 1)
        pasts = [(over, widths.past(over, kinds)) for over in overs]
        if rows_kept or any(numbers for _, (numbers, _) in pasts):
            keys = groups(node, own, partition)
            yield keys.times(rows_kept + sum(numbers for _, (numbers, _) in pasts))
        for over, (_, each) in pasts:
            if each and over.aggregate is not None:
                yield groups(node, own, dict.fromkeys((*partition, *over.aggregate.arguments))).times(each)
        time = order[0][0]
        seen = max(after, *(length for length in before if length is not None), 0)
        yield groups(node, _longer(node.times, time, seen), range(len(node.outputs))).times(
            len(node.outputs) + 1
        )


def _longer(times: Times, position: int, length: int) -> Times:
    """Times of which only one tells that rows are over, so long after it."""
    before, after = times.spans[position]
    found = times.among({position: position})
    return replace(found, spans={position: (before, after + length * times.scales.get(position, 1))})


def _different(node: Node) -> Node:
    """The different rows of a node: groups by all columns."""
    keys = tuple(range(len(node.outputs)))
    shown = tuple(Shown(name, kind, (n,)) for n, (name, kind) in enumerate(node.outputs))
    number = groups(node, node.times, keys)
    operation = Grouped(Grouping(len(keys), (), shown), keys, (), tuple(kind for _, kind in node.outputs))
    return Applied(operation, (node,), node.outputs, node.times, True, number.number, number.formula, number)


def _sliding(selection: Selection, positions: Iterable[int]) -> dict[int, Column]:
    """The outputs that are edges of windows that overlap."""
    base = selection.base
    terms = {p: base.select[p].term for p in positions}
    columns = {p: base.column(term) for p, term in terms.items() if isinstance(term, Attribute)}
    return {p: column for p, column in columns.items() if column.slide is not None}


def _hopped(
    statement: Statement, selection: Selection, positions: tuple[int, ...], values: Values | None
) -> Node:
    """The rows of a selection, each in each of its windows."""
    base, sliding = selection.base, _sliding(selection, positions)
    compared = {a for atom in selection.atoms for a in atom.attributes}
    if any(base.select[p].term in compared for p in sliding):
        message = "a comparison with windows that overlap cannot be evaluated yet"
        raise PlanError(message, subject=statement.name)
    alike = {(c.bucket, c.slide, c.cumulative) for c in sliding.values()}
    terms = [base.select[p].term for p in sliding]
    stamps = {moment[0] for t in terms if isinstance(t, Attribute) and (moment := base.moment(t))}
    if len(alike) != 1 or len(stamps) != 1:
        message = "several windows that overlap cannot be evaluated together yet"
        raise PlanError(message, subject=statement.name)
    ((size, slide, cumulative),), (stamp,) = alike, stamps
    select = (*(base.select[p] for p in positions), Output("time", stamp))
    wider = replace(selection, base=replace(base, select=select))
    node = _rows(statement, [wider], tuple(range(len(select))), values)
    edges = tuple((n, sliding[p].edge == "end") for n, p in enumerate(positions) if p in sliding)
    operation = Hopped(edges, len(positions), size or 0, slide or 0, cumulative)
    times = node.times.among({p: p for p in range(len(positions))})
    return Applied(operation, (node,), node.outputs[:-1], times, node.retracts, 0)


def _changes(selection: Selection) -> bool:
    """Whether rows of several relations are joined, of which some change."""
    return len(selection.base.occurrences) > 1 and bool(changing(selection.base.occurrences))


def _of_selection(statement: Statement, values: Values | None, selection: Selection) -> Node:
    return rows(statement, [selection], range(len(selection.base.select)), values)


def _kept(node: Node, times: Times) -> Size:
    """How many different rows of a node there are at once that are kept for so long."""
    return groups(node, times or (node.times if node.retracts else times), range(len(node.outputs)))


def rows(
    statement: Statement,
    selections: Iterable[Selection],
    positions: Iterable[int],
    values: Values | None,
    ring: Ring = INTEGERS,
) -> Node:
    """The rows of some selections together, of which some outputs matter.

    Raises:
        PlanError: they have no plan.
    """
    found, kept = list(selections), tuple(positions)
    if any(_sliding(s, kept) for s in found):
        made = [_hopped(statement, s, kept, values) for s in found]
        return made[0] if len(made) == 1 else Sum(tuple(made))
    return _rows(statement, found, kept, values, ring)


def _rows(
    statement: Statement,
    found: Sequence[Selection],
    kept: tuple[int, ...],
    values: Values | None,
    ring: Ring = INTEGERS,
) -> Node:
    plain = [s for s in found if not (s.guards or s.as_of or _changes(s))]
    nodes: list[Node] = []
    if plain:
        nodes.append(leaf(of_rows(statement, plain, ring, kept), values))
    leaves = partial(leaf, values=values)
    for selection in found:
        if selection in plain:
            continue
        base = selection.base
        fewer = replace(base, ring=ring, select=tuple(base.select[p] for p in kept))
        made = replace(selection, base=fewer)
        inner = partial(_of_selection, statement, values)
        changed = changing(selection.occurrences)
        if changed and selection.guards and not selection.as_of:
            nodes.append(guarded_rows(made, inner, _kept))
        elif selection.guards or selection.as_of:
            nodes.append(guarded(statement, made, leaves))
        else:
            nodes.append(joined_rows(made, inner, _kept))
    return nodes[0] if len(nodes) == 1 else Sum(tuple(nodes))


def _grouped(statement: Statement, block: Block, then: Grouping, values: Values | None) -> Node:
    block, time = _with_time(block, then)
    if any(s.base.select[p].within for s in block.selections for p in range(then.keys)):
        raise PlanError(
            "groups by an expression over several streams cannot be evaluated yet", subject=statement.name
        )
    if any(one.formula is not None and one.distinct for one in then.aggregates):
        message = "different values of an expression over several streams cannot be counted yet"
        raise PlanError(message, subject=statement.name)
    # What is shown beside the keys depends on them: the end of a window.
    further = sorted({p for shown in then.shown for p in shown.outputs if p >= then.keys})
    keys = (*range(then.keys), *further)
    block, beside = _with_fed_times(block)
    inputs, reads = _inputs(statement, block, then.aggregates, keys, time, beside, values)
    terms = [block.selections[0].base.select[p].term for p in keys]
    alone = () if then.keys else tuple(t.value for t in terms if isinstance(t, Constant))
    first = inputs[0]
    times = first.times.among({p: p for p in range(len(keys))})
    base = block.selections[0].base
    kinds = tuple(base.type_of(output.term) for output in base.select)
    if then.session is not None:
        times, number = _open_sessions(first, then.session, reads[0] if reads else None, len(keys))
    else:
        number = groups(first, times, range(len(keys)))
    edges = 2 if then.session is not None else len(inputs)
    sizes = [number.times(edges + sum(_width(one, r, kinds, inputs)[0] for one, r in pairs(then, reads)))]
    for one, r in pairs(then, reads):
        if each := _width(one, r, kinds, inputs)[1]:
            places = [r.positions[p] for p in sorted(_read(one))]
            further = [p for p in places if p >= len(keys)]
            with suppress(PlanError):
                values_of_each = groups(inputs[r.input], Times(), further).number
                sizes.append(number.times(each * (values_of_each or 0)))
                continue
            node = inputs[r.input]
            # Rows that are not taken back any more are one value.
            lasting = node.times if node.retracts else times if r.input == 0 else inputs[r.input].times
            wanted = range(len(node.outputs)) if node.retracts else (*range(len(keys)), *further)
            sizes.append(groups(node, lasting, wanted).times(each))
    for node in inputs:
        if node.retracts and node.times:
            # Rows that may be taken back, and the best of the others.
            kept = groups(node, node.times, range(len(node.outputs)))
            sizes.append(kept.times(len(node.outputs) + 1))
            sizes.append(number.times(2 * len(then.aggregates)))
    total = together(sizes)
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    places = {keys.index(s.outputs[0]): n for n, s in enumerate(then.shown) if s.plain and s.outputs}
    return Applied(
        Grouped(then, keys, tuple(reads), kinds, alone),
        tuple(inputs),
        outputs,
        times.among(places),
        True,
        total.number,
        total.formula,
        number,
    )


def pairs(then: Grouping, reads: Sequence[Reads]) -> list[tuple[Aggregate, Reads]]:
    """Each aggregate with what it reads."""
    return list(zip(then.aggregates, reads, strict=True))


def _width(
    aggregate: Aggregate, reads: Reads, kinds: Sequence[Type], inputs: Sequence[Node]
) -> tuple[int, int]:
    if reads.weighed:
        return 2, 0
    if aggregate.function in SESSIONS:
        return 0, 0
    return widths.width(aggregate, kinds.__getitem__, inputs[reads.input].retracts)


def _read(aggregate: Aggregate) -> set[int]:
    """The positions that an aggregate reads."""
    further = {aggregate.by, aggregate.value} - {None}
    return {*aggregate.arguments, *(p for p in further if p is not None)}


def _open_sessions(node: Node, gap: int, reads: Reads | None, keys: int) -> tuple[Times, Size]:
    """How many sessions may be open at once, of rows with so many keys; and the times that end them.

    Raises:
        PlanError: rows of one are taken back, or nothing ends it.
    """
    time = None if reads is None else reads.time
    span = None if time is None else node.times.spans.get(time)
    if time is None or span is None or node.retracts:
        raise PlanError("sessions of rows that change cannot be evaluated yet", subject="query")
    before, after = span
    ends = Times({time: (before, after + gap)}, node.times.delay, node.times.scales)
    try:
        # Of one key they are further apart than the gap.
        number = groups(node, Times(), range(keys)).times(2 + (before + after + node.times.delay) // gap)
    except PlanError:
        number = groups(node, ends, (*range(keys), time))
    return Times(), number


def _with_time(block: Block, then: Grouping) -> tuple[Block, int | None]:
    """A block whose rows have their time as one more output, where that says which is first or last."""
    ordered = (Kind.FIRST, Kind.LAST)
    first = any(one.kind in ordered and one.by is None for one in then.aggregates)
    if not first and then.session is None:
        return block, None
    made = []
    for selection in block.selections:
        base = selection.base
        stamps = [o for o in base.occurrences if o.relation.timestamp is not None]
        if len(base.occurrences) != 1 or not stamps:
            what = "what is first or last" if first else "a session"
            raise PlanError(f"{what} over a join cannot be evaluated yet", subject=base.name)
        time = Output("time", Attribute(stamps[0].alias, str(stamps[0].relation.timestamp)))
        made.append(replace(selection, base=replace(base, select=(*base.select, time))))
    return replace(block, selections=tuple(made)), len(made[0].base.select) - 1


def _with_fed_times(block: Block) -> tuple[Block, tuple[int, ...]]:
    """A block whose rows have the time of the sub-query that they are: it tells what is not taken back."""
    made = []
    for selection in block.selections:
        base = selection.base
        first = base.occurrences[0]
        if len(base.occurrences) != 1 or first.relation.fed is None or first.relation.timestamp is None:
            return block, ()
        time = Output("time", Attribute(first.alias, first.relation.timestamp))
        made.append(replace(selection, base=replace(base, select=(*base.select, time))))
    return replace(block, selections=tuple(made)), (len(made[0].base.select) - 1,)


def _inputs(
    statement: Statement,
    block: Block,
    aggregates: Sequence[Aggregate],
    keys: tuple[int, ...],
    time: int | None,
    beside: tuple[int, ...],
    values: Values | None,
) -> tuple[list[Node], list[Reads]]:
    """The rows that aggregates are computed from, keys first, and from which of them each is.

    They are all the same where those have a plan; else each has what the criterion says is bounded.
    """
    needed = {p for one in aggregates for p in _read(one)}.union(beside, () if time is None else (time,))
    places = [*keys, *sorted(needed.difference(keys))]
    with suppress(PlanError):
        node = rows(statement, block.selections, places, values)
        at = {p: n for n, p in enumerate(places)}
        return [node], [Reads(0, at, None if time is None else at[time])] * len(aggregates)
    if time is not None:
        raise PlanError("what is first or last over a join cannot be evaluated yet", subject=statement.name)
    made = _Inputs(statement, block, keys, values)
    if not aggregates:
        made.rows((), BOOLEANS)
    return made.nodes, [made.reads(one) for one in aggregates]


@dataclass
class _Inputs:
    """The inputs of a grouping whose aggregates are not computed from the same rows."""

    statement: Statement
    block: Block
    keys: tuple[int, ...]
    values: Values | None
    nodes: list[Node] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)

    def reads(self, one: Aggregate) -> Reads:
        """What an aggregate is computed from: of what the criterion says that it is bounded."""
        positions = sorted(_read(one).difference(self.keys))
        if one.distinct or one.idempotent or self._shows_existence(one):
            return self._different(one, tuple(positions))
        if one.kind in (Kind.COUNT, Kind.SUM, Kind.MEAN) and one.function in WEIGHED:
            return self._weighed(one)
        return self._of(positions, self.rows(tuple(positions), INTEGERS))

    def _shows_existence(self, one: Aggregate) -> bool:
        """Whether every match of a group adds the same to a mean, or nothing to a sum (Theorem L)."""
        if one.kind not in (Kind.SUM, Kind.MEAN) or one.function not in WEIGHED:
            return False
        keys = len(self.keys)
        return all(nature(s, one, keys) is Nature.EXISTENCE for s in self.block.selections)

    def _of(self, positions: Sequence[int], number: int) -> Reads:
        return Reads(number, {p: n for n, p in enumerate((*self.keys, *positions))})

    def rows(self, positions: tuple[int, ...], ring: Ring) -> int:
        """The input with some outputs beside the keys."""
        if (positions, ring) not in self.known:
            places = (*self.keys, *positions)
            self._put(
                (positions, ring), rows(self.statement, self.block.selections, places, self.values, ring)
            )
        return self.known[positions, ring]

    def _put(self, key: Any, node: Node) -> None:
        self.known[key] = len(self.nodes)
        self.nodes.append(node)

    def _different(self, one: Aggregate, positions: tuple[int, ...]) -> Reads:
        try:
            return self._of(positions, self.rows(positions, BOOLEANS))
        except PlanError:
            if not one.idempotent or one.by is not None:
                raise
        parts, order = extreme_rows(self.statement, self.block.selections, one, self.keys)
        found = of_rows(self.statement, self.block.selections, BOOLEANS, (*self.keys, *order))
        self._put(one, Leaf(found, parts, _times(parts)))
        return self._of(order, self.known[one])

    def _weighed(self, one: Aggregate) -> Reads:
        """A sum as weights of rows that are keys alone: a number for each product of columns."""
        if one.arguments and one.polynomial is None:
            raise PlanError(f"{one.text} over a join cannot be evaluated yet", subject=self.statement.name)
        counted = self._product((), one.arguments)
        terms = () if one.kind is Kind.COUNT else one.polynomial or ()
        products = tuple((f, self._product(places, one.arguments)) for f, places in terms)
        return Reads(counted, weighed=True, terms=products)

    def _product(self, factors: tuple[int, ...], present: tuple[int, ...]) -> int:
        """The input whose rows weigh a product of outputs, where others are not NULL."""
        key = (tuple(sorted(factors)), present)
        if key not in self.known:
            made = [_weighing(s, factors, present) for s in self.block.selections]
            node = rows(self.statement, [s for s in made if s is not None], self.keys, self.values)
            self._put(key, node)
        return self.known[key]


# What is computed from a number of rows and sums of products.
WEIGHED = ("COUNT", "SUM", "AVG")


def _weighing(selection: Selection, factors: tuple[int, ...], present: tuple[int, ...]) -> Selection | None:
    """A selection whose rows weigh a product of outputs; None where one of them is always NULL."""
    base = selection.base
    terms = [base.select[p].term for p in (*factors, *present)]
    if any(not isinstance(term, Attribute) for term in terms):
        raise PlanError("a sum of constants over a join cannot be evaluated yet", subject=base.name)
    attributes = [term for term in terms if isinstance(term, Attribute)]
    tests = [NullTest(a, False) for a in dict.fromkeys(attributes) if base.nullable(a)]
    weight = tuple(attributes[: len(factors)])
    return filtered(replace(selection, base=replace(base, weight=weight)), tests)


def groups(node: Node, times: Times, positions: Iterable[int]) -> Size:
    """How many different values some positions of the rows of a node have that may still come.

    Raises:
        PlanError: a column has neither finitely many values nor an end.
    """
    kept = tuple(positions)
    if not kept:
        return Size(1)
    if isinstance(node, Sum):
        return together(groups(one, times, kept) for one in node.inputs)
    if isinstance(node, Applied):
        return _of_operation(node, times, kept)
    if node.fed:
        with suppress(PlanError):
            return together(_of_plan(part, Times(), kept) for part in node.parts)
        return _of_fed(node, times, kept)
    return together(_of_plan(part, times, kept) for part in node.parts)


def _of_operation(node: Applied, times: Times, positions: tuple[int, ...]) -> Size:
    if isinstance(node.operation, Guarded):
        places = {p: place for p, place in enumerate(node.operation.shown) if p in positions}
        return groups(node.inputs[0], times.among(places), places.values())
    if isinstance(node.operation, Hopped):
        return groups(node.inputs[0], times, positions)
    lasting = [p for p in positions if p in node.times.spans and p in times.spans]
    if isinstance(node.operation, LookedUp):
        shown, width = node.operation.shown, len(node.inputs[0].outputs)
        if all(shown[p] < width for p in positions):
            return groups(
                node.inputs[0], times.among({p: shown[p] for p in positions}), [shown[p] for p in positions]
            )
        if lasting:
            # What was looked up may be anything: a group for each row.
            length = min(times.spans[p][0] + times.spans[p][1] + times.delay for p in lasting)
            return rows_within(node, length)
    if node.standing is None or (node.times and not lasting):
        raise PlanError("what is grouped again has neither finitely many values nor an end", subject="query")
    if not lasting:
        return node.standing
    # In a longer time there are so many more of them.
    own, asked = (
        min(t.spans[p][0] + t.spans[p][1] + t.delay + 1 for p in lasting) for t in (node.times, times)
    )
    return node.standing.times(max(1, -(-asked // own)))


def _of_fed(node: Leaf, times: Times, positions: tuple[int, ...]) -> Size:
    found = []
    for selection in node.statement.selections:
        inner = dict(node.fed)[selection.base.occurrences[0].relation.name]
        columns = [c.name for c in selection.base.occurrences[0].relation.columns]
        terms = [(p, selection.base.select[p].term) for p in positions]
        places = {p: columns.index(t.column) for p, t in terms if isinstance(t, Attribute)}
        found.append(groups(inner, times.among(places), places.values()))
    return together(found)


def _of_plan(part: PlannedPart, times: Times, positions: tuple[int, ...]) -> Size:
    plan = part.plan
    if isinstance(plan, EndingPlan):
        raise PlanError("groups over streams that end cannot be evaluated yet", subject=part.query.name)
    if plan.empty:
        return Size(0)
    query = plan.query
    facts = facts_of(query, {})
    if facts is None:
        return Size(0)
    number, recent, windows = 1, dict[str, int](), 0
    terms = [(p, query.select[p].term) for p in positions]
    attributes = [(p, term) for p, term in terms if isinstance(term, Attribute)]
    lasting = [(p, term) for p, term in attributes if p in times.spans]
    open_for = min((times.spans[p][0] + times.spans[p][1] + times.delay for p, _ in lasting), default=0)
    for position, term in attributes:
        if position in times.spans:
            continue
        if (key := exact_key(facts, facts.alone, term)) is not None:
            number *= key.size
        elif lasting and plan.clock.completes(term.occurrence):
            recent[term.occurrence] = open_for
        else:
            raise PlanError(f"no plan was found: {term} has no finite number of values", subject=query.name)
    counted = set[tuple[str, int, int | None]]()
    for position, term in lasting:
        before, after = times.spans[position]
        slide = query.column(term).slide
        # Both edges of a window are one time.
        if (window := (term.occurrence, before + after, slide)) in counted:
            continue
        counted.add(window)
        if slide is not None and term.occurrence in recent:
            # Each row is in so many windows.
            number *= -(-(before + after + 1) // slide)
        elif term.occurrence not in recent:
            length = before + after + 1 if before + after else _tick(query, term.occurrence)
            # A month may be shorter than another, but not by half.
            step = slide or (-(-length // 2) if query.column(term).edge == "floor" else length)
            windows = (before + after + times.delay) // step + 1
            number *= windows
    if not recent:
        return Size(number)
    return _of_rows(query, number, recent)


def _of_rows(query: Query, number: int, recent: Mapping[str, int]) -> Size:
    """So many for each row of some streams in the last time."""
    bounds: list[int] = []
    formula = [str(number)] if number > 1 else []
    for alias, length in recent.items():
        relation = query.occurrence(alias).relation
        ticks = length // _tick(query, alias) + 1
        if (most := relation.most(ticks)) is not None:
            bounds.append(most)
        else:
            formula.append(f"{ticks} x rows of {relation.name} per timestamp")
    if len(bounds) == len(recent):
        return Size(number * prod(bounds))
    return Size(None, " x ".join([*(str(b) for b in bounds), *formula]))


def _tick(query: Query, alias: str) -> int:
    column = query.occurrence(alias).relation.timestamp
    return 1 if column is None else Space(query).tick(Attribute(alias, column))
