"""The client of Airflow's REST API: a server that is late is asked again, and is never a traceback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scripts.airflow_rest import TRIES, AirflowApiError, AirflowClient


class Server(ThreadingHTTPServer):
    """Answers ``{}``, but late at first."""

    def __init__(self, late: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.late = late
        self.calls: list[str] = []


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
                time.sleep(1.0)
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
    server.shutdown()
    server.server_close()


def client(server: Server) -> AirflowClient:
    return AirflowClient(f"http://127.0.0.1:{server.server_address[1]}", "admin", "word", timeout=0.3)


@pytest.mark.parametrize("late", [TRIES - 1], indirect=True)
def test_a_late_answer_is_asked_for_again(late: Server) -> None:
    assert client(late).request("GET", "/dags/x") == {}
    assert late.calls == ["GET /api/v2/dags/x"] * TRIES


@pytest.mark.parametrize("late", [TRIES], indirect=True)
def test_a_server_that_stays_late_is_an_error_of_ours(late: Server) -> None:
    with pytest.raises(AirflowApiError, match="timed out"):
        client(late).request("GET", "/dags/x")


@pytest.mark.parametrize("late", [1], indirect=True)
def test_what_starts_something_is_never_sent_twice(late: Server) -> None:
    with pytest.raises(AirflowApiError, match="timed out"):
        client(late).trigger("x")
    assert late.calls == ["POST /api/v2/dags/x/dagRuns"]
