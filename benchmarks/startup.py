"""How long the command takes to check one file, from a cold start: ``python benchmarks/startup.py``.

Fresh processes, in turn: ``streambound check`` on one query, a Python that only imports the SQL parser
(sqlglot), and a Python that does nothing. Printed are medians and the ratio to each peer. Aim: below one
second. Exit code 1 if it is missed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AIM_S = 1.0
CATALOG = "streams:\n  S: {columns: {A: int, B: int}}\n  T: {columns: {D: int}}\n"
QUERY = "SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19\n"


def elapsed(command: list[str]) -> float:
    """Wall-clock seconds of one run."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        catalog, query = Path(folder, "streams.yml"), Path(folder, "query.sql")
        catalog.write_text(CATALOG, encoding="utf-8")
        query.write_text(QUERY, encoding="utf-8")
        call = "import sys; from streambound.cli import main; sys.exit(main(sys.argv[1:]))"
        ways = {
            "streambound check": [sys.executable, "-c", call, "check", str(query), "--catalog", str(catalog)],
            "import sqlglot": [sys.executable, "-c", "import sqlglot"],
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds + 1):
            for name, command in ways.items():
                times[name].append(elapsed(command))
    # The first round fills the file cache.
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    ours = medians["streambound check"]
    for name, median in medians.items():
        print(f"{name:18} median {1000 * median:5.0f} ms, streambound / it {ours / median:.1f}")
    print(f"aim below {AIM_S:.0f} s: {'met' if ours < AIM_S else 'MISSED'}")
    return 0 if ours < AIM_S else 1


if __name__ == "__main__":
    sys.exit(main())
