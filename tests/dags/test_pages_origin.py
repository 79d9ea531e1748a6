"""A page of another origin starts and decides nothing with a person's cookie, over plain HTTP neither."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dags.test_pages_access import requests_of
from tests.e2e.browser import visitor

from streambound_airflow.pages import api
from streambound_airflow.pages.schemas import StartedRun

pytestmark = pytest.mark.airflow

START = "api/v1/queries/bounded/runs/validate_queries"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The DAGs that were started, by the names of the queries."""
    found: list[str] = []

    def start(dag_id: str, query: Any, now: Any, user: Any) -> StartedRun:
        found.append(query.summary.name)
        return StartedRun(dag_id=dag_id, run_id="manual__1", state="queued", started=True)

    monkeypatch.setattr(api, "start", start)
    return found


@dataclass(frozen=True)
class Origin:
    """What RFC 6454 calls one: two pages share it if all three are equal."""

    scheme: str
    host: str
    port: int

    def written(self, plain: bool) -> str:
        """As a browser writes it; with its port even where that is its scheme's own, if not ``plain``."""
        usual = {"http": 80, "https": 443}[self.scheme]
        return f"{self.scheme}://{self.host}" + ("" if plain and self.port == usual else f":{self.port}")


ORIGINS = st.builds(
    Origin,
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        ["airflow.test", "airflow.test.evil", "notairflow.test", "10.0.0.7", "[::1]", "localhost"]
    ),
    st.sampled_from([80, 443, 8080, 8081]),
)
# What a browser sends as Origin where it hides the page's, and what no address is.
HIDDEN = [
    "null",
    "none",
    "file://",
    "about:blank",
    "http://",
    "airflow.test",
    "http://airflow.test:port",
    "//",
]


@st.composite
def asked(draw: Any) -> tuple[Origin, dict[str, str], bool]:
    """Where a request goes, what a browser says of the page that sends it, and whether that page is ours."""
    ours = draw(ORIGINS)
    page = draw(st.one_of(st.just(ours), ORIGINS))
    headers: dict[str, str] = {}
    told: list[bool] = []
    if draw(st.booleans()):
        hidden = draw(st.sampled_from([None, None, *HIDDEN]))
        headers["Origin"] = page.written(draw(st.booleans())) if hidden is None else hidden
        told.append(hidden is None and page == ours)
    if draw(st.booleans()):
        # A page of one origin may be told of in both; of two origins never, but it is the first that counts.
        one = draw(st.one_of(st.just(page), ORIGINS))
        tail = draw(st.sampled_from(["", "/", "/streambound/queries/q?x=http://airflow.test:8080/"]))
        headers["Referer"] = one.written(draw(st.booleans())) + tail
        told.append(one == ours)
    # Without either it is no page that a browser shows: with a cookie it is refused.
    return ours, headers, bool(told) and told[0]


@settings(suppress_health_check=list(HealthCheck))
@given(asked())
def test_random_pages_over_plain_http(
    clients: dict[str, Any], registry: Any, started: list[str], question: tuple[Origin, dict[str, str], bool]
) -> None:
    ours, headers, own = question
    started.clear()
    token = clients["admin"].headers["Authorization"].removeprefix("Bearer ")
    headers |= {"Cookie": f"_token={token}"}
    address = f"{ours.written(True)}/streambound/{START}"
    answer = clients["anonymous"].post(address, headers=headers)
    assert answer.status_code == (202 if own else 403), answer.text
    assert started == (["bounded"] if own else [])


def test_tools_with_a_token_say_nothing_of_a_page(
    clients: dict[str, Any], registry: Any, started: list[str]
) -> None:
    assert clients["admin"].post(START).status_code == 202 and started == ["bounded"]


def test_a_proxy_that_changes_the_host_is_told_by_the_configuration(
    clients: dict[str, Any], registry: Any, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Origin": "http://known.test:81"}
    assert clients["admin"].post(START, headers=headers).status_code == 403
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://known.test:81/under/prefix")
    assert clients["admin"].post(START, headers=headers).status_code == 202
    assert clients["admin"].post(START, headers={"Origin": "http://known.test"}).status_code == 403


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-site"}, {"Origin": "http://airflow.test:81"}])
def test_every_route_that_is_not_only_read_is_guarded(
    clients: dict[str, Any], mounted: Any, registry: Any, started: list[str], headers: dict[str, str]
) -> None:
    unsafe = [(method, one) for method, one in requests_of(mounted) if method not in ("GET", "HEAD")]
    ours = [(method, one) for method, one in unsafe if "nowhere" not in one]
    assert [one for _, one in ours] == [START, "api/v1/check", "try"]
    for method, address in ours:
        answer = clients["admin"].request(method, address, headers=headers, json={"sql": "SELECT 1"})
        assert answer.status_code == 403 and "another origin" in answer.text, address
    assert started == []


@contextmanager
def served(app: Any) -> Iterator[int]:
    """The port of an application that is served over plain HTTP."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)


@contextmanager
def hostile(target: str) -> Iterator[int]:
    """The port of a page that sends a request to ours when it is opened, in each way there is."""
    forms = {
        "/form": f"<form method=post action='{target}'></form><script>document.forms[0].submit()</script>",
        "/hidden": f"<meta name=referrer content=no-referrer><form method=post action='{target}'></form>"
        "<script>document.forms[0].submit()</script>",
        "/fetch": f"<script>fetch('{target}', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})"
        "</script>",
    }

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(forms.get(self.path, "").encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_a_page_of_another_port_starts_nothing_in_a_browser(
    mounted: Any, clients: dict[str, Any], registry: Any, started: list[str]
) -> None:
    """By name and over plain HTTP, where a browser says nothing in ``Sec-Fetch-Site``; our button works."""
    seen: list[dict[bytes, bytes]] = []

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            seen.append(dict(scope["headers"]))
        await mounted(scope, receive, send)

    with served(noted) as port:
        ours = f"http://airflow.test:{port}"
        with hostile(f"{ours}/streambound/{START}") as other, visitor(ours) as person:
            token = clients["admin"].headers["Authorization"].removeprefix("Bearer ")
            cookie = {"name": "_token", "value": token, "url": ours, "sameSite": "Lax"}
            person.page.context.add_cookies([cookie])
            for way in ("form", "hidden", "fetch"):
                with person.page.expect_response(
                    lambda answer: answer.request.method == "POST" and answer.url.startswith(ours)
                ) as answered:
                    person.page.goto(f"http://airflow.test:{other}/{way}")
                assert answered.value.status == 403, way
                assert started == [], way
            # Without these the test would show nothing: the browser sends the cookie, and tells no site.
            assert [b"_token=" in one[b"cookie"] for one in seen] == [True] * 3
            assert [one.get(b"sec-fetch-site") for one in seen] == [None] * 3
            person.page.goto(f"{ours}/streambound/queries/bounded")
            person.page.get_by_role("button", name="Check now").click()
            person.page.locator("#started a").wait_for()
    assert started == ["bounded"]
