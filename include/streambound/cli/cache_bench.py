"""``streambound cache bench``: the experiments of section 6, as numbers, a report and pictures."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streambound.errors import QueryError, meant

if TYPE_CHECKING:
    from typing import Any

    from streambound.simulator.experiments.cells import Cell, Counted
    from streambound.simulator.experiments.sweep import Task

CONFIGS = ("tower", "roof", "floor", "walk", "real")


def add_bench(subcommands: Any) -> None:
    """Add the subcommand."""
    text = "repeat the experiments of the paper's section 6"
    parser = subcommands.add_parser("bench", help=text, description=text)
    parser.add_argument("--config", default=",".join(CONFIGS), metavar="C[,C...]", help=", ".join(CONFIGS))
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="of each configuration (50)")
    parser.add_argument(
        "--flow-expect", type=int, default=0, metavar="N", help="runs with FlowExpect, seconds each (0)"
    )
    parser.add_argument(
        "--engine", choices=("local", "spark"), default="local", help="threads of this process, or Spark"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write figures.jsonl, runs.parquet, report.md, pictures there"
    )
    parser.set_defaults(run=_bench, parser=parser)


def _bench(options: argparse.Namespace) -> int:
    from streambound.simulator.experiments.cells import cells
    from streambound.simulator.experiments.report import report
    from streambound.simulator.experiments.sweep import allocation_tasks, flow_expect_tasks, tasks

    configs = _checked(options)
    counted, timing = _measured("sweep", tasks(configs, options.runs), options.engine)
    if options.flow_expect:
        more, costs = _measured("FlowExpect", flow_expect_tasks(configs, options.flow_expect), options.engine)
        counted, timing = counted + more, timing + costs
    if options.out is not None and "tower" in configs:
        more, costs = _measured("allocation", allocation_tasks(options.runs), options.engine)
        counted, timing = counted + more, timing + costs
    averaged = cells(counted)
    for cell in averaged:
        print(json.dumps(cell.to_json()), flush=True)
    lines = [*report(counted), *timing]
    print("\n".join(lines), file=sys.stderr)
    if options.out is not None:
        _write(options.out, configs, counted, averaged, lines)
    return 0


def _checked(options: argparse.Namespace) -> list[str]:
    configs = [name.strip() for name in options.config.split(",")]
    if unknown := [name for name in configs if name not in CONFIGS]:
        raise QueryError(
            f"there is no configuration {unknown[0]!r}",
            accepted=", ".join(CONFIGS),
            fix=meant(unknown[0], CONFIGS),
        )
    if options.runs < 1:
        raise QueryError(f"--runs is {options.runs}", accepted="1 or more")
    if options.flow_expect < 0:
        raise QueryError(f"--flow-expect is {options.flow_expect}", accepted="0 or more")
    if "real" in configs:
        from streambound.simulator.experiments.real import temperatures

        # Whether they are there is said before anything takes long.
        temperatures()
    return configs


def _measured(what: str, tasks: Sequence[Task], engine: str) -> tuple[list[Counted], list[str]]:
    """What tasks count, and a line on what they cost."""
    started = time.perf_counter()
    counted = _swept(what, tasks, engine)
    seconds = time.perf_counter() - started
    if sys.stderr.isatty():
        print(file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = f"{what}: {len(counted):,} numbers of {len(tasks)} tasks in {seconds:.0f} s ({engine})"
    return counted, [f"{line}; peak memory of this process {peak:,.0f} MiB."]


def _swept(what: str, tasks: Sequence[Task], engine: str) -> list[Counted]:
    def tell(done: int, of: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{what}: {done} of {of} tasks", end="", file=sys.stderr, flush=True)

    if engine == "local":
        from streambound.simulator.experiments.sweep import swept

        return swept(tasks, tell)
    from streambound.simulator.experiments.on_spark import swept_on_spark
    from streambound.spark.session import session

    with session("streambound cache bench") as spark:
        return swept_on_spark(spark, tasks, tell)


def _write(
    folder: Path,
    configs: Sequence[str],
    counted: Sequence[Counted],
    cells: Sequence[Cell],
    lines: Sequence[str],
) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    from streambound.simulator.experiments.illustrations import illustrations, surfaces, varied
    from streambound.simulator.experiments.pictures import pictures

    folder.mkdir(parents=True, exist_ok=True)
    numbers = "".join(json.dumps(cell.to_json()) + "\n" for cell in cells)
    (folder / "figures.jsonl").write_text(numbers, encoding="utf-8")
    (folder / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = pa.Table.from_pylist([each._asdict() for each in counted])
    pyarrow.parquet.write_table(table, folder / "runs.parquet")
    pictures(counted, folder)
    illustrations(folder)
    if "real" in configs:
        surfaces(folder)
    if "tower" in configs:
        varied(cells, folder)
