"""From a SELECT with as-of joins to the nodes that give its rows (see ``flow``).

The rows are those of the other streams, with a plan of their own; for each as-of join an operation adds what
it looks up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from streambound.errors import PlanError
from streambound.plan.conditions import condition
from streambound.plan.flow import Applied, LookedUp, Node, Size, Times, together
from streambound.plan.trees.sizes import Values, columns_of, groups, nothing, rows_within
from streambound.query.formula import ALWAYS, Formula, all_of, atoms_of, conjuncts
from streambound.query.model import Attribute, Op, Output, Query, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import AsOf, Block, Selection, Statement

# The node of a statement of joins with filters.
Leaves = Callable[[Statement], Node]


def single_select(statement: Statement, selection: Selection) -> Statement:
    """A statement of one SELECT."""
    base = selection.base
    return Statement(statement.name, statement.sql, (Block(base.ring, (selection,)),), base.outputs)


def showing(base: Query, asked: Sequence[Attribute]) -> tuple[Query, dict[Attribute, int]]:
    """A query that also shows some columns, and where it shows each."""
    positions = {
        o.term: p for p, o in reversed(list(enumerate(base.select))) if isinstance(o.term, Attribute)
    }
    select = list(base.select)
    for attribute in asked:
        if attribute not in positions:
            positions[attribute] = len(select)
            select.append(Output(str(attribute), attribute))
    return replace(base, select=tuple(select)), positions


def looked_up(statement: Statement, selection: Selection, leaf: Leaves) -> Node:
    """The rows of a SELECT without guards: its outputs.

    Args:
        leaf: gives the node of a statement of joins with filters.

    Raises:
        PlanError: they have no plan.
    """
    if not selection.as_of:
        return leaf(single_select(statement, selection))
    if selection.base.ring.idempotent:
        selection = replace(selection, base=replace(selection.base, ring=INTEGERS))
    aliases = {join.alias for join in selection.as_of}
    base = selection.base
    parts = conjuncts(selection.formula)
    own = [part for part in parts if not _aliases(part) & aliases]
    rest = all_of(part for part in parts if part not in own)
    asked = dict.fromkeys(a for join in selection.as_of for a in _read(join))
    asked.update(dict.fromkeys(a for atom in atoms_of(rest) for a in atom.attributes))
    asked.update(dict.fromkeys(base.projected))
    constants = tuple(o for o in base.select if not isinstance(o.term, Attribute))
    first, positions = showing(
        replace(base.over(o for o in base.occurrences if o.alias not in aliases), select=constants),
        [a for a in asked if a.occurrence not in aliases],
    )
    node = leaf(single_select(statement, Selection(first, all_of(own))))
    for number, join in enumerate(selection.as_of, start=1):
        last = number == len(selection.as_of)
        kept = [a for a in asked if a.occurrence == join.alias]
        columns = {**positions, **{a: len(node.outputs) + n for n, a in enumerate(kept)}}
        shown: tuple[int, ...] = tuple(range(len(node.outputs) + len(kept)))
        if last:
            shown = tuple(
                columns[o.term] if isinstance(o.term, Attribute) else constants.index(o) for o in base.select
            )
        made = _Made(columns, rest if last else ALWAYS, shown)
        node = _joined(statement, selection, join, node, positions, kept, made, leaf)
        positions = columns
    return replace(node, outputs=base.outputs) if isinstance(node, Applied) else node


def _aliases(formula: Formula) -> set[str]:
    return {a.occurrence for atom in atoms_of(formula) for a in atom.attributes}


def _read(join: AsOf) -> list[Attribute]:
    """The columns of the rows, and of what was looked up before, that an as-of join reads."""
    attributes = [left for left, _ in join.keys]
    attributes += [] if join.left is None else [join.left]
    attributes += [a for atom in atoms_of(join.where) for a in atom.attributes]
    return [a for a in attributes if a.occurrence != join.alias]


class _Made(NamedTuple):
    """What a join makes: where the columns are, the condition on the rows, and what is shown of them."""

    columns: Mapping[Attribute, int]
    formula: Formula
    shown: tuple[int, ...]


def _joined(
    statement: Statement,
    selection: Selection,
    join: AsOf,
    rows: Node,
    positions: Mapping[Attribute, int],
    kept: Sequence[Attribute],
    made: _Made,
    leaf: Leaves,
) -> Applied:
    left, right, ahead = join.left, join.right, join.op in (Op.LT, Op.LE)
    if left is None or right is None:
        raise PlanError("an as-of join by arrival cannot be evaluated yet", subject=statement.name)
    parts = conjuncts(join.where)
    own = [part for part in parts if _aliases(part) == {join.alias}]
    where = all_of(part for part in parts if part not in own)
    asked = [a for atom in atoms_of(where) for a in atom.attributes if a.occurrence == join.alias]
    base, theirs = showing(
        _stream(statement.name, selection.base, join.alias),
        [*(b for _, b in join.keys), right, *asked, *kept],
    )
    tuples = leaf(single_select(statement, Selection(base, all_of(own))))
    _require_in_time(statement.name, join, rows, rows.times.lag(positions[left]), tuples)
    mine, columns_of_tuples = columns_of(rows), columns_of(tuples)
    sought = [columns_of_tuples[theirs[b]] if ahead else mine[positions[a]] for a, b in join.keys]
    asked_again = {made.columns[a] for atom in atoms_of(made.formula) for a in atom.attributes}
    asked_again.update(made.shown)
    asked_again.update(positions[a] for atom in atoms_of(where) for a in atom.attributes if a in positions)
    operation = LookedUp(
        keys=tuple((positions[a], theirs[b]) for a, b in join.keys),
        ranges=tuple(values.range for values in sought),
        left=positions[left],
        right=theirs[right],
        strict=join.op in (Op.GT, Op.LT),
        tolerance=join.tolerance,
        outer_join=join.outer,
        where=where,
        outer=positions,
        inner=theirs,
        kept=tuple(theirs[a] for a in kept),
        formula=made.formula,
        columns=made.columns,
        shown=made.shown,
        ahead=ahead,
        timely=ahead and (join.tolerance is not None or positions[left] in asked_again),
    )
    return _applied(statement.name, operation, rows, tuples)


def _stream(name: str, base: Query, alias: str) -> Query:
    """The stream that an as-of join looks into, without outputs.

    Raises:
        PlanError: it is none.
    """
    occurrence = base.occurrence(alias)
    if occurrence.relation.kind not in (RelationKind.STREAM, RelationKind.VERSIONED):
        raise PlanError(
            f"an as-of join with {alias}, which is no stream, cannot be evaluated yet", subject=name
        )
    stream = replace(occurrence, relation=replace(occurrence.relation, kind=RelationKind.STREAM))
    return replace(base.over((stream,)), select=(), ring=INTEGERS)


def _require_in_time(name: str, join: AsOf, rows: Node, lag: int | None, tuples: Node) -> None:
    """Refuse what asks for tuples of long ago; ``lag`` is how late rows come after their time.

    Raises:
        PlanError: it does.
    """
    assert join.left is not None
    dated = lag is not None or nothing(rows)
    if not dated or tuples.times.delay or not (tuples.times or nothing(tuples)):
        raise PlanError(
            f"rows of {join.left.occurrence} need what {join.alias} was long before", subject=name
        )
    if rows.retracts or tuples.retracts:
        raise PlanError("an as-of join of rows that are taken back cannot be evaluated yet", subject=name)
    if join.op in (Op.LT, Op.LE) and lag and not nothing(rows):
        raise PlanError(f"rows of {join.left.occurrence} need what {join.alias} was before", subject=name)


def _applied(name: str, operation: LookedUp, rows: Node, tuples: Node) -> Applied:
    """The node, with its size and times.

    Raises:
        PlanError: it has no finite size.
    """
    ahead, shown = operation.ahead, operation.shown
    size = _waiting(operation, rows) if ahead else _size(name, operation, rows, tuples)
    at = {p: n for n, p in reversed(list(enumerate(shown))) if p < len(rows.outputs)}
    types = [*rows.outputs, *(tuples.outputs[p] for p in operation.kept)]
    outputs = tuple(types[p] for p in shown)
    times = _arrival_times(operation, rows, tuples) if ahead else rows.times.among(at)
    retracts = ahead and operation.outer_join
    return Applied(operation, (rows, tuples), outputs, times, retracts, size.number, size.formula)


def _arrival_times(operation: LookedUp, rows: Node, tuples: Node) -> Times:
    """The times of rows that come with the tuples that they waited for."""
    width, shown = len(rows.outputs), operation.shown
    theirs = {operation.kept[p - width]: n for n, p in enumerate(shown) if p >= width}
    theirs = {} if operation.outer_join else theirs
    times = tuples.times.among(theirs)
    if operation.tolerance is None or operation.left not in shown:
        return times
    return replace(times, spans={**times.spans, shown.index(operation.left): (0, operation.tolerance)})


def _waiting(operation: LookedUp, rows: Node) -> Size:
    """What is kept of rows that wait.

    Raises:
        PlanError: there is no such number.
    """
    width = len(rows.outputs) + 1
    if operation.tolerance is not None:
        return rows_within(rows, operation.tolerance).times(width)
    positions = [p for p in range(len(rows.outputs)) if operation.timely or p != operation.left]
    return together([groups(rows, Times(), positions), rows_within(rows, 0)]).times(width)


def _size(name: str, operation: LookedUp, rows: Node, tuples: Node) -> Size:
    """What is kept of the tuples.

    Raises:
        PlanError: there is no such number.
    """
    lag = rows.times.lag(operation.left) or 0
    width = len(operation.kept) + 2
    if operation.tolerance is not None:
        return rows_within(tuples, lag + operation.tolerance).times(width)
    left, right = columns_of(rows), columns_of(tuples)
    _, _, offers = condition(operation.where, operation.outer, operation.inner)
    numbers = [_values(left[a], right[b]) for a, b in operation.keys]
    numbers += [right[p].count for p in offers.columns]
    for position, number in zip((*(b for _, b in operation.keys), *offers.columns), numbers, strict=True):
        if number is None:
            column = tuples.outputs[position][0]
            raise PlanError(f"no plan was found: the last tuple of each {column} is kept", subject=name)
    keys = prod(number or 0 for number in numbers) * 2 ** len(offers.tests)
    same = rows_within(tuples, 0)
    if same.number is None:
        last = Size(None, f"{keys} x ({same.formula})" if keys > 1 else same.formula)
    else:
        last = Size(keys * same.number)
    return together([last, rows_within(tuples, lag)]).times(width)


def _values(left: Values, right: Values) -> int | None:
    """How many values a key has that both sides may have."""
    counts = [right.count]
    if left.range.values is not None:
        counts.append(len(left.range.values))
    elif left.range.low is not None and left.range.high is not None:
        counts.append(right.between(left.range.low, left.range.high))
    return min((count for count in counts if count is not None), default=None)
