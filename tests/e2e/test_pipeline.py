"""Three days of flights through the real scheduler: ingest, a damaged file, validation, evaluation.

The registry has two bounded queries, one unbounded and one with a typing error. The typing error fails its
own task and no other; the verdicts' asset starts the evaluation; the damaged partition is named and kept
out; the answers are those of plain SQL over what is left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, expect
from tests.e2e.browser import LOADED, Value, Visitor, chromium, page_in, profile, visitor_in
from tests.e2e.pipeline import DAMAGED, QUERIES, ROOT, RUN_SECONDS, Ran, damaged_file, pipeline
from tests.platform.leaks import leaks

from scripts.airflow_local import AirflowFailed, LocalAirflow
from scripts.airflow_rest import AirflowApiError, AirflowClient
from streambound_airflow.places import PREFIX

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

Views = Callable[..., AbstractContextManager[Visitor]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STREAMBOUND_DATABASE_URL", "STREAMBOUND_STREAMS", "AIRFLOW_CONN_STREAMBOUND_DB"):
            patch.delenv(name, raising=False)
        with pipeline(tmp_path_factory.mktemp("pipeline")) as ended:
            yield ended


def test_the_flights_of_three_days_are_ingested(ran: Ran) -> None:
    assert ran.states["ingest_flights"] == "success"
    assert ran.tasks["ingest_flights"] == {
        "ingest": "success",
        "announce": "success",
        "generate_abstract": "success",
    }
    days = sorted(p.name for p in (ran.home / "streams" / "departures").iterdir())
    assert days == ["date=2013-01-01", "date=2013-01-02", "date=2013-01-03"]
    assert "departures: " in ran.logs["ingest"] and "in 3 daily partitions" in ran.logs["ingest"]


def test_an_invalid_query_fails_alone_and_once(ran: Ran) -> None:
    assert ran.states["validate_queries"] == "failed"
    assert ran.tasks["validate_queries"] == {
        "choose": "success",
        "check[aircraft_rotation]": "success",
        "check[carriers_by_origin]": "success",
        "check[late_departures]": "success",
        "check[tail_numbers_seen]": "success",
        "check[typo]": "failed",
        "summarise": "success",
        "announce": "success",
        "all_passed": "upstream_failed",
    }
    assert "typo: line 1, column 17" in ran.logs["typo"]
    verdicts = {v.query: v.verdict for v in ran.results.latest_verdicts()}
    assert verdicts == {
        "aircraft_rotation": "unbounded",
        "carriers_by_origin": "bounded",
        "late_departures": "bounded",
        "tail_numbers_seen": "unbounded",
        "typo": "invalid",
    }


def test_an_unbounded_query_is_a_finding_in_log_and_xcom(ran: Ran) -> None:
    assert "unbounded  tail_numbers_seen" in ran.logs["unbounded"] and "^^^" in ran.logs["unbounded"]
    found = ran.xcom if isinstance(ran.xcom, dict) else json.loads(ran.xcom)
    assert found["verdict"] == "unbounded" and found["reasons"][0]["attributes"]
    assert "left out: tail_numbers_seen, unbounded" in ran.logs["choose"]


def test_the_damaged_partition_is_named_and_kept_out(ran: Ran) -> None:
    assert ran.states["evaluate_history"] == "success", ran.logs["failures"]
    assert ran.tasks["evaluate_history"]["quality[departures]"] == "success"
    assert f"partition {DAMAGED}: part-00000.parquet is not a readable Parquet file" in ran.logs["quality"]
    quality = {(q.kind, q.subject): q for q in ran.results.quality(ran.run_id, "evaluate_history")}
    assert quality["stream", "departures"].failed_partitions == (DAMAGED,)
    assert quality["answers", "late_departures"].success
    answers = {a.query: a for a in ran.results.answers(ran.run_id, "evaluate_history")}
    assert sorted(answers) == ["aircraft_rotation", "carriers_by_origin", "late_departures"]
    for answer in (answers["carriers_by_origin"], answers["late_departures"]):
        assert answer.missing_partitions == (f"departures {DAMAGED}",)
        assert answer.partitions == 2


def test_the_answers_are_those_of_plain_sql_over_the_sound_partitions(ran: Ran) -> None:
    sound = [
        str(path)
        for path in sorted((ran.home / "streams" / "departures").rglob("*.parquet"))
        if DAMAGED not in str(path)
    ]
    for query in ("carriers_by_origin", "late_departures"):
        answered = ran.home / "answers" / query
        sql = (ran.home / "registry" / "queries" / f"{query}.sql").read_text()
        with duckdb.connect() as connection:
            connection.read_parquet(sound, hive_partitioning=False).create_view("departures")
            expected = connection.execute(f"SELECT * FROM ({sql}) ORDER BY ALL").fetchall()
            read = "SELECT * EXCLUDE (count) FROM read_parquet(?, hive_partitioning=false) ORDER BY ALL"
            found = connection.execute(read, [f"{answered}/*/*.parquet"]).fetchall()
        assert found == expected and expected
        assert not list(answered.glob(f"*{DAMAGED}*"))


def test_data_docs_are_built_and_the_runs_recorded(ran: Ran) -> None:
    index = ran.home / "quality" / "docs" / "index.html"
    assert "departures" in index.read_text()
    (outcome,) = [q for q in ran.results.quality(ran.run_id, "evaluate_history") if q.subject == "departures"]
    assert DAMAGED in Path(str(outcome.docs)).read_text()
    states = {run.job: run.state for run in ran.results.runs()}
    assert states == {
        "ingest_flights": "success",
        "validate_queries": "failed",
        "evaluate_history": "success",
    }


def test_no_secret_is_in_a_log_or_an_output(ran: Ran) -> None:
    """Logs of tasks and of Airflow's processes, databases, answers, documents: all files of the run."""
    assert any((ran.layout.airflow_home / "logs").rglob("*.log")) and any(ran.layout.logs.iterdir())
    assert leaks(ran.layout, *ran.logs.values(), json.dumps(ran.xcom)) == []


