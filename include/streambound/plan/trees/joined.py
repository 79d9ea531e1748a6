"""Joins with rows that change: tables by key, and sub-queries whose rows are taken back (docs/theory.md,
C14).

Each side is kept as it is: of what changes there is one row of each key, and of streams beside it the
criterion says that what is compared or shown has finitely many values. So a change of one side is joined with
the rows of the others. Where conditions bound how far the times of rows that meet are apart, a row is kept
until neither it nor a partner can come or change; where its time need only be before that of a partner, it
is kept without it once that is so of all that comes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from streambound.errors import PlanError
from streambound.plan.flow import Applied, Joined, Node, Side, Size, Times, together
from streambound.query.formula import Formula, all_of, atoms_of, conjunction
from streambound.query.model import Atom, Attribute, Join, Occurrence, Op, Output, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection

# The rows of a SELECT, and how many different rows of a node there may be at once, with the times of them, or
# how many different values of some columns (None: all).
Rows = Callable[[Selection], Node]
Sized = Callable[[Node, Times, Sequence[int] | None], Size]


def changing(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """The occurrences whose rows change, or come late."""
    return [o for o in occurrences if o.relation.kind is RelationKind.VERSIONED or o.relation.fed is not None]


def joined_rows(selection: Selection, rows: Rows, sized: Sized, apart: Sequence[Occurrence] = ()) -> Applied:
    """The rows of a SELECT over several relations of which some change: its outputs.

    Args:
        rows: the rows of a SELECT over fewer of them.
        apart: occurrences that are one side by themselves, with the guards that read them alone.

    Raises:
        PlanError: they have no plan.
    """
    base = selection.base
    atoms = conjunction(selection.formula)
    if atoms is None:
        raise PlanError("OR in a join with rows that change cannot be evaluated yet", subject=base.name)
    tables = changing(base.occurrences)
    rest = tuple(o for o in base.occurrences if o not in tables and o not in apart)
    parts = ([rest] if rest else []) + ([tuple(apart)] if apart else []) + [(table,) for table in tables]
    wanted = [o.term for o in base.select if isinstance(o.term, Attribute)]
    inputs, columns = [], list[tuple[Attribute, ...]]()
    owners = {o.alias: number for number, part in enumerate(parts) for o in part}
    across = [atom for atom in atoms if len({owners[a.occurrence] for a in atom.attributes}) > 1]
    wanted += [a for atom in across for a in atom.attributes]
    for number, part in enumerate(parts):
        local_columns = tuple(dict.fromkeys(a for a in wanted if owners[a.occurrence] == number))
        own = [atom for atom in atoms if {owners[a.occurrence] for a in atom.attributes} == {number}]
        guards = selection.guards if part == tuple(apart) else ()
        inputs.append(rows(replace(_of_columns(selection, part, local_columns, own), guards=guards)))
        columns.append(local_columns)
    sides = _sides(inputs, columns, across)
    shown_columns = {o.term for o in base.select if isinstance(o.term, Attribute)}
    sides = [
        side if side.times else _passing(number, side, inputs, columns, across, shown_columns)
        for number, side in enumerate(sides)
    ]
    positions = {a: (n, p) for n, local_columns in enumerate(columns) for p, a in enumerate(local_columns)}
    shown = [positions.get(o.term) if isinstance(o.term, Attribute) else None for o in base.select]
    operation = Joined(tuple(sides), tuple(across), tuple(o.term for o in base.select))
    return _applied(operation, inputs, sides, shown, base.outputs, sized)


def guarded_rows(selection: Selection, rows: Rows, sized: Sized) -> Node:
    """The rows of a SELECT with guards, of which rows inside or outside change: its outputs.

    Raises:
        PlanError: they have no plan.
    """
    base, *guards = selection.base, *selection.guards
    guard = guards[-1]
    inside = {o.alias for o in guard.base.occurrences}
    parts = guard.formula.parts if hasattr(guard.formula, "parts") and conjunction(guard.formula) else None
    listed: Sequence[Formula] = parts if parts is not None else (guard.formula,)
    own = [f for f in listed if {a.occurrence for x in atoms_of(f) for a in x.attributes} <= inside]
    across = [f for f in listed if f not in own]
    asked = dict.fromkeys(a for f in across for x in atoms_of(f) for a in x.attributes)
    right = tuple(a for a in asked if a.occurrence in inside)
    left = tuple(a for a in asked if a.occurrence not in inside)
    width = len(base.select)
    wider = replace(base, select=(*base.select, *(Output(a.column, a) for a in left)))
    outside = rows(replace(selection, base=wider, guards=tuple(guards[:-1])))
    node = rows(_of_columns(Selection(guard.base, all_of(())), guard.base.occurrences, right, own))
    columns = [tuple([*(Attribute("#", str(n)) for n in range(width)), *left]), right]
    atoms = [x for f in across if (x := _atom(f)) is not None]
    mine_kept, theirs_kept = _sides([outside, node], columns, atoms)
    if not theirs_kept.times and len(atoms) == len(across):
        # Which rows it meets tells no two that are past apart.
        theirs_kept = _passing(1, theirs_kept, [outside, node], columns, atoms, ())
    sides = [mine_kept, theirs_kept]
    shown = [(0, n) for n in range(width)]
    operation = Joined(tuple(sides), tuple(across), columns[0][:width], not guard.negated)
    return _applied(operation, [outside, node], sides, shown, base.outputs, sized)


def _atom(formula: Formula) -> Atom | None:
    atoms = conjunction(formula)
    return atoms[0] if atoms is not None and len(atoms) == 1 else None


def _of_columns(
    selection: Selection, part: Sequence[Occurrence], columns: Sequence[Attribute], own: Sequence[Formula]
) -> Selection:
    """Some columns of some of the relations of a SELECT, under conditions."""
    select = tuple(Output(a.column, a) for a in columns)
    query = replace(selection.base.over(part), ring=INTEGERS, select=select, where=())
    return Selection(query, all_of(own))


def _sides(
    inputs: Sequence[Node], columns: Sequence[tuple[Attribute, ...]], across: Sequence[Atom]
) -> list[Side]:
    """How long rows of each side are kept: by a time of theirs, and those of the partners that it tells."""
    numbers = range(len(inputs))
    at = [min(node.times.spans, default=None) for node in inputs]
    spans = {
        a: (number, node.times.spans[p], node.times.scales.get(p, 1))
        for number, node in enumerate(inputs)
        for p, a in enumerate(columns[number])
        if p in node.times.spans
    }
    later: dict[tuple[int, int], int] = {}
    for atom in across:
        if not isinstance(atom, Join) or not all(a in spans for a in atom.attributes):
            continue
        sides = (atom.left, atom.op, atom.right, atom.offset)
        mirrored = (atom.right, atom.op.mirrored, atom.left, -atom.offset)
        for left, op, right, offset in (sides, mirrored):
            if op in (Op.LT, Op.LE, Op.EQ):
                (mine, (_, after), scale), (theirs, (before, _), unit) = spans[left], spans[right]
                # Times are whole numbers.
                bound = offset + after + before - (op is Op.LT and scale == unit == 1)
                later[mine, theirs] = min(later.get((mine, theirs), bound), bound)
    for k in numbers:
        for i in numbers:
            for j in numbers:
                if (i, k) in later and (k, j) in later:
                    through = later[i, k] + later[k, j]
                    later[i, j] = min(later.get((i, j), through), through)
    listed = []
    for number, node in enumerate(inputs):
        partners = [n for n in numbers if n != number]
        own = at[number]
        if own is None or not all((n, number) in later and at[n] is not None for n in partners):
            listed.append(Side(columns[number]))
            continue
        ends = [node.times.delay]
        for n in partners:
            before, after = inputs[n].times.spans[at[n] or 0]
            ends.append(later[n, number] + before + after + inputs[n].times.delay)
        life = Times({own: node.times.spans[own]}, max(ends), node.times.scales)
        listed.append(Side(columns[number], life))
    return listed


def _passing(
    number: int,
    side: Side,
    inputs: Sequence[Node],
    columns: Sequence[tuple[Attribute, ...]],
    across: Sequence[Atom],
    shown: Collection[Attribute],
) -> Side:
    """A side that is kept for ever, without its time once that is before the times of all rows that come.

    Nothing else may ask for its time than that it is before one of a partner.
    """
    node = inputs[number]
    spans = {p: span for p, span in node.times.spans.items() if p < len(side.columns)}
    if len(spans) != 1 or node.times.scales or side.columns[min(spans)] in shown:
        return side
    ((own, (before, after)),) = spans.items()
    delay, stamp, asked = node.times.delay, side.columns[own], 0
    for atom in across:
        if stamp not in atom.attributes:
            continue
        if not isinstance(atom, Join):
            return side
        left = atom.left == stamp
        op, offset = (atom.op, atom.offset) if left else (atom.op.mirrored, -atom.offset)
        right = atom.right if left else atom.left
        partner = next((n for n, there in enumerate(columns) if right in there and n != number), None)
        if partner is None or op not in (Op.LT, Op.LE):
            return side
        times, position = inputs[partner].times, columns[partner].index(right)
        if position not in times.spans or times.scales:
            return side
        # Of what comes no time is less by more than this than what was seen.
        delay = max(delay, times.spans[position][1] + times.delay - offset - after)
        asked += 1
    return replace(side, times=Times({own: (before, after)}, delay), past=(own,)) if asked else side


def _applied(
    operation: Joined,
    inputs: Sequence[Node],
    sides: Sequence[Side],
    shown: Sequence[tuple[int, int] | None],
    outputs: tuple[tuple[str, object], ...],
    sized: Sized,
) -> Applied:
    sizes = []
    for node, side in zip(inputs, sides, strict=True):
        if node.times and not side.times:
            column = node.outputs[min(node.times.every)][0]
            raise PlanError(f"no plan was found: rows that have {column} are kept for ever")
        number = sized(node, side.times, None)
        if side.past:
            left = [p for p in range(len(side.columns)) if p not in side.past]
            number = together([number, sized(node, Times(), left)])
        sizes.append(number.times(len(side.columns) + 1 + (operation.matched is not None)))
    size = together(sizes)
    spans, scales = dict[int, tuple[int, int]](), dict[int, int]()
    for position, index in enumerate(shown):
        if index is not None and index[1] in sides[index[0]].times.spans:
            spans[position] = sides[index[0]].times.spans[index[1]]
            if index[1] in sides[index[0]].times.scales:
                scales[position] = sides[index[0]].times.scales[index[1]]
    times = Times(spans, max((side.times.delay for side in sides if not side.past), default=0), scales)
    return Applied(operation, tuple(inputs), outputs, times, True, size.number, size.formula)  # type: ignore[arg-type]
