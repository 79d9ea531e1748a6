"""A schema registry: a stand-in server of its HTTP API."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.imports.test_schemas import AVRO, JSON, PROTO, told

from streambound.cli import main
from streambound.errors import CatalogError, PlatformError
from streambound.imports import registry

SUBJECTS: dict[str, Any] = {
    "orders-value": {"schema": json.dumps(AVRO), "references": [{"name": "shop.Person"}]},
    "payments-value": {"schemaType": "JSON", "schema": json.dumps(JSON)},
    "a/b-value": {"schemaType": "PROTOBUF", "schema": PROTO},
    "odd": {"schemaType": "THRIFT", "schema": "{}"},
    "empty": {},
}
USER = "reader:s3cret"


class _Registry(BaseHTTPRequestHandler):
    """What Confluent's API answers to GET /subjects/SUBJECT/versions/latest."""

    protocol_version = "HTTP/1.0"
    seen: list[str | None] = []  # noqa: RUF012
    away: str | None = None

    def do_GET(self) -> None:
        from urllib.parse import unquote

        self.seen.append(self.headers["Authorization"])
        _, first, subject, *rest = self.path.split("/")
        if self.away is not None:
            self.send_response(302)
            self.send_header("Location", self.away + self.path)
            self.end_headers()
        elif self.path.startswith("/broken"):
            self._answer(200, b"<html>")
        elif (first, rest) != ("subjects", ["versions", "latest"]):
            self._answer(500, b"{}")
        elif self.headers["Authorization"] != "Basic " + base64.b64encode(USER.encode()).decode():
            self._answer(401, b'{"error_code": 40101, "message": "Unauthorized"}')
        elif (found := SUBJECTS.get(unquote(subject))) is None:
            self._answer(404, b'{"error_code": 40401, "message": "Subject not found."}')
        else:
            self._answer(
                200, json.dumps({"subject": unquote(subject), "version": 3, "id": 7, **found}).encode()
            )

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told."""


def _served(handler: type[_Registry]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def handler() -> type[_Registry]:
    return type("Registry", (_Registry,), {"seen": []})


@pytest.fixture
def address(handler: type[_Registry]) -> Iterator[str]:
    yield from _served(handler)


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.CREDENTIALS, USER)


@pytest.mark.usefixtures("login")
def test_the_newest_schema_of_a_subject(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    orders = registry.entry(address, "orders-value")
    assert orders.name == "orders" and told(orders)["price"] == ("decimal(10,2)", False)
    assert orders.notes[0] == "Version 3 of subject orders-value. Not read: shop.Person, which it refers to."
    assert told(registry.entry(address + "/", "payments-value"))["sum"] == ("double", True)
    assert registry.entry(address, "a/b-value").name == "b"
    assert main(["import", "registry", address, "--subject", "payments-value", "--name", "paid"]) == 0
    printed = capsys.readouterr().out
    assert "\n  paid:\n    # Version 3 of subject payments-value.\n" in printed and "s3cret" not in printed


@pytest.mark.usefixtures("login")
@pytest.mark.parametrize(
    ("subject", "said"),
    [("none", "no subject none"), ("odd", "of type 'THRIFT'"), ("empty", "answer has no schema")],
)
def test_what_is_no_schema_is_refused(address: str, subject: str, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        registry.entry(address, subject)


def test_a_registry_that_refuses_or_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlatformError, match=r"refuses access \(401\)"):
        registry.entry(address, "orders-value")
    with pytest.raises(PlatformError, match="no JSON"):
        registry.entry(f"{address}/broken", "x")
    with pytest.raises(PlatformError, match="does not answer"):
        registry.entry("http://127.0.0.1:1", "x")
    for url in ("file:///etc/passwd", "orders", "ftp://a"):
        with pytest.raises(CatalogError, match="no address of a schema registry"):
            registry.entry(url, "x")
    with pytest.raises(CatalogError, match="has a password in it") as refused:
        registry.entry("http://u:pw@127.0.0.1:1", "x")
    assert "pw" not in str(refused.value).replace("password", "")


@pytest.mark.usefixtures("login")
def test_a_redirection_does_not_get_the_password(address: str, handler: type[_Registry]) -> None:
    front = type("Front", (_Registry,), {"seen": [], "away": address})
    for away in _served(front):
        with pytest.raises(PlatformError, match="refuses access"):
            registry.entry(away, "orders-value")
    assert front.seen[0] is not None and handler.seen == [None]
