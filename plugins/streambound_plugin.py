"""What Airflow finds in its plugins folder: the pages, their places in its UI, and the API behind them.

Every process of Airflow loads this, also each task's: the application is built where it is asked for, in the
API server.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from streambound_airflow.places import EXTERNAL_VIEWS, PREFIX


class StreamboundPlugin(AirflowPlugin):
    """Pages on the registered queries."""

    name = "streambound"
    external_views = EXTERNAL_VIEWS

    @property
    def fastapi_apps(self) -> list[Any]:
        """The one application of the pages and their API."""
        from streambound_airflow.pages.application import application

        return [{"app": application(), "url_prefix": PREFIX, "name": "streambound"}]

    @property
    def fastapi_root_middlewares(self) -> list[Any]:
        """What refuses parameters that a DAG of ours does not know, before there is a run; and what has the
        pages ready before the first is asked for."""
        from streambound_airflow.pages.conf import KnownParameters
        from streambound_airflow.pages.readiness import Prepared

        return [
            {"middleware": KnownParameters, "name": "streambound"},
            {"middleware": Prepared, "name": "streambound pages"},
        ]
