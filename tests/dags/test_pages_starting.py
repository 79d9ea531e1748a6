"""The buttons of a query's page: what can succeed, for this query alone, and once at a time."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from airflow.models import DagModel, DagRun
from airflow.sdk.exceptions import AirflowSkipException
from airflow.utils.session import create_session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect
from sqlalchemy import select, update
from tests.dags.test_evaluation import dag_of
from tests.dags.test_pages import decide, page
from tests.dags.test_pages_origin import served
from tests.dags.test_triggering import form, run_task
from tests.e2e.browser import visitor
from tests.strategies import Case, cases, statements, timed_cases

from streambound import settings as places
from streambound.approximate.nightly.defaults import SIZES
from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.errors import StreamboundError
from streambound.examination.__main__ import _uncached
from streambound.history.inspection.recent_past import plan_for
from streambound.query.catalog import load_catalog
from streambound.query.registry import read_query
from streambound.results import Results
from streambound.spark.applications.application import memories
from streambound_airflow import caches, selection
from streambound_airflow.pages import detail, triggering
from streambound_airflow.pages.examination import EXAMINERS
from streambound_airflow.pages.schemas import CheckBody

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]
START = "streambound/api/v1/queries/bounded/runs"
ROTATION = (
    "SELECT a.dest, d.origin FROM arrivals a JOIN departures d ON a.tailnum = d.tailnum"
    " WHERE a.arrived_at < d.departed_at"
)
# What a file may say of its memory: nothing, a size, and slips.
SAID = {"": "", "sized": "-- cache size: 20\n", "worded": "-- cache size: many\n"}


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


@pytest.fixture
def everything(registry: Path) -> Path:
    """The project's own queries beside the small ones, and equijoins with and without a memory."""
    for path in (ROOT / "include" / "registry" / "queries").glob("*.sql"):
        shutil.copy(path, registry / "queries")
    for name, said in SAID.items():
        (registry / "queries" / f"rotation{name}.sql").write_text(said + ROTATION)
        (registry / "queries" / f"kept{name}.sql").write_text(f"{said}SELECT DISTINCT origin FROM departures")
        (registry / "queries" / f"lost{name}.sql").write_text(
            f"{said}SELECT DISTINCT tailnum FROM departures"
        )
    return registry


def now(name: str, sql: str) -> CheckBody:
    return CheckBody.model_validate(EXAMINERS.examine(sql, name, suggest=False))


def can_be_benchmarked(filled: dict[str, Any], name: str) -> bool:
    """Whether the DAG's first task takes it, of a form that asks for nothing else."""
    try:
        return caches.choose({**filled, "queries": [name]}) == [name]
    except StreamboundError:
        return False


def can_be_evaluated(store: Results, name: str) -> bool:
    """Whether the DAG's first task takes it, and its application finds a plan for it."""
    try:
        selection.select(store, [name])
        query = read_query(places.registry() / "queries" / f"{name}.sql")
        memory, refused = memories([query])
        if refused:
            return False
        verdict = {one.query: one.verdict for one in store.latest_verdicts()}[name]
        if verdict != "bounded":
            plan_for(name, query.sql, load_catalog(places.registry() / "streams.yml"), memory[name].size)
    except StreamboundError:
        return False
    return True


