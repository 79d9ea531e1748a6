"""Streams that end: what goes on is summarised at once, and is what one machine makes of it row by row."""

from __future__ import annotations

import datetime as dt
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.moments import cut, expected, last_boundary, write, write_statics
from tests.spark.nights import night
from tests.strategies import Case, static, timed_events

from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.onepass import EndingPass, one_pass
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse

# What goes on keeps nothing, keeps tables, or steps through time; U ends.
SHAPES = {
    "filter": "SELECT T.A, U.B FROM T, U WHERE T.A = U.A AND U.ts < {5} AND T.B = U.B",
    "constant": "SELECT 1, U.A FROM T, U WHERE T.A = U.A AND U.ts <= {4}",
    "static": "SELECT T.A, R.A FROM T, U, R WHERE T.A = U.A AND U.ts <= {4} AND T.B = R.B",
    "shadow": "SELECT T.A FROM T, U WHERE T.A = U.A AND U.ts <= {4} AND T.ts > U.ts + {+3}",
    "exists": "SELECT DISTINCT U.B FROM T, U WHERE T.A = U.A AND U.ts <= {4}",
    "tables": "SELECT U.A FROM S, T, U WHERE S.A = U.A AND T.B = U.B AND U.ts < {5}",
    "distinct": "SELECT DISTINCT U.A FROM S, T, U WHERE S.A = U.A AND T.B = U.B AND S.B < T.A AND U.ts < {5}",
    "order": "SELECT U.A FROM S, T, U WHERE S.A = U.A AND T.B = U.B AND U.ts < {5} AND S.ts <= T.ts",
    "window": "SELECT T.B FROM S, T, U WHERE S.A = U.A AND U.ts < {5} AND T.ts BETWEEN S.ts AND S.ts + {+2}",
    "twice": "SELECT x.A FROM T x, T y, U WHERE x.A = U.A AND y.B = U.A AND U.ts <= {4} AND x.ts < y.ts",
    "none goes on": "SELECT DISTINCT U.A FROM T, U WHERE U.ts <= {4} AND T.A = U.A AND T.ts < U.ts",
}
TYPES = {"int": "int", "double": "timestamp", "date": "int", "string": "timestamp"}


def told(kind: str, moment: int) -> Any:
    """A moment as a type has it."""
    if kind == "int":
        return moment
    return str(dt.datetime(2026, 1, 1) + dt.timedelta(seconds=moment))


def sql_of(shape: str, kind: str) -> str:
    """The text of a shape, for timestamps of a type."""
    constant = {"int": "{}", "timestamp": "TIMESTAMP '{}'"}[kind]
    offset = {"int": "{}", "timestamp": "INTERVAL {} SECONDS"}[kind]
    text = SHAPES[shape]
    for number in (2, 3, 4, 5):
        text = text.replace(f"{{+{number}}}", offset.format(number))
        text = text.replace(f"{{{number}}}", constant.format(told(kind, number)))
    return text


@cache
def case_of(shape: str, types: str) -> Case:
    stamp = TYPES[types]
    columns = {"A": types, "B": types}
    stream = {"columns": {**columns, "ts": stamp}, "timestamp": "ts"}
    streams: dict[str, Any] = {name: stream for name in "STU"}
    streams["R"] = {"columns": columns, "kind": "static"}
    catalog, sql = catalog_from_mapping(streams), sql_of(shape, stamp)
    return Case(streams, sql, catalog, parse(sql, catalog))


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=max(settings.default.max_examples // 5, 1))
@given(data=st.data())
def test_answers_and_states_are_those_of_one_machine(shape: str, data: st.DataObject) -> None:
    """Over two nights, whatever is cut into partitions."""
    types = data.draw(st.sampled_from(sorted(TYPES)))
    case = case_of(shape, types)
    rows = [{**row, "ts": told(TYPES[types], row["ts"])} for row in data.draw(timed_events(case))]
    statics, parts = data.draw(static(case)), cut(data, rows)
    encoded = encode_static(case.statement, statics)
    engine = one_pass(case.query, encoded)
    # A static relation without rows leaves nothing to wait for.
    assume(isinstance(engine, EndingPass))
    assert isinstance(engine, EndingPass)
    for batch in batches(case.statement, rows):
        engine.process(batch)
    first = data.draw(st.integers(1, len(parts)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = write_statics(case, statics, folder)
        for some in (range(first), range(first, len(parts))):
            for number in some:
                write(case, number, parts[number], folder)
            answer = night([Registered("q", case.sql)], catalog, folder / "home")["q"]
            assert answer.error is None, answer.error
        found = histories.read_answers(folder / "home" / "answers" / "q", case.query)
        assert found == expected(case, parts, encoded)
        # One machine holds whatever comes with every column of it; what goes on keeps the same.
        if engine.later is not None:
            state = json.loads(last_boundary(folder / "home")["state"])
            assert state["later"] == json.loads(engine.dump())["later"]
