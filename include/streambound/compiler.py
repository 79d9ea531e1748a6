"""From SQL to verdict and plan: the stages in order, on one screen.

A query is parsed, decided and planned; what is known after each stage has a type of its own, and each is
done once: what prints a plan, sizes it and runs it has the same object. ``check`` never raises for what a
user wrote: a query that cannot be read is reported as ``invalid``.

>>> from streambound.query.catalog import catalog_from_mapping
>>> catalog = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
>>> report = check("SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19", catalog)
>>> report.verdict, report.units
('bounded', 10)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from streambound.boundedness.causes import Cause, causes
from streambound.boundedness.current_time import reads_present
from streambound.boundedness.reason_codes import REASON_CODES
from streambound.boundedness.statements import Decision, decide
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.errors import DataError, PlanError, QueryError, StreamboundError, UnsupportedError, meant
from streambound.query.catalog import Catalog
from streambound.query.column_types import Family, Value, shown
from streambound.query.expressions.independence import assumptions, derives, independent
from streambound.query.model import Attribute, Kind, NullTest, Query
from streambound.query.parse import read
from streambound.query.statement import Statement
from streambound.storage.partitions import shared_partition_key
from streambound.synopsis.flow import Node, formula_of, units_of
from streambound.synopsis.flow_planner import flow
from streambound.synopsis.planner import AnyPlan
from streambound.synopsis.statement import PlannedPart, planned_parts, require_final, sizing

# What proves and mends a query is loaded for one that is not bounded: a lint starts often, and most are.
# So are the rules of an engine, for one that is asked of it.
if TYPE_CHECKING:
    from streambound.certificate import suggestions as rechecked
    from streambound.certificate.suggestions import Suggestion
    from streambound.engines.model import Fact
    from streambound.engines.state import OnEngine

# Of these a witness can decide; its construction is the same at every size, so a small one is replayed.
OPEN_CODES = ("disjunction", "union-member", "self-join", "search-limit")
CERTIFIED_SIZE = 4

CRITERIA = ("exact", "arasu", "schiff_ozcep")


@dataclass(frozen=True)
class Parsed:
    """A query whose text was read."""

    sql: str
    catalog: Catalog
    name: str
    statement: Statement
    dialect: str
    # The sign by which the dialect was guessed.
    guessed: str | None
    # Which query of a text of several, and the characters of its statement.
    asked: str | None
    span: tuple[int, int]

    @property
    def query(self) -> Query | None:
        """The conjunctive query that the statement is; None for OR and UNION."""
        return self.statement.raw.simple


@dataclass(frozen=True)
class Decided(Parsed):
    """A query with its verdict by a criterion, and what the papers' criteria as printed say, if asked."""

    criterion: str
    decision: Decision
    verdict: Verdict
    published: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Query, ...]:
        """The conjunctions whose answers make the statement's."""
        return tuple(part.query for part in self.decision.parts)


@dataclass(frozen=True)
class Planned(Decided):
    """A query with the plans of its parts, if it is bounded.

    There are none where static values decide their size (``units_formula`` says so), and where a query that
    is decided cannot be evaluated yet (``unplanned`` says why).
    """

    planned_parts: tuple[PlannedPart, ...] = ()
    units_formula: str | None = None
    unplanned: str | None = None
    # What is evaluated of groups, ranks, frames and guards; of others the parts are all there is.
    node: Node | None = None

    @property
    def plans(self) -> tuple[AnyPlan, ...]:
        """The plans of the parts."""
        return tuple(part.plan for part in self.planned_parts)

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        if not self.verdict.bounded or self.unplanned is not None or self.units_formula is not None:
            return None
        return sum(plan.units or 0 for plan in self.plans) if self.node is None else units_of(self.node)


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
        if all(o.relation.kind is Kind.STATIC for o in selection.occurrences):
            raise UnsupportedError(
                "only static relations are queried, so the answer never changes",
                subject=name,
                place=selection.base.occurrences[0].place,
                text=sql,
                fix="add a stream to FROM",
            )
    return Parsed(sql, text.catalog, name, statement, text.dialect, text.guessed, query, text.span)


