"""Feldera, from its documentation: nothing of it was run. State goes where LATENESS says that it may."""

from __future__ import annotations

from streambound.engines.model import DOCUMENTED, INFERRED, Engine, Fact, Keeps, OperatorKind, Rule, Source

_SERIES = Source(DOCUMENTED, "docs.feldera.com/tutorials/time-series")
_SETS = Source(INFERRED, "a Z-set has a weight a row: equal rows are one")
_WATERLINE = "the waterline passes"
_of = Rule.of

RULES = (
    _of(
        OperatorKind.JOIN,
        Keeps.SPAN,
        _SERIES,
        Fact.TIME_EQUALITY,
        unless={Fact.UNTIMED},
        cleans=_WATERLINE,
        watermarks=True,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.DISTINCT_ROWS,
        _SERIES,
        Fact.RANGE,
        note="a join is cleaned where columns with LATENESS are equal; no page says so of a range of them",
    ),
    _of(OperatorKind.JOIN, Keeps.DISTINCT_ROWS, _SERIES),
    *(
        rule
        for kind in (OperatorKind.SEMI, OperatorKind.ANTI)
        for rule in (
            _of(
                kind,
                Keeps.SPAN,
                _SERIES,
                Fact.TIME_EQUALITY,
                unless={Fact.UNTIMED},
                cleans=_WATERLINE,
                watermarks=True,
            ),
            _of(kind, Keeps.DISTINCT_ROWS, _SETS),
        )
    ),
    _of(
        OperatorKind.AS_OF, Keeps.VERSIONS, _SERIES, unless={Fact.UNTIMED}, cleans=_WATERLINE, watermarks=True
    ),
    _of(OperatorKind.CLOCK, Keeps.SPAN, _SERIES, cleans="NOW() passes"),
    *(
        _of(
            OperatorKind.GROUP,
            Keeps.WINDOWS,
            _SERIES,
            fact,
            unless={Fact.UNTIMED},
            cleans=_WATERLINE,
            watermarks=True,
        )
        for fact in (Fact.WINDOW, Fact.EVENT_TIME, Fact.TIME_FUNCTION)
    ),
    _of(OperatorKind.GROUP, Keeps.VALUES, _SETS, Fact.VALUES),
    _of(OperatorKind.GROUP, Keeps.INPUT, _SETS, Fact.LIST),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        _SERIES,
        Fact.EXTREMUM,
        note="MIN and MAX keep the whole input, but one value a group of a table with 'append_only' = 'true'",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _SERIES),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _SETS),
    _of(OperatorKind.TOP, Keeps.INPUT, _SETS),
    _of(
        OperatorKind.OVER,
        Keeps.SPAN,
        _SERIES,
        Fact.TIME_ORDER,
        Fact.BOUNDED,
        Fact.BY_RANGE,
        unless={Fact.UNTIMED},
        cleans=_WATERLINE,
        watermarks=True,
    ),
    _of(
        OperatorKind.OVER,
        Keeps.INPUT,
        _SERIES,
        note="LAG, LEAD and ranks are not cleaned: a rolling aggregate is",
    ),
)

ENGINE = Engine(
    "feldera",
    "Feldera",
    None,
    RULES,
    "LATENESS on it in its table; without it nothing is cleaned",
    infers=False,
    expires=True,
    notes=("materialized tables and views, and tables with a primary key, are never cleaned",),
)
