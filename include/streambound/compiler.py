"""From SQL to verdict and plan: the stages in order, on one screen.

Every stage takes the ``Compilation`` so far and returns it with one field more; a stage that does
not apply (no plan for an unbounded query) returns it as it came. ``check`` never raises for what a
user wrote: a query that cannot be read is reported as ``invalid``.

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
from typing import Any

from streambound.boundedness.codes import CODES
from streambound.boundedness.statements import Decision, decide
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.certificate import suggestions as rechecked
from streambound.certificate.statements import proved
from streambound.certificate.suggestions import Suggestion
from streambound.errors import DataError, PlanError, QueryError, StreamboundError, UnsupportedError, meant
from streambound.query.catalog import Catalog
from streambound.query.model import NullTest, Query
from streambound.query.parse import statement
from streambound.query.partitions import one_key
from streambound.query.statement import Statement
from streambound.query.values import shown
from streambound.synopsis.planner import AnyPlan
from streambound.synopsis.statement import plans_of, sizing

# Of these a witness can decide; its construction is the same at every size, so a small one is replayed.
OPEN_CODES = ("disjunction", "union-member", "self-join", "search-limit")
CERTIFIED_SIZE = 4

CRITERIA = ("exact", "arasu", "schiff_ozcep")


@dataclass(frozen=True)
class Compilation:
    """What is known of a query after some stages."""

    sql: str
    catalog: Catalog
    name: str
    criterion: str = "exact"
    statement: Statement | None = None
    decision: Decision | None = None
    verdict: Verdict | None = None
    published: dict[str, Verdict] = field(default_factory=dict)
    plans: tuple[AnyPlan, ...] = ()
    units_formula: str | None = None
    unplanned: str | None = None

    @property
    def query(self) -> Query | None:
        """The conjunctive query that the statement is; None before it is parsed, and for OR and UNION."""
        return None if self.statement is None else self.statement.simple

    @property
    def parts(self) -> tuple[Query, ...]:
        """The conjunctions whose answers make the statement's; none before it is decided."""
        return () if self.decision is None else tuple(part.query for part in self.decision.parts)

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        decided = self.verdict is not None and self.verdict.bounded and self.unplanned is None
        planned = decided and len(self.plans) == len(self.parts)
        sizes = [plan.units for plan in self.plans]
        known = [size for size in sizes if size is not None]
        return sum(known) if planned and len(known) == len(sizes) else None


def parsed(job: Compilation) -> Compilation:
    """SQL text to the query model."""
    found = statement(job.sql, job.catalog, job.name)
    for selection in found.selections:
        if not selection.base.arriving:
            raise UnsupportedError(
                "only static relations are queried, so the answer never changes",
                subject=job.name,
                place=selection.base.occurrences[0].place,
                text=job.sql,
                fix="add a stream to FROM",
            )
    return replace(job, statement=found)


def published(job: Compilation) -> Compilation:
    """What the papers' criteria as printed say, where they apply: to conjunctions, without NULL."""
    # Loaded here: they are no part of what evaluates a query.
    from streambound.papers import arasu, schiff_ozcep

    query = job.query
    if query is None or any(isinstance(atom, NullTest) for atom in query.where):
        return job
    said = {}
    if arasu.applies(query):
        said["arasu"] = arasu.arasu(query)
    if schiff_ozcep.applies(query):
        said[schiff_ozcep.theorem(query)] = schiff_ozcep.schiff_ozcep(query)
    # Past their branch limit the papers' criteria say nothing here; the exact one has no such limit.
    known = {key: verdict for key, verdict in said.items() if verdict.outcome is not Outcome.UNKNOWN}
    return replace(job, published=known)


def decided(job: Compilation) -> Compilation:
    """The verdict of the chosen criterion."""
    assert job.statement is not None
    decision = decide(job.statement)
    job = replace(job, decision=decision)
    if job.criterion == "exact":
        return replace(job, verdict=_beside(decision.verdict, job.published))
    # Of a query one theorem of a paper can speak: "schiff_ozcep" is asked, "schiff_ozcep_2" has answered.
    said = (verdict for key, verdict in job.published.items() if key.startswith(job.criterion))
    verdict = next(said, None) or _silent(job.criterion)
    if verdict.outcome is Outcome.NO_VERDICT:
        verdict = replace(verdict, outcome=Outcome.UNKNOWN)
    return replace(job, verdict=verdict)


def _beside(verdict: Verdict, published: Mapping[str, Verdict]) -> Verdict:
    """An unbounded verdict that says so where Theorem 2 as printed calls the query bounded."""
    second = published.get("schiff_ozcep_2")
    if verdict.outcome is not Outcome.UNBOUNDED or second is None or not second.bounded:
        return verdict
    first, *rest = verdict.reasons
    printed = "Theorem 2 of Schiff & Özçep as printed calls the query bounded, but is not sound"
    message = f"{first.message} ({printed})"
    return replace(verdict, reasons=(replace(first, message=message), *rest))


