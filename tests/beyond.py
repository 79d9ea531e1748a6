"""Random statements beyond joins with filters: groups, windows, ranks, frames, guards, outer and as-of joins.

Each comes with its streams, and with the same query as DuckDB writes it over the final data: where SQL leaves
a choice open, the text for DuckDB makes the choice that the definition makes, or the statement leaves none.

>>> beyond(3).line.sql == beyond(3).line.sql
True
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine

TIME = "ts"
OPS = ("<", "<=", "=", ">=", ">", "<>")
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, 4],
    "double": [-1.0, 0.0, 0.5, 1.5, 2.0],
    "decimal(3,1)": ["-0.5", "0.0", "1.0", "2.5"],
    "string": ["", "a", "b", "bb"],
    "boolean": [False, True],
}
LITERALS = {
    "int": ["1", "2", "3"],
    "double": ["0.5", "1.5"],
    "decimal(3,1)": ["0.5", "1"],
    "string": ["'a'", "'b'"],
    "boolean": ["TRUE"],
}


@dataclass(frozen=True)
class Beyond:
    """A statement with its streams and events; ``judge`` is the query as DuckDB writes it."""

    kind: str
    line: CorpusLine
    judge: str

    @property
    def streams(self) -> dict[str, dict[str, str]]:
        """The types of the columns of each stream."""
        return {name: body["columns"] for name, body in self.line.streams.items()}

    def later(self, seed: int, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Events that may come after others: at later times, of any values."""
        r = Random(seed)
        texts = [event[TIME] for event in events if TIME in event]
        found = []
        moment = 0
        for _ in range(r.randint(1, 4)):
            name = r.choice(list(self.streams))
            row = {"stream": name, **_row(r, self.line.streams[name])}
            if TIME in row:
                moment += r.choice([0, 1, 1, 2, 5]) or (not moment)
                row[TIME] = after(texts[-1] if texts else 0, moment)
            found.append(row)
        return found

    def with_static(self, name: str) -> Beyond:
        """The same over streams of which one is a static relation with the tuples that came."""
        timed = ("timestamp", "rate", "lateness")
        body = {key: value for key, value in self.line.streams[name].items() if key not in timed}
        streams = {**self.line.streams, name: {**body, "kind": "static"}}
        rows: list[Mapping[str, Any]] = [
            {k: v for k, v in e.items() if k != "stream"} for e in self.line.events if e["stream"] == name
        ]
        events = tuple(event for event in self.line.events if event["stream"] != name)
        catalog = catalog_from_mapping(streams)
        line = replace(self.line, streams=streams, catalog=catalog, events=events, static={name: rows})
        return replace(self, line=line)

    def __repr__(self) -> str:
        return f"beyond({self.line.id}): {self.line.sql}"


def statements_beyond(*kinds: str) -> st.SearchStrategy[Beyond]:
    """Statements of the new grammar with events, over one to three streams with time or without, with NULLs.

    Args:
        kinds: of ``KINDS``; without any, all of them.
    """
    return st.integers(0, 10**9).map(lambda seed: beyond(seed, *kinds))


def told_at_once(sql: str) -> bool:
    """Whether in mode final plans tell rows at the markers at which the definition does.

    Where rows without a match are grouped, or several tuples together are a match, it may be later.
    """
    return "NOT EXISTS" not in sql or not re.search("GROUP BY|DISTINCT|t1", sql)


def beyond(seed: int, *kinds: str) -> Beyond:
    """The statement of a seed; see ``statements_beyond``."""
    r = Random(seed)
    kind = r.choice(kinds or tuple(KINDS))
    world = _World(r, kind)
    both = KINDS[kind](world)
    catalog = catalog_from_mapping(world.streams)
    line = CorpusLine(str(seed), _side(both, 0), catalog, tuple(world.events()), streams=world.streams)
    return Beyond(kind, line, _side(both, 1))


# A text for Spark and one for DuckDB in one: what differs stands between marks.
_BOTH = re.compile("\x00([^\x00\x01\x02]*)\x01([^\x00\x01\x02]*)\x02")


def _either(spark: str, duckdb: str) -> str:
    return f"\x00{spark}\x01{duckdb}\x02"


def _side(text: str, which: int) -> str:
    while (made := _BOTH.sub(lambda match: match[which + 1], text)) != text:
        text = made
    return text


@dataclass(frozen=True)
class _Column:
    alias: str
    name: str
    kind: str

    def __str__(self) -> str:
        return f"{self.alias}.{self.name}"

    @property
    def number(self) -> bool:
        return self.kind in ("int", "double", "decimal(3,1)")


@dataclass(frozen=True)
class _Body:
    """Aliases with their streams, and conditions on them; ``further`` stands in FROM for DuckDB alone."""

    aliases: dict[str, str]
    columns: list[_Column]
    conditions: list[str]
    further: str = ""

    def text(self, conditions: Sequence[str] = ()) -> str:
        source = ", ".join(f"{name} {alias}" for alias, name in self.aliases.items())
        every = [*self.conditions, *conditions]
        where = f" WHERE {' AND '.join(every)}" if every else ""
        return f"FROM {source}{self.further}{where}"


