"""The pictures of the concepts: ``python -m scripts.pictures``.

Each is an SVG of its own, legible on light and on dark. What a picture says of a query is what the library
answers, so that it cannot say something else than the code; a test compares the files with the drawings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from markupsafe import escape

import streambound
from scripts.imports import ROOT

FOLDER = ROOT / "docs" / "images"
COLOURS = """
svg { --paper: #fcfcfa; --ink: #1d2430; --soft: #586273; --line: #8b97a8; --room: #eaf0f8; --edge: #9fb2cc;
  --good: #2f7d4f; --goodly: #e3f2e8; --bad: #b3402e; --badly: #fae6e2; --bar: #4c78a8;
  font-family: system-ui, "DejaVu Sans", sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14181f; --ink: #e8ecf2; --soft: #a9b4c4; --line: #71809a; --room: #222c3b; --edge: #4d6485;
    --good: #6cc08b; --goodly: #1d3327; --bad: #ee8a78; --badly: #3d231f; --bar: #7fb0e6 } }
"""
STYLE = (
    COLOURS
    + """\
.paper { fill: var(--paper) } .box { fill: var(--room); stroke: var(--edge) }
.goodbox { fill: var(--goodly); stroke: var(--good) } .badbox { fill: var(--badly); stroke: var(--bad) }
.line, .soft-line { fill: none; stroke: var(--line); stroke-width: 1.5 } .tip { fill: var(--line) }
.soft-line { stroke-dasharray: 4 4 }
.goodline { fill: none; stroke: var(--good); stroke-width: 2.5 }
.badline { fill: none; stroke: var(--bad); stroke-width: 2.5 }
.gooddot { fill: var(--good) } .baddot { fill: var(--bad) } .dot { fill: var(--bar) }
.faint { fill: none; stroke: var(--line) }
.gone { opacity: .35 }
text { fill: var(--ink); font-size: 14px } .name { font-weight: 600 }
.soft { fill: var(--soft); font-size: 13px }
.good { fill: var(--good); font-weight: 600 } .bad { fill: var(--bad); font-weight: 600 }
.title { font-size: 15px; font-weight: 600 }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12.5px }
"""
)
LINE = 20


class Sheet:
    """A picture while it is drawn; lengths are in pixels from the upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
        ]

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> None:
        """One line of text; its foot is at ``y``."""
        self.parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str | tuple[str, str]],
        kind: str = "box",
    ) -> None:
        """A box with lines of text, each plain or with its class; the first is its name."""
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        )
        for i, line in enumerate(lines):
            said, look = line if isinstance(line, tuple) else (line, "name" if i == 0 else "soft")
            self.text(x + 12, y + 22 + i * LINE, said, look)

    def path(self, points: str, kind: str = "line") -> None:
        """A line along SVG's path commands."""
        self.parts.append(f'<path class="{kind}" d="{points}"/>')

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """A line with a tip, across or down."""
        self.path(f"M{x:g} {y:g}L{to_x:g} {to_y:g}")
        tip = "l-8 -4v8z" if to_y == y else "l-4 -8h8z"
        self.path(f"M{to_x:g} {to_y:g}{tip}", "tip")

    def dot(self, x: float, y: float, kind: str = "dot", radius: float = 5) -> None:
        """A point."""
        self.parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def done(self) -> str:
        """The SVG."""
        return "\n".join([*self.parts, "</svg>", ""])


