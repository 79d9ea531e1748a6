"""FlowExpect: beside the others at size 10 (Figure 8), and by how far it looks ahead (6.4, Figure 19).

Figure 19's streams are FLOOR's, 500 steps, 20 tuples. FlowExpect takes seconds a run where the others take
milliseconds: it has runs of its own, fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streambound.simulator.contract import Memory
from streambound.simulator.experiments.cells import Counted
from streambound.simulator.experiments.joined import draw, policies_of, row
from streambound.simulator.experiments.knowledge import knowing
from streambound.simulator.policies import NAMED

COMPARED_SIZE = 10
AHEAD = (1, 2, 3, 5, 8, 12)
STEPS, SIZE = 500, 20
CONFIG, COMPARED = "look-ahead", ("opt-offline", "heeb", "life", "prob", "rand")


def compared(config: str, run: int, sizes: tuple[int, ...], steps: int) -> Iterator[Counted]:
    """What FlowExpect produces with 10 tuples, counted as the others are."""
    given = draw(config, run, steps)
    memory = knowing(given, Memory(COMPARED_SIZE, warmup=4 * max(sizes)), config)
    (results,) = row(given, "flow-expect", [COMPARED_SIZE], memory)
    yield Counted(config, "flow-expect", COMPARED_SIZE, run, results)


def looking_ahead(run: int, steps: int = STEPS) -> Iterator[Counted]:
    """FlowExpect by its look-ahead (in the place of the size), and the others, which have none."""
    given = draw("floor", run, steps)
    memory = knowing(given, Memory(SIZE, warmup=4 * SIZE, seed=run), "floor")
    decide = NAMED["flow-expect"].joining
    assert decide is not None
    for ahead in AHEAD:
        results = decide(given, replace(memory, look_ahead=ahead)).results[memory.warmup :].sum()
        yield Counted(CONFIG, "flow-expect", ahead, run, float(results))
    for name in COMPARED:
        assert name in policies_of("floor")
        (counted,) = row(given, name, [SIZE], memory)
        for ahead in AHEAD:
            yield Counted(CONFIG, name, ahead, run, counted)
