"""Files that the pages serve: their own styles and scripts, the Data Docs, and the documentation.

Every path is resolved and has to lie in its folder. Data Docs are Great Expectations' pages about people's
data: they are served without their inline scripts, so that nothing in the data could run as one beside
Airflow's UI. What these did, a script of ours does (the filter of what failed), or a page (the index's
tables); styles of ours make them dark where Airflow is.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Container
from hashlib import sha256
from pathlib import Path

from fastapi import Response
from fastapi.responses import HTMLResponse
from markupsafe import escape

from streambound import settings
from streambound.quality.docs import site_folder
from streambound_airflow.pages.problems import Refused

STATIC = Path(__file__).parent / "static"
SERVED = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".html": "text/html; charset=utf-8",
}
# Great Expectations styles its elements one by one.
DOCUMENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
# The documentation's pages have small scripts of their generator's in them; each is named by its digest.
MANUAL_POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
ENCLOSED_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
)

_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_HANDLER = re.compile(r"""\son\w+\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z][^>]*>")
_HTML = re.compile(r"<html>", re.IGNORECASE)
_BODY, _HEAD = re.compile(r"<body[^>]*>", re.IGNORECASE), re.compile(r"</head\s*>", re.IGNORECASE)


def static(name: str) -> Response:
    """One of our own styles and scripts."""
    file = inside(STATIC, name)
    return _file(file, {"Cache-Control": "private, max-age=300"})


def document(path: str, root: str) -> Response:
    """A file of the Data Docs.

    Args:
        path: below their folder.
        root: the relative address of our pages.
    """
    file = inside(site_folder(), path)
    if file.suffix != ".html":
        return _file(file, {"Cache-Control": "private, max-age=300"})
    text = harmless(file.read_text(encoding="utf-8", errors="replace"), root)
    return HTMLResponse(text, headers={"Content-Security-Policy": DOCUMENT_POLICY})


def has_site() -> bool:
    """Whether the documentation has been built (``make docs``)."""
    return (settings.site_root() / "index.html").is_file()


def site(path: str) -> Response:
    """A file of the documentation, which this project makes itself: its pages run their own scripts."""
    file = inside(settings.site_root(), path)
    if file.suffix != ".html":
        return _file(file, {"Cache-Control": "private, max-age=300"})
    text = file.read_text(encoding="utf-8")
    digests = [
        base64.b64encode(sha256(script.encode()).digest()).decode() for script in _INLINE_SCRIPT.findall(text)
    ]
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return HTMLResponse(text, headers={"Content-Security-Policy": MANUAL_POLICY.format(scripts=scripts)})


def enclosed(path: Path) -> Response:
    """A file beside a document, which may be a drawing: it loads and runs nothing."""
    return _file(path, {"Content-Security-Policy": ENCLOSED_POLICY})


def inside(folder: Path, name: str, served: Container[str] = SERVED) -> Path:
    """The file of that name in a folder, of a kind that is served.

    Raises:
        Refused: it is not in the folder, is no file, or of a kind that is not served.
    """
    refused = Refused(404, "there is no such file", accepted="a page that the Quality page links to")
    if "\0" in name or name.startswith(("/", "\\")) or ".." in name.split("/"):
        raise refused
    root = folder.resolve()
    try:
        file = (root / name).resolve()
        served_here = file.is_relative_to(root) and file.suffix in served and file.is_file()
    except (OSError, ValueError, RuntimeError):
        raise refused from None
    if not served_here:
        raise refused
    return file


def harmless(text: str, root: str) -> str:
    """A page without inline scripts and handlers, with our own, and with a way back to the Quality page."""
    text = _TAG.sub(lambda tag: _HANDLER.sub("", tag[0]), _INLINE_SCRIPT.sub("", text))
    static = escape(f"{root}static/")
    ours = f'<link rel="stylesheet" href="{static}docs.css">' + "".join(
        f'<script defer src="{static}{name}.js"></script>' for name in ("theme", "docs")
    )
    back = f'<p class="streambound-back"><a href="{escape(root)}quality">Quality: all subjects</a></p>'
    # Theirs is half of one: the other half is Bootstrap's, on a content network.
    text = text.replace("@media (prefers-color-scheme: dark)", "@media not all")
    text = _HTML.sub('<html lang="en">', text, count=1)
    text = _HEAD.sub(lambda head: ours + head[0], text, count=1)
    return _BODY.sub(lambda body: body[0] + back, text, count=1)


def _file(path: Path, headers: dict[str, str]) -> Response:
    kind = SERVED.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    try:
        return Response(path.read_bytes(), media_type=kind, headers=headers)
    except OSError as error:
        raise Refused(404, f"the file cannot be read: {error.strerror}") from None
