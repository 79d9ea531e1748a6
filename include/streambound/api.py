"""What ``import streambound`` offers: the command line's work, typed, without the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streambound.compiler import check, compile
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import Catalog, catalog_from_mapping, load_catalog
from streambound.query.corpus import CorpusLine

__all__ = ["catalog", "check", "compile", "evaluate"]


def catalog(source: Path | str | Mapping[str, Any]) -> Catalog:
    """The stream catalog in a YAML file or in a mapping of names to columns.

    Raises:
        CatalogError: naming the place, what was found and what is accepted.
    """
    return catalog_from_mapping(source) if isinstance(source, Mapping) else load_catalog(Path(source))


def evaluate(
    sql: str,
    catalog: Catalog,
    events: Iterable[Mapping[str, Any]],
    static: Mapping[str, list[Mapping[str, Any]]] | None = None,
    engine: str = "onepass",
) -> dict[str, Any]:
    """The new answers at each marker, and the most units that were stored.

    Args:
        events: ``{"stream": name, column: value, ...}`` in time (arrival) order.
        static: the rows of each static relation.
        engine: ``onepass`` (the plan) or ``reference`` (the definition; units are None).

    Raises:
        StreamboundError: the query has no bounded plan, or the data do not fit the catalog.
    """
    return evaluated(CorpusLine("query", sql, catalog, tuple(events), static or {}), engine)
