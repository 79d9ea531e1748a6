"""The partitions of a history on disk: what is there, and what was asked for and is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streambound import settings
from streambound.errors import DataError
from streambound.query.model import Relation

# The one partition of a history whose files lie directly in its folder.
WHOLE = "all"


@dataclass(frozen=True)
class Partition:
    """A partition by name (the text after ``key=``) and its Parquet files; none if it is missing."""

    name: str
    files: tuple[Path, ...]


def find_partitions(relation: Relation, names: Sequence[str] | None = None) -> tuple[Partition, ...]:
    """The partitions of a relation's history in order of their names; ``names`` chooses some.

    A chosen partition that does not exist is there without files, so that it is reported.

    Raises:
        DataError: no history is declared, its folder is missing, or there is nothing in it.
    """
    folder = history_folder(relation)
    found = _found(folder, relation)
    if not any(partition.files for partition in found.values()):
        raise _error(relation, folder, "has no Parquet files", _layout(relation))
    if names is not None and not names:
        raise _error(relation, folder, "was asked for no partition", ", ".join(sorted(found)[:3]) + ", ...")
    chosen = sorted(found if names is None else set(names))
    return tuple(found.get(name, Partition(name, ())) for name in chosen)


def history_folder(relation: Relation) -> Path:
    """The folder of the relation's history.

    Raises:
        DataError: none is declared, it is not local, or it does not exist.
    """
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
        raise _error(relation, folder, "is missing", _layout(relation))
    return folder


def _found(folder: Path, relation: Relation) -> dict[str, Partition]:
    key = relation.history.partition_by if relation.history else None
    if key is None:
        return {WHOLE: Partition(WHOLE, _parquet(folder))}
    names = {path.name.removeprefix(f"{key}="): path for path in folder.glob(f"{key}=*") if path.is_dir()}
    return {name: Partition(name, _parquet(path)) for name, path in names.items()}


def _parquet(folder: Path) -> tuple[Path, ...]:
    # Writers hide what they have not finished behind a leading dot or underscore.
    return tuple(sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._"))


def _layout(relation: Relation) -> str:
    key = relation.history.partition_by if relation.history else None
    return f"folders {key}=... with *.parquet files" if key else "*.parquet files"


def _error(relation: Relation, folder: Path, what: str, accepted: str) -> DataError:
    return DataError(
        f"the history of stream {relation.name} {what}",
        subject=str(folder),
        accepted=accepted,
        fix="run the job that writes this stream (ingest_flights for the flights), or correct history: path",
    )
