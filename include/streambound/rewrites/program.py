"""A bounded query as a program of Spark's, where no statement of its SQL keeps the bound.

The program runs the plan itself within ``transformWithState``: what ``streambound run --live`` does, as a
script to keep beside others.
"""

from __future__ import annotations

from streambound.compiler import Planned
from streambound.errors import PlanError

_PROGRAM = '''\
"""{name} on Spark Structured Streaming: the plan keeps {size}.

The state lies in one transformWithState of the query that ``live`` starts; answers are appended to files, and
with ``into`` to a table (docs/live.md of streambound). It needs streambound[spark] and Java.
"""

from pathlib import Path

from streambound.query.catalog import load_catalog
from streambound.query.registry import RegisteredQuery
from streambound.spark.live.query import Pace, live
from streambound.spark.session import session

CATALOG = Path({catalog})
OUTPUT = Path("answers")
SQL = {sql}


def main() -> None:
    query = RegisteredQuery({quoted}, SQL, path=Path(__file__), dialect={dialect})
    with session({quoted}) as spark:
        # A micro-batch every ten seconds, until the process is stopped.
        live(spark, query, load_catalog(CATALOG), output=OUTPUT, pace=Pace(seconds=10))


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
        raise PlanError(f"no plan was made of it: {job.unplanned}")
    size = f"at most {job.units:,} units" if job.units is not None else str(job.units_formula)
    return _PROGRAM.format(
        name=job.name.replace("\\", "/").replace('"', "'"),
        size=size,
        catalog=repr(job.catalog.source or "streams.yml"),
        sql=_literal(job.sql),
        quoted=repr(job.name),
        dialect=repr(job.dialect),
    )


def _literal(text: str) -> str:
    """A text as Python writes it, over several lines where it has them."""
    if "\n" not in text:
        return repr(text)
    lines = ",\n".join(f"    {line!r}" for line in text.splitlines())
    return f'"\\n".join((\n{lines},\n))'
