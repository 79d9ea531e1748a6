"""What ``import streambound`` offers: the command line's work, typed, without the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streambound.certificate import witness as witnesses
from streambound.certificate.verification import Verification, Witness
from streambound.compiler import check, compile
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import Catalog, catalog_from_mapping, load_catalog
from streambound.query.corpus import CorpusLine
from streambound.query.parse import parse

__all__ = ["catalog", "check", "compile", "evaluate", "verify", "witness"]


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


def witness(sql: str, catalog: Catalog, size: int) -> Witness:
    """Input that no finite state can tell apart: ``size`` slots, of which 2^size prefixes are made.

    Raises:
        WitnessError: the query is not unbounded, or its types have no room for so many slots.
        StreamboundError: it cannot be read.
    """
    return witnesses.witness(parse(sql, catalog, "query"), size)


def verify(sql: str, catalog: Catalog, witness: Witness) -> Verification:
    """Replay all prefixes of a witness on the definition; ``holds`` if each asks for a state of its own.

    Raises:
        WitnessError: there are too many slots to replay.
        StreamboundError: the query cannot be read, or the events do not fit the catalog.
    """
    return witnesses.verify(parse(sql, catalog, "query"), witness)
