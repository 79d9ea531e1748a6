"""Groups as a node: which rows each aggregate is computed from, and how many groups are kept
(``flow.Grouped``; docs/theory.md, Groups).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from streambound.boundedness.aggregation.polynomials import Nature, nature
from streambound.boundedness.criterion.current_time import reads_present
from streambound.boundedness.criterion.questions import filtered, of_rows
from streambound.errors import PlanError
from streambound.plan import widths
from streambound.plan.flow import (
    Applied,
    Grouped,
    Guarded,
    Leaf,
    Measure,
    Node,
    Partial,
    Range,
    Reads,
    Size,
    Sum,
    Times,
    together,
)
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.extrema import extreme_rows
from streambound.plan.trees.first_tuples import counted_join
from streambound.plan.trees.guarded import implied_times, stamps_of
from streambound.plan.trees.joined import changing, guarded_rows, joined_rows
from streambound.plan.trees.row_planner import Planning, changes, computed, kept_rows, rows, times_of
from streambound.plan.trees.sizes import columns_of, each_of, groups
from streambound.query.clock import CLOCK
from streambound.query.column_types import Type, exact_sum, parse_type
from streambound.query.formula import all_of, conjunction
from streambound.query.model import Attribute, Constant, NullTest, Output, Query, RelationKind, Term, is_null
from streambound.query.operators import KEYS, Aggregate, AggregateKind, Grouping, Shown
from streambound.query.ring import BOOLEANS, INTEGERS, Ring
from streambound.query.statement import Block, Selection, Statement
from streambound.query.windows import SESSIONS

# What is computed from a number of rows and sums of products.
WEIGHED = ("COUNT", "SUM", "AVG")


def grouped(statement: Statement, block: Block, then: Grouping, planning: Planning) -> Node:
    text = next((aggregate.text for aggregate in then.aggregates if aggregate.formula is not None), None)
    if text is not None and then.session is not None:
        raise PlanError(f"{text} of sessions cannot be evaluated yet", subject=statement.name)
    block, time = _with_time(block, then)
    # What is shown beside the keys depends on them: the end of a window.
    further = sorted({p for shown in then.shown for p in shown.outputs if p >= then.keys})
    keys = (*range(then.keys), *further)
    block, beside = _with_fed_times(block)
    block, matched = _with_matches(block, then.aggregates)
    beside += matched
    shared = _together(statement, block, then.aggregates, keys, time, beside, planning)
    if shared is not None:
        with suppress(PlanError):
            return _grouped(block, then, keys, *shared)
    try:
        return _grouped(block, then, keys, *_apart(statement, block, then.aggregates, keys, time, planning))
    except PlanError:
        # The time of a row that may be taken back tells until when.
        timed, beside = _with_row_times(block)
        shared = (
            _together(statement, timed, then.aggregates, keys, time, (*matched, *beside), planning)
            if beside
            else None
        )
        if shared is not None:
            return _grouped(timed, then, keys, *shared)
        with suppress(PlanError):
            if (counted := counted_join(statement, block, then, keys, planning)) is not None:
                node, positions = counted
                reads = Reads(0, {p: n for n, p in enumerate(positions)})
                return _grouped(block, then, keys, [node], [reads] * len(then.aggregates))
        raise


def _grouped(
    block: Block, then: Grouping, keys: tuple[int, ...], inputs: list[Node], reads: list[Reads]
) -> Node:
    """Groups of rows that aggregates are computed from.

    Raises:
        PlanError: what is kept has no bound.
    """
    if then.by:
        keys, inputs, reads = _by_computed(then, keys, inputs, reads)
    terms = [block.selections[0].base.select[p].term for p in keys if p < KEYS]
    alone = () if then.keys else tuple(t.value for t in terms if isinstance(t, Constant))
    times = Times.of_any([node.times for node in inputs]).among({p: p for p in range(len(keys))})
    base = block.selections[0].base
    kinds = tuple(base.type_of(output.term) for output in base.select)
    if then.session is not None:
        times, number = _open_sessions(inputs[0], then.session, reads[0] if reads else None, len(keys))
    else:
        # One of the inputs has a row of each group.
        number = max((groups(node, times, range(len(keys))) for node in inputs), key=_extent)
    opens = [_open(node) for node in inputs]
    then = replace(
        then,
        aggregates=tuple(_plainly(aggregate, inputs[r.input], r) for aggregate, r in _pairs(then, reads)),
    )
    reads = [_retracting(aggregate, r, inputs, opens[r.input][1]) for aggregate, r in _pairs(then, reads)]
    kept = _KeptOfGroups(then, reads, inputs, opens, len(keys), times, number, kinds)
    total = together([kept.of_groups(), *kept.of_aggregates(), *kept.of_open_rows()])
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    at = {keys.index(s.outputs[0]): n for n, s in enumerate(then.shown) if s.plain and s.outputs}
    return Applied(
        Grouped(
            then, keys, tuple(reads), kinds, alone, {n: nulls for n, (_, nulls) in enumerate(opens) if nulls}
        ),
        tuple(inputs),
        outputs,
        times.among(at),
        True,
        total.number,
        total.formula,
        number,
    )


@dataclass(frozen=True)
class _KeptOfGroups:
    """What is kept of ``number`` groups with so many ``keys``; ``opens`` are the open rows of inputs.

    Units are stored values and counts.
    """

    then: Grouping
    reads: Sequence[Reads]
    inputs: Sequence[Node]
    opens: Sequence[tuple[Node, frozenset[int]]]
    keys: int
    times: Times
    number: Size
    kinds: tuple[Type, ...]

    def of_groups(self) -> Size:
        """Of each group its counts, and what its aggregates keep whatever its rows are."""
        edges = 2 if self.then.session is not None else len(self.inputs)
        widths = (_width(aggregate, r, self.kinds)[0] for aggregate, r in _pairs(self.then, self.reads))
        return self.number.times(edges + sum(widths))

    def of_aggregates(self) -> Iterator[Size]:
        """Of each different value what aggregates keep that show more than a number of it."""
        for aggregate, r in _pairs(self.then, self.reads):
            if each := _width(aggregate, r, self.kinds)[1]:
                node = self.opens[r.input][0] if _settles(aggregate, r) else self.inputs[r.input]
                positions = [r.positions[p] for p in sorted(_read(aggregate))]
                further = [p for p in positions if p >= self.keys]
                try:
                    size = each_of(self.number, groups(node, Times(), further))
                except PlanError:
                    # Rows that are not taken back any more are one value; but different values are many.
                    lasting = self.inputs[r.input].times
                    if aggregate.distinct or not r.retracts:
                        lasting = lasting.among({p: p for p in range(self.keys)}) if r.input else self.times
                    wanted = range(len(node.outputs)) if r.retracts else (*range(self.keys), *further)
                    size = groups(node, lasting, wanted)
                yield size.times(each)

    def of_open_rows(self) -> Iterator[Size]:
        """The rows that may be taken back, and of each group the best of the others."""
        for position, (node, (may_go, nulls)) in enumerate(zip(self.inputs, self.opens, strict=True)):
            pairs = _pairs(self.then, self.reads)
            settling = sum(r.input == position and _settles(aggregate, r) for aggregate, r in pairs)
            if settling and node.times:
                yield groups(may_go, node.times, range(len(node.outputs))).times(len(node.outputs) + 1)
            if settling and (node.times or nulls):
                yield self.number.times(2 * settling)


def _by_computed(
    then: Grouping, keys: tuple[int, ...], inputs: Sequence[Node], reads: Sequence[Reads]
) -> tuple[tuple[int, ...], list[Node], list[Reads]]:
    """Groups of rows that begin with what they are grouped by, with all of their columns after it."""
    further = range(then.keys, len(keys))
    names = [column.outputs[0] if column.plain else KEYS + n for n, column in enumerate(then.by)]
    names += [keys[position] for position in further]
    made = list[Node]()
    for node in inputs:
        if isinstance(node, Leaf) and node.partial is not None:
            raise PlanError("shares of rows have no columns to compute keys of", subject=node.statement.name)
        columns = [Shown(name, kind, (position,)) for position, (name, kind) in enumerate(node.outputs)]
        shown = (*then.by, *(columns[position] for position in further), *columns)
        made.append(computed(node, shown))
    moved = [
        replace(
            r,
            positions={p: len(names) + position for p, position in r.positions.items()},
            time=None if r.time is None else len(names) + r.time,
        )
        for r in reads
    ]
    return tuple(names), made, moved


def _extent(size: Size) -> tuple[bool, int]:
    return size.number is None, size.number or 0


def _pairs(then: Grouping, reads: Sequence[Reads]) -> list[tuple[Aggregate, Reads]]:
    """Each aggregate with what it reads."""
    return list(zip(then.aggregates, reads, strict=True))


def _open(node: Node) -> tuple[Node, frozenset[int]]:
    """The nodes below one with rows that may be taken back, and the positions that are NULL in all of these.

    Of an outer join only rows without a match are taken back.
    """
    parts = node.inputs if isinstance(node, Sum) else (node,)
    nulls = [_nulls(part) for part in parts if part.retracts]
    shared = frozenset[int]().union(*nulls[:1]).intersection(*nulls)
    if not shared:
        return node, shared
    return Sum(tuple(part for part in parts if not _lasting(part, shared))), shared


def _nulls(node: Node) -> frozenset[int]:
    """The positions of a node with guards that are always NULL."""
    if not isinstance(node, Applied) or not isinstance(node.operation, Guarded):
        return frozenset()
    never = Range(values=frozenset())
    columns = columns_of(node.inputs[0])
    return frozenset(n for n, p in enumerate(node.operation.shown) if columns[p].range == never)


def _lasting(node: Node, nulls: Iterable[int]) -> bool:
    """Whether each row of a node has a value at one of some positions."""
    if not isinstance(node, Leaf) or node.fed:
        return False
    return all(any(_present(part.query, p) for p in nulls) for part in node.parts if not part.plan.empty)


def _present(query: Query, position: int) -> bool:
    term = query.select[position].term
    return term.value is not None if isinstance(term, Constant) else not query.nullable(term)


def _retracting(aggregate: Aggregate, reads: Reads, inputs: Sequence[Node], nulls: frozenset[int]) -> Reads:
    """What an aggregate reads, with whether rows that it does not pass over are taken back."""
    passed = any(reads.positions.get(p) in nulls for p in _passing(aggregate))
    retracts = inputs[reads.input].retracts and not passed
    return replace(reads, retracts=retracts)


def _plainly(aggregate: Aggregate, node: Node, reads: Reads) -> Aggregate:
    """An aggregate of different values, of rows that each come once, as one of all."""
    once = isinstance(node, Leaf) and not node.retracts and node.statement.projection == "eliminating"
    whole = set(reads.positions.values()) == set(range(len(node.outputs)))
    plain = once and whole and aggregate.formula is None
    return replace(aggregate, distinct=False) if plain and aggregate.distinct else aggregate


def _passing(aggregate: Aggregate) -> tuple[int, ...]:
    """The positions of which an aggregate passes over rows that have NULL at any."""
    if aggregate.formula is not None or aggregate.kind in (AggregateKind.FIRST, AggregateKind.LAST):
        return ()
    return aggregate.arguments if aggregate.by is None else (aggregate.by,)


def _settles(aggregate: Aggregate, reads: Reads) -> bool:
    """Whether rows that an aggregate reads are kept until they are not taken back any more."""
    return reads.retracts and not reads.weighed and widths.chooses(aggregate)


def _width(aggregate: Aggregate, reads: Reads, kinds: Sequence[Type]) -> tuple[int, int]:
    if reads.weighed:
        return 2, 0
    if aggregate.function in SESSIONS:
        return 0, 0
    return widths.width(aggregate, kinds.__getitem__, reads.retracts)


def _read(aggregate: Aggregate) -> set[int]:
    """The positions that an aggregate reads."""
    further = {aggregate.by, aggregate.value} - {None}
    return {*aggregate.arguments, *aggregate.further, *(p for p in further if p is not None)}


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
    """A block whose rows have their time as one more output, where that says which is first or last; in
    sessions it is what tells them.
    """
    ordered = (AggregateKind.FIRST, AggregateKind.LAST)
    if not any(aggregate.kind in ordered and aggregate.by is None for aggregate in then.aggregates):
        return block, then.moment
    stamps = []
    for selection in block.selections:
        stamp = _latest(selection)
        named = None if then.moment is None else selection.base.select[then.moment].term
        if stamp is None or (named is not None and named != stamp):
            raise PlanError(
                "what is first or last over such a join cannot be evaluated yet", subject=selection.base.name
            )
        stamps.append(stamp)
    if then.moment is not None:
        return block, then.moment
    block, (time,) = _showing(block, "time", stamps)
    return block, time


def _latest(selection: Selection) -> Attribute | None:
    """The time of the rows of a selection, the latest of their tuples'; None where no stream has it."""
    occurrences = [o for o in selection.base.occurrences if o.relation != CLOCK]
    arriving = [o for o in occurrences if o.relation.kind is not RelationKind.STATIC]
    stamps = [Attribute(o.alias, o.relation.timestamp) for o in arriving if o.relation.timestamp is not None]
    if len(occurrences) == len(stamps) == 1:
        return stamps[0]
    streams = all(o.relation.kind is RelationKind.STREAM and o.relation.fed is None for o in arriving)
    if not streams or len(stamps) != len(arriving):
        return None
    order = {
        (atom.left, atom.right)
        for atom in implied_times(replace(selection, guards=(), as_of=()), selection.base)
        if atom.offset <= 0
    }
    return next(
        (attribute for attribute in stamps if all((o, attribute) in order for o in stamps if o != attribute)),
        None,
    )


