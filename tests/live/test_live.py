"""Live: files arrive in micro-batches, and the answers are those of the definition, at every marker.

Groups: micro-batches in this process; the rule of complete timestamps; bad files; real Spark.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.history.test_statement import ENDING, UNITED, timed_case
from tests.spark import histories
from tests.spark.arrivals import Here, Pick, Rows, by_batch, by_marker, cut, flat, write
from tests.spark.histories import Registered
from tests.strategies import Case, cases, events, static, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.errors import DataError, PlanError
from streambound.evaluation.events import encode_static
from streambound.evaluation.onepass import one_pass
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.spark.live.folders import folder_of, simultaneous_files_fix

MIXES = [(), ("int",), ("double", "int"), ("string", "boolean"), ("decimal(3,1)", "date", "int")]


def pick_from(data: st.DataObject) -> Pick:
    return lambda low, high: data.draw(st.integers(low, high))


def timed(data: st.DataObject, types: tuple[str, ...]) -> tuple[Case, Rows, dict[str, Rows]]:
    """A random query with a plan that steps through time, its events, and static rows."""
    case = data.draw(timed_cases(types, windows=data.draw(st.booleans())))
    assume(exact(case.query).bounded)
    statics, rows = data.draw(static(case)), data.draw(timed_events(case, size=12))
    plan = one_pass(case.query, encode_static(case.statement, statics)).plan
    assume(plan.ending is None and plan.timed and not plan.empty)
    return case, rows, statics


def untimed(data: st.DataObject, types: tuple[str, ...]) -> tuple[Case, Rows, dict[str, Rows]]:
    """A random query whose plan keeps tables, its events, and static rows."""
    case = data.draw(cases(types or ("int",)))
    statics = data.draw(static(case))
    plan = histories.plan_of(case, statics)
    assume(not plan.stateless and not plan.empty)
    return case, data.draw(events(case)), statics


def placed(case: Case, statics: dict[str, Rows], folder: Path) -> Any:
    """The catalog of growing folders, with the static relations written."""
    for name, rows in statics.items():
        histories.write(case.query.occurrence(name).relation, rows, folder, None)
    return flat(case.catalog, folder)


@pytest.mark.parametrize("types", MIXES, ids=lambda types: "-".join(types) or "plain")
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_timed_answers_are_those_of_the_definition(types: tuple[str, ...], data: st.DataObject) -> None:
    case, rows, statics = timed(data, types)
    arriving = cut(pick_from(data), case, rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, found = Here(case, placed(case, statics, folder), folder), []
        for epoch, files in enumerate(arriving):
            found += here.take(write(case, files, folder, epoch))
            assert_bounded(here)
        found += here.end()
        assert_bounded(here)
    assert here.step.waiting.count == 0
    assert found == by_marker(case, rows, encode_static(case.statement, statics)), case.sql


def assert_bounded(here: Here) -> None:
    """The state store has an entry a unit, what waits, one a part, and how far the query is."""
    beside = here.step.waiting.count + len(here.beginning.plan.parts) + 1
    assert len(here.entries) <= here.step.evaluation.stored_units + beside, here.entries


@pytest.mark.parametrize("types", MIXES[1:], ids="-".join)
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_untimed_answers_are_those_of_the_definition(types: tuple[str, ...], data: st.DataObject) -> None:
    case, rows, statics = untimed(data, types)
    arriving = cut(pick_from(data), case, rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, found = Here(case, placed(case, statics, folder), folder), []
        for epoch, files in enumerate(arriving):
            found += [(epoch, new) for _, new in here.take(write(case, files, folder, epoch))]
            assert_bounded(here)
    assert found == by_batch(case, arriving, encode_static(case.statement, statics)), case.sql


TWO = {n: {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"} for n in "ST"}
WITHIN = "SELECT S.A, T.A FROM S, T WHERE S.ts <= T.ts AND T.ts <= S.ts + 3 AND S.B = T.B"


def two(sql: str = WITHIN) -> Case:
    catalog = catalog_from_mapping(TWO)
    return Case(TWO, sql, catalog, parse(sql, catalog))


def row(stream: str, ts: int, a: int = 1) -> dict[str, Any]:
    return {"stream": stream, "A": a, "B": 0, "ts": ts}


def test_a_timestamp_is_complete_when_every_stream_has_shown_a_later_one(tmp_path: Path) -> None:
    case = two()
    here = Here(case, flat(case.catalog, tmp_path), tmp_path)
    assert here.take(write(case, [("S", [row("S", 1), row("S", 2)])], tmp_path, 0)) == []
    # T may still have more of timestamp 1, and S of timestamp 2.
    assert here.take(write(case, [("T", [row("T", 1)])], tmp_path, 1)) == []
    (at_one,) = here.take(write(case, [("T", [row("T", 1, 5), row("T", 2)])], tmp_path, 2))
    assert at_one == (1, {(1, 1): 1, (1, 5): 1})
    (at_two,) = here.end()
    assert at_two == (2, {(1, 1): 2})


def test_rows_that_do_not_count_show_how_far_a_stream_is(tmp_path: Path) -> None:
    case = two(WITHIN + " AND T.A > 0")
    here = Here(case, flat(case.catalog, tmp_path), tmp_path)
    here.take(write(case, [("S", [row("S", 1), row("S", 3)]), ("T", [row("T", 1)])], tmp_path, 0))
    assert here.step.waiting.count == 3
    (found,) = here.take(write(case, [("T", [row("T", 9, 0)])], tmp_path, 1))
    assert found == (1, {(1, 1): 1})


@pytest.mark.parametrize("moment", [1, 2], ids=["earlier", "equal"])
def test_a_row_of_a_timestamp_that_was_evaluated_is_refused_by_name(moment: int, tmp_path: Path) -> None:
    case = two()
    here = Here(case, flat(case.catalog, tmp_path), tmp_path)
    here.take(write(case, [("S", [row("S", 2)]), ("T", [row("T", 2)])], tmp_path, 0))
    here.end()
    entries = dict(here.entries)
    with pytest.raises(DataError) as told:
        here.take(write(case, [("T", [row("T", moment), row("T", 7)])], tmp_path, 1))
    assert f"stream T has a row of {moment}, but the answers have been given up to 2" in str(told.value)
    assert str(told.value.subject).endswith("0001-0000.parquet")
    assert "--available-now" not in str(told.value)
    assert here.entries == entries


def test_a_late_file_among_files_of_one_time_is_told_what_to_leave_out(tmp_path: Path) -> None:
    (relation,) = flat(
        catalog_from_mapping({"S": {"columns": {"ts": "int"}, "timestamp": "ts"}}), tmp_path
    ).relations
    for number, nanoseconds in enumerate((5_000_100, 5_000_900, 9_000_000)):
        (tmp_path / "S" / f"{number}.parquet").touch()
        os.utime(tmp_path / "S" / f"{number}.parquet", ns=(nanoseconds, nanoseconds))
    folders = [folder_of(relation)]
    fix = simultaneous_files_fix(folders, "1.parquet")
    assert fix is not None and fix.startswith("leave out --files") and "2 files of the stream" in fix
    assert simultaneous_files_fix(folders, "2.parquet") is None
    assert simultaneous_files_fix(folders, "gone.parquet") is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    case = two()
    here = Here(case, flat(case.catalog, tmp_path), tmp_path)
    files = write(case, [("S", [row("S", 2)]), ("T", [row("T", 2)])], tmp_path, 0)
    (tmp_path / "T" / "0000-0001.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="not a readable Parquet file") as told:
        here.take(files)
    assert str(told.value.subject).endswith("0000-0001.parquet")


def test_a_timeless_stream_and_an_unbounded_query_are_refused(tmp_path: Path) -> None:
    case = two("SELECT S.A FROM S, T WHERE S.A = T.A")
    from streambound.spark.live.query import live

    class Classic:
        _jsparkSession = None

    with pytest.raises(PlanError, match="unbounded"):
        live(Classic(), Registered("q", case.sql), flat(case.catalog, tmp_path), output=tmp_path / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", [*UNITED, *ENDING])
@settings(max_examples=settings.default.max_examples // 8)
@given(data=st.data())
def test_statements_and_streams_that_end(sql: str, data: st.DataObject) -> None:
    case = timed_case(sql)
    rows = data.draw(timed_events(case, size=12))
    arriving = cut(pick_from(data), case, rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, found = Here(case, flat(case.catalog, folder), folder), []
        for epoch, files in enumerate(arriving):
            found += here.take(write(case, files, folder, epoch))
            assert_bounded(here)
        found += here.end()
    wanted = by_marker(case, rows, {})
    if set(here.beginning.timed) == set(here.beginning.plan.inputs):
        assert found == wanted
    # Parts that compare no timestamps do not wait for those that do; the rows are the same.
    assert sum((new for _, new in found), Counter()) == sum((new for _, new in wanted), Counter())