@pytest.fixture(scope="module")
def browser(ran: Ran) -> Iterator[Browser]:
    """One for all who have logged in; the flow had its own."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def tokens(ran: Ran) -> dict[str, str]:
    return {username: ran.client(username).token() for username in ("admin", "viewer")}


@pytest.fixture(scope="module")
def signed_in(ran: Ran, browser: Browser, tokens: dict[str, str]) -> Iterator[BrowserContext]:
    """The browser of a user with all rights, which has the files of Airflow's UI from the first test on."""
    with profile(browser, ran.layout.url, tokens["admin"], viewport={"width": 1280, "height": 1000}) as kept:
        yield kept


@pytest.fixture
def admin(ran: Ran, signed_in: BrowserContext) -> Iterator[Visitor]:
    """A user with all rights, in Airflow's UI; at the end, nothing has gone wrong in the browser."""
    with page_in(signed_in, ran.layout.url) as person:
        yield person
        assert person.errors == []


@pytest.fixture
def views(ran: Ran, browser: Browser, tokens: dict[str, str]) -> Views:
    """A user who may only look, in a window of one's own; arguments as of ``visitor_in``."""
    return partial(visitor_in, browser, ran.layout.url, tokens["viewer"])


def test_no_form_made_an_error_in_the_browser(ran: Ran) -> None:
    assert ran.errors == ()


def test_queries_are_found_filtered_and_sorted_inside_airflow(admin: Visitor) -> None:
    page = admin.page
    page.goto(admin.url)
    page.get_by_role("button", name="Plugins").click()
    page.get_by_role("menuitem", name="streambound").click()
    page.get_by_role("menuitem", name="Queries").click()
    frame = admin.framed()
    names = frame.locator("#queries tbody tr:visible th a")
    # Problems first: what is invalid, then what reads the damaged stream.
    failed = ["aircraft_rotation", "carriers_by_origin", "late_departures"]
    expect(names).to_have_text(["typo", *failed, "tail_numbers_seen"])
    frame.locator("#filter-text").fill("carriers_by")
    expect(names).to_have_text(["carriers_by_origin"])
    frame.locator("#filter-text").fill("")
    frame.locator("#filter-verdict").select_option("unbounded")
    expect(names).to_have_text(["aircraft_rotation", "tail_numbers_seen"])
    expect(frame.locator("#filter-count")).to_have_text("2 of 5 queries")
    frame.locator("#filter-verdict").select_option("")
    frame.locator("#filter-quality").select_option("failed")
    expect(names).to_have_text(failed)
    frame.locator("#filter-quality").select_option("")
    frame.get_by_role("button", name="Bound", exact=True).click()
    expect(names.first).to_have_text("late_departures")
    expect(names.nth(1)).to_have_text("carriers_by_origin")


