"""Kernels: functions that numba compiles, once a machine.

The compiled code is kept on disk below a digest of every source of this room. Numba's own cache looks only
at the file of the outermost function, and would go on with the old code of a helper that has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

# Its attributes are set when numba is loaded, so no stub knows them.
config: Any = numba.config
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """``function`` compiled by numba when it is first called; arrays in, arrays filled in place.

    It runs without Python's lock, so that threads run kernels at the same time.
    """
    kept = config.CACHE_DIR
    folder = _folder()
    if folder is None:
        return cast(Function, numba.njit(nogil=True)(function))
    try:
        config.CACHE_DIR = folder
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    finally:
        config.CACHE_DIR = kept


@cache
def _folder() -> str | None:
    """Where compiled code is kept; None if nothing can be written there."""
    below = config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(below) / "streambound" / _digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def _digest() -> str:
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
