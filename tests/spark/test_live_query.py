"""Live on real Spark: the answers of the definition and of history, restarts, a start from a checkpoint."""

from __future__ import annotations

import builtins
import json
import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.live.test_live import TWO, row, two
from tests.seeded import static_rows, timed_case, timed_streams
from tests.spark import histories
from tests.spark.arrivals import Rows, by_marker, cut, flat, write, written
from tests.spark.histories import Registered
from tests.spark.nights import night
from tests.strategies import Case

from streambound.boundedness.criterion.exact import exact
from streambound.checkpoint.answer_files import identity_of
from streambound.compiler import compile
from streambound.errors import DataError, QueryError, StorageError
from streambound.evaluation.events import encode_static
from streambound.evaluation.onepass import one_pass
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.live.answers import (
    NOTE,
    LiveAnswer,
    epoch_path,
    note_epoch,
    require_written,
    write_epoch,
)
from streambound.query.catalog import Catalog, NamedQuery, load_catalog
from streambound.rewrites.program import program
from streambound.spark.live import epochs
from streambound.spark.live.query import Pace, live
from streambound.tasks import emit

pytestmark = pytest.mark.spark
ONE_BY_ONE = Pace(files=1)


def case_of(first: int, number: int) -> tuple[int, tuple[Case, Rows, dict[str, Rows]]]:
    """From a seed on, the nth with a bounded query that steps through time, over streams with answers."""
    cases = ((seed, found) for seed in count(first) if (found := drawn(seed)) is not None)
    return next(islice(cases, number, None))


def drawn(seed: int) -> tuple[Case, Rows, dict[str, Rows]] | None:
    case = timed_case(seed)
    if len(case.query.streams) > 3 or not exact(case.query).bounded:
        return None
    rows, statics = timed_streams(seed, case), static_rows(seed, case)
    encoded = encode_static(case.statement, statics)
    plan = one_pass(case.query, encoded).plan
    if plan.ending is not None or not plan.timed or plan.empty or not by_marker(case, rows, encoded):
        return None
    return case, rows, statics


def arrive(case: Case, catalog: Catalog, rows: Rows, seed: int, first: int = 0) -> None:
    """Write the files of all micro-batches, each a second later than the one before."""
    folder = Path(catalog.relations[0].history.path).parent  # type: ignore[union-attr]
    at = 1_000_000 + 1_000 * first
    for epoch, files in enumerate(cut(Random(seed).randint, case, rows, most=3), start=first):
        for _, path in write(case, files, folder, epoch):
            os.utime(path.removeprefix("file:"), (at := at + 1, at))


