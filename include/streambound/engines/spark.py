"""Spark Structured Streaming 4.3, as measured with PySpark 4.3.0: ``tests/engines/test_spark.py`` runs it.

Output modes change what is kept and refused, so each rule may ask for one. ``Dataset.dropDuplicates`` is an
operator of its own; ``SELECT DISTINCT`` of SQL is a GROUP BY without aggregates.
"""

from __future__ import annotations

from streambound.engines.model import INFERRED, MEASURED, Engine, Fact, Keeps, OperatorKind, Rule, Source

_MEASURED = Source(MEASURED, "PySpark 4.3.0, local[2], Trigger.AvailableNow; docs/engines.md")
_WATERMARK = "the watermark passes"
# What Spark 4.3 has no other name for yet.
_LEGACY_ERROR = "AnalysisException _LEGACY_ERROR_TEMP_3102"
_CORRECTNESS = _LEGACY_ERROR + ": possible 'correctness' issue due to global watermark"
_ORDERED = "AnalysisException NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING"
_NO_EQUALITY = (
    "StreamingQueryException STREAM_FAILED: Stream-stream join without equality predicate is not supported"
)
_MODE = "AnalysisException STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
_LATE = "the refusal comes with the first batch only: no check of the plan finds it"
_LISTS = "the number of rows of state stays the same: its values grow, see memoryUsedBytes"
_COMPLETE = "in complete mode windows are never cleaned, watermark or not"

_of = Rule.of

