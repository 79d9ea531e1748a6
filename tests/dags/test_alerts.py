"""Alerts: off by default, one setting on, one message a run; delivered for real, and never in the way."""

from __future__ import annotations

import base64
import json
import logging
import smtplib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streambound.report.notices import Notice, notice
from streambound.results import QualityOutcome, Results
from streambound.results.findings import Finding
from streambound_airflow import alerts, delivery
from streambound_airflow.alerts import FindingsNotifier, callbacks

pytestmark = pytest.mark.airflow

SECRET = "hush-hush-hush"


class Webhook(HTTPServer):
    """Remembers what was posted to it; answers with ``status``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posted: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.location: str | None = None

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posted.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    """A local HTTP server, named by the Airflow connection ``hook``."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Webhook()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    connect(monkeypatch, conn_type="http", host="127.0.0.1", port=server.port, extra={"endpoint": "/in/box"})
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def connect(monkeypatch: pytest.MonkeyPatch, **connection: Any) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_HOOK", json.dumps(connection))


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


def notified(to: str = "hook") -> None:
    FindingsNotifier(to)(
        {"dag_run": SimpleNamespace(dag_id="a_dag", run_id="manual__2026-01-01T00:00:00+00:00")}
    )  # type: ignore[arg-type]


def found_something(store: Results, reason: str = "rows are odd") -> None:
    run_id = "manual__2026-01-01T00:00:00+00:00"
    for stream in ("departures", "weather"):
        failed = [{"partition": "2013-01-02", "reasons": [reason]}]
        store.record_quality(QualityOutcome(run_id, stream, False, 3, failed=failed, job="a_dag"))