def _with_fed_times(block: Block) -> tuple[Block, tuple[int, ...]]:
    """A block whose rows have the time of the sub-query that they are: it tells what is not taken back."""
    stamps = []
    for selection in block.selections:
        first = selection.base.occurrences[0]
        if (
            len(selection.base.occurrences) != 1
            or first.relation.fed is None
            or first.relation.timestamp is None
        ):
            return block, ()
        stamps.append(Attribute(first.alias, first.relation.timestamp))
    return _showing(block, "time", stamps)


def _with_row_times(block: Block) -> tuple[Block, tuple[int, ...]]:
    """A block whose rows have the time of a stream outside of guards, if any of them has guards."""
    stamps = [next(iter(stamps_of(s, ())), None) for s in block.selections]
    if not any(s.guards for s in block.selections) or None in stamps:
        return block, ()
    return _showing(block, "time", [stamp for stamp in stamps if stamp is not None])


def _with_matches(block: Block, aggregates: Iterable[Aggregate]) -> tuple[Block, tuple[int, ...]]:
    """A block whose rows tell whether they have a match, where some may be taken back since they have none,
    and an aggregate that chooses does not tell these apart.
    """
    alone = [any(guard.negated for guard in s.guards) for s in block.selections]
    unmatched = [s.base for s, is_alone in zip(block.selections, alone, strict=True) if is_alone]
    choosing = [aggregate for aggregate in aggregates if widths.chooses(aggregate)]
    apart = all(any(_always_null(unmatched, p) for p in _passing(aggregate)) for aggregate in choosing)
    if apart or not unmatched or all(alone):
        return block, ()
    kind = parse_type("int")
    flags = [Constant(None, "NULL", kind) if is_alone else Constant(1, "1", kind) for is_alone in alone]
    return _showing(block, "matched", flags)


