"""The columns of a table or view that a Spark session knows."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException

from streambound.errors import CatalogError
from streambound.spark.session import session


def columns(table: str) -> tuple[tuple[str, str, bool], ...]:
    """Name, type as Spark writes it, and whether NULL may be there, of each column.

    Raises:
        CatalogError: there is no such table.
        StreamboundError: Spark does not start.
    """
    with session("streambound import") as spark:
        try:
            schema = spark.table(table).schema
        except (AnalysisException, ParseException) as error:
            first = str(error).splitlines()[0]
            raise CatalogError(
                f"Spark finds no table or view {table}: {first}",
                fix="name one as Spark does, CATALOG.SCHEMA.TABLE; spark-defaults.conf configures catalogs",
            ) from None
        return tuple((field.name, field.dataType.simpleString(), field.nullable) for field in schema.fields)
