"""The story of a witness as a part of a page: two histories, a continuation, two answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from streambound.compiler import Decided
from streambound.evaluation.events import Answer
from streambound.query.statement import Statement
from streambound.report.pages.markup import element, table, text
from streambound.report.story import SECONDS, SLOTS, History, Story, story

# What stands at an event that the other history has not.
ONLY_HERE, IN_BOTH = "only in this history", "in both"
# Answer rows that are shown of a history.
SHOWN = 12

Events = Iterable[tuple[Mapping[str, Any], bool]]


@dataclass(frozen=True)
class WitnessStory:
    """The story of a query, with what its events are shown by.

    Args:
        columns: the columns of each relation that matter to the query.
        stamps: the application timestamp of each relation that has one.
    """

    story: Story
    columns: Mapping[str, tuple[str, ...]]
    stamps: Mapping[str, str]

    @property
    def has_example(self) -> bool:
        """Whether there is an example."""
        return bool(self.story.histories)

    @property
    def sentence(self) -> str:
        """How many states N slots ask for, and that N has no end."""
        slots = self.story.slots
        return (
            f"{slots} slots → 2^{slots} = {1 << slots} states: with {slots} such choices there are"
            f" {1 << slots} histories, and no two may be remembered alike. N slots → 2^N states, and N grows"
            " as long as the streams run: no fixed memory has enough."
        )

    def markup(self) -> str:
        """The story as ``<section class="witness">``."""
        paragraphs = [element("p", {"class": "reason"}, text(self.story.reason))]
        if not self.has_example:
            missing = element("p", {"class": "missing"}, text(self.story.missing))
            return element("section", {"class": "witness"}, *paragraphs, missing)
        intro = (
            "Two histories of the streams may look alike to a small memory. These differ in a tuple or two,"
            " and after the same continuation their answers differ: whoever answers right has remembered"
            " the difference."
        )
        paragraphs += [
            element("p", None, text(intro)),
            *self._static(),
            element("div", {"class": "histories"}, *map(self._history, (0, 1))),
            self._table("Then, in both, comes", [(event, True) for event in self.story.continuation]),
            element("p", None, text(self._difference)),
            element("div", {"class": "histories"}, *map(self._answer, (0, 1))),
            element("p", {"class": "states"}, text(self.sentence)),
        ]
        return element("section", {"class": "witness"}, *paragraphs)

    @property
    def _difference(self) -> str:
        if (grouped := self._group()) is not None:
            return grouped
        left, right = (_number(history.answers) for history in self.story.histories)
        if left != right:
            return f"After history A it brings {left}, after history B {right}."
        return f"After either history it brings {left}, but not the same."

    def _group(self) -> str | None:
        """What a number of a group becomes in either history; None where the answers are no groups."""
        keys, names = self.story.keys, self.story.outputs
        if keys is None:
            return None
        left, right = (_becoming(history.answers, keys) for history in self.story.histories)
        for key in dict.fromkeys((*left, *right)):
            rows = left.get(key), right.get(key)
            for column in (n for n in range(len(names)) if n not in keys):
                values = [None if row is None else (row[column],) for row in rows]
                if values[0] != values[1]:
                    of = " and ".join(f"{names[k]} = {_value(v)}" for k, v in zip(keys, key, strict=True))
                    first, second = (
                        f"becomes {_value(row[column])}"
                        if (row := side.get(key)) is not None
                        else "is taken back"
                        if key in side
                        else "does not change"
                        for side in (left, right)
                    )
                    what = f"{names[column]} for {of}" if of else names[column]
                    return f"{what} {first} after history A, and {second} after history B."
        return None

    def _static(self) -> list[Markup]:
        rows = [({"stream": n, **row}, True) for n, of in (self.story.static or {}).items() for row in of]
        return [self._table("Known from the start", rows)] if rows else []

    def _history(self, number: int) -> Markup:
        return self._table(f"History {'AB'[number]}", self.story.histories[number].events)

    def _table(self, caption: str, events: Events) -> Markup:
        """Events one a row; a history without any says so."""
        listed = list(events)
        dated = any(self._moment(event) is not None for event, _ in listed)
        apart = not all(shared for _, shared in listed)
        headings = [*(["Time"] if dated else ["#"]), "Stream", "Tuple", *(["In which"] if apart else [])]
        rows = [
            self._row(number, event, shared, dated, apart) for number, (event, shared) in enumerate(listed, 1)
        ]
        if not rows:
            rows, headings = [[text("nothing has arrived")]], ["Stream"]
        marked = {number: "differs" for number, (_, shared) in enumerate(listed) if not shared}
        return table(caption, headings, rows, "events", marked)

    def _row(
        self, number: int, event: Mapping[str, Any], shared: bool, dated: bool, apart: bool
    ) -> list[Markup]:
        moment = self._moment(event) if dated else number
        name = str(event["stream"])
        stamp = self.stamps.get(name)
        values = [f"{c} = {_value(event.get(c))}" for c in self.columns.get(name, ()) if c != stamp]
        cells = [_when(moment), name, ", ".join(values) or "any values"]
        return [*map(text, cells), *([text(IN_BOTH if shared else ONLY_HERE)] if apart else [])]

    def _moment(self, event: Mapping[str, Any]) -> Any:
        stamp = self.stamps.get(str(event["stream"]))
        return event.get("ts") if stamp is None else event.get(stamp)

    def _answer(self, number: int) -> Markup:
        history: History = self.story.histories[number]
        answers = history.answers
        caption = f"Answers after {'AB'[number]}"
        if not answers:
            return table(caption, ["Answer"], [[text("no new answer")]], "answers")
        counted = any(answer.count != 1 for each in self.story.histories for answer in each.answers)
        headings = [*self.story.outputs, *(["Times"] if counted else [])]
        rows = [_cells(answer, counted) for answer in answers[:SHOWN]]
        markups = [table(caption, headings, rows, "answers")]
        if len(answers) > SHOWN:
            markups.append(element("p", None, text(f"and {len(answers) - SHOWN:,} more rows")))
        return markups[0] if len(markups) == 1 else element("div", None, *markups)


def _cells(answer: Answer, counted: bool) -> list[Markup]:
    return [*(text(_value(value)) for value in answer.row), *([text(f"{answer.count:,}")] if counted else [])]


def _number(answers: Sequence[Answer]) -> str:
    """How many rows come, and how many are taken back."""
    new = sum(answer.count for answer in answers if answer.count > 0)
    back = -sum(answer.count for answer in answers if answer.count < 0)
    said = "no new answer" if new == 0 else "1 new answer" if new == 1 else f"{new:,} new answers"
    if not back:
        return said
    return f"{said} and takes {'1 answer' if back == 1 else f'{back:,} answers'} back"


def _becoming(
    answers: Sequence[Answer], keys: Sequence[int]
) -> dict[tuple[Any, ...], tuple[Any, ...] | None]:
    """The row that each group whose row changes has in the end; None where it has none any more."""
    counts: dict[tuple[Any, ...], int] = {}
    for answer in answers:
        counts[answer.row] = counts.get(answer.row, 0) + answer.count
    by_row: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
    for row, count in counts.items():
        key = tuple(row[k] for k in keys)
        by_row[key] = row if count > 0 else by_row.get(key)
    return by_row


def _when(moment: object) -> str:
    """A moment without what says again that it is one in UTC."""
    return "" if moment is None else _value(moment).replace("T", " ").removesuffix("+00:00")


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    return {True: "TRUE", False: "FALSE"}[value] if isinstance(value, bool) else str(value)


def witness_story(job: Decided, slots: int = SLOTS, seconds: float = SECONDS) -> WitnessStory:
    """Why a query is unbounded, by an example of two histories; where there is none, the story says why.

    Args:
        slots: of the witness, 2 or 3.
        seconds: for how long a witness is looked for.
    """
    relations = {o.relation.name: o.relation for o in job.statement.occurrences}
    return WitnessStory(
        story(job, slots, seconds),
        {name: _mentioned(job.statement, name) for name in relations},
        {name: relation.timestamp for name, relation in relations.items() if relation.timestamp is not None},
    )


def _mentioned(statement: Statement, relation: str) -> tuple[str, ...]:
    """The columns of a relation that matter, in the order of the catalog."""
    used = statement.columns(relation)
    (mentioned,) = {o.relation for o in statement.occurrences if o.relation.name == relation}
    return tuple(column.name for column in mentioned.columns if column.name in used)
