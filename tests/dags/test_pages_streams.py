"""Pages and API on streams and quality: declared beside recorded, what failed first, and no data are read."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.dags.test_pages import NOON, decide, evaluate, page, statements, store

from streambound.results import QualityOutcome, Results
from streambound_airflow.pages import overview

pytestmark = pytest.mark.airflow
__all__ = ["store"]

LATE = {
    "reason": "1 rows with origin outside its declared domain",
    "rows": [{"departed_at": None, "origin": "<b>"}],
}


def measured(rows: int | None, **more: Any) -> dict[str, Any]:
    """The metrics of a partition, as ``quality.metrics.as_json`` has them."""
    known = {"rows": rows, "nulls": {"origin": 0, "dep_delay": 1}, "nulls_total": 1, "outside_day": 0}
    ends = {"least": {"origin": "EWR", "dep_delay": -3}, "greatest": {"origin": "LGA", "dep_delay": rows}}
    return {**known, **ends, "outside_domain": {"origin": 0}, "most_rows_at_one_timestamp": 4, **more}


def check(store: Results, run_id: str, moment: dt.datetime, days: dict[str, Any], **failed: str) -> None:
    """What a quality check of ``departures`` records; ``failed`` has reasons by day, as d1."""
    store.record_partition_metrics(run_id, "departures", days, "evaluate_history")
    wrong = [{"partition": d, "reasons": [why], "examples": [LATE]} for d, why in sorted(failed.items())]
    store.record_quality(
        QualityOutcome(
            run_id,
            "departures",
            not failed,
            2,
            failed=wrong,
            checked_at=moment,
            job="evaluate_history",
            expectations=(
                {"says": "Every partition can be read", "failed": len(wrong)},
                {"says": "B", "failed": 0},
            ),
            observed={
                "origin": {"different": 3, "exact": True},
                "dep_delay": {"different": 12_345, "exact": False},
            },
        )
    )


@pytest.fixture
def checked(store: Results, registry: Path) -> Results:
    """Three nights: the newer ones have the last days only of a history that the first has whole."""
    decide(store, registry)
    night = dt.timedelta(days=1)
    check(store, "n1", NOON, {"d1": measured(10), "d2": measured(7), "d3": measured(20)})
    check(store, "n2", NOON + night, {"d3": measured(21), "d4": measured(None)}, d4="cannot be read")
    check(store, "n3", NOON + 2 * night, {"d4": measured(40)}, d4="4 rows with origin outside")
    return store


def test_what_broke_comes_first_and_leads_to_why(viewer: Any, checked: Results) -> None:
    seen = page(viewer, "streams")
    rows = [had["id"] for had in seen.all("tr") if str(had.get("id", "")).startswith("stream-")]
    assert rows[0] == "stream-departures" and len(rows) == 9
    assert "1 of 1 failed the newest check" in seen.text and "d4: 4 rows with origin outside" in seen.text
    assert seen.all("a", href="./streams/departures")
    assert seen.all("a", href="./streams", aria_current="page")
    found = viewer.get("api/v1/streams?limit=1").json()
    (first,) = found["streams"]
    assert (found["total"], found["failed"], first["name"], first["rows"]) == (9, 1, "departures", 78)
    assert [day["rows"] for day in first["days"]] == [10, 7, 21, 40]


def test_of_each_partition_the_newest_check_counts(viewer: Any, checked: Results) -> None:
    found = viewer.get("api/v1/streams/departures/partitions").json()
    told = [(one["partition"], one["rows"], one["quality"], one["run_id"]) for one in found["partitions"]]
    assert told == [
        ("d4", 40, "failed", "n3"),
        ("d3", 21, "ok", "n2"),
        ("d2", 7, "ok", "n1"),
        ("d1", 10, "ok", "n1"),
    ]
    (only,) = viewer.get("api/v1/streams/departures/partitions?failed=true").json()["partitions"]
    assert only["reasons"] == ["4 rows with origin outside"]
    (third,) = viewer.get("api/v1/streams/departures/partitions?limit=1&offset=2").json()["partitions"]
    assert third["partition"] == "d2"
    # A day that a check of all days no longer sees is gone.
    days = {"d1": measured(5), "d3": measured(5), "d4": measured(None)}
    check(checked, "n4", NOON + dt.timedelta(days=3), days, d4="cannot be read")
    found = viewer.get("api/v1/streams/departures/partitions").json()
    assert [one["partition"] for one in found["partitions"]] == ["d4", "d3", "d1"] and found["failed"] == 1
    assert [one["nulls"] for one in found["partitions"]] == [None, 1, 1]


def test_declared_stands_beside_observed(viewer: Any, checked: Results) -> None:
    found = viewer.get("api/v1/streams/departures").json()
    columns = {one["name"]: one for one in found["columns"]}
    origin, delay = columns["origin"], columns["dep_delay"]
    assert origin["domain"] == "'EWR', 'JFK', 'LGA'" and (origin["least"], origin["greatest"]) == (
        "EWR",
        "LGA",
    )
    assert (delay["least"], delay["greatest"], delay["nulls"], delay["domain"]) == (-3, 40, 4, "")
    assert (origin["different"], origin["exact"], delay["exact"]) == (3, True, False)
    rates = {one["says"]: (one["declared"], one["observed"]) for one in found["rates"]}
    assert rates == {"rows at one departed_at": (20, 4), "rows per day": (None, 40)}
    assert found["allowed_lateness"] == "2 days" and found["outside_day"] == 0
    seen = page(viewer, "streams/departures")
    assert "about 12,345" in seen.text and "2 days allowed" in seen.text


def test_an_unchecked_stream_says_what_checks_it(viewer: Any, registry: Path) -> None:
    assert page(viewer, "streams").all("div", id="empty")
    assert page(viewer, "streams/weather").all("p", id="unchecked")
    assert viewer.get("api/v1/streams/weather").json()["summary"]["quality"] == "unchecked"
    for address in ("streams/nowhere", "api/v1/streams/nowhere", "api/v1/streams/nowhere/partitions"):
        assert viewer.get(address).status_code == 404
    assert viewer.get("api/v1/lineage?stream=nowhere").status_code == 404


def test_streams_lead_over_queries_to_answers(viewer: Any, checked: Results, registry: Path) -> None:
    derived = "WITH departures2 AS (SELECT origin FROM bounded) SELECT a.name FROM departures2 d, airports a"
    (registry / "queries" / "derived.sql").write_text(derived)
    evaluate(checked, missing_partitions=("departures d4", "weather d1"))
    found = viewer.get("api/v1/lineage?stream=departures").json()
    edges = {(one["source"], one["target"]) for one in found["edges"]}
    assert ("stream:departures", "query:bounded") in edges and ("query:bounded", "answer:bounded") in edges
    assert ("query:bounded", "query:derived") in edges and ("stream:airports", "query:derived") in edges
    assert "stream:planes" not in {node["key"] for node in found["nodes"]}
    readers = {one["name"]: one for one in viewer.get("api/v1/streams/departures").json()["readers"]}
    assert readers["derived"]["through"] == ["bounded"] and readers["bounded"]["missing"] == ["d4"]
    seen = page(viewer, "streams/departures")
    assert seen.all("a", href="../queries/bounded#answers", class_="node answer")
    # The same in words, for who does not see the drawing.
    assert seen.all("details", id="lineage-words") and "its answer has 7 rows" in seen.text
    assert page(viewer, "queries/derived").all("a", href="../streams?query=derived#lineage")
    seen = page(viewer, "streams?query=derived")
    assert "Lineage of derived" in seen.text and seen.all(
        "a", href="./queries/bounded", title="query bounded"
    )
    assert not seen.all("a", href="./queries/windy")
    whole = viewer.get("api/v1/lineage").json()["nodes"]
    assert "stream:planes" in {node["key"] for node in whole}
    upward = viewer.get("api/v1/lineage?query=derived").json()["nodes"]
    assert {"stream:departures", "query:bounded"} <= {node["key"] for node in upward}


def test_a_subject_shows_expectations_failures_and_rows(viewer: Any, checked: Results) -> None:
    found = viewer.get("api/v1/quality/stream/departures").json()
    assert [one["failed"] for one in found["expectations"]] == [1, 0] and found["total"] == 1
    (failure,) = found["failures"]
    assert failure["partition"] == "d4" and failure["examples"][0]["rows"] == LATE["rows"]
    checks = viewer.get("api/v1/quality/stream/departures/checks?limit=2").json()["checks"]
    assert [(one["run_id"], one["failures"]) for one in checks] == [("n3", 1), ("n2", 1)]
    seen = page(viewer, "quality/stream/departures")
    assert "<b>" in seen.text and not seen.all("b") and "Every partition can be read" in seen.text
    assert seen.all("h2", id="trend") and seen.all("a", href="../../quality", aria_current="page")
    for address in ("quality/stream/nowhere", "api/v1/quality/answers/departures"):
        assert viewer.get(address).status_code == 404
    assert viewer.get("api/v1/quality/other/departures").status_code == 422


def test_what_an_earlier_release_recorded_is_shown(viewer: Any, store: Results, registry: Path) -> None:
    store.record_partition_metrics("r", "departures", {"d1": {"rows": 3, "nulls": {}}})
    store.record_quality(
        QualityOutcome("r", "departures", False, 9, failed=[{"partition": "d1", "reasons": ["x"]}])
    )
    store.record_quality(
        QualityOutcome("r", "bounded", False, 4, kind="answers", failed=[{"reasons": ["y"]}])
    )
    assert "They were not recorded by the release" in page(viewer, "quality/stream/departures").text
    assert "y" in page(viewer, "quality/answers/bounded").text
    assert viewer.get("api/v1/streams/departures").json()["summary"]["rows"] == 3


def test_numbers_are_compared_as_numbers_whatever_the_catalog_said_before(
    viewer: Any, store: Results, registry: Path
) -> None:
    ends = [("9.5", 0), ("-10.25", 3), ("nan", 2), ("EWR", "x")]
    days = {
        f"d{position}": measured(1, least={"dep_delay": value}, greatest={"dep_delay": value}, first=first)
        for position, (value, first) in enumerate(ends)
    }
    check(store, "n1", NOON, days)
    found = viewer.get("api/v1/streams/departures").json()
    (delay,) = [one for one in found["columns"] if one["name"] == "dep_delay"]
    assert (delay["least"], delay["greatest"], found["first"]) == ("-10.25", "nan", "x")


def test_a_second_look_reads_no_partition_again(
    viewer: Any, checked: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the first look takes, and whenever it begins.
    monkeypatch.setattr(overview, "LASTING", float("inf"))
    url = checked.url.render_as_string(hide_password=False)
    page(viewer, "streams")
    assert statements(viewer, "streams", url) <= 4
