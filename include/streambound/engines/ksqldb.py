"""ksqlDB, from its documentation: nothing of it was run. Much cannot be written in it at all."""

from __future__ import annotations

from streambound.engines.model import DOCUMENTED, Engine, Fact, Keeps, OperatorKind, Rule, Source

_JOINS = Source(DOCUMENTED, "docs.ksqldb.io, Joins in ksqlDB")
_GROUPS = Source(DOCUMENTED, "docs.ksqldb.io, Time and Windows")
_GRACE = "its window and grace period are over"
_of = Rule.of

RULES = (
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _JOINS,
        Fact.NO_EQUALITY,
        error="joins take one equality of two columns",
    ),
    _of(
        OperatorKind.JOIN, Keeps.SPAN, _JOINS, Fact.RANGE, unless={Fact.TABLE}, cleans=_GRACE, watermarks=True
    ),
    _of(OperatorKind.JOIN, Keeps.KEYED_ROWS, _JOINS, Fact.TABLE),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _JOINS,
        error="a join of two streams needs WITHIN",
        note="so a join of two streams that keeps all rows cannot be written",
    ),
    _of(
        OperatorKind.AS_OF,
        Keeps.KEYED_ROWS,
        _JOINS,
        note="a stream is joined with the table as it is then: no row of it waits",
    ),
    *(
        _of(OperatorKind.GROUP, Keeps.WINDOWS, _GROUPS, fact, cleans="its retention is over", watermarks=True)
        for fact in (Fact.WINDOW, Fact.SESSION)
    ),
    _of(OperatorKind.GROUP, Keeps.VALUES, _GROUPS, Fact.VALUES),
    _of(OperatorKind.GROUP, Keeps.INPUT, _GROUPS, Fact.LIST),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        _GROUPS,
        Fact.TIME_FUNCTION,
        note="a function of the time is no window: its groups are never cleaned, those of WINDOW are",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _GROUPS),
)

ENGINE = Engine(
    "ksqldb",
    "ksqlDB",
    None,
    RULES,
    "the time of a record, with GRACE PERIOD",
    infers=False,
)
