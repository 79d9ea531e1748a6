"""Flink SQL 2.3: checkpoints of 2.3.0 were measured with default options; the rest is its documentation."""

from __future__ import annotations

from streambound.engines.model import (
    DOCUMENTED,
    INFERRED,
    MEASURED,
    Engine,
    Fact,
    Keeps,
    OperatorKind,
    Rule,
    Source,
)

_MEASURED = Source(MEASURED, "apache-flink 2.3.0, size of full checkpoints; docs/engines.md")
_JOINS = Source(DOCUMENTED, "Flink documentation, Table API & SQL, Queries, Joins")
_WINDOWS = Source(DOCUMENTED, "Flink documentation, Window Aggregation")
_SORTS = Source(DOCUMENTED, "Flink documentation, ORDER BY clause: ascending by a time attribute first")
_WATERMARK = "the watermark passes"
_TTL = "only by table.exec.state.ttl, which loses matches"

_EXPLAINED = Source(MEASURED, "EXPLAIN of apache-flink 2.3.0")
_UNTIMED = (
    "a regular join makes plain timestamps of time attributes: no interval or window above it is cleaned"
)

_of = Rule.of

RULES = (
    _of(OperatorKind.LOOKUP, Keeps.NOTHING, _JOINS),
    # Joins. An interval is one equality of time attributes, or one lower and one upper bound
    # (IntervalJoinUtil.extractWindowBoundsFromPredicate); any other is a regular join.
    _of(
        OperatorKind.JOIN,
        Keeps.WINDOWS,
        Source(DOCUMENTED, "Flink documentation, Window Join"),
        Fact.WINDOWS,
        unless={Fact.UNTIMED},
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.SPAN,
        _MEASURED,
        Fact.RANGE,
        Fact.BOUNDS,
        unless={Fact.UPDATES, Fact.UNTIMED},
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.DISTINCT_ROWS,
        _EXPLAINED,
        Fact.RANGE,
        Fact.UNTIMED,
        cleans=_TTL,
        note=_UNTIMED,
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.DISTINCT_ROWS,
        _MEASURED,
        Fact.PLAIN_RANGE,
        cleans=_TTL,
        note="the range of times makes no interval join: its columns are plain timestamps, no time"
        " attributes, so it is a regular join without a word",
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.DISTINCT_ROWS,
        Source(DOCUMENTED, "Flink source, IntervalJoinUtil.extractWindowBoundsFromPredicate"),
        Fact.RANGE,
        cleans=_TTL,
        note="the range of times makes no interval join: that takes insert-only inputs, and of the time"
        " attributes one equality or exactly two bounds; a window join takes both ends of equal windows",
    ),
    _of(
        OperatorKind.JOIN,
        Keeps.DISTINCT_ROWS,
        _MEASURED,
        Fact.NO_EQUALITY,
        cleans=_TTL,
        note="without an equality the join runs as one task, and compares each row with all that are kept",
    ),
    _of(OperatorKind.JOIN, Keeps.DISTINCT_ROWS, _MEASURED, cleans=_TTL),
    _of(OperatorKind.SEMI, Keeps.DISTINCT_ROWS, _MEASURED, cleans=_TTL),
    _of(OperatorKind.ANTI, Keeps.DISTINCT_ROWS, _JOINS, cleans=_TTL),
    _of(
        OperatorKind.AS_OF,
        Keeps.VERSIONS,
        _MEASURED,
        cleans="older versions when the watermark passes",
        watermarks=True,
        note="a filter on the left of a temporal join is not pushed below it: put it in a sub-query",
    ),
    _of(
        OperatorKind.CLOCK,
        Keeps.NOTHING,
        Source(DOCUMENTED, "Flink documentation, Determinism in Continuous Queries"),
        note="NOW() is read once a row, when it comes: nothing is taken back when the condition ends",
    ),
    # Groups.
    _of(OperatorKind.GROUP, Keeps.WINDOWS, _WINDOWS, Fact.SESSION, cleans=_WATERMARK, watermarks=True),
    _of(OperatorKind.GROUP, Keeps.WINDOWS, _MEASURED, Fact.GROUP_WINDOW, cleans=_WATERMARK, watermarks=True),
    _of(
        OperatorKind.GROUP,
        Keeps.WINDOWS,
        _MEASURED,
        Fact.WINDOW,
        Fact.BOTH_ENDS,
        unless={Fact.UNTIMED},
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.VALUES,
        _MEASURED,
        Fact.VALUES,
        cleans=_TTL,
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        Source(INFERRED, "the value itself is the accumulator"),
        Fact.LIST,
        cleans=_TTL,
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.INPUT,
        _EXPLAINED,
        Fact.EXTREMUM,
        Fact.UPDATES,
        unless={Fact.MONOTONE},
        cleans=_TTL,
        note="of rows that are taken back MIN and MAX keep every value that is there, MAX of a number of rows"
        " one",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        _WINDOWS,
        Fact.WINDOW,
        cleans=_TTL,
        note="a window is cleaned only where window_start and window_end are both keys, and no regular join"
        " stands between",
    ),
    _of(
        OperatorKind.GROUP,
        Keeps.ACCUMULATORS,
        Source(INFERRED, "a GROUP BY as any other"),
        Fact.TIME_FUNCTION,
        cleans=_TTL,
        note="a function of the event time is no window: its groups are never cleaned, those of TUMBLE are",
    ),
    _of(OperatorKind.GROUP, Keeps.ACCUMULATORS, _MEASURED, cleans=_TTL),
    _of(
        OperatorKind.DISTINCT,
        Keeps.WINDOWS,
        Source(MEASURED, "EXPLAIN of apache-flink 2.3.0: a window aggregate"),
        Fact.WINDOW,
        Fact.BOTH_ENDS,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(OperatorKind.DISTINCT, Keeps.DIFFERENT, _MEASURED, cleans=_TTL),
    # Ranks and frames.
    _of(
        OperatorKind.TOP,
        Keeps.REFUSED,
        Source(DOCUMENTED, "Flink documentation, Top-N"),
        Fact.BEYOND,
        error="TableException: Rank end is not specified",
    ),
    _of(
        OperatorKind.TOP,
        Keeps.REFUSED,
        Source(DOCUMENTED, "Flink documentation, Top-N"),
        Fact.RANK,
        error="TableException: RANK() on streaming table is not supported currently",
    ),
    _of(
        OperatorKind.TOP,
        Keeps.WINDOWS,
        Source(DOCUMENTED, "Flink documentation, Window Top-N"),
        Fact.WINDOW,
        Fact.BOTH_ENDS,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.TOP,
        Keeps.INPUT,
        _EXPLAINED,
        Fact.UPDATES,
        unless={Fact.MONOTONE},
        cleans=_TTL,
        note="of rows that are taken back top-n keeps all of a partition: one that leaves lets the next in",
    ),
    _of(
        OperatorKind.TOP,
        Keeps.KEYED_ROWS,
        Source(DOCUMENTED, "Flink documentation, Window Top-N"),
        Fact.WINDOW,
        cleans=_TTL,
        note="top-n goes with its windows only where PARTITION BY has both window_start and window_end",
    ),
    _of(OperatorKind.TOP, Keeps.KEYED_ROWS, _MEASURED, cleans=_TTL),
    _of(
        OperatorKind.SORT,
        Keeps.SPAN,
        _SORTS,
        Fact.TIME_ORDER,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.SORT,
        Keeps.REFUSED,
        _SORTS,
        error="TableException: Sort on a non-time-attribute field is not supported",
    ),
    *(
        _of(
            OperatorKind.OVER,
            Keeps.REFUSED,
            _EXPLAINED,
            Fact.BOUNDED,
            *when,
            unless={Fact.NEIGHBOUR, *unless},
            error="TableException: Non-time attribute sort is not supported for bounded OVER window",
        )
        for when, unless in (((), (Fact.TIME_ORDER,)), ((Fact.UNTIMED,), ()))
    ),
    *(
        _of(
            OperatorKind.OVER,
            Keeps.INPUT,
            Source(DOCUMENTED, "FLINK-19059, non-time OVER aggregates"),
            *when,
            unless={*unless},
            cleans=_TTL,
        )
        for when, unless in (((), (Fact.TIME_ORDER,)), ((Fact.UNTIMED,), ()))
    ),
    _of(
        OperatorKind.OVER,
        Keeps.REFUSED,
        _EXPLAINED,
        Fact.UPDATES,
        Fact.BOUNDED,
        unless={Fact.BY_RANGE, Fact.NEIGHBOUR},
        error="TableException: StreamPhysicalOverAggregate doesn't support consuming update and delete"
        " changes",
    ),
    _of(
        OperatorKind.OVER,
        Keeps.SPAN,
        Source(DOCUMENTED, "Flink documentation, Over Aggregation"),
        Fact.BOUNDED,
        Fact.BY_RANGE,
        cleans=_WATERMARK,
        watermarks=True,
    ),
    _of(
        OperatorKind.OVER,
        Keeps.KEYED_ROWS,
        Source(DOCUMENTED, "Flink documentation, Over Aggregation"),
        Fact.BOUNDED,
        cleans=_TTL,
        watermarks=True,
    ),
    _of(OperatorKind.OVER, Keeps.ACCUMULATORS, _MEASURED, cleans=_TTL, watermarks=True),
)

ENGINE = Engine(
    "flink",
    "Flink",
    "2.3",
    RULES,
    "WATERMARK FOR it in its table; without it it is a plain timestamp",
    notes=(
        "table.exec.state.ttl caps the state by processing time and loses what it needs: measured, a COUNT of"
        " 2,789,098 matches became 99,461 with 5 s, without a word",
    ),
)
