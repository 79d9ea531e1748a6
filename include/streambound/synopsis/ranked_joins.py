"""The first rows of a join of which not all rows can be kept: the first tuples of each side are enough.

Tuples of a side that are equal in what is compared with other sides, and in what rows are partitioned by,
have the same partners for ever. Of two of them that which comes first in the order of the rows, as far as
that is of its side, comes first with each partner too: values of a partner are the same. So a row is behind n
others if its tuple is, and of such tuples the first n of each side make the first n rows (docs/theory.md,
"Top-n"). Streams that conditions on time link are one side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from streambound.query.formula import AllOf, Formula, all_of, atoms_of
from streambound.query.model import Attribute, Kind, Occurrence, Op, Output
from streambound.query.operators import Ranking, Shown
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement
from streambound.synopsis.flow import Applied, Joined, Node, Side, Size, Times, together
from streambound.synopsis.order_planner import ranked
from streambound.synopsis.row_planner import Planning, changes, rows
from streambound.synopsis.sizes import groups


def ranked_join(statement: Statement, block: Block, then: Ranking, planning: Planning) -> Node | None:
    """The first rows of a join by the first tuples of its sides; None where it has no sides, or is more.

    Raises:
        PlanError: what sides are compared by has not finitely many values.
    """
    (selection, *others) = block.selections
    streams = selection.base.occurrences
    plain = not (others or selection.guards or selection.as_of or selection.computes or changes(selection))
    if not plain or then.function != "ROW_NUMBER" or then.beyond:
        return None
    if any(o.relation.kind is not Kind.STREAM or o.relation.fed is not None for o in streams):
        return None
    sides = _sides(selection)
    if len(sides) < 2:
        return None
    return ranked(_join(statement, selection, then, sides, planning), then)


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, AllOf) else (formula,)


def _read(formulas: Iterable[Formula]) -> Iterator[Attribute]:
    return (a for formula in formulas for atom in atoms_of(formula) for a in atom.attributes)


def _sides(selection: Selection) -> list[tuple[Occurrence, ...]]:
    """The occurrences, those together that conditions on time link."""
    sides = [{o.alias} for o in selection.base.occurrences]
    for part in _parts(selection.formula):
        read = list(_read([part]))
        names = {a.occurrence for a in read}
        if len(names) > 1 and any(map(selection.base.is_time, read)):
            linked = [side for side in sides if side & names]
            sides = [*(side for side in sides if not side & names), set().union(*linked)]
    return [tuple(o for o in selection.base.occurrences if o.alias in side) for side in sides]


def _join(
    statement: Statement,
    selection: Selection,
    then: Ranking,
    sides: Sequence[tuple[Occurrence, ...]],
    planning: Planning,
) -> Applied:
    """The rows that the first tuples of each side make."""
    base, parts = selection.base, _parts(selection.formula)
    owners = {o.alias: number for number, side in enumerate(sides) for o in side}
    across = [part for part in parts if len({owners[a.occurrence] for a in _read([part])}) > 1]
    shown = [output.term for output in base.select]
    parted = {shown[position] for position in then.partition}.union(_read(across))
    inputs, columns, sizes = list[Node](), list[tuple[Attribute, ...]](), list[Size]()
    for number, side in enumerate(sides):
        # In the order of the rows, as far as they are of this side: so ties are broken alike.
        wanted = (a for a in (*shown, *_read(across)) if isinstance(a, Attribute))
        mine = tuple(dict.fromkeys(a for a in wanted if owners[a.occurrence] == number))
        own = [part for part in parts if part not in across and _of(part, owners, number)]
        select = tuple(Output(str(a), a) for a in mine)
        query = replace(base, ring=INTEGERS, select=select, occurrences=side)
        node = rows(statement, [Selection(query, all_of(own))], range(len(mine)), planning)
        at = {a: position for position, a in enumerate(mine)}
        order = [(shown[position], descends) for position, descends in then.order]
        first = Ranking(
            "ROW_NUMBER",
            tuple(at[a] for a in mine if a in parted),
            tuple((at[a], descends) for a, descends in order if isinstance(a, Attribute) and a in at),
            Op.LE,
            then.last,
            tuple(Shown(name, kind, (n,)) for n, (name, kind) in enumerate(node.outputs)),
        )
        # No time ends what a side keeps: partners may come for ever.
        kept = groups(node, Times(), first.partition).times(then.last)
        inputs.append(replace(ranked(node, first), standing=kept))
        sizes.append(kept.times(len(mine) + 1))
        columns.append(mine)
    size = together(sizes)
    operation = Joined(tuple(Side(mine) for mine in columns), tuple(across), tuple(shown))
    return Applied(operation, tuple(inputs), base.outputs, Times(), True, size.number, size.formula)


def _of(part: Formula, owners: dict[str, int], number: int) -> bool:
    """Whether a condition is one of a side; what is never true is one of the first."""
    return {owners[a.occurrence] for a in _read([part])} == {number} or (
        not number and not list(_read([part]))
    )
