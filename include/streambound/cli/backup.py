"""``streambound backup`` and ``restore``: registry, results, checkpoints and answers as one folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.backup.manifest import PARTS

if TYPE_CHECKING:
    from streambound.backup.manifest import Manifest

UNITS = ("bytes", "kB", "MB", "GB", "TB")


def add_parser(commands: Any) -> None:
    """Add the subcommands."""
    _add(commands, "backup", _backup, "write registry, results, checkpoints and answers into a new folder")
    _add(commands, "restore", _restore, "put a backup where the settings say; nothing is overwritten")


def _add(commands: Any, name: str, run: Any, text: str) -> None:
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of the backup")
    parser.add_argument("--only", nargs="+", default=[], choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.set_defaults(run=run, parser=parser)


def _backup(options: argparse.Namespace) -> int:
    from streambound.backup.saving import save

    parts = [part for part in PARTS if part in options.only or not options.only]
    manifest = save(options.folder, parts, partial(print, file=sys.stderr, flush=True))
    return _printed(manifest, f"backup written to {options.folder}")


def _restore(options: argparse.Namespace) -> int:
    from streambound.backup.restoring import restore

    manifest = restore(options.folder, options.only)
    return _printed(manifest, f"restored from the backup of {manifest.made}")


def _printed(manifest: Manifest, last: str) -> int:
    print("\n".join(_lines(manifest)))
    print(last)
    return 0


def _lines(manifest: Manifest) -> Iterator[str]:
    for part in PARTS:
        entries = manifest.of(part).values()
        count = f"{len(entries):,} file{'' if len(entries) == 1 else 's'}"
        yield f"{part:<12} {count:>14} {_size(sum(entry.bytes for entry in entries)):>10}"


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {UNITS[unit]}" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
