"""The caches' speed, as ratios in one run: ``python -m benchmarks.caching``.

Aims: LRU and LFD on 1 million Zipf requests over 100,000 objects, cache 1,000: at least 30 times cachetools'
LRU, and faster than libcachesim from its own reader; OPT-offline for all sizes 1..50 in one run: 10 times
faster than one solve of the paper's graph by OR-tools; HEEB within 3 times of LRU a step; FlowExpect below
10 s. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cachetools
import libcachesim
import numpy as np
from benchmarks.figures import PROCESSORS, Result, Run, begin
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from streambound.simulator.contract import Memory
from streambound.simulator.experiments.joined import draw
from streambound.simulator.experiments.knowledge import knowing
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.opt_offline import optima
from streambound.simulator.problems import References, Streams, next_references, references

REQUESTS, OBJECTS, SIZE = 1_000_000, 100_000, 1000


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """The least time of the processor of some runs, after one that compiles."""
    run()
    found = []
    for _ in range(rounds):
        started = time.process_time()
        run()
        found.append(time.process_time() - started)
    return min(found)


def zipf() -> References:
    """The requests."""
    weights = 1 / np.arange(1, OBJECTS + 1)
    return references(np.random.default_rng(0).choice(OBJECTS, REQUESTS, p=weights / weights.sum()))


def of_cachetools(trace: References) -> int:
    """LRU hits by cachetools."""
    cache, hits = cachetools.LRUCache(SIZE), 0
    for key in trace.requests.tolist():
        if key in cache:
            hits += 1
            cache[key]
        else:
            cache[key] = key
    return hits


def write_oracle(trace: References, path: Path) -> None:
    """The requests in libcachesim's oracleGeneral format: time, object, size, next request."""
    kind = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(trace.steps, kind)
    following = next_references(trace.requests, trace.keys)
    rows["time"], rows["object"], rows["size"] = np.arange(trace.steps), trace.requests, 1
    rows["next"] = np.where(following < trace.steps, following, -1)
    rows.tofile(path)


def of_libcachesim(kind: type, path: Path) -> float:
    """The miss ratio by libcachesim from its own reader."""
    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    return float(kind(cache_size=SIZE).process_trace(reader)[0])


def paper_graph(given: Streams, size: int) -> int:
    """OR-tools on the paper's graph, pruned: a tuple is in it from its arrival to its last result."""
    flow, steps = SimpleMinCostFlow(), given.steps
    node = steps
    for stream in (0, 1):
        mine, other = given.arrivals[stream], given.arrivals[1 - stream]
        for born in range(steps):
            meets = np.flatnonzero(other[born + 1 :] == mine[born]) + born + 1
            if not len(meets):
                continue
            flow.add_arc_with_capacity_and_unit_cost(born, node, 1, 0)
            met = set(meets.tolist())
            for step in range(born + 1, int(meets[-1]) + 1):
                flow.add_arc_with_capacity_and_unit_cost(node, node + 1, 1, -(step in met))
                flow.add_arc_with_capacity_and_unit_cost(node + 1, step, 1, 0)
                node += 1
            node += 1
    for step in range(steps - 1):
        flow.add_arc_with_capacity_and_unit_cost(step, step + 1, size, 0)
    flow.set_node_supply(0, size)
    flow.set_node_supply(steps - 1, -size)
    assert flow.solve() == flow.OPTIMAL
    return -int(flow.optimal_cost())


def caching(run: Run) -> None:
    """LRU and LFD against cachetools and libcachesim."""
    trace = zipf()
    ours = {
        name: seconds(lambda name=name: NAMED[name].caching(trace, Memory(SIZE))) for name in ("lru", "lfd")
    }
    print(f"LRU {ours['lru']:.3f} s, LFD {ours['lfd']:.3f} s for {REQUESTS:,} requests")
    python = seconds(lambda: of_cachetools(trace), 1)
    for name, own in ours.items():
        report(
            run.add(name.upper(), REQUESTS, [own], PROCESSORS, "cachetools' LRU", [python], round(1 / 30, 4))
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.oracleGeneral"
        write_oracle(trace, path)
        for name, kind in (("lru", libcachesim.LRU), ("lfd", libcachesim.Belady)):
            hits = NAMED[name].caching(trace, Memory(SIZE)).hits.mean()
            assert abs(1 - of_libcachesim(kind, path) - hits) < 1e-9
            theirs = seconds(lambda kind=kind: of_libcachesim(kind, path))
            report(run.add(name.upper(), REQUESTS, [ours[name]], PROCESSORS, "libcachesim", [theirs], 1.0))


def report(result: Result) -> None:
    """Print a ratio."""
    print(f"  {result.case} / {result.peer}: {result.ratio:.3g}, aim at most {result.aim}", flush=True)


def joining(run: Run) -> None:
    """OPT-offline against OR-tools, HEEB against LRU, FlowExpect."""
    for config in ("roof", "floor"):
        given = draw(config, 0)
        all_sizes = seconds(lambda given=given: optima(given, 50))
        started = time.process_time()
        assert paper_graph(given, 50) == optima(given, 50)[50]
        one = time.process_time() - started
        print(f"{config}: all sizes {all_sizes:.3f} s, OR-tools {one:.2f} s for size 50")
        case = f"OPT-offline of 50 sizes, {config.upper()}"
        report(run.add(case, given.steps, [all_sizes], PROCESSORS, "OR-tools, one size", [one], 0.1))
    given = draw("tower", 0)
    known = knowing(given, Memory(10), "tower")
    times = {
        name: seconds(lambda name=name: NAMED[name].joining(given, known), 5) for name in ("lru", "heeb")
    }
    print(f"LRU {times['lru'] * 1e6 / 5000:.2f}, HEEB {times['heeb'] * 1e6 / 5000:.2f} microseconds a step")
    report(run.add("HEEB", given.steps, [times["heeb"]], PROCESSORS, "LRU here", [times["lru"]], 3.0))
    flow = seconds(lambda: NAMED["flow-expect"].joining(given, known), 1)
    run.add("FlowExpect", given.steps, [flow], PROCESSORS, aim=10.0)
    print(f"FlowExpect {flow:.1f} s, aim at most 10 s")


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    _, run = begin("caching", parser, ["numpy", "numba", "cachetools", "libcachesim", "ortools"])
    caching(run)
    joining(run)
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
