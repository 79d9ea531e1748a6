"""What ``streambound check`` says of a query, as one object.

``check`` never raises for what a user wrote: a query that cannot be read is reported as ``invalid``.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> report = check("SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19", catalog)
>>> report.verdict, report.units
('bounded', 10)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from streambound.boundedness.causes import Cause, causes
from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.boundedness.criterion.verdict import Reason
from streambound.compiler import Decided, Parsed, Planned, compile, parsed
from streambound.compiler.suggestions import said, suggested, with_views
from streambound.errors import DataError, PlatformError, StreamboundError, UnsupportedError
from streambound.query.catalog import Catalog
from streambound.query.expressions.independence import assumptions
from streambound.query.model import Query
from streambound.query.statement import Statement
from streambound.storage.partitions import shared_partition_key

# The rules of an engine are loaded for one that is asked of it.
if TYPE_CHECKING:
    from streambound.certificate.suggestions import Suggestion
    from streambound.engines.model import Fact
    from streambound.engines.state import OnEngine


@dataclass(frozen=True)
class Report:
    """A checked query; ``verdict`` is bounded, unbounded, unknown or invalid.

    ``refused`` is why its histories are not read, as the catalog describes them, whatever the verdict.
    """

    query: str
    verdict: str
    criterion: str
    projection: str | None = None
    units: int | None = None
    units_formula: str | None = None
    unplanned: str | None = None
    refused: str | None = None
    reasons: tuple[Reason, ...] = ()
    # What the reasons have in common.
    causes: tuple[Cause, ...] = ()
    published: dict[str, str] = field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()
    error: StreamboundError | None = None
    dialect: str | None = None
    guessed: str | None = None
    # What was assumed of functions that are not known, a sentence an expression.
    assumes: tuple[str, ...] = ()
    # The verdict where rows are answered once, when nothing can change them any more: bounded, unbounded,
    # never-final (no row ever is) or unknown.
    final: str = "unknown"
    # What an engine keeps of it as it is written, where that was asked.
    engine: OnEngine | None = None

    @property
    def outcome(self) -> str:
        """The verdict; ``unsupported`` of what is valid and not decided."""
        return "unsupported" if isinstance(self.error, UnsupportedError) else self.verdict

    def to_json(self) -> dict[str, Any]:
        """The object that ``check --format json`` prints."""
        body: dict[str, Any] = {
            "query": self.query,
            "verdict": self.verdict,
            "final": self.final,
            "projection": self.projection,
            "units": self.units,
            "criterion": self.criterion,
            "reasons": [_reason_json(reason, self.projection) for reason in self.reasons],
            "published": self.published,
            "suggestions": [suggestion.to_json() for suggestion in self.suggestions],
            "error": None if self.error is None else self.error.one_line(),
        }
        code = None if self.error is None else self.error.code
        further = {"code": code, "units_formula": self.units_formula, "unplanned": self.unplanned}
        further["refused"] = self.refused
        further |= {"dialect": self.dialect, "guessed": self.guessed}
        if isinstance(self.error, UnsupportedError):
            body["blockers"] = [_blocker_json(blocker) for blocker in self.error.blockers]
        if self.causes:
            body["causes"] = [_cause_json(cause) for cause in self.causes]
        if self.assumes:
            body["assumes"] = list(self.assumes)
        if self.engine is not None:
            body["engine"] = self.engine.to_json()
        return {**body, **{key: text for key, text in further.items() if text is not None}}


def _blocker_json(blocker: UnsupportedError) -> dict[str, Any]:
    where = (
        None
        if blocker.location is None
        else {"line": blocker.location.line, "column": blocker.location.column}
    )
    return {
        "construct": blocker.construct or blocker.message,
        "message": blocker.message,
        "where": where,
    }


def _cause_json(cause: Cause) -> dict[str, Any]:
    where = None if cause.location is None else {"line": cause.location.line, "column": cause.location.column}
    return {"message": cause.message, "fix": cause.fix, "where": where}


def _reason_json(reason: Reason, projection: str | None) -> dict[str, Any]:
    where = (
        None if reason.location is None else {"line": reason.location.line, "column": reason.location.column}
    )
    attributes = [str(attribute) for attribute in reason.attributes]
    body = {"code": reason.code, "message": reason.message, "attributes": attributes, "where": where}
    further = {"criterion": REASON_CODES[reason.code].criterion(projection), "branch": reason.branch}
    return {**body, **{key: text for key, text in further.items() if text}}


def _refused(statement: Statement) -> str | None:
    try:
        shared_partition_key(statement)
    except DataError as error:
        return f"{error.message}; {error.fix}"
    return None


def check(
    sql: str,
    catalog: Catalog,
    name: str = "query",
    criterion: str = "exact",
    suggest: bool = True,
    dialect: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    facts: frozenset[Fact] = frozenset(),
) -> Report:
    """The verdict on a query, and why; bad SQL is a verdict, not an exception.

    Args:
        suggest: with bounded variants of a query that is not bounded; they decide some dozens of others.
        dialect: that of the text; without it what its first comments say, or a guess.
        query: which one, of a text of several; its name is then ``name/query``.
        engine: with what that one keeps; without it that of a line ``-- for: NAME`` in the text.
        facts: what an engine knows of the query beyond its text (see ``engines.state``).

    Raises:
        PlatformError: no query can be read in this environment (see ``languages.require_extensible``).
    """
    name = name if query is None else f"{name}/{query}"
    try:
        job = compile(sql, catalog, name, criterion, compared=True, dialect=dialect, query=query)
        on = on_engine(job, engine, facts=facts)
    except StreamboundError as error:
        return invalid(name, criterion, error)
    return replace(reported(job, suggest), engine=on)


def on_engine(
    job: Parsed, given: str | None, otherwise: str | None = None, facts: frozenset[Fact] = frozenset()
) -> OnEngine | None:
    """What an engine keeps of a query as it is written; None where none is meant (see ``engine_for``).

    Args:
        facts: see ``state_of``.

    Raises:
        QueryError: there is no such engine.
    """
    if given is None and otherwise is None and "for" not in dict(job.statement.metadata):
        return None
    from streambound.engines.sorting import sorting
    from streambound.engines.state import engine_for, state_of

    engine = engine_for(job.sql, given, otherwise)
    if engine is None:
        return None
    order = sorting(job.statement, job.sql, job.span, job.dialect)
    return state_of(job.statement, engine, facts, () if order is None else (order,))


def invalid(name: str, criterion: str, error: StreamboundError) -> Report:
    """The report on a query that cannot be read.

    Raises:
        PlatformError: nothing can be read here; that is no fault of a query.
    """
    if isinstance(error, PlatformError):
        raise error
    return Report(name, "invalid", criterion, error=error.about(name))


def reported(job: Planned, suggest: bool = True) -> Report:
    """The report on a query that was compiled (see ``check``)."""
    return Report(
        query=job.name,
        verdict=job.verdict.outcome.value,
        criterion=job.verdict.criterion,
        projection=job.statement.projection,
        units=job.units,
        units_formula=job.units_formula,
        unplanned=job.unplanned,
        refused=_refused(job.statement),
        reasons=job.verdict.reasons,
        causes=_causes(job),
        published={key: verdict.outcome.value for key, verdict in job.published.items()},
        suggestions=suggested(job) if suggest else (),
        dialect=None if job.dialect == "spark" else job.dialect,
        guessed=job.guessed,
        assumes=assumptions(job.statement),
        final=job.verdict.final or "unknown",
    )


def _causes(job: Decided) -> tuple[Cause, ...]:
    """What the reasons of an unbounded query have in common, if one of its conjunctions has them all."""
    if job.criterion != "exact":
        return ()
    mine = (part for part in job.decision.deciding if part.verdict.reasons == job.verdict.reasons)
    first_part = next(mine, None)
    lacking = (
        () if first_part is None else causes(first_part.query, first_part.verdict, partial(_reread, job))
    )
    return tuple(replace(cause, fix=said(job, cause.fix, cause.added)) for cause in lacking)


def _reread(job: Decided, stamps: Mapping[str, str]) -> Query | None:
    """The query where relations of some names have timestamps; None where its text is no conjunction then."""
    relations = (
        replace(relation, timestamp=stamps.get(relation.name, relation.timestamp))
        for relation in job.catalog.relations
    )
    catalog = replace(job.catalog, relations=tuple(relations))
    try:
        sql = with_views(job.statement.bare or job.sql, job.statement.views)
        return parsed(sql, catalog, job.name, "spark").query
    except StreamboundError:
        return None