def what() -> str:
    """What streambound does, from the query to what happens with it."""
    sheet = Sheet(
        980, 300, "A query and a catalog go in; a verdict with its proof comes out, and then it runs"
    )
    sheet.box(20, 40, 190, 84, ["your query", "SQL of Spark, Flink,", "ksqlDB, dbt, DataFrames"], "box")
    sheet.box(20, 168, 190, 84, ["your catalog", "columns, timestamps,", "what you promise"], "box")
    for y in (82, 210):
        sheet.path(f"M210 {y}C236 {y} 230 146 246 146")
    sheet.path("M250 146l-8 -4v8z", "tip")
    sheet.box(250, 104, 168, 84, ["streambound", "decides, by theorems,", "in milliseconds"], "box")
    rows = [
        (20, "bounded", ("at most so many values are", "kept: these, and why"), "good"),
        (116, "unbounded", ("the column, the comparison,", "a proof, and changes that help"), "bad"),
        (212, "invalid or unknown", ("line and column, what is", "accepted, one fix"), ""),
    ]
    ends = [
        ("run it", "over years of history or live,", "on Spark or without it"),
        ("mend it, or keep what fits", "in K tuples of memory, with an", "estimate of what is missed"),
        ("in your editor and CI", "quick fixes, SARIF,", "pre-commit, Airflow"),
    ]
    for (y, name, said, kind), end in zip(rows, ends, strict=True):
        sheet.path(f"M418 146C446 146 446 {y + 36} 470 {y + 36}")
        sheet.path(f"M474 {y + 36}l-8 -4v8z", "tip")
        sheet.box(474, y, 230, 72, [(name, kind or "name"), *said], f"{kind}box" if kind else "box")
        sheet.arrow(704, y + 36, 736, y + 36)
        sheet.box(736, y, 224, 72, end, "box")
    return sheet.done()


STREAMS = {"S": {"A": "int", "B": "int"}, "T": {"D": "int", "E": "int"}}
COUNTED = "SELECT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20"
DISTINCT = COUNTED.replace("SELECT", "SELECT DISTINCT")


def _units(sql: str) -> int:
    """The units of a bounded query over the streams of the examples."""
    found = streambound.compile(sql, streambound.catalog(STREAMS))
    assert found.units is not None, sql
    return found.units


def _kept(rows: int) -> tuple[list[int], list[int]]:
    """After each row, the tuples that counting keeps, and the values that the DISTINCT plan keeps."""
    random = Random(1)  # noqa: S311
    events: list[dict[str, Any]] = [
        {"stream": "S", "A": random.randint(5, 25), "B": random.randint(1000, 9999)}
        if random.random() < 0.5
        else {"stream": "T", "D": random.randint(0, 2000), "E": 0}
        for _ in range(rows)
    ]
    catalog = streambound.catalog(STREAMS)
    counted = [e["stream"] == "T" or 10 < e["A"] < 20 for e in events]
    every = list(accumulate(counted))
    plan = [int(streambound.evaluate(DISTINCT, catalog, events[: n + 1])["peak_units"]) for n in range(rows)]
    return every, plan


def bounded() -> str:
    """What two queries keep as rows come: one grows for ever, one does not."""
    rows, width, height, left, foot = 120, 860, 360, 70, 290
    every, plan = _kept(rows)
    most, limit = every[-1], _units(DISTINCT)
    sheet = Sheet(width, height, "State against rows: counting pairs grows, with DISTINCT it does not")
    x = [left + 560 * i / (rows - 1) for i in range(rows)]

    def y(kept: float) -> float:
        return foot - 240 * kept / most

    sheet.arrow(left, foot, left + 590, foot)
    sheet.path(f"M{left} {foot}V30")
    sheet.path(f"M{left} 26l-4 8h8z", "tip")
    sheet.text(left + 590, foot + 24, "rows that have come", "soft", "end")
    sheet.text(left - 8, 44, "kept", "soft", "end")
    sheet.path(f"M{left} {y(limit):.1f}H{left + 590}", "soft-line")
    for kept, kind in ((every, "badline"), (plan, "goodline")):
        points = " ".join(f"{a:.1f} {y(b):.1f}" for a, b in zip(x, kept, strict=True))
        sheet.path(f"M{points}", kind)
    sheet.text(left + 600, y(most) + 8, "unbounded", "bad")
    sheet.text(left + 600, y(most) + 28, "counts pairs: every row", "soft")
    sheet.text(left + 600, y(most) + 46, "may match a later one", "soft")
    sheet.text(left + 600, y(limit) + 2, "bounded", "good")
    sheet.text(left + 600, y(limit) + 22, f"with DISTINCT: {limit} units,", "soft")
    sheet.text(left + 600, y(limit) + 40, "whatever comes", "soft")
    sheet.text(left, height - 18, COUNTED, "code")
    return sheet.done()


