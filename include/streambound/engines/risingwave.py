"""RisingWave, from its documentation and source: nothing of it was run."""

from __future__ import annotations

from streambound.engines.model import DOCUMENTED, INFERRED, Engine, Fact, Keeps, OperatorKind, Rule, Source


def _docs(page: str) -> Source:
    return Source(DOCUMENTED, f"docs.risingwave.com, {page}")


_JOINS, _WATERMARKS = _docs("processing/sql/joins"), _docs("processing/watermarks")
_KEYS = Source(INFERRED, "risingwavelabs/risingwave #3085: a side is keyed by join key and primary key")
_NOT_IN = Source(DOCUMENTED, "risingwavelabs/risingwave #8166, plan of NOT IN, and #4233")
_MESSAGES = "the watermark passes, and its join key gets a message"
_WATERMARK = "the watermark passes"
_NESTED = "Not supported: streaming nested-loop join"

_of = Rule.of

RULES = (
    _of(OperatorKind.LOOKUP, Keeps.NOTHING, _JOINS),
    _of(
        OperatorKind.JOIN,
        Keeps.ROWS,
        _docs("processing/sql/dynamic-filters"),
        Fact.NO_EQUALITY,
        Fact.SCALAR,
        note="a comparison with one aggregate of all rows is a dynamic filter, and keeps all its left input",
    ),
    _of(OperatorKind.JOIN, Keeps.REFUSED, _JOINS, Fact.NO_EQUALITY, error=_NESTED),
    _of(
        OperatorKind.JOIN,
        Keeps.SPAN,
        _JOINS,
        Fact.RANGE,
        unless={Fact.UPDATES, Fact.UNTIMED},
        cleans=_MESSAGES,
        watermarks=True,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.WINDOWS,
        _JOINS,
        Fact.TIME_EQUALITY,
        unless={Fact.UNTIMED},
        cleans=_MESSAGES,
        watermarks=True,
    ),
    _of(OperatorKind.JOIN, Keeps.ROWS, _KEYS),
    *(
        rule
        for kind in (OperatorKind.SEMI, OperatorKind.ANTI)
        for rule in (
            # NOT IN is planned as NOT EXISTS: LeftAnti on the equality.
            _of(kind, Keeps.ROWS, _NOT_IN, Fact.NOT_IN),
            _of(kind, Keeps.REFUSED, _JOINS, Fact.NO_EQUALITY, error=_NESTED),
            _of(
                kind,
                Keeps.SPAN,
                _JOINS,
                Fact.RANGE,
                unless={Fact.UNTIMED},
                cleans=_MESSAGES,
                watermarks=True,
            ),
            _of(kind, Keeps.ROWS, _KEYS),
        )
    ),
    _of(OperatorKind.AS_OF, Keeps.ROWS, _JOINS),
    _of(
        OperatorKind.CLOCK,
        Keeps.SPAN,
        _docs("processing/sql/temporal-filters"),
        cleans="the present time passes",
    ),
    *(
        _of(
            OperatorKind.GROUP,
            Keeps.WINDOWS,
            _WATERMARKS,
            fact,
            unless={Fact.UNTIMED},
            cleans=_WATERMARK,
            watermarks=True,
        )
        for fact in (Fact.WINDOW, Fact.EVENT_TIME, Fact.SESSION)
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.VALUES,
        Source(DOCUMENTED, "risingwavelabs/risingwave #7797: a table of values a column"),
        Fact.VALUES,
    ),
    _of(OperatorKind.GROUP, Keeps.INPUT, Source(INFERRED, "the rows are the value"), Fact.LIST),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        Source(DOCUMENTED, "risingwavelabs/risingwave #22293"),
        Fact.EXTREMUM,
        Fact.UPDATES,
        note="MIN and MAX keep one value of append-only input, else all of it",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        Source(INFERRED, "only date_trunc is documented to carry a watermark on"),
        Fact.TIME_FUNCTION,
        note="a group is cleaned where the function carries the watermark on, as date_trunc does, else never",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, Source(INFERRED, "one row of state a group")),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, Source(INFERRED, "a GROUP BY of all columns")),
    _of(
        OperatorKind.TOP,
        Keeps.INPUT,
        Source(INFERRED, "a row that leaves lets the next in"),
        Fact.UPDATES,
    ),
    _of(OperatorKind.TOP, Keeps.KEYED_ROWS, _docs("processing/sql/top-n-by-group")),
    _of(
        OperatorKind.OVER,
        Keeps.INPUT,
        _docs("processing/emit-on-window-close"),
        note="OVER keeps all rows of a partition; EMIT ON WINDOW CLOSE keeps those of open frames",
    ),
)

ENGINE = Engine(
    "risingwave",
    "RisingWave",
    None,
    RULES,
    "WATERMARK FOR it in its source; without it nothing is cleaned",
    expires=True,
    notes=("what a materialized view stores, its answers, comes on top",),
)