def _silent(criterion: str) -> Verdict:
    reason = Reason("not-applicable", f"the query is outside the class that {criterion} speaks of")
    return Verdict(Outcome.UNKNOWN, criterion, (reason,))


def certified(job: Compilation) -> Compilation:
    """UNBOUNDED where a witness of a part holds on the whole statement of which nothing else is known."""
    assert job.statement is not None and job.decision is not None and job.verdict is not None
    if job.criterion != "exact" or job.verdict.outcome is not Outcome.UNKNOWN:
        return job
    if job.verdict.reasons[0].code not in OPEN_CODES:
        return job
    verdict = proved(job.statement, job.decision, CERTIFIED_SIZE)
    return job if verdict is None else replace(job, verdict=verdict)


def planned(job: Compilation) -> Compilation:
    """The compact plan of each part of a bounded query; a formula where static values decide its size.

    A query that is decided but cannot be evaluated yet says why in ``unplanned``.
    """
    assert job.decision is not None and job.verdict is not None
    if not job.verdict.bounded:
        return job
    if job.decision.unplanned is not None:
        return replace(job, unplanned=job.decision.unplanned)
    if sized := [query for query in job.parts if _sized_by_statics(query)]:
        named = dict.fromkeys(str(a) for query in sized for a in query.mentioned if query.is_static(a))
        return replace(job, units_formula=f"keys x classes of the static values of {', '.join(named)}")
    try:
        plans = plans_of(job.decision.parts)
    except PlanError as error:
        # Bounded, but beyond a named limit of the planner: the verdict stands without a size.
        return replace(job, unplanned=error.message)
    return replace(job, plans=plans, units_formula=sizing(plans))


def _sized_by_statics(query: Query) -> bool:
    return bool(query.statics) and (query.distinct or len(query.streams) > 1)


def compile(
    sql: str, catalog: Catalog, name: str = "query", criterion: str = "exact", compared: bool = False
) -> Compilation:
    """Run all stages.

    Args:
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
    job = parsed(Compilation(sql, catalog, name, criterion))
    if compared or criterion != "exact":
        job = published(job)
    return planned(certified(decided(job)))


def suggested(job: Compilation) -> tuple[Suggestion, ...]:
    """Bounded variants of a query that is not bounded; the product's own criterion decides them."""
    assert job.statement is not None and job.verdict is not None
    if job.criterion != "exact" or job.verdict.bounded:
        return ()
    return rechecked.suggestions(job.statement, job.verdict, job.catalog, partial(_again, job.name))


def _again(name: str, sql: str, catalog: Catalog) -> rechecked.Decided | None:
    """The stages on an edited text; None if it is refused."""
    try:
        job = decided(parsed(Compilation(sql, catalog, name)))
    except StreamboundError:
        return None
    assert job.verdict is not None
    return rechecked.Decided(job.verdict, partial(_size, job))


def _size(job: Compilation) -> rechecked.Size:
    job = planned(job)
    return rechecked.Size(job.units, job.units_formula, job.unplanned)


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
    published: dict[str, str] = field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()
    error: StreamboundError | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that ``check --format json`` prints."""
        found: dict[str, Any] = {
            "query": self.query,
            "verdict": self.verdict,
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
        return {**found, **{key: text for key, text in further.items() if text is not None}}


def _reason_json(reason: Reason, projection: str | None) -> dict[str, Any]:
    where = None if reason.place is None else {"line": reason.place.line, "column": reason.place.column}
    attributes = [str(attribute) for attribute in reason.attributes]
    found = {"code": reason.code, "message": reason.message, "attributes": attributes, "where": where}
    further = {"criterion": CODES[reason.code].criterion(projection), "branch": reason.branch}
    return {**found, **{key: text for key, text in further.items() if text}}


def _refused(found: Statement) -> str | None:
    try:
        one_key(found)
    except DataError as error:
        return f"{error.message}; {error.fix}"
    return None


def check(
    sql: str, catalog: Catalog, name: str = "query", criterion: str = "exact", suggest: bool = True
) -> Report:
    """The verdict on a query, and why; bad SQL is a verdict, not an exception.

    Args:
        suggest: with bounded variants of a query that is not bounded; they decide some dozens of others.
    """
    try:
        job = compile(sql, catalog, name, criterion, compared=True)
    except StreamboundError as error:
        return Report(name, "invalid", criterion, error=error.about(name))
    assert job.statement is not None and job.verdict is not None
    return Report(
        query=name,
        verdict=job.verdict.outcome.value,
        criterion=job.verdict.criterion,
        projection=job.statement.projection,
        units=job.units,
        units_formula=job.units_formula,
        unplanned=job.unplanned,
        refused=_refused(job.statement),
        reasons=job.verdict.reasons,
        published={key: verdict.outcome.value for key, verdict in job.published.items()},
        suggestions=suggested(job) if suggest else (),
    )