def _always_null(bases: Iterable[Query], position: int) -> bool:
    return all(is_null(base.select[position].term) for base in bases)


def _showing(block: Block, name: str, terms: Sequence[Term]) -> tuple[Block, tuple[int]]:
    """A block whose selections show one more term each, and where."""
    made = []
    for selection, term in zip(block.selections, terms, strict=True):
        base = selection.base
        made.append(replace(selection, base=replace(base, select=(*base.select, Output(name, term)))))
    return replace(block, selections=tuple(made)), (len(made[0].base.select) - 1,)


def _together(
    statement: Statement,
    block: Block,
    aggregates: Sequence[Aggregate],
    keys: tuple[int, ...],
    time: int | None,
    beside: tuple[int, ...],
    planning: Planning,
) -> tuple[list[Node], list[Reads]] | None:
    """The rows, keys first, that all aggregates are computed from, and from which of them each is; None if
    those have no plan.
    """
    needed = {p for aggregate in aggregates for p in _read(aggregate)}.union(
        beside, () if time is None else (time,)
    )
    positions = [*keys, *sorted(needed.difference(keys))]
    with suppress(PlanError):
        node = rows(statement, block.selections, positions, planning)
        if needed.difference(keys) and time is None and not beside and _read_alone(node):
            with suppress(PlanError):
                return _summed(statement, block, aggregates, keys, planning)
        at = {p: n for n, p in enumerate(positions)}
        return [node], [Reads(0, at, None if time is None else at[time])] * len(aggregates)
    return None