@pytest.mark.parametrize(
    ("first", "number"), [(0, 0), *(pytest.param(1000, n, marks=pytest.mark.heavy) for n in range(20))]
)
def test_timed_answers_at_every_marker(
    first: int, number: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, (case, rows, statics) = case_of(first, number)
    for name, listed in statics.items():
        histories.write(case.query.occurrence(name).relation, listed, tmp_path, None)
    catalog, query = flat(case.catalog, tmp_path), Registered("q", case.sql)
    arrive(case, catalog, rows, seed)
    answer = live(spark, query, catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
    answered = written(tmp_path / "live" / "q", case.query, timed=True)
    assert answered == by_marker(case, rows, encode_static(case.statement, statics)), case.sql
    assert_bounded(answer)
    (whole,) = evaluate_history(LocalExecutor(1), [query], catalog, output=tmp_path / "history")
    assert (whole.error, whole.answer_count) == (None, answer.answer_count)


def assert_bounded(answer: LiveAnswer) -> None:
    """Spark's state has a row a unit and a tuple that waits, one for the time, and one for the progress."""
    assert answer.state_rows is not None and answer.state_rows <= answer.units + answer.waiting + 2
    assert answer.most_units is None or answer.peak_units <= answer.most_units


PAIRS = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 0 AND S.A < 5"
EVENTS = [row("ST"[a % 2], a, a % 7) for a in range(24)] + [row("S", 30, 3), row("T", 31, 3)]


@pytest.mark.parametrize(
    "sql",
    [
        PAIRS,
        pytest.param(PAIRS.replace("SELECT", "SELECT DISTINCT"), marks=pytest.mark.heavy),
        pytest.param("SELECT A FROM S WHERE A > 2", marks=pytest.mark.heavy),
    ],
    ids=["counts", "distinct", "filter"],
)
def test_answers_without_time_are_those_of_history(
    sql: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, query = two(sql), Registered("q", sql)
    catalog = flat(case.catalog, tmp_path)
    for first, part in ((0, EVENTS[:10]), (10, EVENTS[10:])):
        arrive(case, catalog, part, seed=5, first=first)
        answer = live(spark, query, catalog, output=tmp_path / "live")
    found = sum((rows for _, rows in written(tmp_path / "live" / "q", case.query, timed=False)), Counter())
    (whole,) = evaluate_history(LocalExecutor(1), [query], catalog, output=tmp_path / "history")
    assert whole.error is None and whole.answer_count == answer.answer_count == found.total() > 0
    assert whole.answer_rows == len(found)
    assert answer.rows == sum(e["stream"] in {o.relation.name for o in case.query.streams} for e in EVENTS)
    if answer.most_units:
        assert_bounded(answer)


def test_a_printed_program_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = two(PAIRS)
    arrive(case, flat(case.catalog, tmp_path), EVENTS, seed=5)
    streams = {name: {**body, "history": {"path": name}} for name, body in TWO.items()}
    (tmp_path / "streams.yml").write_text(json.dumps({"streams": streams}))
    monkeypatch.setenv("STREAMBOUND_STREAMS", str(tmp_path))
    # A query of a text of several, that reads one of another file.
    few = NamedQuery("few", PAIRS)
    catalog = replace(load_catalog(tmp_path / "streams.yml"), queries=(few,))
    text = "CREATE VIEW every AS SELECT * FROM S; CREATE VIEW asked AS SELECT f.A FROM few AS f;"
    printed = program(compile(text, catalog, "q", query="asked"))
    named = {"__name__": "printed", "__file__": str(tmp_path / "printed.py")}
    exec(builtins.compile(printed, "printed", "exec"), named)
    named |= {"OUTPUT": tmp_path / "live", "PACE": Pace(), "session": lambda _: nullcontext(spark)}
    named["main"]()
    found = sum((rows for _, rows in written(tmp_path / "live" / "q", case.query, timed=False)), Counter())
    s, t = (Counter(e["A"] for e in EVENTS if e["stream"] == name) for name in "ST")
    assert found == {(a,): s[a] * t[a] for a in range(1, 5) if s[a] * t[a]}


def files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.glob("epoch=*/*.parquet"))}


@pytest.mark.parametrize(
    "sql",
    [pytest.param(two().sql, marks=pytest.mark.heavy), "SELECT A FROM S WHERE A > 2"],
    ids=["state", "filter"],
)
def test_a_restart_goes_on_and_writes_the_same_files(
    sql: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, query = two(sql), Registered("q", sql)
    catalog = flat(case.catalog, tmp_path)
    for epoch, part in enumerate((EVENTS[:6], EVENTS[6:12])):
        for name in sorted({occurrence.relation.name for occurrence in case.query.streams}):
            ((_, path),) = write(case, [(name, [e for e in part if e["stream"] == name])], tmp_path, epoch)
            os.utime(path.removeprefix("file:"), (1_000_000 + epoch, 1_000_000 + epoch))
    whole = live(spark, query, catalog, output=tmp_path / "whole", pace=ONE_BY_ONE)
    noted, write_summary = 0, emit.write_summary

    def refuses(*given: Any) -> None:
        # The answers are written, but Spark does not know yet that the micro-batch is done.
        nonlocal noted
        noted += 1
        if noted == 2:
            raise StorageError("the disk is full")
        write_summary(*given)

    with monkeypatch.context() as patch:
        patch.setattr(epochs.emit, "write_summary", refuses)
        with pytest.raises(StorageError, match="the disk is full"):
            live(spark, query, catalog, output=tmp_path / "again", pace=ONE_BY_ONE)
    again = live(spark, query, catalog, output=tmp_path / "again", pace=ONE_BY_ONE)
    assert files(tmp_path / "again" / "q") == files(tmp_path / "whole" / "q") != {}
    assert {**again.to_json(), "output": ""} == {**whole.to_json(), "output": ""}


def test_it_begins_at_the_boundary_of_the_nightly_evaluation(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, query = two(), Registered("q", two().sql)
    catalog = histories.placed(case.catalog, tmp_path)
    parts = [EVENTS[:8], EVENTS[8:16], EVENTS[16:]]

    def arrives(number: int) -> None:
        for relation in catalog.relations:
            mine = [e for e in parts[number] if e["stream"] == relation.name]
            histories.write(relation, mine, tmp_path, number)

    for number in (0, 1):
        arrives(number)
        nightly = night([query], catalog, tmp_path / "home")["q"]
    answer = live(
        spark, query, catalog, output=tmp_path / "live", checkpoints=str(tmp_path / "home" / "checkpoints")
    )
    assert (answer.started_after, answer.rows, answer.answer_count) == ("1", 0, 0)
    arrives(2)
    answer = live(
        spark, query, catalog, output=tmp_path / "live", checkpoints=str(tmp_path / "home" / "checkpoints")
    )
    assert (answer.started_after, answer.rows) == ("1", len(parts[2]))
    expected = [one for one in by_marker(case, EVENTS, {}) if one[0] >= parts[2][0]["ts"]]
    assert written(tmp_path / "live" / "q", case.query, timed=True) == expected != []
    whole = night([query], catalog, tmp_path / "home")["q"]
    assert nightly.answer_count + answer.answer_count == whole.answer_count
    with pytest.raises(QueryError, match="another query"):
        live(spark, Registered("q", PAIRS), catalog, output=tmp_path / "live")


def test_a_file_that_cannot_be_read_ends_it_with_its_name(spark: Any, tmp_path: Path) -> None:
    case = two()
    catalog = flat(case.catalog, tmp_path)
    write(case, [("S", [row("S", 2)]), ("T", [row("T", 2)])], tmp_path, 0)
    (tmp_path / "T" / "1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="not a readable Parquet file") as told:
        live(spark, Registered("q", case.sql), catalog, output=tmp_path / "live")
    assert str(told.value.subject).endswith("1.parquet") and "java" not in str(told.value).lower()


@pytest.mark.heavy
def test_a_late_file_is_refused_and_what_comes_later_goes_on_without_it(spark: Any, tmp_path: Path) -> None:
    case, query = two(), Registered("q", two().sql)
    catalog = flat(case.catalog, tmp_path)
    arrive(case, catalog, EVENTS, seed=1)
    before = live(spark, query, catalog, output=tmp_path / "live")
    ((_, late),) = write(case, [("T", [row("T", 31, 3)])], tmp_path, 90)
    with pytest.raises(DataError, match="stream T has a row of 31, but the answers have been given up to 31"):
        live(spark, query, catalog, output=tmp_path / "live")
    Path(late.removeprefix("file:")).unlink()
    write(case, [("T", [row("T", 32, 3)])], tmp_path, 91)
    after = live(spark, query, catalog, output=tmp_path / "live")
    assert (after.rows, after.markers) == (before.rows + 1, before.markers + 1)
    found = written(tmp_path / "live" / "q", case.query, timed=True)
    assert found == by_marker(case, [*EVENTS, row("T", 32, 3)], {})
    assert all(
        pq.ParquetFile(f).metadata.num_rows for f in (tmp_path / "live" / "q").glob("epoch=*/*.parquet")
    )


@pytest.mark.heavy
def test_files_of_one_time_may_come_in_any_order_and_the_error_says_so(spark: Any, tmp_path: Path) -> None:
    case = two()
    catalog = flat(case.catalog, tmp_path)
    for number, moment in enumerate((9, 1, 8, 2, 7, 3)):
        for _, path in write(case, [("S", [row("S", moment)]), ("T", [row("T", moment)])], tmp_path, number):
            os.utime(path.removeprefix("file:"), ns=(10**12, 10**12))
    with pytest.raises(DataError, match="but the answers have been given up to") as told:
        live(spark, Registered("q", case.sql), catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
    assert told.value.fix is not None and told.value.fix.startswith("leave out --files")
    assert (
        live(spark, Registered("q", case.sql), catalog, output=tmp_path / "live", recompute=True).rows == 12
    )


def test_every_damage_to_a_file_of_answers_or_its_note_is_found(tmp_path: Path) -> None:
    query = two(PAIRS).query
    portion = json.dumps([[None, [1], 2], [None, [3], 4]])
    path, file = epoch_path(tmp_path, 0), write_epoch(tmp_path, query, False, 0, [portion])
    # Long ago, whatever the clock's step is.
    os.utime(path, (0, 0))
    note_epoch(tmp_path, 0, replace(file, identity=identity_of(path)))
    require_written(tmp_path, 1)
    for there in (path, path.with_name(NOTE)):
        content = there.read_bytes()
        damaged = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(len(content))]
        for other in (*damaged, *(content[:at] for at in range(len(content.rstrip()))), None):
            there.unlink() if other is None else there.write_bytes(other)
            with pytest.raises(StorageError, match="epoch=00000000"):
                require_written(tmp_path, 1)
        there.write_bytes(content)
        # Put back from a copy, the file is another one with the same content.
        require_written(tmp_path, 1)


def test_damaged_answers_of_a_micro_batch_are_named_at_the_next_start(spark: Any, tmp_path: Path) -> None:
    case, query = two(PAIRS), Registered("q", PAIRS)
    catalog = flat(case.catalog, tmp_path)
    arrive(case, catalog, EVENTS[:10], 0)
    answer = live(spark, query, catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
    files = sorted((tmp_path / "live" / "q").glob("epoch=*/*.parquet"))
    require_written(tmp_path / "live" / "q", answer.epochs)
    for file in (files[0], files[0].with_name(NOTE), files[-1]):
        content = file.read_bytes()
        file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
        with pytest.raises(StorageError, match=file.parent.name):
            live(spark, query, catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
        file.write_bytes(content)
    summary = tmp_path / "live" / "q" / emit.SUMMARY
    content = summary.read_bytes()
    summary.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="not what a live query noted"):
        live(spark, query, catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
    summary.write_bytes(content)
    again = live(spark, query, catalog, output=tmp_path / "live", pace=ONE_BY_ONE)
    assert again.answer_count == answer.answer_count
