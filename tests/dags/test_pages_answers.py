"""Rows of answers: whatever part of them is asked for, and in which form, they are those of the files."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.dags.test_pages import page
from tests.history.kinds import KINDS, MEMORY, arrive, placed
from tests.spark.nights import night

from streambound.results import Answer, Results
from streambound.tasks.emit import COUNTS
from streambound_airflow.pages import answers

pytestmark = pytest.mark.airflow

PARTS = 3
# By name, whether the answer is kept as a whole.
WHOLE = {"filter": False, "distinct": True, "groups": True, "windows": True, "cached": False}
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of an evaluation of two partitions, and of one more in the night after."""
    home = tmp_path_factory.mktemp("evaluated")
    chosen = [query for query in KINDS if query.name in WHOLE]
    for part in range(PARTS):
        arrive(home, part)
        if part:
            night(chosen, placed(home), home, memory=MEMORY)
    return home


@pytest.fixture
def answered(viewer: Any, evaluated: Path, working_folder: Path, registry: Path) -> Any:
    """A client of somebody who may look, where these queries are registered and evaluated."""
    shutil.copytree(evaluated / "answers", working_folder / "answers")
    for query in KINDS:
        (registry / "queries" / f"{query.name}.sql").write_text(query.sql)
    return viewer


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


def asked(client: Any, address: str, status: int = 200) -> Any:
    answer = client.get(f"api/v1/queries/{address}")
    assert answer.status_code == status, answer.text
    return answer.json()


def in_files(folder: Path, view: str) -> list[tuple[Any, ...]]:
    """The rows of a view, as DuckDB reads its files; of changes the newest partition first."""
    if view == "answer":
        return duckdb.sql(f"FROM read_parquet('{folder}/_total.parquet')").fetchall()
    read = f"read_parquet('{folder}/*=*/*.parquet', hive_partitioning = true, file_row_number = true)"
    rows = duckdb.sql(f"SELECT * EXCLUDE file_row_number FROM {read} ORDER BY part DESC, file_row_number")
    return [(str(part), *row) for *row, part in rows.fetchall()]


def parts_of(client: Any, address: str, size: int) -> list[dict[str, Any]]:
    """All rows, so many at a time."""
    found: list[dict[str, Any]] = []
    while True:
        body = asked(client, f"{address}&limit={size}&offset={len(found)}")
        assert len(body["rows"]) == min(size, body["total"] - len(found))
        found += body["rows"]
        if not body["rows"]:
            return found


@pytest.mark.parametrize("name", WHOLE)
def test_rows_in_parts_and_downloads_are_those_of_the_files(
    answered: Any, evaluated: Path, name: str
) -> None:
    folder = evaluated / "answers" / name
    about = json.loads((folder / "_answer.json").read_text())
    body = asked(answered, f"{name}/answers")
    assert body["views"] == (["answer", "changes"] if WHOLE[name] else ["changes"])
    assert body["view"] == body["views"][0] and body["answer_rows"] == about["answer_rows"] > 0
    for view in body["views"]:
        known = in_files(folder, view)
        found = parts_of(answered, f"{name}/answers?view={view}", 7)
        of_changes = view == "changes"
        rows = [((one["partition"],) if of_changes else ()) + (*one["row"], one["count"]) for one in found]
        assert rows == known
        for address in (f"{name}/answers.csv?view={view}", f"{name}/answers.parquet?view={view}"):
            answer = answered.get(f"api/v1/queries/{address}")
            assert f"{name}-{view}" in answer.headers["content-disposition"]
            if "csv" in address:
                _, *lines = csv.reader(io.StringIO(answer.text))
                assert [len(line) for line in lines] == [len(row) for row in known]
                for line, row in zip(lines, known, strict=True):
                    assert all(type(value)(text) == value for text, value in zip(line, row, strict=True))
            else:
                table = pq.read_table(io.BytesIO(answer.content))
                assert [tuple(row.values()) for row in table.to_pylist()] == known
    assert sum(one["count"] for one in found) == body["answer_count"]


