"""The playground: its worker gives the verdicts of `check`; heavy: the same in Chromium, asking nobody."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.e2e.browser import FLAGS, executable

from scripts import playground

EXAMPLES = json.loads((playground.PAGE / "examples.json").read_text(encoding="utf-8"))
# Milliseconds in which Python has been loaded and has decided, on a loaded machine.
PATIENCE = 240_000


@pytest.fixture(scope="module")
def judge() -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("judge", playground.PAGE / "judge.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def asked(sql: str, catalog: str = "", engine: str = "", suggest: bool = False) -> Any:
        line = {"sql": sql, "catalog": catalog, "engine": engine, "suggest": suggest}
        return json.loads(module.judge(json.dumps(line)))

    return asked


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_an_example_has_the_verdict_that_it_is_for(
    example: dict[str, str], judge: Callable[..., Any]
) -> None:
    found = judge(example["sql"], example["catalog"])
    assert found["verdict"] == example["verdict"] and found["text"]


def test_suggestions_come_when_they_are_asked_for(judge: Callable[..., Any]) -> None:
    counted = EXAMPLES[0]
    assert judge(counted["sql"], counted["catalog"])["suggestions"] == []
    told = judge(counted["sql"], counted["catalog"], suggest=True)["suggestions"]
    assert told[-1]["size"] == "at most 10 units" and "DISTINCT" in told[-1]["sql"]


def test_an_engine_is_told_of(judge: Callable[..., Any]) -> None:
    assert "what Flink" in judge(EXAMPLES[0]["sql"], EXAMPLES[0]["catalog"], engine="flink")["text"]


@pytest.mark.parametrize(
    "catalog", ["streams", "streams: {S: {A: nothing}}", "- 1", "streams: {S: [", "a: 1"]
)
def test_a_catalog_that_is_none_is_told_as_one(catalog: str, judge: Callable[..., Any]) -> None:
    found = judge("SELECT A FROM S", catalog)
    assert found["verdict"] == "invalid" and "Traceback" not in found["text"]


def test_pyodide_that_is_another_one_is_refused(tmp_path: Path) -> None:
    package = tmp_path / f"pyodide-{playground.PYODIDE}.tgz"
    package.write_bytes(b"another")
    with pytest.raises(playground.DataError, match="has the digest"):
        playground.pyodide(tmp_path)
    assert not package.exists()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    playground.build(tmp_path / "playground")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return None

    handler = partial(Quiet, directory=str(tmp_path / "playground"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.heavy
def test_it_decides_in_a_browser_and_asks_nobody(address: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        page, asked, said = browser.new_page(), list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}/index.html")
        outcome, text = page.locator("#outcome"), page.locator("#text")
        expect(outcome).to_have_text("unbounded", timeout=PATIENCE)
        expect(text).to_contain_text("unbounded-inequality")
        # A click on a suggestion is an edit that was decided again.
        page.locator("#suggestions button").last.click()
        expect(outcome).to_have_text("bounded")
        expect(page.locator("#said")).to_have_text("at most 10 units of state")
        for example in EXAMPLES:
            page.get_by_role("button", name=example["name"]).click()
            expect(page.locator(".verdict")).to_have_attribute("data-verdict", example["verdict"])
            expect(page.locator(".verdict")).to_have_attribute("aria-busy", "false")
        page.locator("#engine").select_option("flink")
        expect(text).to_contain_text("what Flink")
        page.locator("#sql").press_sequentially("SELEC")
        expect(outcome).to_have_text("invalid")
        browser.close()
    assert said == []
    assert all(url.startswith(address) for url in asked)
