"""Tuples of one occurrence as symbols: equal symbols mean that no condition tells the tuples apart.

Columns arrive as Arrow arrays in ordered form (see ``encoded_sql``). Each becomes numbers of its distinct
values; values that every table of the plan files alike become one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streambound.errors import DataError
from streambound.plan.model import Condition, Key
from streambound.query.model import Attribute
from streambound.state.automaton import settled
from streambound.state.segments import SegmentPlan
from streambound.state.serial import plain
from streambound.state.table import Values, class_of
from streambound.tasks.encoded_sql import encoded
from streambound.tasks.kernels import absorb, total

Numbers = NDArray[np.int64]
# Integers in a range of this size are numbered by a table, others by hashing.
DENSE = 1 << 20


@dataclass(frozen=True)
class Column:
    """A column as numbers of its distinct encoded values."""

    numbers: Numbers
    values: list[Any]


@dataclass(frozen=True)
class EncodedTuples:
    """The tuples of one occurrence in a segment that can be part of a match, in order of time.

    ``encoding`` number the ``profiles``; of the last stream ``outputs`` number the ``rows`` of its projected
    columns. ``moments`` has the virtual times of all tuples that count.
    """

    moments: Numbers
    times: Numbers
    symbols: Numbers
    profiles: list[Values]
    outputs: Numbers
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Encoder:
    """How the tuples of one occurrence are numbered."""

    plan: SegmentPlan
    alias: str

    @cached_property
    def carried(self) -> tuple[Attribute, ...]:
        """The columns of which tuples consist, in order."""
        return next(s.carried for s in self.plan.plan.streams if s.alias == self.alias)

    @property
    def stamp(self) -> Attribute:
        """The application timestamp."""
        return Attribute(self.alias, str(self.plan.plan.query.occurrence(self.alias).relation.timestamp))

    @cached_property
    def _distinguishing(self) -> dict[Attribute, _Distinguished]:
        return {a: _distinguished(self.plan, a) for a in self.carried}

    def encode(self, moments: Numbers, columns: Sequence[pa.Array]) -> EncodedTuples:
        """The tuples of a segment, by their virtual times."""
        times = moments
        given = {
            self.stamp: pa.array(moments),
            **dict(zip(self.carried, columns, strict=True)),
        }
        classes = [self._distinguishing[a].numbered(given[a]) for a in self.carried]
        symbols, profiles = self._profiles(classes, len(times))
        outputs, rows = _combined([_numbered(given[a]) for a in self._outputs], len(times))
        kept = np.flatnonzero(symbols >= 0) if any(p is None for p in profiles) else slice(None)
        moments_in_order = times if _ordered(times) else np.sort(times)
        times, symbols, outputs = times[kept], symbols[kept], outputs[kept]
        if not _ordered(times):
            order = np.argsort(times, kind="stable")
            times, symbols, outputs = times[order], symbols[order], outputs[order]
        return EncodedTuples(
            moments_in_order, times, symbols, [p for p in profiles if p is not None], outputs, rows
        )

    @property
    def nothing(self) -> EncodedTuples:
        """No tuples at all."""
        none = np.zeros(0, np.int64)
        return EncodedTuples(none, none, none, [], none, [])

    @property
    def _outputs(self) -> tuple[Attribute, ...]:
        return self.plan.outputs if self.alias == self.plan.last else ()

    def _profiles(self, columns: Sequence[Column], size: int) -> tuple[Numbers, list[Values | None]]:
        """Symbols, -1 for tuples that are part of no match; the values of one tuple of each symbol."""
        numbers, rows = _combined(columns, size)
        profiles = [settled(self.plan, self.alias, dict(zip(self.carried, row, strict=True))) for row in rows]
        if all(profile is not None for profile in profiles):
            return numbers, list(profiles)
        among = np.cumsum([profile is not None for profile in profiles]) - 1
        among[[profile is None for profile in profiles]] = -1
        return among[numbers], list(profiles)


@dataclass(frozen=True)
class _Distinguished:
    """What tells the values of a column apart: keys and conditions of tables; ``whole`` if all differ."""

    keys: tuple[Key, ...]
    conditions: tuple[Condition, ...]
    whole: bool

    def numbered(self, array: pa.Array) -> Column:
        column = _numbered(array, self._range)
        if self.whole:
            return column
        classes: dict[Any, int] = {}
        least: list[Any] = []
        profiles = []
        for value in column.values:
            profile = classes.setdefault(self._class(value), len(classes))
            if profile == len(least):
                least.append(value)
            elif value is not None:
                least[profile] = min(value, least[profile])
            profiles.append(profile)
        if len(least) == len(column.values):
            return column
        return Column(np.array(profiles, np.int64)[column.numbers], least)

    def _class(self, value: Any) -> tuple[Any, ...]:
        keys = tuple(class_of(key, value) for key in self.keys)
        return (value is None, *keys, *(value is not None and _meets(c, value) for c in self.conditions))

    @cached_property
    def _range(self) -> tuple[int, int] | None:
        """Integers below the first are told from none, nor are those above the second."""
        edges = [c.value for c in self.conditions]
        for key in self.keys:
            if key.low is None or key.high is None:
                return None
            edges += [key.low, key.high]
        if self.whole or not all(isinstance(edge, int) for edge in edges):
            return None
        low, high = min(edges, default=0), max(edges, default=0)
        return (int(low) - 1, int(high) + 1) if -(2**62) < low <= high < 2**62 else None


def _meets(condition: Condition, value: Any) -> bool:
    return condition.op.holds(value, condition.value)


def _distinguished(plan: SegmentPlan, attribute: Attribute) -> _Distinguished:
    cells = [c for s in plan.profiles if attribute.occurrence in s.streams for c in s.cells]
    keys = dict.fromkeys(k for c in cells for k in c.keys if k.attribute == attribute)
    conditions = dict.fromkeys(o for c in cells for o in c.conditions if o.attribute == attribute)
    whole = any(attribute in pair for c in cells for pair in c.same)
    return _Distinguished(tuple(keys), tuple(conditions), whole)


def _ordered(times: Numbers) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def _numbered(array: pa.Array, limits: tuple[int, int] | None = None) -> Column:
    if pa.types.is_signed_integer(array.type) and not array.null_count and len(array):
        numbers = array.to_numpy(zero_copy_only=False)
        if limits is not None:
            numbers = np.clip(numbers.astype(np.int64, copy=False), *limits)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < DENSE:
            return _by_table(numbers.astype(np.int64, copy=False) - low, low)
        array = pa.array(numbers)
    dictionary = pc.dictionary_encode(array, null_encoding="encode")
    numbers = dictionary.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(numbers, [encoded(value) for value in dictionary.dictionary.to_pylist()])


def _by_table(numbers: Numbers, low: int) -> Column:
    present = np.flatnonzero(np.bincount(numbers))
    if len(present) == present[-1] + 1:
        return Column(numbers, (present + low).tolist())
    profiles = np.zeros(present[-1] + 1, np.int64)
    profiles[present] = np.arange(len(present))
    return Column(profiles[numbers], (present + low).tolist())


def _combined(columns: Sequence[Column], size: int) -> tuple[Numbers, list[tuple[Any, ...]]]:
    """The numbers of the combinations of values that occur, and these."""
    if not columns:
        return np.zeros(size, np.int64), [()] if size else []
    first, *rest = columns
    numbers, rows = first.numbers, [(value,) for value in first.values]
    for column in rest:
        width = max(1, len(column.values))
        cogroup = _numbered(pa.array(numbers * width + column.numbers))
        numbers = cogroup.numbers
        rows = [(*rows[pair // width], column.values[pair % width]) for pair in cogroup.values]
    return numbers, rows


def _hashable(array: pa.Array) -> Numbers:
    if pa.types.is_signed_integer(array.type) and not array.null_count:
        plain: Numbers = array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return plain
    column = _numbered(array)
    hashes = np.array([_hash(value) for value in column.values], np.int64)
    return hashes[column.numbers]


def _hash(value: Any) -> int:
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    digest = hashlib.sha256(json.dumps(plain(value), ensure_ascii=False).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def moments_of(moments: pa.Array) -> Numbers:
    """Timestamps as integers.

    Raises:
        DataError: one is NULL.
    """
    if moments.null_count:
        raise DataError(
            "a row has no application timestamp",
            fix="write the partition again, or exclude it",
        )
    numbers: Numbers = moments.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


def content_of(columns: Sequence[pa.Array]) -> str:
    """A digest of tuples as a bag, whatever their order; from their columns in ordered form."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        absorb(hashes, _hashable(column.cast(pa.int32()) if pa.types.is_date(column.type) else column))
    return f"{len(hashes)}:{total(hashes, np.uint64(1)):016x}{total(hashes, np.uint64(2)):016x}"
