"""All benchmarks, one after the other: ``python -m benchmarks [--quick] [--check] [--only NAME ...]``.

Each is a process of its own and writes its figures into ``benchmarks/results``. ``--check`` (with the quick
form) leaves that folder alone and compares: exit code 1 if a ratio is worse than the committed one beyond its
margin, or a benchmark fails. In the full form a missed aim is a failure too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import states
from benchmarks.figures import FOLDER, Compared, Result, compared, read

from streambound import settings

# In the order in which they run, with the seconds of the quick form on two free cores.
NAMES = {
    "check_latency": 10,
    "check_scaling": 25,
    "startup": 30,
    "caching": 35,
    "q5": 50,
    "timed_chain": 35,
    "history": 120,
    "incremental": 20,
    "application": 35,
    "live": 40,
    "live_state": 30,
    "cores": 55,
    "memory": 50,
    "pages": 40,
    "engines": 40,
}


def run(names: Sequence[str], quick: bool, folder: Path) -> list[str]:
    """Run benchmarks and print how far it is; the names of those that failed."""
    failed, begun = list[str](), time.monotonic()
    left = sum(NAMES[name] for name in names)
    for number, name in enumerate(names, 1):
        about = f", some {left / 60:.0f} min left" if quick else ""
        print(f"[{number}/{len(names)}] {name} after {time.monotonic() - begun:.0f} s{about}", flush=True)
        left -= NAMES[name]
        command = [sys.executable, "-m", f"benchmarks.{name}", "--results", str(folder / f"{name}.jsonl")]
        if subprocess.run([*command, *(["--quick"] if quick else [])]).returncode:
            failed.append(name)
    print(f"{len(names)} benchmarks in {time.monotonic() - begun:.0f} s")
    return failed


def lines(folder: Path, name: str) -> list[Result]:
    """What a folder of results has of a benchmark."""
    file = folder / f"{name}.jsonl"
    return states.results(states.read(file)) if name == "engines" else read(file)


def comparison(found: Sequence[Compared]) -> list[str]:
    """A table: what is worse comes first."""
    rows = ["| benchmark | case | size | here / | committed | now | at most | |", "|---" * 8 + "|"]
    for one in sorted(found, key=lambda one: one.committed * one.margin / (one.measured.ratio or 1)):
        line = one.measured
        limits = f"{one.committed:.3g} | {line.ratio:.3g} | {one.committed * one.margin:.3g}"
        verdict = "WORSE" if one.worse else "kept"
        rows.append(f"| {line.name} | {line.case} | {line.size:,} | {line.peer} | {limits} | {verdict} |")
    return rows


def main() -> int:
    """Run, and compare if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="below ten minutes")
    parser.add_argument("--check", action="store_true", help="the quick form against the committed ratios")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--committed", type=Path, default=FOLDER, metavar="FOLDER")
    options = parser.parse_args()
    measured = settings.home() / "bench" / "check"
    if options.check:
        shutil.rmtree(measured, ignore_errors=True)
    failed = run(options.only, options.quick or options.check, measured if options.check else FOLDER)
    if failed:
        print(f"failed: {', '.join(failed)}")
    if not options.check:
        return 1 if failed else 0
    found = compared(
        [line for name in options.only for line in lines(options.committed, name)],
        [line for name in options.only for line in lines(measured, name)],
    )
    print("\n".join(comparison(found)))
    worse = sum(one.worse for one in found)
    print(f"{len(found)} ratios compared, {worse} worse beyond their margins")
    if unknown := [name for name in options.only if name not in {one.measured.name for one in found}]:
        print(f"nothing committed to compare with: {', '.join(unknown)}")
    return 1 if failed or worse or not found else 0


if __name__ == "__main__":
    sys.exit(main())
