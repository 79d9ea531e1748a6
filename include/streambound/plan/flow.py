"""What is evaluated of a statement: a tree of nodes, each with rows that change.

The leaves are joins with filters, whose plans find their rows in bounded state (see ``model``). The nodes
above are *operations*: groups, ranks, frames, guards, the last version of each key. An operation is a fold:
it takes in the signed changes of the rows below it and gives those of its own, whatever made them, so it asks
nothing of tasks, partitions, or an order within a batch. The criteria reduce what an operation must remember
to the same leaves (``boundedness.criterion.questions``), so a bounded statement has leaves that are.

Where rows have a time, what lies behind the latest one seen by more than ``delay`` cannot change any more.
That is told by the rows themselves, not by where a batch ends, so equal histories leave equal states however
they are cut.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from streambound.plan.model import sum_of
from streambound.plan.parts import PlannedPart
from streambound.query.column_types import Type, Value
from streambound.query.formula import Formula
from streambound.query.model import Attribute, Filter, Join, Op, Term
from streambound.query.operators import AggregateKind, Grouping, Ranking, Shown, WindowCalls
from streambound.query.statement import Statement

Outputs: TypeAlias = tuple[tuple[str, Type], ...]
# Encoded rows with how many of them came (or, negative, were taken back).
Changes: TypeAlias = Mapping[tuple[Any, ...], int]


@dataclass(frozen=True)
class Times:
    """Which positions of rows hold a time, and when all rows with such a time have been seen.

    ``spans`` has for a position how far before and after its time the timestamp of the row can be. The row
    may come up to ``delay`` after one with a later timestamp. All are encoded: microseconds, or ticks; what
    is encoded otherwise (days) has its ``scales``. ``written`` has the spans of times that are no such number
    but digits of the calendar, of the year first: ``2026-01``, or 2026. In ``gaps`` some rows have NULL.
    """

    spans: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    delay: int = 0
    scales: Mapping[int, int] = field(default_factory=dict)
    written: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    gaps: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.spans) or bool(self.written)

    @property
    def every(self) -> Mapping[int, tuple[int, int]]:
        """The spans of all positions that hold a time."""
        return {**self.spans, **self.written} if self.written else self.spans

    def seen(self, row: tuple[Any, ...]) -> int | None:
        """The least that the timestamp of a row (encoded) can be, as far as its times tell; None: nothing."""
        earliest = None
        for position, (before, _) in self.every.items():
            if (value := row[position]) is not None:
                least = self._at(value, position) - before
                if earliest is None or least > earliest:
                    earliest = least
        return earliest

    def lag(self, position: int) -> int | None:
        """How much less than ``seen`` a time (scaled) of rows that come may be; None: it may be anything."""
        span = self.spans.get(position)
        return None if span is None else span[1] + self.delay

    def end(self, row: tuple[Any, ...]) -> int | None:
        """After a row of which ``seen`` is greater, none with these times comes; None: one always may."""
        latest = None
        for position, (_, after) in self.every.items():
            if (value := row[position]) is not None:
                most = self._at(value, position) + after + self.delay
                if latest is None or most < latest:
                    latest = most
        return latest

    def over(self, row: tuple[Any, ...], now: int | None) -> bool:
        """Whether no row with these times comes after all that there is until a time (encoded)."""
        end = self.end(row)
        return end is not None and now is not None and end <= now

    def _at(self, value: Any, position: int) -> int:
        if position in self.written:
            return microseconds_of(str(value))
        return int(value) * self.scales.get(position, 1)

    def among(self, positions: Mapping[int, int]) -> Times:
        """The times of rows of which only some positions are left, under other numbers."""
        spans, written = (
            {positions[p]: span for p, span in mapping.items() if p in positions}
            for mapping in (self.spans, self.written)
        )
        scales = {positions[p]: n for p, n in self.scales.items() if p in positions}
        gaps = frozenset(n for p, n in positions.items() if p in self.gaps)
        return Times(spans, self.delay, scales, written, gaps)

    @classmethod
    def of_any(cls, every: Sequence[Times]) -> Times:
        """The times of rows of which each has some of these: the positions that all have."""

        def widest(mappings: Sequence[Mapping[int, tuple[int, int]]]) -> dict[int, tuple[int, int]]:
            shared = set(mappings[0]).intersection(*mappings)
            return {
                p: (max(mapping[p][0] for mapping in mappings), max(mapping[p][1] for mapping in mappings))
                for p in shared
            }

        return cls(
            widest([times.spans for times in every]),
            max(times.delay for times in every),
            every[0].scales,
            widest([times.written for times in every]),
            frozenset().union(*(times.gaps for times in every)),
        )


@lru_cache(maxsize=4096)
def microseconds_of(written: str) -> int:
    """The moment at which what is written as digits of the calendar begins, the year first.

    >>> microseconds_of("1970-01-02 03"), microseconds_of("1970")
    (97200000000, 0)
    """
    digits = "".join(c for c in written if c.isdigit())
    parts = [int(digits[:4])] + [int(digits[n : n + 2]) for n in range(4, len(digits), 2)]
    moment = dt.datetime(*(*parts, 1, 1)[: max(3, len(parts))])  # type: ignore[arg-type]
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Size:
    """How many of something there are at most: a number, or (None) by a formula."""

    number: int | None
    formula: str = ""

    def times(self, width: int) -> Size:
        """The size of what takes so many for each."""
        if self.number is not None:
            return Size(self.number * width)
        return Size(None, f"{width} x {self.formula}" if width > 1 else self.formula)


def together(sizes: Iterable[Size]) -> Size:
    """The size of several things."""
    present = [size for size in sizes if size.number != 0]
    if all(size.number is not None for size in present):
        return Size(sum(size.number or 0 for size in present))
    return Size(None, sum_of(size.formula or str(size.number) for size in present))


@dataclass(frozen=True)
class First:
    """Rows of the first places of each partition in an ``order`` (True: it falls), NULL the least."""

    partition: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]
    number: int


@dataclass(frozen=True)
class Measure:
    """What rows come to: how many of them there are (COUNT), the sum of the products of columns (SUM), or the
    least or greatest value of one; of those rows alone in which all that is ``present`` is not NULL.

    All are positions in the rows.
    """

    kind: AggregateKind
    columns: tuple[int, ...] = ()
    present: tuple[int, ...] = ()


@dataclass(frozen=True)
class Partial:
    """Partial aggregation: rows alike in the first ``keys`` positions may come as one, of these alone, which
    weighs what they come to (``Measured``).
    """

    keys: int
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Measured:
    """The weight of rows that come as one: for each share of them its number and the value of each measure.

    They are not taken back, so there is no zero.
    """

    partials: tuple[tuple[Any, ...], ...]

    def __add__(self, measured: Measured | int) -> Measured:
        return Measured(self.partials + measured.partials) if isinstance(measured, Measured) else self

    __radd__ = __add__


@dataclass(frozen=True)
class Leaf:
    """A block of joins with filters: its parts, planned; ``fed`` are the nodes whose rows a relation has.

    Of rows that differ in the position ``best`` alone only the one with the least (True) or the greatest
    value there matters, so the others may be left out: nothing depends on whether they are. Of ``first`` the
    same is true of rows behind so many different places in an order. Rows may come by ``partial``
    aggregation.
    """

    statement: Statement
    parts: tuple[PlannedPart, ...]
    times: Times
    fed: tuple[tuple[str, Node], ...] = ()
    best: tuple[int, bool] | None = None
    first: First | None = None
    partial: Partial | None = None

    @property
    def outputs(self) -> Outputs:
        """Names and types of its rows."""
        return self.statement.outputs

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it is fed with."""
        return tuple(node for _, node in self.fed)

    @property
    def static(self) -> bool:
        """Whether all of its rows are there before anything comes: those of static relations."""
        return not self.statement.arriving

    @property
    def retracts(self) -> bool:
        """Whether rows are taken back."""
        return any(node.retracts for _, node in self.fed)


