"""``streambound.toml``, found upwards from a file: what ``check`` would otherwise have to be told each time.

::

    catalog = "streams.yml"                # default: streams.yml beside this file, if it is there
    dialect = "flink"                      # of all files; a line -- dialect: NAME in a file comes first
    for = "flink"                          # what runs them; a line -- for: NAME in a file comes first
    dialects = {"ksql" = "ksql"}           # of a file, a folder or a pattern; the longest that fits counts
    paths = ["jobs", "views/*.sql"]        # what is checked without PATH; default: all below this file
    exclude = ["jobs/old"]
    errors = ["unbounded", "invalid"]      # what fails; default: unbounded, unknown, unsupported, invalid
    dbt = {manifest = "target/manifest.json", select = ["tag:streaming"]}

Paths are relative to the file's folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from streambound.engines import ENGINES
from streambound.errors import Location, ProjectError, QueryError, meant
from streambound.projects.scripts import read_scripts
from streambound.query.column_types import shown
from streambound.query.registry import RegisteredQuery

NAME = "streambound.toml"
# What a query may turn out to be that fails a check.
OUTCOMES = ("unbounded", "unknown", "unsupported", "invalid")
_PATTERN = re.compile(r"[*?[]")
_TOML_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True)
class Project:
    """What a ``streambound.toml`` says; ``dialects`` are patterns with what they name, the longest first."""

    file: Path
    catalog: Path | None = None
    dialect: str | None = None
    dialects: tuple[tuple[str, str], ...] = ()
    # None: all below, or beside a manifest nothing.
    paths: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    # The outcomes that fail a check; None: nobody said.
    errors: frozenset[str] | None = None
    manifest: Path | None = None
    select: tuple[str, ...] = ()
    engine: str | None = None

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self.file.parent

    def dialect_of(self, file: Path) -> str | None:
        """What is said of a file's dialect."""
        name = self._name(file)
        return next((said for pattern, said in self.dialects if _fits(name, pattern)), self.dialect)

    def left_out(self, file: Path) -> bool:
        """Whether a file is excluded."""
        name = self._name(file)
        return any(_fits(name, pattern) for pattern in self.exclude)

    def read(self, paths: Iterable[Path]) -> tuple[RegisteredQuery, ...]:
        """The queries of some paths as the project says."""
        return read_scripts(paths, self.dialect_of, self.left_out)

    def queries(self) -> tuple[RegisteredQuery, ...]:
        """The queries of the project's own paths."""
        return self.read(self._listed())

    def _listed(self) -> Iterator[Path]:
        own = () if self.manifest is not None else (".",)
        for said in own if self.paths is None else self.paths:
            if _PATTERN.search(said):
                yield from (path for path in sorted(self.folder.glob(said)) if not self.left_out(path))
            else:
                yield self.folder / said

    def _name(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.folder)).as_posix()


def _fits(name: str, pattern: str) -> bool:
    """Whether a path is one that is named, or fits a pattern, or lies in such a folder."""
    pattern = Path(pattern).as_posix()
    if pattern == ".":
        return True
    parts = name.split("/")
    return any(fnmatchcase("/".join(parts[:end]), pattern) for end in range(1, len(parts) + 1))


def project_of(path: Path) -> Project | None:
    """The project of a file or folder: of the nearest ``streambound.toml`` in its folder or above.

    Raises:
        ProjectError: it cannot be read, or says what is not understood.
    """
    start = Path(os.path.abspath(path))
    for folder in (start, *start.parents):
        # Unlike Path.is_file it never raises, for instance where a name is too long.
        if os.path.isfile(folder / NAME):
            return load_project(near(folder / NAME))
    return None


