"""Operators: the verdict on one query, and the quality of one stream.

Each template field is a constructor argument that becomes an attribute as it was given, so that
Airflow can render it and map over it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from streambound import settings
from streambound_airflow.database import DATABASE, results
from streambound_airflow.failures import reported
from streambound_airflow.links import DataDocsLink, QueryLink, ResultsLink

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from streambound.compiler.report import Report
    from streambound.quality import StreamQuality
    from streambound.query.catalog import Catalog
    from streambound.query.model import Relation
    from streambound.query.registry import RegisteredQuery


class BoundedMemoryCheckOperator(BaseOperator):
    """Decides whether the state of one query can outgrow memory, and records the verdict.

    The verdict is recorded in the results database, logged with its reasons under the SQL, and returned as
    ``streambound check --format json`` prints it; of several queries a list of these is. An unbounded query
    is a finding: the task succeeds unless ``fail_on_unbounded``. A query that cannot be read fails its task,
    without retries. A ``streambound.toml`` in or above the registry says otherwise: which outcomes fail,
    dialects, the catalog.

    Args:
        query: the query's name, that of its file in the registry; or several, a name a line.
        sql: its text; by default the registered file's.
        catalog: the stream catalog; by default the registry's.
        criterion: exact, arasu or schiff_ozcep.
        fail_on_unbounded: whether an unbounded or undecided query fails the task; text is taken as
            Airflow renders a boolean.
        database_conn_id: the connection of the results database.
    """

    template_fields: Sequence[str] = ("query", "sql", "catalog", "criterion", "fail_on_unbounded")
    template_fields_renderers = {"sql": "sql"}  # noqa: RUF012 - Airflow's own declaration
    ui_color = "#d7e8f4"
    operator_extra_links = (QueryLink(), ResultsLink())

    def __init__(
        self,
        *,
        query: str,
        sql: str | None = None,
        catalog: str | None = None,
        criterion: str = "exact",
        fail_on_unbounded: bool | str = False,
        database_conn_id: str = DATABASE,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.query = query
        self.sql = sql
        self.catalog = catalog
        self.criterion = criterion
        self.fail_on_unbounded = fail_on_unbounded
        self.database_conn_id = database_conn_id
        self._checked: tuple[str, Report] | None = None

    @property
    def title(self) -> str:
        """What is checked, in a few words."""
        names = self.query.splitlines()
        return self.query if len(names) < 2 else f"{names[0]} to {names[-1]}, {len(names)} queries"

    def execute(self, context: Context) -> dict[str, Any] | list[dict[str, Any]]:
        """The verdict, as JSON; of several queries all of them."""
        from streambound.report.verdicts import verdict_text

        names = self.query.splitlines() or [self.query]
        with reported():
            strict = switched_on(self.fail_on_unbounded)
            checked = [self._check(name) for name in names]
            self._checked = checked[0] if len(checked) == 1 else None
            bodies = [{**report.to_json(), "sql": sql} for sql, report in checked]
            results(self.database_conn_id).record_verdicts(context["run_id"], bodies, job=self.dag_id)
        for sql, report in checked:
            level = logging.INFO if report.verdict == "bounded" else logging.WARNING
            for line in verdict_text(report, sql).splitlines():
                self.log.log(level, "%s", line)
        bodies = [report.to_json() for _, report in checked]
        returned = bodies[0] if len(bodies) == 1 else bodies
        self._judge(context, [report for _, report in checked], strict, returned)
        return returned

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:
        """What the query reads, and the verdict; called by Airflow's OpenLineage provider alone."""
        from streambound_airflow.lineage import of_check

        if self._checked is None:
            return None
        database = results(self.database_conn_id).url
        return of_check(*self._checked, catalog_of(self.catalog), database)

    def _check(self, name: str) -> tuple[str, Report]:
        from streambound.compiler import CRITERIA
        from streambound.compiler.report import check, invalid

        if self.criterion not in CRITERIA:
            raise AirflowFailException(
                f"criterion {self.criterion!r} is not known; accepted: {', '.join(CRITERIA)}"
            )
        catalog = catalog_of(self.catalog)
        query = _registered(name, self.sql)
        if query.error is not None:
            return "", invalid(query.name, self.criterion, query.error)
        return query.sql, check(query.sql, catalog, query.name, self.criterion, dialect=query.dialect)

    def _judge(self, context: Context, reports: Sequence[Report], strict: bool, returned: Any) -> None:
        from streambound_airflow.validation import failing

        failing_outcomes = failing(strict)
        failed = [report for report in reports if report.outcome in failing_outcomes]
        if not failed:
            return
        # A failed task returns nothing, and the verdict is wanted all the same.
        context["ti"].xcom_push(key="return_value", value=returned)
        raise AirflowFailException("\n".join(map(_failure, failed))) from None


