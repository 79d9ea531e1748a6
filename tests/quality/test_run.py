"""The checkpoint of a stream names what failed, in which partition, in Data Docs that need no network."""

from __future__ import annotations

import datetime as dt
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from streambound import settings
from streambound.errors import StorageError
from streambound.quality import check_stream, docs
from streambound.results import Results

from .conftest import History, relation, rows

DAY = "2013-01-02"
NEWEST = "2013-01-03"
MIDNIGHT = dt.datetime(2013, 1, 4, tzinfo=dt.UTC)


def test_a_sound_stream_succeeds(history: History) -> None:
    quality = check_stream(relation(), None, "run 1/é")
    assert quality.success and quality.failed_partitions == {} and quality.stream == "flights"
    # 2 of readability, 2 of NULLs, 5 of domains, the day, the rate; 5 of rows (columns, NULLs, domains).
    assert quality.evaluated == 11 + 6
    assert quality.docs.is_file() and (docs.site_folder() / "index.html").is_file()
    assert [m.partition for m in quality.measures] == ["2013-01-01", DAY, NEWEST]


# By the day on which the first row breaks its promise.
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "2013-02-01": ({"origin": None}, "1 NULL in column origin"),
    "2013-02-02": ({"departed_at": None}, "1 NULL in column departed_at"),
    "2013-02-03": ({"origin": "SFO"}, "1 rows with origin outside its declared domain"),
    "2013-02-04": ({"delay": 5000}, "1 rows with delay outside its declared domain"),
    "2013-02-05": (
        {"departed_at": rows("2013-01-04")[0]["departed_at"]},
        "1 rows with departed_at outside the UTC day",
    ),
}


def test_a_broken_promise_names_its_partition(history: History) -> None:
    for day, (change, _) in BROKEN.items():
        history.spoil(day, change)
    quality = check_stream(relation(), None, "r")
    assert not quality.success
    assert quality.failed_partitions == {day: (reason,) for day, (_, reason) in BROKEN.items()}
    text = quality.docs.read_text()
    assert all(day in text for day in BROKEN)


def test_every_kind_of_damage_at_once(history: History, tmp_path: Path) -> None:
    same = rows("2013-01-04")[0]
    history.write("2013-01-04", [same | {"origin": None}, same, same, same])
    history.file(DAY).write_bytes(b"not Parquet")
    quality = check_stream(relation(), ["2013-01-01", DAY, NEWEST, "2013-01-04", "2013-06-06"], "r")
    assert quality.failed_partitions["2013-01-04"] == (
        "1 NULL in column origin",
        "4 rows share one departed_at, declared at most 3",
    )
    (unreadable,) = quality.failed_partitions[DAY]
    assert unreadable.startswith("part-00000.parquet is not a readable Parquet file")
    assert quality.failed_partitions["2013-06-06"] == ("the partition has no Parquet file",)
    sound = [m.partition for m in quality.measures if m.partition not in quality.failed_partitions]
    assert sound == ["2013-01-01", NEWEST]

    results = Results(f"sqlite:///{tmp_path}/results.db")
    quality.record(results)
    (outcome,) = results.latest_quality()
    assert outcome.failed_partitions == (DAY, "2013-01-04", "2013-06-06")
    metrics = {m.partition: m.metrics for m in results.partition_metrics("r", "flights")}
    assert metrics["2013-01-04"]["nulls"]["origin"] == 1 and metrics[DAY]["rows"] is None


def test_a_stream_with_no_sound_partition_fails_in_all(history: History) -> None:
    for day in ("2013-01-01", DAY, NEWEST):
        history.file(day).write_bytes(b"")
    assert list(check_stream(relation(), None, "r").failed_partitions) == ["2013-01-01", DAY, NEWEST]


def test_a_failing_newest_partition_is_named_once(history: History) -> None:
    history.spoil(NEWEST, {"origin": "SFO"})
    quality = check_stream(relation(), None, "r")
    assert quality.failed_partitions == {NEWEST: ("1 rows with origin outside its declared domain",)}


def test_an_empty_newest_partition_is_sound(history: History) -> None:
    history.write("2013-01-04", [])
    assert check_stream(relation(), None, "r").success


