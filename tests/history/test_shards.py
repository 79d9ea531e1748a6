"""Several drivers: each has a part of the queries, and nearly every stream is read by one of them alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks import load
from tests.spark.histories import Registered

from streambound.errors import QueryError
from streambound.history.shards import Shard, shard_of
from streambound.query.parse import statement

CATALOG = load.catalog(Path("nowhere"), 20)


@pytest.mark.parametrize("shards", [1, 4, 7])
def test_each_query_is_in_one_shard_and_a_stream_in_few(shards: int) -> None:
    drawn = [Registered(query.name, query.sql) for query in load.registry(60, 20)]
    queries = [*drawn, Registered("typo", "SELECT nothing FROM area0_0")]
    parts = [Shard(number, shards).chosen(queries, CATALOG) for number in range(1, shards + 1)]
    assert Counter(query.name for part in parts for query in part) == Counter(q.name for q in queries)
    assert {len(part) - len(queries) // shards for part in parts} <= {0, 1}
    sound = [[query for query in part if query.name != "typo"] for part in parts]
    read = [{r.name for q in part for r in statement(q.sql, CATALOG, q.name).scanned} for part in sound]
    whole = set[str]().union(*read)
    # An area of streams is cut by a border at most.
    assert sum(map(len, read)) <= len(whole) + (shards - 1) * load.AREA


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "-1/2", "1/2/3", "a/b"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="is no shard"):
        shard_of(text)
