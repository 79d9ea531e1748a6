"""Questions on select-project-join queries, which all must be bounded for a statement to be.

Nearly every theorem on groups, ranks and guards reduces them to such queries: what must be remembered of a
statement is what some queries without them must remember. A question *settles* the statement if that it is
unbounded makes the statement unbounded; else the statement is then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from streambound.boundedness.criterion.column_bounds import COMPLETES, NOTHING
from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import Formula, all_of
from streambound.query.model import Attribute, Op, Query
from streambound.query.operators import Shown
from streambound.query.ring import BOOLEANS, GROUPS_SEEN, Ring
from streambound.query.statement import Block, Guard, Selection, Statement


@dataclass(frozen=True)
class Question:
    """A statement without groups, ranks or frames that must be bounded, or what is known of it already.

    ``of`` says in the user's words what asks for it.
    """

    asks: Statement | Verdict
    of: str
    settles: bool = True


Judge = Callable[[Statement], Verdict]


def worst(questions: Iterable[Question], judge: Judge, open_: str) -> Verdict:
    """Bounded if every question is; unbounded if one is that settles it; else unknown.

    Args:
        open_: what is not known if a question that does not settle it is unbounded.
    """
    reasons: list[Reason] = []
    open_reasons: list[Reason] = []
    unbounded: Verdict | None = None
    for question in questions:
        verdict = judge(question.asks) if isinstance(question.asks, Statement) else question.asks
        if verdict.bounded:
            reasons.extend(verdict.reasons)
        elif verdict.outcome is Outcome.UNBOUNDED and question.settles:
            said = tuple(_asking(question, reason) for reason in verdict.reasons)
            unbounded = unbounded or replace(verdict, reasons=said, final=None)
        elif verdict.outcome is Outcome.UNBOUNDED:
            first = verdict.reasons[0]
            open_reasons.append(
                replace(first, code="open-question", message=f"{open_}: {_asking(question, first).message}")
            )
        else:
            open_reasons.extend(_asking(question, reason) for reason in verdict.reasons)
    if unbounded is not None:
        return unbounded
    if open_reasons:
        return Verdict(Outcome.UNKNOWN, NAME, tuple(dict.fromkeys(open_reasons))[:1])
    return Verdict(Outcome.BOUNDED, NAME, once(reasons))


def once(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """The reasons of several bounded queries, what each says of a column said once."""
    by_message: dict[str, Reason] = {}
    said = set[str]()
    specific = [reason for reason in reasons if reason.message != NOTHING]
    for reason in specific or reasons:
        new = [text for text in reason.message.split("; ") if text not in said]
        said.update(new)
        if new and reason.code in by_message:
            message = "; ".join((by_message[reason.code].message, *new))
            by_message[reason.code] = replace(by_message[reason.code], message=message)
        elif new:
            by_message[reason.code] = replace(reason, message="; ".join(new))
    return tuple(by_message.values())


def _asking(question: Question, reason: Reason) -> Reason:
    return replace(reason, message=f"{question.of}: {reason.message}") if question.of else reason


def of_rows(
    statement: Statement, selections: Iterable[Selection], ring: Ring, positions: Iterable[int]
) -> Statement:
    """The statement of some outputs of selections: one block, or of bags one of each."""
    kept = tuple(positions)
    shown = tuple(
        replace(s, base=replace(s.base, ring=ring, select=tuple(s.base.select[p] for p in kept)))
        for s in selections
    )
    blocks = (Block(ring, shown),) if ring.idempotent else tuple(Block(ring, (s,)) for s in shown)
    base = shown[0].base
    outputs = tuple((o.name, base.type_of(o.term)) for o in base.select)
    return Statement(statement.name, statement.sql, blocks, outputs)


def filtered(selection: Selection, further: Iterable[Formula]) -> Selection:
    """A selection under more conditions."""
    return replace(selection, formula=all_of((selection.formula, *further)))


def joined(selection: Selection, guards: Iterable[Guard] | None = None) -> Selection:
    """A selection with the occurrences of guards in its FROM: matches of all of them together."""
    guards_ = selection.guards if guards is None else tuple(guards)
    if not guards_:
        return replace(selection, guards=())
    occurrences = (*selection.base.occurrences, *(o for g in guards_ for o in g.base.occurrences))
    formula = all_of((selection.formula, *(g.formula for g in guards_)))
    base = replace(selection.base, occurrences=tuple(dict.fromkeys(occurrences)))
    return Selection(base, formula, (), selection.as_of)


def tops(query: Query) -> frozenset[str]:
    """The infinite streams that complete every match of a conjunction: the top composite, or none."""
    time = TimeOrder(system(query))
    return frozenset(alias for alias in time.infinite if time.completes(alias))


def by_top(selections: Iterable[Selection]) -> tuple[tuple[Selection, frozenset[str]], ...]:
    """Selections with the streams that complete their matches, which need be the same in all cases of OR.

    Where they are not, its cases stand for a selection.
    """
    asked = []
    for selection in selections:
        parts = [query for case in cases(joined(selection)) for query in case.parts]
        streams = [tops(_without_versions(query, selection)) for query in parts]
        if len(set(streams)) <= 1:
            asked.append((selection, streams[0] if streams else frozenset()))
        elif selection.guards:
            asked.append((selection, frozenset.intersection(*streams)))
        else:
            asked.extend(
                (Selection(replace(query, where=()), all_of(query.where), (), selection.as_of), top)
                for query, top in zip(parts, streams, strict=True)
            )
    return tuple(asked)


def _without_versions(query: Query, selection: Selection) -> Query:
    """A conjunction without what as-of joins look up: a row has its version at once, and waits for none."""
    past = {join.alias for join in selection.as_of if join.op in (Op.GE, Op.GT)}
    if not past:
        return query
    kept = tuple(o for o in query.occurrences if o.alias not in past)
    where = tuple(a for a in query.where if past.isdisjoint(x.occurrence for x in a.attributes))
    select = tuple(
        o for o in query.select if not (isinstance(o.term, Attribute) and o.term.occurrence in past)
    )
    return replace(query, occurrences=kept, where=where, select=select)


def shows_time(selection: Selection, top: frozenset[str], positions: Iterable[int]) -> bool:
    """Whether some outputs are times of the streams that complete every match."""
    base = selection.base
    terms = (base.select[p].term for p in positions)
    return any(isinstance(t, Attribute) and t.occurrence in top and base.is_time(t) for t in terms)


@dataclass(frozen=True)
class Operated:
    """Selections whose rows something is done to, each with the streams that complete its matches."""

    statement: Statement
    tops: tuple[tuple[Selection, frozenset[str]], ...]

    @property
    def selections(self) -> list[Selection]:
        """The selections alone."""
        return [selection for selection, _ in self.tops]

    def ends(self, keys: Iterable[int]) -> bool:
        """Whether the rows of a key end some time after its first."""
        positions = tuple(keys)
        return all(shows_time(selection, top, positions) for selection, top in self.tops)

    def ended(
        self, verdict: Verdict, keys: Iterable[int], shown: Iterable[Shown], called: str = ""
    ) -> Verdict:
        """A bounded verdict that says which time among the keys ends what is kept of them, if one does.

        Args:
            shown: what names outputs for the user.
            called: what such a time is, if it is no output.
        """
        positions = tuple(keys)
        if not verdict.bounded or not self.ends(positions):
            return verdict
        names = {s.outputs[0]: s.name for s in shown if s.plain and len(s.outputs) == 1 and not s.values}
        times = [
            names.get(p, term.column.removeprefix("(").removesuffix(")"))
            for selection, top in self.tops
            for p in positions
            if isinstance(term := selection.base.select[p].term, Attribute)
            and term.occurrence in top
            and selection.base.is_time(term)
        ]
        over = called or " or ".join(dict.fromkeys(times))
        reasons = (
            replace(r, message=r.message.replace(COMPLETES, f"is kept until {over} is over"))
            for r in verdict.reasons
        )
        end = Reason("no-obstruction", f"what is kept of one {over} is dropped when it is over")
        return replace(verdict, reasons=once((*reasons, end)))


def distinct(statement: Statement, selections: Iterable[Selection], positions: Iterable[int]) -> Statement:
    """The statement of the different values of some outputs."""
    return of_rows(statement, selections, BOOLEANS, positions)


def lasting(
    statement: Statement, selections: Iterable[Selection], positions: Iterable[int]
) -> Iterator[Statement | Verdict]:
    """What must be known for ever of rows that change for ever: of a time among it there is no end."""
    selections, positions = list(selections), list(positions)
    times = {
        p: term
        for s in selections
        for p in positions
        if isinstance(term := s.base.select[p].term, Attribute) and s.base.is_time(term)
    }
    for term in times.values():
        message = f"{term} is a part of rows that change for ever, and no condition bounds {term}"
        reason = Reason("unbounded-projection", message, (term,))
        yield Verdict(Outcome.UNBOUNDED, NAME, (reason,))
    yield distinct(statement, selections, [p for p in positions if p not in times])


def keyed(statement: Statement, selections: Iterable[Selection], positions: Iterable[int]) -> Statement:
    """The statement of the different keys of groups or partitions."""
    return of_rows(statement, selections, GROUPS_SEEN, positions)