def _apart(
    statement: Statement,
    block: Block,
    aggregates: Sequence[Aggregate],
    keys: tuple[int, ...],
    time: int | None,
    planning: Planning,
) -> tuple[list[Node], list[Reads]]:
    """The rows that each aggregate is computed from by itself: what the criterion says is bounded."""
    if time is not None:
        message = "what is first or last, or a session, of rows that have no bound cannot be evaluated yet"
        raise PlanError(message, subject=statement.name)
    made = _Inputs(statement, block, keys, planning)
    if keys and all(any(_nullable(block, p) for p in _passing(aggregate)) for aggregate in aggregates):
        # A group is there also where its aggregates pass over all of its rows.
        made.rows((), BOOLEANS)
    elif not aggregates:
        made.rows((), BOOLEANS)
    return made.nodes, [made.reads(aggregate) for aggregate in aggregates]


def _nullable(block: Block, position: int) -> bool:
    terms = ((s.base, s.base.select[position].term) for s in block.selections)
    return any(base.nullable(term) if isinstance(term, Attribute) else True for base, term in terms)


def _read_alone(node: Node) -> bool:
    """Whether rows are tuples of one stream, of which nothing is kept."""
    if not isinstance(node, Leaf) or node.fed:
        return False
    return all(part.plan.stateless for part in node.parts)


