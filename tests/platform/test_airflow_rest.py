"""The client of Airflow's REST API: a server that is late is asked again, and is never a traceback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scripts.airflow_rest import TRIES, AirflowApiError, AirflowClient


class Server(ThreadingHTTPServer):
    """Answers ``{}``, but the first ``late`` calls only when the test is over."""

    def __init__(self, late: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.late = late
        self.calls: list[str] = []
        self.over = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        token = self.path == "/auth/token"
        if not token:
            self.server.calls.append(f"{self.command} {self.path}")
            if len(self.server.calls) <= self.server.late:
                self.server.over.wait()
        body = json.dumps({"access_token": "t"} if token else {}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def late(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(request.param)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


class Client(AirflowClient):
    """Waits briefly for what comes too late, and for all else as long as a busy machine takes."""

    def __init__(self, server: Server) -> None:
        super().__init__(f"http://127.0.0.1:{server.server_address[1]}", "admin", "word")
        self._late = server.late

    def _send(self, method: str, path: str, body: object | None, token: str | None) -> Any:
        called = path != "/auth/token"
        self._timeout = 1.0 if called and self._late > 0 else 60.0
        self._late -= called
        return super()._send(method, path, body, token)


@pytest.mark.parametrize("late", [TRIES - 1], indirect=True)
def test_a_late_answer_is_asked_for_again(late: Server) -> None:
    assert Client(late).request("GET", "/dags/x") == {}
    assert late.calls == ["GET /api/v2/dags/x"] * TRIES


@pytest.mark.parametrize("late", [TRIES], indirect=True)
def test_a_server_that_stays_late_is_an_error_of_ours(late: Server) -> None:
    with pytest.raises(AirflowApiError, match="timed out"):
        Client(late).request("GET", "/dags/x")


@pytest.mark.parametrize("late", [1], indirect=True)
def test_what_starts_something_is_never_sent_twice(late: Server) -> None:
    with pytest.raises(AirflowApiError, match="timed out"):
        Client(late).trigger("x")
    assert late.calls == ["POST /api/v2/dags/x/dagRuns"]