def units() -> str:
    """The ten values that q4_distinct keeps."""
    total = _units(DISTINCT)
    sheet = Sheet(
        860, 250, f"A table of nine keys with a least value each, and one greatest value: {total} units"
    )
    sheet.text(24, 36, "S: per A the least B", "title")
    for i in range(9):
        left = 24 + i * 58
        sheet.box(left, 52, 52, 32, [(f"{11 + i}", "soft")])
        sheet.box(left, 90, 52, 36, [("B", "good")], "goodbox")
    sheet.text(24, 152, "9 keys, one stored value each: 9 units", "soft")
    sheet.text(600, 36, "T: the greatest D", "title")
    sheet.box(600, 90, 70, 36, [("D", "good")], "goodbox")
    sheet.text(600, 152, "1 unit", "soft")
    sheet.text(24, 196, f"9 + 1 = {total} units. The constants of the query say that A is one of 9;", "")
    sheet.text(24, 218, "an answer needs only the least B of its A, and the greatest D of all.", "")
    return sheet.done()


def zones() -> str:
    """How constants cut a column into zones."""
    sheet = Sheet(
        860, 270, "The constants 10 and 20 cut the values of A into zones; only those between them count"
    )
    sheet.text(24, 34, "S.A > 10 AND S.A < 20", "code")
    left, right, axis = 60, 800, 110
    low, high = 270, 560
    sheet.path(f"M{left} {axis}H{right}")
    sheet.path(f"M{right + 4} {axis}l-8 -4v8z", "tip")
    sheet.path(f"M{left - 4} {axis}l8 -4v8z", "tip")
    for x, said in ((low, "10"), (high, "20")):
        sheet.path(f"M{x} {axis - 12}V{axis + 12}")
        sheet.text(x, axis - 20, said, "name", "middle")
    for i in range(9):
        sheet.dot(low + (high - low) * (i + 1) / 10, axis, "gooddot")
    sheet.text((left + low) / 2, axis + 34, "below 10", "", "middle")
    sheet.text((left + low) / 2, axis + 54, "no row counts", "soft", "middle")
    sheet.text((low + high) / 2, axis + 34, "between: 11 to 19", "good", "middle")
    sheet.text((low + high) / 2, axis + 54, "nine values, so nine keys", "soft", "middle")
    sheet.text((high + right) / 2, axis + 34, "above 20", "", "middle")
    sheet.text((high + right) / 2, axis + 54, "no row counts", "soft", "middle")
    sheet.text(
        24, 214, "Without S.A < 20 the zone above 10 counts, and no constant ends it: infinitely many values,"
    )
    sheet.text(
        24, 236, "and every value of the zone is like every other. A verdict names such a zone as its branch."
    )
    return sheet.done()


def time_order() -> str:
    """How a window lets rows go."""
    sheet = Sheet(
        860, 300, "Rows of a wait for partners for three hours, and are gone when the window has passed"
    )
    sheet.text(24, 32, "d.departed_at BETWEEN a.arrived_at AND a.arrived_at + INTERVAL 3 HOURS", "code")
    hour, start, now = 80, 110, 7

    def at(moment: float) -> float:
        return start + hour * moment

    for name, y in (("a", 110), ("d", 190)):
        sheet.text(40, y + 5, name, "title")
        sheet.arrow(70, y, 810, y)
    window = 3
    sheet.parts.append(
        f'<rect class="goodbox" x="{at(now - window)}" y="82" width="{hour * window}" height="56" rx="6"/>'
    )
    for moment in (0.5, 1.6, 3.1, 4.5, 5.2, 6.6):
        sheet.dot(at(moment), 110, "gooddot" if moment >= now - window else "dot gone")
    for moment in (1.1, 2.4, 6.1, 7):
        sheet.dot(at(moment), 190, "dot gone" if moment < now else "dot")
    sheet.path(f"M{at(now)} 60V220", "soft-line")
    sheet.text(at(now) + 8, 66, "now", "name")
    for moment in (4.5, 5.2, 6.6):
        sheet.path(f"M{at(moment)} 110L{at(now)} 190", "faint")
    sheet.text(at(5.5), 160, "held", "good", "middle")
    sheet.text(at(1.6), 160, "gone: too old for any later d", "soft", "middle")
    sheet.text(
        24,
        252,
        "Time only goes forward. A later d is at least as late as now, so a row of a that is more than three",
    )
    sheet.text(
        24,
        274,
        "hours old can match nothing any more. What is kept is what three hours can bring.",
    )
    return sheet.done()


