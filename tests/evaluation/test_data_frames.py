"""Data frames and rows as events: what a program has in its hands; one clear error for anything else."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.test_misspelt import PYTHON

import streambound
from streambound.errors import StreamboundError

CATALOG = streambound.catalog(
    {
        "S": {"A": "int", "X": "double", "ts": "timestamp"},
        "T": {"B": "int", "ts": "timestamp"},
        "U": {"A": "int", "K": "string"},
        "V": {"A": "int"},
        "R": {"columns": {"K": "string"}, "kind": "static"},
    }
)
ONE, TWO = "SELECT A, X FROM S WHERE A > 0", "SELECT A, B FROM S, T WHERE S.ts = T.ts"
TIMES = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)]
FRAME = pd.DataFrame({"A": [1, 12], "X": [0.5, np.nan], "ts": pd.to_datetime(TIMES)})
EVENTS = [
    {"stream": "S", "A": 1, "X": 0.5, "ts": "2026-01-01T00:00:00"},
    {"stream": "S", "A": 12, "X": None, "ts": "2026-01-02T00:00:00"},
]


def reversed_table() -> pa.Table:
    return pa.Table.from_pandas(FRAME.iloc[::-1])


@pytest.mark.parametrize(
    "given",
    [
        FRAME,
        FRAME.iloc[::-1],
        FRAME.set_index("ts"),
        FRAME.astype({"A": "float64", "ts": "datetime64[us]"}),
        FRAME.assign(stream="S"),
        pa.Table.from_pandas(FRAME),
        reversed_table(),
        {"S": FRAME},
        {"S": EVENTS, "T": []},
        iter(EVENTS),
    ],
    ids=[
        "pandas",
        "reversed",
        "index",
        "types",
        "column",
        "arrow",
        "reversed-arrow",
        "mapping",
        "rows",
        "iterator",
    ],
)
def test_a_frame_is_what_its_rows_are(given: Any) -> None:
    assert streambound.evaluate(ONE, CATALOG, given) == streambound.evaluate(ONE, CATALOG, EVENTS)


def test_answers_are_json() -> None:
    found = streambound.evaluate(ONE, CATALOG, FRAME)
    assert json.loads(json.dumps(found)) == found


def test_frames_of_several_streams_are_put_in_order() -> None:
    late = pd.DataFrame({"B": [7, 8], "ts": [TIMES[1], TIMES[0]]})
    found = streambound.evaluate(TWO, CATALOG, {"T": late, "S": FRAME})
    assert [answer["row"] for answer in found["answers"]] == [[1, 8], [12, 7]]


def test_static_rows_may_be_a_frame() -> None:
    rows, events = pa.table({"K": ["a"]}), [{"stream": "U", "A": 1, "K": "a"}]
    sql = "SELECT U.A FROM U, R WHERE U.K = R.K"
    assert streambound.evaluate(sql, CATALOG, events, {"R": rows}) == streambound.evaluate(
        sql, CATALOG, events, {"R": [{"K": "a"}]}
    )


NANO = FRAME.assign(ts=FRAME.ts + pd.Timedelta(1, "ns"))
UNTIMED = "SELECT DISTINCT 1 FROM U, V WHERE U.A = V.A AND U.A IN (1)"


@pytest.mark.parametrize(
    ("sql", "given", "message"),
    [
        (ONE, NANO, "column ts has times between two microseconds"),
        (ONE, FRAME.assign(A=[1.5, 2]), "column A: 1.5 is not a value of type int"),
        (ONE, FRAME.rename(columns={"X": "x"}), "S has no column x"),
        (ONE, FRAME.assign(A=[[1], [2]]), "column A: [1] is not a value of type int"),
        (TWO, FRAME, "the query reads S, T, and the data frame does not say of which stream a row is"),
        (UNTIMED, {"U": [], "V": []}, "it is open which rows came first: there is no timestamp of U, V"),
        (ONE, {"SS": FRAME}, "SS is not in the catalog"),
        (
            ONE,
            [{**EVENTS[0], "stream": "SS"}],
            "event 0 is of the stream SS, which the catalog does not have",
        ),
        (ONE, {"S": 3}, "S: found 3"),
        (ONE, [1, 2], "events: row 0 is 1"),
        (ONE, FRAME.A, "events: row 0 is 1"),
        (ONE, FRAME.to_numpy(), "events: row 0 is a value of type ndarray"),
        (ONE, None, "events: found null"),
        (ONE, "S", "events: found 'S'"),
        (ONE, [{"A": 1}], "event 0 names no stream"),
    ],
)
def test_what_is_no_events_is_one_clear_error(sql: str, given: Any, message: str) -> None:
    with pytest.raises(StreamboundError) as caught:
        streambound.evaluate(sql, CATALOG, given)
    assert message in caught.value.message
    assert not PYTHON.search(str(caught.value))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ONE, CATALOG, EVENTS, 5), "static is 5"),
        ((ONE, CATALOG, EVENTS, {"RR": []}), "RR is not in the catalog"),
        ((ONE, CATALOG, EVENTS, {}, "onepas"), "the engine is 'onepas'"),
        ((ONE, {"S": {"A": "int"}}, EVENTS), "the catalog is {'S': {'A': 'int'}}"),
        ((None, CATALOG, EVENTS), "the query is null"),
    ],
)
def test_what_is_no_argument_is_one_clear_error(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(StreamboundError) as caught:
        streambound.evaluate(*arguments)
    assert message in caught.value.message


def test_a_criterion_that_there_is_not_is_refused() -> None:
    report = streambound.check(ONE, CATALOG, criterion="exat")
    assert report.error is not None and report.error.fix == "did you mean exact?"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=2)
    | st.datetimes()
    | st.dates()
    | st.decimals()
    | st.just(FRAME)
    | st.just(object())
    | st.just(np.arange(3)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["stream", "A", "X", "ts", "S", "R"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(anything, st.none() | anything)
def test_anything_else_is_answered_or_refused(events: Any, static: Any) -> None:
    try:
        streambound.evaluate(ONE, CATALOG, events, static)
    except StreamboundError as error:
        assert not PYTHON.search(str(error)), str(error)