def published(query: Query | None) -> dict[str, Verdict]:
    """What the papers' criteria as printed say, where they apply: to conjunctions, without NULL."""
    # Loaded here: they are no part of what evaluates a query.
    from streambound.papers import arasu, schiff_ozcep

    if query is None or any(isinstance(atom, NullTest) for atom in query.where):
        return {}
    if any(query.column(a).of or query.column(a).cardinality for a in query.mentioned):
        return {}
    said = {}
    if arasu.applies(query):
        said["arasu"] = arasu.arasu(query)
    if schiff_ozcep.applies(query):
        said[schiff_ozcep.theorem(query)] = schiff_ozcep.schiff_ozcep(query)
    # Past their branch limit the papers' criteria say nothing here; the exact one has no such limit.
    return {key: verdict for key, verdict in said.items() if verdict.outcome is not Outcome.UNKNOWN}


def decided(parsed: Parsed, criterion: str = "exact", compared: bool = False) -> Decided:
    """The verdict of a criterion; if ``compared``, with what the published criteria say."""
    decision = decide(parsed.statement)
    said = published(parsed.query) if compared or criterion != "exact" else {}
    if criterion == "exact":
        verdict = _beside(decision.verdict, said)
    else:
        # Of a query one theorem of a paper can speak: "schiff_ozcep" is asked, "schiff_ozcep_2" has answered.
        mine = (v for key, v in said.items() if key.startswith(criterion))
        verdict = next(mine, None) or _silent(criterion)
        if verdict.outcome is Outcome.NO_VERDICT:
            verdict = replace(verdict, outcome=Outcome.UNKNOWN)
    return Decided(**vars(parsed), criterion=criterion, decision=decision, verdict=verdict, published=said)


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


def certified(job: Decided) -> Decided:
    """UNBOUNDED where a witness of a part holds on the whole statement of which nothing else is known."""
    if job.criterion != "exact" or job.verdict.outcome is not Outcome.UNKNOWN:
        return job
    if job.verdict.reasons[0].code not in OPEN_CODES:
        return job
    if derives(job.statement) and not independent(job.statement):
        # A witness has values of free columns.
        return job
    from streambound.certificate.statements import proved

    verdict = proved(job.statement.raw, job.decision, CERTIFIED_SIZE)
    # What a witness is built for only grows: it is as unbounded where rows are answered once.
    return job if verdict is None else replace(job, verdict=replace(verdict, final=verdict.outcome.value))


def in_mode(job: Decided, mode: str | None) -> Decided:
    """A query with its verdict in a mode of answers, ``changes`` or ``final``; None: in that of the text.

    Raises:
        PlanError: it is bounded in mode changes and cannot be evaluated in mode final.
    """
    statement = job.statement.in_mode(mode)
    if statement.final and (job.verdict.bounded or job.verdict.final in ("bounded", "never-final")):
        require_final(job.name, job.verdict)
        job = replace(job, verdict=replace(job.verdict, outcome=Outcome.BOUNDED))
    return replace(job, statement=statement)


def planned(job: Decided) -> Planned:
    """The compact plan of each part of a bounded query; a formula where static values decide its size."""
    planned_job = Planned(**vars(job))
    if not job.verdict.bounded:
        return planned_job
    if (why := unplanned(job)) is not None:
        return replace(planned_job, unplanned=why)
    if job.statement.plain and not job.decision.operators:
        if sized := [query for query in job.parts if _sized_by_statics(query)]:
            named = dict.fromkeys(str(a) for query in sized for a in query.mentioned if query.is_static(a))
            return replace(
                planned_job, units_formula=f"keys x classes of the static values of {', '.join(named)}"
            )
        # Without tables of its parts it may have a plan as operations.
        with suppress(PlanError):
            parts = planned_parts(job.decision.parts)
            sizes = sizing([part.plan for part in parts])
            return replace(planned_job, planned_parts=parts, units_formula=sizes)
    try:
        if job.statement.final:
            require_final(job.name, job.verdict)
        node = flow(job.statement)
    except PlanError as error:
        if not _planned_with_statics(job.statement):
            # Bounded, but beyond a named limit of the planner: the verdict stands without a size.
            return replace(planned_job, unplanned=error.message)
        names = ", ".join(dict.fromkeys(o.relation.name for o in job.statement.statics))
        return replace(planned_job, units_formula=f"keys x classes of the static values of {names}")
    return replace(planned_job, node=node, units_formula=formula_of(node))


