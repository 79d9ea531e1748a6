"""The verdict on a statement: the one entry to the criteria.

Its blocks are decided by what is done to their rows (groups, ranks, frames), each by queries without that
(``questions``), their guards and as-of joins (``guards``, ``as_of``), and those by the exact criterion
under OR and UNION (``disjunctions``). A sub-query that is not written out must be bounded itself
(``composition``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streambound.boundedness.aggregation.aggregates import grouped
from streambound.boundedness.aggregation.ranks import ranked
from streambound.boundedness.aggregation.window_functions import over_window_functions
from streambound.boundedness.composition import fed, inherited
from streambound.boundedness.criterion.changing import takes_back
from streambound.boundedness.criterion.current_time import PRESENT, criterion_of, ends_in_part, leaves
from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.questions import filtered, once
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.joins.finals import final_of
from streambound.boundedness.joins.guards import guarded, judged
from streambound.boundedness.limits import within_limits
from streambound.boundedness.ranges import with_ranges
from streambound.boundedness.reflexive import with_own_tuples
from streambound.boundedness.time_buckets import with_plain_times
from streambound.boundedness.unions.disjunctions import TOO_MANY, Decision, Part
from streambound.boundedness.unions.disjunctions import decide as decide_plain
from streambound.constraints.search import SearchLimit
from streambound.query.clock import CLOCK
from streambound.query.column_types import NULL, Family
from streambound.query.formula import atoms_of, conjuncts
from streambound.query.model import Attribute, Join, NullTest, Relation, RelationKind
from streambound.query.operators import Grouping, Ranking, WindowCalls
from streambound.query.parse.blocks.derived_tables import mixed, untimed
from streambound.query.statement import Block, Selection, Statement

__all__ = ["Decision", "Part", "decide"]
# Grouping sets that are told apart by NULL: each asks for one more decision.
_SETS = 16


def decide(statement: Statement) -> Decision:
    """The exact criterion on a statement, in changes mode and (``Verdict.final``) in final mode."""
    statement = statement.raw
    in_part = any(map(ends_in_part, statement.blocks))
    statement = with_ranges(with_plain_times(with_own_tuples(criterion_of(statement))))
    inner = [(relation, decide(made).verdict) for relation, made in fed(statement)]
    if not all(verdict.bounded for _, verdict in inner):
        return Decision(inherited(statement, inner, lambda body: decide(body).verdict), ())
    decision = _decided(statement)
    verdict = _over_rows(statement, inner, within_limits(statement, decision.verdict))
    if verdict.bounded and inner:
        below = (reason for _, made in inner for reason in made.reasons)
        verdict = replace(verdict, reasons=once((*below, *verdict.reasons)))
    if in_part:
        # Which groups have no rows that leave is not settled.
        verdict = replace(verdict, final=None)
    return replace(decision, verdict=_of_the_text(statement, verdict))


def _over_rows(statement: Statement, inner: Sequence[tuple[Relation, Verdict]], verdict: Verdict) -> Verdict:
    """The verdict over sub-queries whose rows may be taken back at times that are not known."""
    if any(untimed(relation) for relation, _ in inner):
        verdict = replace(verdict, final=None)
    if verdict.outcome is not Outcome.UNBOUNDED:
        return verdict
    if any(mixed(relation) for relation, _ in inner):
        what = "rows of finitely many keys, which change, are beside others"
    elif any(_passing(relation) for relation, _ in inner) and not _awaits(statement, verdict):
        what = "rows of a sub-query leave with time"
    elif any(map(_reads_twice, statement.selections)):
        what = "a sub-query is of a stream that is read beside it as well"
    else:
        return verdict
    what += ", and it is not known which must be kept"
    reason = replace(
        verdict.reasons[0], code="open-question", message=f"{what}: {verdict.reasons[0].message}"
    )
    return replace(verdict, outcome=Outcome.UNKNOWN, reasons=(reason,), final=None)


def _awaits(statement: Statement, verdict: Verdict) -> bool:
    """Whether rows of plain streams must be kept, whatever the time of others: one may match long after."""
    bases = [b for s in statement.selections for b in (s.base, *(g.base for g in s.guards))]
    relations = {o.alias: o.relation for base in bases for o in base.occurrences}
    formulas = [f for s in statement.selections for f in (s.formula, *(g.formula for g in s.guards))]
    joins = [atom for f in formulas for atom in atoms_of(f) if isinstance(atom, Join)]

    def tells_time(attribute: Attribute) -> bool:
        relation = relations[attribute.occurrence]
        column, stamp = relation.column(attribute.column), relation.timestamp
        is_stamp = stamp is not None and stamp in (column.name, *column.of)
        return is_stamp or column.type.family in (Family.TIMESTAMP, Family.DATE, Family.TIME)

    kept = [a for reason in verdict.reasons for a in reason.attributes]
    plain = bool(kept) and all(relations[a.occurrence].fed is None for a in kept if a.occurrence in relations)
    return plain and not any(tells_time(a) for atom in joins for a in atom.attributes)


def _passing(relation: Relation) -> bool:
    """Whether rows of a sub-query leave with time, and are no table that changes."""
    made = relation.fed
    return made is not None and relation.kind is RelationKind.STREAM and leaves(made)


def _reads_twice(selection: Selection) -> bool:
    """Whether a stream is read beside a sub-query of it, whose rows are then none of any."""
    arriving = [o.relation for o in selection.occurrences if o.relation.kind is not RelationKind.STATIC]
    read = [
        {r.name for r in ((relation,) if relation.fed is None else relation.fed.scanned)}
        for relation in arriving
    ]
    made = any(relation.fed is not None for relation in arriving)
    return made and len(set().union(*read)) < sum(map(len, read))


def _of_the_text(statement: Statement, verdict: Verdict) -> Verdict:
    """The verdict whose reasons name columns of the statement alone, not those of what it was reduced to."""
    named_columns = {(o.alias, c.name) for o in statement.occurrences for c in o.relation.columns}

    def named(reason: Reason) -> Reason:
        kept = tuple(a for a in reason.attributes if (a.occurrence, a.column) in named_columns)
        said = reason.message.replace(str(PRESENT), CLOCK.name)
        return replace(reason, attributes=kept, message=said)

    return replace(verdict, reasons=tuple(map(named, verdict.reasons)))


def _decided(statement: Statement) -> Decision:
    if any(b.then is not None for b in statement.blocks) or guarded(statement):
        # Of one block several times there are so many times the rows: who sees them knows those of one.
        statement = replace(statement, blocks=tuple(dict.fromkeys(statement.blocks)))
        try:
            return Decision(_summed(statement), (), (), operators=True)
        except SearchLimit:
            unknown = Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", TOO_MANY),))
            return Decision(unknown, (), (), operators=True)
    decision = decide_plain(statement)
    final = None if decision.verdict.outcome is Outcome.UNKNOWN else decision.verdict.outcome.value
    if final is not None and _takes_back(statement):
        final = "never-final"
    return replace(decision, verdict=replace(decision.verdict, final=final))


def _takes_back(statement: Statement) -> bool:
    return all(takes_back(s.base, [join.alias for join in s.as_of]) for s in statement.selections)


def _summed(statement: Statement) -> Verdict:
    """The verdict on the blocks together: bounded if each is, and conversely if they share nothing."""
    plain = tuple(b for b in statement.blocks if b.then is None)
    blocks = [(b,) for b in statement.blocks if b.then is not None]
    verdicts = [_block(replace(statement, blocks=part)) for part in (*([plain] if plain else []), *blocks)]
    if len(verdicts) == 1:
        return verdicts[0]
    parts: list[tuple[Block, ...]] = [plain, *blocks] if plain else [*blocks]
    for number, verdict in enumerate(verdicts):
        rest = [part for position, part in enumerate(parts) if position != number]
        if verdict.outcome is Outcome.UNBOUNDED and all(_apart(parts[number], part) for part in rest):
            return replace(verdict, final=_final(verdicts))
        if verdict.outcome is Outcome.UNBOUNDED and len(verdicts) <= _SETS:
            # Where no NULL arrives, what one grouping set leaves out tells its rows from those of the others.
            keyed = [_without_nulls(part, parts) for part in parts]
            apart = all(_apart(keyed[number], part) for n, part in enumerate(keyed) if n != number)
            if apart and _block(replace(statement, blocks=keyed[number])).outcome is Outcome.UNBOUNDED:
                return replace(verdict, final=_final(verdicts))
    worse = [v for v in verdicts if not v.bounded]
    if not worse:
        reasons = tuple(dict.fromkeys(r for v in verdicts for r in v.reasons))
        return Verdict(Outcome.BOUNDED, NAME, reasons, _final(verdicts))
    first = worse[0].reasons[0]
    if worse[0].outcome is Outcome.UNKNOWN:
        return replace(worse[0], final=None)
    what = "one SELECT of the union is not bounded alone, but another may answer for it"
    reason = replace(first, code="union-member", message=f"{what}: {first.message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _final(verdicts: list[Verdict]) -> str | None:
    """In final mode a part without final rows adds none."""
    finals = {v.final for v in verdicts}
    for word in (None, "unbounded", "bounded"):
        if word in finals:
            return word
    return "never-final"


def _without_nulls(part: tuple[Block, ...], parts: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    """Groups of the inputs in which no key of any of the groups is NULL; the same for other blocks."""
    keys = {
        (s.base.occurrence(term.occurrence).relation.name, term.column)
        for blocks in parts
        for block in blocks
        if isinstance(block.then, Grouping)
        for s in block.selections
        for output in s.base.select[: block.then.keys]
        if isinstance(term := output.term, Attribute) and s.base.nullable(term)
    }

    def of(selection: Selection) -> Selection:
        tests = (
            NullTest(Attribute(o.alias, column), False)
            for o in selection.base.occurrences
            for relation, column in sorted(keys)
            if o.relation.name == relation
        )
        return filtered(selection, tests)

    groups = [isinstance(block.then, Grouping) for block in part]
    return tuple(
        replace(block, selections=tuple(map(of, block.selections))) if group else block
        for block, group in zip(part, groups, strict=True)
    )


def _apart(left: tuple[Block, ...], right: tuple[Block, ...]) -> bool:
    """Whether blocks read no stream in common, or show rows that NULL in a column tells apart."""
    mine, theirs = (
        {o.relation.name for b in part for s in b.selections for o in s.base.arriving}
        for part in (left, right)
    )
    return mine.isdisjoint(theirs) or all(_differ(a, b) for a in left for b in right)


def _differ(left: Block, right: Block) -> bool:
    return any(a != b for a, b in zip(_nulls(left), _nulls(right), strict=False) if None not in (a, b))


def _nulls(block: Block) -> list[bool | None]:
    """Of each shown column whether it is always NULL, or never; None where neither is known."""
    if not isinstance(block.then, Grouping):
        return []
    nulls: list[bool | None] = []
    for shown in block.then.shown:
        if shown.type == NULL:
            nulls.append(True)
            continue
        if not shown.plain or len(shown.outputs) != 1 or shown.values:
            nulls.append(None)
            continue
        terms = [(s, s.base.select[shown.outputs[0]].term) for s in block.selections]
        constants = [
            getattr(term, "value", None) is None and not hasattr(term, "column") for _, term in terms
        ]
        columns = [isinstance(term, Attribute) and _present(s, term) for s, term in terms]
        nulls.append(True if all(constants) else False if all(columns) else None)
    return nulls


def _present(selection: Selection, attribute: Attribute) -> bool:
    """Whether an attribute is never NULL in the rows of a selection."""
    said = NullTest(attribute, False)
    formula = selection.formula
    atoms = conjuncts(formula)
    return not selection.base.nullable(attribute) or said in atoms


def _block(statement: Statement) -> Verdict:
    verdict = _by_operator(statement)
    if verdict.final is not None and verdict.outcome is not Outcome.UNKNOWN and _takes_back(statement):
        return replace(verdict, final="never-final")
    return verdict


def _by_operator(statement: Statement) -> Verdict:
    block = statement.blocks[0]
    if isinstance(block.then, Grouping):
        return grouped(statement, block.selections, block.then, judged)
    if isinstance(block.then, Ranking):
        return ranked(statement, block.selections, block.then, judged)
    if isinstance(block.then, WindowCalls):
        return over_window_functions(statement, block.selections, block.then, judged)
    verdict = judged(statement)
    return replace(verdict, final=final_of(statement, verdict))