def _failure(report: Report) -> str:
    if report.error is not None:
        return str(report.error)
    return f"{report.query} is {report.verdict}: {report.reasons[0].message if report.reasons else ''}"


class StreamQualityOperator(BaseOperator):
    """Checks the partitions of one stream against its catalog entry, and records what was found.

    A partition that fails is a finding: the task succeeds, and returns the partition's name. A stream
    without any history fails the task, one without partitions in the chosen days does not.

    Args:
        stream: the relation's name in the catalog.
        first: first day checked (``YYYY-MM-DD``), for a stream partitioned by date; empty for all.
        last: last day checked, included.
        catalog: the stream catalog; by default the registry's.
        database_conn_id: the connection of the results database.
    """

    template_fields: Sequence[str] = ("stream", "first", "last", "catalog")
    ui_color = "#e4f1de"
    operator_extra_links = (DataDocsLink(), ResultsLink())

    def __init__(
        self,
        *,
        stream: str,
        first: str | None = None,
        last: str | None = None,
        catalog: str | None = None,
        database_conn_id: str = DATABASE,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.first = first
        self.last = last
        self.catalog = catalog
        self.database_conn_id = database_conn_id
        # The page that was written, below the folder of the Data Docs: for the link.
        self.docs_page: str | None = None
        self._judged: tuple[Relation, StreamQuality] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """The stream, the names of its partitions that failed, and how many were checked."""
        from streambound.quality import check_stream
        from streambound.quality.docs import site_folder
        from streambound_airflow.partitions import in_range

        # Great Expectations would write hundreds of lines about its own configuration.
        logging.getLogger("great_expectations").setLevel(logging.WARNING)
        with reported():
            catalog = catalog_of(self.catalog)
            relation = catalog.find(self.stream)
            if relation is None:
                raise AirflowFailException(
                    f"the catalog {catalog.source} has no stream {self.stream}; "
                    f"accepted: {', '.join(catalog.names)}"
                )
            partitions = in_range(relation, self.first, self.last)
            if not partitions:
                self.log.warning("%s has no partition in the chosen days", relation.name)
                return {"stream": relation.name, "partitions": 0, "failed_partitions": []}
            quality = check_stream(relation, partitions, context["run_id"], self.dag_id)
            quality.record(results(self.database_conn_id))
            self.docs_page = quality.docs.relative_to(site_folder()).as_posix()
        self._judged = relation, quality
        self._tell(quality)
        return {
            "stream": quality.stream,
            "partitions": len(quality.measures),
            "failed_partitions": list(quality.failed_partitions),
        }

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:
        """The history, and what was found of it; called by Airflow's OpenLineage provider alone."""
        from streambound_airflow.lineage import of_quality

        return None if self._judged is None else of_quality(*self._judged, results(self.database_conn_id).url)

    def _tell(self, quality: StreamQuality) -> None:
        rows = sum(measures.rows or 0 for measures in quality.measures)
        self.log.info(
            "%s: %s rows in %s partitions, %s expectations, %s partitions failed",
            quality.stream,
            f"{rows:,}",
            len(quality.measures),
            quality.evaluated,
            len(quality.failed_partitions),
        )
        for partition, reasons in quality.failed_partitions.items():
            self.log.warning("%s, partition %s: %s", quality.stream, partition, "; ".join(reasons))
        self.log.info("Data Docs: %s", quality.docs)


def catalog_of(chosen: str | None) -> Catalog:
    """The chosen stream catalog, or the registry's, whose queries may name each other.

    Raises:
        CatalogError: it cannot be read.
    """
    from streambound.projects.registry import registry_of

    return registry_of(settings.registry()).catalog_of(Path(chosen) if chosen else None)


def _registered(name: str, sql: str | None) -> RegisteredQuery:
    """A query as it is registered, or another text in its place."""
    from streambound.projects.registry import registry_of

    registry = registry_of(settings.registry())
    return registry.query(name) if sql is None else registry.of_text(name, sql)


def switched_on(value: bool | str) -> bool:
    """A boolean, or the text that Airflow renders one as.

    Raises:
        AirflowFailException: any other text.
    """
    booleans = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
    value_of_word = booleans.get(str(value).strip().lower())
    if value_of_word is None:
        raise AirflowFailException(f"{value!r} is neither true nor false")
    return value_of_word
