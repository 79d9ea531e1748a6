"""What ``benchmarks/engines.py`` keeps of each statement that it has measured: a line of JSON each.

A line has more than one figure (a state after each step), so its form is its own; ``results`` gives them as
those of every other benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import FULL, QUICK, Result

# Each step at least doubles the rows. What is bounded may still fill up at first, so the last two steps tell.
GROWTH = 1.5
# The first step is for what takes the square of its rows: it does not get beyond the second.
STEPS = {FULL: (2_500, 10_000, 40_000, 160_000, 320_000), QUICK: (5_000, 10_000, 20_000)}

FORMS = (
    "Spark, as written",
    "Spark, rewritten",
    "Flink, as written",
    "Flink, rewritten",
    "streambound live",
)


@dataclass
class Measured:
    """A query in one form on one engine: state after each step, its unit, seconds of the last."""

    query: str
    form: str
    unit: str
    predicted: str
    sql: str | None
    states: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def growth(self) -> str:
        """``constant``, or ``grows`` where the state follows the input; why there is none."""
        if len(self.states) < 2:
            return "refused" if not self.states else "unfinished"
        return "grows" if self.states[-1] > GROWTH * max(1, self.states[-2]) else "constant"

    @property
    def right(self) -> bool:
        """Whether the class of growth is the predicted one."""
        return self.growth == ("grows" if self.predicted in ("time", "keys", "rows") else self.predicted)


@dataclass(frozen=True)
class Line:
    """A statement as measured: after which rows, with which limit of seconds for a step, where and when."""

    measured: Measured
    steps: tuple[int, ...]
    limit: float
    run: Mapping[str, Any]


def read(file: Path) -> list[Line]:
    """The lines of a file; none if it is not there. Early ones do not say where and when."""
    texts = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [
        Line(Measured(**line["measured"]), tuple(line["steps"]), line.get("limit", 0.0), line.get("run", {}))
        for line in map(json.loads, texts)
    ]


def add(file: Path, line: Line) -> None:
    """Append a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**vars(line), "measured": vars(line.measured)})
    with file.open("a", encoding="utf-8") as whole:
        whole.write(f"{text}\n")


def results(lines: Sequence[Line]) -> list[Result]:
    """Each state after the last step beside that after the step before."""
    found = []
    for line in lines:
        one, steps = line.measured, line.steps[: len(line.measured.states)]
        if len(steps) > 1:
            last, before = one.states[-1], one.states[-2]
            found.append(
                Result(
                    "engines",
                    f"{one.query}: {one.form}",
                    steps[-1],
                    last,
                    one.unit,
                    f"after {steps[-2]:,} rows",
                    before,
                    float(f"{max(1, last) / max(1, before):.4g}"),
                    GROWTH if one.predicted == "constant" else None,
                    form=next((form for form, known in STEPS.items() if known == line.steps), FULL),
                    **line.run,
                )
            )
    return found


def table(found: Sequence[Measured]) -> Iterator[str]:
    """The lines of a table: a row a query, a column a form."""
    yield "| query | " + " | ".join(FORMS) + " |"
    yield "|---" * (len(FORMS) + 1) + "|"
    for query in dict.fromkeys(one.query for one in found):
        cells = {one.form: _cell(one) for one in found if one.query == query}
        yield f"| {query} | " + " | ".join(cells.get(form, "") for form in FORMS) + " |"


def _cell(one: Measured) -> str:
    if not one.states:
        return one.growth if one.right else f"{one.growth} ({one.predicted})"
    said = f", by {one.predicted}" if one.right and one.growth == "grows" else ""
    if not one.right and len(one.states) > 1:
        said = f" ({one.predicted} is predicted)"
    if one.error:
        said += ", cut off"
    first, *_, last = (_amount(state, one.unit) for state in (one.states[0], *one.states))
    state = f"**{first} to {last}**" if one.growth == "grows" else last
    seconds = f", {one.seconds[-1]:.0f} s" if one.seconds else ""
    return f"{state}{said}{seconds}"


def _amount(state: int, unit: str) -> str:
    if unit == "bytes":
        return f"{state / 1_000:,.{int(state < 100_000)}f} kB"
    return f"{state:,} {unit}"
