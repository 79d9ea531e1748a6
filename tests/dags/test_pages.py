"""The pages: what is recorded is shown, whatever people write is text, and nothing is decided for a list."""

from __future__ import annotations

import datetime as dt
import html
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urljoin

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event

from streambound.compiler.report import check
from streambound.query.catalog import load_catalog
from streambound.results import Answer, CacheAnswer, CacheBenchmark, QualityOutcome, Results, Run
from streambound_airflow.pages import manual, overview, sources

pytestmark = pytest.mark.airflow

NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Seen(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str, **attributes: str | None) -> list[dict[str, str | None]]:
        """The attributes of such elements."""
        names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [had for found, had in self.elements if found == tag and names.items() <= had.items()]


def page(client: Any, address: str, status: int = 200) -> Seen:
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    return Seen(answer.text)


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


def decide(store: Results, registry: Path, run_id: str = "r1", moment: dt.datetime = NOON) -> None:
    """What validate_queries records."""
    catalog = load_catalog(registry / "streams.yml")
    files = sorted((registry / "queries").glob("*.sql"))
    bodies = [{**check(f.read_text(), catalog, f.stem).to_json(), "sql": f.read_text()} for f in files]
    store.record_verdicts(run_id, bodies, moment)
    store.record_run(Run(run_id, "validate_queries", "success", started_at=moment, ended_at=moment))


def evaluate(store: Results, query: str = "bounded", run_id: str = "e1", **more: Any) -> None:
    known = {"partitions": 3, "rows_read": 12_345, "answer_rows": 7, "peak_units": 2, "units": 3}
    store.record_answer(Answer(run_id, query, **{**known, **more}))


def row_of(seen: Seen, name: str) -> None:
    assert seen.all("a", href=f"queries/{name}"), name


