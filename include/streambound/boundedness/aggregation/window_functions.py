"""OVER: rows with what window functions say of those around them (section "OVER" of docs/theory.md).

Ordered by time, a frame that reaches back without end, or by a number of rows, keeps something for each
key of PARTITION BY; one of a range of time keeps the rows of that time, whatever the keys. Without an
order, to the end of the partition, or ordered by a value, old rows change with each new one: then what
they show must have finitely many values too. Of a join the rows must be bounded without the functions as
well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.questions import (
    Judge,
    Operated,
    Question,
    by_top,
    distinct,
    lasting,
    of_rows,
    worst,
)
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.query.expressions.patterns import NAME as PATTERN
from streambound.query.model import Attribute
from streambound.query.operators import AggregateKind, Frame, Over, WindowCalls
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection, Statement

_OPEN = "only what is computed from it is shown, and whether it can be told from that is open"
# What only the number of rows decides, in whatever order they are.
_NUMBERING = ("ROW_NUMBER", "NTILE")
_WHOLE = ("NTILE", "PERCENT_RANK", "CUME_DIST")


def over_window_functions(
    statement: Statement, selections: tuple[Selection, ...], then: WindowCalls, judge: Judge
) -> Verdict:
    """The verdict on rows with window functions, in changes and in final mode."""
    frames = _Frames(statement, by_top(selections), then)
    verdict = worst(frames.questions(), judge, _OPEN)
    if all(frames.ends(over.partition) for over in then.functions):
        # Where one of several goes on for ever, what it reads is among the reasons too.
        for over in then.functions:
            verdict = frames.ended(verdict, over.partition, then.shown)
    return replace(verdict, final=frames.final(verdict))


@dataclass(frozen=True)
class _Frames(Operated):
    then: WindowCalls

    @property
    def shown(self) -> tuple[int, ...]:
        """The outputs of the rows that are shown."""
        return tuple(dict.fromkeys(p for s in self.then.shown for p in s.outputs))

    def questions(self) -> Iterator[Question]:
        """What must be bounded."""
        for shown in (True, False):
            # Rows with fewer columns are told from these: what they show is a part of it.
            kept = tuple(dict.fromkeys(p for s in self.then.shown if s.plain or not shown for p in s.outputs))
            yield Question(of_rows(self.statement, self.selections, INTEGERS, kept), "", shown)
        plain = {number for s in self.then.shown for number in (s.values if s.plain else s.distinguishable)}
        # Shown or not, a pattern says which rows there are.
        patterns = {n for n, over in enumerate(self.then.functions) if over.name == PATTERN}
        for number in sorted(patterns.union(*(s.values for s in self.then.shown))):
            yield from self._of(self.then.functions[number], number in plain | patterns)

    def _of(self, over: Over, plain: bool) -> Iterator[Question]:
        reason = f"OVER of {over.name}"
        if self._stamped(over) is None:
            message = f"{over.name} is ordered by the time of a stream that does not complete the rows"
            yield Question(
                Verdict(Outcome.UNKNOWN, NAME, (Reason("open-question", message, (), over.location),)), ""
            )
            return
        positions = over.partition
        frame = self._frame(over)
        if frame is None:
            if self.ends(over.partition):
                # A partition ends, and is forgotten then.
                return
            if self._counts(over, self.shown):
                kept = tuple(dict.fromkeys(positions))
                yield Question(distinct(self.statement, self.selections, kept), reason, plain)
                return
            # What is computed from a column may say no more than the keys do.
            plainly = [p for s in self.then.shown if s.plain for p in s.outputs]
            plain = plain and not self._counts(over, plainly)
            positions = (*positions, *self.shown, *(p for p, _ in over.order))
            if over.aggregate is not None and (
                over.aggregate.distinct or over.aggregate.kind is AggregateKind.LIST
            ):
                positions = (*positions, *over.aggregate.arguments)
            for asked in lasting(self.statement, self.selections, dict.fromkeys(positions)):
                yield Question(asked, reason, plain)
            return
        if not frame.rows and frame.before is not None:
            return
        if over.aggregate is not None and frame.before is None:
            if over.aggregate.distinct and over.aggregate.kind not in (
                AggregateKind.LEAST,
                AggregateKind.GREATEST,
            ):
                positions = (*positions, *over.aggregate.arguments)
            if over.aggregate.kind is AggregateKind.LIST:
                message = "a list of all rows before grows without end"
                unbounded = Reason("unbounded-list", message, (), over.location)
                yield Question(Verdict(Outcome.UNBOUNDED, NAME, (unbounded,)), reason, plain)
        if over.name == PATTERN:
            message = "how many matches of a pattern are open for one key is not known"
            yield Question(
                Verdict(Outcome.UNKNOWN, NAME, (Reason("open-question", message, (), over.location),)), ""
            )
        kept = tuple(dict.fromkeys(positions))
        yield Question(distinct(self.statement, self.selections, kept), reason, plain)

    def _counts(self, over: Over, shown: Iterable[int]) -> bool:
        """Whether the rows of a partition are its numbers from one up, and so no more than their number."""
        values = {number for shown in self.then.shown for number in shown.values}
        alone = [self.then.functions[number] for number in values] == [over]
        if over.name not in _NUMBERING or not alone:
            return False
        selects = [selection.base.select for selection in self.selections]
        return all({s[p].term for p in shown} <= {s[p].term for p in over.partition} for s in selects)

    def _stamped(self, over: Over) -> bool | None:
        """Whether it is ordered by time; None where that is not the time of the last streams."""
        if not over.order:
            # A range of a length of time is one of time.
            return not over.frame.rows and over.frame.before is not None
        stamped = set[bool | None]()
        for selection, top in self.tops:
            term = selection.base.select[over.order[0][0]].term
            timed = isinstance(term, Attribute) and selection.base.is_time(term)
            completes = isinstance(term, Attribute) and term.occurrence in top
            stamped.add(timed if completes or not timed else None)
        return None if None in stamped else stamped == {True}

    def _frame(self, over: Over) -> Frame | None:
        """The rows before and after in time; None where old rows change for ever."""
        if not self._stamped(over) or over.name in _WHOLE:
            return None
        frame = over.frame
        if over.order and over.order[0][1]:
            frame = Frame(frame.rows, frame.after, frame.before)
        return None if frame.after is None else frame

    def final(self, verdict: Verdict) -> str | None:
        """The verdict where a row is answered once, when nothing that comes can change it."""
        outcome = None if verdict.outcome is Outcome.UNKNOWN else verdict.outcome.value
        if not any(s.base.streams for s in self.selections):
            return outcome
        seen = [self.then.functions[n] for n in {number for s in self.then.shown for number in s.values}]
        if any(self._frame(over) is None and not self._closes(over) for over in seen):
            return "never-final" if outcome else None
        return outcome

    def _closes(self, over: Over) -> bool:
        """Whether its partitions end: they have a time of streams that complete the rows."""
        partitions = [[(s, s.base.select[p].term, top) for p in over.partition] for s, top in self.tops]
        return all(
            any(
                isinstance(t, Attribute) and s.base.is_time(t) and t.occurrence in top
                for s, t, top in partition
            )
            for partition in partitions
        )
