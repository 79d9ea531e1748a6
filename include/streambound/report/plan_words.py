"""What a plan keeps, in words: the one source of what ``explain`` prints and of what pages draw."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from streambound.compiler import Planned
from streambound.plan.ending import Ending
from streambound.plan.flow import Applied, Leaf, Node, Settled, leaves
from streambound.plan.model import Buffer, Cell, Plan, Remembered, StreamSynopsis, TablePlan
from streambound.query.column_types import Family
from streambound.query.model import TICKS, Query
from streambound.report.layouts import all_text, end_text, extremum_text, filters_text, key_text
from streambound.report.operations import operations, said_of, size_text
from streambound.report.sizes import units_text

EMPTY = "The conditions contradict each other: nothing is read, nothing is kept."
STATELESS = "Nothing is kept: each tuple is tested when it arrives and answered at once."


_CHANGES = "Where a row of these changes, its old answer is taken back and the new one is given."
_FOR_GOOD = "Each answer is given once, for good."
_ONCE = "A row is answered once, when nothing can change it any more; what may still change it is kept above."


class What(Enum):
    """What is kept: tables of a stream or of partial matches, tuples as they came, rows answered or made."""

    TUPLES = "tuples"
    PARTIAL_MATCHES = "matches"
    WINDOW = "window"
    ANSWERED = "answered"
    BUFFERED = "held"
    # By what is done to rows: groups, ranks, rows that wait for others.
    ROWS = "rows"


@dataclass(frozen=True)
class Table:
    """One table: which tuples it stands for, by what it tells them apart, what it has of each, its units.

    ``meets`` restricts the partners that it is kept for.
    """

    where: str
    keys: tuple[str, ...]
    kept: str
    units: int
    meets: str = ""

    @property
    def text(self) -> str:
        """All but the units."""
        where = f"where {self.where}: " if self.where else ""
        keys = f"per {', '.join(self.keys)} " if self.keys else ""
        meets = f" (for partners with {self.meets})" if self.meets else ""
        return f"{where}{keys}keep {self.kept}{meets}"


@dataclass(frozen=True)
class Kept:
    """Something that is kept of some streams (aliases).

    Args:
        size: units, or what sizes it.
        pending: the streams that may still come and are what it is kept for.
        duration: for how long tuples are held as they came.
        notes: further sentences.
        inputs: of an operation those whose rows it takes, by their numbers among all operations of the tree;
            ``streams`` are what it reads besides.
    """

    what: What
    streams: tuple[str, ...]
    title: str
    size: str
    pending: tuple[str, ...] = ()
    duration: str = ""
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    inputs: tuple[int, ...] = ()

    @property
    def heading(self) -> str:
        """The title with why it is kept."""
        if self.pending:
            return f"{self.title}, while {', '.join(self.pending)} may still come"
        if self.duration:
            return f"{self.title}: every tuple is held for {self.duration}, since partners may still come"
        return self.title


@dataclass(frozen=True)
class PlanWords:
    """The plan of one conjunction.

    Args:
        read: the aliases of what it reads; what else the query names adds nothing.
        filters: the conditions of the tuples that count, by alias, where not all do.
        joins: the comparisons on which an answer is put together.
        answer: how it is put together.
        remarks: further sentences.
        sentence: where that is all there is to say, the whole of it.
        timed: whether it was planned by time.
    """

    read: frozenset[str]
    kept: tuple[Kept, ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    joins: str = ""
    answer: str = ""
    remarks: tuple[str, ...] = ()
    sentence: str = ""
    timed: bool = False

    @property
    def text(self) -> str:
        """What is kept and why that is enough, in lines."""
        if self.sentence:
            return self.sentence
        count = "{}: only tuples with {} count"
        lines = [count.format(alias, given) for alias, given in self.filters.items() if self.timed]
        for kept in self.kept:
            lines.append(f"{kept.heading}: {kept.size}")
            given = "" if self.timed else self.filters.get(kept.streams[0], "")
            lines += [f"  of the tuples with {given}"] * bool(given)
            lines += [f"  {note}" for note in kept.notes]
            lines += [f"  {table.text}: {units_text(table.units)}" for table in kept.tables]
        return "\n".join([*lines, *self.remarks, self.answer])


@dataclass(frozen=True)
class Explained:
    """The plans of the parts of a statement; with no part, ``sentence`` says why."""

    parts: tuple[PlanWords, ...]
    size: str
    sentence: str = ""


def explained(job: Planned) -> Explained:
    """What is kept of each stream of a bounded query, and why that is enough."""
    size = units_text(job.units) if job.units is not None else job.units_formula or ""
    if job.unplanned is not None:
        return Explained((), "", f"The verdict stands, but there is no plan to evaluate it: {job.unplanned}.")
    if job.node is not None:
        return Explained((_tree_words(job.node),), size)
    if job.units_formula is not None and not job.plans:
        said = f"The state is sized by the static relations when the query is run: {job.units_formula}."
        return Explained((), size, said)
    return Explained(tuple(map(plan_words, job.plans)), size, "" if job.plans else EMPTY)


def _tree_words(node: Node) -> PlanWords:
    """What is kept of a tree of rows that change: by its leaves, then by what is done to their rows."""
    plans = [part.plan for leaf in leaves(node) for part in leaf.parts]
    words = [plan_words(plan) for plan in plans]
    kept = dict.fromkeys(kept for word in words for kept in word.kept)
    filters = {alias: given for word in words for alias, given in word.filters.items()}
    made = list(operations(node))
    said = [
        _of_operation(applied, {id(each): number for number, each in enumerate(made)}) for applied in made
    ]
    once = isinstance(node, Applied) and isinstance(node.operation, Settled)
    answer = _ONCE if once else _CHANGES if node.retracts else _FOR_GOOD
    read = frozenset[str]().union(*(word.read for word in words))
    return PlanWords(read, (*kept, *said), filters, answer=answer, timed=True)


def _of_operation(node: Applied, numbers: Mapping[int, int]) -> Kept:
    title, notes = said_of(node)
    below = list(_read_by(node, numbers))
    plans = [part.plan for leaf in below if isinstance(leaf, Leaf) for part in leaf.parts]
    derived = (o for plan in plans for o in plan.query.occurrences if o.relation.fed is None)
    streams = dict.fromkeys(o.alias for o in derived)
    inputs = dict.fromkeys(numbers[id(applied)] for applied in below if isinstance(applied, Applied))
    return Kept(What.ROWS, tuple(streams), title, size_text(node), notes=notes, inputs=tuple(inputs))


def _read_by(node: Node, numbers: Mapping[int, int]) -> Iterator[Node]:
    """The leaves and operations whose rows a node takes."""
    for item in node.inputs:
        if isinstance(item, Applied):
            yield item
            continue
        if isinstance(item, Leaf):
            yield item
        yield from _read_by(item, numbers)


def plan_words(plan: Plan) -> PlanWords:
    """One plan in words."""
    if plan.ending is not None:
        return _ending(plan.ending)
    if plan.empty:
        return PlanWords(_read(plan.query), sentence=EMPTY)
    if plan.timed:
        return _timed(plan)
    if plan.stateless:
        filters = _filters(plan.query, plan.streams)
        waiting = tuple(_buffer(plan, buffer) for buffer in plan.buffers)
        return PlanWords(_read(plan.query), waiting, filters, sentence=STATELESS)
    return _untimed(plan)


def _read(query: Query) -> frozenset[str]:
    return frozenset(o.alias for o in query.occurrences)


def _untimed(plan: Plan) -> PlanWords:
    query, joins = plan.query, " and ".join(map(str, plan.joins))
    return PlanWords(
        _read(query),
        (*(_buffer(plan, b) for b in plan.buffers), *(_of_stream(query, s) for s in plan.synopses)),
        _filters(query, plan.streams),
        joins,
        f"An answer joins what is kept on {joins}." if joins else "An answer combines what is kept.",
    )


def _filters(query: Query, synopses: tuple[StreamSynopsis, ...]) -> dict[str, str]:
    return {s.alias: conditions for s in synopses if (conditions := filters_text(query, s))}


def _of_stream(query: Query, synopsis: TablePlan) -> Kept:
    tables = tuple(_table(query, cell) for cell in synopsis.cells)
    (alias,) = synopsis.streams
    return Kept(What.TUPLES, synopsis.streams, alias, units_text(synopsis.max_units), tables=tables)


def _table(query: Query, cell: Cell) -> Table:
    kept = _ends(cell) if query.ring.idempotent else "the number of tuples"
    keys = tuple(key_text(query, key) for key in cell.keys)
    return Table(all_text(query, cell.conditions), keys, kept, cell.max_units, all_text(query, cell.context))


def _ends(cell: Cell) -> str:
    kept = [extremum_text(extremum) for extremum in cell.extrema]
    kept.extend(f"the {end_text(keep)} {attribute}" for attribute, keep in cell.follow)
    if cell.unequal:
        columns = ", ".join(str(attribute) for attribute, _ in cell.unequal)
        kept.append(f"a few tuples with different {columns}")
    return " and ".join(kept) or "whether there was a tuple"


def _timed(plan: Plan) -> PlanWords:
    conditions = " and ".join(map(str, (*plan.joins, *plan.clock.conditions)))
    made = f"on {conditions}" if conditions else "in every combination"
    last = [alias for alias in plan.clock.streams if plan.clock.completes(alias)]
    more = "nothing more" if any([b.alias] == last for b in plan.buffers) else "nothing"
    why = f" {last[0]} completes every match, so {more} is kept of it." if len(last) == 1 else ""
    kept = [_buffer(plan, buffer) for buffer in plan.buffers]
    kept += [_of_matches(plan, synopsis) for synopsis in plan.synopses]
    none = plan.remembered is not None and plan.remembered.number == 0
    if plan.remembered is not None and not none:
        kept.append(_answered(plan, plan.remembered))
    return PlanWords(
        _read(plan.query),
        tuple(kept),
        _filters(plan.query, plan.streams),
        conditions,
        f"Each batch is joined with what is kept, {made}; so are partial matches made.{why}",
        ("No answer row can come again later: none is remembered.",) if none else (),
        timed=True,
    )


def _buffer(plan: Plan, buffer: Buffer) -> Kept:
    each = f"{buffer.ticks:,} timestamps x {buffer.width} values of each tuple"
    size = each if buffer.rows is None and buffer.most is None else units_text(buffer.max_units(buffer.rows))
    buffered, late = (_span(plan.query, buffer.alias, length) for length in (buffer.hold, buffer.late))
    before = "before that " if buffer.hold else ""
    waits = f"{before}every tuple waits {late} until its timestamp is complete: rows may come so late"
    return Kept(
        What.WINDOW,
        (buffer.alias,),
        buffer.alias,
        size,
        duration=buffered if buffer.hold else "",
        notes=(waits,) if buffer.late else (),
    )


def _span(query: Query, alias: str, length: int) -> str:
    """A length of time as the stream's timestamps measure it."""
    relation = query.occurrence(alias).relation
    stamp = None if relation.timestamp is None else relation.column(relation.timestamp)
    if stamp is None or stamp.type.family is Family.NUMBER:
        return "1 tick" if length == 1 else f"{length:,} ticks"
    if length // TICKS["day"] > dt.timedelta.max.days:
        return f"{length // TICKS['day']:,} days"
    return str(dt.timedelta(microseconds=length))


