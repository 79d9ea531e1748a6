"""The operator of each operation of a tree."""

from __future__ import annotations

from streambound.operators.computing import Computations
from streambound.operators.grouping.groups import Groups
from streambound.operators.grouping.hops import Hops
from streambound.operators.grouping.sessions import Sessions
from streambound.operators.joining.guards import Guards
from streambound.operators.joining.irredundant import Irredundants
from streambound.operators.joining.joins import Joins, Meetings
from streambound.operators.joining.versions import LastVersions
from streambound.operators.joining.waiting import NextVersions
from streambound.operators.ordering.frames import Frames
from streambound.operators.ordering.ranks import Ranks
from streambound.operators.ordering.timed_frames import TimedFrames
from streambound.operators.rows.operator import Operator
from streambound.operators.settled import Once
from streambound.operators.time_filters import TimeFilters
from streambound.plan.flow import (
    Applied,
    Computed,
    Grouped,
    Guarded,
    Hopped,
    Irredundant,
    Joined,
    LookedUp,
    Ranked,
    Settled,
    TimeFiltered,
    WindowFunctions,
)


def operator_of(node: Applied) -> Operator:
    """What an operation keeps, at the beginning."""
    operation, times = node.operation, [child.times for child in node.inputs]
    if isinstance(operation, Guarded):
        return Guards(operation, times)
    if isinstance(operation, Settled):
        return Once(times[1:])
    if isinstance(operation, LookedUp):
        return NextVersions(operation) if operation.ahead else LastVersions(operation, times)
    if isinstance(operation, Hopped):
        return Hops(operation)
    if isinstance(operation, Irredundant):
        return Irredundants(operation, times)
    if isinstance(operation, TimeFiltered):
        return TimeFilters(operation)
    if isinstance(operation, Joined):
        return Joins(operation) if operation.matched is None else Meetings(operation)
    types = [[kind for _, kind in child.outputs] for child in node.inputs]
    if isinstance(operation, Computed):
        return Computations(operation, types[0])
    retracts = [child.retracts for child in node.inputs]
    if isinstance(operation, Grouped) and operation.then.session is not None:
        (time,) = {reads.time for reads in operation.reads}
        return Sessions(operation, types[0], times[0], time or 0, retracts[0])
    if isinstance(operation, Grouped):
        return Groups(operation, types, times, retracts)
    if isinstance(operation, Ranked):
        return Ranks(operation.then, types[0], times[0], retracts[0])
    if isinstance(operation, WindowFunctions):
        of = TimedFrames if operation.settles else Frames
        return of(operation.then, types[0], times[0], operation.time)
    raise AssertionError(operation)
