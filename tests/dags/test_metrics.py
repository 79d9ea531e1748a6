"""Metrics: each of a query, by Airflow's own Stats, however these are configured; the dashboard shows all."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

from streambound.results import Answer, CacheAnswer, VerdictRecord
from streambound.results.records import now
from streambound_airflow import metrics

pytestmark = pytest.mark.airflow

GRAFANA = Path(__file__).parents[2] / "docs" / "grafana"
ANSWER = Answer("e1", "hubs", 3, 10**30, 7, missing_partitions=("s 1",), peak_units=2, units=9, seconds=0.5)
SHARE = CacheAnswer("e1", "hubs", 9, "lru", "", 4, estimated_share=0.25)


class Heard:
    """What a backend of Airflow's Stats was told."""

    def __init__(self) -> None:
        self.told: dict[str, tuple[float, Any]] = {}

    def gauge(self, stat: str, value: float, *, tags: Any = None) -> None:
        assert type(value) is float
        self.told[stat] = value, tags


@pytest.fixture
def heard() -> Iterator[Heard]:
    one = Heard()
    stats.initialize(factory=lambda: one, export_legacy_names=True)
    yield one
    stats.initialize(factory=get_stats_factory(), export_legacy_names=True)


def verdict(query: str, said: str) -> VerdictRecord:
    return VerdictRecord("r", query, said, now(), criterion="exact")


def send(folder: Path) -> None:
    pq.write_table(pa.table({"A": [1, 2, 3]}), folder / "part.parquet")
    (folder / "broken.parquet").write_text("no Parquet")
    metrics.evaluated(ANSWER, [{"kept": str(folder)}], SHARE)
    found = [verdict("hubs", "unbounded"), verdict("other", "bounded"), verdict("new", "bounded")]
    metrics.checked(found, [verdict("hubs", "bounded"), verdict("other", "bounded")])


def test_every_metric_is_sent_with_its_query_as_a_tag(heard: Heard, tmp_path: Path) -> None:
    send(tmp_path)
    values = {name: value for name, (value, tags) in heard.told.items() if name != "streambound.bounded"}
    assert values == {
        "streambound.bound_units": 9,
        "streambound.peak_units": 2,
        "streambound.rows_read": 1e30,
        "streambound.answer_rows": 7,
        "streambound.seconds": 0.5,
        "streambound.partitions": 3,
        "streambound.missing_partitions": 1,
        "streambound.late_rows": 3,
        "streambound.share": 0.25,
        "streambound.verdict_changed": 0,
    }
    assert heard.told["streambound.share"][1] == {"query": "hubs"}
    assert {name.removeprefix("streambound.") for name in heard.told} == set(metrics.GAUGES)


def test_plain_statsd_has_the_query_in_the_name(
    heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
    send(tmp_path)
    assert heard.told["streambound.verdict_changed.hubs"][0] == 1
    assert heard.told["streambound.verdict_changed.new"][0] == 0
    metrics.checked([verdict("a b.c", "bounded")], [])
    assert "streambound.bounded.a_b__c" in heard.told
    # What the exporter's mapping makes of these is what the dashboard asks for.
    (mapping,) = yaml.safe_load((GRAFANA / "statsd-mapping.yml").read_text())["mappings"]
    for name in heard.told:
        assert fnmatch.fnmatch(f"airflow.{name}", mapping["match"]) and name.count(".") == 2
    assert mapping["name"] == "airflow_streambound_$1" and mapping["labels"] == {"query": "$2"}


def test_what_cannot_be_sent_fails_nothing(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError("the network is down")

    monkeypatch.setattr(heard, "gauge", refused)
    metrics.evaluated(ANSWER, [])
    assert "streambound.peak_units was not sent: OSError: the network is down" in caplog.text


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    dashboard = json.loads((GRAFANA / "streambound.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [one["definition"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    assert set(re.findall(r"airflow_streambound_(\w+)", " ".join(asked))) == set(metrics.GAUGES)
    told = (GRAFANA.parent / "production.md").read_text()
    assert all(f"`{name}`" in told for name in metrics.GAUGES)
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
    assert all(expr.count("(") == expr.count(")") for expr in asked)
