"""Who may see the pages: nobody without Airflow's authentication, and starting runs needs the right to it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin

import pytest
from fastapi.routing import APIRoute

from streambound_airflow.links import DataDocsLink, QueryLink, ResultsLink
from streambound_airflow.operators import BoundedMemoryCheckOperator, StreamQualityOperator
from streambound_airflow.pages import triggering
from streambound_airflow.places import EXTERNAL_VIEWS, PREFIX
from streambound_airflow.spark_submit import BenchmarkCachesOperator, EvaluateHistoryOperator

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]
# What stands for each parameter of a path: something that is there.
FILLED = {
    "name": "bounded",
    "dag_id": "validate_queries",
    "run_id": "r1",
    "path": "index.html",
    "kind": "csv",
    "subject": "departures",
    "rest": "nowhere",
}


def requests_of(app: Any) -> Iterator[tuple[str, str]]:
    """A method and an address for each route of ours."""
    (mount,) = [route for route in app.routes if getattr(route, "path", "") == PREFIX]
    for route in mount.app.routes:
        assert isinstance(route, APIRoute), f"{route} is without Airflow's authentication"
        filled = dict(FILLED, name="streambound.css") if "static" in route.path else FILLED
        address = re.sub(r"{(\w+)(:path)?}", lambda match, filled=filled: filled[match[1]], route.path)
        yield from ((method, address.lstrip("/")) for method in sorted(route.methods))


def test_anonymous_requests_are_refused_on_every_route(
    clients: dict[str, Any], mounted: Any, registry: Path
) -> None:
    asked = list(requests_of(mounted))
    assert (
        len(asked) > 25 and ("GET", "static/streambound.css") in asked and ("POST", "api/v1/check") in asked
    )
    for method, address in asked:
        answer = clients["anonymous"].request(method, address)
        assert answer.status_code == 401, (method, address)
        kind = "application/json" if address.startswith("api/") else "text/html"
        assert answer.headers["content-type"].startswith(kind)
        assert "bounded" not in answer.text.replace("streambound", "")


def test_a_viewer_reads_every_page_and_starts_nothing(
    clients: dict[str, Any], mounted: Any, registry: Path
) -> None:
    for method, address in requests_of(mounted):
        answer = clients["viewer"].request(method, address)
        if method == "POST" and "/runs/" in address:
            assert answer.status_code == 403, address
        else:
            assert answer.status_code in (200, 307, 404, 405, 422), (method, address, answer.text)


def test_a_forged_and_an_empty_token_are_refused(clients: dict[str, Any], registry: Path) -> None:
    for token in ("", "x", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsInJvbGUiOiJBRE1JTiJ9."):
        headers = {"Authorization": f"Bearer {token}"}
        assert clients["anonymous"].get("queries", headers=headers).status_code in (401, 403)


def test_whoever_may_trigger_the_dag_starts_it_for_this_query(
    clients: dict[str, Any], registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def trigger_dag(dag_id: str, **how: Any) -> Any:
        started.append((dag_id, how["conf"], how["triggering_user_name"]))
        return SimpleNamespace(run_id="manual__1", state="queued")

    # Which DAGs Airflow knows by now, and which of them are paused, depends on the tests before.
    monkeypatch.setattr(triggering.DagModel, "get_current", lambda dag_id, **how: None)
    monkeypatch.setattr(triggering, "trigger_dag", trigger_dag)
    for dag_id in triggering.DAGS:
        assert clients["viewer"].post(f"api/v1/queries/bounded/runs/{dag_id}").status_code == 403
    assert started == []
    answer = clients["admin"].post("api/v1/queries/bounded/runs/validate_queries")
    assert answer.status_code == 202 and answer.json()["run_id"] == "manual__1"
    assert started == [("validate_queries", {"queries": ["bounded"], "announce": False}, "admin")]
    for address in ("nobody/runs/validate_queries", "bounded/runs/ingest_flights", "bounded/runs/anything"):
        assert clients["admin"].post(f"api/v1/queries/{address}").status_code in (404, 422)
    assert len(started) == 1


def test_a_dag_that_airflow_does_not_know_is_named(
    clients: dict[str, Any], registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which DAGs Airflow knows by now, and which of them are paused, depends on the tests before.
    monkeypatch.setattr(triggering.DagModel, "get_current", lambda dag_id, **how: None)
    asked = triggering.trigger_dag
    monkeypatch.setattr(triggering, "trigger_dag", lambda dag_id, **how: asked("parsed_by_nobody", **how))
    answer = clients["admin"].post("api/v1/queries/bounded/runs/validate_queries")
    assert answer.status_code == 404 and "validate_queries" in answer.json()["error"]["message"]


def test_what_is_not_permitted_is_not_offered(clients: dict[str, Any], registry: Path) -> None:
    assert "Check now" in clients["admin"].get("queries/bounded").text
    assert "Check now" not in clients["viewer"].get("queries/bounded").text


@pytest.mark.parametrize("address", ["queries", "api/v1/queries", "static/streambound.js", "nowhere", "try"])
def test_every_answer_carries_the_headers(viewer: Any, address: str) -> None:
    headers = viewer.get(address).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'" and policy["frame-ancestors"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "no-store" in headers["cache-control"] or address.startswith("static")


def test_airflow_finds_one_plugin_and_runs_nothing_else_of_the_folder() -> None:
    from airflow._shared.plugins_manager import plugins_manager

    before = set(sys.modules)
    found, errors = plugins_manager._load_plugins_from_plugin_directory(str(ROOT / "plugins"))
    assert errors == {} and [plugin.name for plugin in found] == ["streambound"]
    assert set(sys.modules) - before <= {"streambound_plugin"}
    (served,) = found[0].fastapi_apps
    assert served["url_prefix"] == "/streambound" and len(served["app"].routes) > 20


def test_views_are_relative_and_have_their_places() -> None:
    from airflow.api_fastapi.core_api.datamodels.plugins import ExternalViewResponse

    views = [ExternalViewResponse.model_validate(view) for view in EXTERNAL_VIEWS]
    assert [view.name for view in views if view.destination == "nav"] == [
        "Queries",
        "Streams",
        "Try a query",
        "Quality",
    ]
    (tab,) = [view for view in views if view.destination == "dag_run"]
    assert tab.href == "streambound/runs/{DAG_ID}/{RUN_ID}"
    assert len({view.url_route for view in views}) == len(views)
    for view in views:
        assert not view.href.startswith("/") and "://" not in view.href


def test_links_of_operators_lead_below_airflows_base() -> None:
    key = SimpleNamespace(dag_id="validate_queries", run_id="manual__2026-11-28T10:00:00+00:00")
    check = BoundedMemoryCheckOperator(task_id="t", query="late flights/2")
    quality = StreamQualityOperator(task_id="t", stream="departures")
    base = "https://proxy.test/under/prefix/"
    link = urljoin(base, QueryLink().get_link(check, ti_key=key))
    assert link == f"{base}plugin/streambound/streambound/queries/late%20flights%2F2"
    assert urljoin(base, DataDocsLink().get_link(quality, ti_key=key)).endswith("/streambound/quality")
    quality.docs_page = "validations/departures/1.html"
    found = urljoin(base, DataDocsLink().get_link(quality, ti_key=key))
    assert found == f"{base}plugin/streambound-quality/streambound/quality/docs/validations/departures/1.html"
    run = urljoin(base, ResultsLink().get_link(check, ti_key=key))
    tab = "manual__2026-11-28T10%3A00%3A00%2B00%3A00/plugin/streambound-run"
    assert run == f"{base}dags/validate_queries/runs/{tab}"
    for operator in (check, quality, EvaluateHistoryOperator, BenchmarkCachesOperator):
        assert "Results" in {link.name for link in operator.operator_extra_links}
