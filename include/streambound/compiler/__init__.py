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

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.statements import Decision, decide
from streambound.errors import PlanError, QueryError, UnsupportedError, meant
from streambound.plan.flow import Node, formula_of, units_of
from streambound.plan.model import Plan
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.statement import planned_parts, require_final, sizing
from streambound.plan.trees.flow_planner import flow
from streambound.query.catalog import Catalog
from streambound.query.column_types import Family, Value, shown
from streambound.query.expressions.independence import derives, independent
from streambound.query.model import Attribute, NullTest, Query
from streambound.query.parse import read
from streambound.query.statement import Statement

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
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the parts."""
        return tuple(part.plan for part in self.planned_parts)

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        if not self.verdict.bounded or self.unplanned is not None or self.units_formula is not None:
            return None
        return sum(plan.max_units or 0 for plan in self.plans) if self.node is None else units_of(self.node)


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