def test_pages_need_no_network_and_their_parts_exist(history: History) -> None:
    history.spoil(DAY, {"origin": "<script>alert(1)</script>"})
    quality = check_stream(relation(), None, "scheduled__2013-01-02T00:00:00+00:00")
    pages = list(docs.site_folder().rglob("*.html"))
    assert quality.docs in pages and len(pages) == 5
    for page in pages:
        html = page.read_text()
        loaded = re.findall(r'<(?:script|link|img)\b[^>]*?\b(?:src|href)="([^"]+)"', html)
        assert loaded and not [address for address in loaded if "://" in address]
        assert "<script>alert" not in html and "url('http" not in html and "newsletter" not in html
        parts = [a.split("?")[0] for a in loaded if "favicon" not in a]
        assert [part for part in parts if not (page.parent / unquote(part)).is_file()] == []


def test_fonts_and_licences_are_in_the_site(history: History) -> None:
    check_stream(relation(), None, "r")
    static = docs.site_folder() / "static"
    assert (static / "webfonts" / "fa-solid-900.woff2").stat().st_size > 100_000
    assert len(list((static / "licenses").glob("*.txt"))) == 5


def test_an_unknown_outside_part_is_left_out() -> None:
    html = '<head><script src="https://cdn.example/new@9/new.min.js"></script><link href="https://x/y.css"/></head>'
    assert docs.offline(html, "static/") == "<head></head>"


def test_old_results_and_their_pages_go(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "KEPT_RESULTS", 2)
    pages = [check_stream(relation(), None, f"run{number}").docs for number in range(3)]
    assert [page.is_file() for page in pages] == [False, True, True]


def test_checks_at_once_wait_for_each_other(history: History) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda n: check_stream(relation(), None, f"run{n}"), range(2)))
    assert [quality.success for quality in found] == [True] * 2
    assert all(quality.docs.is_file() for quality in found)


def test_a_broken_context_is_a_storage_error(history: History) -> None:
    check_stream(relation(), None, "r")
    (settings.quality_root() / "gx" / "great_expectations.yml").write_text("a: [")
    with pytest.raises(StorageError, match="Great Expectations context failed") as caught:
        check_stream(relation(), None, "r")
    assert caught.value.fix == "delete this folder; it is written anew"


def test_a_quality_folder_that_cannot_be_made_is_a_storage_error(history: History) -> None:
    settings.quality_root().write_text("a file")
    with pytest.raises(StorageError, match="quality folder cannot be used"):
        check_stream(relation(), None, "r")


def test_different_values_are_counted_over_all_partitions(history: History) -> None:
    observed = check_stream(relation(), None, "r").outcome().observed
    assert observed["origin"] == {"different": 3, "exact": True}
    assert observed["departed_at"] == {"different": 15, "exact": True}
    assert observed["fare"] == {"different": 0, "exact": True}


def test_many_different_values_are_estimated(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streambound.quality.observed.COUNTED", 4)
    observed = check_stream(relation(), None, "r").outcome().observed
    assert observed["origin"] == {"different": 3, "exact": True}
    assert not observed["departed_at"]["exact"] and 10 <= observed["departed_at"]["different"] <= 20


def test_a_failed_partition_has_rows_that_break_each_promise(history: History) -> None:
    first = rows(DAY)[0]
    history.write(DAY, [first | {"origin": "SFO"}] * 4 + [first | {"departed_at": None, "delay": 500}])
    outcome = check_stream(relation(), None, "r").outcome()
    (failed,) = outcome.failed
    found = {one["reason"]: one["rows"] for one in failed["examples"]}
    midnight = f"{DAY}T00:00:00+00:00"
    assert found == {
        "1 NULL in column departed_at": [{"departed_at": None}],
        "4 rows with origin outside its declared domain": [{"departed_at": midnight, "origin": "SFO"}] * 3,
        "1 rows with delay outside its declared domain": [{"departed_at": None, "delay": 500}],
        "4 rows share one departed_at, declared at most 3": [
            {"departed_at": midnight, "rows at this timestamp": 4}
        ],
    }
    failures = {one["says"]: one["failed"] for one in outcome.expectations}
    assert len(outcome.expectations) == outcome.evaluated and sum(failures.values()) == 4
    assert failures["Every value of column origin is in its declared domain"] == 1


def test_an_unreadable_partition_has_no_rows_to_show(history: History) -> None:
    history.file(DAY).write_bytes(b"")
    (failed,) = check_stream(relation(), None, "r").outcome().failed
    assert failed["partition"] == DAY and failed["examples"] == []
