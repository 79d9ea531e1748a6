"""What is done to the rows of a block before they are answers: grouped, ranked, or seen in frames.

The rows are those of the block's selections, added up; positions are those of their outputs, which are the
same in each selection. What is shown may be computed from several of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from streambound.errors import Place
from streambound.query.model import Op
from streambound.query.values import Type


class Kind(Enum):
    """What an aggregate keeps of the rows of its group."""

    # Numbers of rows, and sums of polynomials in their columns (one for each monomial).
    COUNT = "count"
    SUM = "sum"
    # A quotient of sums: AVG, STDDEV, VARIANCE.
    MEAN = "mean"
    LEAST = "least"
    GREATEST = "greatest"
    # Of the earliest or latest row, or of that with the least or greatest value of another column.
    FIRST = "first"
    LAST = "last"
    ANY = "any"
    # The rows themselves.
    LIST = "list"
    # Of fixed size, whatever comes: approximate numbers of different values, approximate quantiles.
    SKETCH = "sketch"


# A sum of monomials, each a factor and the positions that it multiplies.
Polynomial: TypeAlias = tuple[tuple[Fraction, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a group.

    ``arguments`` are the positions that it reads, none of ``COUNT(*)``; ``by`` is the column that tells which
    row is first or last, None: time. ``polynomial`` is what is summed, where it is one.
    """

    kind: Kind
    text: str
    arguments: tuple[int, ...] = ()
    polynomial: Polynomial | None = None
    distinct: bool = False
    by: int | None = None
    place: Place = field(compare=False, default=Place(1, 1))

    @property
    def counts_rows(self) -> bool:
        """Whether it is ``COUNT(*)`` or as good: the number of all rows."""
        return self.kind is Kind.COUNT and not self.arguments


@dataclass(frozen=True)
class Shown:
    """A column of the answer, computed from outputs of the rows and from aggregates (or frames) of them.

    ``plain`` says that it is one of them as it is; else different ones may look the same in it.
    """

    name: str
    type: Type
    outputs: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    plain: bool = True
    # The values that are not shown as they are, and of which different ones can be told all the same.
    told: tuple[int, ...] = ()
    place: Place = field(compare=False, default=Place(1, 1))


@dataclass(frozen=True)
class Test:
    """``aggregate op value`` of HAVING."""

    aggregate: int
    op: Op
    value: Fraction


@dataclass(frozen=True)
class Tests:
    """Tests under AND (``every``) or OR."""

    every: bool
    parts: tuple[Test | Tests, ...]


@dataclass(frozen=True)
class Having:
    """A condition on groups: the aggregates that it reads; ``tests`` where it is made of comparisons."""

    aggregates: tuple[int, ...]
    tests: Test | Tests | None = None
    place: Place = field(compare=False, default=Place(1, 1))


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: the first ``keys`` outputs of each row are its group; none: one group of all rows."""

    keys: int
    aggregates: tuple[Aggregate, ...]
    shown: tuple[Shown, ...]
    having: Having | None = None
    # A session: a group lives until nothing of its other keys came for so long (microseconds, or ticks).
    session: int | None = None


@dataclass(frozen=True)
class Ranking:
    """The rows whose rank among those with the same ``partition`` is ``op limit``; ORDER BY ... LIMIT too.

    ``function`` is ROW_NUMBER, RANK or DENSE_RANK; ``order`` are positions, each with whether it descends,
    none where any rows will do. ``ranked`` says that the rank itself is shown.
    """

    function: str
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]
    op: Op
    limit: int
    shown: tuple[Shown, ...]
    ranked: bool = False


@dataclass(frozen=True)
class Frame:
    """Which rows around a row: by number (``rows``) or by range of the order; None is without an end.

    ``before`` and ``after`` are rows, or microseconds or ticks of time; negative ``after`` ends before it.
    """

    rows: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Over:
    """A window function: its aggregate or its name (``LAG``, ``ROW_NUMBER``), and the frame that it sees."""

    name: str
    aggregate: Aggregate | None
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]
    frame: Frame
    place: Place = field(compare=False, default=Place(1, 1))


@dataclass(frozen=True)
class Framing:
    """Each row with what window functions say of the rows around it."""

    functions: tuple[Over, ...]
    shown: tuple[Shown, ...]


Operator: TypeAlias = Grouping | Ranking | Framing
