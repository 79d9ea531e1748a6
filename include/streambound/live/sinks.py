"""Answers of a live query to where others read them: a Delta table here, other sinks in ``spark.live``.

A sink takes the new answers of each micro-batch once its file is written (``answers``): as changes, a row for
each new answer with its number, negative where it is taken back, or as upserts by key, one row a key with its
newest answer and how many more there are. Each row says which micro-batch told of it (``epoch``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from streambound import settings
from streambound.errors import QueryError, StorageError
from streambound.live.answers import EPOCH
from streambound.tasks import emit

DELTA = "delta"
_POSITION = "streambound place"


@dataclass(frozen=True)
class Into:
    """Where answers go beside their files: a format with its options, and the columns of the key of upserts
    (none: changes)."""

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()


class Sink(Protocol):
    """What takes in the answers of micro-batches."""

    def put(self, epoch: int, answers: pa.Table, marker: str | None = None) -> None:
        """Take in what a micro-batch answered; it may be told again after a failure.

        Args:
            marker: the column of the time at which an answer was new.

        Raises:
            StorageError: the sink refuses.
        """


def require_key(key: Sequence[str], schema: pa.Schema, name: str) -> None:
    """Refuse a key that is not of answers.

    Raises:
        QueryError: naming the column.
    """
    columns = [column for column in schema.names if column != emit.COUNT]
    if unknown := [column for column in key if column not in columns]:
        raise QueryError(
            f"--key names {', '.join(unknown)}, which the answers do not have",
            subject=name,
            accepted=", ".join(columns),
        )


def marked(answers: pa.Table, epoch: int) -> pa.Table:
    """Answers with the number of their micro-batch, numbered where SELECT has its name."""
    name, again, taken = EPOCH, 2, {column.lower() for column in answers.column_names}
    while name in taken:
        name, again = f"{EPOCH}_{again}", again + 1
    return answers.append_column(name, pa.array([epoch] * answers.num_rows, pa.int64()))


def newest(answers: pa.Table, key: Sequence[str], marker: str | None = None) -> pa.Table:
    """One row a key: the last of its answers, which are in order of time, with the number of all.

    Of a key that has no answer any more it is one that was taken back, and the number is negative.
    """
    taken_back = pc.less(answers[emit.COUNT], pa.scalar(Decimal(0), emit.COUNTS))
    if pc.any(taken_back).as_py():
        # What came and went within the micro-batch is not told; what came is newer than what went.
        columns = [name for name in answers.column_names if name not in (emit.COUNT, marker)]
        answers = _last_of(answers, columns)
        kept = pc.not_equal(answers[emit.COUNT], pa.scalar(Decimal(0), emit.COUNTS))
        answers = answers.filter(kept)
        came = pc.greater(answers[emit.COUNT], pa.scalar(Decimal(0), emit.COUNTS))
        answers = pa.concat_tables([answers.filter(pc.invert(came)), answers.filter(came)])
    return _last_of(answers, key)


def _last_of(answers: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Of rows that are equal in some columns the last, with the number of all."""
    placed = answers.append_column(_POSITION, pa.array(range(answers.num_rows), pa.int64()))
    last = placed.group_by(list(columns)).aggregate([(_POSITION, "max"), (emit.COUNT, "sum")])
    last = last.sort_by(f"{_POSITION}_max")
    at = answers.schema.get_field_index(emit.COUNT)
    counts = last[f"{emit.COUNT}_sum"].cast(emit.COUNTS)
    return answers.take(last[f"{_POSITION}_max"]).set_column(at, answers.schema.field(at), counts)


class DeltaSink:
    """A Delta table, in which each micro-batch is one commit; once it is there it is not made again.

    Without a key rows are appended. With one the row of a key has its newest answer, and ``count`` is the
    number of all answers with that key; a key without answers has no row.
    """

    def __init__(self, into: Into, run: str) -> None:
        """
        Args:
            run: names this query from its beginning on, over all its starts.

        Raises:
            QueryError: no path is given.
            DataError: Delta would keep the table elsewhere.
        """
        options = dict(into.options)
        if (path := options.pop("path", None)) is None:
            raise QueryError(
                "--into delta needs the table's folder or address", fix="add --into-option path=DIR"
            )
        # What is no address is a folder, from wherever the command runs.
        self.address = settings.plain(path if "://" in path else str(Path(path).absolute()))
        self.storage, self.key, self.run = options, into.key, f"streambound {run}"

    def put(self, epoch: int, answers: pa.Table, marker: str | None = None) -> None:
        """Append the answers of an epoch (see ``Sink``).

        Raises:
            StorageError: the table does not take them.
        """
        try:
            self._put(epoch, answers, marker)
        except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
            raise StorageError(
                f"the Delta table does not take the answers: {str(error).splitlines()[0]}",
                subject=self.address,
                fix="mend it or name another with --into-option path=DIR, and start again: it goes on there",
            ) from None

    def _put(self, epoch: int, answers: pa.Table, marker: str | None) -> None:
        there = DeltaTable.is_deltatable(self.address, self.storage)
        table = DeltaTable(self.address, storage_options=self.storage) if there else None
        done = None if table is None else table.transaction_version(self.run)
        if done is not None and done >= epoch:
            return
        rows = marked(newest(answers, self.key, marker) if self.key else answers, epoch)
        once = CommitProperties(app_transactions=[Transaction(self.run, epoch)])
        if table is None or not self.key:
            write_deltalake(
                self.address, rows, mode="append", storage_options=self.storage, commit_properties=once
            )
            return
        same = " AND ".join(
            f"({_in('old', name)} IS NOT DISTINCT FROM {_in('new', name)})" for name in self.key
        )
        updates = {f'"{_quoted(name)}"': _in("new", name) for name in rows.column_names}
        updates[f'"{emit.COUNT}"'] = f"{_in('old', emit.COUNT)} + {_in('new', emit.COUNT)}"
        merge = table.merge(rows, same, source_alias="new", target_alias="old", commit_properties=once)
        number = updates[f'"{emit.COUNT}"']
        merge = merge.when_matched_delete(f"{number} = 0").when_matched_update(updates)
        merge.when_not_matched_insert_all().execute()


def _in(alias: str, column: str) -> str:
    return f'{alias}."{_quoted(column)}"'


def _quoted(name: str) -> str:
    return name.replace('"', '""')
