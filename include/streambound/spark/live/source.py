"""What a live query asks of the source of a stream, whatever it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streambound.errors import StreamboundError
from streambound.query.model import Relation
from streambound.spark.live.arrivals import Mapper
from streambound.tasks.summarise import StreamScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Arrived:
    """The Parquet files with the rows of a micro-batch, how many of them a user would know, and what was
    dropped since it could not be decoded."""

    files: tuple[str, ...]
    user_files: int = 0
    malformed: int = 0


class Source(Protocol):
    """Where a stream comes from; Spark keeps how far it has been read."""

    @property
    def relation(self) -> Relation:
        """The stream."""

    def stream(self, session: SparkSession) -> DataFrame:
        """What Spark follows.

        Raises:
            DataError: Spark cannot read it.
            PlatformError: Spark lacks a package.
        """

    def mapper(self, scan: StreamScan, memory_mb: int) -> Mapper:
        """What tasks make of it: arrivals (``arrivals.FIELDS``)."""

    def arrived(self, frame: DataFrame, spool: Path) -> Arrived:
        """The rows of a micro-batch as files, for a plan that keeps nothing.

        Args:
            spool: a folder for files that are not there yet, cleared before.
        """

    def about(self, error: StreamboundError) -> StreamboundError:
        """An error of a task in the user's own words."""
