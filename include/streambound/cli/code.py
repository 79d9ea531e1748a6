"""``streambound code``: the page about a code that was printed, which is installed with the library."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "print the page about a code, such as unbounded-equality"
    parser = commands.add_parser("code", help=text, description=text)
    parser.set_defaults(run=_code, parser=parser)
    parser.add_argument("code", metavar="CODE", nargs="?", help="as it was printed (default: all codes)")


def _code(options: argparse.Namespace) -> int:
    from streambound.report.code_pages import described, every, meaning

    if options.code is not None:
        print(described(options.code), end="")
        return 0
    reason_codes = every()
    width = max(map(len, reason_codes))
    for code in reason_codes:
        print(f"{code:{width}}  {meaning(code)}")
    return 0