def test_filters_are_in_the_address_so_that_back_finds_them(ran: Ran, views: Views) -> None:
    with views(viewport={"width": 1280, "height": 1000}) as person:
        page = person.page
        page.goto(f"{ran.layout.url}{PREFIX}/queries")
        page.evaluate(LOADED)
        names = page.locator("#queries tbody tr:visible th a")
        page.locator("#filter-owner").select_option("fleet")
        expect(names).to_have_text(["aircraft_rotation", "tail_numbers_seen"])
        page.locator("#filter-text").fill("tail_numbers")
        expect(page).to_have_url(re.compile(r"/queries\?text=tail_numbers&owner=fleet$"))
        names.first.click()
        expect(page.locator("h1")).to_contain_text("tail_numbers_seen")
        page.go_back()
        expect(names).to_have_text(["tail_numbers_seen"])
        expect(page.locator("#filter-owner")).to_have_value("fleet")
        tiles = page.get_by_role("navigation", name="Queries at a glance")
        tiles.get_by_role("link", name="2 unbounded").click()
        expect(names).to_have_text(["aircraft_rotation", "tail_numbers_seen"])
        tiles.get_by_role("link", name="3 failed").click()
        expect(page).to_have_url(re.compile(r"/queries\?notable=failed$"))
        expect(names).to_have_text(["aircraft_rotation", "carriers_by_origin", "late_departures"])
        page.locator("#filter-verdict").select_option("bounded")
        expect(page.locator("#filter-count")).to_have_text("2 of 5 queries")
        assert person.errors == []


def test_a_line_is_whole_under_focus_and_pointer_and_headings_stay(ran: Ran, views: Views) -> None:
    with views(viewport={"width": 1280, "height": 200}) as person:
        page = person.page
        page.goto(f"{ran.layout.url}{PREFIX}/queries")
        page.evaluate(LOADED)
        line = page.locator("tr:has-text('typo') p")
        cut = "line => line.firstChild.scrollWidth > line.firstChild.clientWidth + 1"
        assert line.evaluate(cut)
        page.locator("tr:has-text('typo') th a").focus()
        page.keyboard.press("Tab")
        assert not line.evaluate(cut) and line.evaluate("line => line === document.activeElement")
        page.keyboard.press("Tab")
        assert line.evaluate(cut)
        line.hover()
        assert not line.evaluate(cut)
        page.mouse.wheel(0, 5000)
        heading = page.get_by_role("columnheader", name="Verdict")
        expect(page.locator("tbody tr").last).to_be_in_viewport()
        expect(heading).to_be_in_viewport()
        assert (heading.bounding_box() or {})["y"] < 5
        state = page.locator("tr:has-text('carriers_by_origin') svg.spark")
        assert "unit" in (state.get_attribute("aria-label") or "")


def test_words_are_told_in_place_and_codes_have_their_pages(admin: Visitor) -> None:
    frame = opened(admin, "queries")
    told = frame.get_by_text("One stored value or one count.")
    expect(told).to_be_hidden()
    frame.get_by_role("button", name="What is a unit?").focus()
    admin.page.keyboard.press("Enter")
    expect(told).to_be_visible()
    admin.page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    # Why a query is unbounded and what to change, in three clicks.
    frame.get_by_role("link", name="tail_numbers_seen", exact=True).click()
    frame.get_by_role("link", name="unbounded-projection").click()
    expect(frame.locator("h1")).to_have_text("unbounded-projection")
    expect(frame.get_by_role("heading", name="How to fix it")).to_be_visible()
    frame.get_by_role("link", name="theory").first.click()
    expect(frame.locator("h1")).to_contain_text("What is decided")
    frame.get_by_role("link", name="Help").first.click()
    expect(frame.locator("#peak")).to_be_visible()


