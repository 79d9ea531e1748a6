"""The documentation as a site: it is built without a network, is whole, and is searched in a browser."""

from __future__ import annotations

import argparse
import html
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
import yaml
from playwright.sync_api import expect, sync_playwright
from tests.docs.pages import ROOT
from tests.e2e.browser import FLAGS, executable

from scripts import docs, pictures, reference
from streambound import settings
from streambound.cli import _parser
from streambound.errors import CatalogError
from streambound.query.catalog import catalog_from_mapping
from streambound_airflow.pages import documents
from streambound_airflow.pages.guard import HEADERS

FETCHED = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=[\"']?([^\"' >]+)|<link\b[^>]*>", re.IGNORECASE)
COMMAND = re.compile(r"^(?:\$ )?(streambound [^#\n]*?)(?:  +#.*)?$", re.MULTILINE)
CODE = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the image's first stage builds it: from what is copied there, and nothing else."""
    stage = (ROOT / "Dockerfile").read_text(encoding="utf-8").partition("\n# One image for every")[0]
    folder = tmp_path_factory.mktemp("stage")
    for name in " ".join(re.findall(r"^COPY (.+) \S+$", stage, re.MULTILINE)).split():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    (command,) = re.findall(r"^RUN (\S+ python -m scripts\.docs) /site/built$", stage, re.MULTILINE)
    target = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        ["sh", "-c", f'{command} "$0"', str(target)],
        cwd=folder,
        env={"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def built(site: Path, page: Path) -> Path:
    path = docs.site_path(page)
    assert path is not None
    name = path.with_name("index.md") if path.name == "README.md" else path
    return site / name.with_suffix(".html")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    of_codes = {f"codes/{page.name}" for page in (ROOT / "docs" / "codes").glob("*.md")} - {"codes/README.md"}
    there = {str(docs.site_path(page)) for page in docs.pages()} - of_codes
    assert sorted(listed) == sorted(there)


def test_every_link_leads_to_a_place_that_is_there(site: Path) -> None:
    anchors: dict[Path, set[str]] = {}
    for page in [*docs.pages(), ROOT / "README.md"]:
        for target, anchor in docs.links(page.read_text(encoding="utf-8")):
            if ":" in target:
                continue
            aim = (page.parent / target).resolve() if target else page
            assert aim.exists(), f"{page.name}: {target}"
            if anchor:
                if aim not in anchors:
                    text = built(site, aim).read_text(encoding="utf-8")
                    anchors[aim] = {html.unescape(a) for a in re.findall(r'\bid="?([^" >]+)', text)}
                assert anchor in anchors[aim], f"{page.name}: {target}#{anchor}"


def test_no_page_asks_for_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        for tag in FETCHED.finditer(page.read_text(encoding="utf-8")):
            address = tag[1] or (re.search(r"href=[\"']?([^\"' >]+)", tag[0]) or [""])[1]
            assert not re.match(r"(https?:)?//", address) or 'rel="canonical"' in tag[0], f"{page}: {tag[0]}"


def test_every_link_of_the_site_leads_to_a_file_of_it(site: Path) -> None:
    for page in site.rglob("*.html"):
        for address in re.findall(
            r"<(?:a|img)\b[^>]*\b(?:href|src)=\"([^\"#?]+)", page.read_text(encoding="utf-8")
        ):
            if not re.match(r"[a-z]+:|//", address):
                # What has no page is told at the root of a site.
                base = site if page.name == "404.html" else page.parent
                assert (base / unquote(html.unescape(address)).lstrip("/")).exists(), (
                    f"{page.name}: {address}"
                )


def commands() -> list[tuple[str, str]]:
    """What pages tell people to type of ours, joined where a line goes on; schemes of usage are none."""
    found = []
    for page in docs.pages():
        for block in CODE.findall(page.read_text(encoding="utf-8")):
            for command in COMMAND.findall(block.replace("\\\n", " ")):
                text = re.split(r"\s[>|;&]+\s|;", command)[0]
                if not re.search(r"[\[{…]|\.\.\.", text):
                    found.append((page.stem, text))
    return found


@pytest.mark.parametrize(("page", "command"), commands())
def test_every_command_is_one(page: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        options = _parser().parse_args(shlex.split(command)[1:])
    except SystemExit as end:
        assert end.code == 0, capsys.readouterr().err
    else:
        assert isinstance(options, argparse.Namespace)


def test_every_target_of_make_is_one() -> None:
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in [*docs.pages(), ROOT / "README.md"]:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z][\w-]*)", text, re.MULTILINE)) <= known, page.name


