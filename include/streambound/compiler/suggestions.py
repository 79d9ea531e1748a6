"""Edits that make a query bounded, in the words of its own text: each was decided again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from streambound.boundedness.criterion.current_time import reads_present
from streambound.compiler import Decided, Parsed, decided, parsed, planned
from streambound.errors import StreamboundError
from streambound.query.catalog import Catalog
from streambound.query.expressions.independence import derives

# What proves and mends a query is loaded for one that is not bounded: a lint starts often, and most are.
if TYPE_CHECKING:
    from streambound.certificate import suggestions as rechecked
    from streambound.certificate.suggestions import Suggestion


def suggested(job: Decided) -> tuple[Suggestion, ...]:
    """Bounded variants of a query that is not bounded; the product's own criterion decides them."""
    if job.criterion != "exact" or job.verdict.bounded:
        return ()
    if (job.statement.unevaluated is not None or derives(job.statement)) and job.statement.plain:
        return ()
    if any(map(reads_present, job.statement.selections)):
        # A text over streams alone has no present time.
        return ()
    from streambound.certificate import suggestions as rechecked

    suggestions = rechecked.suggestions(job.statement, job.verdict, job.catalog, partial(_again, job))
    whole = [_in_own_words(job, suggestion) for suggestion in suggestions]
    # What is done to rows is said in words of a dialect that may mean something else in Spark's.
    return tuple(suggestion for suggestion in whole if suggestion.whole is not None or job.statement.plain)


def _in_own_words(job: Decided, suggestion: Suggestion) -> Suggestion:
    """A suggestion with the user's text, and in the words of that text's dialect, if the edits fit in."""
    whole = _whole(job, suggestion)
    if whole is None or job.statement.bare is None:
        return replace(suggestion, whole=whole)
    start, end = job.span
    written = whole[start : end + len(whole) - len(job.sql)]
    change = "; ".join(said(job, edit.words, edit.added) for edit in suggestion.made)
    return replace(suggestion, whole=whole, written=written, change=change)


def said(job: Parsed, words: str, added: tuple[str, ...]) -> str:
    """Words about texts of Spark SQL, with those in the dialect of the user's text."""
    if job.dialect == "spark" or not added:
        return words
    from streambound.certificate.wording import Wording

    return Wording.of(job.sql, job.dialect).said(words, added)


def _whole(job: Decided, suggestion: Suggestion) -> str | None:
    """The user's whole text with the edits of a suggestion, if the query is bounded in it."""
    from streambound.certificate.drafts import edited_within

    if job.statement.bare is None:
        return suggestion.sql
    try:
        sql = edited_within(job.sql, job.span, job.dialect, [edit.apply for edit in suggestion.made])
        if sql is None:
            return None
        again = decided(parsed(sql, job.catalog, job.name, job.dialect, job.asked))
    except StreamboundError:
        return None
    return sql if again.verdict.bounded else None


def _again(of: Decided, sql: str, catalog: Catalog) -> rechecked.Decided | None:
    """The stages on an edited text of a query; None if it is refused."""
    from streambound.certificate import suggestions as rechecked

    try:
        job = decided(parsed(with_views(sql, of.statement.views), catalog, of.name, "spark"))
    except StreamboundError:
        return None
    return rechecked.Decided(job.verdict, partial(_size, job))


def with_views(sql: str, views: Sequence[str]) -> str:
    """A text with the views that it reads."""
    if not views:
        return sql
    own = sql[4:].lstrip() if (nested := sql[:5].upper() == "WITH ") else sql
    return f"WITH {', '.join(views)}{', ' if nested else ' '}{own}"


def _size(job: Decided) -> rechecked.Size:
    from streambound.certificate import suggestions as rechecked

    plan = planned(job)
    return rechecked.Size(plan.units, plan.units_formula, plan.unplanned)
