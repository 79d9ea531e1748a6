"""Chromium in front of a real Airflow: log in, trigger a DAG through its form, note what goes wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    FrameLocator,
    Page,
    TimeoutError,
    expect,
    sync_playwright,
)

# The flags beside the sandbox keep Chromium from calling its maker's hosts, which a closed network refuses.
# Names below .test (RFC 2606) are this machine; unlike its own address they are no safe place to a browser.
FLAGS = [
    "--host-resolver-rules=MAP *.test 127.0.0.1",
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

# Milliseconds. A loaded machine is slow to draw; what never comes still fails.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)

LOADED = """() => document.readyState === "complete"
  || new Promise(done => addEventListener("load", () => done(true)))"""

AXE = files("axe_playwright_python") / "axe.min.js"
FAULTS = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations", "incomplete"] });
  return [...found.violations, ...found.incomplete].flatMap((one) => one.nodes.map((node) =>
    `${one.id}: ${node.target.join(" ")}: ${[...node.any, ...node.all, ...node.none][0]?.message}`));
}"""

Value = str | bool | int | Sequence[str]


@dataclass
class Visitor:
    """One user in a browser of their own.

    Attributes:
        errors: what the browser's console called an error, and exceptions that no script caught, in order.
    """

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)

    def log_in(self, username: str, password: str) -> None:
        """Through Airflow's own page; what it says about the anonymous visit before is not kept."""
        self.page.goto(f"{self.url}/auth/login")
        self.page.fill("input[name=username]", username)
        self.page.fill("input[name=password]", password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile(r"^(?!.*/auth/login)"))
        # Airflow's page asks for news again and again: on a busy machine there may be no pause.
        with suppress(TimeoutError):
            self.page.wait_for_load_state("networkidle", timeout=PATIENCE / 3)
        self.errors.clear()

    def trigger(self, dag_id: str, values: Mapping[str, Value] | None = None) -> str:
        """Fill in the form of *Trigger* and press its button; the id of the run."""
        form = self.form(dag_id)
        for name, value in (values or {}).items():
            self._fill(form, name, value)
        wanted = f"/dags/{dag_id}/dagRuns"
        with self.page.expect_response(
            lambda answer: answer.request.method == "POST" and answer.url.endswith(wanted)
        ) as answered:
            form.get_by_test_id("trigger-dag-submit").click()
        answer = answered.value
        assert answer.ok, answer.text()
        run_id = str(answer.json()["dag_run_id"])
        # Airflow's page of a run that goes on is drawn again and again.
        self.page.goto("about:blank")
        return run_id

    def framed(self) -> FrameLocator:
        """The page in Airflow's frame, once it is whole and its script hears what is typed and clicked."""
        frame = self.page.frame_locator("iframe")
        frame.locator("h1").first.wait_for()
        frame.locator("body").evaluate(LOADED)
        return frame

    def faults(self) -> list[str]:
        """What axe finds in this page, of any severity, and what it cannot decide."""
        self.page.evaluate(f"{AXE.read_text(encoding='utf-8')};0")
        return list(self.page.evaluate(FAULTS))

    def form(self, dag_id: str) -> Any:
        """The form of *Trigger* of this DAG, open."""
        self.page.goto(f"{self.url}/dags/{dag_id}")
        self.page.get_by_role("button", name="Trigger").first.click()
        form = self.page.get_by_role("dialog")
        form.get_by_text("Run Parameters").wait_for()
        form.get_by_text("Advanced Options").wait_for()
        return form

    def _fill(self, form: Any, name: str, value: Value) -> None:
        if isinstance(value, bool):
            switch = form.locator(f'[id="switch:element_{name}"]')
            if switch.locator("input").is_checked() != value:
                switch.click()
        elif isinstance(value, str | int):
            form.locator(f"[name=element_{name}]").fill(str(value))
        else:
            box = form.locator(f"#element_{name}").get_by_role("combobox")
            for one in value:
                box.fill(one)
                self.page.get_by_role("option", name=one, exact=True).click()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.location.get('url', '')}: {message.text}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that has just been started. One process has one at a time."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visitor(url: str, **options: Any) -> Iterator[Visitor]:
    """A user in a new browser; see ``visitor_in``."""
    with chromium() as browser, visitor_in(browser, url, **options) as person:
        yield person


@contextmanager
def visitor_in(browser: Browser, url: str, token: str = "", **options: Any) -> Iterator[Visitor]:
    """A user in a browser with nothing of any other in it; arguments as of ``profile``."""
    with profile(browser, url, token, **options) as context, page_in(context, url) as person:
        yield person


@contextmanager
def profile(browser: Browser, url: str, token: str = "", **options: Any) -> Iterator[BrowserContext]:
    """What a browser keeps for a user: cookies, and the files of pages, which are large.

    Args:
        token: of Airflow, for a user who has logged in.
        options: of Playwright's ``new_context``, such as ``color_scheme`` and ``viewport``.
    """
    context = browser.new_context(**options)
    try:
        context.set_default_timeout(PATIENCE)
        if token:
            context.add_cookies([{"name": "_token", "value": token, "url": url}])
        yield context
    finally:
        context.close()


@contextmanager
def page_in(context: BrowserContext, url: str) -> Iterator[Visitor]:
    """A user at a new page."""
    person = Visitor(context.new_page(), url)
    person.page.on("console", person._heard)
    person.page.on("pageerror", lambda error: person.errors.append(str(error)))
    try:
        yield person
    finally:
        person.page.close()


def executable() -> Path:
    """Debian's Chromium, or Google's."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise AssertionError("no Chromium on the PATH; scripts/setup tests installs one")
