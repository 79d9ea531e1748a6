"""The Great Expectations context on disk, its Data Docs, and making these render without a network.

Data Docs load Bootstrap, jQuery and Font Awesome from content networks; without them the page is
bare and its tables are empty. The same files lie in ``assets/`` (their licences beside them), are
copied into the site, and the links are rewritten to them.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.durable import replaced
from streambound.errors import StorageError, StreamboundError
from streambound.locks import taken

if TYPE_CHECKING:
    from great_expectations.data_context.data_context.file_data_context import FileDataContext

ASSETS = Path(__file__).parent / "assets"
# Validation results kept for each suite (two weeks of nights); older ones and their pages are deleted:
# the index page reads all of them at each check. The results database keeps every outcome.
KEPT_RESULTS = 14
SITE = "quality"

# What a page asks a content network for, by file name, and what it gets instead. Popper is in
# Bootstrap's bundle; no chart is drawn, so Vega goes; the dark theme goes.
_FONT_AWESOME = ("css/fontawesome.min.css", "css/solid.min.css", "css/regular.min.css")
_LOCAL = {
    "all.min.css": _FONT_AWESOME,
    "bootstrap.min.css": ("css/bootstrap.min.css",),
    "bootstrap-table.min.css": ("css/bootstrap-table.min.css",),
    "bootstrap-table-filter-control.css": ("css/bootstrap-table-filter-control.min.css",),
    "bootstrap-table-filter-control.min.css": ("css/bootstrap-table-filter-control.min.css",),
    "bootstrap-datepicker.min.css": ("css/bootstrap-datepicker.min.css",),
    "jquery.min.js": ("js/jquery.min.js",),
    "bootstrap.min.js": ("js/bootstrap.bundle.min.js",),
    "bootstrap-table.min.js": ("js/bootstrap-table.min.js",),
    "bootstrap-table-filter-control.min.js": ("js/bootstrap-table-filter-control.min.js",),
    "bootstrap-datepicker.min.js": ("js/bootstrap-datepicker.min.js",),
}
_OUTSIDE = re.compile(
    r'<(?:script|link)\b[^>]*\b(?:src|href)="https?://(?P<path>[^"]+)"[^>]*>(?:\s*</script>)?'
)
_IMAGE = re.compile(r'(?<=src=")https?://[^"]*/(?P<name>[\w.-]+\.png)(?:\?[^"]*)?(?=")')
_BACKGROUND = re.compile(r"url\('https?://[^']*'\)")
_FOOTER = re.compile(r"<footer>.*?</footer>", re.DOTALL)


def site_folder() -> Path:
    """The folder of the Data Docs: plain files that any web server can show."""
    return settings.quality_root() / "docs"


@contextmanager
def docs_context() -> Iterator[FileDataContext]:
    """The context, alone in this machine's processes: it is files that every check rewrites.

    When the block ends the pages that it wrote are made to render without a network.

    Raises:
        StorageError: the folder cannot be written, or what lies in it is broken.
    """
    root = settings.quality_root()
    with _storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        with (root / ".lock").open("w") as lock:
            taken(lock, wait=True)
            began = time.time()
            context = _open(root)
            yield context
            _forget_old_results(context)
            make_offline(site_folder(), since=began)


@contextmanager
def _storage_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"the quality folder cannot be used: {error.strerror or error}",
            subject=str(root),
            fix="make it writable, or set STREAMBOUND_HOME to another folder",
        ) from None
    except Exception as error:
        # A file of the context that was damaged raises whatever its reader meets.
        if isinstance(error, StreamboundError):
            raise
        raise StorageError(
            f"the Great Expectations context failed: {' '.join(str(error).split())[:300]}",
            subject=str(root / "gx"),
            fix="delete this folder; it is written anew",
        ) from error


def _open(root: Path) -> FileDataContext:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    import great_expectations as gx

    context = gx.get_context(mode="file", project_root_dir=str(root))
    if set(context.variables.data_docs_sites or {}) != {SITE}:
        _configure(context)
    return context


def _configure(context: FileDataContext) -> None:
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.variables.data_docs_sites = {
        SITE: {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": "../docs/"},
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        }
    }
    context.variables.save()


def _forget_old_results(context: FileDataContext) -> None:
    store: Any = context.validation_results_store
    by_suite: dict[str, list[Any]] = {}
    for key in store.list_keys():
        by_suite.setdefault(str(key.expectation_suite_identifier), []).append(key)
    for keys in by_suite.values():
        keys.sort(key=lambda key: key.run_id.run_time, reverse=True)
        for key in keys[KEPT_RESULTS:]:
            store.remove_key(key)
            page_of(key).unlink(missing_ok=True)


def page_of(identifier: Any) -> Path:
    """The Data Docs page of a validation result."""
    *folders, name = identifier.to_tuple()
    return site_folder().joinpath("validations", *folders, f"{name}.html")


def make_offline(site: Path, since: float = 0.0) -> None:
    """Copies the assets into the site and rewrites the pages changed since that time (epoch seconds)."""
    for source in ASSETS.rglob("*.*"):
        target = site / "static" / source.relative_to(ASSETS)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for page in site.rglob("*.html"):
        # File systems round times, some to two seconds.
        if page.stat().st_mtime >= since - 2:
            depth = len(page.relative_to(site).parts) - 1
            text = offline(page.read_text(encoding="utf-8"), "../" * depth + "static/")
            with replaced(page, flush=False) as file:
                file.write(text.encode())


def offline(html: str, static: str) -> str:
    """The page with its outside parts from the folder at the relative address ``static``, or left out."""
    html = _OUTSIDE.sub(lambda match: _local(match["path"], static), html)
    html = _IMAGE.sub(lambda match: f"{static}images/{match['name']}", html)
    return _FOOTER.sub("", _BACKGROUND.sub("none", html))


def _local(path: str, static: str) -> str:
    name = re.sub(r"-[\d.]+(?=\.min\.)", "", path.rsplit("/", 1)[-1])
    made = []
    for asset in _LOCAL.get(name, ()):
        is_style = asset.endswith(".css")
        tag = '<link rel="stylesheet" href="{}">' if is_style else '<script src="{}"></script>'
        made.append(tag.format(static + asset))
    return "\n    ".join(made)