def _summed(
    statement: Statement,
    block: Block,
    aggregates: Sequence[Aggregate],
    keys: tuple[int, ...],
    planning: Planning,
) -> tuple[list[Node], list[Reads]]:
    """The inputs where tuples are read alone: of what can be partially aggregated few rows come, for all such
    aggregates the same.

    Raises:
        PlanError: the rows have no plan.
    """
    made = _Inputs(statement, block, keys, planning)
    positions = sorted(
        {p for aggregate in aggregates if made.partly(aggregate) for p in _read(aggregate)}.difference(keys)
    )
    at = {p: n for n, p in enumerate((*keys, *positions))}
    measures = dict[Measure, int]()
    partly = {
        aggregate: Reads(0, at, measures=_measured(block, aggregate, at, measures))
        for aggregate in aggregates
        if made.partly(aggregate)
    }
    node = rows(statement, block.selections, (*keys, *positions), planning)
    read = {p for measure in measures for p in (*measure.columns, *measure.present)}
    # Where a condition fixes a column its plan has a constant instead; then all rows come.
    if isinstance(node, Leaf) and positions and all(_of_columns(part, read) for part in node.parts):
        node = replace(node, partial=Partial(len(keys), tuple(measures)))
    made.nodes.append(node)
    return made.nodes, [partly.get(aggregate) or made.alone(aggregate) for aggregate in aggregates]


def _of_columns(part: PlannedPart, positions: Iterable[int]) -> bool:
    """Whether some outputs of a part are columns of what it reads."""
    return all(isinstance(part.plan.query.select[p].term, Attribute) for p in positions)


