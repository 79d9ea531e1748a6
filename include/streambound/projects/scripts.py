"""Files of SQL in folders, with the dialect that is said beside each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from streambound.errors import QueryError
from streambound.query.registry import RegisteredQuery, metadata, read_query

# Endings of files that are read, and the dialect of those that only one processor has.
SUFFIXES = {".sql": None, ".ksql": "ksql", ".sqrl": "sqrl", ".asaql": "azure"}
# Folders in which nobody writes queries of a project.
_PASSED_OVER = frozenset(("target", "dbt_packages", "node_modules", "__pycache__"))


def read_scripts(
    paths: Iterable[Path],
    dialect_of: Callable[[Path], str | None] = lambda file: None,
    left_out: Callable[[Path], bool] = lambda file: False,
) -> tuple[RegisteredQuery, ...]:
    """The queries in files and in folders with all below them, each named by its path in its folder.

    A file that is missing or cannot be read is an entry with an error: the others still come.

    Args:
        dialect_of: what is said of a file elsewhere; a line ``-- dialect: NAME`` in it comes first.
        left_out: of the files in folders.
    """
    by_path: dict[Path, str] = {}
    for path in paths:
        for file, name in _files(path):
            if file == path or not left_out(file):
                by_path.setdefault(file, name)
    often = Counter(by_path.values())
    return tuple(
        _read(file, name if often[name] == 1 else file.with_suffix("").as_posix(), dialect_of(file))
        for file, name in by_path.items()
    )


def _files(path: Path, below: str = "") -> Iterator[tuple[Path, str]]:
    """The files at a path, by name, the folders last; with their names."""
    if not path.is_dir():
        yield path, path.stem
        return
    for item in sorted(path.iterdir(), key=lambda item: (item.is_dir(), item.name)):
        if not item.is_dir():
            if item.suffix.lower() in SUFFIXES:
                yield item, below + item.stem
        elif not (item.name.startswith(".") or item.name in _PASSED_OVER or item.is_symlink()):
            yield from _files(item, f"{below}{item.name}/")


def _read(file: Path, name: str, otherwise: str | None) -> RegisteredQuery:
    suffix = file.suffix.lower()
    if suffix and suffix not in SUFFIXES and os.path.isfile(file):
        return RegisteredQuery(name, "", file, _no_script(file))
    return with_dialect(replace(read_query(file), name=name), otherwise or SUFFIXES.get(file.suffix.lower()))


def _no_script(file: Path) -> QueryError:
    python = file.suffix.lower() == ".py"
    return QueryError(
        f"this is a {file.suffix} file, which is not read as SQL",
        subject=str(file),
        accepted=f"files that end in {', '.join(SUFFIXES)}, or folders of them",
        fix=f"write {'each query in it' if python else 'the query'} to a .sql file"
        + (", or call streambound.check(sql, catalog) there" if python else ""),
    )


def with_dialect(query: RegisteredQuery, said: str | None) -> RegisteredQuery:
    """A query with what is said elsewhere of its dialect: a line ``-- dialect: NAME`` in it comes first."""
    return replace(query, dialect=None if "dialect" in dict(metadata(query.sql)) else said)
