"""What queries may name: the relations of the stream catalog, in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from streambound.errors import StreamboundError
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.model import Column, Relation
from streambound_airflow.pages.problems import Problem, Refused, problem_of
from streambound_airflow.pages.sources import Stamp, catalog_file

# Values of a domain that are listed; of more there are so many.
LISTED = 6


@dataclass(frozen=True)
class ColumnWords:
    """A column: its type, and its domain if it is declared."""

    name: str
    type: str
    domain: str


@dataclass(frozen=True)
class RelationWords:
    """A relation: stream, finite or static."""

    name: str
    kind: str
    columns: tuple[ColumnWords, ...]


def relations() -> tuple[tuple[RelationWords, ...], Problem | None]:
    """The relations of the catalog, in its order; or none and why it cannot be read."""
    try:
        return tuple(map(_relation, declared().relations)), None
    except (Refused, StreamboundError) as error:
        return (), problem_of(error)


def declared() -> Catalog:
    """The stream catalog, read again when its file has changed.

    Raises:
        Refused: there is no such file.
        CatalogError: it is malformed.
    """
    return _loaded(*stamp())


def stamp() -> Stamp:
    """What the catalog's file is now.

    Raises:
        Refused: there is none.
    """
    path = catalog_file()
    try:
        status = path.stat()
    except OSError as error:
        message = f"the stream catalog cannot be read: {error.strerror}"
        fix = "add streams.yml, or set STREAMBOUND_REGISTRY"
        raise Refused(503, message, code="invalid-catalog", fix=fix) from None
    return str(path), status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _loaded(path: str, changed: int, size: int) -> Catalog:
    return load_catalog(Path(path))


def _relation(relation: Relation) -> RelationWords:
    return RelationWords(relation.name, relation.kind.value, tuple(map(_column, relation.columns)))


def _column(column: Column) -> ColumnWords:
    return ColumnWords(column.name, column.type.name, domain_words(column))


def domain_words(column: Column) -> str:
    """The declared values of a column; nothing if none are."""
    domain = column.domain
    if domain is None:
        return ""
    if domain.values is not None:
        listed = ", ".join(column.type.text(value) for value in domain.values[:LISTED])
        more = len(domain.values) - LISTED
        return f"{listed} and {more} more" if more > 0 else listed
    ends = ("…" if end is None else column.type.text(end) for end in (domain.minimum, domain.maximum))
    return " to ".join(ends)
