"""``streambound cache``: what a cache of limited memory makes of streams."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.cache_advise import add_advise
from streambound.cli.cache_bench import add_bench
from streambound.errors import QueryError

if TYPE_CHECKING:
    from streambound.simulator.problems import References, Streams


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "simulate caches of limited memory over streams"
    parser = commands.add_parser("cache", help=text, description=text)
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_simulate(subcommands)
    add_bench(subcommands)
    add_advise(subcommands)


def _add_simulate(subcommands: Any) -> None:
    text = "count what cache policies produce on a trace"
    parser = subcommands.add_parser("simulate", help=text, description=text)
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="caching: a reference stream (CSV, Parquet)"
    )
    parser.add_argument("--column", metavar="C", help="caching: its column in the trace")
    parser.add_argument(
        "--streams", type=Path, metavar="FILE", help="joining: columns t, R, S (CSV, Parquet)"
    )
    parser.add_argument("--problem", choices=("caching", "joining"), help="default: what the input is for")
    parser.add_argument("--policy", required=True, metavar="P[,P...]", help="for instance lru,lfu,lfd")
    parser.add_argument("--size", required=True, metavar="K[,K...]", help="cached tuples, for instance 10,50")
    parser.add_argument("--warmup", type=int, default=0, metavar="N", help="steps that do not count")
    parser.add_argument("--bypass", action="store_true", help="caching: the fetched item may be discarded")
    parser.add_argument("--window", type=int, metavar="W", help="joining: steps during which a tuple joins")
    parser.add_argument("--model", metavar="M", help="fit (on the warm-up), tower, roof, floor, walk, FILE")
    parser.add_argument("--alpha", type=float, metavar="A", help="heeb's alpha (default: by section 5)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of random choices")
    parser.add_argument("--format", choices=("json", "text"), default="json")
    parser.set_defaults(run=_simulate, parser=parser)


def _simulate(options: argparse.Namespace) -> int:
    from streambound.simulator.contract import Memory
    from streambound.simulator.experiments.simulation import outcomes

    given = _input(options)
    memory = Memory(0, options.bypass, options.warmup, options.seed, alpha=options.alpha)
    policies = [name.strip() for name in options.policy.split(",")]
    for outcome in outcomes(given, policies, _sizes(options.size), memory, options.model):
        if options.format == "json":
            print(json.dumps(outcome.to_json()), flush=True)
        else:
            print(f"{outcome.policy:12} {outcome.size:8} {outcome.results:14,g}", flush=True)
    return 0


def _input(options: argparse.Namespace) -> References | Streams:
    from streambound.simulator.experiments.traces import read_references, read_streams

    problem = options.problem or ("joining" if options.streams else "caching")
    needed, refused = (
        (("trace", "column"), ("streams", "window"))
        if problem == "caching"
        else (("streams",), ("trace", "column", "bypass"))
    )
    if missing := [f"--{name}" for name in needed if getattr(options, name) is None]:
        raise QueryError(f"{problem} needs {' and '.join(missing)}", fix=f"add {' and '.join(missing)}")
    if ignored := [f"--{name}" for name in refused if getattr(options, name) not in (None, False)]:
        raise QueryError(f"{problem} has no use for {', '.join(ignored)}", fix="leave it out")
    if problem == "caching":
        return read_references(options.trace, options.column)
    return read_streams(options.streams, options.window)


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise QueryError(f"--size is {text!r}", accepted="whole numbers, for instance 10,50") from None
