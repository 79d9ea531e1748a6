"""Joins with rows that change: tables by key, and sub-queries whose rows are taken back (docs/theory.md,
C14).

Each side is kept as it is: of what changes there is one row of each key, and of streams beside it the
criterion says that what is compared or shown has finitely many values. So a change of one side is joined with
the rows of the others. Where conditions bound how far the times of rows that meet are apart, a row is kept
until neither it nor a partner can come or change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from streambound.errors import PlanError
from streambound.query.formula import Formula, all_of, atoms_of, conjunction
from streambound.query.model import Atom, Attribute, Join, Occurrence, Op, Output, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection
from streambound.synopsis.flow import Applied, Joined, Node, Side, Size, Times, together

# The rows of a SELECT, and how many different rows of a node there may be at once, with the times of them.
Rows = Callable[[Selection], Node]
Sized = Callable[[Node, Times], Size]


def changing(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """The occurrences whose rows change, or come late."""
    return [o for o in occurrences if o.relation.kind is RelationKind.VERSIONED or o.relation.fed is not None]


def joined_rows(selection: Selection, rows: Rows, sized: Sized) -> Applied:
    """The rows of a SELECT over several relations of which some change: its outputs.

    Args:
        rows: the rows of a SELECT over fewer of them.

    Raises:
        PlanError: they have no plan.
    """
    base = selection.base
    atoms = conjunction(selection.formula)
    if atoms is None:
        raise PlanError("OR in a join with rows that change cannot be evaluated yet", subject=base.name)
    tables = changing(base.occurrences)
    rest = tuple(o for o in base.occurrences if o not in tables)
    parts = ([rest] if rest else []) + [(table,) for table in tables]
    wanted = [o.term for o in base.select if isinstance(o.term, Attribute)]
    inputs, columns = [], list[tuple[Attribute, ...]]()
    owners = {o.alias: number for number, part in enumerate(parts) for o in part}
    across = [atom for atom in atoms if len({owners[a.occurrence] for a in atom.attributes}) > 1]
    wanted += [a for atom in across for a in atom.attributes]
    for number, part in enumerate(parts):
        mine = tuple(dict.fromkeys(a for a in wanted if owners[a.occurrence] == number))
        own = [atom for atom in atoms if {owners[a.occurrence] for a in atom.attributes} == {number}]
        inputs.append(rows(_of_columns(selection, part, mine, own)))
        columns.append(mine)
    sides = _sides(inputs, columns, across)
    places = {a: (n, p) for n, mine in enumerate(columns) for p, a in enumerate(mine)}
    shown = [places.get(o.term) if isinstance(o.term, Attribute) else None for o in base.select]
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
    theirs = tuple(a for a in asked if a.occurrence in inside)
    mine = tuple(a for a in asked if a.occurrence not in inside)
    width = len(base.select)
    wider = replace(base, select=(*base.select, *(Output(a.column, a) for a in mine)))
    outside = rows(replace(selection, base=wider, guards=tuple(guards[:-1])))
    node = rows(_of_columns(Selection(guard.base, all_of(())), guard.base.occurrences, theirs, own))
    columns = [tuple([*(Attribute("#", str(n)) for n in range(width)), *mine]), theirs]
    atoms = [x for f in across if (x := _atom(f)) is not None]
    sides = _sides([outside, node], columns, atoms)
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
    query = replace(selection.base, ring=INTEGERS, select=select, occurrences=tuple(part), where=())
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
                (mine, (_, after), _), (theirs, (before, _), _) = spans[left], spans[right]
                bound = offset + after + before
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


def _applied(
    operation: Joined,
    inputs: Sequence[Node],
    sides: Sequence[Side],
    shown: Sequence[tuple[int, int] | None],
    outputs: tuple[tuple[str, object], ...],
    sized: Sized,
) -> Applied:
    sizes = [
        sized(node, side.times).times(len(side.columns) + 1 + (operation.matched is not None))
        for node, side in zip(inputs, sides, strict=True)
    ]
    size = together(sizes)
    spans, scales = dict[int, tuple[int, int]](), dict[int, int]()
    for position, place in enumerate(shown):
        if place is not None and place[1] in sides[place[0]].times.spans:
            spans[position] = sides[place[0]].times.spans[place[1]]
            if place[1] in sides[place[0]].times.scales:
                scales[position] = sides[place[0]].times.scales[place[1]]
    times = Times(spans, max((side.times.delay for side in sides), default=0), scales)
    return Applied(operation, tuple(inputs), outputs, times, True, size.number, size.formula)  # type: ignore[arg-type]