def test_what_is_offered_is_what_its_dag_takes(
    clients: dict[str, Any], everything: Path, store: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = load_catalog(everything / "streams.yml")
    texts = {path.stem: path.read_text() for path in (everything / "queries").glob("*.sql")}
    bodies = [
        {**check(sql, catalog, name, suggest=False).to_json(), "sql": sql} for name, sql in texts.items()
    ]
    store.record_verdicts("r", bodies)
    (everything / "queries" / "q5.sql").write_text("SELECT DISTINCT carrier FROM departures")
    (everything / "queries" / "late.sql").write_text("SELECT DISTINCT carrier FROM departures")
    monkeypatch.setattr(triggering, "may_trigger", lambda user, dag_id: True)
    counts, filled = {"benchmark_caches": 0, "evaluate_history": 0}, form("benchmark_caches", {})
    for path in sorted((everything / "queries").glob("*.sql")):
        name = path.stem
        found = detail.detail(name)
        offers = {one.dag_id for one in triggering.offered(found, now(name, found.sql), None)}
        taken = {"validate_queries"}
        taken |= {"benchmark_caches"} if can_be_benchmarked(filled, name) else set()
        taken |= {"evaluate_history"} if can_be_evaluated(store, name) else set()
        assert offers == taken, name
        for dag_id in counts:
            counts[dag_id] += dag_id in offers
    # Of 14 unbounded queries of the project five are equijoins, of the bounded ones one has a window that may
    # be too large; three more are ours.
    assert counts["benchmark_caches"] == 9 and counts["evaluate_history"] > 15


RANDOM = st.one_of(
    timed_cases(),
    timed_cases(("int", "string"), windows=True),
    timed_cases(("int",), orders=True),
    cases(("int", "string")),
    statements(("int",)),
)


@settings(suppress_health_check=list(HealthCheck))
@given(RANDOM)
def test_random_queries_are_called_cacheable_as_the_benchmark_takes_them(case: Case) -> None:
    job = compile(case.sql, case.catalog)
    try:
        plan_for("q", case.sql, case.catalog, min(SIZES))
        taken = True
    except StreamboundError:
        taken = False
    told = _uncached(job)
    assert (told is None) == taken, told


@pytest.mark.parametrize(
    ("name", "dag_id", "told"),
    [
        ("unbounded", "benchmark_caches", "it has 1 streams"),
        ("bounded", "benchmark_caches", "bounded and needs no cache"),
        ("unbounded", "evaluate_history", "unbounded is unbounded"),
        ("unbounded", "materialize_synopses", "unbounded is unbounded"),
        ("typo", "evaluate_history", "typo is invalid"),
        ("windy", "evaluate_history", "windy is not checked yet"),
    ],
)
def test_what_could_only_fail_is_refused_at_once(
    airflow: dict[str, Any], store: Results, registry: Path, name: str, dag_id: str, told: str
) -> None:
    file = registry / "queries" / "windy.sql"
    before = file.read_text()
    file.unlink()
    decide(store, registry)
    file.write_text("SELECT DISTINCT carrier FROM departures" if name == "windy" else before)
    answer = airflow["admin"].post(f"streambound/api/v1/queries/{name}/runs/{dag_id}")
    assert answer.status_code == 422 and told in answer.json()["error"]["message"]
    assert runs(dag_id) == []


def runs(dag_id: str) -> list[tuple[str, Any]]:
    """The ids of a DAG's runs, the oldest first, and what they were asked for."""
    with create_session() as session:
        found = session.scalars(select(DagRun).where(DagRun.dag_id == dag_id).order_by(DagRun.id))
        return [(run.run_id, run.conf) for run in found]


def be(run_id: str, state: str) -> None:
    with create_session() as session:
        session.execute(update(DagRun).where(DagRun.run_id == run_id).values(state=state))


@pytest.mark.parametrize("dag_id", triggering.DAGS)
def test_a_second_click_leads_to_the_run_that_is_under_way(
    airflow: dict[str, Any], store: Results, registry: Path, dag_id: str
) -> None:
    if dag_id == "benchmark_caches":
        (registry / "queries" / "bounded.sql").write_text(ROTATION)
    decide(store, registry)

    def click() -> tuple[str, str, bool]:
        answer = airflow["admin"].post(f"{START}/{dag_id}")
        assert answer.status_code == 202, answer.text
        body = answer.json()
        return body["run_id"], body["state"], body["started"]

    first, state, started = click()
    assert (state, started) == ("queued", True) and click() == (first, "queued", False)
    be(first, "running")
    assert click() == (first, "running", False)
    # Of another query, and of all queries by the form: these are other runs.
    assert airflow["admin"].post("streambound/api/v1/queries/typo/runs/validate_queries").json()["started"]
    be(first, "success")
    second, _, started = click()
    assert started and second != first
    own = [conf for _, conf in runs(dag_id) if conf["queries"] == ["bounded"]]
    silent = "publish" if dag_id == "materialize_synopses" else "announce"
    assert own == [{"queries": ["bounded"], silent: False}] * 2


def test_many_clicks_at_one_moment_start_one_run(
    airflow: dict[str, Any], store: Results, registry: Path
) -> None:
    decide(store, registry)
    ready = threading.Barrier(6)

    def click(number: int) -> dict[str, Any]:
        ready.wait()
        answer = airflow["admin"].post(f"{START}/validate_queries")
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(click, range(6)))
    assert len(runs("validate_queries")) == 1
    assert len({one["run_id"] for one in found}) == 1 and sum(one["started"] for one in found) == 1


