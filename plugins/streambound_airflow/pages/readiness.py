"""What the first page would otherwise wait for, done while Airflow's API server starts."""

from __future__ import annotations

import importlib
import logging
import threading

from starlette.types import ASGIApp, Receive, Scope, Send

from streambound_airflow.pages import overview
from streambound_airflow.pages.examination import EXAMINERS
from streambound_airflow.pages.rendering import environment

# Loaded where they are needed, which takes a second at first.
LATER = ("streambound.checkpoint.table", "streambound.approximate.nightly.night", "streambound.quality.docs")
log = logging.getLogger(__name__)


class Prepared:
    """Begins when a server's process does: in each of its workers, and in nothing that only builds it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the process."""
        if scope["type"] == "lifespan":
            prepare()
        await self.app(scope, receive, send)


def prepare() -> threading.Thread:
    """Begins; what fails here is told again by the page that needs it."""
    thread = threading.Thread(target=_prepare, name="streambound-pages", daemon=True)
    thread.start()
    return thread


def _prepare() -> None:
    try:
        EXAMINERS.start()
        for name in LATER:
            importlib.import_module(name)
        # The registry's files are read, and the results database is opened.
        overview.rows()
        for template in environment().list_templates(extensions=["html"]):
            environment().get_template(template)
    except Exception as error:
        log.warning("the pages are not prepared: %s: %s", type(error).__name__, error)
