"""Windows of time, however they are written, as functions of a timestamp: ``WINDOW_START``, ``WINDOW_END``.

``GROUP BY window(ts, '10 minutes')``, ``FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE))``,
``WINDOW TUMBLING (SIZE 10 MINUTES)``, ``TumblingWindow(minute, 10)`` are one thing. A row is in one window,
or (HOP) in boundedly many; either way its window is within a bounded time of it, and that is what a verdict
asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import expressions as exp

from streambound.query.dialects.grammar import PARTITIONED, SPAN, WINDOWS, span_of
from streambound.query.differences import microseconds

START, END = "WINDOW_START", "WINDOW_END"
# Of a row's session, which no row tells alone.
SESSIONS = ("SESSION_START", "SESSION_END")
_HOUR, _DAY = 3_600_000_000, 86_400_000_000
# The longest of each; a day may have an hour more where clocks are changed.
_UNITS = {
    **{"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": _HOUR},
    **{"DAY": _DAY + _HOUR, "WEEK": 7 * _DAY + _HOUR, "MONTH": 31 * _DAY + _HOUR},
    **{"QUARTER": 92 * _DAY + _HOUR, "YEAR": 366 * _DAY},
}
_EXACT = {**_UNITS, "DAY": _DAY, "WEEK": 7 * _DAY}
_CALENDAR = ("%Y", "%m", "%d", "%H", "%M", "%S")
_LETTERS = ("yyyy", "MM", "dd", "HH", "mm", "ss")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_DIRECTIVE = re.compile(r"(%-?[A-Za-z])(?:strict)?")
_FORMATS = frozenset(("FORMAT_TIMESTAMP", "TIMESTAMPTOSTRING", "DATE_FORMAT", "TO_CHAR", "FORMAT_DATE"))
_FINEST = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_PARTS = {"START": START, "END": END, "ROWTIME": END, "PROCTIME": END}
_ROUNDING = {
    **{f"TO_START_OF_{unit}": unit for unit in _UNITS},
    **{f"TOSTARTOF{unit}": unit for unit in _UNITS},
    "TO_DATE": "DAY",
}


@dataclass(frozen=True)
class Window:
    """The windows that rows are put into: of a timestamp (None: that of the stream), with their length.

    Lengths are microseconds, or ticks. A session has a gap, and may have a greatest length, ``longest``.
    Where windows overlap, they begin (HOP) or end (CUMULATE) so far apart as ``step`` says. Those that are
    ``moved`` against the epoch, or that begin with a row, are like them for a verdict and are not computed.
    ``keys`` are the columns of whose rows a session is; None: those of GROUP BY.
    """

    kind: str
    stamp: exp.Expr | None
    size: int
    node: exp.Expr
    step: int | None = None
    moved: bool = False
    longest: int | None = None
    keys: frozenset[str] | None = None

    @property
    def session(self) -> bool:
        """Whether windows end by silence."""
        return self.kind == "SESSION"

    def value(self, end: bool, node: exp.Expr, stamp: exp.Expr | None = None) -> exp.Expr:
        """The start of a row's window or its end, at the place of a node."""
        of = stamp if stamp is not None else self.stamp
        assert of is not None
        length = exp.Literal.number(self.size)
        start, last = SESSIONS if self.session else (START, END)
        further = [exp.Literal.number(number) for number in (self.step, self.longest) if number is not None]
        if self.kind == "CUMULATE":
            further.append(exp.Literal.number(1))
        if self.moved:
            further.append(exp.Literal.string("moved"))
        made = exp.Anonymous(this=last if end else start, expressions=[of.copy(), length, *further])
        if (span := span_of(node)) is not None:
            made.meta[SPAN] = span
        if self.keys is not None:
            made.meta[PARTITIONED] = self.keys
        return made


def length(node: exp.Expr | None) -> int | None:
    """A length of time in microseconds, or a number of ticks; None of what is none."""
    if node is None:
        return None
    if isinstance(node, exp.Literal):
        if node.is_string:
            return microseconds(exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DType.INTERVAL)))
        return int(node.name) if node.name.isdigit() else None
    span = microseconds(node)
    if span is not None:
        return span
    if isinstance(node, exp.Interval) and node.args.get("unit") is not None and node.this is not None:
        unit = node.args["unit"].sql().upper().rstrip("S")
        if unit in _UNITS and node.this.name.isdigit():
            return int(node.this.name) * _UNITS[unit]
    return None


