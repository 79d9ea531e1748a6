"""What a real run tells others: one message of its findings, and its lineage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.dags.test_alerts import Webhook, store, webhook
from tests.dags.test_lineage import conforms, python

from streambound.results import Results

pytestmark = pytest.mark.airflow
__all__ = ["store", "webhook"]


def test_a_run_sends_its_findings_and_its_lineage_and_ends_as_it_would_have(
    webhook: Webhook, migrated: Path, working_folder: Path, registry: Path, store: Results
) -> None:
    """A verdict turns, an invalid query fails its task; the provider's own listener sends the lineage."""
    sql = (registry / "queries" / "unbounded.sql").read_text()
    said = 'catalog = "streams.yml"\ndialects = {"queries/bounded.sql" = "flink"}\nerrors = ["invalid"]'
    (registry / "streambound.toml").write_text(said)
    before = [{"query": name, "verdict": "bounded", "criterion": "exact", "sql": sql} for name in QUERIES]
    store.record_verdicts("yesterday", before)
    events = working_folder / "events.jsonl"
    transport = {"type": "file", "log_file_path": str(events), "append": True}
    nights, conf = (
        str(Path(__file__).with_name("nights.py")),
        json.dumps({"queries": [*QUERIES, "typo"], "announce": False}),
    )
    # Other tests' DAGs and runs are in the database that all share.
    database = shutil.copy(migrated, working_folder / "airflow.db")
    env = {
        "STREAMBOUND_ALERTS": "hook",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        # Of ten seconds, which a busy machine needs to send an event, the provider drops what is later.
        "AIRFLOW__OPENLINEAGE__EXECUTION_TIMEOUT": "300",
    }
    printed = python(nights, "validate_queries", conf, **env)
    # The provider has its last word after the script's.
    (run,) = json.loads(next(line for line in printed.splitlines() if line.startswith("[{")))
    assert run["state"] == "failed" and run["tasks"]["summarise"] == "success"
    assert run["tasks"]["announce"] == "skipped"

    ((_, _, body),) = webhook.posted
    assert body["run_id"] == run["run_id"] and body["job"] == "validate_queries"
    assert [(one["kind"], one["subject"]) for one in body["findings"]] == [("verdict", "unbounded")]

    recorded = {one.query: one.dialect for one in store.verdicts(run["run_id"], "validate_queries")}
    assert recorded == {"bounded": "flink", "unbounded": None, "typo": None}

    sent = [json.loads(line) for line in events.read_text().splitlines()]
    ended = [e for e in sent if e["job"]["name"] == "validate_queries.check" and e["eventType"] != "START"]
    verdicts = [conforms(one["run"]["facets"]["streambound_verdict"]) for one in ended]
    assert {one["query"]: one["verdict"] for one in verdicts} == {
        "bounded": "bounded",
        "unbounded": "unbounded",
        "typo": "invalid",
    }
    read = {one["inputs"][0]["name"].rpartition("/")[2] for one in ended if one["inputs"]}
    assert read == {"departures"}


QUERIES = ("bounded", "unbounded")
