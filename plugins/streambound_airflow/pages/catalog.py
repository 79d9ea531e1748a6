"""What queries may name: the relations of the stream catalog, in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from streambound.errors import StreamboundError
from streambound.query.catalog import load_catalog
from streambound.query.model import Column, Relation
from streambound_airflow.pages.problems import Problem, problem_of
from streambound_airflow.pages.sources import catalog_file

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
    path = catalog_file()
    try:
        status = path.stat()
        return _loaded(str(path), status.st_mtime_ns, status.st_size), None
    except (OSError, StreamboundError) as error:
        if isinstance(error, OSError):
            message = f"the stream catalog cannot be read: {error.strerror}"
            fix = "add streams.yml, or set STREAMBOUND_REGISTRY"
            return (), Problem(status=503, code="invalid-catalog", message=message, accepted=None, fix=fix)
        return (), problem_of(error)


@lru_cache(maxsize=4)
def _loaded(path: str, changed: int, size: int) -> tuple[RelationWords, ...]:
    return tuple(_relation(one) for one in load_catalog(Path(path)).relations)


def _relation(relation: Relation) -> RelationWords:
    return RelationWords(relation.name, relation.kind.value, tuple(map(_column, relation.columns)))


def _column(column: Column) -> ColumnWords:
    domain = column.domain
    if domain is None:
        said = ""
    elif domain.values is not None:
        listed = ", ".join(column.type.text(value) for value in domain.values[:LISTED])
        more = len(domain.values) - LISTED
        said = f"{listed} and {more} more" if more > 0 else listed
    else:
        ends = ("…" if end is None else column.type.text(end) for end in (domain.minimum, domain.maximum))
        said = " to ".join(ends)
    return ColumnWords(column.name, column.type.name, said)
