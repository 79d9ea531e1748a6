"""What is evaluated of a statement: a tree of nodes, each with rows that change.

The leaves are joins with filters, whose plans find their rows in bounded state (see ``plan``). The nodes above
are *operations*: groups, ranks, frames, guards, the last version of each key. An operation is a fold: it takes
in the signed changes of the rows below it and gives those of its own, whatever made them, so it asks nothing of
tasks, partitions, or an order within a batch. The criteria reduce what an operation must remember to the same
leaves (``boundedness.questions``), so a bounded statement has leaves that are.

Where rows have a time, what lies behind the latest one seen by more than ``delay`` cannot change any more. That
is told by the rows themselves, not by where a batch ends, so equal histories leave equal states however they
are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from streambound.query.formula import Formula
from streambound.query.model import Attribute
from streambound.query.operators import Framing, Grouping, Ranking
from streambound.query.statement import Statement
from streambound.query.values import Type, Value
from streambound.synopsis.statement import PlannedPart

Outputs: TypeAlias = tuple[tuple[str, Type], ...]


@dataclass(frozen=True)
class Times:
    """Which positions of rows hold a time, and when rows with such a time have all been seen.

    A time is at most ``widths`` of its position away from the timestamp of its row, which may come up to
    ``delay`` after one with a later timestamp. Both are encoded: microseconds, or ticks.
    """

    widths: Mapping[int, int] = field(default_factory=dict)
    delay: int = 0

    def __bool__(self) -> bool:
        return bool(self.widths)

    def seen(self, row: tuple[object, ...]) -> int | None:
        """The least that the timestamp of a row (encoded) can be, as far as its times tell; None: nothing."""
        known = (int(row[p]) - w for p, w in self.widths.items() if isinstance(row[p], int))  # type: ignore[call-overload]
        return max(known, default=None)

    def lag(self, position: int) -> int | None:
        """How much less than ``seen`` a time (scaled) of rows that come may be; None: it may be anything."""
        width = self.widths.get(position)
        return None if width is None else width + self.delay

    def among(self, positions: Mapping[int, int]) -> Times:
        """The times of rows of which only some positions are left, under other numbers."""
        return Times({positions[p]: w for p, w in self.widths.items() if p in positions}, self.delay)

    @property
    def scales(self) -> Mapping[int, int]:
        """What times that are not encoded as timestamps are multiplied by."""
        return {}

    def end(self, row: tuple[object, ...]) -> int | None:
        """The greatest ``seen`` after which no row with one of these times comes; None: it may always."""
        known = (int(row[p]) + w for p, w in self.widths.items() if isinstance(row[p], int))  # type: ignore[call-overload]
        last = min(known, default=None)
        return None if last is None else last + self.delay


@dataclass(frozen=True)
class Leaf:
    """A block of joins with filters: its parts, planned; ``fed`` are the nodes whose rows a relation has."""

    statement: Statement
    parts: tuple[PlannedPart, ...]
    times: Times = field(default_factory=Times)
    fed: tuple[tuple[str, Node], ...] = ()

    @property
    def outputs(self) -> Outputs:
        """Names and types of its rows."""
        return self.statement.outputs

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
        every = [node.times for node in self.inputs]
        shared = set(every[0].widths).intersection(*(t.widths for t in every))
        return Times({p: max(t.widths[p] for t in every) for p in shared}, max(t.delay for t in every))

    @property
    def retracts(self) -> bool:
        """Whether rows are taken back."""
        return any(node.retracts for node in self.inputs)


@dataclass(frozen=True)
class Applied:
    """An operation on the rows of nodes.

    ``units`` are the values and counts that it keeps in the worst case, beside those below it; None if that
    depends on what is not declared: then ``formula`` says on what.
    """

    operation: Operation
    inputs: tuple[Node, ...]
    outputs: Outputs
    times: Times
    retracts: bool = True
    units: int | None = None
    formula: str = ""


Node: TypeAlias = Leaf | Sum | Applied


@dataclass(frozen=True)
class Grouped:
    """Groups, by rows that begin with the keys of ``then``: see ``evaluation.operators.groups``.

    ``reads`` has for each aggregate the input whose rows it is computed from, and the positions there of its
    arguments, of what it is chosen ``by`` and of the ``value`` that it shows.
    """

    then: Grouping
    reads: tuple[Reads, ...]


@dataclass(frozen=True)
class Reads:
    """From which rows an aggregate is computed: the number of the input, and positions in its rows."""

    input: int
    positions: Mapping[int, int]


@dataclass(frozen=True)
class Ranked:
    """The rows of some ranks: see ``evaluation.operators.ranks``."""

    then: Ranking


@dataclass(frozen=True)
class Framed:
    """Rows with what window functions say of those around them: see ``evaluation.operators.frames``."""

    then: Framing


@dataclass(frozen=True)
class Range:
    """The values that a column has at most: an interval (None: open on that side), and a list if there is one."""

    low: Value | None = None
    high: Value | None = None
    values: frozenset[Value] | None = None


@dataclass(frozen=True)
class Sought:
    """A guard: rows pass that have a match among the rows of an input of its own, or (``negated``) have none.

    The attributes of ``formula`` are at the positions ``outer`` in the rows, or ``inner`` in those of the
    input. ``ranges`` are of columns of either by their positions. ``known`` says that none of the input's rows
    comes later: all are there from the start.
    """

    formula: Formula
    negated: bool
    outer: Mapping[Attribute, int]
    inner: Mapping[Attribute, int]
    outer_ranges: Mapping[int, Range] = field(default_factory=dict)
    inner_ranges: Mapping[int, Range] = field(default_factory=dict)
    known: bool = False


@dataclass(frozen=True)
class Guarded:
    """Of the rows of the first input the positions ``shown``, where all guards let them pass (see
    ``evaluation.operators.guards``); the other inputs are those of the guards, in order."""

    shown: tuple[int, ...]
    sought: tuple[Sought, ...]


Operation: TypeAlias = Grouped | Ranked | Framed | Guarded


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, those below first."""
    below = [other for _, other in node.fed] if isinstance(node, Leaf) else node.inputs
    for other in below:
        yield from nodes(other)
    yield node