def changes() -> str:
    """What is told of a count in each mode."""
    catalog = streambound.catalog({"f": {"ts": "timestamp", "origin": "string"}})
    sql = "SELECT window(ts, '1 hour').start AS hour, COUNT(*) AS n FROM f GROUP BY window(ts, '1 hour')"
    moments = ("10:05", "10:20", "10:50", "11:10")
    events = [{"stream": "f", "ts": f"2013-01-01 {at}:00", "origin": "JFK"} for at in moments]
    told = {
        mode: streambound.evaluate(sql, catalog, events, mode=mode)["answers"]
        for mode in ("changes", "final")
    }
    sheet = Sheet(
        860, 330, "Of four flights: changes takes the old count back each time; final tells each hour once"
    )
    x = dict(zip(moments, (190, 330, 560, 720), strict=True))
    sheet.text(24, 34, "COUNT(*) of each hour", "code")
    sheet.arrow(140, 70, 830, 70)
    sheet.text(24, 75, "rows", "title")
    for moment in moments:
        sheet.dot(x[moment], 70)
        sheet.text(x[moment], 54, moment, "soft", "middle")
    for y, mode in ((120, "changes"), (236, "final")):
        sheet.text(24, y + 22, mode, "title")
        lines: dict[str, list[tuple[str, str]]] = {}
        for answer in told[mode]:
            row, sign = answer["row"], answer["count"]
            time_text = str(answer["ts"])[11:16]
            said = f"{'+' if sign > 0 else '−'} {str(row[0])[11:16]}: {row[1]}"
            lines.setdefault(time_text, []).append((said, "good" if sign > 0 else "bad"))
        for time_text, told_there in lines.items():
            sheet.box(x[time_text] - 52, y, 104, 14 + LINE * len(told_there), told_there)
    sheet.text(24, 312, "10:00 is over when a row of 11 o'clock has come: only then is its count final.")
    return sheet.done()


def why() -> str:
    """The argument with prefixes, memories and suffixes."""
    sheet = Sheet(
        860,
        420,
        "Two histories that leave the same memory need different answers",
    )
    sheet.text(24, 34, "SELECT DISTINCT tailnum FROM departures", "code")
    sheet.text(24, 66, "8 histories of three planes", "title")
    sheet.text(330, 66, "a memory of 2 bits: 4 states", "title")
    sheet.text(600, 66, "then plane 3 comes", "title")
    for i in range(8):
        y = 84 + 38 * i
        planes = [str(n + 1) for n in range(3) if i >> n & 1]
        pair = i in (2, 6)
        sheet.box(
            24,
            y,
            190,
            30,
            [("planes " + ", ".join(planes) if planes else "none", "soft")],
            "badbox" if pair else "box",
        )
        state = i % 4
        sheet.path(
            f"M214 {y + 15}C270 {y + 15} 280 {130 + 70 * state} 330 {130 + 70 * state}",
            "badline" if pair else "faint",
        )
    for state in range(4):
        kind = "badbox" if state == 2 else "box"
        sheet.box(330, 112 + 70 * state, 110, 36, [(f"state {state + 1}", "soft")], kind)
    for y, name, said in (
        (200, "planes 2", "plane 3 is new: tell it"),
        (290, "planes 2, 3", "it was told: say nothing"),
    ):
        sheet.path(f"M440 270C520 270 520 {y + 26} 596 {y + 26}", "badline")
        sheet.box(600, y, 236, 56, [(f"after {name}", "bad"), said], "badbox")
    sheet.text(
        24,
        408,
        "Whatever the algorithm: with fewer states than histories two share one, and one answer is wrong.",
    )
    return sheet.done()


PICTURES: dict[str, Callable[[], str]] = {
    "what": what,
    "bounded": bounded,
    "units": units,
    "zones": zones,
    "time": time_order,
    "changes": changes,
    "why": why,
}


def path_of(name: str) -> Path:
    """Where a picture lies."""
    return FOLDER / (f"{name}.svg" if name == "what" else f"concept-{name}.svg")


def main() -> None:
    """Draw all of them."""
    for name, draw in PICTURES.items():
        path_of(name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