class _World:
    """Some streams of the same columns."""

    def __init__(self, r: Random, kind: str) -> None:
        self.r = r
        timed = kind in ("windows", "sessions", "as-of", "closing", "retold", "earlier")
        self.time = (
            "timestamp"
            if kind == "present"
            else r.choice(["int", "int", "timestamp", *([] if timed else ["", ""])])
        )
        self.kinds = {"K": "int", "A": "int", "B": r.choice(["int", "int", *VALUES])}
        columns = {**self.kinds, **({TIME: self.time} if self.time else {})}
        body: dict[str, Any] = {"columns": columns, "domains": {"K": {"min": 0, "max": 1}}}
        if self.time:
            body["timestamp"] = TIME
        self.streams: dict[str, Any] = {}
        for name in "STU"[: r.choice([1, 2, 2, 3])]:
            self.streams[name] = dict(body)
            if r.random() < 0.4:
                self.streams[name]["not_null"] = r.sample(sorted(self.kinds), r.randint(1, 3))

    # Data.

    def events(self) -> list[dict[str, Any]]:
        """Arrivals with several tuples at a time, gaps, duplicates and NULLs."""
        r, found, moment = self.r, list[dict[str, Any]](), self.r.randint(0, 3)
        for _ in range(r.randint(3, 12)):
            moment += r.choice([0, 0, 1, 1, 2, 4])
            name = r.choice(list(self.streams))
            row = {"stream": name, **_row(r, self.streams[name])}
            if self.time:
                row[TIME] = (
                    moment if self.time == "int" else f"2026-01-01 00:{moment // 60:02}:{moment % 60:02}"
                )
            found.append(row)
            if r.random() < 0.1:
                found.append(dict(row))
        return found

    # Parts of statements.

    def body(self, count: int | None = None, prefix: str = "s") -> _Body:
        """Some occurrences and conditions on them."""
        r = self.r
        names = r.choices(list(self.streams), k=count or r.choice([1, 1, 1, 2, 2]))
        aliases = {f"{prefix}{number}": name for number, name in enumerate(names)}
        columns = [_Column(alias, name, kind) for alias in aliases for name, kind in self.kinds.items()]
        conditions = [self.test(columns) for _ in range(r.choice([0, 0, 1]))]
        if len(aliases) > 1:
            conditions.append(self.comparison(columns, "s0" if prefix == "s" else f"{prefix}0", f"{prefix}1"))
        return _Body(aliases, columns, conditions)

    def test(self, columns: Sequence[_Column]) -> str:
        """A condition on one column."""
        r, column = self.r, self.r.choice(list(columns))
        literal = r.choice(LITERALS[column.kind])
        listed = ", ".join(r.choices(LITERALS[column.kind], k=2))
        return r.choice(
            [
                f"{column} {r.choice(OPS)} {literal}",
                f"{column} IS {r.choice(['', 'NOT '])}NULL",
                f"{column} {r.choice(['', 'NOT '])}IN ({listed})",
                f"({column} {r.choice(OPS)} {literal} OR {r.choice(list(columns))} IS NULL)",
            ]
        )

    def comparison(self, columns: Sequence[_Column], one: str, other: str) -> str:
        """A condition between columns of two occurrences."""
        r = self.r
        if self.time and r.random() < 0.4:
            offset = r.choice([0, 0, 1, 2])
            return f"{one}.{TIME} {r.choice(OPS[:4])} {other}.{TIME}{self.offset(offset)}"
        name = r.choice(list(self.kinds))
        return f"{one}.{name} {r.choice(['=', '=', *OPS])} {other}.{name}"

    def near(self, one: str, other: str) -> str:
        """A condition that bounds how far an occurrence is before or after another."""
        r, stamp = self.r, f"{other}.{TIME}"
        before, after = (self.offset(r.choice([0, 0, 1, 3]), sign) for sign in "-+")
        return f"{one}.{TIME} BETWEEN {stamp}{before} AND {stamp}{after}"

    def offset(self, number: int, sign: str = "+") -> str:
        """So many steps of time, to write behind a timestamp."""
        if not number:
            return ""
        return f" {sign} {self.span(number)}"

    def span(self, number: int) -> str:
        """A length of time."""
        return str(number) if self.time == "int" else f"INTERVAL {number} SECOND"

    def aggregate(self, body: _Body, by: Sequence[str] = ()) -> str:
        """An aggregate over the rows of a body; of ``by`` the moments of a row."""
        r = self.r
        numbers = [c for c in body.columns if c.number]
        one, other = r.choice(body.columns), r.choice(numbers)
        where = f" FILTER (WHERE {self.test(body.columns)})" if r.random() < 0.15 else ""
        whole = r.choice([c for c in body.columns if c.kind == "int"])
        two = r.sample(body.columns, 2)
        both = " AND ".join(f"{c} IS NOT NULL" for c in two)
        product = " * ".join(f"{alias}.A" for alias in body.aliases) or str(whole)
        made = [
            f"COUNT(*){where}",
            "COUNT(*)",
            f"COUNT({one}){where}",
            f"SUM({other}){where}",
            f"AVG({whole}){where}",
            f"MIN({one}){where}",
            f"MAX({one}){where}",
            f"SUM({whole} {r.choice('+-*')} {r.choice(['2', str(whole)])})",
            f"MAX({whole} {r.choice('+-')} {r.choice(['1', str(r.choice(numbers))])})",
            f"COUNT(DISTINCT {one})",
            f"SUM(DISTINCT {other})",
            f"{r.choice(['SUM', 'MIN', 'MAX', 'COUNT'])}({product})",
            _either(f"COUNT_IF({whole} > 1)", f"COUNT(*) FILTER (WHERE {whole} > 1)"),
            _either(
                f"COUNT(DISTINCT {two[0]}, {two[1]})",
                f"COUNT(DISTINCT CASE WHEN {both} THEN ({two[0]}, {two[1]}) END)",
            ),
            _either(f"ANY_VALUE({one})", f"MIN({one})"),
            _either(
                f"MIN_BY({one}, {whole})", _first(one, str(whole), f" FILTER (WHERE {whole} IS NOT NULL)")
            ),
            _either(
                f"MAX_BY({one}, {whole})", _last(one, str(whole), f" FILTER (WHERE {whole} IS NOT NULL)")
            ),
            f"{r.choice(['VAR_POP', 'VAR_SAMP', 'STDDEV_POP', 'STDDEV_SAMP'])}({whole})",
            _either(
                f"ARRAY_AGG({whole})",
                f"COALESCE(CAST(list({whole} ORDER BY {whole}) FILTER (WHERE {whole} IS NOT NULL)"
                " AS VARCHAR), '[]')",
            ),
        ]
        flags = [c for c in body.columns if c.kind == "boolean"]
        if flags:
            made.append(f"{r.choice(['BOOL_AND', 'BOOL_OR'])}({r.choice(flags)}){where}")
        if by:
            moment = by[0] if len(by) == 1 else f"greatest({', '.join(by)})"
            made.append(_either(f"FIRST({one})", _first(one, moment)))
            made.append(_either(f"LAST({one})", _last(one, moment)))
        return r.choice(made)

    def moments(self, body: _Body) -> list[str]:
        """The times of a row's tuples."""
        return [f"{alias}.{TIME}" for alias in body.aliases] if self.time else []

    def having(self, body: _Body) -> str:
        """HAVING, or nothing."""
        r = self.r
        whole = r.choice([c for c in body.columns if c.kind == "int"])
        tests = [
            f"COUNT(*) {r.choice(OPS)} {r.choice('123')}",
            f"MAX({whole}) {r.choice(OPS)} {r.choice('123')}",
            f"SUM({whole}) {r.choice(OPS)} COUNT(*)",
            f"MIN({whole}) IS NOT NULL",
            f"COUNT(*) + COUNT({whole}) > 2",
        ]
        chosen = r.sample(tests, r.choice([1, 1, 2]))
        return f" HAVING {r.choice([' AND ', ' OR ']).join(chosen)}" if r.random() < 0.3 else ""