def _of_matches(plan: Plan, synopsis: TablePlan) -> Kept:
    partners = tuple(alias for alias in plan.clock.streams if alias not in synopsis.streams)
    what = "tuples of" if len(synopsis.streams) == 1 else "partial matches of"
    notes = tuple(
        f"apart for each of the last {number:,} timestamps of {alias}, and all older ones"
        for alias, number, _ in synopsis.ages
    )
    return Kept(
        What.PARTIAL_MATCHES,
        synopsis.streams,
        f"{what} {', '.join(synopsis.streams)}",
        units_text(synopsis.max_units),
        pending=partners,
        notes=notes,
        tables=tuple(_table_of_matches(plan.query, cell) for cell in synopsis.cells),
    )


def _table_of_matches(query: Query, cell: Cell) -> Table:
    keys = tuple(key_text(query, key) for key in cell.keys)
    return Table(all_text(query, cell.conditions), keys, _best(query, cell), cell.max_units)


def _best(query: Query, cell: Cell) -> str:
    if not query.ring.idempotent:
        return "how many there are"
    if not cell.extrema and not cell.unequal:
        return "one of them" if cell.whole else "whether there is one"
    best = " or ".join(extremum_text(extremum) for extremum in cell.extrema)
    some = f"those with {best}" if best else "some"
    if cell.unequal:
        some += f" that differ in {', '.join(str(a) for a, _ in cell.unequal)}"
    return f"{some} ({', '.join(map(str, cell.whole or ()))})"


def _answered(plan: Plan, remembered: Remembered) -> Kept:
    if not remembered.recent:
        return Kept(What.ANSWERED, (), "rows already answered", units_text(remembered.number))
    size = remembered.formula(plan.relations)
    return Kept(What.ANSWERED, (), "rows already answered that may come again", size)


def _ending(plan: Ending) -> PlanWords:
    """What is kept until streams end, and after."""
    ending = ", ".join(plan.finite)
    rest = [o.alias for o in plan.later.streams]
    after = f"Then the tuples of {ending} are rows of a static relation"
    last = f"{after}, and what is kept of {', '.join(rest)} is planned with them." if rest else f"{after}."
    until = f"Until {ending} ends, every tuple is held as it came, since any may still match."
    buffered = tuple(o.alias for o in plan.query.arriving)
    kept = Kept(What.BUFFERED, buffered, f"every tuple, until {ending} ends", plan.formula, notes=(last,))
    return PlanWords(_read(plan.query), (kept,), sentence=f"{until} {last}", timed=True)