@pytest.mark.parametrize("dag_id", ["validate_queries", "evaluate_history", "benchmark_caches"])
def test_a_run_for_one_query_announces_nothing(registry: Path, dag_id: str) -> None:
    """What it would announce starts runs for all queries."""
    found: dict[str, int] = {}
    events: dict[Any, Any] = {outlet: type("Event", (), {})() for outlet in outlets(dag_id)}
    run_task(dag_id, "announce", form(dag_id, {}), outlet_events=events, **{argument(dag_id): found})
    assert [event.extra for event in events.values()] == [found]
    with pytest.raises(AirflowSkipException, match="is not announced"):
        run_task(dag_id, "announce", form(dag_id, {"announce": False}), **{argument(dag_id): found})


def outlets(dag_id: str) -> list[Any]:
    """All assets of a DAG: no other of its tasks emits one."""
    tasks = dag_of(dag_id).tasks
    assert [task.task_id for task in tasks if task.outlets] == ["announce"]
    return [asset for task in tasks for asset in task.outlets]


def argument(dag_id: str) -> str:
    return "verdicts" if dag_id == "validate_queries" else "summary"


def test_a_dag_that_is_paused_is_told_before_the_click(
    airflow: dict[str, Any], store: Results, registry: Path
) -> None:
    decide(store, registry)
    with create_session() as session:
        paused = update(DagModel).where(DagModel.dag_id == "evaluate_history")
        session.execute(paused.values(is_paused=True))
    answer = airflow["admin"].get("streambound/queries/bounded")
    assert "the DAG evaluate_history is paused, its runs would wait" in answer.text
    start = '<button type="button" data-start="../api/v1/queries/bounded/runs/'
    assert answer.text.count(start) == 2 and answer.text.count(" disabled aria-describedby=") == 1
    assert airflow["admin"].post(f"{START}/evaluate_history").status_code == 422


def test_an_unbounded_query_says_why_no_cache_helps(viewer: Any, store: Results, registry: Path) -> None:
    (registry / "queries" / "rotation.sql").write_text(ROTATION)
    decide(store, registry)
    assert "No cache answers a part of this query; it cannot run in k tuples" in page(
        viewer, "queries/unbounded"
    ).text.replace("\n", " ")
    assert "No benchmark has looked at this query" in page(viewer, "queries/rotation").text


def test_a_click_in_a_browser_starts_one_run(
    airflow: dict[str, Any], whole: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    with served(whole) as port, visitor(f"http://127.0.0.1:{port}") as person:
        token = airflow["admin"].headers["Authorization"].removeprefix("Bearer ")
        person.page.context.add_cookies([{"name": "_token", "value": token, "url": person.url}])
        person.page.goto(f"{person.url}/streambound/queries/bounded")
        button, told = person.page.get_by_role("button", name="Check now"), person.page.locator("#started a")
        button.click()
        told.filter(has_text="validate_queries is queued").wait_for()
        # What is under way is shown, and cannot be started a second time.
        person.page.locator("#following li[data-busy=validate_queries]").wait_for()
        expect(button).to_be_disabled()
        assert len(runs("validate_queries")) == 1
        assert person.page.get_by_role("button", name="Benchmark caches").count() == 0
        assert person.errors == []
