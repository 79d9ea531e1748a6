"""The tables and pictures of docs/benchmarks.md and benchmarks/README.md: ``python -m scripts.benchmarks``.

All of them are made of the lines in ``benchmarks/results``: a table and a picture for each claim, when and on
what it was measured, and every aim that is missed. A test compares the pages and the pictures with the lines.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill

from benchmarks import states
from benchmarks.figures import FOLDER, FULL, MARGINS, Result, read

from scripts import benchmark_pictures as draw
from scripts.benchmark_pictures import BAD, BAR, GOOD, LINE, ORANGE, PURPLE, Curve, Panel
from scripts.imports import ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"
SUMMARY = ROOT / "benchmarks" / "README.md"
FOLDER_OF_PICTURES = ROOT / "docs" / "images"
ENGINES = FOLDER / "engines.jsonl"
WIDTH = 118
SMALL = 0.1


@dataclass(frozen=True)
class Section:
    """A claim: whose lines it has, and what their sizes are."""

    names: tuple[str, ...]
    sizes: str


SECTIONS = {
    "history": Section(("history",), "rows"),
    "large": Section(("q5", "timed_chain"), "rows"),
    "live": Section(("live",), "further rows"),
    "state": Section(("live_state",), "rows"),
    "nights": Section(("incremental",), "days"),
    "application": Section(("application",), "partitions"),
    "cores": Section(("cores",), "rows a partition"),
    "memory": Section(("memory",), "rows"),
    "check": Section(("check_latency", "startup"), "queries"),
    "scaling": Section(("check_scaling",), "size"),
    "pages": Section(("pages",), "queries"),
    "caches": Section(("caching",), "steps"),
}


def lines(section: str) -> list[Result]:
    """The lines of the full form, in the order of the file."""
    found = [line for name in SECTIONS[section].names for line in read(FOLDER / f"{name}.jsonl")]
    return [line for line in found if line.form == FULL]


def amount(figure: float, unit: str) -> str:
    """A figure with its unit: milliseconds instead of small parts of a second."""
    if unit.startswith("s") and figure < SMALL:
        figure, unit = figure * 1_000, f"m{unit}"
    return f"{figure:,.3g} {unit}" if figure < 1_000 else f"{figure:,.0f} {unit}"


def times(ratio: float) -> str:
    """A ratio; a small one as a fraction."""
    return f"1/{1 / ratio:,.0f}" if ratio < SMALL else f"{ratio:.3g}"


def day(date: str) -> str:
    """A date as people write it."""
    found = dt.date.fromisoformat(date)
    return f"{found.day} {found:%B %Y}"


def table(found: Sequence[Result], sizes: str) -> str:
    """A row for each case and size; of each peer its figure, and here / peer."""
    peers = [*dict.fromkeys(line.peer for line in found if line.peer)]
    head = ("case", sizes, "here", *(f"{peer} (here / it)" for peer in peers), "aim")
    rows = [head, ("---",) * len(head)]
    for (case, size, unit), group in groupby(
        sorted(found, key=_order(found)), key=lambda line: (line.case, line.size, line.unit)
    ):
        same = [*group]
        first = next((line for line in same if line.spread), same[0])
        here = amount(first.figure, unit)
        if first.spread:
            here += f" ({' to '.join(f'{end:,.3g}' for end in first.spread)})"
        cells = {line.peer: _peer_cell(line) for line in same if line.peer}
        aims = [_aim(line) for line in same if line.aim is not None]
        rows.append((case, f"{size:,}", here, *(cells.get(peer, "") for peer in peers), "; ".join(aims)))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _order(found: Sequence[Result]) -> Callable[[Result], tuple[int, int]]:
    """Cases as they come, their sizes one below the other."""
    cases = [*dict.fromkeys((line.case, line.unit) for line in found)]
    return lambda line: (cases.index((line.case, line.unit)), line.size)


def _peer_cell(line: Result) -> str:
    assert line.peer_figure is not None and line.ratio is not None
    there = "" if line.peer_figure == line.figure else f"{amount(line.peer_figure, line.unit)} "
    return f"{there}({times(line.ratio)})"


def _aim(line: Result) -> str:
    assert line.aim is not None
    verdict = "met" if line.met else "**missed**"
    if line.ratio is None:
        return f"at most {amount(line.aim, line.unit)}, {verdict}"
    return f"{line.peer}: at most {times(line.aim)}, {verdict}"


def runs(found: Iterable[Result]) -> str:
    """When, on what and with what lines were measured; the cases where there were several runs."""
    stamps: dict[str, dict[str, None]] = {}
    for line in found:
        versions = ", ".join(f"{name} {number}" for name, number in line.versions.items())
        beside = f"load {line.load:g} of other work" if line.load else "nothing else running"
        stamp = f"{day(line.date)}, {line.machine}, {beside}; {versions or 'versions not kept'}"
        stamps.setdefault(stamp, {})[line.case] = None
    if len(stamps) == 1:
        return fill(f"Measured on {next(iter(stamps))}.", WIDTH) + "\n"
    return "\n".join(
        fill(f"- {', '.join(cases)}: {stamp}.", WIDTH, subsequent_indent="  ")
        for stamp, cases in stamps.items()
    ).join(("Measured on\n\n", "\n"))


def section_text(name: str) -> str:
    """The picture, the table and the runs of a claim."""
    found = lines(name)
    return f"{picture(name)}{table(found, SECTIONS[name].sizes)}\n{runs(found)}"


def picture(name: str) -> str:
    """The picture of a claim, in Markdown."""
    return f"![{TITLES[name]}](images/{path_of(name).name})\n\n"


def engines_text() -> str:
    """The same for what engines keep."""
    kept = measured_engines()
    rows = "\n".join(states.table([line.measured for line in kept]))
    steps = ", ".join(f"{step:,}" for step in kept[0].steps)
    limits = sorted({line.limit for line in kept if line.limit})
    limit = " to ".join(f"{limit:g}" for limit in dict.fromkeys((limits[0], limits[-1])))
    cut = f"Cut off: a step took longer than its run allowed ({limit} s)."
    said = fill(f"After {steps} rows of each stream. {cut}", WIDTH)
    return f"{picture('engines')}{rows}\n\n{said}\n\n{runs(states.results(kept))}"


def measured_engines() -> list[states.Line]:
    """The latest line of each statement, in the form that has more of them."""
    every = states.read(ENGINES)
    forms = [
        {(line.measured.query, line.measured.form): line for line in every if line.steps == steps}
        for steps in states.STEPS.values()
    ]
    return [*max(forms, key=len).values()]


def missed_text() -> str:
    """Every aim that is missed."""
    found = [line for name in SECTIONS for line in lines(name) if not line.met]
    told = []
    for line in found:
        assert line.aim is not None
        case = f"{line.case}, {line.size:,} {_sizes(line)}" if line.size > 1 else line.case
        what = (
            f"{amount(line.figure, line.unit)}, aim {amount(line.aim, line.unit)}"
            if line.ratio is None
            else f"{times(line.ratio)} times {line.peer}, aim {times(line.aim)}"
        )
        load = f", load {line.load:g}" if line.load else ""
        told.append(fill(f"- {case}: {what} ({day(line.date)}{load})", WIDTH, subsequent_indent="  "))
    return "\n".join(told or ["None."]) + "\n"


def _sizes(line: Result) -> str:
    return next(section.sizes for section in SECTIONS.values() if line.name in section.names)


def kinds_text() -> str:
    """Of each kind of query over history the ratio to each peer, by size, and how it grows with the rows."""
    found = lines("history")
    sizes = sorted({line.size for line in found})
    ratios = {(line.case, line.size, line.peer): line for line in found if line.ratio is not None}
    peers = dict.fromkeys(line.peer for line in of_peers(found))
    columns = [(peer, size) for peer in peers for size in sizes]
    grown = next(line.peer for line in found if line.peer.endswith(" rows"))
    shown = [*columns, (grown, sizes[-1])]
    head = [f"/ {peer}, {size:,}" for peer, size in columns]
    rows = [["kind", *head, f"{sizes[-1]:,} / {grown}"], ["---"] * (len(shown) + 1)]
    for case in dict.fromkeys(line.case for line in found):
        cells = (ratios.get((case, size, peer)) for peer, size in shown)
        rows.append([case, *("" if line is None else _judged(line) for line in cells)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _judged(line: Result) -> str:
    assert line.ratio is not None
    return times(line.ratio) if line.met else f"{times(line.ratio)}, **aim {line.aim:g}**"


def margins_text() -> str:
    """How much worse each benchmark's ratios may be."""
    rows = ["| benchmark | a ratio may be times the committed one |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{name}` | {margin:g} |" for name, margin in MARGINS.items())]) + "\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "missed": missed_text,
    **{name: lambda name=name: section_text(name) for name in SECTIONS},  # type: ignore[misc]
    "engines": engines_text,
    "margins": margins_text,
}
PAGES = {DOCUMENT: BLOCKS, SUMMARY: {"kinds": kinds_text}}