def _measured(
    block: Block, aggregate: Aggregate, at: Mapping[int, int], measures: dict[Measure, int]
) -> tuple[tuple[tuple[Fraction, int], ...], ...]:
    """The terms of each number that is kept of an aggregate; the ``measures`` are behind the rows' number."""
    nullable = sorted(p for p in set(aggregate.arguments) if _nullable(block, p) and not aggregate.idempotent)
    present = tuple(at[p] for p in nullable)

    def term(factor: Fraction, kind: AggregateKind, columns: tuple[int, ...]) -> tuple[Fraction, int]:
        measure = Measure(kind, tuple(at[p] for p in columns), present)
        plain = kind is AggregateKind.COUNT and not present
        return factor, 0 if plain else 1 + measures.setdefault(measure, len(measures))

    if aggregate.idempotent:
        return ((term(Fraction(1), aggregate.kind, aggregate.arguments),),)
    number = (term(Fraction(1), AggregateKind.COUNT, ()),)
    if aggregate.kind is AggregateKind.COUNT:
        return (number,)
    sums = ((factor, tuple(sorted(positions))) for factor, positions in aggregate.polynomial or ())
    return number, tuple(
        term(f, AggregateKind.SUM if positions else AggregateKind.COUNT, positions) for f, positions in sums
    )


