"""Validation of the registry: which queries a run checks, and what it found."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streambound import settings
from streambound_airflow.runs import record_end

if TYPE_CHECKING:
    from streambound.results import Results

JOB = "validate_queries"
# So many tasks check a registry at most: more queries are shared among them.
TASKS = 100
log = logging.getLogger(__name__)


def chosen_queries(wanted: Sequence[str] | None) -> list[str]:
    """The chosen registered queries, all if none is chosen; the catalog is known to be sound then.

    Raises:
        ProjectError: streambound.toml is malformed.
        CatalogError: there is no stream catalog, or it is malformed.
        QueryError: the registry is empty, or has no query of a chosen name.
    """
    from streambound.projects.registry import load_registry

    registry = load_registry(settings.registry())
    return sorted({query.name for query in registry.chosen(wanted or ())})


def shared(names: Sequence[str]) -> list[str]:
    """What each mapped task checks, a name a line: one query, or several where there are many.

    >>> [len(share.splitlines()) for share in shared([f"q{number}" for number in range(250)])][::41]
    [3, 3, 3]
    >>> shared(["p", "q"])
    ['p', 'q']
    """
    size = max(1, -(-len(names) // TASKS))
    return ["\n".join(names[at : at + size]) for at in range(0, len(names), size)]


def conclude(store: Results, run_id: str, queries: Sequence[str], strict: bool) -> dict[str, int]:
    """Records how the run ended; how many queries got each verdict (``unchecked``: none).

    ``strict`` counts an unbounded or undecided query as a failure, as it failed its task.

    Raises:
        ProjectError: streambound.toml is malformed.
    """
    from streambound_airflow import metrics

    verdicts = {verdict.query: verdict for verdict in store.verdicts(run_id, JOB)}
    metrics.checked(verdicts.values(), store.earlier_verdicts(run_id, JOB))
    for name in queries:
        verdict = verdicts.get(name)
        units = "" if verdict is None or verdict.units is None else f", {verdict.units:,} units"
        log.info("%s: %s%s", name, verdict.verdict if verdict else "unchecked", units)
    outcomes = {verdicts[name].outcome if name in verdicts else "unchecked" for name in queries}
    record_end(store, run_id, JOB, succeeded=not outcomes & {*failing(strict), "unchecked"})
    return dict(Counter(verdicts[name].verdict if name in verdicts else "unchecked" for name in queries))


def failing(strict: bool) -> frozenset[str]:
    """The outcomes that fail a query's task: those that ``streambound.toml`` calls errors, else what is not
    decided; and if ``strict`` what is not bounded.

    Raises:
        ProjectError: streambound.toml is malformed.
    """
    from streambound.projects.registry import registry_of

    said = registry_of(settings.registry()).errors
    errors = frozenset(("unsupported", "invalid")) if said is None else said
    return errors | {"unbounded", "unknown"} if strict else errors