def test_metrics_reach_a_collector_through_airflows_own(ran: Ran) -> None:
    (answer,) = [a for a in ran.results.answers(ran.run_id, "evaluate_history") if a.query == QUERIES[1]]
    known = {"peak_units": answer.peak_units, "rows_read": answer.rows_read, "missing_partitions": 1}
    for name, value in known.items():
        assert ran.metrics[f"airflow.streambound.{name}", answer.query] == value
    assert ran.metrics["airflow.streambound.bounded", "tail_numbers_seen"] == 0
    assert ran.metrics["airflow.streambound.verdict_changed", "tail_numbers_seen"] == 0
    assert 0 < ran.metrics["airflow.streambound.share", "aircraft_rotation"] <= 1


def test_a_bounded_query_shows_what_its_plan_keeps_and_its_state(ran: Ran, admin: Visitor) -> None:
    frame = opened(admin, "queries/carriers_by_origin")
    assert frame.locator("h1").inner_text().split() == ["carriers_by_origin", "bounded"]
    assert "departures" in (frame.locator("section:has(#plan) svg").text_content() or "")
    assert frame.locator("section:has(#state) svg").count() == 1
    frame.get_by_text("Checkpoints:").click()
    boundaries = frame.get_by_role("region", name="Checkpoints").locator("tbody th").all_inner_texts()
    assert boundaries and DAMAGED not in boundaries
    frame.get_by_role("link", name=ran.runs["validate_queries"]).first.click()
    admin.page.wait_for_url(f"**/dags/validate_queries/runs/{quote(ran.runs['validate_queries'], safe='')}*")


def test_answer_rows_are_sorted_and_downloaded_inside_airflow(admin: Visitor) -> None:
    frame = opened(admin, "queries/late_departures")
    table = frame.get_by_role("region", name="Rows of the answer")
    delays = table.locator("tbody tr td[data-label=dep_delay]")
    expect(delays.first).to_be_visible()
    table.get_by_role("button", name="dep_delay").click()
    found = [int(text) for text in delays.all_inner_texts()]
    assert len(found) > 1 and found == sorted(found)
    before = admin.page.url
    with admin.page.expect_download() as saved:
        frame.get_by_role("link", name="Download all as CSV").click()
    assert saved.value.suggested_filename == "late_departures-changes.csv"
    assert len(saved.value.path().read_text().splitlines()) > len(found)
    assert admin.page.url == before


def test_an_unbounded_query_tells_why_and_offers_what_would_be_bounded(admin: Visitor) -> None:
    admin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    frame = opened(admin, "queries/tail_numbers_seen")
    assert frame.locator("mark.reason").count() >= 1
    assert "departures" in frame.locator(".story").inner_text()
    offered = frame.locator("#suggestion-1").inner_text()
    button = frame.get_by_role("button", name="Copy suggestion 1")
    # It says so for two seconds only.
    said = button.evaluate_handle(
        "button => ({ next: new Promise(done => new MutationObserver(() => done(button.textContent))"
        ".observe(button, { childList: true })) })"
    )
    button.click()
    assert said.evaluate("said => said.next") == "Copied"
    assert admin.page.evaluate("navigator.clipboard.readText()") == offered
    tried = opened(admin, "try")
    written(tried, offered)
    tried.locator("#answer .bounded").wait_for()


def test_a_query_is_decided_while_it_is_typed(admin: Visitor) -> None:
    frame = opened(admin, "try")
    frame.locator("#answer .bounded").wait_for()
    written(frame, "SELECT DISTINCT d.tailnum FROM departures d")
    frame.locator("#answer .unbounded").wait_for()
    written(frame, "SELECT d.tailnum FROM departures d WHERE d.nowhere = 1")
    frame.locator("#answer .invalid").wait_for()
    assert "line 1, column 42" in frame.locator("#verdict").inner_text()


def test_the_editor_offers_names_and_underlines_every_problem(admin: Visitor) -> None:
    frame, keys = opened(admin, "try"), admin.page.keyboard
    offered = frame.locator(".cm-tooltip-autocomplete [role=option]")
    written(frame, "SELECT d. FROM departures d")
    keys.press("Home")
    for _ in "SELECT d.":
        keys.press("ArrowRight")
    keys.type("tail")
    expect(offered).to_have_text(["tailnumstring"])
    # An Enter is a new line as long as nobody can have seen the list.
    offered.click()
    expect(frame.locator(".cm-content")).to_have_text("SELECT d.tailnum FROM departures d")
    written(frame, "SELECT DISTINCT d.tailnum, d.dest FROM departures d")
    expect(frame.locator(".cm-lintRange-error")).to_have_text(["d.tailnum", "d.dest"])
    expect(frame.locator("#try-status")).to_contain_text("2 problems are underlined")
    written(frame, "SELECT d.orgin, d.dst FROM departures d")
    expect(frame.locator(".cm-lintRange-error")).to_have_text(["d.orgin", "d.dst"])
    # Keys alone: the problem that follows is told, and Tab leads out.
    keys.press("F8")
    expect(frame.locator(".cm-diagnostic")).to_contain_text("has no column")
    keys.press("Escape")
    keys.press("Tab")
    expect(frame.locator("#dialect")).to_be_focused()