@pytest.mark.parametrize("name", WHOLE)
def test_what_the_last_night_made_is_told_from_what_was_there(answered: Any, name: str) -> None:
    body = asked(answered, f"{name}/answers?view=changes&limit=500")
    assert [one["new"] for one in body["rows"]] == [one["partition"] == "2" for one in body["rows"]]
    assert body["new"] == sum(one["new"] for one in body["rows"]) < body["total"]
    assert body["last_partition"] == "2" and (body["share"] is not None) == (name == "cached")


def test_changes_add_up_to_the_answer(answered: Any) -> None:
    changes = Counter[tuple[Any, ...]]()
    found = asked(answered, "groups/answers?view=changes&limit=500")["rows"]
    for one in found:
        changes[tuple(one["row"])] += one["count"]
    assert any(one["count"] < 0 for one in found)
    whole = asked(answered, "groups/answers?view=answer")["rows"]
    assert {row: count for row, count in changes.items() if count} == {
        tuple(one["row"]): one["count"] for one in whole
    }


def test_the_evaluation_before_is_that_of_the_records(
    answered: Any, store: Results, working_folder: Path
) -> None:
    about = asked(answered, "groups/answers")
    digest = json.loads((working_folder / "answers" / "groups" / "_answer.json").read_text())["digest"]
    assert about["rows_before"] is None
    moment = dt.datetime(2026, 11, 27, tzinfo=dt.UTC)
    for number, (rows, had) in enumerate(((4, "x"), (about["answer_rows"], digest))):
        store.record_answer(
            Answer(f"e{number}", "groups", 3, 9, rows, digest=had, evaluated_at=moment.replace(hour=number))
        )
        assert asked(answered, "groups/answers")["rows_before"] == 4


