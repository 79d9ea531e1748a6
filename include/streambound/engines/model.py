"""The words in which an engine is described: operators and their facts, what is kept of each, how that grows.

An engine is a list of rules. Of an operator the first rule of its kind holds whose facts the operator has;
where there is none the engine is not modelled there, which is said by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from streambound.errors import Location


class OperatorKind(Enum):
    """The operators of a logical plan that may keep rows."""

    JOIN = "join"
    SEMI = "semi join"
    ANTI = "anti join"
    AS_OF = "as-of join"
    LOOKUP = "lookup join"
    CLOCK = "filter by the present time"
    GROUP = "GROUP BY"
    DISTINCT = "DISTINCT"
    TOP = "first rows"
    OVER = "OVER"
    PATTERN = "row pattern"
    SORT = "ORDER BY"
    ANSWER = "answer"


class Fact(Enum):
    """What an operator is beyond its kind."""

    # Joins.
    AS_JOIN = "written as SEMI JOIN or ANTI JOIN"
    NO_EQUALITY = "no equality between its sides"
    RANGE = "a range of event times, bounded on both sides"
    BOUNDS = "of the event times one equality, or one lower and one upper bound"
    TIME_EQUALITY = "an equality of event times, or of windows"
    WINDOWS = "equal starts and equal ends of windows"
    PLAIN_RANGE = "a range of columns that are no event times, bounded on both sides"
    ONE_SIDED = "event times that are bounded on one side only"
    OUTER = "rows without a partner are kept"
    NOT_IN = "written as NOT IN"
    STATIC = "one side is a static relation"
    STATIC_KEPT = "of a static relation rows without a partner are kept"
    TABLE = "one side is a table that changes"
    SCALAR = "one side is one row, an aggregate of all"
    # What comes in.
    UPDATES = "its input takes rows back"
    APPEND_ONLY = "its tables are declared append-only"
    UNTIMED = "below it a join keeps its rows, so event times come in no order"
    WAITS = "rows wait for the condition to begin"
    ABOVE_AGGREGATE = "a GROUP BY stands below it"
    ABOVE_DISTINCT = "a DISTINCT stands below it"
    # Groups, ranks and frames.
    WINDOW = "a window is among its keys"
    BOTH_ENDS = "both ends of a window are among its keys, or the window itself"
    WHOLE_WINDOW = "a window itself is among its keys, and not an end of it alone"
    GROUP_WINDOW = "its window is one of GROUP BY itself, and of no table function"
    TIME_FIRST = "an event time, or an end of a window, is the first of its keys"
    ON_CLOSE = "EMIT ON WINDOW CLOSE"
    NO_AGGREGATE = "without an aggregate"
    EVENT_TIME = "an event time is among its keys"
    TIME_FUNCTION = "a monotone function of an event time is among its keys"
    SESSION = "its keys are sessions"
    VALUES = "it counts different values"
    LIST = "it lists the rows of each group"
    EXTREMUM = "it has a least or greatest value"
    MONOTONE = "what it orders only moves to the front: greatest counts, greatest of greatest"
    FIRST = "one row a key"
    UNORDERED = "in no order"
    RANK = "rows of one rank count as one"
    BEYOND = "ranks without an end"
    LIMIT = "no key: LIMIT"
    TIME_ORDER = "in the order of event time"
    BOUNDED = "its frame begins at a fixed number of rows, or time, before a row"
    BY_RANGE = "its frame is a range of the order"
    NEIGHBOUR = "LAG or LEAD"
    ANY_NUMBER = "of a pattern that any number of rows may match"
    # How Spark writes answers, and what of a query is no SQL but calls: those drop duplicates, and semi-join.
    APPEND = "output mode append"
    UPDATE = "output mode update"
    COMPLETE = "output mode complete"
    DEDUPLICATION = "dropDuplicates"
    DATAFRAME = "written as a DataFrame"


class Keeps(Enum):
    """What is kept."""

    NOTHING = "nothing"
    ROWS = "each row"
    DISTINCT_ROWS = "each distinct row of the columns still needed"
    SPAN = "the rows of its range of time"
    WINDOWS = "what is in open windows"
    KEYED_ROWS = "a fixed number of rows of each key"
    VERSIONS = "one version of each key of the table, and the rows up to the watermark"
    ACCUMULATORS = "an accumulator of each group"
    DIFFERENT = "each different row, once"
    VALUES = "each different value of each group"
    INPUT = "every row of each group"
    REFUSED = "refused"


class Growth(Enum):
    """How what is kept grows, from the least to the worst."""

    CONSTANT = "constant"
    UNKNOWN = "unknown"
    TIME = "time"
    KEYS = "keys"
    ROWS = "rows"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """Its place in that order."""
        return _ORDER.index(self)

    @property
    def words(self) -> str:
        """The text as a part of a sentence."""
        return _GROWS[self]


_ORDER = tuple(Growth)
_GROWS = {
    Growth.CONSTANT: "constant",
    Growth.UNKNOWN: "not modelled",
    Growth.TIME: "grows with time",
    Growth.KEYS: "grows with the number of keys",
    Growth.ROWS: "grows with the number of rows",
    Growth.REFUSED: "refused",
}


def worst(growths: Iterable[Growth]) -> Growth:
    """The worst of several; constant without any."""
    return max(growths, key=lambda member: member.rank, default=Growth.CONSTANT)


@dataclass(frozen=True)
class Input:
    """An input of an operator: which of its columns are still needed, and which have no finite domain.

    ``keys`` are those of an equality, or of a group. ``times`` are the columns without a finite domain that
    only grow with time. ``unique`` says whether some columns tell its rows apart, and ``few`` that those have
    finite domains: then there are never more than so many rows. ``endless`` says that rows go on coming,
    ``expires`` that a filter by the present time takes them back. ``most`` is how many different values all
    keys have together, where they are finite and counted.
    """

    name: str
    needed: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    times: frozenset[str] = frozenset()
    unique: bool = False
    few: bool = False
    endless: bool = True
    expires: bool = False
    most: int | None = None

    @property
    def free_keys(self) -> tuple[str, ...]:
        """The keys without a finite domain."""
        return tuple(key for key in self.keys if key in self.free)


@dataclass(frozen=True)
class Operator:
    """An operator of the query, as the text has it: ``text`` says on what, ``over`` which joins stand below
    it, by their places among all operators.
    """

    kind: OperatorKind
    text: str
    inputs: tuple[Input, ...]
    facts: frozenset[Fact] = frozenset()
    location: Location = field(compare=False, default=Location(1, 1))
    over: frozenset[int] = frozenset()


MEASURED, DOCUMENTED, INFERRED = "measured", "documented", "inferred"


@dataclass(frozen=True)
class Source:
    """How a rule is known, and where that can be read."""

    evidence: str
    where: str


@dataclass(frozen=True)
class Rule:
    """What an engine does with an operator of a kind that has all facts of ``when`` and none of ``unless``.

    ``cleans`` says when something of it goes; ``error`` is the engine's own, where it refuses; ``note`` is
    what people run into.
    """

    kind: OperatorKind
    keeps: Keeps
    source: Source
    when: frozenset[Fact] = frozenset()
    unless: frozenset[Fact] = frozenset()
    cleans: str = "never"
    error: str | None = None
    note: str | None = None
    # Whether it needs the event times to be ones of the engine, with watermarks.
    watermarks: bool = False

    @classmethod
    def of(cls, kind: OperatorKind, keeps: Keeps, source: Source, *when: Fact, **further: Any) -> Rule:
        """A rule that asks for some facts."""
        unless = frozenset(further.pop("unless", ()))
        return cls(kind, keeps, source, frozenset(when), unless, **further)

    def fits(self, operator: Operator, mode: frozenset[Fact]) -> bool:
        """Whether it is a rule for that operator, in an output mode."""
        facts = operator.facts | mode
        return self.kind is operator.kind and self.when <= facts and not self.unless & facts


@dataclass(frozen=True)
class Engine:
    """An engine: its rules, in the order in which they are looked at.

    ``version`` is the one that was measured or is documented; None: the documentation is of no version.
    ``watermark`` is how it is told of an event time. ``modes`` are ways to write answers that change what is
    kept, the preferred one first. ``infers`` says whether a filter passes an equality to the other side of a
    join; ``expires`` whether it takes rows back when a filter by the present time ends. ``notes`` hold of
    every query with state that only grows.
    """

    name: str
    title: str
    version: str | None
    rules: tuple[Rule, ...]
    watermark: str
    modes: tuple[Fact, ...] = ()
    infers: bool = True
    expires: bool = False
    notes: tuple[str, ...] = ()


def growth(keeps: Keeps, operator: Operator, expires: bool = False) -> Growth:
    """How what is kept of an operator grows.

    Args:
        expires: whether the engine takes rows back when a filter by the present time ends.
    """
    if keeps is Keeps.REFUSED:
        return Growth.REFUSED
    grown = (operand for operand in operator.inputs if operand.endless and not (expires and operand.expires))
    return worst(_grown(keeps, operand) for operand in grown)


def _grown(keeps: Keeps, operand: Input) -> Growth:
    if operand.few or keeps in (Keeps.NOTHING, Keeps.SPAN, Keeps.WINDOWS):
        return Growth.CONSTANT
    if keeps in (Keeps.ROWS, Keeps.INPUT):
        return Growth.KEYS if operand.unique else Growth.ROWS
    if keeps is Keeps.DISTINCT_ROWS:
        return _of_columns(
            operand,
            operand.free,
            Growth.KEYS if operand.unique or set(operand.free) <= set(operand.keys) else Growth.ROWS,
        )
    if keeps is Keeps.VALUES:
        return _of_columns(operand, operand.free, Growth.KEYS)
    return _of_columns(operand, operand.free_keys, Growth.KEYS)


def _of_columns(operand: Input, free: tuple[str, ...], otherwise: Growth) -> Growth:
    if not free:
        return Growth.CONSTANT
    return Growth.TIME if set(free) <= operand.times and otherwise is Growth.KEYS else otherwise


def most(keeps: Keeps, operator: Operator) -> int | None:
    """The most entries that are kept of an operator whose keys are finite and counted; None if unknown."""
    if keeps is Keeps.NOTHING:
        return 0
    if keeps not in (Keeps.ACCUMULATORS, Keeps.DIFFERENT, Keeps.DISTINCT_ROWS):
        return None
    counted = [operand.most for operand in operator.inputs]
    return None if None in counted else sum(number or 0 for number in counted)
