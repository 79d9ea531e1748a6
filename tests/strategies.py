"""Random catalogs, queries and streams for property tests.

``cases`` draws a query over two or three streams (sometimes a static relation), biased towards the
shapes that matter: few constants close together, equal columns, comparisons between streams, ties,
duplicates and NULLs. ``events`` draws arrivals whose values straddle the constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import parse, statement
from streambound.query.statement import Statement

OPS = ["<", "<=", "=", ">=", ">", "<>"]
VALUES: dict[str, list[Any]] = {
    "int": [-1, 0, 1, 2, 3, 4],
    "double": [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, float("nan")],
    "string": ["", "a", "b", "bb", "c"],
    "boolean": [False, True],
    "decimal(3,1)": ["-0.5", "0.0", "0.5", "1.0", "2.5"],
    "date": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"],
    "timestamp": [
        "2026-01-01 00:00:00",
        "2026-01-01 00:00:00.000001",
        "2026-01-01 12:00:00",
        "1969-12-31 23:59:59",
    ],
}
LITERALS: dict[str, list[str]] = {
    "int": ["0", "1", "2", "3"],
    "double": ["0", "0.5", "1", "1.5"],
    "string": ["'a'", "'b'", "'c'"],
    "boolean": ["TRUE", "FALSE"],
    "decimal(3,1)": ["0", "0.5", "1.25", "2"],
    "date": ["DATE '2026-01-01'", "DATE '2026-01-02'", "DATE '2026-01-04'"],
    "timestamp": ["TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 12:00:00'"],
}


@dataclass(frozen=True, repr=False)
class Case:
    """A query with its catalog as a mapping, and the column types by relation."""

    streams: dict[str, Any]
    sql: str
    catalog: Catalog
    query: Query | Statement

    @property
    def statement(self) -> Statement:
        """The query as a statement."""
        return self.query if isinstance(self.query, Statement) else Statement.of(self.query)

    def __repr__(self) -> str:
        return f"{self.sql} over {self.streams}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def columns(self, name: str) -> dict[str, str]:
        """Column types of a relation."""
        return dict(self.streams[name]["columns"])


@st.composite
def cases(draw: st.DrawFn, types: tuple[str, ...] = ("int",), statics: bool = True) -> Case:
    """A random query without time comparisons and without self-joins."""
    count = draw(st.integers(1, 3))
    names = ["S", "T", "U"][:count]
    streams: dict[str, Any] = {}
    for name in names:
        streams[name] = draw(_relation(types))
    if statics and draw(st.integers(0, 5)) == 0:
        names.append("R")
        streams["R"] = {**draw(_relation(types)), "kind": "static"}
    columns = [(f"{n}.{c}", t) for n in names for c, t in streams[n]["columns"].items()]
    atoms = draw(st.lists(_atom(columns), max_size=6))
    atoms += draw(_pending(columns))
    atoms += draw(_bounds(columns))
    select = draw(st.lists(st.sampled_from([c for c, _ in columns] + ["1", "1"]), min_size=1, max_size=2))
    distinct = draw(st.booleans())
    where = f" WHERE {' AND '.join(atoms)}" if atoms else ""
    sql = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(select)} FROM {', '.join(names)}{where}"
    catalog = catalog_from_mapping(streams)
    return Case(streams, sql, catalog, parse(sql, catalog))


@st.composite
def statements(draw: st.DrawFn, types: tuple[str, ...] = ("int",)) -> Case:
    """A random statement: up to three SELECTs, with OR, NOT and IS NULL, joined by UNION ALL and UNION."""
    streams: dict[str, Any] = {name: draw(_relation(types)) for name in "STU"[: draw(st.integers(1, 3))]}
    if draw(st.integers(0, 7)) == 0:
        streams["R"] = {**draw(_relation(types)), "kind": "static"}
    columns = [(f"{n}.{c}", t) for n, body in streams.items() for c, t in body["columns"].items()]
    answer = draw(st.sampled_from([t for _, t in columns]))
    sql = draw(_select(streams, answer))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        sql += f" {draw(st.sampled_from(['UNION ALL', 'UNION']))} {draw(_select(streams, answer))}"
    catalog = catalog_from_mapping(streams)
    return Case(streams, sql, catalog, statement(sql, catalog))


@st.composite
def _select(draw: st.DrawFn, streams: dict[str, Any], answer: str) -> str:
    names = draw(st.lists(st.sampled_from(list(streams)), min_size=1, max_size=3, unique=True))
    if "R" in names:
        names = ["S", *(name for name in names if name != "S")]
    columns = [(f"{n}.{c}", t) for n in names for c, t in streams[n]["columns"].items()]
    output = draw(st.sampled_from([c for c, t in columns if t == answer] + [draw(_literal(answer))] * 2))
    parts = [draw(_formula(columns, draw(st.integers(0, 3))))] if draw(st.integers(0, 5)) else []
    parts += draw(_pending(columns))
    parts += draw(_bounds(columns))
    where = f" WHERE {' AND '.join(f'({part})' for part in parts)}" if parts else ""
    return f"SELECT {draw(st.sampled_from(['', 'DISTINCT ']))}{output} FROM {', '.join(names)}{where}"


@st.composite
def _literal(draw: st.DrawFn, kind: str) -> str:
    return draw(st.sampled_from(LITERALS[kind][:2]))


@st.composite
def _formula(draw: st.DrawFn, columns: list[tuple[str, str]], depth: int) -> str:
    choice = draw(st.integers(0, 6)) if depth else 6
    if choice == 0:
        return f"NOT ({draw(_formula(columns, depth - 1))})"
    if choice < 6:
        parts = [draw(_formula(columns, depth - 1)) for _ in range(2)]
        return f"({parts[0]}) {'OR' if choice < 4 else 'AND'} ({parts[1]})"
    column, kind = draw(st.sampled_from(columns))
    extra = draw(st.integers(0, 9))
    if extra == 0:
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if extra == 1:
        ends = [draw(st.sampled_from(LITERALS[kind])) for _ in range(2)]
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}BETWEEN {ends[0]} AND {ends[1]}"
    if extra == 2:
        listed = draw(st.lists(st.sampled_from([*LITERALS[kind], "NULL"]), min_size=1, max_size=3))
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}IN ({', '.join(listed)})"
    return draw(_atom(columns))


@st.composite
def timed_cases(
    draw: st.DrawFn,
    types: tuple[str, ...] = (),
    windows: bool = False,
    orders: bool = False,
    delayed: bool = False,
) -> Case:
    """A random query over two to four streams whose application timestamps are compared.

    With ``types`` columns are of these, sometimes there is a static relation, and more are bounded. With
    ``orders`` duplicates are preserved, and timestamps compared without offsets, or if ``delayed`` with those
    that delays of streams mostly make up for.
    """
    names = ["S", "T", "U", "V"][: draw(st.integers(2, 4))]
    columns = ["A", "B"] if len(names) < 4 else ["A"]
    body = {"columns": {**dict.fromkeys(columns, "int"), "ts": "int"}, "timestamp": "ts"}
    streams: dict[str, Any] = {name: body for name in names}
    if types:
        streams = {n: {**draw(_relation(types)), "timestamp": "ts"} for n in names}
        for name in names:
            streams[name]["columns"]["ts"] = "int"
    if types and not orders and draw(st.integers(0, 2)) == 0:
        streams["R"] = {**draw(_relation(types)), "kind": "static"}
    ordinary = [
        (f"{n}.{c}", kind) for n, b in streams.items() for c, kind in b["columns"].items() if c != "ts"
    ]
    atoms = draw(st.lists(_atom(ordinary), max_size=4))
    atoms += draw(_pending(ordinary))
    if types:
        atoms += draw(_bounds(ordinary))
    elif draw(st.booleans()):
        atoms += [f"{column} > 0" for column, _ in ordinary]
    if windows:
        one, other = draw(st.permutations(names))[:2]
        before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        atoms += [f"{one}.ts <= {other}.ts + {after}", f"{other}.ts <= {one}.ts + {before}"]
    ended = not delayed and draw(st.integers(0, 3)) == 0
    if ended:
        atoms.append(f"{draw(st.sampled_from(names))}.ts {draw(st.sampled_from(['< 9', '<= 4', '= 2']))}")
    delays, backwards = dict.fromkeys(names, 0), False
    if delayed:
        # Of streams that precede each other in an order, each enters later than those before.
        numbers = draw(st.lists(st.integers(0, 5), min_size=len(names), max_size=len(names)))
        delays = dict(zip(names, sorted(numbers), strict=True))
        # Or each is earlier than those before by an offset.
        backwards = draw(st.booleans())
    for _ in range(draw(st.integers(0 if ended and not orders else 1, 4))):
        one, other = draw(st.permutations(names))[:2]
        offset = draw(st.sampled_from(["", "", "", " + 2", " - 1"]))
        if orders:
            one, other = sorted((one, other), reverse=backwards) if delayed else (one, other)
            offset = f" + {delays[other] - delays[one]}".replace("+ -", "- ") if delayed else ""
        op = draw(st.sampled_from(["<", "<="] if delayed else ["<", "<", "<=", "=", "<>"]))
        atoms.append(f"{one}.ts {op} {other}.ts{offset}")
    if delayed and draw(st.integers(0, 3)) == 0:
        atoms.append(f"{draw(st.sampled_from(names))}.ts >= 3")
    if not orders and draw(st.integers(0, 3)) == 0:
        one = draw(st.sampled_from(names))
        atoms.append(f"{one}.ts {draw(st.sampled_from(['<', '<>', '<=', '=']))} {one}.ts + 1")
    projected = ["1", "1", *(c for c, _ in ordinary), f"{names[0]}.ts"]
    select = draw(st.lists(st.sampled_from(projected), min_size=1, max_size=2))
    distinct = "DISTINCT " if not orders and draw(st.booleans()) else ""
    sql = f"SELECT {distinct}{', '.join(select)} FROM {', '.join(streams)} WHERE {' AND '.join(atoms)}"
    catalog = catalog_from_mapping(streams)
    return Case(streams, sql, catalog, parse(sql, catalog))


@st.composite
def _relation(draw: st.DrawFn, types: tuple[str, ...]) -> dict[str, Any]:
    columns = {c: draw(st.sampled_from(types)) for c in "AB"[: draw(st.integers(1, 2))]}
    found: dict[str, Any] = {"columns": columns}
    if draw(st.integers(0, 3)) == 0:
        found["not_null"] = ["A"]
    if columns["A"] == "int" and draw(st.integers(0, 3)) == 0:
        found["domains"] = {
            "A": draw(st.sampled_from([{"min": 0, "max": 2}, {"values": [0, 1, 3]}, {"min": 1}]))
        }
    return found


@st.composite
def _atom(draw: st.DrawFn, columns: list[tuple[str, str]]) -> str:
    left, kind = draw(st.sampled_from(columns))
    op = draw(st.sampled_from(OPS))
    partners = [c for c, t in columns if comparable(t, kind) and c != left]
    if partners and draw(st.integers(0, 3)) > 0:
        return f"{left} {op} {draw(st.sampled_from(partners))}"
    literal = draw(st.sampled_from(LITERALS[kind]))
    if draw(st.integers(0, 4)) == 0:
        others = draw(st.lists(st.sampled_from(LITERALS[kind]), max_size=2))
        return f"{left} IN ({', '.join([literal, *others])})"
    return f"{left} {op} {literal}"


def comparable(one: str, other: str) -> bool:
    """Whether columns of two types may be compared: Spark would round a decimal beside a double."""
    numbers = {one, other} <= {"int", "double", "decimal(3,1)"}
    return one == other or (numbers and {one, other} != {"double", "decimal(3,1)"})


@st.composite
def _pending(draw: st.DrawFn, columns: list[tuple[str, str]]) -> list[str]:
    """Columns of one relation that wait for one of another, and ``<>`` beside; often nothing."""
    partner, kind = draw(st.sampled_from(columns))
    names = dict.fromkeys(
        name for c, _ in columns if (name := c[: c.index(".")]) != partner[: partner.index(".")]
    )
    if not names or draw(st.integers(0, 2)):
        return []
    one = draw(st.sampled_from(list(names)))
    mine = {c: t for c, t in columns if comparable(t, kind) and c.startswith(f"{one}.")}
    op = draw(st.sampled_from(["<", "<=", ">", ">="]))
    found = [f"{c} {op} {partner}" for c in mine]
    for c in draw(st.lists(st.sampled_from(list(mine)), max_size=2)) if mine else []:
        others = [other for other, t in columns if comparable(t, mine[c]) and not other.startswith(f"{one}.")]
        found.append(f"{c} <> {draw(st.sampled_from(others))}")
    return found


@st.composite
def _bounds(draw: st.DrawFn, columns: list[tuple[str, str]]) -> list[str]:
    """Bounds on some columns, so that bounded queries are not rare."""
    found = []
    for column, kind in columns:
        low, high = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        if low == 0:
            found.append(f"{column} >= {draw(st.sampled_from(LITERALS[kind]))}")
        if high == 0:
            found.append(f"{column} <= {draw(st.sampled_from(LITERALS[kind]))}")
    return found


@st.composite
def events(draw: st.DrawFn, case: Case, size: int = 14) -> list[dict[str, Any]]:
    """Arrivals on the streams of a case, values within declared domains, duplicates likely."""
    names = [o.relation.name for o in case.query.streams]
    return draw(st.lists(st.sampled_from(names).flatmap(lambda n: _row(case, n, True)), max_size=size))


@st.composite
def timed_events(draw: st.DrawFn, case: Case, size: int = 16) -> list[dict[str, Any]]:
    """Arrivals in time order on streams with integer timestamps: several tuples at one, and gaps."""
    names = sorted({o.relation.name for o in case.query.streams})
    rows = draw(st.lists(st.sampled_from(names).flatmap(lambda n: _row(case, n, True)), max_size=size))
    moment = draw(st.integers(0, 3))
    for row in rows:
        moment += draw(st.sampled_from([0, 0, 1, 1, 1, 2, 4]))
        row["ts"] = moment
    return rows


@st.composite
def static(draw: st.DrawFn, case: Case) -> dict[str, list[dict[str, Any]]]:
    """Rows of the static relations of a case."""
    names = [o.relation.name for o in case.query.statics]
    return {n: draw(st.lists(_row(case, n, False), max_size=4)) for n in names}


@st.composite
def _row(draw: st.DrawFn, case: Case, name: str, event: bool) -> dict[str, Any]:
    body = case.streams[name]
    row: dict[str, Any] = {"stream": name} if event else {}
    for column, kind in body["columns"].items():
        nullable = column not in body.get("not_null", [])
        choices = allowed(body.get("domains", {}).get(column), VALUES[kind])
        if not event:
            # A static NaN is above every number and bounds nothing: see docs/theory.md.
            choices = [value for value in choices if value == value]
        row[column] = draw(st.sampled_from([*choices, None] if nullable else choices))
    return row


def allowed(domain: dict[str, Any] | None, values: list[Any]) -> list[Any]:
    if domain is None:
        return values
    if "values" in domain:
        return list(domain["values"])
    return [v for v in values if domain.get("min", v) <= v <= domain.get("max", v)]