def test_a_query_opens_in_try_and_has_an_address_there(ran: Ran, admin: Visitor) -> None:
    admin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    frame = opened(admin, "queries/late_departures")
    frame.get_by_role("link", name="Open this query in Try").click()
    expect(frame.locator(".cm-content")).to_contain_text("dep_delay")
    expect(frame.locator("#saved")).to_contain_text("-- owner:")
    frame.get_by_role("link", name="tail_numbers_seen").first.click()
    frame.locator("#answer .unbounded").wait_for()
    frame.locator("#dialect").select_option("flink")
    frame.locator("#engine-name").select_option("risingwave")
    expect(frame.locator("section:has(#engine)")).to_contain_text("RisingWave")
    written(frame, "SELECT DISTINCT `origin` FROM departures -- \N{AIRPLANE}")
    frame.locator("#answer .bounded").wait_for()
    expect(frame.locator("section:has(#save)")).to_contain_text("-- dialect: flink")
    frame.get_by_role("button", name="Copy a link to this").click()
    expect(frame.get_by_role("button", name="Copied")).to_be_visible()
    link = admin.page.evaluate("navigator.clipboard.readText()")
    admin.page.goto("about:blank")
    admin.page.goto(link)
    frame = admin.framed()
    expect(frame.locator(".cm-content")).to_have_text(
        "SELECT DISTINCT `origin` FROM departures -- \N{AIRPLANE}"
    )
    expect(frame.locator("#dialect")).to_have_value("flink")
    expect(frame.locator("#engine-name")).to_have_value("risingwave")


def test_markup_in_a_tried_query_stays_text(admin: Visitor) -> None:
    heard: list[str] = []
    admin.page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    frame = opened(admin, "try")
    hostile = "SELECT '<img src=x onerror=alert(1)>' FROM departures d WHERE d.\"<script></script>\" = 1"
    written(frame, hostile)
    frame.locator("#answer .invalid").wait_for()
    assert frame.locator("#verdict img, #verdict script").count() == 0
    deep = "(" * 5000
    with admin.page.expect_response(lambda answer: deep in (answer.request.post_data or "")):
        written(frame, f"SELECT d.dest FROM departures d WHERE {deep} d.dep_delay > 1 {')' * 5000}")
    expect(frame.locator("#try-status")).not_to_have_text("Deciding…")
    assert heard == []
    # What cannot be read may be refused by a status, which a browser's console notes as well.
    admin.errors[:] = [error for error in admin.errors if "/streambound/try" not in error]


def test_quality_leads_to_the_data_docs(admin: Visitor) -> None:
    frame = opened(admin, "quality")
    row = frame.locator("#stream-departures")
    assert "failed" in row.inner_text()
    row.get_by_role("link", name="Data Docs").click()
    frame.get_by_text("Expectation", exact=False).first.wait_for()
    expect(frame.locator("body")).to_contain_text(DAMAGED)
    frame.locator("body").evaluate(LOADED)
    held = frame.locator("section, div[id^=section]").filter(has_text="nulls.carrier").last
    expect(held).to_be_visible()
    frame.get_by_text("Failed Only").click()
    expect(held).to_be_hidden()
    frame.get_by_text("Show All").click()
    expect(held).to_be_visible()


def test_what_broke_last_night_is_three_clicks_from_the_list(admin: Visitor) -> None:
    frame = opened(admin, "queries")
    frame.get_by_role("navigation", name="streambound").get_by_role("link", name="Streams").click()
    first = frame.locator("#streams tbody tr").first
    expect(first).to_contain_text(f"failed 1 failed: {DAMAGED}", use_inner_text=True)
    first.get_by_role("link", name="departures").click()
    told = frame.locator("#failed")
    expect(told).to_contain_text(f"{DAMAGED}: part-00000.parquet is not a readable Parquet file")
    told.get_by_role("link").click()
    expect(frame.locator("h1")).to_contain_text("departures")
    broken = frame.get_by_role("region", name="Expectations that failed").locator("tbody tr")
    expect(broken.first).to_contain_text("Every partition can be read")
    expect(frame.locator("#failures")).to_be_visible()


