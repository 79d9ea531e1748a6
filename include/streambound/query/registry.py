"""Files of queries: their text, the lines that lead it, and which of them a text may name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streambound.errors import QueryError, StreamboundError, meant
from streambound.query.catalog import NamedQuery

_METADATA = re.compile(r"--\s*([A-Za-z][\w-]*(?: [\w-]+)*)\s*:\s*(.*\S)\s*$")


@dataclass(frozen=True)
class RegisteredQuery:
    """A query file: its name (the file's, without .sql), its text and where it lies.

    ``error`` says why the file cannot be read; its text is empty then. ``dialect`` is what is said beside the
    text, ``query`` which one is meant, of a text of several, and ``mode`` how its answers are told (see
    ``modes``).
    """

    name: str
    sql: str
    path: Path
    error: StreamboundError | None = None
    dialect: str | None = None
    query: str | None = None
    mode: str | None = None


def named(queries: Iterable[RegisteredQuery]) -> tuple[NamedQuery, ...]:
    """Queries as a catalog names them, by their files; without those that cannot be read or told apart."""
    by_name: dict[str, list[RegisteredQuery]] = {}
    for registered_query in queries:
        if registered_query.error is None:
            by_name.setdefault(registered_query.path.stem.lower(), []).append(registered_query)
    alone = (several[0] for several in by_name.values() if len(several) == 1)
    return tuple(NamedQuery(query.path.stem, query.sql, query.dialect) for query in alone)


class Mentions:
    """Which of some queries a text may read: those of which the name is in it, and what they may read."""

    def __init__(self, queries: Iterable[NamedQuery]) -> None:
        self._by_word: dict[str, list[tuple[str, NamedQuery]]] = {}
        for named_query in queries:
            name = named_query.name.rpartition(".")[2].lower()
            self._by_word.setdefault(max(_words(name), key=len, default=""), []).append((name, named_query))

    def of(self, sql: str) -> tuple[NamedQuery, ...]:
        """The queries, in no order that means anything."""
        mentioned: dict[int, NamedQuery] = {}
        waiting = [sql] if self._by_word else []
        while waiting:
            text = waiting.pop().lower()
            for word in {"", *_words(text)} & set(self._by_word):
                for name, named_query in self._by_word[word]:
                    if name in text and id(named_query) not in mentioned:
                        mentioned[id(named_query)] = named_query
                        waiting.append(named_query.sql)
        return tuple(mentioned.values())


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def read_queries(paths: Iterable[Path]) -> tuple[RegisteredQuery, ...]:
    """The queries in .sql files and in folders of them, sorted by name within each path.

    A file that is missing or cannot be read is an entry with an error: the others still come.
    """
    files: list[Path] = []
    for path in paths:
        # Unlike Path.is_dir it never raises, for instance where a name is too long.
        if os.path.isdir(path):
            files.extend(sorted(path.glob("*.sql")))
        else:
            files.append(path)
    return tuple(read_query(file) for file in files)


def read_query(file: Path) -> RegisteredQuery:
    """The query in one file; an entry with an error if it cannot be read."""
    try:
        return RegisteredQuery(file.stem, _utf8_of(file), file)
    except QueryError as error:
        return RegisteredQuery(file.stem, "", file, error)


def _utf8_of(file: Path) -> str:
    try:
        # Editors on Windows begin a file with a byte order mark, which is no SQL.
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(
            f"not UTF-8 text: byte {error.start}", subject=str(file), fix="save the file as UTF-8"
        ) from None
    except IsADirectoryError:
        raise QueryError(
            "this is a folder", subject=str(file), accepted="one .sql file a query", fix="rename the folder"
        ) from None
    except OSError as error:
        beside = [path.name for path in file.parent.glob("*.sql")] if file.parent.is_dir() else []
        raise QueryError(
            f"cannot be read: {error.strerror}",
            subject=str(file),
            accepted="a .sql file or a folder of them",
            fix=meant(file.name, beside),
        ) from None
    # PostgreSQL takes it in no text: the verdict could not be recorded.
    if "\0" in text:
        raise QueryError(f"not text: byte {text.index(chr(0))} is NUL", subject=str(file), fix="remove it")
    return text


def metadata(sql: str) -> tuple[tuple[str, str], ...]:
    """The ``-- key: value`` lines of the leading comment block, in order."""
    pairs = []
    for line in sql.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if match := _METADATA.match(line.strip()):
            pairs.append((match[1].lower(), match[2]))
    return tuple(pairs)
