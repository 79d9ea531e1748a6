"""RisingWave, from its documentation and source: nothing of it was run."""

from __future__ import annotations

from streambound.engines.model import DOCUMENTED, INFERRED, Engine, Fact, Keeps, OperatorKind, Rule, Source


def _docs(page: str) -> Source:
    return Source(DOCUMENTED, f"docs.risingwave.com, {page}")


def _code(what: str) -> Source:
    return Source(DOCUMENTED, f"risingwavelabs/risingwave {what}")


_JOINS = _docs("processing/sql/joins")
_BANDS = _code("#24144, and its plans in planner_test/.../watermark.yaml")
_KEYS = Source(INFERRED, "risingwavelabs/risingwave #3085: a side is keyed by join key and primary key")
_NOT_IN = _code("#8166, plan of NOT IN, and #4233")
_FIRST = _code("3.0, executor/aggregate/hash_agg.rs: only by a watermark of the first column of its table")
_WATERMARK = "the watermark passes"
_BAND = "the watermark passes; before 3.0 only when its join key gets a message"
_CLOSE = _docs("processing/emit-on-window-close")
_DEDUP = _code("#26547: nothing cleans StreamAppendOnlyDedup")
_NO_AGGREGATE = (
    "different rows of append-only input, of GROUP BY without an aggregate or of DISTINCT, are kept for ever,"
    " those of windows as well"
)
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
        Keeps.WINDOWS,
        _JOINS,
        Fact.TIME_EQUALITY,
        unless={Fact.UNTIMED},
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.SPAN,
        _BANDS,
        Fact.RANGE,
        unless={Fact.UPDATES, Fact.UNTIMED},
        cleans=_BAND,
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
                Keeps.WINDOWS,
                _JOINS,
                Fact.TIME_EQUALITY,
                unless={Fact.UNTIMED},
                cleans=_WATERMARK,
                watermarks=True,
            ),
            _of(
                kind,
                Keeps.SPAN,
                _BANDS,
                Fact.RANGE,
                unless={Fact.UNTIMED},
                cleans=_BAND,
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
    _of(
        OperatorKind.GROUP,
        Keeps.DIFFERENT,
        _DEDUP,
        Fact.NO_AGGREGATE,
        unless={Fact.UPDATES},
        note=_NO_AGGREGATE,
    ),
    *(
        _of(
            OperatorKind.GROUP,
            Keeps.WINDOWS,
            source,
            *facts,
            unless={Fact.UNTIMED},
            cleans=_WATERMARK,
            watermarks=True,
        )
        for source, *facts in (
            (_CLOSE, Fact.ON_CLOSE, Fact.WINDOW),
            (_CLOSE, Fact.ON_CLOSE, Fact.EVENT_TIME),
            (_FIRST, Fact.TIME_FIRST),
            (_docs("processing/watermarks"), Fact.SESSION),
        )
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.VALUES,
        _code("#7797: a table of values a column"),
        Fact.VALUES,
    ),
    _of(OperatorKind.GROUP, Keeps.INPUT, Source(INFERRED, "the rows are the value"), Fact.LIST),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        _code("#22293"),
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
    *(
        _of(
            OperatorKind.GROUP,
            Keeps.ACCUMULATORS,
            _FIRST,
            fact,
            unless={Fact.UNTIMED},
            note="a window is cleaned only where it is the first key, so GROUP BY window_start, K; one of HOP"
            " only where no other column is a key; with EMIT ON WINDOW CLOSE always",
        )
        for fact in (Fact.WINDOW, Fact.EVENT_TIME)
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, Source(INFERRED, "one row of state a group")),
    _of(
        OperatorKind.DISTINCT, Keeps.DIFFERENT, _DEDUP, Fact.WINDOW, unless={Fact.UPDATES}, note=_NO_AGGREGATE
    ),
    _of(
        OperatorKind.DISTINCT,
        Keeps.DIFFERENT,
        _DEDUP,
        Fact.EVENT_TIME,
        unless={Fact.UPDATES},
        note=_NO_AGGREGATE,
    ),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _DEDUP, unless={Fact.UPDATES}),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, Source(INFERRED, "a GROUP BY of all columns")),
    _of(
        OperatorKind.TOP,
        Keeps.WINDOWS,
        _code("3.0, executor/top_n/group_top_n.rs: by a watermark of the first column of PARTITION BY"),
        Fact.TIME_FIRST,
        unless={Fact.UNTIMED},
        cleans=_WATERMARK,
        watermarks=True,
    ),
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
        _CLOSE,
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
