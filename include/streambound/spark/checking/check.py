"""``streambound.spark.check``: the verdict on a streaming DataFrame before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from streambound import compiler
from streambound.compiler.report import Report, invalid
from streambound.compiler.report import check as report_on
from streambound.engines.model import Fact
from streambound.errors import CatalogError, StreamboundError, UnsupportedError, meant, named, together
from streambound.query.catalog import Catalog
from streambound.query.column_types import Family
from streambound.query.model import RelationKind
from streambound.query.parse import read
from streambound.report.engine import kept_lines, rewritten
from streambound.report.verdicts import verdict_text
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.plans import plan_of
from streambound.spark.checking.statement import Written, written

if TYPE_CHECKING:
    from streambound.rewrites.rewrite import Rewrite

Promises = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Checked(Report):
    """The verdict on a DataFrame, as ``streambound.check`` gives it on SQL, and what Spark keeps of it.

    ``sql`` is the statement that the DataFrame was read as, over the streams of ``catalog``: the place of a
    reason is a place in it, and a line's comment says where in the program it was written.
    """

    sql: str = ""
    catalog: Catalog | None = None
    # Streams with moments, of which none is told to be the event time.
    without_watermark: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = verdict_text(self, self.sql)
        if (made := self.rewritten()) is not None:
            text = "\n".join((text, *kept_lines(self, made)))
        if not self.without_watermark or self.verdict == "bounded":
            return text
        said = ", ".join(self.without_watermark)
        hint = f"without a watermark Spark keeps all of {said}: .withWatermark(COLUMN, DELAY) bounds it"
        return f"{text}\n  {hint}"

    def rewritten(self) -> Rewrite | None:
        """SQL that keeps the bound on Spark, or why there is none; None where Spark does so as it is written.

        It reads views that are called as the streams of ``catalog``.
        """
        if self.catalog is None or self.verdict != "bounded":
            return None
        return rewritten(self, compiler.compile(self.sql, self.catalog, self.query, dialect="spark"))


def check(
    frame: Any, name: str | None = None, promises: Promises | None = None, suggest: bool = True
) -> Checked:
    """Whether a streaming query of Spark can run in bounded memory, why, and what Spark itself keeps of it.

    Args:
        frame: a streaming DataFrame of a classic or a Connect session, or a ``StreamingQuery`` that runs.
        name: what the verdict calls it; by default the name of the running query, else ``query``.
        promises: what Spark cannot say of a stream, by its name in the verdict: ``domains``, ``not_null``,
            ``max_rows_per_timestamp`` and the like, as an entry of ``streams.yml`` has them.
        suggest: with bounded variants of a query that is not bounded.

    Raises:
        QueryError: ``frame`` is neither, it is not streaming, or it tells no plan.
        CatalogError: a promise is of no stream of the query, or cannot be read.
    """
    checked = asked(frame, name, promises or {}, suggest)
    read = [] if checked.catalog is None else checked.catalog.names
    if unread := [
        promise for promise in promises or {} if checked.catalog is not None and promise not in read
    ]:
        raise CatalogError(
            f"there are promises of {unread[0]}, which the query does not read",
            subject=checked.query,
            accepted=", ".join(read),
            fix=meant(unread[0], read),
        )
    return checked


def asked(frame: Any, name: str | None, promises: Promises, suggest: bool) -> Checked:
    """The same; promises of streams that the query does not read are passed over."""
    try:
        plan = plan_of(frame, name)
    except UnsupportedError as error:
        return _report(invalid(name or "query", "exact", error), None)
    text = written(plan.query, plan.world, promises)
    if plan.world.missing:
        return _report(invalid(plan.name, "exact", _refused(text, plan.world, plan.name)), text)
    drops = {Fact.DEDUPLICATION} if plan.world.deduplicates else set()
    report = report_on(
        text.sql,
        text.catalog,
        plan.name,
        suggest=suggest,
        dialect="spark",
        engine="spark",
        facts=frozenset({Fact.DATAFRAME, *drops}),
    )
    return _report(report, text)


def _report(report: Report, text: Written | None) -> Checked:
    reported = {field.name: getattr(report, field.name) for field in fields(Report)}
    if text is None:
        return Checked(**reported)
    bare = (
        relation
        for relation in text.catalog.relations
        if relation.kind is RelationKind.STREAM and relation.timestamp is None
    )
    moments = (
        relation.name for relation in bare if any(c.type.family is Family.TIMESTAMP for c in relation.columns)
    )
    return Checked(**reported, sql=text.sql, catalog=text.catalog, without_watermark=tuple(moments))


def _refused(text: Written, world: PlanSources, name: str) -> UnsupportedError:
    """All that cannot be decided: of the plan, and of the statement that the rest of it makes."""
    blockers = [
        named(
            missing.construct,
            f"{missing.message} ({missing.origin})" if missing.origin else missing.message,
            None,
        )
        for missing in world.missing
    ]
    try:
        read(text.sql, text.catalog, name, "spark")
    except StreamboundError as error:
        # What else there is of names and types may be the fault of what is left out.
        blockers += error.blockers if isinstance(error, UnsupportedError) else ()
    made = together(blockers)
    made.text, made.subject = text.sql, name
    return made
