"""The pages when what is recorded no longer holds, and under requests of many or of strangers."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import yaml
from tests.dags.test_pages import NOON, page

from streambound.compiler.report import check
from streambound.query.catalog import load_catalog
from streambound.results import Results, Run
from streambound_airflow.pages import api, detail, examination, overview, readiness, triggering
from streambound_airflow.pages.examination import Examiner

pytestmark = pytest.mark.airflow


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


def record(store: Results, registry: Path, run: str, criterion: str = "exact") -> None:
    catalog = load_catalog(registry / "streams.yml")
    texts = {file.stem: file.read_text() for file in sorted((registry / "queries").glob("*.sql"))}
    bodies = [{**check(sql, catalog, name, criterion).to_json(), "sql": sql} for name, sql in texts.items()]
    store.record_verdicts(run, bodies, NOON)
    store.record_run(Run(run, "validate_queries", "success", started_at=NOON, ended_at=NOON))


def test_a_catalog_that_has_changed_is_said_and_everything_is_decided_anew(
    viewer: Any, store: Results, registry: Path
) -> None:
    record(store, registry, "r1")
    file = registry / "streams.yml"
    catalog = yaml.safe_load(file.read_text())
    del catalog["streams"]["departures"]["domains"]["origin"]
    file.write_text(yaml.safe_dump(catalog, sort_keys=False))
    seen = page(viewer, "queries/bounded")
    assert "of another catalog than the one there is now" in seen.text
    assert "Why it is unbounded" in seen.text and "Why it is bounded" not in seen.text
    assert seen.all("section", aria_labelledby="suggestions")


def test_a_verdict_by_another_criterion_is_said(viewer: Any, store: Results, registry: Path) -> None:
    record(store, registry, "r1", "schiff_ozcep")
    seen = page(viewer, "queries/unbounded")
    assert "Not checked yet by the criterion exact, which evaluations go by" in seen.text
    assert "schiff_ozcep" in seen.text and "Why it is unbounded" in seen.text
    assert "schiff_ozcep" in page(viewer, "runs/validate_queries/r1").text


def test_what_another_criterion_says_does_not_replace_what_evaluations_go_by(
    viewer: Any, store: Results, registry: Path
) -> None:
    sql = "SELECT DISTINCT origin FROM departures WHERE dep_delay > 60"
    (registry / "queries" / "bounded.sql").write_text(sql)
    record(store, registry, "r1")
    body = {"query": "bounded", "verdict": "unknown", "criterion": "schiff_ozcep", "sql": sql}
    store.record_verdicts("r2", [body], NOON + dt.timedelta(days=1))
    store.record_verdicts("r3", [{**body, "verdict": "bounded"}], NOON + dt.timedelta(days=2))
    told = viewer.get("api/v1/queries/bounded").json()
    assert (told["summary"]["verdict"], told["summary"]["criterion"]) == ("bounded", "exact")
    assert (told["verdict"]["run_id"], told["verdict"]["criterion"]) == ("r1", "exact")
    history = viewer.get("api/v1/queries/bounded/verdicts").json()["verdicts"]
    assert [(one["run_id"], one["criterion"]) for one in history] == [
        ("r3", "schiff_ozcep"),
        ("r2", "schiff_ozcep"),
        ("r1", "exact"),
    ]
    turns = [(one.run_id, one.criterion) for one in detail.turns("bounded")]
    assert turns == [("r3", "schiff_ozcep"), ("r2", "schiff_ozcep"), ("r1", "exact")]
    assert not page(viewer, "queries/bounded").all("p", class_="notice")


def test_the_bound_of_a_file_that_has_changed_is_that_of_its_text_now(
    viewer: Any, store: Results, registry: Path
) -> None:
    record(store, registry, "r1")
    (registry / "queries" / "unbounded.sql").write_text("SELECT DISTINCT origin FROM departures")
    assert "Bound?3 units" in "".join(page(viewer, "queries/unbounded").text.split("\n"))


def test_runs_of_two_dags_with_one_id_are_told_apart(viewer: Any, store: Results, registry: Path) -> None:
    body = {"query": "bounded", "criterion": "exact", "sql": "x"}
    store.record_verdicts("r", [{**body, "verdict": "bounded"}], NOON, "validate_queries")
    store.record_run(Run("r", "validate_queries", "success", started_at=NOON))
    store.record_verdicts("r", [{**body, "verdict": "unbounded"}], NOON + dt.timedelta(days=1), "a_dag")
    seen = {job: viewer.get(f"api/v1/runs/{job}/r").json() for job in ("validate_queries", "a_dag", "b_dag")}
    found = {job: [(v["verdict"], v["job"]) for v in told["verdicts"]] for job, told in seen.items()}
    assert found == {
        "validate_queries": [("bounded", "validate_queries")],
        "a_dag": [("unbounded", "a_dag")],
        "b_dag": [],
    }
    row = viewer.get("api/v1/queries/bounded").json()["summary"]
    assert (row["verdict"], row["check_job"], row["check_run"]) == ("unbounded", "a_dag", "r")
    assert page(viewer, "queries/bounded").all("a", href="../../dags/a_dag/runs/r")


def test_what_was_recorded_without_a_job_is_shown_as_before(
    viewer: Any, store: Results, registry: Path
) -> None:
    store.record_verdicts("old", [{"query": "bounded", "verdict": "bounded", "sql": "x"}], NOON)
    assert len(viewer.get("api/v1/runs/a_dag/old").json()["verdicts"]) == 1
    store.record_run(Run("old", "validate_queries", "success", started_at=NOON))
    shown = {
        dag: viewer.get(f"api/v1/runs/{dag}/old").json()["verdicts"] for dag in ("validate_queries", "a_dag")
    }
    assert {dag: len(verdicts) for dag, verdicts in shown.items()} == {"validate_queries": 1, "a_dag": 0}


def test_the_tab_of_somebody_elses_dag_shows_nothing_of_ours(
    viewer: Any, store: Results, registry: Path
) -> None:
    run = "scheduled__2026-11-27T02:00:00+00:00"
    record(store, registry, run)
    assert "were decided" in page(viewer, f"runs/validate_queries/{run}").text
    assert "were decided" not in page(viewer, f"runs/somebodys_dag/{run}").text


def test_what_is_committed_late_is_listed_after_a_while(
    viewer: Any, store: Results, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr(overview, "time", now)
    record(store, registry, "r1")
    assert viewer.get("api/v1/queries").status_code == 200
    earlier = NOON - dt.timedelta(seconds=1)
    store.record_verdicts("r0", [{"query": "fresh", "verdict": "bounded", "sql": "x"}], earlier)
    now.monotonic = lambda: 1000.0 + overview.LASTING
    assert viewer.get("api/v1/queries/fresh").status_code == 200


@pytest.mark.parametrize("address", ["queries?text=bounded&verdict=", "queries?text=&verdict=unbounded"])
def test_the_filters_work_without_scripts_whatever_is_chosen(
    viewer: Any, registry: Path, address: str
) -> None:
    assert page(viewer, address)


@pytest.mark.parametrize("origin", ["same-site", "cross-site"])
def test_another_origin_starts_nothing(
    clients: dict[str, Any], registry: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    started: list[str] = []
    monkeypatch.setattr(api, "start", lambda dag_id, *what: started.append(dag_id))
    headers = {"Sec-Fetch-Site": origin, "Content-Type": "application/x-www-form-urlencoded"}
    answer = clients["admin"].post("api/v1/queries/bounded/runs/validate_queries", headers=headers)
    assert answer.status_code == 403 and started == []


@pytest.mark.parametrize(
    ("state", "said"), [("is_paused", "is paused"), ("has_import_errors", "cannot be imported")]
)
def test_a_dag_that_would_not_run_is_refused(
    clients: dict[str, Any], registry: Path, monkeypatch: pytest.MonkeyPatch, state: str, said: str
) -> None:
    model = SimpleNamespace(**{"is_paused": False, "has_import_errors": False, state: True})
    monkeypatch.setattr(triggering.DagModel, "get_current", lambda dag_id: model)
    answer = clients["admin"].post("api/v1/queries/bounded/runs/validate_queries")
    assert answer.status_code == 422 and said in answer.json()["error"]["message"]


@pytest.mark.parametrize(("method", "address"), [("PROPFIND", "queries"), ("FOO", "nowhere")])
def test_unknown_methods_are_refused_like_all_that_is_anonymous(
    clients: dict[str, Any], registry: Path, method: str, address: str
) -> None:
    assert clients["anonymous"].request(method, address).status_code == 401


@pytest.mark.parametrize("address", ["runs/x/%00", "api/v1/runs/x/a%00b"])
def test_nul_is_refused_before_any_database(viewer: Any, address: str) -> None:
    assert viewer.get(address).status_code == 422


def test_many_slow_texts_leave_threads_to_the_rest_of_airflow(
    mounted: Any, clients: dict[str, Any], registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_are_answered = threading.Event()

    def slow(examiner: Examiner, question: Any, seconds: float) -> dict[str, Any]:
        assert others_are_answered.wait(60)
        return {"refused": {"code": "x", "message": "x", "exit_code": 2}}

    monkeypatch.setattr(Examiner, "ask", slow)
    # Whoever has a place keeps it until all others have been answered.
    monkeypatch.setattr(examination, "PATIENCE", 60.0)
    headers = {"Authorization": clients["viewer"].headers["Authorization"]}

    async def asked() -> Counter[int]:
        transport = httpx2.ASGITransport(app=mounted)
        base = "http://airflow.test/streambound/"
        async with httpx2.AsyncClient(transport=transport, base_url=base, headers=headers) as client:
            texts = [client.post("api/v1/check", json={"sql": f"SELECT {one}"}) for one in range(45)]
            answers = asyncio.as_completed(texts)
            refused = [(await next(answers)).status_code for _ in range(45 - examination.WAITING)]
            others_are_answered.set()
            return Counter([*refused, *[(await one).status_code for one in answers]])

    assert asyncio.run(asked()) == {503: 45 - examination.WAITING, 422: examination.WAITING}


def test_pages_are_prepared_when_a_server_begins_and_not_before(
    working_folder: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    made = examination.Examiners(1, seconds=60.0)
    monkeypatch.setattr(readiness, "EXAMINERS", made)
    app = Starlette()
    app.add_middleware(readiness.Prepared)
    assert TestClient(app).get("/").status_code == 404 and made._free.queue[0]._process is None
    with TestClient(app):
        (thread,) = [one for one in threading.enumerate() if one.name == "streambound-pages"]
        thread.join()
    try:
        process = made._free.queue[0]._process
        assert process is not None
        assert made.examine("SELECT DISTINCT origin FROM departures")["verdict"] == "bounded"
        assert made._free.queue[0]._process is process
    finally:
        made.end()
