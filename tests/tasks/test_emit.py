"""The digest of answer rows is that of its definition, whatever the types and multiplicities."""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound.tasks import emit

POOLS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [0, 1, -5, 2**62, None]),
    (pa.string(), ["", "a", 'q"x', "\\", "\u00fc\n", None]),
    (pa.float64(), [0.0, -0.0, 1.5, math.nan, math.inf, None]),
    (pa.float32(), [0.5, 0.1, None]),
    (pa.bool_(), [True, False, None]),
    (pa.date32(), [0, 5, None]),
    (pa.timestamp("us", tz="UTC"), [0, 7, None]),
    (pa.decimal128(5, 2), [Decimal("1.20"), Decimal("0.00"), Decimal("-3.10"), None]),
    (pa.decimal128(38, 10), [Decimal("1E-10"), Decimal(0), None]),
]


def as_json(array: pa.Array) -> list[Any]:
    """A column as JSON holds its values."""
    if types.is_floating(array.type):
        return [None if value is None else (value + 0.0).hex() for value in array.to_pylist()]
    if types.is_timestamp(array.type) or types.is_date32(array.type):
        array = array.cast(pa.int64() if types.is_timestamp(array.type) else pa.int32())
    found: list[Any] = array.cast(pa.string() if types.is_decimal(array.type) else array.type).to_pylist()
    return found


def defined(batch: pa.RecordBatch) -> emit.Digest:
    """Row by row: the sum of multiplicity times SHA-256."""
    *columns, counts = batch.columns
    hashed, number = 0, 0
    for *row, count in zip(*map(as_json, columns), counts.to_pylist(), strict=True):
        text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
        hashed += int(count) * int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        number += int(count)
    return emit.Digest(batch.num_rows, number, hashed % 2**256)


@settings(max_examples=settings.default.max_examples * 2)
@given(data=st.data())
def test_a_digest_is_that_of_its_definition(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 6))
    chosen = data.draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=4))
    lists = [data.draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size)) for _, pool in chosen]
    columns = [pa.array(values, kind) for values, (kind, _) in zip(lists, chosen, strict=True)]
    numbers = data.draw(st.sampled_from([[1], [1, -2, 2**15 - 1], [1, -(2**15), 2**15], [1, 2, 10**30]]))
    counts = data.draw(st.lists(st.sampled_from(numbers), min_size=size, max_size=size))
    columns.append(pa.array(list(map(Decimal, counts)), emit.COUNTS))
    batch = pa.RecordBatch.from_arrays(columns, [str(position) for position in range(len(columns))])
    assert emit.digest([batch]) == defined(batch)


def test_many_rows_are_hashed_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit, "HASHED", 3)
    counts = pa.array([Decimal(1)] * 10, emit.COUNTS)
    batch = pa.RecordBatch.from_arrays([pa.array(range(10)), counts], ["a", "count"])
    assert emit.digest([batch]) == defined(batch)


def test_the_largest_counts_and_hashes_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    class Largest:
        def digest(self) -> bytes:
            return b"\xff" * 32

    monkeypatch.setattr(hashlib, "sha256", lambda _: Largest())
    most = emit.SMALL_COUNT - 1
    batch = pa.RecordBatch.from_arrays(
        [pa.array(range(emit.HASHED)), pa.array([Decimal(most)] * emit.HASHED, emit.COUNTS)], ["a", "count"]
    )
    whole = emit.HASHED * most
    assert emit.digest([batch]) == emit.Digest(emit.HASHED, whole, whole * (2**256 - 1) % 2**256)
