"""``streambound cache bench``: the experiments of section 6, as numbers and pictures."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from streambound.errors import QueryError

CONFIGS = ("tower", "roof", "floor", "walk")


def add_bench(subcommands: Any) -> None:
    """Add the subcommand."""
    text = "repeat the experiments of the paper's section 6"
    parser = subcommands.add_parser("bench", help=text, description=text)
    parser.add_argument("--config", default=",".join(CONFIGS), metavar="C[,C...]", help=", ".join(CONFIGS))
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="of each configuration (50)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write figures.jsonl and pictures there")
    parser.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    from streambound.caching.experiments import experiment
    from streambound.caching.pictures import picture

    configs = [name.strip() for name in options.config.split(",")]
    if unknown := [name for name in configs if name not in CONFIGS]:
        raise QueryError(f"there is no configuration {unknown[0]!r}", accepted=", ".join(CONFIGS))
    if options.runs < 1:
        raise QueryError(f"--runs is {options.runs}", accepted="1 or more")
    lines = []
    for config in configs:
        cells = list(experiment(config, options.runs, progress=partial(_tell, config)))
        for cell in cells:
            lines.append(json.dumps(cell.to_json()))
            print(lines[-1], flush=True)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            picture(cells, options.out / f"{config}.png")
    if options.out is not None:
        (options.out / "figures.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _tell(config: str, run: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{config}: {run} runs", end="", file=sys.stderr, flush=True)
