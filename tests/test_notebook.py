"""Notebooks: queries over data frames of every kind, what results show, and the page about it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streambound
from streambound.errors import CatalogError, StreamboundError

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
SQL = "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20"
DAYS = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"])
S, T = pd.DataFrame({"A": [12, 14, 13], "B": [5, 50, 3], "t": DAYS}), pd.DataFrame({"D": [30], "t": DAYS[2:]})
TIMES = {name: {"timestamp": "t"} for name in "ST"}
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": duckdb.from_df,
}


class Elements(HTMLParser):
    """The names of all elements, and of all attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        # A picture's parts are used where they are defined: this loads nothing.
        self.attributes |= {name for name, value in attrs if name != "href" or not str(value).startswith("#")}


def shown(result: Any) -> str:
    """What a result shows, once it is seen to load and to run nothing."""
    markup: str = result._repr_html_()
    found = Elements(markup)
    assert not found.names & {"script", "img", "style", "iframe", "link", "object"}
    assert not found.attributes & {"style", "href", "src"}
    assert not [name for name in found.attributes if name.startswith("on")]
    return markup


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind_have_the_same_answer_and_state(kind: str) -> None:
    frames = {"S": KINDS[kind](S), "T": KINDS["pandas" if kind == "duckdb" else kind](T)}
    found = streambound.run(SQL, frames, TIMES)
    assert sorted(found.answer.to_pylist(), key=str) == [{"A": 12, "count": 1}, {"A": 13, "count": 1}]
    assert [units for _, units in found.state] == [1, 2, 4] and found.peak_units == 4
    assert {row["marker"] for row in found.changes.to_pylist()} == {DAYS[2].to_pydatetime()}
    assert pl.DataFrame(found).equals(pl.from_arrow(found.answer))
    assert found.to_pandas()["A"].tolist() == found.answer.column("A").to_pylist()
    assert "<svg" in shown(found)


@pytest.mark.parametrize("kind", KINDS)
def test_fields_of_structs_are_columns(kind: str) -> None:
    users = [
        {"id": 1, "geo": {"city": "a", "at": DAYS[0]}},
        {"id": 2, "geo": None},
        None,
        {"id": 1, "geo": {"city": "b", "at": DAYS[1]}},
    ]
    frame = pd.DataFrame({"n": [1, 2, 3, 4], "user": users, "tags": [["x"], [], None, ["y"]]})
    given = {"S": KINDS[kind](frame)}
    sql = "SELECT n, S.user.id AS id, user.geo.city AS city FROM S WHERE user.geo.city <> 'z' OR n > 2"
    shown_rows = sorted(tuple(row.values()) for row in streambound.run(sql, given).answer.to_pylist())
    assert shown_rows == [(1, 1, "a", 1), (3, None, None, 1), (4, 1, "b", 1)]
    made = streambound.run(
        "SELECT MAX(user.geo.at) AS t, COUNT(*) AS c FROM S WHERE user.id < 2 AND"
        " user.id > 0 GROUP BY user.id",
        given,
    ).answer.to_pylist()
    assert made == [{"t": DAYS[1].tz_localize("UTC"), "c": 2, "count": 1}]
    with pytest.raises(StreamboundError, match="user has no field name"):
        streambound.run("SELECT user.name FROM S", given)
    for whole in ("user", "user.geo", "tags"):
        with pytest.raises(StreamboundError, match="cannot be evaluated yet"):
            streambound.run(f"SELECT {whole} AS x FROM S", given)


def test_times_between_microseconds_within_a_struct_are_an_error() -> None:
    at = pa.array([1], pa.timestamp("ns"))
    frame = pa.table({"s": pa.StructArray.from_arrays([at], ["t"])})
    with pytest.raises(StreamboundError, match="column s has times between two microseconds"):
        streambound.run("SELECT S.s.t FROM S", {"S": frame})


def test_an_answer_is_what_its_changes_add_up_to() -> None:
    found = streambound.run("SELECT COUNT(*) AS n, SUM(A) AS a FROM S", {"S": S})
    assert found.answer.to_pylist() == [{"n": 3, "a": 39, "count": 1}]
    changed = [(row["n"], row["count"]) for row in found.changes.to_pylist()]
    assert sum(n * count for n, count in changed) == 3 and (2, -1) in changed
    joined = streambound.run(
        "SELECT S.A FROM S, R WHERE S.A = R.K",
        {"S": S, "R": [{"K": 12}]},
        {"R": {"kind": "static", "columns": {"K": "int"}}},
    )
    assert joined.answer.to_pylist() == [{"A": 12, "count": 1}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MAX(n) AS m FROM (SELECT A, COUNT(*) AS n FROM S WHERE A BETWEEN 12 AND 14 GROUP BY A)",
        "SELECT k, COUNT(*) AS c FROM (SELECT k, LAG(A) OVER (PARTITION BY k ORDER BY t) AS l FROM S"
        " WHERE k IN ('x', 'y')) WHERE l > 1 GROUP BY k",
    ],
)
def test_frames_are_read_in_sub_queries_too(sql: str) -> None:
    frame = pd.concat([S.assign(k="x"), S.assign(k="z", t=S["t"] + pd.Timedelta(days=9))])
    found = streambound.run(sql, {"S": frame}, {"S": TIMES["S"]}).answer.to_pylist()
    rows = duckdb.sql(sql.replace("FROM S", "FROM frame")).fetchall()
    assert rows and sorted(tuple(row.values())[:-1] for row in found) == sorted(rows)
    assert streambound.evaluate(sql, _catalog(frame), {"S": frame})["answers"]


