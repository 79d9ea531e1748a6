"""What the subcommands share of their options: the catalog, refusals, exit codes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from streambound.errors import DataError, QueryError


def command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
    """A subcommand that ``run`` carries out, with the option that every one of them has."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="stream catalog (default: the registry's)"
    )
    parser.set_defaults(run=run)
    return parser


def refuse_ignored(given: dict[str, bool], why: str) -> None:
    """Refuse options that ``--corpus`` makes meaningless; ``given`` says of each whether it is there.

    Raises:
        QueryError: naming them.
    """
    if ignored := [name for name, is_given in given.items() if is_given]:
        raise QueryError(
            f"{', '.join(ignored)} cannot be given with --corpus: {why}",
            fix=f"leave out {', '.join(ignored)}, or --corpus",
        )


def refuse_file(option: str, folder: Path | None) -> None:
    """Refuse an output folder that is a file, before anything is evaluated: that can take hours.

    Raises:
        DataError: naming the option and the file.
    """
    for place in () if folder is None else (folder, *folder.parents):
        if os.path.exists(place) and not os.path.isdir(place):
            raise DataError(
                f"{option}: {place} is a file", accepted="a folder; it is made if need be", fix="name another"
            )


def exit_code(verdicts: Iterable[str]) -> int:
    """2 if a query is invalid, 1 if one is unbounded or unknown, else 0."""
    seen = set(verdicts)
    return 2 if "invalid" in seen else 1 if seen - {"bounded"} else 0