@pytest.mark.parametrize("setting", [None, "", "  "])
def test_off_by_default(setting: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STREAMBOUND_ALERTS", raising=False)
    if setting is not None:
        monkeypatch.setenv("STREAMBOUND_ALERTS", setting)
    assert callbacks() == {}


def test_one_setting_turns_it_on_for_success_and_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_ALERTS", " hook ")
    found = callbacks()
    assert sorted(found) == ["on_failure_callback", "on_success_callback"]
    assert [one.to for notifiers in found.values() for one in notifiers] == ["hook", "hook"]


def test_a_run_is_one_message_with_links(webhook: Webhook, store: Results) -> None:
    found_something(store)
    notified()
    ((path, headers, body),) = webhook.posted
    assert path == "/in/box" and headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers
    assert body["subject"] == "streambound: 2 findings in a_dag"
    assert [one["subject"] for one in body["findings"]] == ["departures", "weather"]
    run = "/dags/a_dag/runs/manual__2026-01-01T00%3A00%3A00%2B00%3A00/plugin/streambound-run"
    assert body["run_page"].startswith("http") and body["run_page"].endswith(run)
    assert all(one["page"].endswith("/quality") for one in body["findings"])
    assert "(2013-01-02): rows are odd" in body["text"]


def test_without_findings_nothing_is_sent(webhook: Webhook, store: Results) -> None:
    notified()
    assert webhook.posted == []


@pytest.mark.parametrize(
    ("login", "expected"),
    [(None, f"Bearer {SECRET}"), ("me", f"Basic {base64.b64encode(f'me:{SECRET}'.encode()).decode()}")],
)
def test_the_webhook_may_ask_who_it_is(
    login: str | None, expected: str, webhook: Webhook, store: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_something(store)
    host = f"http://127.0.0.1:{webhook.port}/whole/address"
    connect(monkeypatch, conn_type="http", host=host, login=login, password=SECRET)
    notified()
    ((path, headers, _),) = webhook.posted
    assert (path, headers["Authorization"]) == ("/whole/address", expected)


def test_no_secret_is_in_the_message_or_the_log(
    webhook: Webhook, store: Results, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found_something(store, f"the file names {SECRET}")
    connect(monkeypatch, conn_type="http", host=f"127.0.0.1:{webhook.port}/{SECRET}/in", password=SECRET)
    from airflow.sdk.log import mask_secret

    mask_secret(SECRET)
    webhook.status = 500
    with caplog.at_level(logging.DEBUG):
        notified()
    ((_, _, body),) = webhook.posted
    assert SECRET not in json.dumps(body) and SECRET not in caplog.text
    assert "the file names ***" in body["text"]
    assert "answered 500" in caplog.text


@pytest.mark.parametrize(
    ("connection", "told"),
    [
        ({"conn_type": "http", "host": "127.0.0.1", "port": 1}, "cannot be reached"),
        ({"conn_type": "http"}, "has no host"),
        ({"conn_type": "http", "host": "file:///etc/passwd"}, "has no host, or one that is not http"),
        ({"conn_type": "ftp", "host": "h"}, "of type ftp; accepted: smtp"),
        ({"conn_type": "slackwebhook"}, "pip install apache-airflow-providers-slack"),
        ({"conn_type": "smtp", "host": "127.0.0.1"}, "does not say who gets mail"),
        (None, "hook"),
    ],
)
def test_what_cannot_be_sent_is_one_line_in_the_log_and_fails_nothing(
    connection: dict[str, Any] | None,
    told: str,
    store: Results,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    found_something(store)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    if connection is None:
        monkeypatch.delenv("AIRFLOW_CONN_HOOK", raising=False)
        monkeypatch.setattr("airflow.sdk.Connection.get", lambda name: (_ for _ in ()).throw(KeyError(name)))
    else:
        connect(monkeypatch, **connection)
    with caplog.at_level(logging.ERROR):
        notified()
    (line,) = [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]
    assert line.startswith("the findings of this run were not sent to ") and told in line
    assert "Traceback" not in caplog.text


def test_an_answer_that_sends_elsewhere_is_not_followed(
    webhook: Webhook, store: Results, caplog: pytest.LogCaptureFixture
) -> None:
    found_something(store)
    webhook.status, webhook.location = 307, f"http://127.0.0.1:{webhook.port}/elsewhere"
    notified()
    assert [path for path, _, _ in webhook.posted] == ["/in/box"] and "answered 307" in caplog.text


def test_a_results_database_that_fails_fails_nothing(
    webhook: Webhook, working_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (working_folder / "connected.db").write_text("not a database at all, but long enough to be read")
    notified()
    assert webhook.posted == [] and "the results database failed" in caplog.text


def test_the_word_log_writes_the_message_to_the_tasks_log(
    store: Results, caplog: pytest.LogCaptureFixture
) -> None:
    found_something(store)
    with caplog.at_level(logging.WARNING):
        notified("log")
    lines = [one.getMessage() for one in caplog.records if one.name == delivery.__name__]
    assert lines[0].startswith("2 findings in run manual__") and "Failed expectations" in lines


class Mailbox:
    """Stands for an SMTP server."""

    sent: list[tuple[str, Any, str]] = []  # noqa: RUF012 - emptied by the test

    def __init__(self, *arguments: Any, **named: Any) -> None: ...
    def starttls(self, **named: Any) -> None: ...
    def close(self) -> None: ...
    def login(self, user: str, password: str) -> None: ...
    def sendmail(self, from_addr: str, to_addrs: Any, msg: str) -> None:
        self.sent.append((from_addr, to_addrs, msg))


def test_mail_goes_through_airflows_own_notifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtplib, "SMTP", Mailbox)
    Mailbox.sent.clear()
    extra = {
        "to": "ops@example.org",
        "from_email": "air@example.org",
        "disable_ssl": True,
        "disable_tls": True,
    }
    connect(monkeypatch, conn_type="smtp", host="127.0.0.1", port=25, extra=extra)
    hostile = Finding("state", "query", "q", "<script>alert(1)</script> {{ 7 * 7 }}")
    delivery.send(notice([hostile], "a_dag", "r", "http://air/r"), "hook")
    ((sender, to, text),) = Mailbox.sent
    assert sender == "air@example.org" and "ops@example.org" in str(to)
    from email import message_from_string

    mail = message_from_string(text)
    assert mail["Subject"] == "streambound: 1 finding in a_dag"
    page = next(
        part.get_payload(decode=True) for part in mail.walk() if part.get_content_type() == "text/html"
    )
    assert isinstance(page, bytes)
    assert b"&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 * 7 }}" in page


def test_a_notice_says_which_connection_carried_it(
    webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        delivery.send(Notice("s", "t", {"text": "t"}), "hook")
    assert "sent 's' through connection hook" in caplog.text and len(webhook.posted) == 1


def test_a_page_is_an_address_of_airflows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "base_url", lambda: "https://air.example.org/prefix")
    run = alerts.run_address("d/x", "r y")
    assert run.startswith("https://air.example.org/prefix/dags/d%2Fx/runs/r%20y/")
    page = alerts.page_of(Finding("state", "query", "a/b", "full"))
    assert page.startswith("https://air.example.org/prefix/plugin/") and page.endswith("/queries/a%2Fb")
