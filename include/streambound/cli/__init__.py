"""The ``streambound`` command: one module a subcommand, each a few lines over the rooms.

Exit codes: 0 done (``check``: all bounded), 1 done with findings (some query is unbounded or
unknown), 2 invalid input, 3 failed for an outside cause such as a disk or a cluster.
"""

from __future__ import annotations

import argparse
import atexit
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from streambound import settings
from streambound.cli import (
    backup,
    cache,
    check,
    code,
    doctor,
    explain,
    import_,
    lsp,
    rewrite,
    run,
    state,
    witness,
)
from streambound.cli.options import Parser
from streambound.errors import PlatformError, StorageError, StreamboundError

# Each module adds its parser and imports what it needs when it runs, so that no command waits for another.
COMMANDS = (check, explain, code, rewrite, lsp, doctor, run, state, witness, cache, import_, backup)


def command() -> NoReturn:
    """Run the command as a process of its own, and end that process with its exit code."""
    code = main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of native libraries that outlive the interpreter could still abort a process that is done.
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; no user error ends in a traceback."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file need not be text: what no encoding holds is printed as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except StreamboundError as error:
        return _failed(error)
    except ModuleNotFoundError as error:
        # The lint alone is installed without Spark and Airflow.
        package = str(error.name).split(".")[0]
        fix = settings.installing(settings.extra_of(package))
        if package == "pyspark" and vars(options).get("engine") == "spark" and not vars(options).get("live"):
            fix += ", or --engine local, which needs no Spark"
        return _failed(
            PlatformError(f"the package {error.name} is not installed, and this command needs it", fix=fix)
        )
    except BrokenPipeError:
        # The reader has gone, for instance head: nothing more to say, and nothing to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _failed(StorageError(str(error)))
    except KeyboardInterrupt:
        print("streambound: interrupted", file=sys.stderr)
        return 3


class _Version(argparse.Action):
    """Prints the version; it is looked up when it is asked for, since that takes a while."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"streambound {settings.version()}")
        parser.exit()


def _failed(error: StreamboundError) -> int:
    print(f"streambound: {error.code}: {error}", file=sys.stderr)
    return error.exit_code


def _parser() -> Parser:
    description = "Tells whether streaming queries run in bounded memory, and runs those that do."
    parser = Parser(prog="streambound", description=description)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(commands)
    return parser
