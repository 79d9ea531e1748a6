"""From SQL to verdict and plan: the stages in order.

A query is parsed, decided and planned; what is known after each stage has a type of its own, and each is
done once: what prints a plan, sizes it and runs it has the same object. ``suggestions`` and ``report`` say
what follows from them: edits that make a query bounded, and what ``streambound check`` prints.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> job = compile("SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19", catalog)
>>> job.verdict.outcome.value, job.units
('bounded', 10)
"""

from __future__ import annotations

from streambound.compiler.plans import planned, unplanned
from streambound.compiler.stages import Decided, Parsed, Planned
from streambound.compiler.verdicts import certified, decided, in_mode
from streambound.errors import QueryError, UnsupportedError, meant
from streambound.query.catalog import Catalog
from streambound.query.column_types import shown
from streambound.query.parse import read

__all__ = [
    "CRITERIA",
    "Decided",
    "Parsed",
    "Planned",
    "compile",
    "decided",
    "in_mode",
    "judge",
    "parsed",
    "planned",
    "unplanned",
]

CRITERIA = ("exact", "arasu", "schiff_ozcep")


def parsed(
    sql: str, catalog: Catalog, name: str = "query", dialect: str | None = None, query: str | None = None
) -> Parsed:
    """SQL text to the query model, with the relations that the text itself declares (see ``judge``).

    Raises:
        StreamboundError: the query cannot be read or is not supported.
    """
    text = read(sql, catalog, name, dialect, query)
    statement = text.statement
    for selection in statement.selections:
        if not selection.arriving:
            raise UnsupportedError(
                "only static relations are queried, so the answer never changes",
                subject=name,
                location=selection.base.occurrences[0].location,
                text=sql,
                fix="add a stream to FROM",
            )
    return Parsed(sql, text.catalog, name, statement, text.dialect, text.guessed, query, text.span)


def judge(
    sql: str,
    catalog: Catalog,
    name: str = "query",
    criterion: str = "exact",
    compared: bool = False,
    dialect: str | None = None,
    query: str | None = None,
) -> Decided:
    """All stages but the plan.

    Args:
        dialect: that of the text; without it what its first comments say, or a guess.
        query: which one, of a text of several.
        compared: with what the published criteria say beside the product's own, for those who show it.

    Raises:
        StreamboundError: the query cannot be read or is not supported.
    """
    if criterion not in CRITERIA:
        raise QueryError(
            f"the criterion is {shown(criterion)}",
            subject=name,
            accepted=", ".join(CRITERIA),
            fix=meant(str(criterion), CRITERIA),
        )
    return certified(decided(parsed(sql, catalog, name, dialect, query), criterion, compared))


def compile(
    sql: str,
    catalog: Catalog,
    name: str = "query",
    criterion: str = "exact",
    compared: bool = False,
    dialect: str | None = None,
    query: str | None = None,
) -> Planned:
    """Run all stages (see ``judge``)."""
    return planned(judge(sql, catalog, name, criterion, compared, dialect, query))