def page(path: Path) -> str:
    """A page with every block as the lines say."""
    text = path.read_text(encoding="utf-8")
    for name, made in PAGES[path].items():
        block = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
        assert block.search(text), name
        text = block.sub(lambda _, made=made: made(), text)  # type: ignore[misc]
    return text


def curve(found: Iterable[Result], case: str, peer: str, label: str, colour: str, mark: str = "o") -> Curve:
    """The figures of a case by size: ours, those of a peer if it is named."""
    points = sorted(
        (line.size, line.peer_figure if peer else line.figure)
        for line in found
        if line.case == case and (not peer or line.peer == peer)
    )
    sizes = [size for size, _ in points]
    return Curve(label, sizes, [figure for _, figure in points if figure is not None], colour, mark)


def _state() -> str:
    found, own = lines("state"), "Spark's own streaming join"
    ours = curve(found, "equality", "", "streambound live", GOOD)
    panel = Panel(
        [curve(found, "equality", own, own, BAD, "s"), ours], "rows of both streams", "rows of state"
    )
    return draw.growth([panel], TITLES["state"])


def _nights() -> str:
    found, anew = lines("nights"), "everything anew"
    nights = [line for line in found if line.peer == anew]
    curves = [
        curve(found, "one more day", anew, anew, LINE, "s"),
        curve(nights, "one more day", "", "one more day", GOOD),
    ]
    return draw.growth([Panel(curves, "days of history", "seconds")], TITLES["nights"])


