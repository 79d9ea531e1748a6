"""The Delta table of a query's checkpoints: read whatever is sound of it, commit in one step.

A commit is one entry of Delta's log, written if no other run wrote the same entry, on a disk as in object
storage: readers see a table before it or after it. What has been damaged since is found when it is read: rows
have digests, files that cannot be read are left out, a log that cannot be read is begun anew. What is missing
then is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler

from streambound import settings
from streambound.checkpoint.boundary import (
    Checkpoint,
    Late,
    from_row,
    late_from_row,
    late_to_row,
    to_row,
)
from streambound.errors import StorageError

BLOBS = ("segment", "state")
SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("fingerprint", pa.string()),
        ("partition", pa.string()),
        ("scope", pa.string()),
        ("inputs", pa.string()),
        ("segment_digest", pa.string()),
        ("state_digest", pa.string()),
        ("chain", pa.string()),
        ("units", pa.string()),
        ("peak_units", pa.string()),
        ("rows", pa.int64()),
        ("new", pa.string()),
        ("total", pa.string()),
        ("file", pa.string()),
        ("answers", pa.string()),
        ("digest", pa.string()),
        # The summary of the partition: the column has the name that it had in the first checkpoints.
        ("segment", pa.binary()),
        ("state", pa.binary()),
    ]
)
# A table keeps what it no longer needs for so long: a reader may still be at it.
CONFIGURATION = {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 2 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
}
RETENTION_HOURS = 48
# Every so many commits the files of single nights are put together, up to this size.
COMPACT_EVERY = 16
COMPACT_BYTES = 16 << 20


def address_of(root: str, query: str) -> str:
    """The address of a query's table below a folder or an address.

    Raises:
        DataError: Delta cannot keep a table under such a name.
    """
    name = quote(query, safe="") if "://" in root else query
    return settings.plain(f"{root.rstrip('/')}/{name}")


class CheckpointTable:
    """A query's checkpoints, as they were when it was opened and with what was committed since.

    ``rows`` are the sound checkpoints by partition, whatever their fingerprint, without summaries and states;
    ``late`` the quarantined partitions; ``faults`` say what is damaged; ``version`` is Delta's, -1 without
    a table.

    Raises:
        StorageError: the disk or the object storage refuses.
    """

    def __init__(self, address: str, query: str) -> None:
        self.address, self.query = address, query
        self.rows: dict[str, Checkpoint] = {}
        self.late: tuple[Late, ...] = ()
        self.faults: list[str] = []
        self.version = -1
        self._unreadable = False
        with refused(address):
            self._table = self._open()
            if self._table is not None:
                self.version = self._table.version()
                self._read()

    def _open(self) -> DeltaTable | None:
        try:
            table = DeltaTable(self.address)
            if _columns(table.to_pyarrow_dataset().schema) == _columns(SCHEMA):
                return table
            self._unreadable = True
            self.faults.append("the table's log declares other columns")
        except TableNotFoundError:
            if self._files():
                self._unreadable = True
                self.faults.append("the table has no log")
        except (DeltaError, pa.ArrowException, ValueError) as error:
            self._unreadable = True
            self.faults.append(f"the table's log cannot be read: {_first_line(error)}")
        return None

    def _files(self) -> list[str]:
        try:
            infos = self._storage().get_file_info(pafs.FileSelector("", recursive=True))
        except (DeltaError, FileNotFoundError):
            return []
        return [info.path for info in infos if info.type == pafs.FileType.File]

    def _storage(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(DeltaStorageHandler(self.address))

    def _read(self) -> None:
        late = []
        names = [name for name in SCHEMA.names if name not in BLOBS]
        for row in self._scan(names):
            if row["kind"] == "late":
                late.append(late_from_row(row))
                continue
            checkpoint = from_row(self.query, row)
            if checkpoint is None:
                self.faults.append(f"the checkpoint of partition {row['partition']} is damaged")
            elif checkpoint.partition in self.rows:
                self.faults.append(f"there are two checkpoints of partition {checkpoint.partition}")
                del self.rows[checkpoint.partition]
            else:
                self.rows[checkpoint.partition] = checkpoint
        if None in late:
            self.faults.append("the note of a quarantined partition is damaged")
        self.late = tuple(record for record in late if record is not None)

    def _scan(self, columns: Sequence[str], partitions: Iterable[str] | None = None) -> Iterator[Any]:
        """Rows of the table's files; a file that cannot be read is a fault."""
        if self._table is None:
            return
        chosen = None if partitions is None else pc.field("partition").isin(list(partitions))
        for fragment in self._table.to_pyarrow_dataset().get_fragments(chosen):
            try:
                rows = fragment.to_table(schema=SCHEMA, columns=list(columns), filter=chosen).to_pylist()
            except (OSError, ValueError, pa.ArrowException, DeltaError) as error:
                self.faults.append(f"a file of the table cannot be read: {_first_line(error)}")
                continue
            yield from rows

    def load(self, partitions: Iterable[str]) -> dict[str, Checkpoint]:
        """Checkpoints with summaries and states; those that are damaged are left out, and no longer rows."""
        wanted = [name for name in partitions if name in self.rows]
        by_partition: dict[str, Checkpoint] = {}
        with refused(self.address):
            for row in self._scan(SCHEMA.names, wanted) if wanted else ():
                checkpoint = from_row(self.query, row) if row["kind"] == "boundary" else None
                if checkpoint is not None and checkpoint.intact:
                    by_partition[checkpoint.partition] = checkpoint
        for name in wanted:
            if name not in by_partition:
                self.faults.append(f"the state in the checkpoint of partition {name} is damaged")
                del self.rows[name]
        return by_partition

    def commit(
        self,
        fingerprint: str,
        rows: Sequence[Checkpoint],
        late: Sequence[Late],
        gone: Iterable[str] = (),
        anew: bool = False,
    ) -> None:
        """Put checkpoints in their places, and quarantined partitions for those before, in one step.

        Args:
            fingerprint: of the plan; rows with another are dropped.
            rows: with summaries and states.
            late: all quarantined partitions of the query.
            gone: partitions whose checkpoints are dropped.
            anew: drop all that was there.

        Raises:
            StorageError: the disk or the object storage refuses, or another run committed in between.
        """
        dropped = set(gone) & set(self.rows)
        stale = anew or any(row.fingerprint != fingerprint for row in self.rows.values())
        if not (rows or stale or dropped or self.faults or set(late) != set(self.late)):
            return
        replaced = {row.partition for row in rows} & set(self.rows)
        with refused(self.address):
            if stale or self.faults or self._table is None:
                self._replace(fingerprint, rows, late, dropped, anew)
            elif set(late) == set(self.late) and not (replaced or dropped):
                self._write(_batch(fingerprint, rows, ()), mode="append")
            else:
                names = ", ".join(map(_quoted, sorted(replaced | dropped | {row.partition for row in rows})))
                where = "kind = 'late'" + (f" OR partition IN ({names})" if names else "")
                self._write(_batch(fingerprint, rows, late), mode="overwrite", predicate=where)
            self._tidy()
        kept = {} if stale else {n: row for n, row in self.rows.items() if n not in dropped}
        self.rows = {**kept, **{row.partition: _light(row) for row in rows}}
        self.late, self.faults = tuple(late), []

    def _replace(
        self,
        fingerprint: str,
        rows: Sequence[Checkpoint],
        late: Sequence[Late],
        dropped: set[str],
        anew: bool,
    ) -> None:
        """Write the table from what is sound of it and what is new; damaged files are no part of it."""
        replaced = dropped | {row.partition for row in rows}
        sound = [] if anew else [n for n, r in self.rows.items() if r.fingerprint == fingerprint]
        survivors = list(self.load(name for name in sound if name not in replaced).values())
        if self._unreadable:
            self._storage().delete_dir("_delta_log")
            self._unreadable = False
        self._write(_batch(fingerprint, [*survivors, *rows], late), mode="overwrite")

    def _write(self, table: pa.Table, mode: Any, **options: Any) -> None:
        if self._table is None:
            write_deltalake(self.address, table, mode=mode, configuration=CONFIGURATION, **options)
        else:
            write_deltalake(self._table, table, mode=mode, **options)
        self._table = DeltaTable(self.address)
        self.version = self._table.version()

    def _tidy(self) -> None:
        assert self._table is not None
        if self.version % COMPACT_EVERY != COMPACT_EVERY - 1:
            return
        # The commit is done: what fails here is tried again after some others.
        with suppress(DeltaError, OSError):
            self._table.optimize.compact(target_size=COMPACT_BYTES)
            # Also of files that no commit names: those of runs that were killed.
            self._table.vacuum(RETENTION_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
            self._table.cleanup_metadata()
            self.version = self._table.version()


def _columns(schema: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.type).removeprefix("large_")) for field in schema]


