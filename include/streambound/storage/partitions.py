"""The partitions of a history on disk: what is there, and what was asked for and is not."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streambound import settings
from streambound.errors import DataError, meant
from streambound.query.column_types import Family
from streambound.query.model import TABLE, TICKS, Relation, RelationKind
from streambound.query.statement import Statement

# The one partition of a history whose files lie directly in its folder.
WHOLE = "all"
# What the job ingest_flights writes: path and partition key, by the name of the relation.
INGESTED: dict[str, tuple[str, str | None]] = {
    **{name: (name, "date") for name in ("departures", "arrivals", "cancellations", "weather")},
    **{name: (name, None) for name in ("planes", "airports", "airlines")},
    **{name: (f"abstract_{name.lower()}", "part") for name in ("S", "T")},
}
# How many folders and files a message looks at.
_LOOKED_AT = 100
# What rows lie in that are not read as they are.
_FOREIGN_FORMATS = (".csv", ".json", ".jsonl", ".avro", ".txt", ".gz", ".orc", ".xlsx")
# The key whose values are UTC days; those of any other key are compared as text.
DAYS = "date"
# So many names in a folder are told.
_NAMED = 3
# Python's own parser would also take 20130131 and 2013-W05-4, which no folder is named.
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Partition:
    """A partition by name (the text after ``key=``) and its files; none if it is missing.

    ``content`` is an identity of what is in it, where it is known; a partition of a table has no files.
    """

    name: str
    files: tuple[Path, ...]
    content: str | None = None


@dataclass(frozen=True)
class PartitionRange:
    """Partitions from ``first`` to ``last``, included; None or empty leaves an end open.

    An end is a day, a timestamp (which means its UTC day), or the name of a partition. Days choose from
    histories partitioned by date; histories with another key are then read whole.

    Raises:
        DataError: the range ends before it starts.
    """

    first: str | None = None
    last: str | None = None
    _days: tuple[dt.date | None, dt.date | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first, last = (day_of(end) if end else None for end in (self.first, self.last))
        object.__setattr__(self, "_days", (first, last))
        both = bool(self.first and self.last)
        backward = last < first if first and last else both and str(self.last) < str(self.first)
        if backward:
            raise DataError(
                f"the range ends at {self.last} but starts at {self.first}", fix="exchange the two ends"
            )

    def __str__(self) -> str:
        return f"from {self.first or 'the first'} to {self.last or 'the last'}"

    def holds(self, key: str | None, name: str) -> bool:
        """Whether a partition is in the range.

        Raises:
            DataError: days are to be chosen, and an end is none.
        """
        if key is None or not (self.first or self.last):
            return True
        if key == DAYS:
            low, high = self.days()
            if not _is_day(name):
                # It may hold rows of any day: it is in every range until it is refused or excluded.
                return True
            day = dt.date.fromisoformat(name)
            return (low is None or low <= day) and (high is None or day <= high)
        if any(self._days):
            return True
        return (not self.first or self.first <= name) and (not self.last or name <= self.last)

    def days(self) -> tuple[dt.date | None, dt.date | None]:
        """The first and the last day; None for an open end.

        Raises:
            DataError: an end is no day.
        """
        for option, end, day in zip(("from", "to"), (self.first, self.last), self._days, strict=True):
            if end and day is None:
                raise DataError(
                    f"{option} is {end!r}, which is no day",
                    accepted="a UTC day such as 2013-01-31, or a timestamp, which means its day",
                    fix=f"write {option} as YYYY-MM-DD",
                )
        return self._days


def day_of(text: str) -> dt.date | None:
    """The UTC day that a day or a timestamp names; None if the text is neither."""
    text = text.strip()
    if not _DAY.match(text):
        return None
    try:
        if _DAY.fullmatch(text):
            return dt.date.fromisoformat(text)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment.astimezone(dt.UTC) if moment.tzinfo else moment).date()


Listing = Callable[[Relation], tuple[Partition, ...]]


def partitions_in(
    relation: Relation, chosen: PartitionRange, listing: Listing | None = None
) -> tuple[Partition, ...]:
    """The partitions of a relation's history that are in a range, in order of their names; may be none.

    Raises:
        DataError: no history is declared, there is nothing in it, or an end of the range is no day.
    """
    key = relation.history.partition_by if relation.history else None
    partitions = (listing or find_partitions)(relation)
    return tuple(part for part in partitions if chosen.holds(key, part.name))


def choose_partitions(
    relation: Relation, chosen: PartitionRange, excluded: Collection[str] = (), listing: Listing | None = None
) -> tuple[Partition, ...]:
    """The partitions to be read of a stream: those in the range, without the excluded.

    ``listing`` lists a history once for many queries; by default the folder is looked at.

    A folder in which nothing lies is a partition without rows, and is left out. None are left if all in the
    range are excluded, which the caller tells.

    Raises:
        DataError: no partition is in the range at all, or one of them has files of another kind only or is
            named after no day where days are declared.
    """
    partitions = partitions_in(relation, chosen, listing)
    if not partitions:
        raise DataError(
            f"stream {relation.name} has no partition {chosen}", fix="choose another range (--from, --to)"
        )
    left = tuple(part for part in partitions if part.name not in excluded)
    for part in left:
        require_sound(relation, part)
    return tuple(part for part in left if part.files or _in_table(relation))


def require_sound(relation: Relation, part: Partition) -> None:
    """Refuse a partition that cannot be read for its name, or for what lies in it instead of its files.

    Raises:
        DataError: it has files of another kind only, or is named after no day where days are declared.
    """
    key = relation.history.partition_by if relation.history else None
    if key == DAYS and not _is_day(part.name):
        raise DataError(
            f"partition {part.name} is no day",
            subject=f"stream {relation.name}",
            accepted=f"{key}=2013-01-31",
            fix=f"rename the folder {key}={part.name}, or move it elsewhere",
        )
    if part.files or _in_table(relation):
        return
    folder = _located(relation) / (f"{key}={part.name}" if key else "")
    if instead := _instead(folder):
        suffix = _suffix(relation)
        raise DataError(
            f"partition {part.name} has no {'Parquet ' if suffix else ''}files: {instead}",
            subject=f"stream {relation.name}",
            accepted=f"*{suffix} files; names that begin with . or _ are not read",
            fix="write the partition again, or remove its folder",
        )


def _in_table(relation: Relation) -> bool:
    return relation.history is not None and relation.history.format == TABLE


def _instead(folder: Path) -> str:
    """What is in the folder of a partition without files, in words; nothing if it is empty."""
    try:
        names = sorted(name for name in os.listdir(folder) if name[0] not in "._")
    except OSError as error:
        return f"{folder} cannot be listed: {error.strerror}"
    more = ", ..." if len(names) > _NAMED else ""
    return f"found {', '.join(names[:_NAMED])}{more}" if names else ""


def shared_partition_key(statement: Statement) -> str | None:
    """The partition key of all streams of a query; None if their files lie directly in their folders.

    Raises:
        DataError: they have different ones: partitions of a run are taken in together, by name. Or a rate is
            declared whose intervals may lie in several partitions, each of which is counted by itself.
    """
    refuse_uncounted(statement)
    arriving = (r for r in statement.scanned if r.kind is not RelationKind.STATIC)
    keys = {relation.name: relation.history.partition_by for relation in arriving if relation.history}
    if len(set(keys.values())) > 1:
        listed = ", ".join(f"{name} by {key or 'nothing'}" for name, key in sorted(keys.items()))
        raise DataError(
            f"its streams are partitioned differently: {listed}",
            subject=statement.name,
            accepted="streams with the same partition_by",
            fix="write the histories of these streams with one partition key",
        )
    return next(iter(keys.values()), None)


def refuse_uncounted(statement: Statement) -> None:
    """Refuse rates that are checked nowhere: a promise is never taken for granted in evaluation.

    Raises:
        DataError: naming the stream.
    """
    for relation in (r for r in statement.scanned if r.kind is not RelationKind.STATIC):
        history, rate = relation.history, relation.rate
        if history is not None:
            refuse_promises(statement, relation)
        if rate is None or history is None or not statement.reads_time(relation):
            continue
        if not history.direct:
            raise DataError(
                f"the rate of {relation.name} is counted in Parquet files only, and its history is"
                f" {'a table' if history.format == TABLE else history.format}",
                subject=statement.name,
                fix="declare max_rows_per_timestamp instead of rate",
            )
        dated = history.partition_by == DAYS and TICKS["day"] % rate.length == 0
        stamped = relation.column(str(relation.timestamp)).type.family is Family.TIMESTAMP
        if history.partition_by is not None and not (dated and stamped):
            raise DataError(
                f"the rate of {relation.name} per {rate.per} may go across its partitions by"
                f" {history.partition_by}, where it is not counted",
                subject=statement.name,
                accepted="partition_by: date with intervals that divide a day, or no partitions",
                fix="declare max_rows_per_timestamp instead of rate, or one per hour or day",
            )


def refuse_promises(statement: Statement, relation: Relation) -> None:
    """Refuse to read columns with promises that are checked on events alone.

    Raises:
        DataError: naming the first of them.
    """
    for name in sorted(statement.reads(relation)):
        if (promise := relation.column(name).uncounted) is not None:
            raise DataError(
                f"what {promise} says of {relation.name}.{name} is not checked where rows are stored, so it"
                " would be taken for granted",
                subject=statement.name,
                accepted="domains, not_null, granularity, max_rows_per_timestamp and rate",
                fix=f"leave it out of {promise} to evaluate the query",
            )


def partition_day(relation: Relation, files: Sequence[object]) -> str | None:
    """What names the partition by date of some files, where a rate is declared; None elsewhere."""
    history = relation.history
    if relation.rate is None or history is None or history.partition_by != DAYS or not files:
        return None
    folders = Path(str(files[0])).parts[:-1]
    return next((f.removeprefix(f"{DAYS}=") for f in reversed(folders) if f.startswith(f"{DAYS}=")), None)


def _is_day(name: str) -> bool:
    return bool(_DAY.fullmatch(name)) and day_of(name) is not None


def find_partitions(relation: Relation, names: Sequence[str] | None = None) -> tuple[Partition, ...]:
    """The partitions of a relation's history in order of their names; ``names`` chooses some.

    A chosen partition that does not exist is there without files, so that it is reported.

    Raises:
        DataError: no history is declared, its folder is missing, or there is nothing in it.
    """
    return _chosen(relation, history_folder(relation), names)


def folder_partitions(relation: Relation) -> tuple[Partition, ...]:
    """The partitions of a history in files of any format, in order of their names.

    Raises:
        DataError: its folder is missing, or there is nothing in it.
    """
    return _chosen(relation, _located(relation), None)


def _chosen(relation: Relation, folder: Path, names: Sequence[str] | None) -> tuple[Partition, ...]:
    by_name = _partitions_by_name(folder, relation)
    if not any(partition.files for partition in by_name.values()):
        kind = "Parquet files" if _suffix(relation) else "files"
        raise _error(relation, folder, f"has no {kind}: found {_there(folder)}", _layout(relation))
    if names is not None and not names:
        raise _error(relation, folder, "was asked for no partition", ", ".join(sorted(by_name)[:3]) + ", ...")
    chosen = sorted(by_name if names is None else set(names))
    return tuple(by_name.get(name, Partition(name, ())) for name in chosen)


def present_partitions(relation: Relation) -> tuple[Partition, ...]:
    """The partitions that have files by now, in order of their names; there may be none yet.

    Raises:
        DataError: no history is declared, or its folder is missing.
    """
    by_name = _partitions_by_name(history_folder(relation), relation)
    return tuple(by_name[name] for name in sorted(by_name) if by_name[name].files)


def history_folder(relation: Relation) -> Path:
    """The folder of the relation's history.

    Raises:
        DataError: none is declared, only Spark reads it, it is not local, or it does not exist.
    """
    if relation.history is not None and not relation.history.direct:
        kind = relation.history.format
        what = "a table of Spark" if kind == TABLE else f"files of the format {kind}"
        raise DataError(
            f"the history of stream {relation.name} is {what}, which only Spark reads",
            accepted="Parquet files, where no Spark session evaluates the query over its history",
            fix="use streambound run --engine spark, or write the history as Parquet",
        )
    return _located(relation)


def _located(relation: Relation) -> Path:
    if relation.history is None:
        raise DataError(
            f"stream {relation.name} declares no history",
            fix=f"add history: {{path: {relation.name}, partition_by: date}} to it in the stream catalog",
        )
    address = settings.history_path(relation.history.path)
    if "://" in address:
        raise DataError(
            f"stream {relation.name}: {address} is not a local folder",
            accepted="a folder on this machine",
        )
    folder = Path(address)
    if not folder.is_dir():
        raise _error(relation, folder, "is a file" if folder.exists() else "is missing", _layout(relation))
    return folder


def _partitions_by_name(folder: Path, relation: Relation) -> dict[str, Partition]:
    key = relation.history.partition_by if relation.history else None
    if key is None:
        return {WHOLE: Partition(WHOLE, _files(folder, _suffix(relation)))}
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if e.name.startswith(f"{key}=") and e.is_dir())
    folders = ((n.removeprefix(f"{key}="), folder / n) for n in names)
    return {name: Partition(name, _files(path, _suffix(relation))) for name, path in folders}


def _suffix(relation: Relation) -> str:
    """What names of files end in: where Spark reads them, it reads all."""
    return ".parquet" if relation.history is None or relation.history.direct else ""


def _files(folder: Path, suffix: str) -> tuple[Path, ...]:
    # Writers hide what they have not finished behind a leading dot or underscore.
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(suffix) and (suffix or e.is_file()))
    except OSError:
        # Removed since it was listed, or not to be read: there without files, so that it is reported.
        return ()
    return tuple(folder / n for n in names if n[0] not in "._")


def _layout(relation: Relation) -> str:
    key = relation.history.partition_by if relation.history else None
    files = f"*{_suffix(relation)} files"
    return f"folders {key}=... with {files}" if key else files


def _error(relation: Relation, folder: Path, what: str, accepted: str) -> DataError:
    return DataError(
        f"the history of stream {relation.name} {what}",
        subject=str(folder),
        accepted=accepted,
        fix=_fix(relation, folder),
    )


def _fix(relation: Relation, folder: Path) -> str:
    """How to come by a history: what lies in its folder, or beside it, may be it in another form."""
    key = relation.history.partition_by if relation.history else None
    folders, files = _entries(folder)
    keys = sorted({name.partition("=")[0] for name in folders if "=" in name})
    strangers = [name for name in [*_below(folder, folders), *files] if not name.endswith(".parquet")]
    inner, lowest = _entries(folder / folders[0]) if folders else ([], [])
    if keys and not lowest and any("=" in name for name in inner):
        return "put the files into one level of folders, such as date=2026-01-31"
    if keys and key not in keys:
        return f"add partition_by: {keys[0]} to its history in the stream catalog"
    if key is not None and any(name.endswith(".parquet") for name in files):
        return f"leave out partition_by, or put the files into folders {key}=..."
    if any(name.endswith(_FOREIGN_FORMATS) for name in strangers):
        return (
            "write the rows as Parquet, or register a table or view of them in Spark and name it with table"
        )
    if folders:
        where = f"folders {key}=..." if key else "the folder itself"
        return f"put the files into {where}, or let history: path name the folder in which they lie"
    own = not (settings.demo() and _ingested(relation))
    missing = (
        f"run {'the job that writes this stream' if own else 'ingest_flights'}, or correct history: path"
    )
    if own and relation.history is not None and not Path(relation.history.path).is_absolute():
        missing += ", or name the folder that it lies in with --input"
    return meant(folder.name, [] if folder.exists() else _entries(folder.parent)[0], missing) or missing


def _ingested(relation: Relation) -> bool:
    """Whether a relation is one of those that the job ingest_flights writes."""
    history = relation.history
    return history is not None and (history.path, history.partition_by) == INGESTED.get(relation.name)


def _entries(folder: Path) -> tuple[list[str], list[str]]:
    """Folders and files of a folder, the first of each; none of one that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            seen = [(e.is_dir(), e.name) for e in entries if e.name[0] not in "._"]
    except OSError:
        return [], []
    folders = sorted(name for is_folder, name in seen if is_folder)
    return folders[:_LOOKED_AT], sorted(name for is_folder, name in seen if not is_folder)[:_LOOKED_AT]


def _below(folder: Path, folders: Sequence[str]) -> list[str]:
    """The files of the first folder of some."""
    return _entries(folder / folders[0])[1] if folders else []


def _there(folder: Path) -> str:
    """What lies in a folder, in words."""
    folders, files = _entries(folder)
    listed = [_named("folder", folders), _named("file", files)]
    if folders:
        inner, below = _entries(folder / folders[0])
        deeper = " and ".join(filter(None, [_named("folder", inner), _named("file", below)]))
        listed[0] += f" (in {folders[0]}: {deeper or 'nothing'})"
    return " and ".join(filter(None, listed)) or "nothing"


def _named(kind: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = ", ..." if len(names) > 3 else ""
    return f"the {kind}{'s' if len(names) > 1 else ''} {', '.join(names[:3])}{more}"
