"""A bounded query as a program of Spark's, where no statement of its SQL keeps the bound.

The program runs the plan itself within ``transformWithState``: what ``streambound run --live`` does, as a
script to keep beside others.
"""

from __future__ import annotations

from streambound.compiler import Planned
from streambound.errors import PlanError
from streambound.plan.tables.statement import not_evaluated
from streambound.query.registry import Mentions

_PROGRAM = '''\
"""{name} on Spark Structured Streaming: the plan keeps {size}.

The state lies in one transformWithState of the query that ``live`` starts; answers are appended to files, and
with ``into`` to a table (docs/live.md of streambound). It needs streambound[spark] and Java.
"""

from dataclasses import replace
from pathlib import Path

from streambound.query.catalog import Catalog, NamedQuery, load_catalog
from streambound.query.registry import RegisteredQuery
from streambound.spark.live.query import Pace, live
from streambound.spark.session import session

OUTPUT = Path("answers")
SQL = {sql}
# The queries that it reads.
QUERIES = ({queries})
# A micro-batch every ten seconds, until the process is stopped.
PACE = Pace(seconds=10)


def main() -> None:
    query = RegisteredQuery({quoted}, SQL, path=Path(__file__), dialect={dialect}, query={asked!r})
    catalog = replace({catalog}, queries=QUERIES)
    with session({quoted}) as spark:
        live(spark, query, catalog, output=OUTPUT, pace=PACE)


if __name__ == "__main__":
    main()
'''


def program(job: Planned) -> str:
    """The text of the program.

    Raises:
        PlanError: the query has no plan that could be run.
    """
    if not job.verdict.bounded:
        raise PlanError(f"the query is {job.verdict.outcome.value}: a program would keep every row")
    if job.unplanned is not None:
        raise not_evaluated(job.name, job.unplanned)
    size = f"at most {job.units:,} units" if job.units is not None else str(job.units_formula)
    return _PROGRAM.format(
        name=job.name.replace("\\", "/").replace('"', "'"),
        size=size,
        # A script may declare all its streams itself.
        catalog=f"load_catalog(Path({job.catalog.source!r}))" if job.catalog.relations else "Catalog(())",
        sql=_literal(job.sql),
        quoted=repr(job.name),
        queries="".join(f"{named_query!r}, " for named_query in Mentions(job.catalog.queries).of(job.sql)),
        dialect=repr(job.dialect),
        asked=job.asked,
    )


def _literal(text: str) -> str:
    """A text as Python writes it, over several lines where it has them."""
    if "\n" not in text:
        return repr(text)
    lines = ",\n".join(f"    {line!r}" for line in text.splitlines())
    return f'"\\n".join((\n{lines},\n))'
