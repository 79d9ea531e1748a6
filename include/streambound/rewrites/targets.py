"""What decides the form of a rewrite: which operators an engine chains, and what each of them keeps.

Only what tells the forms apart is here, each with where it was seen; docs/rewrites.md has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.dialects.dialect import Dialect

from streambound.errors import QueryError, meant
from streambound.query.dialects.languages import LANGUAGES


@dataclass(frozen=True)
class Target:
    """An engine, as far as rewrites depend on it.

    ``chained``: an aggregate may stand below a join or another one. ``theta``: a join needs no equality.
    ``merging``: a join keeps equal rows once, with a count. ``generating``: rows that a function makes of one
    row keep nothing. ``running``: a window function over all earlier rows keeps one value a partition.
    ``watermarked``: what a time bounds goes with the watermark. ``windowing``: groups go with windows that a
    function of the table makes, not with other times in their key. ``single_time``: what a join reads has
    one time with a watermark at most, so only two streams are joined within windows. ``program``: there is
    one for it (see ``program``). ``unwritable`` says why no single statement keeps the bound there.
    """

    name: str
    title: str
    language: str
    chained: bool = True
    theta: bool = True
    merging: bool = False
    generating: bool = False
    running: bool = False
    watermarked: bool = False
    windowing: bool = False
    single_time: bool = False
    program: bool = False
    unwritable: str | None = None

    @property
    def dialect(self) -> Dialect:
        """The dialect that its SQL is printed in."""
        return LANGUAGES[self.language].dialect

    @property
    def fold(self) -> str | None:
        """How it folds names without quotes: ``lower``, ``upper``, or not at all."""
        return LANGUAGES[self.language].fold


TARGETS = {
    item.name: item
    for item in (
        # Spark 4.3 (measured): "possible 'correctness' issue" for an aggregate below a join
        # or another one; "join without equality predicate is not supported"; explode keeps nothing; no OVER;
        # MULTIPLE_EVENT_TIME_COLUMNS for a join of a join with two of them.
        Target(
            "spark",
            "Spark Structured Streaming",
            "spark",
            chained=False,
            theta=False,
            generating=True,
            watermarked=True,
            single_time=True,
            program=True,
        ),
        # Flink 2.3 (measured): MapState<row, count> of a join input without key; a constant UNNEST is a join
        # that keeps every row; OVER RANGE UNBOUNDED PRECEDING keeps an accumulator a partition.
        Target("flink", "Flink SQL", "flink", merging=True, running=True, watermarked=True, windowing=True),
        # "Not supported: streaming nested-loop join" (docs.risingwave.com); generate_series is a ProjectSet.
        Target("risingwave", "RisingWave", "risingwave", theta=False, generating=True),
        # An arrangement is consolidated: one record for equal rows (materialize.com/docs, arrangements).
        Target("materialize", "Materialize", "materialize", merging=True),
        Target("feldera", "Feldera", "feldera"),
        Target(
            "ksqldb",
            "ksqlDB",
            "ksql",
            unwritable="a statement of ksqlDB has neither sub-queries nor UNION ALL, and its joins of streams"
            " need WITHIN",
        ),
    )
}


def target(name: str) -> Target:
    """The engine of a name.

    Raises:
        QueryError: there is none.
    """
    if name.lower() not in TARGETS:
        raise QueryError(
            f"there are no rewrites for {name}", accepted=", ".join(TARGETS), fix=meant(name, TARGETS)
        )
    return TARGETS[name.lower()]
