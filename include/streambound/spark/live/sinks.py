"""Answers of a live query to any sink of Spark's, as it writes a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from streambound.errors import QueryError, StorageError
from streambound.live.answers import EPOCH
from streambound.live.sinks import DELTA, DeltaSink, Into, Sink, marked, newest
from streambound.spark.live.decoding import lacks_package
from streambound.spark.live.rows import said
from streambound.tasks.emit import COUNT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = ("avro", "csv", "json", "orc", "parquet")


def sink_of(session: SparkSession, into: Into, run: str) -> Sink:
    """The sink for a format; a Delta table needs no package of Spark's.

    Args:
        run: names this query from its beginning on, over all its starts.

    Raises:
        QueryError: what a sink of files needs is not given, or a key that it has no use for.
    """
    if into.format == DELTA:
        return DeltaSink(into, run)
    if into.format in FILES and into.key:
        raise QueryError(
            f"--key cannot be given with --into {into.format}: files take no row's place",
            accepted="delta, or a sink that takes rows by key itself, such as kafka",
            fix="leave out --key, or name another sink",
        )
    if into.format in FILES and "path" not in into.options:
        raise QueryError(f"--into {into.format} needs a folder", fix="add --into-option path=DIR")
    return SparkSink(session, into)


class SparkSink:
    """What Spark can write a data frame to.

    Files of a micro-batch are in a folder of their own, ``epoch=n``, which is written anew if it is told of
    again. Other sinks may have rows twice then, with the same ``epoch``. Kafka gets columns key and value,
    each an object of JSON.
    """

    def __init__(self, session: SparkSession, into: Into) -> None:
        self.session, self.into = session, into

    def put(self, epoch: int, answers: pa.Table, marker: str | None = None) -> None:
        """See ``Sink``."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        key, options = self.into.key, dict(self.into.options)
        try:
            if self.into.format in FILES:
                path = f"{options.pop('path').rstrip('/')}/{EPOCH}={epoch:08}"
                frame = self.session.createDataFrame(answers).coalesce(1)
                frame.write.format(self.into.format).options(**options).mode("overwrite").save(path)
                return
            chosen = newest(answers, key, marker) if key else answers
            rows = self.session.createDataFrame(marked(chosen, epoch))
            frame = keyed(rows, key) if self.into.format == "kafka" else rows
            frame.write.format(self.into.format).options(**options).mode("append").save()
        except (PySparkException, Py4JJavaError) as error:
            raise lacks_package(error, self.session.version) or StorageError(
                f"the sink {self.into.format} does not take the answers: {said(error)}",
                fix="correct --into and its options, and start again: it goes on there",
            ) from None


def keyed(rows: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Answers as Kafka takes them: objects of JSON, the key NULL where there is none.

    The value of a key that has no answer any more is NULL, which Kafka takes for its end.
    """
    from pyspark.sql import functions as f

    from streambound.spark.data_frames import quoted

    value = f.to_json(f.struct(*map(quoted, rows.columns)), {"ignoreNullFields": "false"})
    named = f.to_json(f.struct(*map(quoted, key)), {"ignoreNullFields": "false"}) if key else f.lit(None)
    if key:
        value = f.when(quoted(COUNT) >= 0, value)
    return rows.select(named.cast("string").alias("key"), value.alias("value"))
