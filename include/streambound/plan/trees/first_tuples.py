"""Joins of which not all rows can be kept, where the first tuples of each side are enough.

Tuples of a side that are equal in what is compared with other sides, and in what rows are partitioned or
grouped by, have the same partners for ever.

*The first rows.* Of two such tuples that which comes first in the order of the rows, as far as that is of its
side, comes first with each partner too: values of a partner are the same. So a row is behind n others if its
tuple is, and the first n tuples of each side make the first n rows (docs/theory.md, "Top-n"). A side may be
compared by one more column, in one direction, where its tuples come in the order of that: what comes before
another then meets all that it meets.

*Numbers of rows that are told up to some n.* A side may be compared by one more column, in one direction. Of
n + 1 tuples that come before another in that order each meets all that it meets: where a match of it is left
out there are n + 1 others of the same group ("HAVING"). Where each term of a sum is at least t, so many are
n t or more.

Streams that conditions on time link are one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from streambound.boundedness.aggregation.having import least_term
from streambound.boundedness.aggregation.ranks import always_finite
from streambound.constraints.cases import cases
from streambound.errors import PlanError
from streambound.plan.flow import Applied, Joined, Node, Side, Size, Times, together
from streambound.plan.trees.order_planner import ranked
from streambound.plan.trees.row_planner import Planning, changes, rows
from streambound.plan.trees.sizes import groups
from streambound.query.formula import Formula, all_of, atoms_of, conjuncts
from streambound.query.model import Attribute, Join, NullTest, Occurrence, Op, Output, RelationKind
from streambound.query.operators import Aggregate, Grouping, Ranking, Shown, Test, Tests
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement

SortOrder: TypeAlias = Sequence[tuple[Attribute, bool]]


def ranked_join(statement: Statement, block: Block, then: Ranking, planning: Planning) -> Node | None:
    """The first rows of a join by the first tuples of its sides; None where it is not such a join.

    Raises:
        PlanError: what sides are compared by has not finitely many values.
    """
    sides, selection = _sides(block), block.selections[0]
    if not sides or then.function != "ROW_NUMBER" or then.beyond:
        return None
    shown = [output.term for output in selection.base.select]
    terms = [term for term in shown if isinstance(term, Attribute)]
    order = [(t, descends) for p, descends in then.order if isinstance(t := shown[p], Attribute)]
    parted = {t for position in then.partition if isinstance(t := shown[position], Attribute)}

    def of(across: Iterable[Formula]) -> tuple[set[Attribute], SortOrder]:
        listed = list(across)
        waiting = {a for a in _read(listed) if not always_finite(selection, a)} - parted
        alike = {*parted, *_read(listed)} - waiting
        made = list[tuple[Attribute, bool]]()
        # Rows that tie are in the order of what they show.
        sequence = [pair for pair in (*order, *((term, False) for term in terms)) if pair[0] not in alike]
        for side in sides:
            names = {o.alias for o in side}
            mine = [pair for pair in sequence if pair[0].occurrence in names]
            compared = [(a, _falls(selection, a, listed)) for a in waiting if a.occurrence in names]
            if len(compared) > 1:
                message = "no plan was found: tuples of one side are compared by several columns"
                raise PlanError(message, subject=statement.name)
            if compared and mine and mine[0] != compared[0]:
                message = f"no plan was found: rows are not first in the order of {compared[0][0]}"
                raise PlanError(f"{message}, which tuples are compared by", subject=statement.name)
            made += compared if not mine else [pair for pair in order if pair in mine] or mine[:1]
        return alike, made

    join = _join(statement, selection, range(len(shown)), sides, of, then.last, planning)
    return ranked(join, then)


def counted_join(
    statement: Statement, block: Block, then: Grouping, keys: Sequence[int], planning: Planning
) -> tuple[Node, tuple[int, ...]] | None:
    """Rows of a join, as many of each group as HAVING tells apart, and the outputs that they have; None where
    it does more than tell numbers of rows, and sums of positive terms from below.

    Raises:
        PlanError: what sides are compared by has not finitely many values, or more than one column of them.
    """
    sides, tests = _sides(block), then.having.tests if then.having is not None else None
    shows_more = any(shown.values for shown in then.shown) or then.session is not None
    if not sides or shows_more or tests is None:
        return None
    selection = block.selections[0]
    most = [_deciding_rows(then.aggregates[test.aggregate], test, selection) for test in _tests(tests)]
    if None in most or len(then.aggregates) > len({test.aggregate for test in _tests(tests)}):
        return None
    grouped = {t for p in keys if isinstance(t := selection.base.select[p].term, Attribute)}

    def of(across: Iterable[Formula]) -> tuple[set[Attribute], SortOrder]:
        listed = list(across)
        waiting = {a for a in _read(listed) if not always_finite(selection, a)} - grouped
        if any(sum(a.occurrence in {o.alias for o in side} for a in waiting) > 1 for side in sides):
            message = "no plan was found: tuples of one side are compared by several columns"
            raise PlanError(message, subject=statement.name)
        order = {a: _falls(selection, a, listed) for a in waiting}
        return {*grouped, *_read(listed)} - waiting, sorted(order.items())

    summed = {p for aggregate in then.aggregates for p in aggregate.arguments}
    positions = (*keys, *sorted(summed.difference(keys)))
    last = max([0, *(number for number in most if number is not None)]) + 1
    return _join(statement, selection, positions, sides, of, last, planning), positions


def _deciding_rows(aggregate: Aggregate, test: Test, selection: Selection) -> int | None:
    """From how many rows on, plus one, a comparison of a group is as it stays; None of any other."""
    if aggregate.counts_rows:
        return int(test.value)
    least = least_term(aggregate, (selection,)) if test.op in (Op.GT, Op.GE) else None
    if least is None or not all(_present(selection, position) for position in aggregate.arguments):
        return None
    return int(test.value // least)


def _present(selection: Selection, position: int) -> bool:
    """Whether an output is NULL in no row."""
    term = selection.base.select[position].term
    parts = (query for case in cases(selection) for query in case.parts)
    return isinstance(term, Attribute) and all(term in q.present or not q.nullable(term) for q in parts)


def _tests(tests: Test | Tests) -> Iterator[Test]:
    if isinstance(tests, Test):
        yield tests
    else:
        for part in tests.parts:
            yield from _tests(part)


def _falls(selection: Selection, attribute: Attribute, across: Iterable[Formula]) -> bool:
    """Whether the greater a column is the more a tuple meets; or the less it is.

    Raises:
        PlanError: neither is so.
    """
    directions = set[bool | None]()
    for part in across:
        if attribute not in _read([part]):
            continue
        if not isinstance(part, Join) or part.op in (Op.EQ, Op.NE):
            directions.add(None)
        else:
            directions.add((part.op in (Op.GT, Op.GE)) is (part.left == attribute))
    if len(directions) != 1 or None in directions:
        message = f"no plan was found: {attribute} is compared in more than one direction"
        raise PlanError(message, subject=selection.base.name)
    return bool(directions.pop())


def _read(formulas: Iterable[Formula]) -> Iterator[Attribute]:
    return (a for formula in formulas for atom in atoms_of(formula) for a in atom.attributes)


def _sides(block: Block) -> list[tuple[Occurrence, ...]]:
    """The occurrences of a join of streams, those together that conditions on time link; else none."""
    selection, *further = block.selections
    streams = selection.base.occurrences
    if further or selection.guards or selection.as_of or selection.computes or changes(selection):
        return []
    if any(o.relation.kind is not RelationKind.STREAM or o.relation.fed is not None for o in streams):
        return []
    sides = [{o.alias} for o in streams]
    for part in conjuncts(selection.formula):
        read = list(_read([part]))
        names = {a.occurrence for a in read}
        if len(names) > 1 and any(map(selection.base.is_time, read)):
            linked = [side for side in sides if side & names]
            sides = [*(side for side in sides if not side & names), set().union(*linked)]
    return [tuple(o for o in streams if o.alias in side) for side in sides] if len(sides) > 1 else []


def _join(
    statement: Statement,
    selection: Selection,
    positions: Iterable[int],
    sides: Sequence[tuple[Occurrence, ...]],
    of: Callable[[Iterable[Formula]], tuple[set[Attribute], SortOrder]],
    last: int,
    planning: Planning,
) -> Applied:
    """Some outputs of the rows that the first tuples of each side make.

    Args:
        of: by the conditions between sides, what tuples are alike in, and the order that they come in then.
    """
    base, parts = selection.base, conjuncts(selection.formula)
    owners = {o.alias: number for number, side in enumerate(sides) for o in side}
    across = [part for part in parts if len({owners[a.occurrence] for a in _read([part])}) > 1]
    select = [base.select[position] for position in positions]
    alike, order = of(across)
    inputs, columns, sizes = list[Node](), list[tuple[Attribute, ...]](), list[Size]()
    for number, side in enumerate(sides):
        # In the order of the rows, as far as they are of this side: so ties are broken alike.
        wanted = (a for a in (*(o.term for o in select), *_read(across)) if isinstance(a, Attribute))
        local_columns = tuple(dict.fromkeys(a for a in wanted if owners[a.occurrence] == number))
        at = {a: position for position, a in enumerate(local_columns)}
        own = [part for part in parts if part not in across and _of(part, owners, number)]
        # What is NULL meets nothing.
        compared = {a for part in across if isinstance(part, Join) for a in part.attributes}
        own += [NullTest(a, False) for a in local_columns if a in compared and base.nullable(a)]
        query = replace(
            base.over(side), ring=INTEGERS, select=tuple(Output(str(a), a) for a in local_columns)
        )
        node = rows(statement, [Selection(query, all_of(own))], range(len(local_columns)), planning)
        first = Ranking(
            "ROW_NUMBER",
            tuple(at[a] for a in local_columns if a in alike),
            tuple((at[a], descends) for a, descends in order if a in at),
            Op.LE,
            last,
            tuple(Shown(name, kind, (n,)) for n, (name, kind) in enumerate(node.outputs)),
        )
        # No time ends what a side keeps: partners may come for ever.
        kept = groups(node, Times(), first.partition).times(last)
        inputs.append(replace(ranked(node, first), standing=kept))
        sizes.append(kept.times(len(local_columns) + 1))
        columns.append(local_columns)
    operation = Joined(
        tuple(Side(local_columns) for local_columns in columns),
        tuple(across),
        tuple(output.term for output in select),
    )
    outputs = tuple((output.name, base.type_of(output.term)) for output in select)
    size = together(sizes)
    return Applied(operation, tuple(inputs), outputs, Times(), True, size.number, size.formula)


def _of(part: Formula, owners: dict[str, int], number: int) -> bool:
    """Whether a condition is one of a side; what is never true is one of the first."""
    names = {owners[a.occurrence] for a in _read([part])}
    return names == {number} or (not names and not number)
