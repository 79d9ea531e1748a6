"""The results database that an Airflow connection names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from streambound import settings

if TYPE_CHECKING:
    from streambound.results import Results

DATABASE = "streambound_db"


def results(conn_id: str = DATABASE) -> Results:
    """The results database at ``url`` in the connection's extra; without that connection, the settings' one.

    Raises:
        AirflowFailException: the connection has no ``url``.
        StorageError: the address is not one of a database that is supported.
    """
    from streambound.results import Results

    try:
        connection = Connection.get(conn_id)
    except AirflowNotFoundException:
        return Results(settings.database_url())
    url = connection.extra_dejson.get("url")
    if not url:
        raise AirflowFailException(
            f"connection {conn_id} has no results database; "
            'set its extra to {"url": "postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE"}'
        )
    return Results(str(url))
