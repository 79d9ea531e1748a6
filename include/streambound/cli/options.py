"""What the subcommands share of their options: the catalog, refusals, exit codes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from shlex import join
from typing import Any

from streambound.engines import ENGINES
from streambound.errors import DataError, QueryError, alike


class Parser(argparse.ArgumentParser):
    """A parser of arguments that says, of a misspelt word, what was probably meant."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options, or exit code 2 with what is wrong."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            chosen: argparse.ArgumentParser = getattr(options, "parser", self)
            hint = _hint(unknown[0].split("=")[0], _options(chosen))
            chosen.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _hint(str(value), map(str, action.choices or ()))
            raise


def _options(parser: argparse.ArgumentParser) -> Iterable[str]:
    return (name for action in parser._actions for name in action.option_strings)


def _hint(word: str, words: Iterable[str]) -> str:
    similar = alike(word, words)
    return f"; did you mean {similar[0]}?" if similar else ""


def command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
    """A subcommand that ``run`` carries out, with the option that every one of them has."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="stream catalog (default: the registry's)"
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_dialect(parser: Any) -> None:
    """The option that says which SQL the texts are in."""
    parser.add_argument(
        "--dialect",
        metavar="NAME",
        type=_dialect,
        help="spark, flink, ksql, risingwave, materialize, feldera, sqrl, arroyo, azure, timeplus, postgres"
        " or duckdb"
        " (default: what a line '-- dialect: NAME' of the file says, or a guess)",
    )


def add_engine(
    parser: Any, text: str = "with what that engine keeps of each query as it is written, and how that grows"
) -> None:
    """The option that says which engine runs the queries."""
    parser.add_argument(
        "--for",
        dest="engine",
        type=str.lower,
        choices=ENGINES,
        help=f"{text} (default: what a line '-- for: NAME' of the file says, or the project)",
    )


def add_text(parser: Any) -> None:
    """The options that say how a text is read, and which of its queries is meant."""
    add_dialect(parser)
    parser.add_argument("--query", dest="chosen", metavar="NAME", help="which query, of a text of several")


def asked_again(options: argparse.Namespace, query: str, chosen: str | None) -> str:
    """A query of a command line as a further command is told to read it: to be pasted into a shell.

    Args:
        query: its name or file.
        chosen: which one, of a text of several.
    """
    given = {"--catalog": options.catalog, "--dialect": options.dialect, "--query": chosen}
    read = (word for option, value in given.items() if value is not None for word in (option, str(value)))
    return join([query, *read])


def _dialect(text: str) -> str:
    from streambound.query.dialects.guess import language

    try:
        return language(text).name
    except QueryError as error:
        hint = f"; {error.fix}" if error.fix else ""
        raise argparse.ArgumentTypeError(f"{text!r} is none of {error.accepted}{hint}") from None


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
    for directory in () if folder is None else (folder, *folder.parents):
        if os.path.exists(directory) and not os.path.isdir(directory):
            raise DataError(
                f"{option}: {directory} is a file",
                accepted="a folder; it is made if need be",
                fix="name another",
            )


def exit_code(verdicts: Iterable[str]) -> int:
    """2 if a query is invalid, 1 if one is unbounded or unknown, else 0."""
    seen = set(verdicts)
    return 2 if "invalid" in seen else 1 if seen - {"bounded"} else 0