def called(node: exp.Expr) -> Window | None:
    """The window that a call in GROUP BY or SELECT names, or a WINDOW clause; None of any other node."""
    if not isinstance(node, exp.Anonymous):
        return None
    name, given = str(node.this).upper(), list(node.expressions)
    if name in ("WINDOW", "SESSION_WINDOW") and len(given) > 1:
        lengths = [span for span in map(length, given[1:]) if span]
        kind = "SESSION" if name == "SESSION_WINDOW" else "HOP" if len(lengths) > 1 else "TUMBLE"
        return _window(kind, given[0], lengths, node)
    if name.startswith("WINDOW "):
        lengths = [span for span in map(length, given) if span]
        return _window(name.removeprefix("WINDOW "), None, lengths or [1], node)
    if name.endswith("WINDOW") and name[:-6] in ("TUMBLING", "HOPPING", "SLIDING", "SESSION") and given:
        return _azure(name[:-6], given, node)
    if name in WINDOWS and given and not isinstance(given[0], exp.Table):
        stamp = None if length(given[0]) is not None else given.pop(0)
        lengths = [span for span in map(length, given) if span is not None]
        return _window(name, stamp, lengths, node)
    return None


def _window(name: str, stamp: exp.Expr | None, lengths: list[int], node: exp.Expr) -> Window | None:
    """The window of a processor's function; CUMULATE and HOP name the step and the length in any order."""
    if not lengths:
        return None
    size, step = max(lengths), min(lengths)
    if name == "SESSION":
        return Window(name, stamp, lengths[0], node, longest=lengths[1] if len(lengths) > 1 else None)
    tumbles = name in ("TUMBLE", "TUMBLING")
    moved = len(lengths) > (1 if tumbles else 2) or name == "SLIDING"
    if moved or tumbles or step == size:
        return Window("TUMBLE", stamp, size, node, moved=moved)
    return Window(name if name == "CUMULATE" else "HOP", stamp, size, node, step)


def _azure(name: str, given: list[exp.Expr], node: exp.Expr) -> Window | None:
    first = given[0]
    if isinstance(first, exp.Anonymous) and str(first.this).upper() == "DURATION":
        unit, number = first.expressions[0].name, first.expressions[1].name
    elif len(given) > 1:
        unit, number = first.name, given[1].name
    else:
        return None
    unit = unit.upper().rstrip("S")
    if unit not in _EXACT or not number.isdigit():
        return None
    step = given[2].name if name in ("HOPPING", "SESSION") and len(given) > 2 else ""
    lengths = [int(item) * _EXACT[unit] for item in (number, step) if item.isdigit()]
    return _window(name, None, lengths, node)


def of_snapshot(select: exp.Select) -> exp.Select:
    """``GROUP BY SnapshotWindow()`` as GROUP BY System.Timestamp(): the rows of one time."""
    group = select.args.get("group")
    if group is None or not any(_is_snapshot(node) for node in group.expressions):
        return select
    time = exp.Column(this=exp.to_identifier("Timestamp"), table=exp.to_identifier("System"))
    made = select.copy()
    made.meta.update(select.meta)
    for node in list(made.args["group"].expressions):
        if _is_snapshot(node):
            node.replace(time.copy())
    return made