@dataclass(frozen=True)
class Sum:
    """The rows of several nodes together."""

    inputs: tuple[Node, ...]

    @property
    def outputs(self) -> Outputs:
        """Names and types of its rows: those of the first node."""
        return self.inputs[0].outputs

    @property
    def times(self) -> Times:
        """The positions that hold a time in the rows of each node."""
        return Times.of_any([node.times for node in self.inputs])

    @property
    def retracts(self) -> bool:
        """Whether rows are taken back."""
        return any(node.retracts for node in self.inputs)


@dataclass(frozen=True)
class Applied:
    """An operation on the rows of nodes.

    ``max_units`` are the values and counts that it keeps in the worst case, beside those below it; None if
    that depends on what is not declared: then ``formula`` says on what. ``standing`` is how many of its
    rows may still change or be taken back, where that is known.
    """

    operation: Operation
    inputs: tuple[Node, ...]
    outputs: Outputs
    times: Times
    retracts: bool = True
    max_units: int | None = None
    formula: str = ""
    standing: Size | None = None


Node: TypeAlias = Leaf | Sum | Applied


@dataclass(frozen=True)
class Grouped:
    """Groups, by rows that begin with the ``keys``: see ``operators.grouping.groups``.

    They are the outputs that ``then`` groups by, and those that depend on them (the end of a window).
    ``reads`` has for each aggregate the input whose rows it is computed from, and the positions there of its
    arguments, of what it is chosen ``by`` and of the ``value`` that it shows.
    """

    then: Grouping
    keys: tuple[int, ...]
    reads: tuple[Reads, ...]
    # The types of the outputs.
    kinds: tuple[Type, ...]
    # The keys of the one group that there is without any row: constants, if ``then`` groups by nothing.
    alone: tuple[Value | None, ...] = ()
    # Of some inputs, positions that are NULL in all rows that may be taken back.
    nulls: Mapping[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reads:
    """From which rows an aggregate is computed: the number of the input, and positions in its rows.

    Of a sum over a join the rows are keys alone, and weigh what is summed: each of the ``terms`` is a factor
    and the input whose weights are products of columns; the weights of ``input`` are then numbers of rows.
    Of rows that came by partial aggregation ``measures`` has for each number that is kept its terms: each a
    factor and a place in a share.
    """

    input: int
    positions: Mapping[int, int] = field(default_factory=dict)
    # Where the time of a row is, for what is first or last.
    time: int | None = None
    weighed: bool = False
    terms: tuple[tuple[Fraction, int], ...] = ()
    # Whether rows that the aggregate does not pass over are taken back.
    retracts: bool = False
    measures: tuple[tuple[tuple[Fraction, int], ...], ...] = ()


@dataclass(frozen=True)
class Ranked:
    """The rows of some ranks: see ``operators.ordering.ranks``."""

    then: Ranking


@dataclass(frozen=True)
class WindowFunctions:
    """Rows with what window functions say of those around them: see ``operators.ordering.frames``."""

    then: WindowCalls
    # Whether that is settled some time after a row (see ``frame_reach``): else all rows are kept.
    settles: bool
    # Where the time of a row is, for what is first or last.
    time: int | None = None


@dataclass(frozen=True)
class Range:
    """The values that a column has at most: an interval (None: open on that side), and perhaps a list."""

    low: Value | None = None
    high: Value | None = None
    values: frozenset[Value] | None = None

    def holds(self, value: Any) -> bool:
        """Whether a value that is not NULL is among them."""
        below = self.low is not None and value < self.low
        above = self.high is not None and value > self.high
        return not below and not above and (self.values is None or value in self.values)


@dataclass(frozen=True)
class Sought:
    """A guard: rows pass that have a match among the rows of an input of its own, or (``negated``) have none.

    The attributes of ``formula`` are at the positions ``outer`` in the rows, or ``inner`` in those of the
    input; a row that has a match, or is one, lies in the ranges of its columns. ``static`` says that none of
    the input's rows comes later: all are there from the start.
    """

    formula: Formula
    negated: bool
    outer: Mapping[Attribute, int]
    inner: Mapping[Attribute, int]
    outer_ranges: Mapping[int, Range] = field(default_factory=dict)
    inner_ranges: Mapping[int, Range] = field(default_factory=dict)
    static: bool = False


@dataclass(frozen=True)
class Guarded:
    """Of the rows of the first input the positions ``shown``, where all guards let them pass (see
    ``operators.joining.guards``); the other inputs are those of the guards, in order.

    Where it is ``distinct``, it only counts whether a row is there. Where the rows of the first input are
    ``static``, all there before anything comes, nothing is kept of those of the guards.
    """

    shown: tuple[int, ...]
    sought: tuple[Sought, ...]
    distinct: bool = False
    static: bool = False


@dataclass(frozen=True)
class LookedUp:
    """With each row of the first input the last tuples of the second before its time, an as-of join (see
    ``operators.joining.versions``), or (``ahead``) the first from then on (``operators.joining.waiting``).

    Positions are those of a time in the rows (``left``) and the tuples (``right``), of columns that are equal
    (``keys``, those of the rows first, with the ``ranges`` of theirs), and of what is ``kept`` of a tuple.
    ``where`` is asked of a tuple, its attributes at ``outer`` and ``inner``. In a row with what is kept of a
    tuple ``formula`` must hold, over ``columns``, and the positions ``shown`` are the result. A row that
    waits is kept with its time where that is asked again (``timely``).
    """

    keys: tuple[tuple[int, int], ...]
    ranges: tuple[Range, ...]
    left: int
    right: int
    strict: bool
    tolerance: int | None
    outer_join: bool
    where: Formula
    outer: Mapping[Attribute, int]
    inner: Mapping[Attribute, int]
    kept: tuple[int, ...]
    formula: Formula
    columns: Mapping[Attribute, int]
    shown: tuple[int, ...]
    ahead: bool = False
    timely: bool = False


@dataclass(frozen=True)
class Side:
    """A side of a join of rows that change: the columns of its rows, and until when a row is kept.

    Where some columns are ``past`` by then, a row is kept without them: they are before all that comes.
    """

    columns: tuple[Attribute, ...]
    times: Times = field(default_factory=Times)
    past: tuple[int, ...] = ()


@dataclass(frozen=True)
class Joined:
    """Rows of all inputs that meet conditions: see ``operators.joining.joins``.

    ``shown`` is what is shown of the rows together; or (``matched`` is not None) the first columns of the
    rows of the first side that meet some of the second, or none.
    """

    sides: tuple[Side, ...]
    where: tuple[Formula, ...]
    shown: tuple[Term, ...]
    matched: bool | None = None


@dataclass(frozen=True)
class Computed:
    """What rows show, where it is computed of several columns of each: see ``operators.computing``.

    Values are less by the ``shifts`` of their positions, and ``shown`` (if not empty) is over these.
    """

    shown: tuple[Shown, ...]
    shifts: Mapping[int, int | Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Hopped:
    """Each row in each of its windows: see ``operators.grouping.hops``.

    A row has the ``edges`` (positions, each with whether it is an end) of its last window of length ``size``,
    and its own time last; each other window is ``slide`` before the next, or (``cumulative``) ends so much
    before it.
    """

    edges: tuple[tuple[int, bool], ...]
    time: int
    size: int
    slide: int
    cumulative: bool = False


@dataclass(frozen=True)
class Irredundant:
    """The different rows of a join: see ``operators.joining.irredundant``.

    ``occurrences`` are its aliases, each with the input whose rows are its tuples; ``positions`` has for each
    column a position there, and what is added to the value. Of each input ``stamps`` is the position of a
    time that is compared, with offsets below ``longest``. Numbers are multiples of ``resolution`` (None: of
    nothing); by input and position, values may be ``nullable``, or lie ``within`` (None: open on that side).
    """

    occurrences: tuple[tuple[str, int], ...]
    atoms: tuple[Filter | Join, ...]
    select: tuple[Term, ...]
    positions: Mapping[Attribute, tuple[int, int]]
    stamps: tuple[int | None, ...]
    longest: int
    resolution: Fraction | None
    nullable: frozenset[tuple[int, int]]
    within: Mapping[tuple[int, int], tuple[Value | None, Value | None]]


@dataclass(frozen=True)
class Settled:
    """The rows of the first input, each once: when nothing takes it back any more (see
    ``operators.settled``). The rows of the others have their times alone, and tell how far time is.
    """


@dataclass(frozen=True)
class Moment:
    """A comparison of the time at a position of a row with the present time, plus an offset."""

    position: int
    op: Op
    offset: int


@dataclass(frozen=True)
class TimeFiltered:
    """The rows of the first input while all ``moments`` hold; see ``operators.time_filters``.

    The second has the present time, the greatest of its rows. Of a row the first ``width`` columns are shown.
    """

    moments: tuple[Moment, ...]
    width: int


Operation: TypeAlias = (
    Grouped
    | Ranked
    | WindowFunctions
    | Guarded
    | LookedUp
    | Joined
    | Computed
    | Hopped
    | TimeFiltered
    | Irredundant
    | Settled
)


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, those below first."""
    for child in node.inputs:
        yield from nodes(child)
    yield node


def leaves(node: Node) -> Iterator[Leaf]:
    """The leaves of a tree, in the order of ``nodes``."""
    return (item for item in nodes(node) if isinstance(item, Leaf))


def units_of(node: Node) -> int | None:
    """Stored values and counts of a tree in the worst case; None if there is no number."""
    each_units: list[int | None] = []
    for below in nodes(node):
        if isinstance(below, Applied):
            each_units.append(below.max_units)
        if isinstance(below, Leaf):
            each_units += [part.plan.max_units for part in below.parts]
    numbers = [units for units in each_units if units is not None]
    return sum(numbers) if len(numbers) == len(each_units) else None


def formula_of(node: Node) -> str | None:
    """The units of a tree where they depend on what is not declared; else None."""
    if units_of(node) is not None:
        return None
    parts = [part.plan for leaf in leaves(node) for part in leaf.parts]
    applied = [below for below in nodes(node) if isinstance(below, Applied)]
    sized = [units for units in (*(p.max_units for p in parts), *(a.max_units for a in applied)) if units]
    open_ended = [p.formula for p in parts if p.max_units is None]
    open_ended += [a.formula for a in applied if a.max_units is None]
    return sum_of([str(sum(sized))] * bool(sized) + open_ended)
