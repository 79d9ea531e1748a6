"""The library on its way to executors: an archive that Spark hands to each of them.

Executors need the packages of the lock, at the path that the driver's Python has; this library they get from
the driver, of its release, whatever is installed where they run.
"""

from __future__ import annotations

import atexit
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from streambound.tasks.scratch import scratch

if TYPE_CHECKING:
    from pyspark import SparkContext

ARCHIVE = "streambound.zip"


def beside(master: str) -> bool:
    """Whether tasks run beside the driver, and import what it imports."""
    return master == "local" or master.startswith("local[")


def ship(context: SparkContext) -> None:
    """Hand the library to the executors of this application, those that start later included."""
    if not beside(str(context.master)) and not any(
        file.endswith(f"/{ARCHIVE}") for file in context.listFiles
    ):
        context.addPyFile(str(packed()))


@cache
def packed() -> Path:
    """The archive of this library's modules; removed when the process ends."""
    exit_stack = ExitStack()
    path = exit_stack.enter_context(scratch()) / ARCHIVE
    atexit.register(exit_stack.close)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, module in _modules(files("streambound"), "streambound"):
            archive.writestr(name, module.read_bytes())
    return path


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        inside = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _modules(entry, inside)
        elif entry.name.endswith(".py"):
            yield inside, entry
