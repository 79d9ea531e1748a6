"""Where the pages are: their addresses below Airflow's own, and their places in its UI.

Every address is relative to Airflow's base, so that it holds behind a proxy under a prefix too. In the UI's
frame the page ``streambound/queries/q5`` is at ``plugin/streambound/streambound/queries/q5``: the frame's
route, then the address of what it shows.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

PREFIX = "/streambound"
QUERIES, TRY, QUALITY, RUN = "streambound", "streambound-try", "streambound-quality", "streambound-run"
STREAMS = "streambound-streams"
CATEGORY = "streambound"
# One file each in ``dags/``.
DAGS = (
    "ingest_flights",
    "validate_queries",
    "materialize_synopses",
    "benchmark_caches",
    "evaluate_history",
)
ICONS = {"icon": "streambound/static/icon.svg", "icon_dark_mode": "streambound/static/icon-dark.svg"}


def _view(name: str, href: str, route: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "href": f"streambound/{href}", "url_route": route, **ICONS, **more}


EXTERNAL_VIEWS: list[dict[str, Any]] = [
    _view("Queries", "queries", QUERIES, destination="nav", category=CATEGORY),
    _view("Streams", "streams", STREAMS, destination="nav", category=CATEGORY),
    _view("Try a query", "try", TRY, destination="nav", category=CATEGORY),
    _view("Quality", "quality", QUALITY, destination="nav", category=CATEGORY),
    _view("streambound", "runs/{DAG_ID}/{RUN_ID}", RUN, destination="dag_run"),
]


def query_page(name: str) -> str:
    """The page of a query, in the UI's frame."""
    return f"plugin/{QUERIES}{PREFIX}/queries/{quote(name, safe='')}"


def document_page(path: str | None) -> str:
    """A page of the Data Docs (its path in their folder), in the UI's frame; all of them for None."""
    below = "" if path is None else f"/docs/{quote(path)}"
    return f"plugin/{QUALITY}{PREFIX}/quality{below}"


def run_page(dag_id: str, run_id: str) -> str:
    """What a run decided and evaluated: the tab of that run."""
    return f"dags/{quote(dag_id, safe='')}/runs/{quote(run_id, safe='')}/plugin/{RUN}"
