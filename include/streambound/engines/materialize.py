"""Materialize, from its documentation: nothing of it was run. State is arrangements, kept for ever."""

from __future__ import annotations

from streambound.engines.model import DOCUMENTED, Engine, Fact, Keeps, OperatorKind, Rule, Source


def _docs(page: str) -> Source:
    return Source(DOCUMENTED, f"materialize.com/docs, {page}")


_ARRANGEMENTS = _docs("get-started/arrangements")
_PLAN = _docs("sql/explain-plan, operators")
_of = Rule.of

RULES = (
    _of(OperatorKind.JOIN, Keeps.DISTINCT_ROWS, _ARRANGEMENTS),
    _of(OperatorKind.SEMI, Keeps.DISTINCT_ROWS, _ARRANGEMENTS),
    _of(OperatorKind.ANTI, Keeps.DISTINCT_ROWS, _ARRANGEMENTS),
    _of(OperatorKind.CLOCK, Keeps.SPAN, _docs("sql/patterns/temporal-filters"), cleans="mz_now() passes"),
    _of(OperatorKind.GROUP, Keeps.VALUES, _PLAN, Fact.VALUES),
    _of(OperatorKind.GROUP, Keeps.INPUT, _PLAN, Fact.LIST),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        _PLAN,
        Fact.EXTREMUM,
        Fact.UPDATES,
        note="MIN and MAX keep one value of monotonic input, else a hierarchy of all of it",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        _ARRANGEMENTS,
        Fact.EVENT_TIME,
        note="groups of time are never cleaned: only a filter by mz_now() forgets",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        _ARRANGEMENTS,
        Fact.TIME_FUNCTION,
        note="groups of time are never cleaned: only a filter by mz_now() forgets",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _ARRANGEMENTS),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _ARRANGEMENTS),
    _of(OperatorKind.TOP, Keeps.INPUT, _PLAN, Fact.UPDATES),
    _of(OperatorKind.TOP, Keeps.KEYED_ROWS, _PLAN),
    _of(
        OperatorKind.OVER,
        Keeps.INPUT,
        _docs("sql/patterns/window-functions"),
        note="each change of a partition computes all of it again",
    ),
)

ENGINE = Engine(
    "materialize",
    "Materialize",
    None,
    RULES,
    "it has no watermarks",
    expires=True,
    notes=("what a materialized view stores, its answers, comes on top",),
)
