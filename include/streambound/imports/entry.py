"""An entry of a catalog as a source describes it, with what the source does not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streambound.query.type_names import canonical, nested, type_named

# What is said of a column whose type no query can read yet.
REFUSED = "a query that names it is refused"
NESTED = "values within values: only paths to fields of a struct are read"


@dataclass(frozen=True)
class Field:
    """A column; without a type it is written as a comment, with ``note`` saying why."""

    name: str
    type: str | None
    nullable: bool = True
    note: str = ""
    # The values that the schema itself allows, as a domain of the catalog.
    domain: Mapping[str, Any] | None = None

    @property
    def plain(self) -> bool:
        """Whether queries can read it; of other columns a catalog promises nothing."""
        return self.type is not None and canonical(self.type) is not None


@dataclass(frozen=True)
class Entry:
    """A relation.

    ``further`` are keys of the catalog that the source says, in their order; ``notes`` what it does not say,
    one a line. ``observed`` are domains that the rows have, by column, and promise nothing.
    """

    name: str
    fields: tuple[Field, ...]
    further: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def stamps(self) -> tuple[str, ...]:
        """The columns that could be the application timestamp."""
        return tuple(f.name for f in self.fields if f.type is not None and canonical(f.type) == "timestamp")


def typed(name: str, text: str, nullable: bool = True, note: str = "") -> Field:
    """A column of a type that a source names as engines do.

    >>> typed("a", "BIGINT").type, typed("b", "struct<x: int>").type, typed("c", "geometry").type
    ('bigint', 'struct<x: int>', 'object(geometry)')
    """
    recognised = type_named(text)
    if (plain := canonical(recognised)) is not None:
        return Field(name, plain, nullable, note)
    own = not nested(" ".join(text.split()))
    return Field(
        name, recognised, nullable, note or (f"{text} is no type here: {REFUSED}" if own else NESTED)
    )


def struct(fields: Iterable[Field]) -> str:
    """The type that a record of some columns has.

    >>> struct([Field("a", "int"), Field("b", "array<int>")])
    'struct<a: int, b: array<int>>'
    """
    return f"struct<{', '.join(f'{f.name}: {f.type}' for f in fields if f.type is not None)}>"