@dataclass
class _Inputs:
    """The inputs of a grouping whose aggregates are not computed from the same rows."""

    statement: Statement
    block: Block
    keys: tuple[int, ...]
    planning: Planning
    nodes: list[Node] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)

    def reads(self, aggregate: Aggregate) -> Reads:
        """What an aggregate is computed from: of what the criterion says that it is bounded."""
        positions = sorted(_read(aggregate).difference(self.keys))
        if aggregate.distinct or aggregate.idempotent or self._shows_existence(aggregate):
            return self._different(aggregate, tuple(positions))
        if (
            aggregate.formula is None
            and aggregate.kind in (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.MEAN)
            and aggregate.function in WEIGHED
        ):
            return self._weighed(aggregate)
        return self._of(positions, self.rows(tuple(positions), INTEGERS))

    def alone(self, aggregate: Aggregate) -> Reads:
        """What an aggregate is computed from where any rows may be read: those of its columns."""
        positions = sorted(_read(aggregate).difference(self.keys))
        return self._of(positions, self.rows(tuple(positions), INTEGERS))

    def partly(self, aggregate: Aggregate) -> bool:
        """Whether an aggregate of rows can be computed from those of shares of them, in the tasks exactly."""
        terms = [s.base.select[p].term for s in self.block.selections for p in _read(aggregate)]
        if aggregate.formula is not None or not all(isinstance(term, Attribute) for term in terms):
            return False
        if aggregate.idempotent:
            return self.plain_extremum(aggregate)
        if aggregate.function not in WEIGHED or aggregate.distinct:
            return False
        products = () if aggregate.kind is AggregateKind.COUNT else aggregate.polynomial
        bases = [s.base for s in self.block.selections]
        return products is not None and all(
            exact_sum([base.type_of(base.select[p].term) for p in factors])
            for _, factors in products
            for base in bases
        )

    @staticmethod
    def plain_extremum(aggregate: Aggregate) -> bool:
        """Whether it is the least or greatest value of a column."""
        plain = aggregate.polynomial in (None, ((Fraction(1), aggregate.arguments),))
        return aggregate.by is None and plain and len(aggregate.arguments) == 1

    def _shows_existence(self, aggregate: Aggregate) -> bool:
        """Whether every match of a group adds the same to a mean, or nothing to a sum (Theorem L)."""
        if aggregate.kind not in (AggregateKind.SUM, AggregateKind.MEAN) or aggregate.function not in WEIGHED:
            return False
        keys = len(self.keys)
        return all(nature(s, aggregate, keys) is Nature.EXISTENCE for s in self.block.selections)

    def _of(self, positions: Sequence[int], number: int) -> Reads:
        return Reads(number, {p: n for n, p in enumerate((*self.keys, *positions))})

    def rows(self, positions: tuple[int, ...], ring: Ring, passing: tuple[int, ...] = ()) -> int:
        """The input with some outputs beside the keys, where rows count that are not NULL at others."""
        key = (positions, ring, passing)
        if key not in self.numbers:
            indices, selections = (*self.keys, *positions), self.block.selections
            if ring.idempotent:
                selections = _one_sided(self._present(passing), indices)
            self._put(key, rows(self.statement, selections, indices, self.planning, ring))
        return self.numbers[key]

    def _present(self, positions: tuple[int, ...]) -> tuple[Selection, ...]:
        """The selections in which what an aggregate reads is not always NULL; all if there are none."""
        present = (
            s for s in self.block.selections if not any(is_null(s.base.select[p].term) for p in positions)
        )
        return tuple(present) or self.block.selections

    def _put(self, key: Any, node: Node) -> None:
        self.numbers[key] = len(self.nodes)
        self.nodes.append(node)

    def _different(self, aggregate: Aggregate, positions: tuple[int, ...]) -> Reads:
        try:
            return self._of(positions, self.rows(positions, BOOLEANS, _passing(aggregate)))
        except PlanError:
            if (
                not aggregate.idempotent
                or aggregate.by is not None
                or any(map(reads_present, self.block.selections))
            ):
                raise
        selections = _one_sided(self._present(_passing(aggregate)), (*self.keys, *positions))
        if any(selection.guards or changes(selection) for selection in selections):
            return self._of(positions, self._best(selections, aggregate, positions))
        parts, order = extreme_rows(self.statement, selections, aggregate, self.keys, self.planning.values)
        statement = of_rows(self.statement, selections, BOOLEANS, (*self.keys, *order))
        self._put(aggregate, Leaf(statement, parts, times_of(parts)))
        return self._of(order, self.numbers[aggregate])

    def _best(self, selections: Sequence[Selection], aggregate: Aggregate, positions: tuple[int, ...]) -> int:
        """The input with the extremum of each selection, as far as its guard tells rows apart."""
        if len(positions) != 1 or aggregate.formula is not None or not self.plain_extremum(aggregate):
            raise PlanError(f"no plan was made of {aggregate.text}", subject=self.statement.name)
        indices = (*self.keys, *positions)
        narrow = [
            replace(s, base=replace(s.base, select=tuple(s.base.select[p] for p in indices)))
            for s in selections
        ]
        nodes = tuple(self._best_of(selection, aggregate) for selection in narrow)
        self._put(aggregate, nodes[0] if len(nodes) == 1 else Sum(nodes))
        return self.numbers[aggregate]

    def _best_of(self, selection: Selection, aggregate: Aggregate) -> Node:
        """Of each key, and of what a guard or rows that change ask, the extremum of the last output."""
        if len(selection.guards) > 1 or selection.as_of:
            raise PlanError(f"no plan was made of {aggregate.text}", subject=self.statement.name)
        last, outside = len(selection.base.select) - 1, selection.base.occurrences

        def of(asked: Selection) -> Node:
            if asked.base.occurrences != outside:
                return rows(self.statement, [asked], range(len(asked.base.select)), self.planning)
            return self._grouped_best(asked, last, aggregate)

        if selection.guards:
            return guarded_rows(selection, of, kept_rows)
        if not changes(selection):
            return of(selection)
        value = selection.base.select[last].term
        tables = {o.alias for o in changing(outside)}
        remaining = (*selection.base.select[:last], *(a for atom in selection.atoms for a in atom.attributes))
        if not isinstance(value, Attribute) or value.occurrence in tables or value in remaining:
            raise PlanError(f"no plan was made of {aggregate.text}", subject=self.statement.name)

        def beside(asked: Selection) -> Node:
            """The rows of one side; of that with the value, the best of those that are alike to others."""
            terms = [output.term for output in asked.base.select]
            if value not in terms:
                return rows(self.statement, [asked], range(len(terms)), self.planning)
            return self._grouped_best(asked, terms.index(value), aggregate)

        return joined_rows(selection, beside, kept_rows)

    def _grouped_best(self, selection: Selection, value: int, aggregate: Aggregate) -> Node:
        """Of rows that are alike in all outputs but one, those with the extremum of that."""
        select, then = _extremum(selection.base, value, aggregate)
        block = Block(INTEGERS, (replace(selection, base=replace(selection.base, select=select)),), then)
        return grouped(self.statement, block, then, self.planning)

    def _weighed(self, aggregate: Aggregate) -> Reads:
        """A sum as weights of rows that are keys alone: a number for each product of columns."""
        if aggregate.arguments and aggregate.polynomial is None:
            raise PlanError(
                f"{aggregate.text} over a join cannot be evaluated yet", subject=self.statement.name
            )
        counted = self._product((), aggregate.arguments)
        terms = () if aggregate.kind is AggregateKind.COUNT else aggregate.polynomial or ()
        products = tuple((f, self._product(positions, aggregate.arguments)) for f, positions in terms)
        return Reads(counted, weighed=True, terms=products)

    def _product(self, factors: tuple[int, ...], present: tuple[int, ...]) -> int:
        """The input whose rows weigh a product of outputs, where others are not NULL."""
        present = tuple(p for p in present if _nullable(self.block, p))
        if not factors and not present:
            return self.rows((), INTEGERS)
        key = (tuple(sorted(factors)), present)
        if key not in self.numbers:
            made = [_weighing(s, factors, present) for s in self._present((*factors, *present))]
            node = rows(self.statement, made, self.keys, self.planning)
            self._put(key, node)
        return self.numbers[key]


