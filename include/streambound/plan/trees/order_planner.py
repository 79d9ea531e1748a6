"""Ranks and frames as nodes, with how many rows they keep (``flow.Ranked``, ``flow.WindowFunctions``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from streambound.errors import PlanError
from streambound.plan import widths
from streambound.plan.flow import (
    Applied,
    First,
    Leaf,
    Node,
    Ranked,
    Size,
    Times,
    WindowFunctions,
    together,
)
from streambound.plan.frame_reach import ascending, looks, settles, settles_rows
from streambound.plan.trees.row_planner import computed
from streambound.plan.trees.sizes import each_of, groups, rows_within
from streambound.query.model import Op
from streambound.query.operators import Over, Ranking, Shown, WindowCalls
from streambound.query.statement import Block


def shown_alone(block: Block, then: Ranking) -> Block:
    """A block of ranks without outputs that are neither shown nor sorted by: ties are kept whole."""
    if then.by or any(shown.formula for shown in then.shown):
        return block
    used = sorted({*then.partition, *(p for p, _ in then.order), *(p for s in then.shown for p in s.outputs)})
    at = {p: n for n, p in enumerate(used)}
    fewer = replace(
        then,
        partition=tuple(at[p] for p in then.partition),
        order=tuple((at[p], descends) for p, descends in then.order),
        shown=tuple(replace(s, outputs=tuple(at[p] for p in s.outputs)) for s in then.shown),
    )
    selections = (
        replace(s, base=replace(s.base, select=tuple(s.base.select[p] for p in used)))
        for s in block.selections
    )
    return replace(block, selections=tuple(selections), then=fewer)


def _with_keys(node: Node, by: tuple[Shown, ...]) -> Node:
    """Rows with what they are partitioned by, where that is computed, after their columns."""
    columns = (Shown(name, kind, (position,)) for position, (name, kind) in enumerate(node.outputs))
    return computed(node, (*columns, *by))


def ranked(node: Node, then: Ranking) -> Applied:
    if then.by:
        return ranked(_with_keys(node, then.by), then.parted(len(node.outputs)))
    each, every = widths.ranked(then, len(node.outputs), node.retracts)
    sizes = [groups(node, node.times, then.partition).times(each)] if each else []
    if settles_rows(then, node.times, node.retracts):
        # Rows that may be taken back, and the first of those that are not.
        sizes.append(groups(node, node.times, range(len(node.outputs))).times(every))
        lasting = then.partition if then.function == "ROW_NUMBER" else range(len(node.outputs))
        sizes.append(groups(node, Times(), lasting).times(every * then.last))
    elif every:
        # So many different values has the order of the rows that tie for one of the first ranks.
        ties = 1 if then.keeps_all(node.retracts) else then.last
        free = set() if then.keeps_all(node.retracts) else {p for p, _ in then.order}
        kept = [p for p in range(len(node.outputs)) if p not in free or p in then.partition]
        sizes.append(_tied(node, then, kept).times(every * ties))
    size = together(sizes)
    timed = node.times.among({p: p for p in then.partition})
    few = then.op in (Op.LE, Op.LT, Op.EQ) and then.order and not then.keeps_all(node.retracts)
    if isinstance(node, Leaf) and few and not timed:
        # Where a partition never ends nothing is told by rows that are left out.
        node = replace(node, first=First(then.partition, then.order, then.last))
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    # A row may be displaced until no row comes before it, or its partition is over.
    in_time = any(p in node.times.spans and not descends for p, descends in then.order[:1])
    shown = {p: n for p, n in _positions(then.shown).items() if in_time or p in then.partition}
    return Applied(
        Ranked(then), (node,), outputs, node.times.among(shown), True, size.number, size.formula, size
    )


def _positions(shown: Sequence[Shown]) -> dict[int, int]:
    """Where outputs are shown as they are."""
    return {s.outputs[0]: n for n, s in enumerate(shown) if s.plain and s.outputs}


def _tied(node: Node, then: Ranking, kept: Sequence[int]) -> Size:
    """How many different rows of all partitions tie for one place."""
    try:
        return groups(node, node.times, kept)
    except PlanError:
        first = then.order[0][0] if then.order else -1
        if node.retracts or node.times.spans.get(first) != (0, 0):
            raise
        # Rows that tie have one time.
        tied = rows_within(node, 0)
        return tied if not then.partition else each_of(groups(node, node.times, then.partition), tied)


def window_functions(node: Node, then: WindowCalls) -> Node:
    if then.by:
        return window_functions(_with_keys(node, then.by), then.parted(len(node.outputs)))
    columns = len(node.outputs)
    settled = settles(then, node.times)
    if settled and len({(over.partition, over.order) for over in then.functions}) > 1:
        _require_alike(node, then)
    sizes = _of_lanes(node, then) if settled else [_of_partitions(node, then).times(columns + 1)]
    size = together(sizes)
    stamps = (p for p, span in node.times.spans.items() if span == (0, 0))
    outputs = tuple((shown.name, shown.type) for shown in then.shown)
    times = _times_of_answers(node, then, settled)
    operation = WindowFunctions(then, settled, next(stamps, None))
    return Applied(operation, (node,), outputs, times, True, size.number, size.formula, size)


def _times_of_answers(node: Node, then: WindowCalls, settled: bool) -> Times:
    """The times of rows with what functions say of them, which changes with the rows ahead of them."""
    kinds, shown = [kind for _, kind in node.outputs].__getitem__, _positions(then.shown)
    reaches = [looks(ascending(over), kinds) for over in then.functions] if settled else []
    if settled and not any(ahead for ahead, _, _, _ in reaches):
        times, after = node.times.among(shown), max(after for _, _, after, _ in reaches)
        scale = max((node.times.scales.get(over.order[0][0], 1) for over in then.functions), default=1)
        return replace(times, delay=times.delay + after * scale)
    shared = set.intersection(*(set(over.partition) for over in then.functions))
    return node.times.among({p: n for p, n in shown.items() if p in shared})


def _require_alike(node: Node, then: WindowCalls) -> None:
    """Refuse what cannot be settled together.

    Raises:
        PlanError: a function looks some rows ahead, or follows another time, beside others in another order.
    """
    kinds, first = [kind for _, kind in node.outputs], then.functions[0]
    for over in then.functions:
        ahead = looks(ascending(over), kinds.__getitem__)[0]
        if ahead or over.order[0][0] != first.order[0][0]:
            raise PlanError(
                f"{over.name} cannot be evaluated beside functions with another PARTITION BY or ORDER BY",
                location=over.location,
                fix="write a query of its own for it",
            )


def _of_partitions(node: Node, then: WindowCalls) -> Size:
    """How many different rows there are where all are kept until what they are partitioned by is over."""
    shared = set.intersection(*(set(over.partition) for over in then.functions))
    return groups(node, node.times.among({p: p for p in shared}), range(len(node.outputs)))


def _of_lanes(node: Node, then: WindowCalls) -> Iterator[Size]:
    """What is kept where functions follow time: the last rows of keys, recent rows, and what is known of
    others.
    """
    kinds = [kind for _, kind in node.outputs].__getitem__
    lanes: dict[Any, list[Over]] = {}
    for over in then.functions:
        lanes.setdefault((over.partition, over.order), []).append(ascending(over))
    reaches = [looks(over, kinds) for overs in lanes.values() for over in overs]
    after = max(reach[2] for reach in reaches)
    for (partition, order), overs in lanes.items():
        ahead, back, _, before = zip(*(looks(over, kinds) for over in overs), strict=True)
        own = node.times.among({p: p for p in partition})
        rows_kept = (max(ahead) + max(back)) * (len(node.outputs) + 1)
        pasts = [(over, widths.past(over, kinds)) for over in overs]
        if rows_kept or any(numbers for _, (numbers, _) in pasts):
            keys = groups(node, own, partition)
            yield keys.times(rows_kept + sum(numbers for _, (numbers, _) in pasts))
        for over, (_, each) in pasts:
            if each and over.aggregate is not None:
                yield groups(node, own, dict.fromkeys((*partition, *over.aggregate.arguments))).times(each)
        time = order[0][0]
        seen = max(after, *(length for length in before if length is not None), 0)
        yield groups(node, _longer(node.times, time, seen), range(len(node.outputs))).times(
            len(node.outputs) + 1
        )


def _longer(times: Times, position: int, length: int) -> Times:
    """Times of which only one tells that rows are over, so long after it."""
    longer = times.among({position: position})
    return replace(longer, delay=longer.delay + length * times.scales.get(position, 1))
