"""Kernels: functions that numba compiles, once a machine.

The compiled code is kept on disk below a digest of every source of this room and of the function's own.
Numba's own cache looks only at the file of the outermost function, and would go on with the old code of a
helper that has changed. It also tells archives apart by their paths, and so would compile anew in each Spark
application.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import _CacheLocator

# Its attributes are set when numba is loaded, so no stub knows them.
config: Any = numba.config
Function = TypeVar("Function", bound=Callable[..., Any])


# A function that is compiled may load modules that have kernels.
_CHOOSING = RLock()


def kernel(function: Function) -> Function:
    """``function`` compiled by numba when it is first called; arrays in, arrays filled in place.

    It runs without Python's lock, so that threads run kernels at the same time.
    """
    return cast(Function, _kept(function, numba.njit, nogil=True))


def callback(function: Callable[..., Any], signature: Any) -> Any:
    """``function`` compiled now, for kernels to be handed: one kernel takes all functions of a signature."""
    return _kept(function, numba.cfunc, signature)


def _kept(function: Callable[..., Any], compiler: Any, *how: Any, **more: Any) -> Any:
    """A function compiled, and kept on disk where something can be written there."""
    if _folder(_room(function.__module__)) is None:
        return compiler(*how, **more)(function)
    with _CHOOSING:
        kept = config.CACHE_LOCATOR_CLASSES
        try:
            config.CACHE_LOCATOR_CLASSES = f"{__name__}.{SourcesLocator.__name__}"
            return compiler(*how, cache=True, **more)(function)
        finally:
            config.CACHE_LOCATOR_CLASSES = kept


class SourcesLocator(_CacheLocator):
    """Where numba keeps the compiled code of a kernel: a folder a module, below that of these sources."""

    def __init__(self, module: str, line: int, source: bytes) -> None:
        self._module, self._line, self._source = module, line, source

    def get_cache_path(self) -> str:
        """The folder."""
        return str(Path(_folder(_room(self._module)) or "") / self._module)

    def get_source_stamp(self) -> str:
        """What makes compiled code void beside a change of its room; a kernel may be in none."""
        return hashlib.sha256(self._source).hexdigest()

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> SourcesLocator:
        """The locator of a function in a source file, on a disk or in an archive."""
        source = function.__globals__["__loader__"].get_data(file)
        locator = cls(function.__module__, function.__code__.co_firstlineno, source)
        Path(locator.get_cache_path()).mkdir(parents=True, exist_ok=True)
        return locator


def _room(module: str) -> str:
    """The room of a module; of one outside the library, that of kernels."""
    library, *inside = module.split(".")
    here = __name__.split(".")
    return f"{library}.{inside[0]}" if library == here[0] and inside else ".".join(here[:2])


@cache
def _folder(room: str) -> str | None:
    """Where compiled code is kept; None if nothing can be written there."""
    below = config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(below) / "streambound" / _digest(room)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


@cache
def _digest(room: str) -> str:
    hasher = hashlib.sha256()
    for each in sorted({_room(__name__), room}):
        for module in _sources(files(each)):
            hasher.update(module.read_bytes())
    return hasher.hexdigest()[:16]


def _sources(folder: Traversable) -> list[Traversable]:
    # Not by the paths of files: executors of Spark have the library in an archive.
    traversables: list[Traversable] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            traversables += _sources(entry)
        elif entry.name.endswith(".py"):
            traversables.append(entry)
    return traversables
