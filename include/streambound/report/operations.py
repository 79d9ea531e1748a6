"""What is done to rows and what is kept for it, in words: groups, ranks, frames, guards, changing joins."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from streambound.plan.flow import (
    Applied,
    Computed,
    Grouped,
    Guarded,
    Hopped,
    Irredundant,
    Joined,
    LookedUp,
    Node,
    Ranked,
    Settled,
    TimeFiltered,
    Times,
    WindowFunctions,
    nodes,
)
from streambound.query.column_types import Family
from streambound.query.model import Op
from streambound.query.operators import Aggregate, AggregateKind, Ranking, WindowCalls
from streambound.query.windows import SESSIONS
from streambound.report.sizes import units_text

_KEPT = {
    AggregateKind.COUNT: "a number",
    AggregateKind.SUM: "a sum",
    AggregateKind.MEAN: "sums",
    AggregateKind.LEAST: "the least value",
    AggregateKind.GREATEST: "the greatest value",
    AggregateKind.FIRST: "the first value",
    AggregateKind.LAST: "the last value",
    AggregateKind.ANY: "one value",
    AggregateKind.LIST: "every value",
    AggregateKind.SKETCH: "a sketch",
}


def said_of(node: Applied) -> tuple[str, tuple[str, ...]]:
    """What an operation keeps: a title, and sentences."""
    return _SAID[type(node.operation)](node, node.operation)


def size_text(node: Applied) -> str:
    """The units of an operation, or what they depend on."""
    return node.formula if node.max_units is None else units_text(node.max_units)


def _names(node: Node, positions: tuple[int, ...]) -> str:
    return ", ".join(node.outputs[p][0] for p in positions)


def _of_groups(node: Applied, operation: Grouped) -> tuple[str, tuple[str, ...]]:
    then, below = operation.then, node.inputs[0]
    shown = {
        s.outputs[0]: s.name
        for number, s in enumerate(then.shown, start=1)
        if s.plain and s.outputs and s.name != f"column{number}"
    }
    names = [shown.get(p, below.outputs[n][0]) for n, p in enumerate(operation.keys)]
    keys = ", ".join(names)
    notes = [
        f"{aggregate.text}: {_kept(aggregate)}"
        for aggregate in then.aggregates
        if aggregate.function not in SESSIONS
    ]
    if then.session is not None:
        return f"open sessions{f' of each {keys}' if keys else ''}", (
            "first and last time",
            *notes,
            f"A session is dropped when {_span(node, then.session)} have passed without a row of it.",
        )
    if not keys:
        return "one group of all rows", tuple(notes)
    if not then.aggregates:
        return f"different rows by {keys}", _ends(below, names)
    return f"groups by {keys}", ("how many rows it has", *notes, *_ends(below, names))


def _kept(aggregate: Aggregate) -> str:
    if aggregate.distinct:
        return "each different value"
    chosen = (
        f", and the value of {'least' if aggregate.kind is AggregateKind.LEAST else 'greatest'} order"
        if aggregate.by
        else ""
    )
    return f"{_KEPT[aggregate.kind]}{chosen}"


def _ends(node: Node, names: Sequence[str]) -> tuple[str, ...]:
    """When a group is dropped, if it ever is."""
    times = node.times.among({p: p for p in range(len(names))})
    if not times:
        return ()
    name = names[min(times.every)]
    after = f" for {_length(node, times)}" if _length(node, times) else ""
    return (f"Dropped when {name} is over{after}: no row comes into it any more, and its answer stays.",)


def _length(node: Node, times: Times) -> str:
    return _duration(times.delay, node.outputs[min(times.every)][1].family) if times.delay else ""


def _span(node: Applied, length: int) -> str:
    below = node.inputs[0]
    family = below.outputs[min(below.times.spans)][1].family if below.times else Family.TIMESTAMP
    return _duration(length, family)


def _duration(length: int, family: Family) -> str:
    return f"{length:,} ticks" if family is Family.NUMBER else str(dt.timedelta(microseconds=length))


def _of_ranks(node: Applied, operation: Ranked) -> tuple[str, tuple[str, ...]]:
    then: Ranking = operation.then
    below = node.inputs[0]
    keys = _names(below, then.partition)
    each = f" of each {keys}" if keys else ""
    if then.keeps_all(below.retracts):
        return f"all rows{each}", ("Any of them can come to have any rank.", *_parted(node, then.partition))
    order = ", ".join(f"{below.outputs[p][0]}{' (greatest first)' if down else ''}" for p, down in then.order)
    by = f", by {order}" if order else ""
    ties = "" if then.function == "ROW_NUMBER" else ", with all that tie"
    first = "the first row" if then.last == 1 else f"the first {then.last:,} rows"
    return f"{first}{each}{by}{ties}", _parted(node, then.partition)


def _parted(node: Applied, partition: tuple[int, ...]) -> tuple[str, ...]:
    below = node.inputs[0]
    times = below.times.among({p: p for p in partition})
    if not times:
        return ()
    return (f"Dropped when {below.outputs[min(times.every)][0]} is over.",)


def _of_frames(node: Applied, operation: WindowFunctions) -> tuple[str, tuple[str, ...]]:
    then: WindowCalls = operation.then
    below = node.inputs[0]
    titles = list[str]()
    for over in then.functions:
        keys = _names(below, over.partition)
        what = over.name if over.aggregate is None else over.aggregate.text
        titles.append(f"{what}{f' per {keys}' if keys else ''}")
    return f"what window functions see: {', '.join(dict.fromkeys(titles))}", ()


def _of_guards(node: Applied, operation: Guarded) -> tuple[str, tuple[str, ...]]:
    notes = tuple(_of_guard(sought.negated, node.inputs[n + 1]) for n, sought in enumerate(operation.sought))
    return "rows that a match may still change", notes


def _of_guard(negated: bool, node: Node) -> str:
    columns = ", ".join(name for name, _ in node.outputs) or "nothing"
    what = "that none must match" if negated else "that one must match"
    return f"rows {what}, by {columns}"


def _of_joins(node: Applied, operation: Joined) -> tuple[str, tuple[str, ...]]:
    sides = [", ".join(name for name, _ in operand.outputs) for operand in node.inputs]
    notes = []
    if any(side.times and not side.past for side in operation.sides):
        notes.append("A row is dropped when neither it nor a partner can come or change.")
    for side, operand in zip(operation.sides, node.inputs, strict=True):
        for position in side.past:
            notes.append(f"{operand.outputs[position][0]} is forgotten once it is before all that comes.")
    return f"the rows of each side: {'; '.join(sides)}", tuple(notes)


def _of_computed(node: Applied, operation: Computed) -> tuple[str, tuple[str, ...]]:
    return "nothing, for what is shown is computed of each row", ()


def _of_hops(node: Applied, operation: Hopped) -> tuple[str, tuple[str, ...]]:
    windows = -(-operation.size // operation.slide)
    return f"nothing, for each row is in up to {windows:,} windows", ()


def _of_irredundant(node: Applied, operation: Irredundant) -> tuple[str, tuple[str, ...]]:
    note = "A tuple is dropped when others, or the rows that there are, serve wherever it does."
    return "the tuples that what comes may need, and the rows that there are", (note,)


def _of_time_filters(node: Applied, operation: TimeFiltered) -> tuple[str, tuple[str, ...]]:
    leaves = any(moment.op in (Op.GT, Op.GE) for moment in operation.moments)
    note = "A row is dropped when it has left the answer." if leaves else "A row that is shown is not kept."
    return "rows that the present time has yet to show, or to take back", (note,)


def _of_versions(node: Applied, operation: LookedUp) -> tuple[str, tuple[str, ...]]:
    if operation.ahead:
        return "rows that wait for the next one that is looked up", ()
    return "the last row of each key that is looked up", ()


def _of_settled(node: Applied, operation: Settled) -> tuple[str, tuple[str, ...]]:
    return "how far time is: it tells which rows nothing takes back any more", ()


_SAID: dict[type, Callable[[Applied, Any], tuple[str, tuple[str, ...]]]] = {
    Grouped: _of_groups,
    Ranked: _of_ranks,
    WindowFunctions: _of_frames,
    Guarded: _of_guards,
    Joined: _of_joins,
    Hopped: _of_hops,
    Computed: _of_computed,
    Irredundant: _of_irredundant,
    LookedUp: _of_versions,
    Settled: _of_settled,
    TimeFiltered: _of_time_filters,
}


def operations(node: Node) -> Iterator[Applied]:
    """The operations of a tree, those below first."""
    return (applied for applied in nodes(node) if isinstance(applied, Applied))
