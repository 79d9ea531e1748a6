"""``streambound lsp``: verdicts in an editor, by the Language Server Protocol over stdin and stdout."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.check import Again, asked_of, seconds
from streambound.cli.options import add_dialect, add_engine, command
from streambound.examination.examiner import Examiner
from streambound.settings import version

if TYPE_CHECKING:
    from streambound.editor.server import Marked

# Seconds that a query may take: nobody waits longer for a mark.
TIMEOUT = 10.0


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "lsp", _lsp, "verdicts in an editor, by the Language Server Protocol")
    add_dialect(parser)
    add_engine(parser)
    parser.add_argument("--stdio", action="store_true", help="as it does anyway: many editors say so")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"that each query may take; unknown past it (default: {TIMEOUT:g})",
    )
    parser.set_defaults(criterion="exact", chosen=None)


def _lsp(options: argparse.Namespace) -> int:
    from streambound.editor.server import serve

    with Examiner() as examiner:
        examiner.start()
        serve(_Judge(options, examiner), version())
    return 0


class _Judge:
    """Decides as ``check`` does, with the catalog that it finds."""

    def __init__(self, options: argparse.Namespace, examiner: Examiner) -> None:
        self._options, self._examiner = options, examiner
        self._again = Again("editor", options, examiner)

    def marked(self, path: Path, name: str, sql: str) -> Sequence[Marked]:
        """What is shown of each query of a text."""
        from streambound.cli.queries import queries

        chosen = queries([path], self._options.catalog)[0]
        query = replace(chosen.query, name=name, sql=sql, error=None)
        request = asked_of(replace(chosen, query=query), self._options)
        return [decided.formed for decided in self._again(request)]

    def give_up(self) -> None:
        """End the decision that is being made."""
        self._examiner.interrupt()
