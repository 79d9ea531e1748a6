"""Links from a task of our operators to the page that shows what it did.

A link is made where the task has run, and stored; it is relative to Airflow's base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink

from streambound_airflow.places import document_page, query_page, run_page

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class QueryLink(BaseOperatorLink):
    """The page of the operator's query."""

    name = "Query"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The query's page, in the UI's frame; of several queries the tab of the run."""
        query = str(getattr(operator, "query", ""))
        return run_page(ti_key.dag_id, ti_key.run_id) if "\n" in query else query_page(query)


class DataDocsLink(BaseOperatorLink):
    """The Data Docs page that the operator has written."""

    name = "Data Docs"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """That page in the UI's frame; the Quality page of a task that has written none."""
        return document_page(getattr(operator, "docs_page", None))


class ResultsLink(BaseOperatorLink):
    """What the operator's run decided and evaluated."""

    name = "Results"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The tab of that run."""
        return run_page(ti_key.dag_id, ti_key.run_id)