def _light(row: Checkpoint) -> Checkpoint:
    return replace(row, segment=None, state=None)


def _batch(fingerprint: str, rows: Iterable[Checkpoint], late: Iterable[Late]) -> pa.Table:
    ordered = sorted(rows, key=lambda row: row.partition)
    records = [*map(to_row, ordered), *(late_to_row(record, fingerprint) for record in late)]
    return pa.Table.from_pylist(records, schema=SCHEMA)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


@contextmanager
def refused(address: str) -> Iterator[None]:
    """Errors of the storage as this project's own.

    Raises:
        StorageError: the disk or the object storage refuses, or another run committed in between.
    """
    try:
        yield
    except CommitFailedError as error:
        raise StorageError(
            f"another run changed the checkpoints meanwhile: {_first_line(error)}",
            subject=address,
            fix="run it again, one run at a time",
        ) from None
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise StorageError(
            f"the checkpoints cannot be read or written: {_first_line(error)}",
            subject=address,
            fix="free space, permit writing there, or correct STREAMBOUND_CHECKPOINTS",
        ) from None
    except BaseException as error:
        # A panic of Delta's own code is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise StorageError(
            f"Delta cannot read or write the checkpoints: {str(error)[:200]}",
            subject=address,
            fix="move them away, or name another folder with STREAMBOUND_CHECKPOINTS",
        ) from None