def test_the_page_shows_rows_leads_to_the_others_and_downloads(
    answered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streambound_airflow.pages.views.ROWS", 5)
    seen = page(answered, "queries/windows")
    assert [had["aria-current"] for had in seen.all("a", href="../queries/windows?view=answer#answers")] == [
        "true"
    ]
    total = asked(answered, "windows/answers?view=changes")["total"]
    seen = page(answered, "queries/windows?view=changes&offset=5")
    assert f"Changes 6 to 10 of {total}" in seen.text and "new" in seen.text
    assert seen.all("a", rel="prev", href="../queries/windows?view=changes&offset=0#answers")
    assert seen.all("a", rel="next", href="../queries/windows?view=changes&offset=10#answers")
    for kind in ("csv", "parquet"):
        address = f"../api/v1/queries/windows/answers.{kind}?view=changes"
        assert seen.all("a", href=address, download=None, data_airflow=None)
        assert answered.get(address.removeprefix("../")).status_code == 200
    assert "there are" in page(answered, "queries/windows?offset=100000").text.lower()
    assert page(answered, "queries/filter").text.count("As it is now") == 0
    assert "about" in page(answered, "queries/cached").text


def test_what_there_is_not_is_said(answered: Any) -> None:
    assert asked(answered, "bounded/answers") == {
        **asked(answered, "unbounded/answers"),
        "query": "bounded",
    }
    assert asked(answered, "bounded/answers")["evaluated"] is False
    assert "not been evaluated" in asked(answered, "bounded/answers.csv", 404)["error"]["message"]
    assert "sum of its changes" in asked(answered, "filter/answers?view=answer", 404)["error"]["message"]
    asked(answered, "nobody/answers", 404)
    asked(answered, "filter/answers.xlsx", 422)
    asked(answered, "filter/answers?sort=A", 422)
    assert page(answered, "queries/bounded").all("p", id="unanswered")


@pytest.mark.parametrize("name", ["../secret", "..", ".", "/etc", "filter/../../secret"])
def test_no_name_that_was_recorded_leads_out_of_the_answers(
    answered: Any, store: Results, working_folder: Path, name: str
) -> None:
    shutil.copytree(working_folder / "answers" / "filter", working_folder / "secret")
    shutil.copy(working_folder / "answers" / "filter" / "_answer.json", working_folder / "answers")
    store.record_answer(Answer("e", name, 1, 2, 3))
    found = name.replace("/", "%2F").replace(".", "%2E")
    for address in ("answers", "answers.csv", "answers.parquet"):
        assert answered.get(f"api/v1/queries/{found}/{address}").status_code == 404


@pytest.mark.parametrize("place", ["_answer.json", "_total.parquet", "part=1/part-00000.parquet"])
def test_what_is_damaged_costs_the_rows_and_not_the_page(
    answered: Any, working_folder: Path, place: str
) -> None:
    (working_folder / "answers" / "groups" / place).write_bytes(b"damaged")
    view = "changes" if place.startswith("part") else "answer"
    error = asked(answered, f"groups/answers?view={view}", 503)["error"]
    assert "groups" in error["message"] and error["fix"]
    assert error["message"] in page(answered, f"queries/groups?view={view}").text


def test_an_evaluation_that_failed_is_told_beside_what_it_left(answered: Any, working_folder: Path) -> None:
    path = working_folder / "answers" / "groups" / "_answer.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, "error": "the disk is full", "digest": None, "answer_rows": 0}))
    body = asked(answered, "groups/answers?view=changes")
    assert body["error"] == "the disk is full" and body["answer_rows"] is None and body["rows"]
    assert "failed: the disk is full" in page(answered, "queries/groups").text
    del about["started_after"]
    path.write_text(json.dumps(about))
    assert "started_after" in asked(answered, "groups/answers", 503)["error"]["message"]


def test_values_keep_their_types_and_markup_is_text(
    viewer: Any, registry: Path, working_folder: Path
) -> None:
    folder = working_folder / "answers" / "bounded"
    folder.mkdir(parents=True)
    about = {"partitions": ["1"], "started_after": None, "error": None, "answer_rows": 1, "memory": None}
    (folder / "_answer.json").write_text(json.dumps({**about, "answer_count": f"{10**30}", "digest": "x"}))
    moment = dt.datetime(2013, 1, 1, 10, 30, tzinfo=dt.UTC)
    values = {
        "partition": pa.array([2**62]),
        "flag": pa.array([True]),
        "share": pa.array([float("nan")]),
        "price": pa.array([Decimal("0.000000100")], pa.decimal128(20, 9)),
        "day": pa.array([moment.date()]),
        "at": pa.array([moment], pa.timestamp("us", tz="UTC")),
        MARKUP: pa.array([MARKUP]),
        "none": pa.array([None], pa.string()),
        "count": pa.array([Decimal(10**30)], pa.decimal128(38, 0)),
    }
    (folder / "part=1").mkdir()
    for path in (folder / "_total.parquet", folder / "part=1" / "part-00000.parquet"):
        pq.write_table(pa.table(values), path)
    body = asked(viewer, "bounded/answers")
    (row,) = body["rows"]
    assert row["row"] == [
        2**62,
        True,
        "nan",
        "0.000000100",
        "2013-01-01",
        "2013-01-01T10:30:00+00:00",
        MARKUP,
        None,
    ]
    assert row["row"][1] is True and row["count"] == body["answer_count"] == 10**30 and body["new"] is None
    kinds = ["bigint", "boolean", "double", "decimal(20,9)", "date", "timestamp", "string", "string"]
    assert [one["type"] for one in body["columns"]] == kinds
    table = pq.read_table(
        io.BytesIO(viewer.get("api/v1/queries/bounded/answers.parquet?view=changes").content)
    )
    assert table.schema.names[:2] == ["_partition", "partition"]
    text = viewer.get("queries/bounded").text
    assert MARKUP not in text and "2013-01-01 10:30:00<" in text and "NULL" in text and ">true<" in text


def test_a_large_answer_is_sent_and_searched_in_parts(tmp_path: Path) -> None:
    size = 20 * answers.BATCH
    path = tmp_path / "large.parquet"
    table = pa.table({"a": pa.array(range(size)), "count": pa.array([Decimal(1)] * size, COUNTS)})
    pq.write_table(table, path, row_group_size=3 * answers.BATCH + 1)
    file = answers._File(path, None)
    for kind in answers.MEDIA:
        parts = [len(part) for part in answers._sent(kind, table.schema, [file])]
        assert max(parts) * 10 < sum(parts)
    for offset in (0, answers.BATCH - 1, 3 * answers.BATCH, 3 * answers.BATCH + 1, size - 2, size):
        rows = answers._some([file], [file.rows], offset, 3, frozenset())
        assert [one.row for one in rows] == [[at] for at in range(offset, min(offset + 3, size))]