def unplanned(job: Decided) -> str | None:
    """Why a bounded query has no plan, whatever static relations hold; None if it may have one."""
    # Operations on rows of plain streams are planned by what they are.
    operated = job.decision.operators and not job.statement.statics
    decided = job.decision.unplanned if job.statement.plain and not operated else None
    return job.statement.unevaluated or decided


def _planned_with_statics(statement: Statement) -> bool:
    """Whether there is a plan once the values of static relations are known: of any others it is alike."""

    def values(query: Query) -> dict[Attribute, tuple[Value, ...]]:
        texts = [a for a in query.mentioned if query.type_of(a).family is Family.STRING]
        return {a: ("",) if a in texts else (0,) for a in query.mentioned if query.is_static(a)}

    with suppress(PlanError):
        return bool(statement.statics) and flow(statement, values) is not None
    return False


def _sized_by_statics(query: Query) -> bool:
    return bool(query.statics) and (query.ring.idempotent or len(query.streams) > 1)


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
    change = "; ".join(_said(job, edit.words, edit.added) for edit in suggestion.made)
    return replace(suggestion, whole=whole, written=written, change=change)


def _said(job: Parsed, words: str, added: tuple[str, ...]) -> str:
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
    sql = edited_within(job.sql, job.span, job.dialect, [edit.apply for edit in suggestion.made])
    if sql is None:
        return None
    try:
        again = decided(parsed(sql, job.catalog, job.name, job.dialect, job.asked))
    except StreamboundError:
        return None
    return sql if again.verdict.bounded else None


def _again(of: Decided, sql: str, catalog: Catalog) -> rechecked.Decided | None:
    """The stages on an edited text of a query; None if it is refused."""
    from streambound.certificate import suggestions as rechecked

    try:
        job = decided(parsed(_with_views(sql, of.statement.views), catalog, of.name, "spark"))
    except StreamboundError:
        return None
    return rechecked.Decided(job.verdict, partial(_size, job))


def _with_views(sql: str, views: Sequence[str]) -> str:
    if not views:
        return sql
    own = sql[4:].lstrip() if (nested := sql[:5].upper() == "WITH ") else sql
    return f"WITH {', '.join(views)}{', ' if nested else ' '}{own}"


def _size(job: Decided) -> rechecked.Size:
    from streambound.certificate import suggestions as rechecked

    plan = planned(job)
    return rechecked.Size(plan.units, plan.units_formula, plan.unplanned)


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
            body["blockers"] = [_blocker_json(unsupported_error) for unsupported_error in self.error.blockers]
        if self.causes:
            body["causes"] = [_cause_json(cause) for cause in self.causes]
        if self.assumes:
            body["assumes"] = list(self.assumes)
        if self.engine is not None:
            body["engine"] = self.engine.to_json()
        return {**body, **{key: text for key, text in further.items() if text is not None}}


def _blocker_json(unsupported_error: UnsupportedError) -> dict[str, Any]:
    where = (
        None
        if unsupported_error.place is None
        else {"line": unsupported_error.place.line, "column": unsupported_error.place.column}
    )
    return {
        "construct": unsupported_error.construct or unsupported_error.message,
        "message": unsupported_error.message,
        "where": where,
    }


def _cause_json(cause: Cause) -> dict[str, Any]:
    where = None if cause.place is None else {"line": cause.place.line, "column": cause.place.column}
    return {"message": cause.message, "fix": cause.fix, "where": where}


def _reason_json(reason: Reason, projection: str | None) -> dict[str, Any]:
    where = None if reason.place is None else {"line": reason.place.line, "column": reason.place.column}
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
    """The report on a query that cannot be read."""
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
    return tuple(replace(cause, fix=_said(job, cause.fix, cause.added)) for cause in lacking)


def _reread(job: Decided, stamps: Mapping[str, str]) -> Query | None:
    """The query where relations of some names have timestamps; None where its text is no conjunction then."""
    relations = (
        replace(relation, timestamp=stamps.get(relation.name, relation.timestamp))
        for relation in job.catalog.relations
    )
    catalog = replace(job.catalog, relations=tuple(relations))
    try:
        sql = _with_views(job.statement.bare or job.sql, job.statement.views)
        return parsed(sql, catalog, job.name, "spark").query
    except StreamboundError:
        return None
