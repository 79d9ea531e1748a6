"""An archive of the classes that Spark's Java loads, from which a session starts in half the processor time.

HotSpot maps it into memory in place of reading, parsing and verifying thousands of classes of Spark's jars
anew (dynamic class data sharing, JEP 350). It is of one Java and one class path: Java compares them itself,
and starts without it where they differ. ``python -m streambound.spark.applications.class_archive`` makes it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from streambound import settings
from streambound.durable import flushed, refused
from streambound.errors import PlatformError, StreamboundError
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.live.query import Pace, live
from streambound.spark.session import (
    CLASS_ARCHIVE,
    JAVA_OPTIONS,
    QUIET,
    SHORT_LIVED,
    end_java,
    java_option,
    session,
)

QUERY = "SELECT key, COUNT(*) AS n FROM events WHERE key < 9 GROUP BY key"
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def make(archive: Path = CLASS_ARCHIVE) -> None:
    """Make the archive, from what a night, a live query and a query of Spark's own load; half a minute.

    For a process of its own: one whose Java has not been started yet.

    Raises:
        PlatformError: Java made none.
        StorageError: the disk refuses.
    """
    draft = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["STREAMBOUND_HOME"] = folder
            os.environ[JAVA_OPTIONS] = f"{SHORT_LIVED} {QUIET} {java_option('ArchiveClassesAtExit', draft)}"
            _load(Path(folder))
        if not draft.exists():
            raise PlatformError(
                "Java made no archive of classes", accepted="HotSpot, as OpenJDK has it, 17 or later"
            )
        # Java reads what is in its place without a look at its end.
        flushed([draft])
        os.replace(draft, archive)
    except OSError as error:
        raise refused(archive, error) from None
    finally:
        draft.unlink(missing_ok=True)


def _load(folder: Path) -> None:
    """Let a Java load what sessions need, and wait for its end: it writes the archive then."""
    catalog, query = _stream(folder), RegisteredQuery("counts", QUERY, folder / "counts.sql")
    # Spark's own words of what it finds in a machine are no news here.
    with session("streambound classes", master="local[2]", spark__log__level="OFF") as spark:
        evaluate_history(SparkExecutor(spark), [query], catalog, output=folder / "answers")
        live(spark, query, catalog, output=folder / "live", pace=Pace(ends=True))
        events = spark.read.parquet(str(folder / "events"))
        events.join(events.groupBy("key").count(), "key").orderBy("at").collect()
    end_java()


def _stream(folder: Path) -> Catalog:
    """The catalog of a stream of a few rows, in a partition of its history."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    partition = folder / "events" / f"date={DAY:%F}"
    partition.mkdir(parents=True)
    pq.write_table(
        pa.table({"at": pa.array([DAY] * 3, pa.timestamp("us", "UTC")), "key": [1, 2, 2]}),
        partition / "part-00000.parquet",
    )
    body = {
        "timestamp": "at",
        "columns": {"at": "timestamp", "key": "bigint"},
        "domains": {"key": {"min": 0, "max": 8}},
        "history": {"path": str(folder / "events"), "partition_by": "date"},
    }
    return catalog_from_mapping({"events": body})


def main() -> int:
    """Make the archive; the exit codes are those of ``streambound``."""
    program = "python -m streambound.spark.applications.class_archive"
    argparse.ArgumentParser(prog=program, description=main.__doc__).parse_args()
    try:
        make()
    except StreamboundError as error:
        return _failed(error)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name} is not installed, and the archive is of Spark's Java"
        return _failed(PlatformError(missing, fix=settings.installing("spark")))
    return 0


def _failed(error: StreamboundError) -> int:
    print(f"class archive: {error.code}: {error}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