RULES = (
    # The mode itself.
    _of(
        OperatorKind.ANSWER,
        Keeps.REFUSED,
        _MEASURED,
        Fact.COMPLETE,
        unless={Fact.ABOVE_AGGREGATE, Fact.ABOVE_DISTINCT},
        error=_MODE + ": complete is not supported for no streaming aggregations",
    ),
    _of(
        OperatorKind.ANSWER,
        Keeps.REFUSED,
        _MEASURED,
        Fact.COMPLETE,
        Fact.DEDUPLICATION,
        unless={Fact.ABOVE_AGGREGATE},
        error=_MODE + ": complete is not supported for no streaming aggregations",
    ),
    # Joins.
    _of(OperatorKind.LOOKUP, Keeps.NOTHING, _MEASURED),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _MEASURED,
        Fact.STATIC_KEPT,
        error=_LEGACY_ERROR + ": outer join with a streaming DataFrame/Dataset on the right and a static"
        " DataFrame/Dataset on the left is not supported",
    ),
    _of(OperatorKind.JOIN, Keeps.NOTHING, _MEASURED, Fact.STATIC),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _MEASURED,
        Fact.COMPLETE,
        error=_LEGACY_ERROR
        + ": join between two streaming DataFrames/Datasets is not supported in Complete output mode",
    ),
    _of(OperatorKind.JOIN, Keeps.REFUSED, _MEASURED, Fact.ABOVE_AGGREGATE, Fact.UPDATE, error=_CORRECTNESS),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _MEASURED,
        Fact.ABOVE_DISTINCT,
        Fact.UPDATE,
        unless={Fact.DEDUPLICATION},
        error=_CORRECTNESS,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _MEASURED,
        Fact.OUTER,
        Fact.UPDATE,
        error=_LEGACY_ERROR
        + ": outer join is not supported in Update output mode, only in Append output mode",
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.REFUSED,
        _MEASURED,
        Fact.OUTER,
        unless={Fact.RANGE},
        error=_LEGACY_ERROR
        + ": outer join is not supported without a watermark in the join keys, or a watermark on the"
        " nullable side and an appropriate range condition",
    ),
    _of(OperatorKind.JOIN, Keeps.REFUSED, _MEASURED, Fact.NO_EQUALITY, error=_NO_EQUALITY, note=_LATE),
    _of(OperatorKind.JOIN, Keeps.SPAN, _MEASURED, Fact.RANGE, cleans=_WATERMARK, watermarks=True),
    _of(
        OperatorKind.JOIN,
        Keeps.ROWS,
        _MEASURED,
        Fact.ONE_SIDED,
        note="a range with one end cleans one side of the join: all rows of the other stay",
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.ROWS,
        _MEASURED,
        Fact.PLAIN_RANGE,
        note="the range of times cleans nothing: its columns have no watermarks, withWatermark makes them",
    ),
    _of(OperatorKind.JOIN, Keeps.ROWS, _MEASURED),
    *(_of(kind, Keeps.NOTHING, _MEASURED, Fact.STATIC) for kind in (OperatorKind.SEMI, OperatorKind.ANTI)),
    *(
        _of(
            kind,
            Keeps.REFUSED,
            _MEASURED,
            unless={Fact.DATAFRAME, Fact.AS_JOIN},
            error="AnalysisException INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY",
            note="a sub-query of a stream is refused: LEFT SEMI JOIN is not, within a range of event times",
        )
        for kind in (OperatorKind.SEMI, OperatorKind.ANTI)
    ),
    _of(
        OperatorKind.SEMI,
        Keeps.SPAN,
        Source(INFERRED, "as an inner join; that it starts was measured"),
        Fact.RANGE,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.SEMI,
        Keeps.REFUSED,
        _MEASURED,
        error=_LEGACY_ERROR
        + ": LeftSemi join is not supported without a watermark in the join keys, or a watermark on"
        " the nullable side and an appropriate range condition",
    ),
    _of(
        OperatorKind.ANTI,
        Keeps.REFUSED,
        _MEASURED,
        error=_LEGACY_ERROR
        + ": LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported",
    ),
    # Groups.
    _of(
        OperatorKind.GROUP,
        Keeps.REFUSED,
        _MEASURED,
        Fact.APPEND,
        unless={Fact.WINDOW, Fact.SESSION, Fact.EVENT_TIME},
        error=_MODE + ": append is not supported for streaming aggregations without watermark",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.REFUSED,
        _MEASURED,
        Fact.VALUES,
        error=_LEGACY_ERROR + ": Distinct aggregations are not supported on streaming DataFrames/Datasets",
        note="approx_count_distinct keeps a sketch of fixed size in place of all values",
    ),
    *(
        _of(OperatorKind.GROUP, Keeps.REFUSED, _MEASURED, Fact.ABOVE_AGGREGATE, mode, error=_CORRECTNESS)
        for mode in (Fact.UPDATE, Fact.COMPLETE)
    ),
    *(
        _of(
            OperatorKind.GROUP,
            Keeps.REFUSED,
            _MEASURED,
            Fact.ABOVE_DISTINCT,
            mode,
            unless={Fact.DEDUPLICATION},
            error=_CORRECTNESS,
        )
        for mode in (Fact.UPDATE, Fact.COMPLETE)
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.REFUSED,
        _MEASURED,
        Fact.SESSION,
        Fact.UPDATE,
        error=_MODE + ": update is not supported for session window streaming aggregations",
    ),
    _of(OperatorKind.GROUP, Keeps.INPUT, _MEASURED, Fact.COMPLETE, Fact.SESSION, note=_COMPLETE),
    _of(OperatorKind.GROUP, Keeps.INPUT, _MEASURED, Fact.COMPLETE, Fact.LIST, note=_LISTS),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _MEASURED, Fact.COMPLETE, Fact.WINDOW, note=_COMPLETE),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _MEASURED, Fact.COMPLETE),
    *(
        _of(OperatorKind.GROUP, Keeps.WINDOWS, _MEASURED, fact, cleans=_WATERMARK, watermarks=True)
        for fact in (Fact.WINDOW, Fact.SESSION, Fact.EVENT_TIME)
    ),
    _of(OperatorKind.GROUP, Keeps.INPUT, _MEASURED, Fact.LIST, note=_LISTS),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        _MEASURED,
        Fact.TIME_FUNCTION,
        note="a function of the event time is no window: its groups are never cleaned, those of window() are",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _MEASURED),
    # DISTINCT of SQL, and dropDuplicates.
    _of(
        OperatorKind.DISTINCT,
        Keeps.SPAN,
        _MEASURED,
        Fact.DEDUPLICATION,
        Fact.EVENT_TIME,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _MEASURED, Fact.DEDUPLICATION),
    _of(
        OperatorKind.DISTINCT,
        Keeps.REFUSED,
        _MEASURED,
        Fact.APPEND,
        unless={Fact.WHOLE_WINDOW, Fact.EVENT_TIME},
        error=_MODE + ": append is not supported for streaming aggregations without watermark",
        note="DISTINCT of the start or end of a window has no watermark; that of window() itself has one",
    ),
    *(
        _of(OperatorKind.DISTINCT, Keeps.REFUSED, _MEASURED, fact, mode, error=_CORRECTNESS)
        for fact in (Fact.ABOVE_AGGREGATE, Fact.ABOVE_DISTINCT)
        for mode in (Fact.UPDATE, Fact.COMPLETE)
    ),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _MEASURED, Fact.COMPLETE),
    *(
        _of(OperatorKind.DISTINCT, Keeps.WINDOWS, _MEASURED, fact, cleans=_WATERMARK, watermarks=True)
        for fact in (Fact.EVENT_TIME, Fact.WHOLE_WINDOW)
    ),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _MEASURED),
    # Order.
    *(
        _of(
            OperatorKind.TOP,
            Keeps.SPAN,
            _MEASURED,
            *(Fact.DEDUPLICATION, Fact.FIRST, Fact.UNORDERED, fact),
            cleans=_WATERMARK,
            watermarks=True,
        )
        for fact in (Fact.EVENT_TIME, Fact.WINDOW)
    ),
    _of(OperatorKind.TOP, Keeps.KEYED_ROWS, _MEASURED, Fact.DEDUPLICATION, Fact.FIRST, Fact.UNORDERED),
    _of(OperatorKind.TOP, Keeps.KEYED_ROWS, _MEASURED, Fact.LIMIT, Fact.UNORDERED, Fact.APPEND),
    _of(
        OperatorKind.TOP,
        Keeps.REFUSED,
        _MEASURED,
        Fact.LIMIT,
        Fact.UNORDERED,
        error=_LEGACY_ERROR
        + ": Limits are not supported on streaming DataFrames/Datasets in Update output mode",
    ),
    _of(
        OperatorKind.TOP,
        Keeps.REFUSED,
        _MEASURED,
        Fact.LIMIT,
        error=_LEGACY_ERROR
        + ": Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated"
        " DataFrame/Dataset in Complete output mode",
    ),
    _of(OperatorKind.TOP, Keeps.REFUSED, _MEASURED, error=_ORDERED),
    _of(OperatorKind.SORT, Keeps.NOTHING, _MEASURED, Fact.COMPLETE),
    _of(
        OperatorKind.SORT,
        Keeps.REFUSED,
        _MEASURED,
        error=_LEGACY_ERROR
        + ": Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated"
        " DataFrame/Dataset in Complete output mode",
    ),
    _of(OperatorKind.OVER, Keeps.REFUSED, _MEASURED, error=_ORDERED),
)

ENGINE = Engine(
    "spark",
    "Spark",
    "4.3",
    RULES,
    "withWatermark on its stream; without it nothing is cleaned",
    modes=(Fact.APPEND, Fact.UPDATE, Fact.COMPLETE),
)
