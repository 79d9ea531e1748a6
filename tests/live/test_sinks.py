"""Sinks of answers: upserts are what folding the changes by key gives, whatever comes twice."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound.errors import QueryError, StorageError
from streambound.live.sinks import DeltaSink, Into, require_key
from streambound.tasks import emit

SCHEMA = pa.schema(
    [
        ("user id", pa.string()),
        ("n", pa.int64()),
        ("marker", pa.timestamp("us", tz="UTC")),
        pa.field("count", emit.COUNTS, nullable=False),
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", 'c"', None]),
        st.sampled_from([1, 2, None]),
        st.integers(0, 3),
        st.integers(1, 10**20).map(Decimal),
    ),
    min_size=1,
    max_size=5,
)


def answers(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.Table.from_arrays(
        [pa.array(values, kind) for values, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA
    )


@pytest.mark.parametrize("key", [(), ("user id",), ("user id", "n")], ids=len)
@settings(max_examples=settings.default.max_examples // 5)
@given(told=st.lists(ROWS, min_size=1, max_size=3), again=st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_a_delta_table_is_the_fold_of_the_changes(
    key: tuple[str, ...], told: list[list[tuple[Any, ...]]], again: list[int]
) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "table"
        kept: dict[Any, tuple[Any, ...]] = {}
        listed: list[tuple[Any, ...]] = []
        for epoch, rows in enumerate(told):
            for _ in range(1 + again[epoch]):
                # Each time as after a restart.
                DeltaSink(Into("delta", {"path": str(path)}, key), "run").put(epoch, answers(rows))
            for row in rows:
                found = tuple(row[SCHEMA.names.index(column)] for column in key)
                before = kept[found][3] if found in kept else 0
                kept[found] = (*row[:3], before + row[3], epoch)
                listed.append((*row, epoch))
        wanted = list(kept.values()) if key else listed
        columns = DeltaTable(path).to_pyarrow_table().to_pydict()
        columns["marker"] = [moment.microsecond for moment in columns["marker"]]
        rows_found = list(zip(*columns.values(), strict=True))
        assert sorted(map(repr, rows_found)) == sorted(map(repr, wanted))


# What a group becomes at a marker: None if it has no rows any more.
GROUPS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([1, 2, None])), max_size=3
)


@settings(max_examples=settings.default.max_examples // 5)
@given(told=st.lists(GROUPS, min_size=1, max_size=4))
def test_a_delta_table_by_the_key_of_groups_is_the_answer(told: list[list[dict[str, int | None]]]) -> None:
    """Each row that takes the place of another is one change of its key; a group that ends leaves none."""
    standing: dict[str, int] = {}
    marker = 0
    with TemporaryDirectory() as name:
        path = Path(name) / "table"
        for epoch, markers in enumerate(told):
            changes: list[tuple[Any, ...]] = []
            for becomes in markers:
                marker += 1
                new: list[tuple[Any, ...]] = []
                for key, value in becomes.items():
                    if (before := standing.pop(key, None)) is not None:
                        new.append((key, before, marker, Decimal(-1)))
                    if value is not None:
                        standing[key] = value
                        new.append((key, value, marker, Decimal(1)))
                changes += sorted(one for one in new if (*one[:3], -one[3]) not in new)
            if changes:
                sink = DeltaSink(Into("delta", {"path": str(path)}, ("user id",)), "run")
                sink.put(epoch, answers(changes), "marker")
        found = DeltaTable(path).to_pyarrow_table().to_pydict() if path.exists() else {"user id": [], "n": []}
        assert dict(zip(found["user id"], found["n"], strict=True)) == standing
        assert len(found["user id"]) == len(standing)


def test_another_beginning_tells_of_its_answers_again(tmp_path: Path) -> None:
    for run in ("one", "other"):
        DeltaSink(Into("delta", {"path": str(tmp_path / "t")}), run).put(
            0, answers([("a", 1, 0, Decimal(1))])
        )
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().num_rows == 2


def test_what_cannot_be_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="--into-option path=DIR"):
        DeltaSink(Into("delta"), "run")
    with pytest.raises(QueryError, match="--key names count, which the answers do not have"):
        require_key(("n", "count"), SCHEMA, "q")
    (tmp_path / "t").write_text("")
    with pytest.raises(StorageError, match="the Delta table does not take the answers"):
        DeltaSink(Into("delta", {"path": str(tmp_path / "t")}), "run").put(
            0, answers([("a", 1, 0, Decimal(1))])
        )
