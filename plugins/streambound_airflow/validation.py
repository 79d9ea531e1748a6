"""Validation of the registry: which queries a run checks, and what it found."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streambound import settings
from streambound.errors import QueryError, meant
from streambound_airflow.forms import registered_names
from streambound_airflow.runs import record_end

if TYPE_CHECKING:
    from streambound.results import Results

JOB = "validate_queries"
log = logging.getLogger(__name__)


def chosen_queries(wanted: Sequence[str] | None) -> list[str]:
    """The chosen registered queries, all if none is chosen; the catalog is known to be sound then.

    Raises:
        CatalogError: there is no stream catalog, or it is malformed.
        QueryError: the registry is empty, or has no query of a chosen name.
    """
    from streambound.query.catalog import load_catalog

    load_catalog(settings.registry() / "streams.yml")
    known = registered_names()
    folder = settings.registry() / "queries"
    if not known:
        raise QueryError(
            "the registry is empty",
            subject=str(folder),
            accepted="one .sql file a query",
            fix="add a file such as late_departures.sql",
        )
    if unknown := sorted(set(wanted or ()) - set(known)):
        raise QueryError(
            f"no query is registered as {', '.join(unknown)}",
            subject=str(folder),
            accepted=", ".join(known),
            fix=meant(unknown[0], known),
        )
    return sorted(set(wanted or known))


def conclude(store: Results, run_id: str, queries: Sequence[str], strict: bool) -> dict[str, int]:
    """Records how the run ended; how many queries got each verdict (``unchecked``: none).

    ``strict`` counts an unbounded or undecided query as a failure, as it failed its task.
    """
    found = {verdict.query: verdict for verdict in store.verdicts(run_id, JOB)}
    for name in queries:
        verdict = found.get(name)
        units = "" if verdict is None or verdict.units is None else f", {verdict.units:,} units"
        log.info("%s: %s%s", name, verdict.verdict if verdict else "unchecked", units)
    counts = Counter(found[name].verdict if name in found else "unchecked" for name in queries)
    failures = {"invalid", "unchecked"} | ({"unbounded", "unknown"} if strict else set())
    record_end(store, run_id, JOB, succeeded=not failures & set(counts))
    return dict(counts)
