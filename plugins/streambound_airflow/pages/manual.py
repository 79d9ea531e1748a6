"""The project's documentation as pages of ours, at the addresses that its files have, so that links hold.

Its text is trusted, but rendered as any other: HTML in it is text, and there are no inline styles.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from streambound import settings
from streambound.report.code_pages import REASON_CODES, errors, meaning
from streambound_airflow.pages.documents import inside
from streambound_airflow.pages.problems import Refused

# What tells the scripts that write parts of documents where these are.
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
# Of the folder's files its pages are served, their pictures, and what they offer to be taken.
FILES = (".svg", ".png", ".json", ".yml")
SERVED = (".md", *FILES)


@dataclass(frozen=True)
class Document:
    """A document: the text of its first heading, and its markup."""

    title: str
    markup: Markup


def folder() -> Path:
    """Where the documentation lies."""
    return settings.project_root() / "docs"


def document(path: str) -> Document:
    """A document below the folder; of a code whose page is not there, what is declared of it.

    Raises:
        Refused: there is no such document.
    """
    try:
        file = inside(folder(), path, (".md",))
    except Refused:
        code = path.removeprefix("codes/").removesuffix(".md")
        if path != f"codes/{code}.md" or code not in {*REASON_CODES, *errors()}:
            raise
        return _declared(code)
    return _document(file, path, file.stat().st_mtime_ns)


def listed() -> list[tuple[str, list[tuple[str, str]]]]:
    """The sections of the site's navigation, each with (path, title) of its documents; none without it."""
    file = folder().parent / "mkdocs.yml"
    if not file.is_file():
        return []
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))["nav"]
    sections = [("", [entry]) if isinstance(entry, str) else next(iter(entry.items())) for entry in entries]
    return [(name, list(_titled(pages))) for name, pages in sections]


def _titled(pages: Iterable[str | dict[str, str]]) -> Iterator[tuple[str, str]]:
    """The pages of a section that lie in the folder; one without a title has its document's."""
    for page in pages:
        title, path = ("", page) if isinstance(page, str) else next(iter(page.items()))
        if (folder() / path).is_file():
            yield path, title or document(path).title


def meanings() -> list[tuple[str, str]]:
    """(code, meaning) of findings, then of errors."""
    # Errors are told by their docstrings.
    return [(code, meaning(code).replace("``", "")) for code in (*REASON_CODES, *sorted(errors()))]


def _declared(code: str) -> Document:
    fix = REASON_CODES[code].fix if code in REASON_CODES else ""
    parts = [dict(meanings())[code], *([f"What to do: {fix}"] if fix else [])]
    return Document(code, Markup("").join(Markup("<p>{}</p>").format(part) for part in parts))


@lru_cache(maxsize=256)
def _document(file: Path, path: str, changed: int) -> Document:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.add_render_rule("fence", _fence)
    made.add_render_rule("code_block", _fence)
    tokens = made.parse(_COMMENT.sub("", file.read_text(encoding="utf-8")))
    title = next(
        (tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"), file.stem
    )
    if tokens and tokens[0].type == "heading_open":
        # The page has it already.
        tokens = tokens[3:]
    _prepare(tokens, posixpath.dirname(path))
    return Document(_plain(title), Markup(made.renderer.render(tokens, made.options, {})))


def _prepare(tokens: Sequence[Token], within: str) -> None:
    """Headings that can be linked to, as GitHub names them; cells without styles; links that are served."""
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", _plain(tokens[at + 1].content).lower())
            token.attrs["id"] = words.strip().replace(" ", "-")
        elif token.type in ("th_open", "td_open"):
            aligned = str(token.attrs.pop("style", ""))
            if "right" in aligned:
                token.attrs["class"] = "right"
        _link(token.children or (), within)


def _link(children: Sequence[Token], within: str) -> None:
    """Links to other sites lead out of Airflow's frame; those to files that are not served are text."""
    opened: list[str] = []
    for child in children:
        if child.type == "link_open":
            address = str(child.attrs["href"])
            if address.startswith("http"):
                child.attrs["data-airflow"] = ""
            elif not _is_served(address, within):
                child.tag, child.attrs = "span", {}
            opened.append(child.tag)
        elif child.type == "link_close":
            child.tag = opened.pop()


def _is_served(address: str, within: str) -> bool:
    path = posixpath.normpath(posixpath.join(within, address.split("#")[0]))
    return address.startswith("#") or (not path.startswith("..") and path.endswith(SERVED))


def _plain(heading: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda link: link[1] or "", heading)


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>\n'
