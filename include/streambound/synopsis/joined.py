"""Joins with rows that change: tables by key, and sub-queries whose rows are taken back (docs/theory.md, C14).

Each side is kept whole: of what changes there is one row of each key, and of streams beside it the criterion says
that what is compared or shown has finitely many values. So a change of one side is joined with the rows of the
others as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streambound.errors import PlanError
from streambound.query.formula import all_of, conjunction
from streambound.query.model import Attribute, Kind, Occurrence, Output
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement
from streambound.synopsis.flow import Applied, Joined, Leaf, Node, Size, Times, together

Sized = Callable[[Node], Size]


def changing(selection: Selection) -> list[Occurrence]:
    """The occurrences whose rows change."""
    return [o for o in selection.base.occurrences if o.relation.kind is Kind.VERSIONED]


def joined_rows(
    statement: Statement, selection: Selection, leaf: Callable[[Statement], Leaf], sized: Sized
) -> Applied:
    """The rows of a SELECT over several relations of which some change: its outputs.

    Args:
        leaf: the leaf of a statement of joins with filters.
        sized: how many different rows of a node there may be at once.

    Raises:
        PlanError: they have no plan.
    """
    base = selection.base
    atoms = conjunction(selection.formula)
    if atoms is None:
        message = "OR in a join with rows that change cannot be evaluated yet"
        raise PlanError(message, subject=statement.name)
    tables = changing(selection)
    rest = tuple(o for o in base.occurrences if o not in tables)
    sides = ([rest] if rest else []) + [(table,) for table in tables]
    owners = {o.alias: number for number, side in enumerate(sides) for o in side}
    across = [atom for atom in atoms if len({owners[a.occurrence] for a in atom.attributes}) > 1]
    wanted = [o.term for o in base.select if isinstance(o.term, Attribute)]
    wanted += [a for atom in across for a in atom.attributes]
    inputs, columns = [], list[tuple[Attribute, ...]]()
    for number, side in enumerate(sides):
        mine = tuple(dict.fromkeys(a for a in wanted if owners[a.occurrence] == number))
        select = tuple(Output(a.column, a) for a in mine)
        own = [atom for atom in atoms if {owners[a.occurrence] for a in atom.attributes} == {number}]
        query = replace(base, ring=INTEGERS, select=select, occurrences=side, where=())
        block = Block(INTEGERS, (Selection(query, all_of(own)),))
        inputs.append(leaf(Statement(statement.name, statement.sql, (block,), query.outputs)))
        columns.append(mine)
    size = together(sized(node).times(len(mine) + 1) for node, mine in zip(inputs, columns, strict=True))
    operation = Joined(tuple(columns), tuple(across), tuple(o.term for o in base.select))
    return Applied(operation, tuple(inputs), base.outputs, Times(), True, size.number, size.formula)
