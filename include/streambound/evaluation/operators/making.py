"""The operator of each operation of a tree."""

from __future__ import annotations

from streambound.evaluation.operators.groups import Groups
from streambound.evaluation.operators.operator import Operator
from streambound.synopsis.flow import Applied, Grouped


def operator_of(node: Applied) -> Operator:
    """What an operation keeps, at the beginning."""
    types = [[kind for _, kind in one.outputs] for one in node.inputs]
    retracts = [one.retracts for one in node.inputs]
    times = [one.times for one in node.inputs]
    if isinstance(node.operation, Grouped):
        keys = {p: p for p in range(len(node.operation.keys))}
        return Groups(node.operation, types, times[0].among(keys), retracts)
    raise AssertionError(node.operation)
