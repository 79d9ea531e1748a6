"""``NOW()`` in the criteria: what must be remembered where rows meet the present time (``query.clock``)."""

from __future__ import annotations

from dataclasses import replace

from streambound.query.clock import CLOCK
from streambound.query.formula import Formula, all_of, conjuncts
from streambound.query.model import Attribute, Constant, Join, Op, Output
from streambound.query.operators import Grouping, Ranking, WindowCalls
from streambound.query.statement import Block, Selection, Statement

PRESENT = Attribute(CLOCK.name, CLOCK.columns[0].name)


def reads_present(selection: Selection) -> bool:
    """Whether a SELECT reads the present time itself; those that it is made of may."""
    return any(o.relation == CLOCK for o in selection.base.occurrences)


def bounds(selection: Selection) -> tuple[tuple[Join, ...], tuple[Formula, ...]]:
    """The comparisons with the present time, which is on their right, and the other conditions."""
    formula = selection.formula
    parts = conjuncts(formula)
    timed = [p for p in parts if isinstance(p, Join) and PRESENT in p.attributes]
    turned = (
        p
        if p.right == PRESENT
        else replace(p, left=p.right, op=p.op.mirrored, right=PRESENT, offset=-p.offset)
        for p in timed
    )
    return tuple(turned), tuple(part for part in parts if part not in timed)


def ends(atom: Join) -> bool:
    """Whether a comparison with the present time holds until some time, and not after it."""
    return atom.op in (Op.GT, Op.GE)


def _passes(selection: Selection) -> bool:
    """Whether rows of a SELECT leave with time."""
    return reads_present(selection) and any(map(ends, bounds(selection)[0]))


def ends_in_part(block: Block) -> bool:
    """Whether some of the rows that something is done to leave with time, and others do not."""
    return block.then is not None and len({*map(_passes, block.selections)}) > 1


def leaves(statement: Statement) -> bool:
    """Whether rows of a statement leave with time: their keys may be any."""
    return any(map(_passes, statement.selections)) or any(
        leaves(o.relation.fed) for o in statement.occurrences if o.relation.fed is not None
    )


def criterion_of(statement: Statement) -> Statement:
    """The statement that the criteria are asked of.

    Conditions that only begin to hold delay a row, and what must be remembered for ever is the same without
    them. Where a condition ends, the rows of each present time are looked at by themselves: it is one more
    column of different rows, key of groups, or column that ranks and frames are partitioned by.
    """
    blocks = (
        _of_block(replace(b, selections=tuple(map(_undelayed, b.selections)))) for b in statement.blocks
    )
    return replace(statement, blocks=tuple(blocks))


def _undelayed(selection: Selection) -> Selection:
    base = selection.base
    timed, rest = bounds(selection)
    if not reads_present(selection) or PRESENT in base.projected or any(map(ends, timed)):
        return selection
    occurrences = tuple(o for o in base.occurrences if o.relation != CLOCK)
    return replace(selection, base=replace(base, occurrences=occurrences), formula=all_of(rest))


def _of_block(block: Block) -> Block:
    if not any(map(reads_present, block.selections)) or (block.then is None and not block.ring.idempotent):
        return block
    then, position = block.then, len(block.selections[0].base.select)
    if isinstance(then, Grouping):
        position, then = then.keys, then.with_key()
    elif isinstance(then, Ranking):
        then = replace(then, partition=(*then.partition, position))
    elif isinstance(then, WindowCalls):
        functions = (replace(over, partition=(*over.partition, position)) for over in then.functions)
        then = replace(then, functions=tuple(functions))
    selections = tuple(_with_present(selection, position) for selection in block.selections)
    return replace(block, selections=selections, then=then)


def _with_present(selection: Selection, position: int) -> Selection:
    term = PRESENT if reads_present(selection) else Constant(None, "NULL", CLOCK.columns[0].type)
    select = selection.base.select
    made = (*select[:position], Output(CLOCK.name, term), *select[position:])
    return replace(selection, base=replace(selection.base, select=made))
