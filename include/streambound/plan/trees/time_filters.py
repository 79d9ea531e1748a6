"""From a SELECT whose conditions read the present time to the nodes that give its rows (see ``flow``).

The rows are those of the SELECT without it, with the times that it is compared with. What the conditions
imply between these is asked of them: a row of which no present time is both late and early enough is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from streambound.boundedness.criterion.current_time import PRESENT, bounds, ends
from streambound.boundedness.criterion.questions import joined
from streambound.constraints.cases import cases
from streambound.errors import PlanError
from streambound.plan.flow import Applied, Leaf, Moment, Node, Size, Sum, TimeFiltered, Times
from streambound.plan.trees.as_of_joins import Leaves, showing, single_select
from streambound.plan.trees.guarded import implied_times
from streambound.plan.trees.sizes import nothing
from streambound.query.clock import CLOCK
from streambound.query.column_types import Family
from streambound.query.formula import ALWAYS, NOWHERE, all_of
from streambound.query.model import Attribute, Occurrence, Op, Output, Query, Relation, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection, Statement

# The rows of a SELECT, and how many different rows of a node there may be at once, with the times of them.
Rows = Callable[[Selection], Node]
Sized = Callable[[Node, Times], Size]


def time_filtered(selection: Selection, rows: Rows, present: Node, sized: Sized) -> Node:
    """The rows of a SELECT that reads the present time: its outputs.

    Args:
        rows: the rows of a SELECT that does not.
        present: its rows have the present time.

    Raises:
        PlanError: they have no plan.
    """
    read, further = bounds(selection)
    # What has arrived is not later than the present.
    timed = [atom for atom in read if ends(atom) or atom.offset < (atom.op is Op.LT)]
    name = selection.base.name
    if PRESENT in selection.base.projected:
        raise PlanError("rows that show the present time cannot be evaluated yet", subject=name)
    occurrences = tuple(o for o in selection.base.occurrences if o.relation != CLOCK)
    width = len(selection.base.select)
    base, positions = showing(
        replace(selection.base, ring=INTEGERS, occurrences=occurrences), [atom.left for atom in timed]
    )
    if any(base.type_of(atom.left).family is not Family.TIMESTAMP for atom in timed):
        raise PlanError("the present time is compared with times that are no timestamps", subject=name)
    whole = joined(selection, ())
    possible = any(case.parts for case in cases(whole))
    formula = all_of((*further, *implied_times(whole, base))) if possible else NOWHERE
    node = rows(replace(selection, base=base, formula=formula))
    if not timed:
        return node
    # For so long after its time a row is kept: as long as a change is ahead of it.
    leaving = [-atom.offset - (atom.op is Op.GT) for atom in timed if ends(atom)]
    entering = [-atom.offset - (atom.op is Op.LE) for atom in timed if not ends(atom)]
    life = min(leaving) if leaving else max(entering)
    spans = node.times.spans
    stamps = {p: spans[p] for p in (positions[atom.left] for atom in timed) if p in spans}
    if life >= 0 and not stamps and not nothing(node):
        raise PlanError("nothing says when rows that the present time takes back are over", subject=name)
    lasting = Times(stamps, node.times.delay + life)
    size = sized(node, lasting) if life >= 0 else Size(0)
    units = size.times(len(node.outputs) + 1)
    moments = tuple(Moment(positions[atom.left], atom.op, atom.offset) for atom in timed)
    times = node.times.among({p: p for p in range(width)})
    times = replace(times, delay=max(times.delay, life + 1, *(late + 1 for late in entering), 0))
    return Applied(
        TimeFiltered(moments, width),
        (node, present),
        selection.base.outputs,
        times,
        bool(leaving) or node.retracts,
        units.number,
        units.formula,
        size if leaving else None,
    )


def present_of(statement: Statement, relations: Iterable[Relation], leaf: Leaves) -> Node:
    """Rows of which the greatest is the present time: the last one that a tuple of any stream had.

    Raises:
        PlanError: a stream has no time.
    """
    nodes_: list[Node] = []
    for relation in relations:
        if relation.kind is RelationKind.STATIC:
            continue
        if relation.timestamp is None:
            raise PlanError(f"the present time is not told by {relation.name}, whose tuples have no time")
        time = Output(CLOCK.name, Attribute(relation.name, relation.timestamp))
        occurrence = Occurrence(relation.name, replace(relation, kind=RelationKind.STREAM))
        query = Query(statement.name, statement.sql, INTEGERS, (time,), (occurrence,), ())
        node = leaf(single_select(statement, Selection(query, ALWAYS)))
        assert isinstance(node, Leaf)
        nodes_.append(replace(node, best=(0, False)))
    return nodes_[0] if len(nodes_) == 1 else Sum(tuple(nodes_))