def test_every_registered_query_is_listed_with_what_is_known(
    viewer: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    evaluate(store, streams=("departures",))
    store.record_quality(QualityOutcome("e1", "departures", True, 9))
    seen = page(viewer, "queries")
    for name in ("bounded", "typo", "unbounded", "windy"):
        row_of(seen, name)
    assert "4 of 4 queries" in seen.text and seen.all("a", href="queries/bounded#answers")
    assert len(seen.all("tr", class_="unbounded")) == len(seen.all("tr", class_="invalid")) == 1
    assert len(seen.all("span", class_="quality ok")) == 1
    (line,) = seen.all("svg")
    assert (line["class"], line["role"], line["aria-label"]) == ("spark bound", "img", "2 to 2 units")
    # Read by a screen reader: a caption, and headings of columns and rows.
    assert (
        seen.all("caption")
        and len(seen.all("th", scope="col")) == 8
        and len(seen.all("th", scope="row")) == 4
    )


def listed(seen: Seen) -> list[str]:
    """The names that are shown, in order."""
    rows = [("hidden" in had, None) for tag, had in seen.elements if tag == "tr"][1:]
    links = [str(had["href"]).removeprefix("queries/") for _, had in seen.elements if had.get("href")]
    names = [link for link in links if link in ("bounded", "unbounded", "typo", "windy")]
    return [name for name, (hidden, _) in zip(names, rows, strict=True) if not hidden]


def test_problems_come_first_and_each_tile_is_a_filter(
    viewer: Any, store: Results, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "now", lambda: NOON + dt.timedelta(hours=3))
    text = (registry / "queries" / "bounded.sql").read_text()
    earlier = [{"query": "bounded", "verdict": "unbounded", "sql": text, "criterion": "exact"}]
    store.record_verdicts("r0", earlier, NOON - dt.timedelta(hours=30))
    decide(store, registry)
    evaluate(store, peak_units=3, streams=("departures",))
    failed = [{"partition": "2013-01-02", "reasons": ["is damaged"]}]
    store.record_quality(QualityOutcome("e1", "departures", False, 9, failed=failed))
    seen = page(viewer, "queries")
    assert listed(seen) == ["typo", "bounded", "unbounded", "windy"]
    assert "departures: 2013-01-02 · A day ago: unbounded" in seen.text
    tiles = {
        "verdict=bounded": ["bounded", "windy"],
        "verdict=unbounded": ["unbounded"],
        "verdict=unknown": [],
        "verdict=invalid": ["typo"],
        "notable=failed": ["bounded"],
        "notable=near": ["bounded"],
        "notable=changed": ["bounded"],
        "quality=unchecked": ["typo", "unbounded", "windy"],
        "quality=failed&engine=spark": ["bounded"],
        "engine=flink": [],
    }
    for address, names in tiles.items():
        seen = page(viewer, f"queries?{address}")
        assert listed(seen) == names, address
        assert viewer.get(f"api/v1/queries?{address}").json()["total"] == len(names)
        if "&" not in address and not address.startswith(("quality", "engine")):
            (tile,) = seen.all("a", href=f"./queries?{address}")
            assert tile["aria-current"] == "true"


def test_what_was_so_a_day_ago_is_not_changed(
    viewer: Any, store: Results, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(store, registry, "r0", NOON - dt.timedelta(days=2))
    decide(store, registry)
    for late, changed in ((dt.timedelta(hours=1), 0), (dt.timedelta(days=9), 0)):
        monkeypatch.setattr(overview, "now", lambda late=late: NOON + late)
        overview._Kept.stamp = None
        assert viewer.get("api/v1/queries").json()["notable"]["changed"] == changed


def test_filtering_works_without_scripts_too(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    seen = page(viewer, "queries?verdict=unbounded&text=TESTS+unb")
    assert "1 of 4 queries" in seen.text and listed(seen) == ["unbounded"]
    seen = page(viewer, "queries?verdict=&owner=tests&notable=&quality=&engine=")
    assert "1 of 4 queries" in seen.text and listed(seen) == ["unbounded"]
    assert page(viewer, "queries?owner=nobody").all("option", value="nobody", selected=None)
    seen = page(viewer, "queries?text=nothing+like+this")
    assert "0 of 4 queries" in seen.text and listed(seen) == []


def test_tiles_count_and_lead_to_what_they_count(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    seen = page(viewer, "queries?verdict=unbounded")
    (chosen,) = seen.all("a", aria_current="true")
    assert chosen["href"] == "./queries?verdict=unbounded"
    counts = viewer.get("api/v1/queries").json()["counts"]
    for name, count in counts.items():
        assert len(seen.all("a", href=f"./queries?verdict={name}")) == (name != "unchecked")
        assert f"{count} of 4 queries" in page(viewer, f"queries?verdict={name}").text


def test_each_page_says_what_to_run_when_there_is_nothing(
    viewer: Any, registry: Path, working_folder: Path
) -> None:
    for address, dag_id in (
        ("queries", "validate_queries"),
        ("quality", "evaluate_history"),
        ("runs/other/r1", "validate_queries"),
    ):
        seen = page(viewer, address)
        assert seen.all("div", id="empty"), address
        up = "../" * (address.count("/") + 1)
        assert seen.all("a", href=f"{up}dags/{dag_id}", data_airflow=None), address
    assert page(viewer, "queries/bounded").all("p", id="unchecked")
    for path in (registry / "queries").iterdir():
        path.unlink()
    assert "No query is registered" in page(viewer, "queries").text


def test_a_bounded_query_shows_its_plan_and_its_state(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    evaluate(store)
    seen = page(viewer, "queries/bounded")
    assert seen.all("h2", id="plan") and seen.all("h2", id="state")
    # Of Spark SQL beside it what Spark keeps, operator by operator.
    assert seen.all("h2", id="engine") and "Spark 4.3 (output mode update), as written" in seen.text
    assert "12,345" in seen.text and len(seen.all("svg")) >= 2


def test_an_unbounded_query_shows_the_reason_its_story_and_ways_out(
    viewer: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    seen = page(viewer, "queries/unbounded")
    marks = seen.all("mark", class_="reason")
    assert marks and "tailnum" in str(marks[0]["title"])
    assert seen.all("h2", id="story") and not seen.all("h2", id="plan")
    copies = seen.all("button", class_="copy")
    assert copies and all(seen.all("pre", id=str(had["data-copy"])) for had in copies)
    assert seen.all("h2", id="caches") and "No cache answers a part of this query" in seen.text
    # What is recorded says as much as what is decided now.
    assert "DISTINCT has no timestamp among its columns" in seen.text
    verdict = viewer.get("api/v1/queries/unbounded").json()["verdict"]
    assert verdict["final"] == "unbounded" and verdict["causes"][0]["fix"]


def test_what_is_not_supported_is_recorded_whole(viewer: Any, store: Results, registry: Path) -> None:
    text = "SELECT origin, (SELECT 1) AS one FROM departures SORT BY origin EMIT CHANGES"
    (registry / "queries" / "typo.sql").write_text(text)
    decide(store, registry)
    verdict = viewer.get("api/v1/queries/typo").json()["verdict"]
    assert [one["construct"] for one in verdict["blockers"]] == ["a sub-query in an expression", "SORT BY"]
    assert (verdict["verdict"], verdict["final"], verdict["code"]) == (
        "invalid",
        "unknown",
        "unsupported-sql",
    )
    seen = page(viewer, "queries/typo")
    assert "SORT BY is not supported yet" in seen.text


def test_an_invalid_query_says_what_is_wrong_and_where(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    seen = page(viewer, "queries/typo")
    assert "orgin" in str(seen.all("mark", class_="reason")) or seen.all("mark", class_="reason")
    assert "no stream in FROM has a column orgin" in seen.text


def test_a_query_that_has_changed_is_decided_as_it_is_now(
    viewer: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    (registry / "queries" / "bounded.sql").write_text("SELECT DISTINCT tailnum FROM departures")
    seen = page(viewer, "queries/bounded")
    assert seen.all("p", id="stale") and seen.all("h2", id="story")
    assert "The file has changed since it was checked" in page(viewer, "queries").text


def test_history_tells_when_a_verdict_turned(viewer: Any, store: Results, registry: Path) -> None:
    catalog = load_catalog(registry / "streams.yml")
    texts = ["SELECT DISTINCT origin FROM departures"] * 3 + ["SELECT DISTINCT tailnum FROM departures"] * 2
    for day, sql in enumerate(texts):
        body = {**check(sql, catalog, "bounded").to_json(), "sql": sql}
        store.record_verdicts(f"night-{day}", [body], NOON + dt.timedelta(days=day))
    seen = page(viewer, "queries/bounded")
    assert "night-0" in seen.text and "night-3" in seen.text
    assert "night-1" not in seen.text and "night-2" not in seen.text


def test_what_is_kept_of_an_unbounded_query(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    store.record_cache_answer(
        CacheAnswer(
            "e1", "unbounded", 500, "heeb", "it is best", 400, estimated_results=500.0, estimated_share=0.8
        )
    )
    assert "80.0%" in page(viewer, "queries/unbounded").text
    assert "80.0% of its answer in 500 tuples" in page(viewer, "queries").text


def test_the_tab_of_a_run_leads_to_what_it_decided(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    seen = page(viewer, "runs/validate_queries/r1")
    assert seen.all("h2", id="verdicts") and seen.all("a", href="../../queries/unbounded")
    evaluate(store)
    benchmark = CacheBenchmark(
        "b1", "unbounded", 100, "lru", "2013-01-01", "lru", 5, 10, 9, chosen=True, why="alone"
    )
    store.record_cache_benchmarks("b1", [benchmark])
    assert page(viewer, "runs/evaluate_history/e1").all("h2", id="evaluations")
    assert "alone" in page(viewer, "runs/benchmark_caches/b1").text


def test_every_page_and_error_below_a_tab_has_that_tab_current(
    viewer: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    tabs = {"runs/validate_queries/r1": "queries", "queries/unbounded": "queries", "docs/theory.md": "help"}
    tabs |= {"queries/none": "queries", "streams/none": "streams", "quality/stream/none": "quality"}
    for address, tab in tabs.items():
        root, seen = "../" * address.count("/"), page(viewer, address, 404 if "none" in address else 200)
        current = [link["href"] for link in seen.all("a", **{"aria-current": "page"})]
        assert current == [f"{root}{tab}"], address


def test_markup_in_names_text_and_metadata_is_text(viewer: Any, store: Results, registry: Path) -> None:
    name = "<b onclick=x>a&b"
    said = f"-- owner: {MARKUP}\n-- description: {MARKUP}\n"
    sql = f"{said}SELECT DISTINCT '{MARKUP.replace(chr(39), '')}' FROM departures"
    (registry / "queries" / f"{name}.sql").write_text(sql)
    decide(store, registry)
    store.record_quality(
        QualityOutcome("e1", MARKUP, False, 1, failed=[{"partition": MARKUP, "reasons": [MARKUP]}])
    )
    store.record_run(Run("r1", MARKUP, "failed"))
    evaluate(store, name, missing_partitions=(MARKUP,))
    addresses = [
        "queries",
        "help",
        f"queries?text={quote(MARKUP)}",
        f"queries/{quote(name)}",
        f"queries/{quote(MARKUP, safe='')}",
        "quality",
        f"quality/stream/{quote(MARKUP, safe='')}",
        "streams",
        "runs/validate_queries/r1",
        f"runs/{quote(MARKUP.replace('/', ''))}/{quote(MARKUP.replace('/', ''))}",
        quote(MARKUP),
    ]
    for address in addresses:
        seen = Seen(viewer.get(address).text)
        assert all(had.get("src", "").find("static/") >= 0 for had in seen.all("script")), address
        assert not seen.all("b") and not [had for had in seen.all("img") if had.get("src") == "x"], address
        assert not [had for _, had in seen.elements if any(key.startswith("on") for key in had)], address
    assert html.escape(name) in viewer.get(f"queries/{quote(name)}").text


def test_no_page_has_inline_scripts_styles_or_addresses_from_elsewhere(
    viewer: Any, store: Results, registry: Path
) -> None:
    decide(store, registry)
    evaluate(store)
    for address in (
        "queries",
        "queries/bounded",
        "queries/unbounded",
        "try",
        "quality",
        "streams",
        "streams/departures",
        "runs/validate_queries/r1",
    ):
        seen = page(viewer, address)
        assert not seen.all("style")
        for tag, had in seen.elements:
            assert "style" not in had, (address, tag, had)
            for place in (had.get("href"), had.get("src"), had.get("action")):
                assert place is None or not place.startswith(("/", "http", "javascript:", "data:")), (
                    address,
                    place,
                )


def test_links_hold_behind_a_proxy_under_a_prefix(
    mounted: Any, clients: dict[str, Any], store: Results, registry: Path
) -> None:
    decide(store, registry)
    outer = FastAPI()
    outer.mount("/under/prefix", mounted)
    token = {"Authorization": clients["viewer"].headers["Authorization"]}
    client = TestClient(outer, "http://proxy.test/under/prefix/streambound/", headers=token)
    for address in (
        "queries",
        "queries/unbounded",
        "runs/validate_queries/r1",
        "quality",
        "streams/departures",
    ):
        seen = page(client, address)
        places = [
            had.get("href") or had.get("src") for tag, had in seen.elements if tag in ("a", "link", "script")
        ]
        whole = [
            urljoin(f"http://proxy.test/under/prefix/streambound/{address}", place or "") for place in places
        ]
        ours = "http://proxy.test/under/prefix/"
        assert all(one.startswith((f"{ours}streambound/", f"{ours}dags/")) for one in whole)
        for one in whole:
            if one.startswith(f"{ours}streambound/"):
                assert client.get(one).status_code == 200, one


def statements(client: Any, address: str, url: str) -> int:
    """How many statements a page asks of the results database."""
    engine = sources._opened(url)._ready()
    count = 0

    def counted(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        nonlocal count
        count += statement.startswith("SELECT")

    event.listen(engine, "before_cursor_execute", counted)
    try:
        assert client.get(address).status_code == 200
    finally:
        event.remove(engine, "before_cursor_execute", counted)
    return count


def test_a_reason_leads_to_the_page_of_its_code(viewer: Any, store: Results, registry: Path) -> None:
    decide(store, registry)
    for name, code in (("unbounded", "unbounded-projection"), ("bounded", "no-obstruction")):
        assert page(viewer, f"queries/{name}").all("a", href=f"../docs/codes/{code}.md")
    assert page(viewer, "queries/typo").all("a", href="../docs/codes/invalid-query.md")
    # Column by column.
    seen = page(viewer, "queries/bounded")
    assert seen.all("ul", class_="each") and "departures.origin is one of listed values" in seen.text


def test_every_link_of_the_documents_leads_somewhere(viewer: Any) -> None:
    """Documents of ours mostly link to each other; what is not below their folder is no link."""
    documents = [had["href"] for had in page(viewer, "help").all("a") if (had["href"] or "").endswith(".md")]
    # In the order of the site, with a page of each of its folders.
    assert {"docs/tutorial/flights.md", "docs/how-to/mend-a-query.md", "docs/pages.md"} < set(documents)
    assert len(documents) > 70
    seen = set[str]()
    for address in map(str, documents):
        document = page(viewer, address)
        assert not any("style" in had for _, had in document.elements)
        assert "<!--" not in document.text and len(document.all("h1")) == 1, address
        # A heading of nothing is read aloud as nothing.
        assert "<th></th>" not in viewer.get(address).text, address
        ids = {had.get("id") for _, had in document.elements}
        for tag, had in document.elements:
            link = had.get("href") or had.get("src") or ""
            if link.startswith("#"):
                assert link[1:] in {*ids, "main"}, (address, link)
            elif tag in ("a", "img") and not link.startswith("http"):
                seen.add(urljoin(address, link).split("#")[0])
    assert {link for link in seen if viewer.get(link).status_code != 200} == set()


def test_a_code_is_told_where_there_are_no_documents(
    viewer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manual, "folder", lambda: tmp_path / "none")
    assert "must be remembered" in page(viewer, "docs/codes/unbounded-projection.md").text
    assert page(viewer, "help").all("a", href="docs/codes/filter.md")
    for address in ("docs/codes/nothing.md", "docs/theory.md", "docs/..%2fREADME.md", "docs/codes"):
        assert viewer.get(address).status_code == 404, address


def test_a_list_takes_as_many_statements_for_many_queries_and_decides_nothing(
    viewer: Any, store: Results, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import streambound.compiler.report

    decide(store, registry)
    evaluate(store)
    url = store.url.render_as_string(hide_password=False)
    monkeypatch.setattr(streambound.compiler.report, "check", None)
    monkeypatch.setattr(streambound.compiler, "compile", None)
    # What was read is read again after a while, which must not end in between.
    monkeypatch.setattr(overview, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    page(viewer, "queries")
    few = statements(viewer, "queries?", url)
    (verdict,) = [one for one in store.latest_verdicts() if one.query == "bounded"]
    bodies = []
    for number in range(60):
        (registry / "queries" / f"more{number}.sql").write_text(verdict.sql)
        bodies.append({"query": f"more{number}", "verdict": "bounded", "units": 3, "sql": verdict.sql})
    store.record_verdicts("r2", bodies, NOON + dt.timedelta(hours=1))
    many = statements(viewer, "queries?", url)
    assert "64 of 64" in page(viewer, "queries").text
    again = statements(viewer, "queries?", url)
    assert few == again == 1 and many <= 8


@pytest.fixture
def documents(working_folder: Path) -> Path:
    """Data Docs with a page of Great Expectations' kind."""
    folder = working_folder / "quality" / "docs"
    (folder / "validations").mkdir(parents=True)
    (folder / "static").mkdir()
    (folder / "index.html").write_text("<html><body>index</body></html>")
    (folder / "static" / "a.css").write_text("p {}")
    (folder / "validations" / "one.html").write_text(
        "<html><head><style>@media (prefers-color-scheme: dark) { p {} }</style>"
        "<script>alert(1)</script><script src='../static/a.js'></script></head>"
        "<body class='x'><p onclick=\"alert(2)\" onload=alert(3)>found</p>"
        "<SCRIPT type='text/javascript'>x</SCRIPT></body>"
    )
    (working_folder / "secret.html").write_text("secret")
    (folder / "leak.html").symlink_to(working_folder / "secret.html")
    return folder


def test_data_docs_are_served_without_their_inline_scripts(
    viewer: Any, registry: Path, documents: Path, store: Results
) -> None:
    page_file = documents / "validations" / "one.html"
    store.record_quality(QualityOutcome("e1", "departures", True, 9, docs=str(page_file)))
    store.record_quality(QualityOutcome("e1", "arrivals", True, 9, docs=str(documents / "gone.html")))
    seen = page(viewer, "quality")
    assert seen.all("a", href="./quality/docs/validations/one.html") and not seen.all(
        "a", href="./quality/docs/gone.html"
    )
    answer = viewer.get("quality/docs/validations/one.html")
    found = Seen(answer.text)
    assert "found" in found.text and "alert" not in answer.text and "dark" not in answer.text
    assert [had["src"] for had in found.all("script")] == [
        "../static/a.js",
        *(f"../../../static/{name}.js" for name in ("theme", "docs")),
    ]
    assert found.all("a", href="../../../quality")
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    assert viewer.get("quality/docs/static/a.css").headers["content-type"].startswith("text/css")
    assert viewer.get("quality/docs/index.html").headers["location"] == "../../quality"


def test_the_documentation_is_served_where_it_is_built(
    viewer: Any, registry: Path, working_folder: Path, store: Results
) -> None:
    assert not page(viewer, "help").all("a", href="site/index.html")
    assert viewer.get("site/index.html").status_code == 404
    (working_folder / "docs").mkdir()
    (working_folder / "docs" / "index.html").write_text(
        "<script>let a = 1</script><script src=b.js></script>"
    )
    (working_folder / "docs" / "search.json").write_text("{}")
    assert page(viewer, "help").all("a", href="site/index.html")
    digest = b64encode(sha256(b"let a = 1").digest()).decode()
    policy = viewer.get("site/index.html").headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert viewer.get("site/search.json").json() == {}
    assert viewer.get("site/..%2fconnected.db").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "../../secret.html",
        "..%2f..%2fsecret.html",
        "%2e%2e/%2e%2e/secret.html",
        "validations/..%2f..%2f..%2fsecret.html",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "leak.html",
        "validations",
        "nothing.html",
        "x%00.html",
        "a" * 5000 + ".html",
        "..%5c..%5csecret.html",
    ],
)
def test_no_path_leads_out_of_the_data_docs(viewer: Any, registry: Path, documents: Path, path: str) -> None:
    answer = viewer.get(f"quality/docs/{path}")
    assert answer.status_code == 404 and "secret" not in answer.text.replace("secret.html", "")


@pytest.mark.parametrize(
    "name", ["..%2f..%2fapplication.py", "application.py", "%2fetc%2fpasswd", "x%00.css"]
)
def test_no_path_leads_out_of_our_own_files(viewer: Any, name: str) -> None:
    assert viewer.get(f"static/{name}").status_code == 404
