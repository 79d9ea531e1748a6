"""The min-cost flow of section 3.1 as the paper draws it, solved by OR-tools.

A node for every tuple and step, arcs for keeping and for replacing. The cache starts with k tuples that join
nothing.
"""

from __future__ import annotations

from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
from tests.simulator.definitions import worth_of

from streambound.simulator.problems import Streams


def paper_optimum(given: Streams, size: int, warmup: int = 0) -> float:
    """The most results of ``size`` cached tuples at steps that count; weights must be whole numbers."""
    flow = SimpleMinCostFlow()
    numbers: dict[object, int] = {"source": 0, "sink": 1}

    def node(name: object) -> int:
        return numbers.setdefault(name, len(numbers))

    def arc(tail: object, head: object, benefit: float = 0.0) -> None:
        flow.add_arc_with_capacity_and_unit_cost(node(tail), node(head), 1, -int(benefit))

    old: list[object] = [("nothing", number) for number in range(size)]
    for each in old:
        arc("source", (each, -1))
    for step in range(given.steps):
        new = [(stream, step) for stream in range(given.count)]
        for each in old:
            benefit = 0.0
            if isinstance(each[0], int) and step >= warmup:
                benefit = worth_of(given, each[0], each[1], step)
            arc((each, step - 1), (each, step, "kept"), benefit)
            arc((each, step, "kept"), (each, step))
            for arrived in new:
                arc((each, step, "kept"), (arrived, step))
        old += new
    for each in old:
        arc((each, given.steps - 1), "sink")
    flow.set_node_supply(0, size)
    flow.set_node_supply(1, -size)
    assert flow.solve() == flow.OPTIMAL
    return -flow.optimal_cost()