def _memory() -> str:
    found, own = lines("memory"), "Spark's own streaming join"
    units = [line for line in found if line.case == "units"]
    state = [
        curve(found, "state", own, f"{own}: rows", BAD, "s"),
        curve(units, "units", "", "streambound: units", GOOD),
    ]
    looks = {
        "driver, Python": (PURPLE, "o"),
        "largest Python worker": (BAR, "^"),
        "JVM with the tasks": (ORANGE, "s"),
    }
    memory = [curve(found, case, "", case, *look) for case, look in looks.items()]
    rows = "rows of both streams"
    panels = [Panel(state, rows, "", "state"), Panel(memory, rows, "", "peak memory, MB", from_zero=True)]
    return draw.growth(panels, TITLES["memory"])


def _scaling() -> str:
    found, peer = lines("scaling"), "enumeration of branches"
    panels = []
    for name in ("streams", "columns", "constants"):
        curves = [curve(found, name, "", "check", GOOD)]
        if any(line.case == f"{name}, small" for line in found):
            curves.append(curve(found, f"{name}, small", peer, f"{peer}, small queries", BAD, "s"))
        panels.append(Panel(curves, name, "seconds" if name == "streams" else ""))
    return draw.growth(panels, TITLES["scaling"], 3.6)


def _engines() -> str:
    kept = measured_engines()
    return draw.engines([line.measured for line in kept], kept[0].steps, TITLES["engines"])


TITLES = {
    "history": "Time over history by kind of query, as a part of Spark SQL's, DuckDB's and Polars'",
    "large": "Time over large streams, as a part of a scan's and of Spark SQL by hand",
    "live": "Time of a large micro-batch, as a part of Spark's own streaming join and of its limit",
    "state": "Rows of state against rows: Spark's own join grows, streambound live does not",
    "nights": "Seconds of one more day and of everything anew, by days of history",
    "application": "Time of an application of one small query, as a part of that without the archive",
    "cores": "Time on two cores as a part of that on one",
    "memory": "State and peak memory of a history against its rows: streambound's are flat",
    "check": "Time of a check as a part of its limit, and of what Python and the SQL parser take",
    "scaling": "Seconds of a check against streams, columns and constants of the query",
    "pages": "Time of the page of 500 queries, as a part of Airflow's own and of its limit",
    "caches": "Time of the caches' policies, as a part of that of other libraries",
    "engines": "State of bounded queries against rows: Spark, Flink and streambound live",
}
PICTURES: dict[str, Callable[[], str]] = {
    **{
        name: lambda name=name: draw.ratios(lines(name), TITLES[name])  # type: ignore[misc]
        for name in ("large", "live", "application", "cores", "check", "pages", "caches")
    },
    "history": lambda: draw.ratios(of_peers(lines("history")), TITLES["history"], "rows"),
    "state": _state,
    "nights": _nights,
    "memory": _memory,
    "scaling": _scaling,
    "engines": _engines,
}


def of_peers(found: Iterable[Result]) -> list[Result]:
    """Those beside another program, not beside itself at another size."""
    return [line for line in found if not line.peer.endswith(" rows")]


def path_of(name: str) -> Path:
    """Where a picture lies."""
    return FOLDER_OF_PICTURES / f"benchmark-{name}.svg"


def main() -> None:
    """Write the pages and the pictures."""
    for path in PAGES:
        path.write_text(page(path), encoding="utf-8")
    for name, drawn in PICTURES.items():
        path_of(name).write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
