"""Random bounded statements of the kinds that rewrites are made of, with their streams and events.

>>> case(7) == case(7)
True
"""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from random import Random
from typing import Any

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine

BEGIN = dt.datetime(2026, 1, 1)
KINDS = (
    *("equality", "equality", "inequality", "inequality", "both", "both"),
    *("order", "order", "window", "chain", "grouped", "grouped", "dated", "union", "keys"),
)
# What DuckDB has no windows for, so only the engines judge it.
WINDOWED = "hours"
# Computed from different joins: numbers of rows, sums of products of columns, extrema.
AGGREGATES = (
    *("COUNT(*)", "COUNT(y.B)", "SUM(y.B)", "AVG(x.B)", "SUM(x.B * y.B)", "SUM(x.B + y.B)"),
    *("MIN(y.B)", "MAX(x.B)", "MIN(y.C)", "SUM(2 * x.B) + COUNT(*)", "AVG(x.B - y.A)"),
)
OPS = ("<", "<=", ">", ">=")


def case(seed: int, kind: str | None = None, rows: int = 40) -> tuple[str, CorpusLine]:
    """A kind and a statement of it that is bounded, for most seeds."""
    r = Random(f"{seed} {kind}")
    kind = kind or r.choice(KINDS)
    streams = _streams(r)
    catalog = catalog_from_mapping(streams)
    events = [_event(r, 0.0 if streams["S"]["not_null"] else 0.1) for _ in range(rows)]
    sql = {
        "order": _order,
        "window": _window,
        "chain": _chain,
        "grouped": _grouped,
        "dated": _dated,
        "union": _union,
        "keys": _keys,
        WINDOWED: _hours,
    }.get(kind, _join)(r, kind)
    return kind, CorpusLine(str(seed), sql, catalog, tuple(sorted(events, key=lambda e: str(e["ts"]))))


def _streams(r: Random) -> dict[str, Any]:
    types = {"A": "int", "B": "int", "C": "string", "ts": "timestamp"}
    absent = ["A", "B"] if r.random() < 0.3 else []
    return {name: {"columns": types, "timestamp": "ts", "not_null": absent} for name in "STU"}


def _event(r: Random, missing: float) -> dict[str, Any]:
    moment = BEGIN + dt.timedelta(minutes=r.randint(0, 240))
    values: dict[str, Any] = {"A": r.randint(-1, 6), "B": r.randint(-20, 20), "C": r.choice("abc")}
    values |= {name: None for name in "AB" if r.random() < missing}
    return {"stream": r.choice("SSTTU"), **values, "ts": str(moment)}


def _range(r: Random, column: str) -> str:
    low = r.randint(0, 3)
    high = low + r.randint(0, 3)
    return r.choice(
        (
            f"{column} BETWEEN {low} AND {high}",
            f"{column} > {low - 1} AND {column} < {high + 1}",
            f"{column} IN ({low}, {high})",
        )
    )


def _join(r: Random, kind: str, distinct: str | None = None, time: str = "") -> str:
    aliases = ["x", "y"] if r.random() < 0.7 else ["x", "y", "z"]
    names = [r.choice("ST" if alias != "z" else "STU") for alias in aliases]
    where = [_range(r, "x.A")]
    eliminating = r.random() < 0.5 if distinct is None else bool(distinct)
    equal = kind in ("equality", "both")
    for before, alias in pairwise(aliases):
        if equal:
            where.append(f"{before}.A = {alias}.A")
        if kind in ("inequality", "both"):
            where.append(f"{before}.B {r.choice(OPS)} {alias}.B")
            if not eliminating:
                low = r.randint(-3, 3)
                one, other = ("B", "B")
                where += [f"{before}.{one} < {low + r.randint(1, 6)}", f"{alias}.{other} > {low}"]
                where += [f"{before}.B > {low - r.randint(1, 6)}", f"{alias}.B < {low + r.randint(2, 8)}"]
        if not equal and not eliminating and r.random() < 0.5:
            where.append(_range(r, f"{alias}.A"))
    shown = r.sample([f"{alias}.A" for alias in aliases if equal or alias == "x"], 1)
    if r.random() < 0.3:
        shown.append(r.choice(("1", "x.A", "'k'")))
    if r.random() < 0.15:
        shown, where = [r.choice(("x.C", *shown))], [*where, "x.C IN ('a', 'b')"]
    if time:
        where.append(time)
    tables = ", ".join(f"{name} {alias}" for name, alias in zip(names, aliases, strict=True))
    word = "DISTINCT " if eliminating else ""
    return f"SELECT {word}{', '.join(shown)} FROM {tables} WHERE {' AND '.join(where)}"