def near(file: Path) -> Path:
    """A file as a person would name it from here."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def load_project(file: Path) -> Project:
    """The project of a ``streambound.toml``.

    Raises:
        ProjectError: naming the file, the key, what was found and what is accepted.
    """
    text, said = _table(file)
    if unknown := [key for key in said if key not in _KEYS]:
        raise _wrong(
            file, text, unknown[0], f"unknown key {unknown[0]}", ", ".join(_KEYS), meant(unknown[0], _KEYS)
        )
    for key, value in said.items():
        accepted, fits = _KEYS[key]
        if not fits(value):
            raise _wrong(file, text, key, f"{key} is {shown(value)}", accepted)
    named = [("dialects", value) for value in said.get("dialects", {}).values()]
    for key, dialect in [("dialect", said.get("dialect")), *named]:
        _refuse_dialect(file, text, key, dialect)
    engine = said.get("for")
    if engine is not None and engine not in ENGINES:
        raise _wrong(file, text, "for", f"for is {engine}", ", ".join(ENGINES), meant(engine, ENGINES))
    for outcome in said.get("errors", ()):
        if outcome not in OUTCOMES:
            raise _wrong(
                file, text, "errors", f"errors has {outcome}", ", ".join(OUTCOMES), meant(outcome, OUTCOMES)
            )
    dbt = said.get("dbt", {})
    catalog = file.parent / said.get("catalog", "streams.yml")
    return Project(
        file=file,
        catalog=catalog if "catalog" in said or catalog.is_file() else None,
        dialect=said.get("dialect"),
        dialects=tuple(sorted(said.get("dialects", {}).items(), key=lambda pair: -len(pair[0]))),
        paths=tuple(said["paths"]) if "paths" in said else None,
        exclude=tuple(said.get("exclude", ())),
        errors=frozenset(said["errors"]) if "errors" in said else None,
        manifest=file.parent / dbt["manifest"] if dbt else None,
        select=tuple(dbt.get("select", ())),
        engine=engine,
    )


def _table(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = _TOML_PLACE.search(str(error))
        raise ProjectError(
            f"not valid TOML: {_TOML_PLACE.sub('', str(error))}",
            subject=str(file),
            location=Location(int(where[1]), int(where[2])) if where else None,
            text=text,
            fix="correct it at this place",
        ) from None
    except RecursionError:
        raise ProjectError("not valid TOML: nested too deeply", subject=str(file), fix="flatten it") from None
    except UnicodeDecodeError as error:
        raise ProjectError(
            f"not UTF-8 text: byte {error.start}", subject=str(file), fix="save the file as UTF-8"
        ) from None
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", subject=str(file)) from None


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text(value: Any) -> bool:
    # No path has a NUL, and the system's own error for one names no file.
    return isinstance(value, str) and bool(value) and "\0" not in value


def _is_dbt(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"manifest", "select"}:
        return False
    return _is_text(value.get("manifest")) and _is_list(value.get("select", []))


_KEYS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "catalog": ('the path of a stream catalog, such as "streams.yml"', _is_text),
    "dialect": ('the name of a dialect, such as "flink"', _is_text),
    "for": ('the name of an engine, such as "flink"', _is_text),
    "dialects": (
        'a table of paths to dialects, such as {"jobs/ksql" = "ksql"}',
        lambda value: isinstance(value, dict) and all(map(_is_text, (*value, *value.values()))),
    ),
    "paths": ('a list of paths and patterns, such as ["jobs", "views/*.sql"]', _is_list),
    "exclude": ('a list of paths and patterns, such as ["jobs/old"]', _is_list),
    "errors": (f"a list of {', '.join(OUTCOMES)}", _is_list),
    "dbt": ('{manifest = "target/manifest.json", select = ["tag:streaming"]}, select if need be', _is_dbt),
}


def _refuse_dialect(file: Path, text: str, key: str, dialect: str | None) -> None:
    if dialect is None:
        return
    # Loaded here: it takes a while, and most projects name none.
    from streambound.query.dialects.guess import language

    try:
        language(dialect)
    except QueryError as error:
        raise _wrong(file, text, key, f"{key}: {error.message}", error.accepted, error.fix) from None


def _wrong(
    file: Path, text: str, key: str, problem: str, accepted: str | None, fix: str | None = None
) -> ProjectError:
    return ProjectError(
        problem, subject=str(file), location=_location(text, key), text=text, accepted=accepted, fix=fix
    )


def _location(text: str, key: str) -> Location | None:
    """Where a key of the top level is set; TOML's reader tells no places."""
    stands = re.compile(rf"""\s*(?:\[\s*)?(["']?){re.escape(key)}\1\s*[=.\]]""")
    for number, line in enumerate(text.splitlines(), start=1):
        if stands.match(line):
            return Location(number, line.index(key) + 1, len(key))
    return None
