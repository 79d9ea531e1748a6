"""Sub-queries that are not written out: the rows of one statement are the tuples of another
(docs/theory.md).

A bounded statement whose rows are final, or append-only, is a stream for the next: its rows are late by
at most a constant, and of different ones there are boundedly many at a time (not of equal ones: an engine
takes weights). Of one that changes the keys are as good as known (``changing``). So both bounded is
bounded. If the inner one is not, the outer is not where it passes every row and column on; else it is not
known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from streambound.boundedness.aggregation.having import condition, free
from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.questions import distinct, keyed
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.boundedness.joins.guards import judged
from streambound.boundedness.unfolding import flattened, unfolded, without_partners
from streambound.query.formula import ALWAYS, AnyOf, all_of, conjunction, conjuncts
from streambound.query.model import Attribute, Filter, Join, NullTest, Op, Query, Relation, RelationKind
from streambound.query.operators import AggregateKind, Grouping, Ranking, WindowCalls
from streambound.query.parse.blocks.derived_tables import HIDDEN
from streambound.query.statement import Selection, Statement

_OPEN = "a sub-query is not bounded alone, but what uses it may not need all of it"


def fed(statement: Statement) -> Iterator[tuple[Relation, Statement]]:
    """The relations of a statement that are the answers of another, with that."""
    seen = dict[str, tuple[Relation, Statement]]()
    for selection in statement.selections:
        for occurrence in (
            *selection.base.occurrences,
            *(o for g in selection.guards for o in g.base.occurrences),
        ):
            relation = occurrence.relation
            if relation.fed is not None:
                seen.setdefault(relation.name, (relation, relation.fed))
    yield from seen.values()


def inherited(
    statement: Statement, inner: Iterable[tuple[Relation, Verdict]], decide: Callable[[Statement], Verdict]
) -> Verdict:
    """The verdict on a statement of which a sub-query is not bounded."""
    relation, verdict = next((r, v) for r, v in inner if not v.bounded)
    if verdict.outcome is Outcome.UNBOUNDED and passes_on(statement, relation):
        return verdict
    flat = flattened(statement, relation)
    if flat is not None:
        flat_verdict = decide(flat)
        if flat_verdict.outcome is not Outcome.UNKNOWN:
            return flat_verdict
    narrowed = _narrowed(statement, relation)
    if narrowed is not None:
        flat_verdict = decide(narrowed)
        if flat_verdict.outcome is Outcome.UNBOUNDED:
            return flat_verdict
    counted = _counted(statement, relation)
    counted = counted or _climbing(statement, relation)
    if counted is not None and decide(counted).outcome is Outcome.UNBOUNDED:
        return replace(verdict, outcome=Outcome.UNBOUNDED, final="never-final")
    if relation.fed is not None and _remembered(relation.fed):
        alike = unfolded(statement, relation)
        if alike is not None and (flat_verdict := decide(alike)).outcome is Outcome.UNBOUNDED:
            return replace(flat_verdict, final=_final(statement, relation, decide))
    if relation.fed is not None and _seen_once(relation.fed):
        flat_verdict = decide(_over_keys(statement, relation))
        if flat_verdict.outcome is Outcome.UNBOUNDED and _columns(statement, relation) <= set(
            relation.primary_key
        ):
            if _stays(relation.fed):
                return flat_verdict
            # What groups leave again can be final without them.
            return replace(flat_verdict, final=_final(statement, relation, decide))
    if verdict.outcome is Outcome.UNBOUNDED and _shown_by_the_last(statement, relation):
        free = decide(_over_keys(statement, relation))
        if free.bounded and all(reason.code != "unsatisfiable" for reason in free.reasons):
            return verdict
    first = verdict.reasons[0]
    code = first.code if verdict.outcome is Outcome.UNKNOWN else "open-question"
    reason = replace(first, code=code, message=f"{_OPEN}: {first.message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _narrowed(statement: Statement, relation: Relation) -> Statement | None:
    """The inner statement, where the outer only filters its rows and leaves columns out; else None.

    If only such tuples arrive as meet the filters, the outer answers are the inner ones. Columns that
    are left out are so of the inner rows as well; of ranks it does not matter which are shown, since a row
    that comes, or comes in the place of another, is one more.
    """
    made = relation.fed
    if made is None or len(made.blocks) != 1 or statement.blocks[0].then is not None:
        return None
    filters, block = _filters(statement, relation, made), made.blocks[0]
    if filters is None or isinstance(block.then, Grouping | WindowCalls):
        return None
    if statement.blocks[0].ring.remembers:
        return None
    positions = dict(_positions(relation, made))
    select = statement.selections[0].base.select
    shown = [o.term.column for o in select if isinstance(o.term, Attribute) and not o.within]
    if any(name not in positions for name in shown) or not shown:
        return None

    def of(selection: Selection) -> Selection:
        kept = tuple(selection.base.select[positions[name]] for name in shown)
        return (
            selection
            if block.then is not None
            else replace(selection, base=replace(selection.base, select=kept))
        )

    types = dict(made.outputs)
    outputs = (
        made.outputs
        if block.then is not None
        else tuple((name, types[name]) for name in shown if name in types)
    )
    selections = tuple(map(of, filters))
    return replace(made, blocks=(replace(block, selections=selections),), outputs=outputs)


def _counted(statement: Statement, relation: Relation) -> Statement | None:
    """The inner statement, where the outer counts those of its rows that meet filters; else None.

    A row that comes is one more, unless it was there: who sees the number knows the rows (Theorem D).
    """
    made, then = relation.fed, statement.blocks[0].then
    if made is None or not isinstance(then, Grouping) or then.having is not None:
        return None
    shown = {s.values[0] for s in then.shown if s.plain and s.values}
    if not any(then.aggregates[number].counts_rows for number in shown) or not _remembered(made):
        return None
    filters = _filters(statement, relation, made)
    if filters is None:
        return None
    return replace(made, blocks=(replace(made.blocks[0], selections=filters),))


def _climbing(statement: Statement, relation: Relation) -> Statement | None:
    """The inner groups, where the outer keeps those that have most rows or the greatest sums; else None.

    Any group can still become one of them, and then shows how much it had.
    """
    made, then = relation.fed, statement.blocks[0].then
    if made is None or not isinstance(then, Ranking) or not then.order or not _remembered(made):
        return None
    inner, (position, descends) = made.blocks[0].then, then.order[0]
    filters = _filters(statement, relation, made)
    if filters is None or not isinstance(inner, Grouping) or then.op not in (Op.LE, Op.LT, Op.EQ):
        return None
    term = statement.selections[0].base.select[position].term
    numbers = [
        n for n, c in enumerate(relation.columns) if isinstance(term, Attribute) and c.name == term.column
    ]
    shown = inner.shown[numbers[0]] if numbers and numbers[0] < len(inner.shown) else None
    if shown is None or not shown.plain or len(shown.values) != 1:
        return None
    aggregate = inner.aggregates[shown.values[0]]
    summed = aggregate.kind is AggregateKind.SUM and not aggregate.distinct
    counted = aggregate.kind is AggregateKind.COUNT and not aggregate.distinct and descends
    if not counted and not (summed and all(free(selection, aggregate, inner.keys) for selection in filters)):
        return None
    return replace(made, blocks=(replace(made.blocks[0], selections=filters),))


def _filters(statement: Statement, relation: Relation, made: Statement) -> tuple[Selection, ...] | None:
    """The selections of an inner statement with what the outer asks of single columns; None if it is more."""
    if len(made.blocks) != 1 or len(statement.selections) != 1:
        return None
    (outer,) = statement.selections
    if outer.guards or outer.as_of or len(outer.base.occurrences) != 1:
        return None
    if outer.base.occurrences[0].relation.name != relation.name:
        return None
    atoms = conjuncts(outer.formula)
    positions = dict(_positions(relation, made))
    filters = [atom for atom in atoms if isinstance(atom, Filter)]
    if len(filters) < len(atoms) or any(atom.attribute.column not in positions for atom in filters):
        return None
    selections = []
    for selection in made.blocks[0].selections:
        terms = [selection.base.select[positions[atom.attribute.column]].term for atom in filters]
        if not all(isinstance(term, Attribute) for term in terms):
            return None
        asked = [
            replace(atom, attribute=term)
            for atom, term in zip(filters, terms, strict=True)
            if isinstance(term, Attribute)
        ]
        selections.append(replace(selection, formula=all_of((selection.formula, *asked))))
    return tuple(selections)


def _positions(relation: Relation, made: Statement) -> Iterator[tuple[str, int]]:
    """The columns of a relation that are outputs of the rows of its statement as they are."""
    (block,) = made.blocks
    for number, column in enumerate(c for c in relation.columns if not c.of):
        if block.then is None:
            yield column.name, number
            continue
        shown = block.then.shown[number]
        if shown.plain and shown.outputs:
            yield column.name, shown.outputs[0]


def _seen_once(made: Statement) -> bool:
    """Whether a row comes for each value of an unbounded key, and stays if nothing more comes for it.

    Each value then comes just so often that its group is seen: all that uses the groups has one row for it.
    """
    if len(made.blocks) != 1 or not isinstance(made.blocks[0].then, Grouping):
        return False
    block, then = made.blocks[0], made.blocks[0].then
    plain = not any(s.guards or s.as_of for s in block.selections) and len(block.selections) == 1
    if not plain or not condition(then, block.selections).visible:
        return False
    return judged(keyed(made, block.selections, range(then.keys))).outcome is Outcome.UNBOUNDED


def _remembered(made: Statement) -> bool:
    """Whether each key of groups or ranks, or each of different rows, must be remembered and can be seen."""
    alone = without_partners(made)
    if alone is None:
        return False
    made, block, then = alone, alone.blocks[0], alone.blocks[0].then
    if isinstance(then, Grouping):
        if not condition(then, block.selections).visible or then.session is not None:
            return False
        asked = keyed(made, block.selections, range(then.keys))
    elif isinstance(then, Ranking):
        if then.op not in (Op.LE, Op.LT, Op.EQ) or then.limit < 1 + (then.op is Op.LT):
            return False
        asked = keyed(made, block.selections, then.partition)
    elif then is None and block.ring.idempotent:
        asked = made
    else:
        return False
    return judged(asked).outcome is Outcome.UNBOUNDED


def _stays(made: Statement) -> bool:
    """Whether a group that is seen is always seen."""
    then = made.blocks[0].then
    return isinstance(then, Grouping) and condition(then, made.blocks[0].selections).monotone


def _final(statement: Statement, relation: Relation, decide: Callable[[Statement], Verdict]) -> str | None:
    """The verdict in final mode where groups leave again, if it is known."""
    gone = _without_group(statement, relation)
    return "unbounded" if gone is not None and decide(gone).outcome is Outcome.UNBOUNDED else None


def _without_group(statement: Statement, relation: Relation) -> Statement | None:
    """The rows of NOT EXISTS that are final, as those whose one group has left for good; else None.

    Of ``HAVING COUNT(*) < n`` a group leaves with its n-th row: each key is a tuple that comes then.
    """
    made = relation.fed
    if made is None or len(statement.selections) != 1 or statement.blocks[0].then is not None:
        return None
    then, (selection,) = made.blocks[0].then, statement.selections
    if not isinstance(then, Grouping) or not condition(then, made.blocks[0].selections).leaves:
        return None
    if len(selection.guards) != 1 or not selection.guards[0].negated:
        return None
    (guard,) = selection.guards
    inner = {o.alias for o in guard.base.occurrences if o.relation.name == relation.name}
    parts = guard.formula.parts if isinstance(guard.formula, AnyOf) else (guard.formula,)
    # NOT IN: where so many rows without a key have come as well, only the key of a row counts.
    compared = [part for part in parts if not isinstance(part, NullTest)]
    atoms = conjunction(compared[0]) if len(compared) == 1 else None
    if atoms is None or len(inner) != len(guard.base.occurrences):
        return None
    equal = [join for join in atoms if isinstance(join, Join) and join.op is Op.EQ]
    keys = {a.column for join in equal for a in join.attributes if a.occurrence in inner}
    if len(equal) < len(atoms) or len(equal) != len(relation.primary_key) or keys != {*relation.primary_key}:
        return None
    met = replace(guard, formula=compared[0], negated=False, outer=False)
    block = replace(statement.blocks[0], selections=(replace(selection, guards=(met,)),))
    return _over_keys(replace(statement, blocks=(block,)), relation)


def _shown_by_the_last(statement: Statement, relation: Relation) -> bool:
    """Whether rows are kept by what LAG says of the row before: of a key's first row it says nothing.

    So whether a row of a key is shown tells whether the key has been there.
    """
    made = relation.fed
    if made is None or len(made.blocks) != 1 or len(statement.selections) != 1:
        return False
    then, outer = made.blocks[0].then, statement.selections[0]
    if (
        not isinstance(then, WindowCalls)
        or statement.blocks[0].then is not None
        or outer.guards
        or outer.as_of
    ):
        return False
    if [o.relation.name for o in outer.base.occurrences] != [relation.name]:
        return False
    asked = {a.column for atom in outer.atoms for a in atom.attributes}
    read = {base for c in relation.columns if c.name in asked for base in c.of or (c.name,)}
    own = [c.name for c in relation.columns if not c.of]
    numbers = {v for n, s in enumerate(then.shown) if n < len(own) and own[n] in read for v in s.values}
    plain = all(s.plain for n, s in enumerate(then.shown) if n < len(own) and own[n] in read)
    last = all(then.functions[v].name == "LAG" and then.functions[v].partition for v in numbers)
    keyed_rows = made.blocks[0].selections
    return (
        bool(numbers)
        and plain
        and last
        and all(
            judged(distinct(made, keyed_rows, then.functions[v].partition)).outcome is Outcome.UNBOUNDED
            for v in numbers
        )
    )


def _over_keys(statement: Statement, relation: Relation) -> Statement:
    """The statement over a stream in the place of a relation."""
    plain = replace(relation, kind=RelationKind.STREAM, timestamp=None, fed=None, primary_key=())

    def of(query: Query) -> Query:
        occurrences = (
            replace(o, relation=plain) if o.relation.name == relation.name else o for o in query.occurrences
        )
        return replace(query, occurrences=tuple(occurrences))

    return statement.with_selections(lambda selection: selection.with_queries(of))


def _columns(statement: Statement, relation: Relation) -> set[str]:
    """The columns of a relation that a statement mentions."""
    columns = set[str]()
    for selection in statement.selections:
        aliases = {o.alias for o in selection.occurrences if o.relation.name == relation.name}
        mentioned = {a for atom in selection.atoms for a in atom.attributes} | set(selection.base.projected)
        columns.update(a.column for a in mentioned if a.occurrence in aliases)
    return columns


def passes_on(statement: Statement, relation: Relation) -> bool:
    """Whether the answers show every row of a relation with every column of it."""
    for block in statement.blocks:
        if block.then is not None or block.ring.remembers or len(block.selections) != 1:
            continue
        selection = block.selections[0]
        if len(selection.base.occurrences) != 1 or selection.guards or selection.as_of:
            continue
        occurrence = selection.base.occurrences[0]
        shown = {
            o.term.column for o in selection.base.select if isinstance(o.term, Attribute) and not o.within
        }
        names = {c.name for c in relation.columns if not c.of and c.name != HIDDEN}
        if occurrence.relation.name == relation.name and selection.formula == ALWAYS and names <= shown:
            return len(statement.blocks) == 1
    return False
