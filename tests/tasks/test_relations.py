"""Tuples by time are columns: equal contents have equal bytes, however files hold them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark import histories
from tests.strategies import Case, timed_events

from streambound.errors import DataError
from streambound.evaluation.events import encode
from streambound.evaluation.onepass import one_pass
from streambound.plan.model import Plan
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import NAN
from streambound.query.parse import parse
from streambound.state.table import accepted
from streambound.tasks.embedded_engine import opened
from streambound.tasks.readers import Reader, timed_reader
from streambound.tasks.relations import arrivals, dump_relation, load_relation, relation_of, rows_of
from streambound.tasks.summarise import partition_tables

MIXES = [("int",), ("int", "double", "decimal(3,1)"), ("string", "boolean"), ("date", "timestamp")]
Rows = list[dict[str, Any]]


def made(reader: Reader, relation: Any, parts: list[pa.Table]) -> list[bytes]:
    """What tasks make of partitions of a stream."""
    with opened(256) as engine, TemporaryDirectory() as name:
        paths = []
        for number, table in enumerate(parts):
            file = Path(name) / f"{number}.parquet"
            pq.write_table(table, file)
            paths.append([str(file)])
        with engine.tuples(relation, reader.columns, paths, copied=False):
            return partition_tables(engine, reader, len(parts))


@cache
def planned(types: tuple[str, ...]) -> tuple[Case, Plan]:
    """A query within a window over two streams with columns of some types, whose filter drops rows."""
    columns = dict(zip("ABC", types * 3, strict=False))
    body = {"columns": {**columns, "ts": "int"}, "timestamp": "ts"}
    streams = {"S": body, "T": body}
    sql = (
        "SELECT S.A, S.B, T.C FROM S, T WHERE S.A = T.A AND S.ts <= T.ts AND T.ts <= S.ts + 3 AND T.B >= T.B"
    )
    catalog = catalog_from_mapping(streams)
    query = parse(sql, catalog)
    plan = one_pass(query, {}).plan
    return Case(streams, sql, catalog, query), plan


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@given(data=st.data())
def test_arrivals_are_the_accepted_tuples(types: tuple[str, ...], data: st.DataObject) -> None:
    case, plan = planned(types)
    rows = data.draw(timed_events(case))
    given_bytes, wanted = {}, Counter[Any]()
    for synopsis in plan.streams:
        relation = case.query.occurrence(synopsis.alias).relation
        own = [row for row in rows if row["stream"] == relation.name]
        _, reader = timed_reader(plan.query, synopsis)
        parts = [histories.table(relation, some) for some in (own, own[::-1], [])]
        whole, turned, empty = made(reader, relation, parts)
        assert whole == turned == dump_relation(load_relation(whole))
        assert not load_relation(empty).num_rows
        given_bytes[synopsis.alias] = whole
        for row in own:
            values = encode(relation, row, "row")
            for kept in accepted(synopsis, [values]):
                wanted[values["ts"], synopsis.alias, tuple(kept[a] for a in synopsis.carried)] += 1
    found, moments = Counter[Any](), []
    for moment, arriving in arrivals(plan, given_bytes):
        moments.append(moment)
        assert set(arriving) == {"S", "T"}
        for alias, matches in arriving.items():
            for match in matches:
                assert match.stamps == {alias: moment}
                found[moment, alias, tuple(match.values.values())] += match.weight
    assert found == wanted
    assert moments == sorted(set(moments))


BODY = {"columns": {"A": "bigint", "B": "double", "C": "string", "ts": "int"}, "timestamp": "ts"}
SQL = "SELECT S.A, S.B, S.C FROM S, T WHERE S.A = T.A AND S.ts <= T.ts AND T.ts <= S.ts + 3"


def reader_of() -> tuple[Any, Reader]:
    query = parse(SQL, catalog_from_mapping({"S": BODY, "T": BODY}))
    plan = one_pass(query, {}).plan
    return query.occurrence("S").relation, timed_reader(plan.query, plan.streams[0])[1]


def test_bytes_do_not_depend_on_how_files_hold_values() -> None:
    relation, reader = reader_of()
    wide = pa.table(
        {
            "A": pa.array([1, 1, 2, 1], pa.int64()),
            "B": pa.array([0.0, float("nan"), None, 0.0]),
            "C": pa.array(["b", None, "é", "b"]),
            "ts": pa.array([5, 5, 4, 5], pa.int64()),
        }
    )
    narrow = pa.table(
        {
            "A": pa.array([1, 2, 1, 1], pa.int8()),
            "B": pa.array([-0.0, None, -0.0, float("nan")], pa.float32()),
            "C": pa.array(["b", "é", "b", None], pa.large_string()),
            "ts": pa.array([5, 4, 5, 5], pa.int16()),
        }
    )
    (one,) = made(reader, relation, [wide])
    (other,) = made(reader, relation, [narrow])
    assert one == other == made(reader, relation, [wide.slice(0, 0), wide])[1]
    assert list(rows_of(load_relation(one))) == [
        (4, 2, None, "é", 1),
        (5, 1, 0.0, "b", 2),
        (5, 1, NAN, None, 1),
    ]


def test_a_row_without_a_timestamp_is_refused() -> None:
    relation, reader = reader_of()
    table = pa.table({"A": [1], "B": [1.0], "C": ["x"], "ts": pa.array([None], pa.int64())})
    with pytest.raises(DataError, match="a row has no application timestamp"):
        made(reader, relation, [table])


def test_relations_of_rows_are_those_of_tasks() -> None:
    relation, reader = reader_of()
    table = pa.table({"A": [7], "B": [None], "C": ["x"], "ts": [2]}, BODY_SCHEMA)
    kinds = [relation.column(name).type for name in ("ts", *(a.column for a in reader.synopsis.carried))]
    row = {"A": 7, "B": None, "C": "x"}
    rows = [(2, *(row[a.column] for a in reader.synopsis.carried), 1)]
    assert dump_relation(relation_of(rows, kinds)) == made(reader, relation, [table])[0]


BODY_SCHEMA = pa.schema(
    [("A", pa.int64()), ("B", pa.float64()), ("C", pa.string()), ("ts", pa.int64())],
)


@pytest.mark.parametrize("data", [b"[]", b'"x"', b'"AAAA"', b"{", json.dumps("é").encode()])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="a stored table of tuples cannot be read"):
        load_relation(data)