def _is_snapshot(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "SNAPSHOTWINDOW"


def part_called(node: exp.Expr) -> tuple[Window, bool] | None:
    """``TUMBLE_START(ts, ...)`` and its like: the window, and whether it is its end."""
    if not isinstance(node, exp.Anonymous):
        return None
    first, _, last = str(node.this).upper().rpartition("_")
    if first not in WINDOWS or last not in _PARTS:
        return None
    window = called(exp.Anonymous(this=first, expressions=[given.copy() for given in node.expressions]))
    return None if window is None else (window, _PARTS[last] == END)


def edge_called(node: exp.Expr) -> tuple[Window, bool] | None:
    """The window that a call names, or a ``.start`` or ``.end`` of one, and whether it is the end."""
    inner, end = node, False
    if isinstance(node, exp.Dot) and isinstance(node.this, exp.Expr):
        inner, end = node.this, node.expression.name.upper() == "END"
    if (part := part_called(inner)) is not None:
        return part[0], part[1] or end
    window = called(inner)
    return None if window is None else (window, end)


def tabled(table: exp.Expr) -> tuple[exp.Expr, Window] | None:
    """A window function in FROM: the table whose rows it puts into windows, and those; else None."""
    call = table.this if isinstance(table, (exp.Table, exp.TableFromRows)) else table
    if not isinstance(call, exp.Anonymous) or str(call.this).upper() not in WINDOWS:
        return None
    name, stamp, lengths, of = str(call.this).upper(), None, list[int](), None
    described = False
    for given in call.expressions:
        node = given.expression if isinstance(given, (exp.Kwarg, exp.PropertyEQ)) else given
        if isinstance(node, exp.Anonymous) and str(node.this).upper() == "DESCRIPTOR":
            stamp, described = node.expressions[0], True
        elif (span := length(node)) is not None:
            lengths.append(span)
        elif of is None:
            of = node
        elif isinstance(node, exp.Column):
            stamp = node
    if of is None or not lengths:
        return None
    window = _window(name, stamp, lengths, call)
    if window is not None and window.session and isinstance(of, exp.Table) and described:
        key = of.meta.get(PARTITIONED)
        names = () if key is None else (column.name.lower() for column in key.find_all(exp.Column))
        window = replace(window, keys=frozenset(names))
    return None if window is None else (of, window)


def overlapping(node: exp.Expr) -> tuple[int | None, bool]:
    """How far the windows are apart of which an expression is an end, and whether their starts are not."""
    if not isinstance(node, exp.Anonymous) or str(node.this) not in (START, END):
        return None, False
    further = [part for part in node.expressions[2:] if not part.is_string]
    return (int(further[0].name), len(further) > 1) if further else (None, False)


def bucket(node: exp.Expr) -> tuple[exp.Expr, int] | None:
    """What a monotone function of a moment rounds, and how far its value may be from it; None of others.

    Microseconds; of windows of ticks, ticks.
    """
    node = node.unnest()
    if isinstance(node, exp.Anonymous):
        name = str(node.this).upper()
        if name in (START, END):
            return node.expressions[0], int(node.expressions[1].name)
        if name in _FORMATS and len(node.expressions) > 1:
            return _pattern(node.expressions[0], node.expressions[1])
        if name in _ROUNDING and node.expressions:
            return node.expressions[0], _UNITS[_ROUNDING[name]]
        return _binned(name, list(node.expressions))
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        unit = node.args.get("unit")
        return _rounded(node.this, "" if unit is None else unit.name)
    if isinstance(node, exp.Floor) and node.args.get("to") is not None:
        return _rounded(node.this, node.args["to"].name)
    if isinstance(node, (exp.TsOrDsToDate, exp.Date)):
        return _rounded(node.this, "DAY")
    if isinstance(node, exp.Year):
        return _rounded(node.this, "YEAR")
    if isinstance(node, exp.Extract) and node.this.name.upper() == "YEAR":
        return _rounded(node.expression, "YEAR")
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        return _rounded(node.this, "DAY")
    if isinstance(node, exp.TimeToStr):
        return _written(node)
    if isinstance(node, exp.DateBin):
        return _binned("DATE_BIN", [node.this, node.expression])
    return None


def edge_of(node: exp.Expr) -> str:
    """Whether a bucket is the ``start`` or ``end`` of a window in which the moment lies, or the ``floor`` of
    a calendar's interval, which may be shorter than another, or its ``digits``; else empty."""
    node = node.unnest()
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in (START, END):
        return "end" if str(node.this).upper() == END else "start"
    rounds = (exp.TimestampTrunc, exp.DateTrunc, exp.TsOrDsToDate, exp.Date)
    to_day = isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE
    if isinstance(node, rounds) or to_day:
        return "floor"
    if isinstance(node, exp.TimeToStr):
        return _digits(node.args["format"])
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in _FORMATS:
        return _digits(node.expressions[1])
    year = isinstance(node, exp.Year) or (isinstance(node, exp.Extract) and node.this.name.upper() == "YEAR")
    return "digits" if year else ""


def _digits(pattern: exp.Expr) -> str:
    """The edge of what is written by a pattern: only its letters make digits."""
    return "" if re.search(r"\d", pattern.name) else "digits"


def _rounded(node: exp.Expr, unit: str) -> tuple[exp.Expr, int] | None:
    return (node, _UNITS[unit.upper()]) if unit.upper() in _UNITS else None


def _binned(name: str, given: list[exp.Expr]) -> tuple[exp.Expr, int] | None:
    if name not in ("DATE_BIN", "TIME_BUCKET", "TUMBLE_START", "TUMBLE_END") or len(given) < 2:
        return None
    for size, stamp in ((given[0], given[1]), (given[1], given[0])):
        if (span := length(size)) is not None:
            return stamp, span
    return None


def _pattern(stamp: exp.Expr, given: exp.Expr) -> tuple[exp.Expr, int] | None:
    """A moment as text by a pattern of letters, such as ``yyyy-MM-dd``: each part in all its digits."""
    if not isinstance(given, exp.Literal):
        return None
    letters = [part[0] for part in re.finditer(r"([A-Za-z])\1*", _QUOTED.sub("", given.name))]
    return _parts_in_order(stamp, letters, _LETTERS)


def _written(node: exp.TimeToStr) -> tuple[exp.Expr, int] | None:
    """A moment as text that sorts as moments do: the year first, then the next smaller parts in order."""
    given = node.args.get("format")
    if not isinstance(given, exp.Literal):
        return None
    # Letters that are left are parts that nobody translated.
    text = _QUOTED.sub("", given.name).replace("%-Y", "%Y")
    if re.search("[A-Za-z]", _DIRECTIVE.sub("", text)):
        return None
    return _parts_in_order(node.this, [part[1] for part in _DIRECTIVE.finditer(text)], _CALENDAR)


def _parts_in_order(
    stamp: exp.Expr, letters: list[str], expected: tuple[str, ...]
) -> tuple[exp.Expr, int] | None:
    if not letters or tuple(letters) != expected[: len(letters)]:
        return None
    return stamp, _UNITS[_FINEST[len(letters) - 1]]
