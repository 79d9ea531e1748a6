"""The verdict on a query: by a criterion, beside the papers', with a witness, in a mode of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.statements import decide
from streambound.compiler.stages import Decided, Parsed
from streambound.plan.tables.statement import require_final
from streambound.query.expressions.independence import derives, independent
from streambound.query.model import NullTest, Query

# Of these a witness can decide; its construction is the same at every size, so a small one is replayed.
OPEN_CODES = ("disjunction", "union-member", "self-join", "search-limit")
CERTIFIED_SIZE = 4


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