def test_every_module_that_is_run_is_one() -> None:
    pages = [*docs.pages(), ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
    named = {
        m
        for page in pages
        for m in re.findall(r"python -m ([a-z_][\w.]*\w)", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 5
    assert [
        name for name in named if name != "benchmarks.NAME" and importlib.util.find_spec(name) is None
    ] == []


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_what_would_be_drawn(name: str) -> None:
    assert pictures.path_of(name).read_text(encoding="utf-8") == pictures.PICTURES[name]()


@pytest.mark.parametrize(("name", "text"), reference.files().items(), ids=lambda value: value[:20])
def test_the_reference_is_what_the_code_says(name: str, text: str) -> None:
    assert (reference.FOLDER / name).read_text(encoding="utf-8") == text


@pytest.fixture
def address(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The site as Airflow's pages serve it, but for the authentication that every route of theirs has."""
    monkeypatch.setattr(settings, "site_root", lambda: site)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                answer = documents.site(urlsplit(self.path).path.lstrip("/"))
            except documents.Refused as refused:
                return self.send_error(refused.problem.status)
            self.send_response(answer.status_code)
            of_all = {name.lower(): value for name, value in HEADERS.items()}
            for name, value in {**of_all, **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_it_is_searched_in_airflow_without_a_network(address: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        page, asked, said = browser.new_page(), list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}/tutorial/flights.html")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("combobox", name="Search").fill("witness")
        expect(page.get_by_role("status").get_by_text(re.compile(r"^\d+ results$"))).to_be_visible()
        expect(page.get_by_role("option", name="no-witness").first).to_be_visible()
        browser.close()
    assert said == []
    assert {url.split("://")[0] for url in asked} <= {"http", "blob", "data"}
    assert all(url.startswith(address) for url in asked if url.startswith("http"))


VALIDATOR = jsonschema.Draft202012Validator(reference.schema())
ORDERS = {"columns": {"id": "int", "at": "timestamp"}, "timestamp": "at"}


def accepted(entry: object) -> bool:
    """Whether the loader takes a catalog with this entry."""
    try:
        catalog_from_mapping({"orders": entry})
    except CatalogError:
        return False
    return True


def test_the_schema_takes_the_registry_and_the_catalogs_of_pages() -> None:
    texts = [(ROOT / "include" / "registry" / "streams.yml").read_text(encoding="utf-8")]
    for page in docs.pages():
        blocks = re.findall(
            r"^```yaml[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        texts += [text for text in blocks if text.startswith("streams:") and "..." not in text]
    assert len(texts) > 8
    for text in texts:
        VALIDATOR.validate(yaml.safe_load(text))


@pytest.mark.parametrize("key", sorted(set(reference.KEYS) - {"description"}))
@pytest.mark.parametrize(
    "value", [0, -1, True, "minute", "2 days", [], ["id"], {}, {"id": 5}, {"rows": 5, "per": 60}]
)
def test_what_the_loader_takes_the_schema_takes(key: str, value: object) -> None:
    """The schema is no stricter than the loader; of a description it says more: text."""
    entry = {**ORDERS, key: value}
    valid = VALIDATOR.is_valid({"streams": {"orders": entry}})
    assert valid or not accepted(entry)


@pytest.mark.parametrize(
    "entry",
    [
        {**ORDERS, "kind": "table"},
        {**ORDERS, "granularity": "week"},
        {**ORDERS, "rate": {"rows": 5}},
        {**ORDERS, "domains": {"id": {"least": 1}}},
        {**ORDERS, "history": {"folder": "orders"}},
        {**ORDERS, "live": {"options": {}}},
        {**ORDERS, "allowed_lateness": "soon"},
        {**ORDERS, "lateness": "2 days"},
        {},
    ],
)
def test_what_is_misspelt_the_schema_refuses(entry: dict[str, object]) -> None:
    assert not VALIDATOR.is_valid({"streams": {"orders": entry}})
    assert not accepted(entry)