def _order(r: Random, kind: str) -> str:
    distinct = r.choice(("", "DISTINCT "))
    shown = r.choice(("x.A", "x.A", "y.A", "x.A, x.C")) if not distinct else "x.A"
    time = f"x.ts {r.choice(('>', '>='))} y.ts"
    more = " AND x.B > 0" if r.random() < 0.3 else ""
    return (
        f"SELECT {distinct}{shown} FROM S x JOIN T y ON x.A = y.A WHERE {time} AND {_range(r, 'x.A')}{more}"
    )


def _window(r: Random, kind: str) -> str:
    minutes = r.choice((10, 60, 90))
    more = f" AND {_range(r, 'x.A')}" if r.random() < 0.6 else ""
    shown = "DISTINCT x.A" if more and r.random() < 0.5 else "x.A, x.B, y.B"
    return (
        f"SELECT {shown} FROM S x JOIN T y ON x.A = y.A"
        f" WHERE x.ts >= y.ts AND x.ts <= y.ts + INTERVAL '{minutes}' MINUTE{more}"
    )


def _chain(r: Random, kind: str) -> str:
    minutes = r.choice((30, 60))
    return (
        "SELECT x.A, y.B, z.B FROM S x JOIN T y ON x.A = y.A JOIN U z ON x.A = z.A"
        f" WHERE y.ts >= x.ts AND z.ts >= y.ts AND z.ts <= x.ts + INTERVAL '{minutes}' MINUTE"
    )


def _grouped(r: Random, kind: str) -> str:
    shown = r.choice(
        ("COUNT(*)", "COUNT(*), MIN(x.A)", "SUM(x.A)", "MAX(x.A), COUNT(x.A)", "AVG(x.A)", "COUNT(y.C)")
    )
    if r.random() < 0.5:
        shown = ", ".join(r.sample(AGGREGATES, r.randint(1, 3)))
    inner = r.choice(("x.B < y.B AND x.B > -3 AND y.B < 5", "x.A = y.A"))
    if r.random() < 0.2:
        return f"SELECT {shown} FROM S x, T y WHERE {inner} AND {_range(r, 'x.A')}"
    having = " HAVING COUNT(*) > 1" if r.random() < 0.2 else ""
    return f"SELECT x.A, {shown} FROM S x, T y WHERE {inner} AND {_range(r, 'x.A')} GROUP BY x.A{having}"


def _dated(r: Random, kind: str) -> str:
    where = f" WHERE {_range(r, 'A')}" if r.random() < 0.5 else ""
    return f"SELECT DISTINCT {r.choice(('A, ts', 'ts, C', 'B, ts'))} FROM S{where}"


def _union(r: Random, kind: str) -> str:
    word = r.choice(("", "DISTINCT "))
    one, other = (f"SELECT {word}x.A FROM S x, T y WHERE x.A = y.A AND {_range(r, 'x.A')}" for _ in "ab")
    return f"{one} {r.choice(('UNION', 'UNION ALL'))} {other}"


def _keys(r: Random, kind: str) -> str:
    """Keys of one stream that are compared with other columns of the other, or equal to several."""
    word = r.choice(("DISTINCT ", ""))
    where = ["x.A = y.A", _range(r, "x.A"), "x.B BETWEEN -20 AND 20", "y.B BETWEEN -20 AND 20"]
    for _ in range(r.randint(1, 2)):
        offset = r.choice(("", "", " + 1"))
        one, other = r.choice(("AA", "AB", "BA"))
        where.append(f"x.{one} {r.choice(('=', *OPS, *OPS))} y.{other}{offset}")
    r.shuffle(where)
    shown = r.choice(("x.A", "x.A AS `y.B`", "x.A, 1.5"))
    return f"SELECT {word}{shown} FROM S x, T y WHERE {' AND '.join(where)}"


def _hours(r: Random, kind: str) -> str:
    unit = r.choice(("HOUR", "MINUTE"))
    key = f"date_trunc('{unit}', ts)"
    further = r.choice(("", ", A"))
    shown = r.choice(("COUNT(*)", "SUM(B)", "MIN(B), MAX(B)"))
    where = r.choice(("", " WHERE B > 0"))
    return f"SELECT {key} AS h{further}, {shown} FROM S{where} GROUP BY {key}{further}"
