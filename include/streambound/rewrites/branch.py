"""One SELECT of a rewrite: the rows of a choice of cells, how often each, and what its operators keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from streambound.query.model import Attribute, Constant, Query
from streambound.rewrites.clauses import Clauses, Names, literal


@dataclass(frozen=True)
class Kept:
    """What one operator keeps: at most so many rows of so many values; None: ``formula`` says how many."""

    operator: str
    rows: int | None
    width: int = 1
    formula: str = ""

    @property
    def units(self) -> int | None:
        """Values in all; None if there is no number."""
        return None if self.rows is None else self.rows * self.width

    def __str__(self) -> str:
        if self.rows is None:
            return f"{self.operator}: {self.formula}"
        return f"{self.operator}: {self.rows:,} row{'s' * (self.rows != 1)} of {self.width}"


@dataclass(frozen=True)
class Branch:
    """A SELECT of answer rows.

    ``columns`` are the names of the answer columns, ``further`` those of columns beside them that tell rows
    apart which are added up; ``number`` is the name of how often a row is an answer, None where it is one at
    all. ``keys`` are the names of the columns that a changed row is found by. ``merged`` is how it is made of
    one GROUP BY, where it is.
    """

    select: exp.Query
    columns: tuple[str, ...]
    further: tuple[str, ...]
    number: str | None
    kept: tuple[Kept, ...]
    rules: tuple[str, ...]
    # Whether rows only come, and are neither changed nor taken back.
    appends: bool = False
    keys: tuple[str, ...] = ()
    merged: Merged | None = None


@dataclass(frozen=True)
class Merged:
    """One GROUP BY of a UNION ALL, with the rows that it gives.

    ``by`` are the columns that are grouped by, each with those of the streams that it stands for; ``inner``
    are the rows that are grouped, whose other columns have ``nulls`` where they have no value. In a group the
    ``aggregates`` hold; where the ``conditions`` do, its ``columns`` are a row, ``number`` times.
    """

    by: tuple[tuple[str, frozenset[Attribute]], ...]
    inner: exp.Query
    nulls: tuple[tuple[str, exp.Expr], ...]
    aggregates: tuple[tuple[str, exp.Expr], ...]
    conditions: tuple[exp.Expr, ...]
    columns: tuple[exp.Expr, ...]
    number: exp.Expr


def shown(
    build: Clauses, query: Query, names: Names, values: Mapping[Attribute, exp.Expr]
) -> list[tuple[str, exp.Expr]]:
    """The answer columns: a name, and where its value is."""
    expressions = []
    for output in query.select:
        term = output.term
        node = constant(term) if isinstance(term, Constant) else values[term].copy()
        expressions.append((names.fresh(build.shown(output.name)), node))
    return expressions


def constant(term: Constant) -> exp.Expr:
    """A constant of the answer."""
    if term.value is None:
        return exp.null() if term.type.name == "null" else exp.cast(exp.null(), term.type.name)
    return literal(term.value, term.type, term.type)