def _extremum(base: Query, value: int, aggregate: Aggregate) -> tuple[tuple[Output, ...], Grouping]:
    """Groups by the different outputs beside one, which show all where they are, of that one an extremum."""
    kinds = [kind for _, kind in base.outputs]
    keys = dict.fromkeys(output.term for n, output in enumerate(base.select) if n != value)
    if not keys:
        raise PlanError(f"no plan was made of {aggregate.text}", subject=base.name)
    at = {term: n for n, term in enumerate(keys)}
    of = replace(aggregate, arguments=(len(keys),), polynomial=((Fraction(1), (len(keys),)),))
    shown = [
        Shown(output.name, kinds[n], *(((), (0,)) if n == value else ((at[output.term],),)))
        for n, output in enumerate(base.select)
    ]
    select = (*(Output(str(term), term) for term in keys), base.select[value])
    return select, Grouping(len(keys), (of,), tuple(shown))


def _one_sided(selections: Sequence[Selection], positions: Sequence[int]) -> tuple[Selection, ...]:
    """Selections of which different rows are wanted: an outer join that shows one side is that side."""
    remaining = list(selections)
    for left in selections:
        if len(left.guards) != 1 or not left.guards[0].outer:
            continue
        asked = set(conjunction(all_of((left.formula, left.guards[0].formula))) or ())
        terms = [left.base.select[p].term for p in positions]
        for right in remaining:
            alike = [right.base.select[p].term for p in positions] == terms
            if asked and alike and not right.guards and set(conjunction(right.formula) or ()) == asked:
                remaining.remove(right)
                remaining[remaining.index(left)] = replace(left, guards=())
                break
    return tuple(remaining)


def _weighing(selection: Selection, factors: tuple[int, ...], present: tuple[int, ...]) -> Selection:
    """A selection whose rows weigh a product of outputs."""
    base = selection.base
    terms = [base.select[p].term for p in (*factors, *present)]
    if any(not isinstance(term, Attribute) for term in terms):
        raise PlanError("a sum of constants over a join cannot be evaluated yet", subject=base.name)
    attributes = [term for term in terms if isinstance(term, Attribute)]
    tests = [NullTest(a, False) for a in dict.fromkeys(attributes) if base.nullable(a)]
    weight = tuple(attributes[: len(factors)])
    return filtered(replace(selection, base=replace(base, weight=weight)), tests)


def different(node: Node) -> Node:
    """The different rows of a node: groups by all columns."""
    keys = tuple(range(len(node.outputs)))
    shown = tuple(Shown(name, kind, (n,)) for n, (name, kind) in enumerate(node.outputs))
    number = groups(node, node.times, keys)
    operation = Grouped(Grouping(len(keys), (), shown), keys, (), tuple(kind for _, kind in node.outputs))
    retracts = node.retracts
    return Applied(
        operation, (node,), node.outputs, node.times, retracts, number.number, number.formula, number
    )