def _row(r: Random, stream: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a tuple of a stream; of its time there is a place."""
    required, row = stream.get("not_null", ()), dict[str, Any]()
    for column, kind in stream["columns"].items():
        if column == TIME:
            row[TIME] = None
            continue
        possible = [0, 1] if column == "K" else VALUES[kind]
        null = column not in required and r.random() < 0.12
        row[column] = None if null else r.choice(possible)
    return row


def after(moment: Any, steps: int) -> Any:
    """A time so many steps after another, as events write it."""
    if isinstance(moment, int):
        return moment + steps
    return str(dt.datetime.fromisoformat(moment) + dt.timedelta(seconds=steps))


def _first(value: _Column | str, by: str, condition: str = "") -> str:
    return f"(list({value} ORDER BY {by}, {value}){condition})[1]"


def _last(value: _Column | str, by: str, condition: str = "") -> str:
    return f"(list({value} ORDER BY {by} DESC, {value} DESC){condition})[1]"


# Kinds of statements.


def _groups(world: _World, body: _Body | None = None, further: Sequence[tuple[str, list[str]]] = ()) -> str:
    """GROUP BY; ``further`` are keys with what may be shown of them."""
    r = world.r
    body = body or world.body()
    moments = world.moments(body)
    possible = [*body.columns, *moments] if r.random() < 0.3 else list(body.columns)
    keys = [str(key) for key in r.sample(possible, r.choice([0, 1, 1, 2]))]
    whole = r.choice([str(c) for c in body.columns if c.kind == "int"])
    if r.random() < 0.15:
        computed = [f"{whole} + 1", f"{whole} % 2", f"CASE WHEN {whole} > 1 THEN 'high' ELSE 'low' END"]
        if world.time == "timestamp":
            moment = r.choice(moments)
            computed = [_written(world, moment), f"YEAR({moment})"]
        keys = [*keys[:1], r.choice(computed)]
    shown = [key for key in keys if r.random() < 0.8] + [r.choice(parts) for _, parts in further]
    values = [world.aggregate(body, moments) for _ in range(r.choice([1, 1, 2, 3]))]
    if r.random() < 0.15:
        values[-1] = r.choice([f"SUM({whole}) + COUNT(*)", f"COALESCE(MAX({whole}), -1)"])
    names = [f"{part} AS c{number}" for number, part in enumerate([*shown, *values])]
    every = [*keys, *(key for key, _ in further)]
    grouped = f" GROUP BY {', '.join(every)}" if every else ""
    if len(keys) == 2 and not further and r.random() < 0.3:
        sets = f"GROUPING SETS (({keys[0]}), ({keys[1]}), ())"
        grouped = r.choice([*(f"{word} ({', '.join(keys)})" for word in ("ROLLUP", "CUBE")), sets])
        grouped = f" GROUP BY {grouped}"
    return f"SELECT {', '.join(names)} {body.text()}{grouped}{world.having(body)}"


def _written(world: _World, moment: str) -> str:
    """A time as digits of the calendar."""
    fine, letters = world.r.choice([("%M", "mm"), ("%M:%S", "mm:ss")])
    spark, judge = f"DATE_FORMAT({moment}, 'yyyy-MM-dd HH:{letters}')", f"'%Y-%m-%d %H:{fine}'"
    return _either(spark, f"STRFTIME({moment}, {judge})")


def _windows(world: _World) -> str:
    """Groups of windows that follow each other, or overlap."""
    r, body = world.r, world.body()
    stamp, size = f"s0.{TIME}", r.choice([2, 3, 5])
    ticks = world.time == "int"

    def span(number: int) -> str:
        return str(number) if ticks else f"'{number} seconds'"

    if r.random() < 0.5:
        call = f"window({stamp}, {span(size)})"
        start = f"({stamp} // {size}) * {size}" if ticks else f"time_bucket({world.span(size)}, {stamp})"
    else:
        slide = r.randint(1, size - 1)
        call = f"window({stamp}, {span(size)}, {span(slide)})"
        base = f"({stamp} // {slide}) * {slide}" if ticks else f"time_bucket({world.span(slide)}, {stamp})"
        start = f"{base} - w.i * {slide}" if ticks else f"{base} - w.i * {world.span(slide)}"
        number = -(-size // slide)
        condition = f"{start} + {world.span(size)} > {stamp}"
        body = _Body(
            body.aliases,
            body.columns,
            [*body.conditions, _either("TRUE", condition)],
            _either("", f", (SELECT unnest(range({number})) AS i) w"),
        )
    parts = [
        _either(f"{call}.start", start),
        _either(f"{call}.end", f"{start} + {world.span(size)}"),
    ]
    if r.random() < 0.25:
        shown = [*map(str, r.sample(body.columns, r.choice([0, 1, 1]))), r.choice(parts)]
        if world.time == "timestamp" and r.random() < 0.3:
            shown[-1] = _written(world, stamp)
        return f"SELECT DISTINCT {', '.join(f'{part} AS c{n}' for n, part in enumerate(shown))} {body.text()}"
    return _groups(world, body, [(_either(f"({call})", start), parts)])


def _sessions(world: _World) -> str:
    """Sessions of a key; of a join by the time of one of its streams."""
    r, name, gap = world.r, world.r.choice(list(world.streams)), world.r.choice([2, 3])
    if r.random() < 0.4:
        return _joined_sessions(world, gap)
    keys = r.sample(sorted(world.kinds), r.choice([0, 1, 1, 2]))
    call = f"session_window({TIME}, {gap if world.time == 'int' else repr(f'{gap} seconds')})"
    columns = [_Column("s0", column, kind) for column, kind in world.kinds.items()]
    values = [world.aggregate(_Body({"s0": name}, columns, []), [f"s0.{TIME}"])]
    shown = [
        *(f"s0.{key}" for key in keys),
        _either(f"{call}.start", f"MIN({TIME})"),
        _either(f"{call}.end", f"MAX({TIME}) + {world.span(gap)}"),
        *values,
    ]
    within = f"PARTITION BY {', '.join(keys)} " if keys else ""
    apart = f"{TIME} - LAG({TIME}) OVER ({within}ORDER BY {TIME}) < {world.span(gap)}"
    opened = f"(SELECT *, CASE WHEN {apart} THEN 0 ELSE 1 END AS n FROM {name})"
    numbered = f"(SELECT *, SUM(n) OVER ({within}ORDER BY {TIME}) AS g FROM {opened})"
    every = [*(f"s0.{key}" for key in keys), _either(f"({call})", "g")]
    names = (f"{part} AS c{number}" for number, part in enumerate(shown))
    return f"SELECT {', '.join(names)} FROM {_either(name, numbered)} s0 GROUP BY {', '.join(every)}"


def _joined_sessions(world: _World, gap: int) -> str:
    r, (one, other) = world.r, world.r.choices(list(world.streams), k=2)
    time = r.choice([f"s1.{TIME}", f"s1.{TIME}", f"s0.{TIME}"])
    near = world.near("s0", "s1") if r.random() < 0.6 else f"s0.{TIME} {r.choice(['<', '<='])} s1.{TIME}"
    conditions = [near, *r.choice([[], ["s0.K = s1.K"], ["s0.K = s1.K", "s0.A > 1"]])]
    columns = [_Column(alias, column, kind) for alias in ("s0", "s1") for column, kind in world.kinds.items()]
    body = _Body({"s0": one, "s1": other}, columns, conditions)
    keys = r.sample(["s0.K", "s1.K", "s1.A"], r.choice([0, 1, 1, 2]))
    latest = [f"s0.{TIME}", f"s1.{TIME}"]
    values = r.choice([["COUNT(*)"], [world.aggregate(body)], [world.aggregate(body, latest)]])
    call = f"session_window({time}, {gap if world.time == 'int' else repr(f'{gap} seconds')})"
    shown = [
        *keys,
        _either(f"{call}.start", "MIN(moment)"),
        _either(f"{call}.end", f"MAX(moment) + {world.span(gap)}"),
        *values,
    ]
    within = f"PARTITION BY {', '.join(keys)} " if keys else ""
    apart = f"moment - LAG(moment) OVER ({within}ORDER BY moment) < {world.span(gap)}"
    joined = f"(SELECT s0, s1, {time} AS moment {body.text()})"
    opened = f"(SELECT *, CASE WHEN {apart} THEN 0 ELSE 1 END AS n FROM {joined})"
    numbered = f"FROM (SELECT *, SUM(n) OVER ({within}ORDER BY moment) AS g FROM {opened})"
    every = [*keys, _either(f"({call})", "g")]
    names = (f"{part} AS c{number}" for number, part in enumerate(shown))
    return f"SELECT {', '.join(names)} {_either(body.text(), numbered)} GROUP BY {', '.join(every)}"


def _order(world: _World, columns: Sequence[str], whole: bool) -> str:
    """An order by some columns, or by all of them (``whole``): then no rows tie that differ."""
    names = world.r.sample(list(columns), len(columns) if whole else world.r.choice([1, 1, 2]))
    nulls = ["", "", "", " NULLS FIRST", " NULLS LAST"]
    return ", ".join(f"{name}{world.r.choice(['', '', ' DESC'])}{world.r.choice(nulls)}" for name in names)


def _ranks(world: _World, body: _Body | None = None) -> str:
    """The rows of some ranks, and ORDER BY with LIMIT."""
    r, body = world.r, body or world.body()
    columns = [str(c) for c in r.sample(body.columns, r.choice([2, 3]))] + world.moments(body)[:1]
    inner = ", ".join(f"{c} AS c{n}" for n, c in enumerate(columns))
    names = [f"c{n}" for n in range(len(columns))]
    shown = r.sample(names, r.randint(1, len(names)))
    if r.random() < 0.2:
        some = f"LIMIT {r.choice([1, 2, 3])}{r.choice(['', '', ' OFFSET 1', ' OFFSET 2'])}"
        return f"SELECT {inner} {body.text()} ORDER BY {_order(world, names, True)} {some}"
    function = r.choice(["ROW_NUMBER", "ROW_NUMBER", "RANK", "DENSE_RANK"])
    within = f"PARTITION BY {r.choice(columns)} " if r.random() < 0.6 else ""
    order = _order(world, columns, function == "ROW_NUMBER")
    over = f"{function}() OVER ({within}ORDER BY {order})"
    test = r.choice(["= 1", "<= 1", "<= 2", "< 3", "> 1", "> 2", "= 2", "<> 1"])
    if r.random() < 0.3:
        return f"SELECT {inner} {body.text()} QUALIFY {over} {test}"
    shown += ["rn"] * (r.random() < 0.2)
    return f"SELECT {', '.join(shown)} FROM (SELECT {inner}, {over} AS rn {body.text()}) q WHERE rn {test}"


def _frames(world: _World) -> str:
    """Window functions."""
    r, body = world.r, world.body(world.r.choice([1, 1, 2]))
    every = [str(c) for c in body.columns] + world.moments(body)
    shown = r.sample(every, r.randint(1, 2))
    # Of equal rows only one function tells which is which: of two it would be open how they go together.
    shown += [_over(world, body, every, r.random())]
    if r.random() < 0.4:
        shown.append(_over(world, body, every, r.choice([0.5, r.uniform(0.65, 1)])))
    return f"SELECT {', '.join(shown)} {body.text()}"


def _over(world: _World, body: _Body, every: Sequence[str], shape: float) -> str:
    r = world.r
    one = r.choice(body.columns)
    whole = r.choice([c for c in body.columns if c.kind == "int"])
    within = f"PARTITION BY {r.choice(every)}" if r.random() < 0.6 else ""
    value = r.choice(
        [
            *("COUNT(*)", f"SUM({whole})", f"MAX({one})", f"MIN({one})", f"AVG({whole})", f"COUNT({one})"),
            f"COUNT(DISTINCT {one})",
        ]
    )
    ends = r.choice(
        [
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            f"ROWS BETWEEN {r.choice('12')} PRECEDING AND CURRENT ROW",
            f"ROWS BETWEEN {r.choice('12')} PRECEDING AND {r.choice('12')} FOLLOWING",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
        ]
    )
    if shape < 0.3:
        value = r.choice([value, f"FIRST_VALUE({one})", f"LAST_VALUE({one})"])
        return f"{value} OVER ({within} ORDER BY {_order(world, every, True)} {ends})"
    if shape < 0.45:
        value = f"{r.choice(['LAG', 'LEAD'])}({one}{r.choice(['', ', 1', ', 2'])})"
        return f"{value} OVER ({within} ORDER BY {_order(world, every, True)})"
    if shape < 0.55:
        value = r.choice(["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"])
        return f"{value} OVER ({within} ORDER BY {_order(world, every, False)})"
    if shape < 0.65:
        value = r.choice(["ROW_NUMBER()", "ROW_NUMBER()", "NTILE(2)", "NTILE(3)"])
        return f"{value} OVER ({within} ORDER BY {_order(world, every, True)})"
    if shape < 0.75:
        return f"{value} OVER ({within})"
    if shape < 0.85:
        return f"{value} OVER ({within} ORDER BY {_order(world, every, False)})"
    low, high = (r.choice([1, 2]) for _ in range(2))
    stamps = world.moments(body)[:1]
    key, units = (stamps[0], world.span) if stamps and r.random() < 0.7 else (str(whole), str)
    ends = r.choice(
        [
            f"{units(low)} PRECEDING AND CURRENT ROW",
            f"CURRENT ROW AND {units(high)} FOLLOWING",
            f"{units(low)} PRECEDING AND {units(high)} FOLLOWING",
            f"UNBOUNDED PRECEDING AND {units(low)} PRECEDING",
        ]
    )
    return f"{value} OVER ({within} ORDER BY {key}{r.choice(['', ' DESC'])} RANGE BETWEEN {ends})"


def _guards(world: _World) -> str:
    """[NOT] EXISTS and [NOT] IN, over bags, sets and groups."""
    r, outer = world.r, world.body(world.r.choice([1, 1, 2]))
    inner = world.body(r.choice([1, 1, 2]), "t")
    if len(inner.aliases) > 1 and r.random() < 0.3:
        # Tuples that do not meet each other.
        inner = replace(inner, conditions=inner.conditions[:-1])
    columns = [*outer.columns, *inner.columns]
    if r.random() < 0.6:
        link = [world.comparison(columns, "s0", "t0") for _ in range(r.choice([0, 1, 1, 2]))]
        link += [world.near("t0", "s0")] * (bool(world.time) and r.random() < 0.3)
        condition = f"{r.choice(['', 'NOT '])}EXISTS (SELECT 1 {inner.text(link)})"
    else:
        name = r.choice(list(world.kinds))
        link = [world.comparison(columns, "s0", "t0")] if r.random() < 0.3 else []
        condition = f"s0.{name} {r.choice(['', 'NOT '])}IN (SELECT t0.{name} {inner.text(link)})"
    shape = r.random()
    made = _Body(outer.aliases, outer.columns, [*outer.conditions, condition])
    if shape < 0.25:
        return _groups(world, made)
    shown = ", ".join(map(str, r.sample(outer.columns, r.choice([1, 2]))))
    return f"SELECT {'DISTINCT ' if shape < 0.45 else ''}{shown} {made.text()}"


def _outer_joins(world: _World) -> str:
    """LEFT, RIGHT, FULL, SEMI and ANTI joins."""
    r = world.r
    one, other = r.choice(list(world.streams)), r.choice(list(world.streams))
    columns = {a: [_Column(a, name, kind) for name, kind in world.kinds.items()] for a in ("s0", "t0")}
    both = [*columns["s0"], *columns["t0"]]
    on = [world.comparison(both, "s0", "t0") for _ in range(r.choice([1, 1, 2]))]
    on += [world.test(columns["t0"])] * (r.random() < 0.2)
    on += [world.near("t0", "s0")] * (bool(world.time) and r.random() < 0.3)
    side = r.choice(["LEFT", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
    if side == "FULL":
        # DuckDB joins so by equality alone.
        on = [f"s0.{name} = t0.{name}" for name in r.sample(sorted(world.kinds), r.choice([1, 2]))]
    half = side in ("SEMI", "ANTI")
    join = _either(f"LEFT {side}", side) if half else side
    known = columns["s0"] if half else both
    where = f" WHERE {world.test(known)}" if r.random() < 0.3 else ""
    if not half and r.random() < 0.2:
        where = f" WHERE {r.choice(both)} IS NULL"
    source = f"FROM {one} s0 {join} JOIN {other} t0 ON {' AND '.join(on)}{where}"
    if r.random() < 0.3:
        key = r.choice([*map(str, known), *([f"s0.{TIME}"] if world.time else [])])
        value = world.aggregate(_Body({}, known, []))
        return f"SELECT {key} AS c0, {value} AS c1 {source} GROUP BY {key}"
    names = (f"{c} AS c{n}" for n, c in enumerate(r.sample(known, r.choice([1, 2, 3]))))
    return f"SELECT {'DISTINCT ' if r.random() < 0.2 else ''}{', '.join(names)} {source}"


def _present(world: _World) -> str:
    """Conditions on the present time: of rows, sets, groups and ranks."""
    r, body = world.r, world.body()
    latest = " UNION ALL ".join(f"SELECT {TIME} FROM {name}" for name in body.aliases.values())
    now = _either("NOW()", f"(SELECT MAX({TIME}) FROM ({latest}) every)")
    conditions = []
    for alias in r.sample(list(body.aliases), r.randint(1, len(body.aliases))):
        for op in r.sample([">", ">=", "<", "<="], r.choice([1, 1, 2])):
            written = [f"{alias}.{TIME} {op} {now}{world.offset(r.choice([0, 1, 2, 4]), '-')}"]
            if op[0] == ">":
                written.append(
                    f"{now} {op.replace('>', '<')} {alias}.{TIME} + {world.span(r.choice([1, 3]))}"
                )
            conditions.append(r.choice(written))
    made = _Body(body.aliases, body.columns, [*body.conditions, *conditions])
    shape = r.random()
    if shape < 0.35:
        return _groups(world, made)
    if shape < 0.5:
        return _ranks(world, made)
    every = [*body.columns, *world.moments(body)]
    shown = ", ".join(f"{c} AS c{n}" for n, c in enumerate(r.sample(every, r.choice([1, 2]))))
    return f"SELECT {'DISTINCT ' if shape < 0.65 else ''}{shown} {made.text()}"


def _sets(world: _World) -> str:
    """EXCEPT, INTERSECT, and unions of what is grouped."""
    r = world.r
    names = r.sample([*sorted(world.kinds), *([TIME] if world.time else [])], r.choice([1, 2]))
    sides = []
    for prefix in "st":
        body = world.body(1, prefix)
        sides.append(f"SELECT {', '.join(f'{prefix}0.{name}' for name in names)} {body.text()}")
    operator = r.choice(["EXCEPT", "EXCEPT", "INTERSECT"])
    if r.random() < 0.2:
        # The same rows, or fewer of them, without these.
        tested = f" WHERE {world.test([_Column('s0', name, kind) for name, kind in world.kinds.items()])}"
        every = sides[0].partition(" WHERE ")[0]
        return f"{every}{r.choice(['', tested])} {operator} {r.choice([every, sides[0]])}"
    return f"{sides[0]} {operator} {sides[1]}"


def _as_of(world: _World) -> str:
    """As-of joins by application time; of several tuples of one time all are taken."""
    r = world.r
    one, other = r.choice(list(world.streams)), r.choice(list(world.streams))
    left, ahead = r.random() < 0.5, r.random() < 0.4
    strict = r.random() < 0.3
    op, earlier, last = (">", "<", "MAX") if not ahead else ("<", ">", "MIN")
    op, earlier = (op, earlier) if strict else (f"{op}=", f"{earlier}=")
    shown = ", ".join(
        f"{c} AS c{n}"
        for n, c in enumerate(
            [
                *(["s0.K"] if ahead and r.random() < 0.8 else r.sample(["s0.A", "s0.B", "s0.K"], 2)),
                r.choice(["t0.A", "t0.B", f"t0.{TIME}"] if ahead else ["t0.A", "t0.B"]),
            ]
        )
    )
    near, within = "", ""
    if r.random() < 0.3:
        steps = world.offset(r.choice([1, 2, 3]), "+" if ahead else "-")
        at = f"{op[0]}{r.choice(['', '='])}"
        near, within = (f" AND {x}.{TIME} {at} {y}.{TIME}{steps}" for x, y in (("t0", "s0"), ("x", "y")))
    after = f"x.K = y.K AND x.{TIME} {earlier} y.{TIME}{within}"
    found = f"(SELECT {last}(x.{TIME}) FROM {other} x WHERE {after})"
    join = f"ASOF {'LEFT ' if left else ''}JOIN"
    spark = f"{one} s0 {join} {other} t0 ON s0.K = t0.K AND s0.{TIME} {op} t0.{TIME}{near}"
    judge = (
        f"(SELECT y.*, {found} AS m FROM {one} y) s0 {'LEFT ' if left else ''}JOIN {other} t0"
        f" ON s0.K = t0.K AND t0.{TIME} = s0.m"
    )
    columns = [_Column("s0", name, kind) for name, kind in world.kinds.items()]
    where = f" WHERE {world.test(columns)}" if r.random() < 0.3 else ""
    return f"SELECT {shown} FROM {_either(spark, judge)}{where}"


def _sub_queries(world: _World) -> str:
    """Queries over the answers of others."""
    r = world.r
    body = world.body(prefix="t")
    key = r.choice(body.columns)
    whole = r.choice([c for c in body.columns if c.kind == "int"])
    value = r.choice(
        ["COUNT(*)", f"MAX({whole})", f"SUM({whole})", f"MIN({whole})", f"COUNT(DISTINCT {whole})"]
    )
    inner = f"SELECT {key} AS k, {value} AS m {body.text()} GROUP BY {key}"
    if world.time and r.random() < 0.3:
        return _again(world, body, f"{value} AS m", str(key))
    if world.time and r.random() < 0.3:
        # Groups of a time that is not shown.
        inner += f", {r.choice(body.columns).alias}.{TIME}"
    name = r.choice(list(world.streams))
    outer = f"s0.{key.name}"
    if r.random() < 0.25:
        return _joined_groups(world, body, str(key), outer, f"{value} AS m")
    return r.choice(
        [
            f"SELECT m, COUNT(*) AS n FROM ({inner}) q GROUP BY m",
            f"SELECT MAX(m) AS c FROM ({inner}) q",
            f"SELECT DISTINCT m FROM ({inner}) q",
            f"SELECT k, m FROM ({inner}) q WHERE m > 1",
            f"SELECT {outer}, q.m FROM {name} s0 JOIN ({inner}) q ON {outer} = q.k",
            f"SELECT {outer}, q.m FROM {name} s0 LEFT JOIN ({inner}) q ON {outer} = q.k",
            f"SELECT s0.A FROM {name} s0 WHERE NOT EXISTS (SELECT 1 FROM ({inner}) q WHERE q.m = s0.A)",
            f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT {key}, {whole} AS w {body.text()}) q",
            f"SELECT k, m FROM ({inner}) q UNION ALL SELECT {outer}, s0.A FROM {name} s0",
            f"SELECT k FROM ({inner}) q EXCEPT SELECT {outer} FROM {name} s0",
            "SELECT SUM(m) AS c FROM (SELECT k, m, ROW_NUMBER() OVER (ORDER BY m, k) AS rn"
            f" FROM ({inner}) q) p WHERE rn <= 2",
            f"SELECT k, m, RANK() OVER (ORDER BY m) AS x FROM ({inner}) q",
        ]
    )


def _joined_groups(world: _World, body: _Body, key: str, outer: str, value: str) -> str:
    """Groups of a join with groups."""
    r = world.r
    times = [f", {r.choice(world.moments(body))}"] if world.time and r.random() < 0.5 else []
    inner = f"SELECT {key} AS k{''.join(f'{t} AS w' for t in times)}, {value} {body.text()} GROUP BY {key}"
    numbers = ["s0.A", "q.m", *(["s0.B"] if _Column("s0", "B", world.kinds["B"]).number else [])]
    summed = f"{r.choice(['SUM', 'MAX', 'MIN', 'AVG'])}({r.choice(numbers)})"
    shown = r.choice(["COUNT(*)", "COUNT(DISTINCT q.m)", summed, summed])
    by = r.choice([outer, "s0.K", "q.k", *(["q.w"] if times else [])])
    join, within = r.choice(["JOIN", "JOIN", "LEFT JOIN"]), f" AND q.w = s0.{TIME}" if times else ""
    source = f"FROM {r.choice(list(world.streams))} s0 {join} ({inner}{''.join(times)}) q"
    return f"SELECT {by} AS c0, {shown} AS c1 {source} ON {outer} = q.k{within} GROUP BY {by}"


def _closing(world: _World) -> str:
    """Statements whose rows time settles: partners, groups, ranks and frames near a row's own time."""
    r, time, near = world.r, f"s0.{TIME}", _near(world)
    one, other = r.choice(list(world.streams)), r.choice(list(world.streams))
    key = r.choice(list(world.kinds))
    test = r.choice(["", "", f" AND t0.A {r.choice(OPS)} {r.choice(LITERALS['int'])}"])
    matched = f"{near}{test}" + r.choice(["", f" AND t0.{key} {r.choice(OPS)} s0.{key}"])
    where = r.choice(["", f" WHERE s0.A {r.choice(OPS)} {r.choice(LITERALS['int'])}"])
    anti = f"NOT EXISTS (SELECT 1 FROM {other} t0 WHERE {matched})"
    guarded = f"{one} s0{where or ' WHERE TRUE'} AND {anti}"
    second = r.choice(list(world.streams))
    two = f"NOT EXISTS (SELECT 1 FROM {other} t0, {second} t1 WHERE {matched} AND t1.{TIME} {{}})"
    later = r.choice([f"<= t0.{TIME}", f">= t0.{TIME}", f"= {time}", f">= {time}"])
    count = f"SELECT s0.{TIME} AS t, s0.K AS k, COUNT(*) AS n FROM {one} s0{where} GROUP BY s0.{TIME}, s0.K"
    follows = r.choice(
        ["1 PRECEDING AND 1 FOLLOWING", "CURRENT ROW AND 2 FOLLOWING", "2 PRECEDING AND CURRENT ROW"]
    )
    rows = r.choice([f"ROWS BETWEEN {follows}", _ranged(world, follows)])
    by = f"PARTITION BY s0.K ORDER BY {time}"
    whole, rank = f"{by}, s0.A, s0.B, s0.K", r.choice(["<= 2", "> 1"])
    # Of rows of one moment a number of rows asks which come first.
    framed = f"{whole if rows.startswith('ROWS') else by} {rows}"
    return r.choice(
        [
            f"SELECT s0.A, s0.K FROM {guarded}",
            f"SELECT DISTINCT s0.K FROM {guarded}",
            f"SELECT s0.A FROM {one} s0 WHERE {two.format(later)}",
            f"SELECT s0.A, t0.A FROM {one} s0 LEFT JOIN {other} t0 ON {matched}{where}",
            f"SELECT s0.A, t0.B FROM {one} s0 FULL JOIN {other} t0 ON {matched}",
            f"SELECT {time}, COUNT(*) AS n, MAX(t0.A) AS m FROM {one} s0 LEFT JOIN {other} t0 ON {matched}"
            f" GROUP BY {time}",
            f"SELECT {time}, COUNT(*) AS n FROM {guarded} GROUP BY {time}",
            f"SELECT {time}, s0.K, SUM(s0.A) AS n FROM {one} s0, {other} t0 WHERE {matched}"
            f" GROUP BY {time}, s0.K",
            f"SELECT t, n FROM ({count}) q WHERE n > 1",
            f"SELECT t, n FROM ({count}) q UNION ALL SELECT {time}, s0.A FROM {one} s0",
            f"SELECT s0.A, q.n FROM {one} s0 JOIN ({count}) q ON {time} = q.t AND s0.K = q.k",
            f"SELECT s0.K, COUNT(s0.A) OVER ({framed}) AS c FROM {one} s0",
            f"SELECT s0.K, {r.choice(['LAG', 'LEAD'])}(s0.A) OVER ({whole}) AS c FROM {one} s0",
            f"SELECT {time}, RANK() OVER (PARTITION BY {time} ORDER BY s0.A) AS c FROM {one} s0",
            f"SELECT s0.A, s0.K FROM {one} s0 QUALIFY ROW_NUMBER() OVER ({whole}) {rank}",
            f"SELECT {time}, s0.A FROM {one} s0 QUALIFY RANK() OVER (PARTITION BY {time} ORDER BY s0.A) = 1",
        ]
    )


def _again(world: _World, body: _Body, value: str, key: str) -> str:
    """Queries over groups of a time: grouped by a longer one, and with what was before."""
    r, size = world.r, world.r.choice([2, 3, 5])
    ticks = world.time == "int"
    call = f"window(w, {size if ticks else repr(f'{size} seconds')})"
    start = f"(w // {size}) * {size}" if ticks else f"time_bucket({world.span(size)}, w)"
    stamp = r.choice(world.moments(body))
    alone = f"SELECT {stamp} AS w, {value} {body.text()} GROUP BY {stamp}"
    keyed = f"SELECT {stamp} AS w, {key} AS k, {value} {body.text()} GROUP BY {stamp}, {key}"
    longer, shown = _either(f"({call})", start), _either(f"{call}.start", start)
    return r.choice(
        [
            f"SELECT {shown} AS c, SUM(m) AS s, COUNT(*) AS n FROM ({alone}) q GROUP BY {longer}",
            f"SELECT {shown} AS c, k, MAX(m) AS s FROM ({keyed}) q GROUP BY {longer}, k",
            f"SELECT w, MIN(m) AS s, COUNT(k) AS n FROM ({keyed}) q GROUP BY w",
            f"SELECT w, m, LAG(m) OVER (ORDER BY w) AS p FROM ({alone}) q",
            f"SELECT w, k, m, LAG(m, 2) OVER (PARTITION BY k ORDER BY w) AS p FROM ({keyed}) q",
            "SELECT w, SUM(m) OVER (ORDER BY w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS p"
            f" FROM ({alone}) q",
            f"SELECT w, k, m, LEAD(m) OVER (PARTITION BY k ORDER BY w) AS p FROM ({keyed}) q",
            f"SELECT w, m, COUNT(*) OVER (ORDER BY w) AS p FROM ({alone}) q",
        ]
    )


def _near(world: _World) -> str:
    """A condition that keeps the time of t0 near that of s0: within, before, or after it."""
    r, one, other = world.r, f"s0.{TIME}", f"t0.{TIME}"
    if world.time == "timestamp" and r.random() < 0.2:
        written = _written(world, "{}")
        return f"{written.replace('{}', one)} = {written.replace('{}', other)}"
    back, on = world.offset(r.choice([0, 1, 2]), "-"), world.offset(r.choice([0, 1, 2, 4]))
    return r.choice(
        [
            f"{other} BETWEEN {one}{back} AND {one}{on}",
            f"{other} BETWEEN {one} AND {one}{on}",
            f"{other} <= {one}{on}",
            f"{other} < {one}",
            f"{other} = {one}",
        ]
    )


def _ranged(world: _World, rows: str) -> str:
    """A frame of a number of rows as one of a length of time."""
    return f"RANGE BETWEEN {re.sub('[0-9]', lambda m: world.span(int(m[0])), rows)}"


def _retold(world: _World) -> str:
    """What is told of ranks, of functions that look ahead, and of different rows, with the times of rows."""
    r, time = world.r, f"s0.{TIME}"
    one, other = r.choice(list(world.streams)), r.choice(list(world.streams))
    order = f"ORDER BY s0.A{r.choice(['', ' DESC'])}, s0.B, s0.K, {time}"
    parted = r.choice(["", "PARTITION BY s0.K "])
    groups = f"SELECT {time} AS t, s0.K AS k, COUNT(*) AS a FROM {one} s0 GROUP BY {time}, s0.K"
    rank = r.choice(["<= 1", "<= 2", "= 2"])
    inner = r.choice(
        [
            f"SELECT t, k, a FROM (SELECT {time} AS t, s0.K AS k, s0.A AS a, ROW_NUMBER() OVER"
            f" ({parted}{order}) AS rn FROM {one} s0) p WHERE rn {rank}",
            "SELECT t, k, a FROM (SELECT t, k, a, ROW_NUMBER() OVER"
            f" (PARTITION BY k ORDER BY a DESC, t) AS rn FROM ({groups}) g) p WHERE rn {rank}",
            f"SELECT {time} AS t, s0.K AS k, LEAD(s0.A) OVER (PARTITION BY s0.K ORDER BY {time}, s0.A, s0.B)"
            f" AS a FROM {one} s0",
            f"SELECT t, k, SUM(a) OVER (ORDER BY t, k ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS a"
            f" FROM ({groups}) g",
        ]
    )
    different = f"SELECT DISTINCT s0.K AS k FROM {one} s0"
    counted = f"SELECT t0.{TIME} AS t, t0.K AS k, COUNT(*) AS a FROM {other} t0 GROUP BY t0.{TIME}, t0.K"
    matched = f"q.t {r.choice(['=', '=', '<=', '<'])} {time}{world.offset(r.choice([0, 0, 1]))}" + r.choice(
        ["", " AND q.k = s0.K", " AND q.a > 1", " AND q.k = s0.K AND q.a <> s0.A"]
    )
    return r.choice(
        [
            f"SELECT t, COUNT(*) AS n, MAX(a) AS m FROM ({inner}) q GROUP BY t",
            f"SELECT DISTINCT t FROM ({inner}) q",
            f"SELECT k, SUM(a) AS m FROM ({inner}) q GROUP BY k",
            f"SELECT q.t, q.a FROM ({inner}) q JOIN {other} s0 ON {time} = q.t",
            f"SELECT k, COUNT(*) OVER () AS n, SUM(k) OVER (ORDER BY k) AS m FROM ({different}) q",
            f"SELECT s0.A, (SELECT COUNT(*) FROM {other} t0 WHERE t0.{TIME} = {time} AND t0.K = s0.K) AS n"
            f" FROM {one} s0",
            f"SELECT s0.A, q.a FROM {one} s0 LEFT JOIN ({counted}) q ON {matched}",
            f"SELECT s0.A FROM {one} s0 WHERE {r.choice(['', 'NOT '])}EXISTS"
            f" (SELECT 1 FROM ({counted}) q WHERE {matched})",
            f"SELECT {time}, COUNT(*) AS n FROM {one} s0 WHERE NOT EXISTS"
            f" (SELECT 1 FROM ({counted}) q WHERE {matched}) GROUP BY {time}",
        ]
    )


def _computed(world: _World) -> str:
    """Expressions over several streams, beside offsets between their columns, and of times."""
    r, body = world.r, world.body(2)
    linked = [world.near("s1", "s0")] if world.time and r.random() < 0.8 else []
    linked += ["s0.K = s1.K"] if r.random() < 0.4 else []
    if r.random() < 0.4:
        linked.append(f"s0.A {r.choice(OPS[:5])} s1.A {r.choice('+-')} {r.choice('12')}")
    made = [
        f"s0.A {r.choice('+-*')} s1.A",
        f"ABS(s0.K - s1.K) + {r.choice('12')}",
        "COALESCE(s0.B, s1.B)",
        f"CASE WHEN s0.A {r.choice(OPS)} s1.K THEN s0.A ELSE s1.A END",
        f"s0.K + s1.K {r.choice(OPS)} 1",
        *(f"{moment}{world.offset(r.choice([1, 2]), r.choice('+-'))}" for moment in world.moments(body)),
    ]
    every = [*map(str, body.columns), *world.moments(body)]
    if r.random() < 0.2:
        return _parted(world, body.text(linked), made[: -2 if world.time else None], every)
    shown = [r.choice(made), *r.sample(made, r.choice([0, 1])), *r.sample(every, r.choice([0, 1, 2]))]
    r.shuffle(shown)
    text = ", ".join(f"{part} AS c{number}" for number, part in enumerate(shown))
    distinct, shape = r.choice(["", "", "DISTINCT "]), r.random()
    if shape < 0.7:
        return f"SELECT {distinct}{text} {body.text(linked)}"
    if shape < 0.8:
        again = ", ".join(["t0.A"] * len(shown))
        whole = all(part in made[:2] or part.endswith((".A", ".K")) for part in shown)
        united = f" {r.choice(['UNION ALL', 'UNION'])} SELECT {again} {world.body(1, 't').text()}"
        union = united if whole else ""
        return f"SELECT {text} {body.text(linked)}{union}"
    if shape < 0.9:
        present = " FILTER (WHERE {}.A IS NOT NULL)"
        summed = [
            "MAX(ABS(s0.A - s1.A))",
            "SUM(DISTINCT s0.A + s1.A)",
            "COUNT(COALESCE(s0.B, s1.B))",
            f"SUM(CASE WHEN s0.A {r.choice(OPS)} s1.A THEN 1 ELSE 2 END)",
            "COUNT(*)",
            _either("MIN_BY(s0.A + s1.A, s0.A)", _first("s0.A + s1.A", "s0.A", present.format("s0"))),
            _either("MAX_BY(s0.A - s1.A, s1.A)", _last("s0.A - s1.A", "s1.A", present.format("s1"))),
        ]
        keys = [r.choice(made[:-2] if world.time else made), *r.choice([[], [], world.moments(body)[:1]])]
        named = ", ".join(f"{key} AS k{number}" for number, key in enumerate(keys))
        columns = f"{named}, {r.choice(summed)} AS c, {r.choice(summed)} AS d"
        return f"SELECT {columns} {body.text(linked)} GROUP BY {', '.join(keys)}"
    one, other = body.aliases.values()
    on = " AND ".join([*linked, *body.conditions[-1:]])
    return f"SELECT {distinct}{text} FROM {one} s0 {r.choice(['LEFT', 'FULL'])} JOIN {other} s1 ON {on}"


def _parted(world: _World, text: str, made: Sequence[str], columns: Sequence[str]) -> str:
    """Ranks and frames by what is computed of several streams."""
    r = world.r
    key = ", ".join(r.sample([*made, "s0.K"], r.choice([1, 1, 2])))
    shown = r.sample(list(columns), r.choice([2, 3, 4]))
    named = ", ".join(f"{column} AS c{n}" for n, column in enumerate(shown))
    order = _order(world, columns, True)
    if r.random() < 0.4:
        function = r.choice(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        over = f"{function}() OVER (PARTITION BY {key} ORDER BY {order})"
        return f"SELECT {named} {text} QUALIFY {over} {r.choice(['= 1', '<= 2', '> 1', '= 2'])}"
    value = r.choice([*made, "s0.A"])
    function = r.choice(
        ["LAG({})", "LEAD({}, 2)", "FIRST_VALUE({})", "LAST_VALUE({})", "COUNT({})", "MAX({})"]
    )
    within = r.choice([f"PARTITION BY {key} ", "PARTITION BY s0.K ", f"PARTITION BY {key} "])
    return f"SELECT {named}, {function.format(value)} OVER ({within}ORDER BY {order}) AS v {text}"


def _firsts(world: _World) -> str:
    """The first rows of joins, with columns of all sides; and numbers of rows that only HAVING asks for."""
    r, body = world.r, world.body(2)
    if r.random() < 0.3:
        return _firsts_compared(world, body)
    equal = [f"s0.K {r.choice(['=', '=', '<', '<>'])} s1.K"] if r.random() < 0.6 else []
    made = replace(body, conditions=[*body.conditions[:-1], *equal])
    if r.random() < 0.4:
        linked = (
            [f"s0.{r.choice('AB')} {r.choice(OPS)} s1.{r.choice('AB')}"] if world.kinds["B"] == "int" else []
        )
        keys = r.sample(["s0.K", "s1.K"], r.choice([0, 1, 1, 2]))
        tests = [f"COUNT(*) {r.choice(OPS)} {r.choice('123')}" for _ in range(r.choice([1, 1, 2]))]
        if r.random() < 0.4:
            # Of positive terms some decide how a sum compares.
            summed = r.choice(["s0.A", "s1.A"])
            linked = [*linked[:1], f"{summed} > {r.choice('01')}"]
            tests = [*tests[1:], f"SUM({summed}) {r.choice(['>', '>='])} {r.choice('2469')}"]
        having = r.choice([" AND ", " OR "]).join(tests)
        shown = ", ".join(f"{key} AS c{n}" for n, key in enumerate(keys)) or "7 AS c"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        text = made.text([*linked, f"s0.A {r.choice(OPS[:2])} s1.A"])
        return f"SELECT {shown} {text}{group} HAVING {having}"
    columns = r.sample(["s0.A", "s1.A", "s0.B", "s1.B", "s0.K"], r.choice([2, 3, 4]))
    inner = ", ".join(f"{column} AS c{n}" for n, column in enumerate(columns))
    names = [f"c{n}" for n in range(len(columns))]
    if r.random() < 0.5:
        some = f"LIMIT {r.choice([1, 2, 3])}{r.choice(['', '', ' OFFSET 1'])}"
        return f"SELECT {inner} {made.text()} ORDER BY {_order(world, names, True)} {some}"
    within = f"PARTITION BY {r.choice(['s0.K', 's1.K', 's0.K, s1.K'])} " if r.random() < 0.6 else ""
    over = f"ROW_NUMBER() OVER ({within}ORDER BY {_order(world, columns, True)})"
    shown = ", ".join([*r.sample(names, r.randint(1, len(names))), *["rn"] * (r.random() < 0.3)])
    test = r.choice(["= 1", "<= 2", "< 3", "= 2"])
    return f"SELECT {shown} FROM (SELECT {inner}, {over} AS rn {made.text()}) q WHERE rn {test}"


def _firsts_compared(world: _World, body: _Body) -> str:
    """The first rows of a join whose sides are compared by the column that rows are mostly ordered by."""
    r, op = world.r, world.r.choice(["<", "<=", ">", ">="])
    numbers = ["A", "B"] if world.kinds["B"] == "int" else ["A"]
    falls = (op in (">", ">=")) is (r.random() < 0.9)
    linked = [f"s0.A {op} s1.{r.choice(numbers)}"]
    linked += ["s0.K = s1.K"] if r.random() < 0.3 else []
    linked += [f"s0.A {op} s1.A"] if r.random() < 0.2 else []
    others = r.sample(["s0.B", "s0.K"], r.choice([0, 1, 2])) + ["s1.K", "s1.A"] * (r.random() < 0.2)
    order = ", ".join([f"s0.A{' DESC' if falls else ''}", *([_order(world, others, True)] if others else [])])
    within = f"PARTITION BY {r.choice(['s0.K', 's1.K'])} " if r.random() < 0.4 else ""
    over = f"ROW_NUMBER() OVER ({within}ORDER BY {order})"
    shown = ", ".join(
        f"{column} AS c{n}" for n, column in enumerate(r.sample(["s0.A", *others], len(others) + 1))
    )
    text = replace(body, conditions=[*body.conditions[:-1], *linked]).text()
    if not within and r.random() < 0.4:
        return f"SELECT {shown} {text} ORDER BY {order} LIMIT {r.choice([1, 2, 3])}"
    return f"SELECT {shown} {text} QUALIFY {over} {r.choice(['= 1', '<= 2', '< 3', '= 2'])}"


def _earlier(world: _World) -> str:
    """Rows of sub-queries, or of a stream with guards, that come before tuples of another stream."""
    r, shown = world.r, world.r.choice(["K", "K", "A"])
    one, other, third = (r.choice(list(world.streams)) for _ in range(3))
    sides = [[_Column(a, name, kind) for name, kind in world.kinds.items()] for a in ("s0", "t0")]
    on = [world.comparison([*sides[0], *sides[1]], "s0", "t0") for _ in range(r.choice([1, 1, 2]))]
    link = f"t0.{TIME} {r.choice(['<', '<=', '<'])} s0.{TIME}" if r.random() < 0.7 else world.near("t0", "s0")
    condition = " AND ".join([link, *on])
    guard = f"{r.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {third} t0 WHERE {condition})"
    before = (
        f"{r.choice(['<', '<=', '<'])} s1.{TIME}{world.offset(r.choice([0, 0, 0, 1, 2]), r.choice('+-'))}"
    )
    further = f" AND {{}} {r.choice(['=', '=', *OPS])} s1.K" if r.random() < 0.5 else ""
    mine = r.choice(["s1.K AS c1", f"s1.{TIME} AS c1", "s1.K AS c1"])
    if r.random() < 0.4:
        made = f"FROM {one} s0, {other} s1 WHERE s0.{TIME} {before} AND {guard}{further.format('s0.K')}"
        return f"SELECT {'DISTINCT ' if r.random() < 0.2 else ''}s0.{shown} AS c0, {mine} {made}"
    rows = r.choice(
        [
            f"SELECT s0.{TIME} AS t, s0.{shown} AS c FROM {one} s0 WHERE {guard}",
            f"SELECT DISTINCT s0.{TIME} AS t, s0.{shown} AS c FROM {one} s0",
            f"SELECT s0.{TIME} AS t, s0.K AS c, COUNT(*) AS n FROM {one} s0 GROUP BY s0.{TIME}, s0.K",
        ]
    )
    if r.random() < 0.4:
        found = f"{r.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM ({rows}) x WHERE x.t {before}"
        return f"SELECT s1.K AS c0, {mine} FROM {other} s1 WHERE {found}{further.format('x.c')})"
    source = f"FROM ({rows}) x, {other} s1 WHERE x.t {before}{further.format('x.c')}"
    if r.random() < 0.3:
        return f"SELECT {mine}, COUNT(*) AS n {source} GROUP BY {mine.split()[0]}"
    return f"SELECT x.c AS c0, {mine} {source}"


def _united(world: _World) -> str:
    """Unions of rows as they come and of what a window function says: a moment may have either alone."""
    r = world.r
    body = world.body(1, "t")
    key = r.choice(body.columns)
    whole = r.choice([c for c in body.columns if c.kind == "int"])
    value = r.choice(["COUNT(*)", f"SUM({whole})", f"MAX({whole})"])
    order = f" ORDER BY t0.{TIME}" if world.time and r.random() < 0.8 else ""
    inner = f"SELECT {key} AS k, {value} OVER (PARTITION BY {key}{order}) AS m {body.text()}"
    sides = [f"SELECT k FROM ({inner}) q WHERE m >= {r.choice('001')}"]
    for _ in range(r.choice([1, 1, 2])):
        tested = f" WHERE {world.test([_Column('s0', name, kind) for name, kind in world.kinds.items()])}"
        name = r.choice(list(world.streams))
        sides.append(f"SELECT s0.{key.name} AS k FROM {name} s0{r.choice(['', tested])}")
    r.shuffle(sides)
    union = f" {r.choice(['UNION', 'UNION ALL', 'UNION ALL'])} ".join(sides)
    return f"SELECT k, COUNT(*) AS n FROM ({union}) u GROUP BY k" if r.random() < 0.3 else union


KINDS: dict[str, Callable[[_World], str]] = {
    "groups": _groups,
    "windows": _windows,
    "sessions": _sessions,
    "ranks": _ranks,
    "frames": _frames,
    "guards": _guards,
    "outer joins": _outer_joins,
    "sets": _sets,
    "as-of": _as_of,
    "sub-queries": _sub_queries,
    "closing": _closing,
    "present": _present,
    "retold": _retold,
    "computed": _computed,
    "firsts": _firsts,
    "earlier": _earlier,
    "united": _united,
}
