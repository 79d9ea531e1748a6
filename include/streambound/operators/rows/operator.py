"""What every operation on rows is to those who run it: a fold over signed changes.

Laws: the changes that an operator gives add up to its answer over all rows that it was given, however these
came in batches; equal rows leave equal states; ``load`` of what ``dump`` gave goes on as if nothing had been;
what is not ``standing`` is never taken back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from streambound.plan.flow import Changes as Changes

Row: TypeAlias = tuple[Any, ...]


class Operator(ABC):
    """An operation with what it keeps.

    ``rows`` names what in its dump is a list of lists whose first elements are different: where states are
    kept in pieces, each of these is one.
    """

    rows: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def stored_units(self) -> int:
        """Stored values and counts now."""

    @abstractmethod
    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of its rows that follow from those of each input, which came at one marker or several.

        Rows are encoded; no count in the result is 0.
        """

    def initial(self) -> dict[Row, int]:
        """Its rows before anything came."""
        return {}

    @abstractmethod
    def standing(self, now: int | None, below: Sequence[Changes]) -> Mapping[Row, int]:
        """Of its rows those that may still be taken back, once all until a time (encoded) has come.

        Args:
            below: those of the rows of each input.
        """

    @abstractmethod
    def dump(self) -> Any:
        """What it keeps as plain JSON values (``state.serial.plain``), in canonical order."""

    @abstractmethod
    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""


def difference(before: Iterable[tuple[Row, int]], after: Iterable[tuple[Row, int]]) -> dict[Row, int]:
    """What has changed between two answers.

    >>> difference([(("a",), 1), (("b",), 2)], [(("b",), 3)])
    {('a',): -1, ('b',): 1}
    """
    changes: dict[Row, int] = {}
    for sign, rows in ((-1, before), (1, after)):
        for row, count in rows:
            changes[row] = changes.get(row, 0) + sign * count
    return {row: count for row, count in changes.items() if count}


def added(changes: Iterable[Changes]) -> dict[Row, int]:
    """Changes together, without those that cancel.

    >>> added([{("a",): 1, ("b",): 2}, {("a",): -1}])
    {('b',): 2}
    """
    total: dict[Row, int] = {}
    for change in changes:
        for row, count in change.items():
            total[row] = total.get(row, 0) + count
    return {row: count for row, count in total.items() if count}


def ordering(row: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """A key that sorts encoded rows: by their values from left to right, NULL first.

    >>> sorted([(2,), (None,), (1,)], key=ordering)
    [(None,), (1,), (2,)]
    """
    return tuple((value is not None, 0 if value is None else value) for value in row)