def _catalog(frame: pd.DataFrame) -> Any:
    kinds = {"int64": "int", "datetime64[ns]": "timestamp"}
    columns = {name: kinds.get(str(kind), "string") for name, kind in frame.dtypes.items()}
    return streambound.catalog({"S": {"columns": columns, **TIMES["S"]}})


def test_what_stands_in_queries_and_rows_is_text() -> None:
    names = pd.DataFrame({"k": [HOSTILE, None]})
    found = shown(streambound.run(f"SELECT k FROM S WHERE k = '{HOSTILE}'", {"S": names}))
    assert "&lt;script&gt;" in found
    catalog = streambound.catalog({"S": {"A": "int", "B": "string"}})
    for sql in (f"SELECT DISTINCT B FROM S WHERE B <> '{HOSTILE}'", f'SELECT "{HOSTILE}" FROM S', HOSTILE):
        assert "&lt;script&gt;" in shown(streambound.check(sql, catalog))
    assert "&lt;script&gt;" in shown(streambound.compile(f"SELECT A FROM S WHERE B = '{HOSTILE}'", catalog))


def test_why_a_query_is_not_bounded_is_seen_at_once() -> None:
    catalog = streambound.catalog({"S": {"A": "int"}})
    for sql, opened in (
        ("SELECT A FROM S", False),
        ("SELECT DISTINCT A FROM S", True),
        ("SELECT Z FROM S", True),
    ):
        assert ('<details open="">' in shown(streambound.check(sql, catalog))) is opened


def test_a_run_has_its_days_below_its_state_and_no_headings_within_its_rows() -> None:
    found = shown(streambound.run(SQL, {"S": S, "T": T}, TIMES))
    assert ">2026-01-03</text>" in found and ">marker</text>" in found and "partition" not in found
    assert 'scope="col"' in found and 'scope="row"' not in found


def test_what_is_no_table_and_what_is_not_bounded_is_one_error() -> None:
    with pytest.raises(CatalogError, match="types of its columns"):
        streambound.run("SELECT A FROM S", {"S": [{"A": 1}]})
    with pytest.raises(StreamboundError, match="is unbounded"):
        streambound.run("SELECT DISTINCT A FROM S", {"S": S})
    for sql in ("SELECT f(A) AS x FROM S", "SELECT f(A) AS x, LAG(B) OVER (ORDER BY t) AS y FROM S"):
        with pytest.raises(StreamboundError, match="cannot be evaluated yet"):
            streambound.run(sql, {"S": S}, {"S": TIMES["S"]})
    for wrong in (None, [S], {"S": 5}, {"S": S, 3: S}):
        with pytest.raises(StreamboundError):
            streambound.run("SELECT A FROM S", wrong)  # type: ignore[arg-type]
    for catalog in (5, {"S": 5}, {"S": {"timestamp": "Z"}}):
        with pytest.raises(StreamboundError):
            streambound.run("SELECT A FROM S", {"S": S}, catalog)  # type: ignore[arg-type]


def test_the_page_runs_as_it_is_written() -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "notebook.md", "exec"), names)
    assert names["found"].to_pandas()["region"].tolist() == [1]


def test_the_page_lists_what_there_is() -> None:
    offered = {name for name in dir(streambound) if not name.startswith("__")}
    (rows,) = re.findall(r"\| name \| what it does .*?\n\n", PAGE, re.DOTALL)
    named = " ".join(line.split("|")[1] for line in rows.splitlines()[2:] if line)
    assert offered == set(streambound.__all__) == set(re.findall(r"`(\w+)", named))
    assert re.match(r"\d+\.\d+\.\d+$", streambound.__version__)


def test_importing_loads_nothing_and_checking_no_data_frames() -> None:
    code = (
        "import sys, streambound; early = [name for name in sys.modules if name.startswith('streambound.')]\n"
        "streambound.check('SELECT A FROM S', streambound.catalog({'S': {'A': 'int'}}))\n"
        "print(early, {'numpy', 'pandas', 'pyarrow', 'markupsafe', 'duckdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] set()\n"
