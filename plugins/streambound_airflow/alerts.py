"""One message about everything that a run found, once it has been recorded; off by default.

``STREAMBOUND_ALERTS`` turns it on: ``log``, or the name of an Airflow connection (see ``delivery``). The
notifier is a callback of the task that concludes a run: it works in that task's process, with its
connections, and tells in its log. What goes wrong here is logged, and fails nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier

from streambound import settings
from streambound_airflow.database import DATABASE, results
from streambound_airflow.places import document_page, query_page, run_page

if TYPE_CHECKING:
    from airflow.sdk import Context

    from streambound.results.findings import Finding

log = logging.getLogger(__name__)


class FindingsNotifier(BaseNotifier):
    """Sends the findings of the run that its task belongs to; nothing if there are none.

    Args:
        to: ``log``, or the name of an Airflow connection.
        database_conn_id: the connection of the results database.
    """

    template_fields: Sequence[str] = ()

    def __init__(self, to: str, database_conn_id: str = DATABASE, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.to = to
        self.database_conn_id = database_conn_id

    def notify(self, context: Context) -> None:
        """Reads the findings and sends them; an error is logged."""
        try:
            self._notify(context)
        except Exception as error:
            # Whatever a carrier raises: an alert that is lost must not take a run's success with it.
            log.error("the findings of this run were not sent to %s: %s", self.to, _error_text(error))

    def _notify(self, context: Context) -> None:
        from airflow.sdk.log import redact

        from streambound.report.notices import notice
        from streambound.results.findings import findings
        from streambound_airflow.delivery import send

        run = context["dag_run"]
        unredacted = findings(results(self.database_conn_id), run.run_id, run.dag_id)
        if not unredacted:
            log.info("no findings")
            return
        # Airflow knows its secrets, wherever a message may have picked one up.
        safe = [_redacted(finding, redact) for finding in unredacted]
        send(notice(safe, run.dag_id, run.run_id, run_address(run.dag_id, run.run_id), page_of), self.to)


def _redacted(finding: Finding, redact: Callable[[str], Any]) -> Finding:
    from dataclasses import replace

    return replace(finding, message=str(redact(finding.message)))


def _error_text(error: Exception) -> str:
    from streambound.errors import StreamboundError

    return error.one_line() if isinstance(error, StreamboundError) else f"{type(error).__name__}: {error}"


def callbacks() -> dict[str, list[FindingsNotifier]]:
    """The arguments of the task that concludes a run; none as long as alerts are off."""
    to = settings.alerts()
    if to is None:
        return {}
    return {"on_success_callback": [FindingsNotifier(to)], "on_failure_callback": [FindingsNotifier(to)]}


def base_url() -> str:
    """Where people reach Airflow, without a slash at the end."""
    from airflow.sdk.configuration import conf

    return str(conf.get("api", "base_url", fallback="http://localhost:8080")).rstrip("/")


def run_address(dag_id: str, run_id: str) -> str:
    """The address of a run's page of ours."""
    return f"{base_url()}/{run_page(dag_id, run_id)}"


def page_of(finding: Finding) -> str:
    """The address of a finding's page: the query's, or that of all streams' quality."""
    return f"{base_url()}/{query_page(finding.subject) if finding.about == 'query' else document_page(None)}"