def test_a_stream_shows_what_is_declared_beside_what_was_observed(admin: Visitor) -> None:
    frame = opened(admin, "streams/departures")
    origin = frame.get_by_role("region", name="Table of columns").locator("tr", has_text="EWR").first
    cells = [text.strip() for text in origin.locator("th, td").all_inner_texts()]
    assert cells == ["origin", "string", "'EWR', 'JFK', 'LGA', never NULL", "EWR", "LGA", "3", "0", "0"]
    rates = frame.get_by_role("region", name="Table of rates")
    assert "20" in rates.locator("tr", has_text="Rows at one departed_at").inner_text()
    days = frame.locator("#parts tbody th")
    expect(days).to_have_text(["2013-01-03", DAMAGED, "2013-01-01"])
    assert DAMAGED in str(frame.locator("figure.rows-chart svg desc").text_content())
    frame.get_by_role("link", name="Failed (1)").click()
    expect(days).to_have_text([DAMAGED])
    readers = frame.get_by_role("region", name="Queries that read it")
    expect(readers.locator("tr", has_text="late_departures")).to_contain_text(DAMAGED)


def test_the_graph_leads_from_stream_to_answer_by_click_and_by_key(admin: Visitor) -> None:
    frame = opened(admin, "streams")
    graph = frame.get_by_role("region", name="Lineage, drawn")
    graph.locator("a.query", has_text="late_departures").focus()
    admin.page.keyboard.press("Enter")
    expect(frame.locator("h1")).to_contain_text("late_departures")
    frame = opened(admin, "streams/departures")
    frame.get_by_text("In words", exact=True).click()
    expect(frame.locator("#lineage-words")).to_contain_text("late_departures (bounded) reads departures")
    frame.get_by_role("region", name="Lineage, drawn").locator("a.answer", has_text="late_departures").click()
    expect(frame.locator("#answers")).to_be_in_viewport()


def test_a_run_has_a_tab_and_its_tasks_a_link(ran: Ran, admin: Visitor) -> None:
    run = f"{ran.layout.url}/dags/validate_queries/runs/{quote(ran.runs['validate_queries'], safe='')}"
    admin.page.goto(run)
    admin.page.get_by_role("link", name="streambound", exact=True).click()
    frame = admin.page.frame_locator("iframe")
    assert "5 queries were decided" in frame.locator("caption").first.inner_text()
    admin.page.goto(f"{run}/tasks/check/mapped/0/details")
    admin.page.get_by_role("link", name="Query", exact=True).click()
    assert admin.page.frame_locator("iframe").locator("h1").inner_text().startswith("aircraft_rotation")


def test_a_check_is_followed_to_its_end_without_a_reload(ran: Ran, admin: Visitor) -> None:
    frame = opened(admin, "queries/late_departures")
    frame.locator("body").evaluate("body => { body.dataset.same = 'yes' }")
    button = frame.get_by_role("button", name="Check now")
    button.click()
    followed = frame.locator("#following li[data-busy=validate_queries]")
    expect(followed).to_have_count(1)
    expect(button).to_be_disabled()
    expect(frame.locator("#following li.success", has_text="validate_queries")).to_be_visible()
    expect(frame.get_by_role("button", name="Check now")).to_be_enabled()
    assert frame.locator("body").get_attribute("data-same") == "yes"
    # The page around it is new too, and the run was for this query alone.
    newest = ran.results.runs(1, 0, "validate_queries")[0].run_id
    expect(frame.locator(".facts")).to_contain_text(newest)
    assert [one.query for one in ran.results.verdicts(newest, "validate_queries")] == ["late_departures"]


