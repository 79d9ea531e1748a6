"""``streambound.spark.check``: the verdict on a streaming DataFrame before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from streambound import compiler
from streambound.compiler import Report
from streambound.errors import StreamboundError, UnsupportedError, named, together
from streambound.query.catalog import Catalog
from streambound.query.parse import read
from streambound.report.verdicts import verdict_text
from streambound.spark.checking.blocks import Query, World
from streambound.spark.checking.statement import Written, written


@dataclass(frozen=True)
class Checked(Report):
    """The verdict on a DataFrame, as ``streambound.check`` gives it on SQL.

    ``sql`` is the statement that the DataFrame was read as, over the streams of ``catalog``: ``place`` of a
    reason is a place in it, and a line's comment says where in the program it was written.
    """

    sql: str = ""
    catalog: Catalog = Catalog(())  # noqa: RUF009

    def __str__(self) -> str:
        return verdict_text(self, self.sql)


def check(
    frame: Any,
    name: str | None = None,
    promises: Mapping[str, Mapping[str, Any]] | None = None,
    suggest: bool = True,
) -> Checked:
    """Whether a streaming query of Spark can run in bounded memory, and why.

    Args:
        frame: a streaming DataFrame of a classic or a Connect session, or a ``StreamingQuery`` that runs.
        name: what the verdict calls it; by default the name of the running query, else ``query``.
        promises: what Spark cannot say of a stream, by its name in the verdict: ``domains``, ``not_null``,
            ``max_rows_per_timestamp`` and the like, as an entry of ``streams.yml`` has them.
        suggest: with bounded variants of a query that is not bounded.

    Raises:
        QueryError: ``frame`` is neither, or it is not streaming.
        CatalogError: a promise is of no stream of the query, or cannot be read.
    """
    from streambound.spark.checking.plans import plan_of

    found = plan_of(frame, name)
    return checked(found.query, found.world, found.name, promises or {}, suggest)


def checked(
    query: Query, world: World, name: str, promises: Mapping[str, Mapping[str, Any]], suggest: bool
) -> Checked:
    """The verdict on what was read of a plan."""
    text = written(query, world, promises)
    if world.missing:
        report = compiler.invalid(name, "exact", _refused(text, world, name))
    else:
        report = compiler.check(text.sql, text.catalog, name, suggest=suggest, dialect="spark")
    known = {one.name: getattr(report, one.name) for one in fields(Report)}
    # The statement is ours: what is suggested is in its words, and no text of the user's says more.
    return Checked(**{**known, "dialect": None}, sql=text.sql, catalog=text.catalog)


def _refused(text: Written, world: World, name: str) -> UnsupportedError:
    """All that cannot be decided: of the plan, and of the statement that the rest of it makes."""
    found = [
        named(one.construct, f"{one.message} ({one.origin})" if one.origin else one.message, None)
        for one in world.missing
    ]
    try:
        read(text.sql, text.catalog, name, "spark")
    except StreamboundError as error:
        # What else there is of names and types may be the fault of what is left out.
        found += error.blockers if isinstance(error, UnsupportedError) else ()
    made = together(found)
    made.text = text.sql
    made.subject = name
    return made
