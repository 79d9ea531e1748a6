"""The plan of a query as a picture: its streams, what is kept of each, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from markupsafe import Markup

from streambound.compiler import Planned
from streambound.plan.flow import Node, leaves
from streambound.query.model import Occurrence, RelationKind
from streambound.report.pages.cards import (
    Card,
    Line,
    Placed,
    arrow,
    bow,
    drop,
    lines_of,
    stack_height,
    stacked,
)
from streambound.report.pages.drawing import LINE, picture, text_width, words
from streambound.report.pages.markup import element
from streambound.report.plan_words import Explained, Kept, PlanWords, What, explained
from streambound.report.sizes import units_text
from streambound.report.verdicts import part_text, plan_text

WIDTH, MARGIN, GAP = 952, 10.0, 12.0
STREAM_X, STREAM_WIDTH = MARGIN, 250.0
KEPT_X, KEPT_WIDTH = 318.0, 376.0
ANSWER_X, ANSWER_WIDTH = 752.0, 190.0
HEADING = 26.0
# What is drawn of each before the number of the others is said.
PARTS, CARDS, TABLES, COLUMNS = 6, 10, 4, 5
KINDS = {
    RelationKind.STREAM: "stream",
    RelationKind.FINITE: "finite stream",
    RelationKind.STATIC: "static relation",
    RelationKind.VERSIONED: "versioned table",
}


@dataclass(frozen=True)
class _Box:
    """A card of the middle column with the streams, and the boxes of operations, that lead to it.

    ``number`` is that of an operation among all.
    """

    card: Card
    streams: tuple[str, ...]
    kept: bool = True
    number: int | None = None
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Part:
    """One conjunction: cards of its occurrences, what is kept, and a line above where there are several."""

    streams: dict[str, Card]
    boxes: tuple[_Box, ...]
    heading: str = ""

    @property
    def height(self) -> float:
        """In pixels, with its heading."""
        columns = (list(self.streams.values()), [box.card for box in self.boxes])
        return max(stack_height(cards, GAP) for cards in columns) + (HEADING if self.heading else 0.0)


def plan_picture(job: Planned) -> str:
    """An inline SVG of what is kept of each stream of a compiled query; of a query without a plan, why.

    Of many parts, tables and columns the first are drawn, and how many more there are is said; the
    description has them all, as ``streambound explain`` prints them.
    """
    explained_plan = explained(job) if job.verdict.bounded else _none(job)
    parts = _parts(job, explained_plan)
    answer = _answer(job, explained_plan)
    title = f"How {job.name} is evaluated" if explained_plan.parts else f"{job.name} has no plan"
    described = plan_text(job) if job.verdict.bounded else explained_plan.sentence
    height = max(sum(part.height for part in parts) + 2 * GAP * (len(parts) - 1), answer.height)
    below = _below(explained_plan)
    total = height + 2 * MARGIN + (HEADING if below else 0.0)
    drawn = list(_drawn(parts, Placed(answer, ANSWER_X, MARGIN + (height - answer.height) / 2)))
    if below:
        drawn.append(words(below, MARGIN, MARGIN + height + 20, WIDTH - 2 * MARGIN, muted=True))
    return picture(WIDTH, round(total), title, described, drawn)


def _none(job: Planned) -> Explained:
    verdict = job.verdict
    return Explained(
        (),
        "",
        f"No plan of a fixed size: the query is {verdict.outcome.value}, since {verdict.reasons[0].message}.",
    )


def _below(explained_plan: Explained) -> str:
    more = len(explained_plan.parts) - PARTS
    return f"and {more:,} more parts" if more > 0 else ""


def _parts(job: Planned, explained_plan: Explained) -> list[_Part]:
    """What is drawn: a plan each, or all streams before the sentence that says why there is none."""
    occurrences = tuple({o.alias: o for o in job.statement.occurrences}.values())
    if not explained_plan.parts:
        return [_bare(occurrences, explained_plan.sentence)]
    if job.node is not None:
        return [_part(_leaves(job.node), plan, "") for plan in explained_plan.parts]
    several = len(explained_plan.parts) > 1
    pairs = list(zip(job.parts, explained_plan.parts, strict=True))[:PARTS]
    return [
        _part(
            query.occurrences,
            plan,
            f"part {number} of {len(explained_plan.parts)}: {part_text(query)}" if several else "",
        )
        for number, (query, plan) in enumerate(pairs, start=1)
    ]


def _leaves(node: Node) -> tuple[Occurrence, ...]:
    """What a tree reads: the occurrences in its leaves, but those of rows that another node makes."""
    return tuple(
        {
            o.alias: o
            for leaf in leaves(node)
            for o in leaf.statement.occurrences
            if o.relation.name not in dict(leaf.fed)
        }.values()
    )


def _bare(occurrences: Sequence[Occurrence], sentence: str) -> _Part:
    streams = {o.alias: _stream(o, "", "", kept=False) for o in occurrences}
    return _Part(streams, (_passing(sentence, tuple(streams)),))


def _passing(sentence: str, streams: tuple[str, ...]) -> _Box:
    return _Box(Card(KEPT_WIDTH, tuple(lines_of(sentence, KEPT_WIDTH, 6)), dashed=True), streams, kept=False)


def _part(occurrences: Sequence[Occurrence], plan: PlanWords, heading: str) -> _Part:
    roles = {o.alias: _role(o, plan) for o in occurrences}
    streams = {
        o.alias: _stream(o, roles[o.alias].name, plan.filters.get(o.alias, ""), roles[o.alias].kept)
        for o in occurrences
    }
    numbers = count()
    boxes = [
        _Box(_kept(kept), kept.streams, True, next(numbers) if kept.what is What.ROWS else None, kept.inputs)
        for kept in plan.kept[:CARDS]
    ]
    if len(plan.kept) > CARDS:
        boxes.append(_Box(_more(plan.kept[CARDS:]), ()))
    # What passes and is told in the same words is one box.
    for fate in dict.fromkeys(role.fate for role in roles.values() if role.fate):
        boxes.append(_passing(fate, tuple(alias for alias, role in roles.items() if role.fate == fate)))
    order = {alias: number for number, alias in enumerate(streams)}
    offsets: dict[int | None, float] = {}
    boxes.sort(key=lambda box: _put(box, order, offsets))
    return _Part(streams, tuple(boxes), heading)


def _put(box: _Box, order: dict[str, int], offsets: dict[int | None, float]) -> float:
    """Where a box stands best: beside its streams, below the boxes that lead to it; else last.

    Args:
        offsets: those of operations, which come in an order in which inputs are first; it is completed.
    """
    own = [order[alias] for alias in box.streams]
    below = [offsets[number] for number in box.inputs if number in offsets]
    offset = max([*below, *([sum(own) / len(own)] if own else [])], default=float(len(order)))
    if box.number is not None:
        offsets[box.number] = offset
    return offset


@dataclass(frozen=True)
class _Role:
    """What an occurrence is for, in a few words; ``fate`` says what becomes of its tuples if not kept."""

    name: str
    kept: bool = False
    fate: str = ""


def _role(occurrence: Occurrence, plan: PlanWords) -> _Role:
    alias = occurrence.alias
    if alias not in plan.read:
        return _Role("adds nothing", fate="left out: another occurrence has all that its tuples could add")
    if occurrence.relation.kind is RelationKind.STATIC:
        return _Role("read once", fate="its rows are known, and are not counted")
    holding = [kept.what for kept in plan.kept if alias in kept.streams]
    if holding:
        return _Role("kept until one ends" if What.BUFFERED in holding else "kept", kept=True)
    if plan.sentence:
        return _Role("not kept", fate=plan.sentence)
    if any(kept.what is What.ROWS for kept in plan.kept):
        return _Role(
            "not kept", fate="nothing is kept of a tuple as it came: it changes the rows that are kept"
        )
    return _Role(
        "only completes matches", fate="nothing is kept: a tuple is joined with what is kept when it arrives"
    )


def _stream(occurrence: Occurrence, role: str, given: str, kept: bool) -> Card:
    name, kind = occurrence.relation.name, KINDS[occurrence.relation.kind]
    aside = "" if name == occurrence.alias else name
    lines = [Line(occurrence.alias, aside, bold=True), Line(f"{kind} · {role}" if role else kind)]
    lines += lines_of(f"only with {given}", STREAM_WIDTH, 3) if given else []
    return Card(STREAM_WIDTH, tuple(lines), dashed=not kept)


def _kept(kept: Kept) -> Card:
    title = {What.TUPLES: f"what is kept of {kept.title}", What.WINDOW: f"window of {kept.title}"}.get(
        kept.what, kept.title
    )
    exceeds = text_width(kept.size, bold=True) > KEPT_WIDTH * 0.45
    lines = lines_of(title, KEPT_WIDTH, 3, "" if exceeds else kept.size, bold=True)
    if exceeds:
        lines += lines_of(kept.size, KEPT_WIDTH, 3, bold=True)
    if kept.pending:
        lines += lines_of(f"while {', '.join(kept.pending)} may still come", KEPT_WIDTH, 1)
    if kept.duration:
        lines += lines_of(f"every tuple for {kept.duration}, since partners may still come", KEPT_WIDTH, 1)
    lines += [line for note in kept.notes for line in lines_of(note, KEPT_WIDTH, 2)]
    apart = len(kept.tables) > 1
    for table in kept.tables[:TABLES]:
        lines += lines_of(table.text, KEPT_WIDTH, 2, units_text(table.units) if apart else "")
    if more := kept.tables[TABLES:]:
        lines.append(Line(f"and {len(more):,} more tables", units_text(sum(table.units for table in more))))
    return Card(KEPT_WIDTH, tuple(lines))


def _more(kept: Sequence[Kept]) -> Card:
    return Card(KEPT_WIDTH, (Line(f"and {len(kept):,} more", bold=True),))


def _answer(job: Planned, explained_plan: Explained) -> Card:
    names = [name for name, _ in job.statement.outputs]
    shown = names[:COLUMNS] + [f"and {len(names) - COLUMNS:,} more columns"] * (len(names) > COLUMNS)
    sign = "DISTINCT" if job.statement.projection == "eliminating" else ""
    lines = [Line("answer", sign, bold=True), *map(Line, shown)]
    if len(explained_plan.parts) > 1:
        lines += lines_of(f"put together from {len(explained_plan.parts):,} parts", ANSWER_WIDTH, 2)
    elif explained_plan.parts and explained_plan.parts[0].joins:
        lines += [Line("joined on", bold=True), *lines_of(explained_plan.parts[0].joins, ANSWER_WIDTH, 6)]
    if explained_plan.size:
        most = "nothing" if job.units == 0 else f"at most {explained_plan.size}"
        lines += [Line("state in all", bold=True), *lines_of(most, ANSWER_WIDTH, 4)]
    return Card(ANSWER_WIDTH, tuple(lines))


def _drawn(parts: Sequence[_Part], answer: Placed) -> Iterator[Markup]:
    top = MARGIN + max(
        0.0, (answer.card.height - sum(p.height for p in parts)) / 2 if len(parts) == 1 else 0.0
    )
    for part in parts:
        body = top
        if part.heading:
            yield words(part.heading, MARGIN, top + 14, KEPT_X + KEPT_WIDTH - MARGIN, muted=True)
            body += HEADING
        yield from _body(part, body, part.height - (body - top), answer)
        top += part.height + 2 * GAP
        if part is not parts[-1]:
            ends = {"x1": MARGIN, "x2": KEPT_X + KEPT_WIDTH, "y1": top - GAP, "y2": top - GAP}
            yield element("line", {**ends, "stroke": LINE, "stroke-opacity": 0.2})
    yield answer.drawn()


def _body(part: _Part, top: float, height: float, answer: Placed) -> Iterator[Markup]:
    placed = stacked(list(part.streams.values()), STREAM_X, top, height, GAP)
    streams = dict(zip(part.streams, placed, strict=True))
    boxes = stacked([box.card for box in part.boxes], KEPT_X, top, height, GAP)
    used = {number for box in part.boxes for number in box.inputs}
    by_number = {b.number: at for b, at in zip(part.boxes, boxes, strict=True) if b.number is not None}
    for box, at in zip(part.boxes, boxes, strict=True):
        yield from (arrow(streams[alias].exit, at.entry, dashed=not box.kept) for alias in box.streams)
        if box.number is None or box.number not in used:
            yield arrow(at.exit, answer.entry, dashed=not box.kept)
        yield from (_within(by_number[number], at) for number in box.inputs if number in by_number)
    yield from (item.drawn() for item in (*placed, *boxes))


def _within(above: Placed, below: Placed) -> Markup:
    """An arrow between two boxes of a column: down where they touch, else around what stands between them."""
    start, end = above.bottom, below.top
    if end[1] - start[1] <= GAP:
        return drop(start, end)
    x, y = below.exit
    # Above where its own arrow begins.
    return bow(above.exit, (x, y - 10))