def test_the_tab_of_a_run_speaks_for_every_dag(ran: Ran, admin: Visitor) -> None:
    frame = opened(admin, f"runs/validate_queries/{quote(ran.runs['validate_queries'], safe='')}")
    failed = frame.locator("#following li.failed")
    expect(failed).to_contain_text("no stream in FROM has a column orgin")
    expect(failed).to_contain_text("What to do: did you mean origin?")
    frame = opened(admin, f"runs/ingest_flights/{quote(ran.runs['ingest_flights'], safe='')}")
    expect(frame.locator("section:has(#wrote)")).to_contain_text("departures")
    frame = opened(admin, f"runs/materialize_synopses/{quote(ran.skipped, safe='')}")
    expect(frame.locator("#following")).to_contain_text("Nothing was to be done: not checked yet")


PAGES = [
    "queries",
    "queries/carriers_by_origin",
    "queries/tail_numbers_seen",
    "queries/typo",
    "queries/aircraft_rotation",
    "help",
    "docs/how-to/run-airflow.md",
    "docs/codes/unbounded-projection.md",
    "try?query=tail_numbers_seen",
    "streams",
    "streams/departures",
    "quality",
    "quality/stream/departures",
    "quality/answers/late_departures",
]
FORMS: dict[str, dict[str, Any]] = {
    "wide light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "narrow dark": {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
}
# Text in pictures, which axe cannot judge: each colour on each area, mixed as it is drawn.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const probe = document.body.appendChild(document.createElement("i"));
  const drawn = (colours) => {
    for (const [name, alpha] of colours) {
      probe.style.color = `var(${name})`;
      canvas.globalAlpha = alpha;
      canvas.fillStyle = getComputedStyle(probe).color;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = ["--sb-fill", "--card"].flatMap((area) =>
    [["--sb-line", 0.75], ["--sb-accent", 1]].map((ink) => [drawn([[area, 1]]), drawn([[area, 1], ink])]));
  return Math.min(...pairs.map((one) => (Math.max(...one) + 0.05) / (Math.min(...one) + 0.05)));
}"""


@pytest.mark.parametrize(
    ("form", "pages"),
    [
        # Each page in one form, and all in both in the heavy run.
        pytest.param(form, PAGES[half::2], id=f"{form}, {half}", marks=[pytest.mark.heavy] * (half != at))
        for at, form in enumerate(FORMS)
        for half in (0, 1)
    ],
)
def test_pages_in_narrow_dark_and_wide_light_windows(
    ran: Ran, views: Views, form: str, pages: list[str]
) -> None:
    with views(**FORMS[form]) as person:
        faults: dict[str, list[str]] = {}
        for address in pages:
            person.page.goto(f"{ran.layout.url}{PREFIX}/{address}")
            person.page.wait_for_load_state("networkidle")
            width, most, brightness = person.page.evaluate(
                "[document.documentElement.scrollWidth, innerWidth,"
                " getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)]"
            )
            assert width <= most and (max(brightness) < 80) == ("dark" in form), address
            assert person.page.locator(".bar [aria-current]").count() == 1, address
            faults[address] = person.faults()
        assert faults == {address: [] for address in pages}
        assert person.page.evaluate(CONTRAST) >= 4.5
        assert person.errors == []


def test_who_is_not_signed_in_sees_nothing_and_a_viewer_starts_nothing(ran: Ran) -> None:
    document = asked(ran, "viewer", "GET", "api/v1/openapi.json")
    assert document.status_code == 200
    paths = document.json()["paths"]
    pages = ["", "queries", "queries/late_departures", "try", "quality", "quality/docs/index.html", "help"]
    pages += ["streams", "streams/departures", "quality/stream/departures", "docs/theory.md"]
    routes = [("GET", page) for page in [*pages, "static/streambound.css", "api/v1/openapi.json"]]
    for path, methods in paths.items():
        filled = path.strip("/").format(
            name="late_departures",
            kind="csv",
            subject="departures",
            dag_id="validate_queries",
            run_id=ran.runs["validate_queries"],
        )
        routes += [(method.upper(), filled.removeprefix("streambound/")) for method in methods]
    assert len(routes) > 15
    for method, address in routes:
        assert asked(ran, None, method, address).status_code == 401, (method, address)
    start = "api/v1/queries/late_departures/runs/validate_queries"
    assert asked(ran, "viewer", "POST", start).status_code == 403


def test_nobody_gets_in_uninvited(ran: Ran) -> None:
    with pytest.raises(AirflowApiError) as unknown:
        AirflowClient(ran.layout.url, "admin", "wrong").token()
    assert unknown.value.status == 401
    viewer = ran.client("viewer")
    assert viewer.request("GET", "/dags")["total_entries"] == len(list((ROOT / "dags").glob("*.py")))
    with pytest.raises(AirflowApiError) as refused:
        viewer.trigger("validate_queries")
    assert refused.value.status == 403


def test_a_second_airflow_in_the_same_home_is_refused(ran: Ran) -> None:
    with pytest.raises(AirflowFailed, match="make down"):
        LocalAirflow(ran.layout).start()
    assert ran.client("viewer").request("GET", "/dags")["total_entries"]


# Ingest and validation are started from theirs in the flow.
FILLED: dict[str, dict[str, Value]] = {
    "materialize_synopses": {"queries": ["carriers_by_origin"], "publish": False},
    # What it announces would start an evaluation, before the one that is asked for.
    "benchmark_caches": {
        **{"queries": ["aircraft_rotation"], "days": 3, "held_out": 1, "runs": 1},
        "announce": False,
    },
    "evaluate_history": {"queries": ["aircraft_rotation", "carriers_by_origin"]},
}


def test_a_run_is_asked_for_what_is_filled_into_its_form(ran: Ran, admin: Visitor) -> None:
    """The DAG is paused, so that it waits: see tests/dags for nights of it, and the heavy test below."""
    airflow = ran.client()
    values = FILLED["benchmark_caches"]
    run = f"/dags/benchmark_caches/dagRuns/{quote(admin.trigger('benchmark_caches', values), safe='')}"
    airflow.request("PATCH", run, {"state": "failed"})
    conf = airflow.request("GET", run)["conf"]
    assert {name: conf[name] for name in values} == values


@pytest.mark.heavy
def test_every_other_dag_is_started_from_its_form(ran: Ran, admin: Visitor) -> None:
    """The damaged file comes back whole, so that nothing is kept out any more."""
    damaged_file(ran.home).write_bytes(ran.whole)
    ran.client().request("PATCH", "/dags/benchmark_caches", {"is_paused": False})
    runs = {dag_id: started(ran, admin, dag_id, values) for dag_id, values in FILLED.items()}
    answers = {one.query: one for one in ran.results.answers(runs["evaluate_history"], "evaluate_history")}
    assert answers["carriers_by_origin"].missing_partitions == ()
    frame = opened(admin, "queries/aircraft_rotation")
    assert "chosen" in (frame.locator("section:has(#caches) svg").text_content() or "")
    slider, advised = frame.locator("#keep"), frame.locator("#advised")
    slider.press("Home")
    expect(frame.locator("#keep-share")).to_have_text("1%")
    expect(advised).to_contain_text("100 tuples (700 units, some 11 KB) keep")
    slider.press("End")
    expect(frame.locator("#keep-share")).to_have_text("100%")
    said = advised.inner_text()
    assert ("No size that was tried" in said) is not frame.locator("#ask").is_visible()


def started(ran: Ran, person: Visitor, dag_id: str, values: dict[str, Value]) -> str:
    """The id of a run that was started from its form, once it has succeeded."""
    airflow = ran.client()
    run_id = person.trigger(dag_id, values)
    # Before it may come a run of the same DAG that an asset has started.
    state = airflow.wait_for_run(dag_id, run_id, RUN_SECONDS)
    assert state == "success", airflow.failure_log(dag_id, run_id)
    return run_id


def written(frame: FrameLocator, text: str) -> None:
    """Put a text into the editor, in the place of what is there."""
    content = frame.locator(".cm-content")
    content.press("Control+a")
    content.press("Delete")
    # Into nothing: over coloured text Chromium itself would put the colours into styles of its own.
    content.page.keyboard.insert_text(text)


def opened(person: Visitor, address: str) -> FrameLocator:
    """A page of ours in Airflow's frame."""
    person.page.goto(f"{person.url}/plugin/streambound{PREFIX}/{address}")
    return person.framed()


def asked(ran: Ran, username: str | None, method: str, address: str) -> httpx.Response:
    """One request to a route of ours; by nobody for None."""
    headers = {"Authorization": f"Bearer {ran.client(username).token()}"} if username else {}
    return httpx.request(
        method, f"{ran.layout.url}{PREFIX}/{address}", headers=headers, trust_env=False, timeout=90
    )
