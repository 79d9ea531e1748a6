"""What the lint alone costs: ``python -m benchmarks.startup``.

The checkout is installed without extras into a fresh environment (by uv, from its cache or an index).
Printed are the environment's size and what ``streambound check`` takes, for one file from a cold start and
for 500, each with its limit, bounded and unbounded (of the first ten of these dozens of edits are decided);
beside them a Python that only imports the SQL parser (sqlglot), and one that does nothing. Of several runs
in turn the best counts: whatever else a machine does makes a run slower, never quicker. Processor time is
that of all processes together. Exit code 1 if a limit is passed, 3 if the environment cannot be made.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import begin

ROOT = Path(__file__).parents[1]
MEGABYTES, ONE_FILE_S, FILES, MANY_FILES_S = 60.0, 0.3, 500, 3.0
CATALOG = """streams:
  S: {timestamp: at, columns: {at: timestamp, A: int, B: int}}
  T: {timestamp: at, columns: {at: timestamp, D: int}}
"""
QUERIES = (
    "SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 1 AND {n}",
    "SELECT A, B FROM S WHERE A > {n} AND B <> 7",
    "SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.A BETWEEN 1 AND {n}",
    "SELECT S.A, T.D FROM S, T WHERE S.A = T.D AND T.at BETWEEN S.at AND S.at + INTERVAL {n} MINUTES",
    "SELECT A FROM S WHERE A < {n} UNION ALL SELECT D FROM T WHERE D > {n}",
)
UNBOUNDED = "SELECT S.A FROM S, T WHERE S.B < T.D AND S.A > {n}"


@dataclass
class Cost:
    """The best of some runs, in seconds: by the clock, and of all processors."""

    clock: float = float("inf")
    processor: float = float("inf")

    def run(self, command: list[str]) -> None:
        """One more run."""
        before, started = _used(), time.perf_counter()
        code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        clock, processor = time.perf_counter() - started, _used() - before
        # 1 is a finding.
        assert code in (0, 1), command
        self.clock, self.processor = min(self.clock, clock), min(self.processor, processor)


def _used() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    options, run = begin("startup", parser, ["sqlglot"], rounds=5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not _installed(folder / "lint"):
            return 3
        size = sum(path.lstat().st_size for path in (folder / "lint").rglob("*") if path.is_file()) / 1e6
        python, lint = str(folder / "lint/bin/python"), str(folder / "lint/bin/streambound")
        catalog = folder / "streams.yml"
        catalog.write_text(CATALOG, encoding="utf-8")
        for kind, texts in (("one", QUERIES[:1]), ("bounded", QUERIES), ("unbounded", [UNBOUNDED])):
            (folder / kind).mkdir()
            for n in range(1 if kind == "one" else FILES):
                text = texts[n % len(texts)].format(n=n + 10)
                (folder / kind / f"q{n}.sql").write_text(f"{text}\n", encoding="utf-8")
        check = [lint, "check", "--catalog", str(catalog)]
        ways = {
            "check, 1 file": [*check, str(folder / "one")],
            "import sqlglot": [python, "-c", "import sqlglot"],
            "python -c pass": [python, "-c", "pass"],
        }
        few = {
            f"check, {FILES} files": [*check, str(folder / "bounded")],
            f"check, {FILES} unbounded": [*check, str(folder / "unbounded")],
        }
        costs = {name: Cost() for name in (*ways, *few)}
        for number in range(options.rounds):
            for name, command in (*ways.items(), *(few.items() if number < 3 else ())):
                costs[name].run(command)
    for name, cost in costs.items():
        print(f"{name:20} clock {cost.clock:6.3f} s, processors {cost.processor:6.3f} s")
    first, *others = costs
    one = costs[first]
    run.add("installed", 1, [size], "MB", aim=MEGABYTES)
    run.add(first, 1, [one.clock], "s", aim=ONE_FILE_S)
    for name in others:
        if name in few:
            run.add(name, FILES, [costs[name].clock], "s", aim=MANY_FILES_S)
            processor = costs[name].processor / FILES
            run.add(name, FILES, [processor], "s of processors a file", "check, 1 file", [one.processor])
        else:
            run.add(first, 1, [one.processor], "s of processors", name, [costs[name].processor])
    return 0 if run.met else 1


def _installed(environment: Path) -> bool:
    """Install the checkout, without extras, as pip does: with its modules compiled."""
    uv = str(Path(sys.executable).with_name("uv"))
    makes = [
        [uv, "venv", "--quiet", "--python", sys.executable, str(environment)],
        [
            uv,
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            f"{environment}/bin/python",
            str(ROOT),
        ],
    ]
    return all(subprocess.run(command).returncode == 0 for command in makes)


if __name__ == "__main__":
    sys.exit(main())
